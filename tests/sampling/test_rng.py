from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sfumato.sampling.samplers.base import Stream, _finalise, uniform

# R rows, L canvas

MODULUS = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def reference(seed: int, canvas: int, step: int, position: int, stream: int) -> float:
    """The same function in Python integers."""

    def finalise(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % MODULUS
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % MODULUS
        return z ^ (z >> 31)

    state = 0
    for key in (seed, canvas, step, stream, position):
        state = finalise((state + GOLDEN + key) % MODULUS)
    return (state >> 40) / 2**24


def draw(
    seed: Tensor | int = 0, canvas: Tensor | int = 0, step: Tensor | int = 0, length: int = 1, stream: int = 0
) -> Tensor:
    """Draws with some keys varying over rows and the rest fixed."""
    keys = torch.broadcast_tensors(*(torch.as_tensor(key).reshape(-1) for key in (seed, canvas, step)))
    return uniform(*keys, torch.arange(length), stream)


def chi_square(counts: Tensor) -> float:
    expected = counts.sum() / counts.numel()
    return float(((counts - expected) ** 2 / expected).sum())


def test_finaliser_equals_splitmix64() -> None:
    # First and second output of splitmix64 from seed 0, from Vigna's reference implementation.
    golden = torch.tensor([GOLDEN - MODULUS, 2 * GOLDEN % MODULUS])
    expected = [0xE220A8397B1DCDAF - MODULUS, 0x6E789E6AA1B965F4]
    assert _finalise(golden).tolist() == expected


@pytest.mark.parametrize("key", [(0, 0, 0, 0, 0), (2**63 - 1, 3, 999, 255, 7), (12345, 0, 7, 4095, 3)])
def test_draws_equal_the_reference_in_python_integers(key: tuple[int, int, int, int, int]) -> None:
    seed, canvas, step, position, stream = key
    u_RL = uniform(*(torch.tensor([k]) for k in (seed, canvas, step)), torch.tensor([position]), stream)
    assert u_RL.item() == reference(*key)


# 64 bins, 63 degrees of freedom: mean 63, standard deviation sqrt(126) = 11.2; the bound is 5 of them up.
@pytest.mark.parametrize("axis", ["seed", "canvas", "step", "position"])
def test_draws_are_uniform_along_every_axis(axis: str) -> None:
    values = torch.arange(2**17)
    u = draw(length=2**17) if axis == "position" else draw(**{axis: values})
    assert u.min() >= 0.0
    assert u.max() < 1.0
    assert chi_square(torch.bincount((u * 64).long().flatten(), minlength=64)) < 63 + 5 * 11.2


# 16 x 16 bins, 255 degrees of freedom: standard deviation sqrt(510) = 22.6; the bound is 5 of them up.
@pytest.mark.parametrize("neighbour", ["stream", "position", "step", "canvas", "seed"])
def test_draws_with_neighbouring_keys_are_independent(neighbour: str) -> None:
    seeds = torch.arange(2**17) * 2
    one = draw(seed=seeds, length=1, stream=Stream.SAMPLE)
    if neighbour == "position":
        other = draw(seed=seeds, length=2, stream=Stream.SAMPLE)[:, 1:]
    elif neighbour == "stream":
        other = draw(seed=seeds, stream=Stream.RENOISE)
    elif neighbour == "seed":
        other = draw(seed=seeds + 1, stream=Stream.SAMPLE)
    else:
        other = draw(seed=seeds, **{neighbour: 1}, stream=Stream.SAMPLE)
    cells = (one * 16).long() * 16 + (other * 16).long()
    assert chi_square(torch.bincount(cells.flatten(), minlength=256)) < 255 + 5 * 22.6


def test_draws_do_not_depend_on_the_batch() -> None:
    seed_R, canvas_R, step_R = torch.arange(9) ** 5, torch.arange(9) % 4, torch.arange(9) * 3
    batch_RL = uniform(seed_R, canvas_R, step_R, torch.arange(33), Stream.MOVE)
    for row in range(9):
        part = slice(row, row + 1)
        alone_RL = uniform(seed_R[part], canvas_R[part], step_R[part], torch.arange(20), Stream.MOVE)
        assert torch.equal(alone_RL[0], batch_RL[row, :20])


def test_positions_may_differ_between_rows() -> None:
    position_RL = torch.tensor([[4, 1], [0, 3]])
    zero_R = torch.zeros(2, dtype=torch.int64)
    u_RL = uniform(zero_R, zero_R, zero_R, position_RL, 0)
    assert torch.equal(u_RL, draw(length=5)[0][position_RL])
