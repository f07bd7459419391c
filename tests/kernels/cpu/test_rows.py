"""Row loops equal torch for any size, batch and number of threads, also with non-finite numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.kernels.base import SECOND_DIGIT, TORCH, LogitRows, QuantizedActivation, Rounding
from sfumato.kernels.cpu.backend import CompiledBackend
from sfumato.kernels.cpu.loops.sizes import GATES

# N rows, I inputs, V vocabulary

COMPILED = CompiledBackend()


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# Rows, inputs, and groups of these.
SIZES = [(1, 1, 1), (3, 7, 1), (5, 64, 1), (5, 64, 2), (4, 99, 3), (40, 577, 1)]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("turned", [8, 4])
def test_rotation_equals_torch_on_strided_heads(apart: bool, turned: int, threads: int):
    x_NHE = numbers(6, 5, 8)[:, :3] if not apart else numbers(6, 3, 9)[..., :8]
    cos, sin = numbers(6, turned, seed=1), numbers(6, turned, seed=2)
    given = (x_NHE.unsqueeze(0), cos[None, :, None], sin[None, :, None])
    torch.testing.assert_close(COMPILED.rotate(*given), TORCH.rotate(*given))


@pytest.mark.parametrize("turned", [8, 4])
def test_fused_norm_and_rotation_equals_torch(turned: int, threads: int):
    x_NHE, weight, cos, sin = numbers(6, 5, 8)[:, 1:4], numbers(8, seed=3), *numbers(2, 6, turned, seed=1)
    given = (x_NHE.unsqueeze(0), weight, 1e-3, cos[None, :, None], sin[None, :, None])
    torch.testing.assert_close(COMPILED.norm_rotate(*given), TORCH.norm_rotate(*given))


def read_digits(rounded: QuantizedActivation) -> Tensor:
    """The levels of each row as integers of the smallest digit."""
    levels = rounded.levels_MI.int()
    if len(levels) == len(rounded.scale_NG):
        return levels
    high, low = levels.chunk(2)
    return SECOND_DIGIT * high + low


def assert_rounded_alike(found: QuantizedActivation, expected: QuantizedActivation) -> None:
    torch.testing.assert_close(found.scale_NG, expected.scale_NG)
    # A division rounds otherwise than a product with an inverse; of two digits by some of the last.
    off = (read_digits(found) - read_digits(expected)).abs()
    two = len(found.levels_MI) > len(found.scale_NG)
    assert int(off.max()) <= (2 if two else 1)
    assert (off > 0).float().mean() < (0.1 if two else 0.02)


@pytest.mark.parametrize("digits", [1, 2])
@pytest.mark.parametrize(("num_rows", "size", "num_groups"), SIZES)
def test_quantization_equals_torch_within_one_level(
    num_rows: int, size: int, num_groups: int, digits: int, threads: int
):
    x, rounding = numbers(num_rows, size), Rounding(numbers(size, seed=1).abs() + 0.1, digits, num_groups)
    found = COMPILED.quantize(x, rounding)
    assert_rounded_alike(found, TORCH.quantize(x, rounding))
    step = found.scale_NG.repeat_interleave(size // num_groups, 1) / (SECOND_DIGIT if digits == 2 else 1)
    room = 0.501 if digits == 1 else 0.6
    assert ((read_digits(found) * step - x * rounding.factor_I).abs() <= room * step).all()


@pytest.mark.parametrize("digits", [1, 2])
@pytest.mark.parametrize(("num_rows", "size", "num_groups"), SIZES[1:])
def test_fused_norm_and_gate_quantization_equals_torch(
    num_rows: int, size: int, num_groups: int, digits: int, threads: int
):
    """Torch computes the norm or gate, then quantizes."""
    rounding, weight = Rounding(numbers(size, seed=1).abs() + 0.1, digits, num_groups), numbers(size, seed=2)
    x, both = numbers(num_rows, size), 9 * numbers(num_rows, 2 * size, seed=3)
    expected = TORCH.norm_quantize(x, weight, 1e-3, rounding)
    assert_rounded_alike(COMPILED.norm_quantize(x, weight, 1e-3, rounding), expected)
    for activation in GATES:
        expected = TORCH.gate_quantize(both, activation, rounding)
        assert_rounded_alike(COMPILED.gate_quantize(both, activation, rounding), expected)


def test_zero_row_and_nan_row_quantize_alone():
    x, ones = numbers(3, 20), torch.ones(20)
    x[0], x[1, 4] = 0.0, torch.nan
    levels, scale = COMPILED.quantize(x, Rounding(ones, num_groups=2))
    assert not levels[0].any()
    assert scale.isnan().tolist() == [[False, False], [True, False], [False, False]]
    assert COMPILED.norm_quantize(x, ones, 1e-6, Rounding(ones)).scale_NG.isnan().tolist() == [[False], [True], [False]]


@pytest.mark.parametrize("size", [5, 256, 700])
def test_digit_weights_equal_float_weights(size: int, threads: int):
    logits, u = 4 * numbers(7, size), torch.rand(7, generator=torch.Generator().manual_seed(1))
    share = torch.rand(size, generator=torch.Generator().manual_seed(2))
    asked: dict[str, Any] = {"scale_N": torch.full((7,), 0.8), "u_N": u, "greedy_N": torch.zeros(7, dtype=torch.bool)}
    reading, sums, weights = COMPILED.read(LogitRows(logits, **asked), weigh=True)
    also, same_sums, digits = CompiledBackend(share).read(LogitRows(logits, **asked), weigh=True)
    assert weights is not None
    assert digits is not None
    assert all(torch.equal(*pair) for pair in zip((*reading, sums), (*also, same_sums), strict=True))
    assert torch.equal(digits, TORCH.digits(weights, share))
    torch.testing.assert_close(weights, ((logits - logits.amax(-1, keepdim=True)) / 0.8).exp())


@pytest.mark.parametrize("bad", [torch.nan, -torch.nan, torch.inf])
@pytest.mark.parametrize("place", [0, 299, 511])
def test_non_finite_logits_give_a_nan_margin_only_in_their_row(bad: float, place: int):
    logits = numbers(3, 512)
    logits[1, place] = bad
    zeros = torch.zeros(3)
    stats, _, _ = COMPILED.read(LogitRows(logits, torch.ones(3), zeros, zeros.bool()), weigh=False)
    assert stats.margin_RL.isnan().tolist() == [False, True, False]
