"""Compiled loops against torch: any size, rows among others, any number of threads, and what is no number."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.loops import compiling, rows, vocabulary
from sfumato.models.compiled import CompiledOperations
from sfumato.models.operations import TORCH, Rounded, Unscaled

# N rows, I inputs, V vocabulary


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def does_nothing(job: Any) -> None:
    """What is compiled, and then found again."""


def test_who_waits_for_the_compiler_is_told_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr(compiling, "_COMPILING_S", 0.0)
    compiling.over_parts(does_nothing)
    monkeypatch.setattr(compiling._Told, "yes", False)
    caplog.clear()
    # It is found, however long that takes.
    compiling.over_parts(does_nothing)
    assert not caplog.records
    found = compiling.cfunc(compiling.types.void(compiling.types.voidptr))
    monkeypatch.setattr(compiling, "cfunc", lambda *signature, cache: found)
    for _ in range(2):
        compiling.over_parts(does_nothing)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


SIZES = [(1, 1), (3, 7), (5, 64), (40, 577)]


@pytest.mark.parametrize(("num_rows", "size"), SIZES)
def test_norm(num_rows: int, size: int, threads: int):
    x, weight = numbers(num_rows, size), numbers(size, seed=1)
    torch.testing.assert_close(rows.rms_norm(x, weight, 1e-3), TORCH.rms_norm(x, weight, 1e-3))
    assert rows.rms_norm(x.view(num_rows, 1, size), weight, 1e-3).shape == (num_rows, 1, size)


@pytest.mark.parametrize("activation", rows.GATES)
@pytest.mark.parametrize(("num_rows", "size"), SIZES)
def test_gate_of_halves_that_stand_beside_each_other(num_rows: int, size: int, activation: str, threads: int):
    gate, up = (30 * numbers(num_rows, 2 * size)).chunk(2, -1)
    expected = TORCH.gate(gate, up, activation)
    torch.testing.assert_close(rows.gate(gate, up, activation), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("turned", [8, 4])
def test_rotation_of_heads_among_others(apart: bool, turned: int, threads: int):
    x_NHE = numbers(6, 5, 8)[:, :3] if not apart else numbers(6, 3, 9)[..., :8]
    cos, sin = numbers(6, turned, seed=1), numbers(6, turned, seed=2)
    expected = TORCH.rotate(x_NHE.unsqueeze(0), cos[None, :, None], sin[None, :, None])[0]
    torch.testing.assert_close(rows.rotate(x_NHE, cos, sin), expected)


@pytest.mark.parametrize(("num_rows", "size"), SIZES)
def test_rounding_and_scaling(num_rows: int, size: int, threads: int):
    x, factor = numbers(num_rows, size), numbers(size, seed=1).abs() + 0.1
    (levels, scale), (expected, expected_scale) = rows.round_rows(x, factor), TORCH.round_rows(x, factor)
    torch.testing.assert_close(scale, expected_scale)
    # A division rounds otherwise than a product with an inverse.
    assert int((levels.int() - expected.int()).abs().max()) <= 1
    assert (levels != expected).float().mean() < 0.01
    product = torch.randint(-(10**6), 10**6, (num_rows, size), dtype=torch.int32)
    arguments = (product, scale, factor, numbers(size, seed=3))
    torch.testing.assert_close(rows.scale_product(*arguments), TORCH.scale_product(*arguments), rtol=1e-5, atol=1e-3)


def product(num_rows: int, *sizes: int) -> Unscaled:
    """One of integers, with all that makes floats of it."""
    width = sum(sizes)
    levels = torch.randint(-(10**4), 10**4, (num_rows, width), generator=torch.Generator().manual_seed(4))
    scales = (numbers(num_rows, seed=5).abs() / 100, numbers(width, seed=6).abs() / 10 + 1e-3, numbers(width, seed=7))
    return Unscaled(levels.int(), *scales, sizes)


def assert_rounded_alike(found: object, expected: object) -> None:
    assert isinstance(found, Rounded)
    assert isinstance(expected, Rounded)
    torch.testing.assert_close(found.scale_N, expected.scale_N)
    assert int((found.levels_NI.int() - expected.levels_NI.int()).abs().max()) <= 1
    assert (found.levels_NI != expected.levels_NI).float().mean() < 0.02


@pytest.mark.parametrize(("num_rows", "size"), SIZES[1:])
def test_what_follows_a_product_in_one_loop(num_rows: int, size: int, threads: int):
    """A residual stream and its norm; queries, keys and values; a gate: as torch does them one after the other."""
    ours, factor = CompiledOperations(), numbers(size, seed=1).abs() + 0.1
    x, weight = numbers(1, num_rows, size), numbers(size, seed=2)
    for out in (None, product(num_rows, size), numbers(1, num_rows, size, seed=8)):
        for rounds in (factor, None):
            found, normed = ours.add_norm(x, out, weight, 1e-3, rounds)
            expected, by_hand = TORCH.add_norm(x, out, weight, 1e-3, rounds)
            torch.testing.assert_close(found, expected)
            assert (found is x) == (out is None)
            if rounds is None:
                torch.testing.assert_close(normed, by_hand)
            else:
                assert_rounded_alike(normed, by_hand)
    for activation in rows.GATES:
        outs = product(num_rows, size, size)
        assert_rounded_alike(ours.gated(outs, activation, factor), TORCH.gated(outs, activation, factor))


@pytest.mark.parametrize("turned", [8, 4])
@pytest.mark.parametrize("norm", [False, True])
def test_heads_of_a_product(turned: int, norm: bool, threads: int):
    cos, sin = numbers(2, 3, 1, turned, seed=1), numbers(2, 3, 1, turned, seed=2)
    norms = (torch.nn.RMSNorm(8), torch.nn.RMSNorm(8)) if norm else None
    outs = product(6, 40, 16, 16)
    found = CompiledOperations().heads(outs, 8, (cos, sin), norms)
    expected = TORCH.heads(outs, 8, (cos, sin), norms)
    assert [tuple(one.shape) for one in found] == [(2, 3, 5, 8), (2, 3, 2, 8), (2, 3, 2, 8)]
    torch.testing.assert_close(found, expected)


def test_what_is_no_number_stays_none_behind_a_product():
    outs = product(3, 20)
    outs.scale_N[1] = torch.nan
    sums, normed = CompiledOperations().add_norm(numbers(3, 20), outs, torch.ones(20), 1e-6, torch.ones(20))
    assert isinstance(normed, Rounded)
    assert sums.isnan().any(-1).tolist() == normed.scale_N.isnan().tolist() == [False, True, False]


def test_a_row_of_zeros_and_one_that_is_no_number():
    x = numbers(3, 20)
    x[0], x[1, 4] = 0.0, torch.nan
    levels, scale = rows.round_rows(x, torch.ones(20))
    assert not levels[0].any()
    assert scale.isnan().tolist() == [False, True, False]
    assert rows.rms_norm(x, torch.ones(20), 1e-6).isnan().any(-1).tolist() == [False, True, False]


@pytest.mark.parametrize("size", [5, 256, 700])
def test_weights_in_digits_are_those_of_weights_in_floats(size: int, threads: int):
    logits, u = 4 * numbers(7, size), torch.rand(7, generator=torch.Generator().manual_seed(1))
    share = torch.rand(size, generator=torch.Generator().manual_seed(2))
    asked: dict[str, Any] = {"scale_N": torch.full((7,), 0.8), "u_N": u, "greedy_N": torch.zeros(7, dtype=torch.bool)}
    *reading, weights = vocabulary.read(logits, **asked, weigh=True)
    *also, digits = vocabulary.read(logits, **asked, weigh=True, factor_V=share)
    assert weights is not None
    assert digits is not None
    assert all(torch.equal(*pair) for pair in zip(reading, also, strict=True))
    assert torch.equal(digits, vocabulary.digits(weights, share))
    assert torch.equal(digits, TORCH.digits(weights, share))
    torch.testing.assert_close(weights, ((logits - logits.amax(-1, keepdim=True)) / 0.8).exp())


@pytest.mark.parametrize("bad", [torch.nan, -torch.nan, torch.inf])
@pytest.mark.parametrize("place", [0, 299, 511])
def test_broken_logits_are_seen_in_their_row_alone(bad: float, place: int):
    logits = numbers(3, 512)
    logits[1, place] = bad
    zeros = torch.zeros(3)
    _, numbers_4N, _ = vocabulary.read(logits, torch.ones(3), zeros, zeros.bool())
    assert numbers_4N[2].isnan().tolist() == [False, True, False]


def test_memory_is_used_again_when_its_tensor_is_gone():
    first = vocabulary.empty(2, 2**19)
    place, view = first.data_ptr(), first[1:, 5:]
    del first
    # A view still holds it.
    second = vocabulary.empty(2, 2**19)
    assert second.data_ptr() != place
    view.fill_(1.0)
    second.zero_()
    assert view.eq(1.0).all()
    del view
    # Of two that are free, one serves both sizes.
    assert vocabulary.empty(1, 2**19).data_ptr() == place
    assert vocabulary.empty(4, 2**19, torch.int8).dtype == torch.int8


def test_small_tensors_and_very_large_ones_are_not_kept():
    before = list(vocabulary._kept.blocks)
    vocabulary.empty(3, 5)
    vocabulary.empty(2**10, 2**18)
    assert all(one is other for one, other in zip(before, vocabulary._kept.blocks, strict=True))


def test_where_nothing_can_be_written_loops_are_compiled_for_the_process(tmp_path: Path):
    """Neither into the package nor into a home."""
    program = "import numpy\nfrom sfumato.loops.compiling import order\nprint(order(numpy.float32(0.0)))\n"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    assert any(tmp_path.iterdir())
