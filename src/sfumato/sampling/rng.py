"""Counter-based uniforms: a draw is a pure function of (seed, canvas, step, position, stream).

No generator is advanced, so a request draws the same numbers alone or in any batch, in any order of
admission, on any device. Every key is absorbed by the finaliser of splitmix64, a bijection of 64 bits in
which each input bit flips each output bit with probability close to one half.
"""

# R rows, L canvas

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", variant 13 of Stafford's
# mixers; written as the signed 64-bit integers that torch computes with, modulo 2^64.
_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MULTIPLIER_1 = 0xBF58476D1CE4E5B9 - 2**64
_MULTIPLIER_2 = 0x94D049BB133111EB - 2**64

# float32 has 24 bits of mantissa: more bits would round up to 1.
_MANTISSA_BITS = 24


class Stream(IntEnum):
    """Purpose of a draw; draws of one position and step on different streams are independent."""

    START_KEEP = 0
    """Whether a token of a seed text survives on the first canvas."""
    START_NOISE = 1
    """The noise of the first canvas."""
    SAMPLE = 2
    """The token sampled from the denoiser's prediction."""
    RENOISE = 3
    """The noise that a renoised position gets."""
    MOVE = 4
    """The choice of an ancestral step."""
    CORRECT_SAMPLE = 5
    """The token that a corrector samples."""
    CORRECT_KEEP = 6
    """The choice between that token and noise."""
    CORRECT_NOISE = 7
    """The noise of a corrector."""
    ORDER = 8
    """The order in which positions are decided at random."""
    PATH = 9
    """The path of a sampled string of a language."""
    CLASS = 10
    """The token class on that path."""


def uniform(
    seed_R: Tensor, canvas_R: Tensor, step_R: Tensor, position_RL: Tensor, stream: int | Sequence[int]
) -> Tensor:
    """Draw one uniform per position.

    Args:
        seed_R: int64; the request's seed.
        canvas_R: int64; index of the canvas within the request.
        step_R: int64; index of the step within the canvas.
        position_RL: int64 positions on the canvas, of shape L or RL.
        stream: what the draw is for, one of Stream, or several.

    Returns:
        u_RL: float32, multiples of 2^-24 in [0, 1); for several streams [R, K, L].

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", for the idea of counters as
        keys.
    """
    if seed_R.device.type != "cpu":
        streams = stream if isinstance(stream, int) else torch.tensor(stream, device=seed_R.device)
        bits: Tensor = _top_bits(seed_R, canvas_R, step_R, position_RL, streams)
        return bits.to(torch.float32) * 2.0**-_MANTISSA_BITS
    # The same in numpy: thirty operations on a few dozen integers take a third of the time.
    seed, canvas, step, position = (key.numpy() for key in (seed_R, canvas_R, step_R, position_RL))
    top = _top_bits(seed, canvas, step, position, stream if isinstance(stream, int) else np.array(stream))
    return torch.from_numpy(top.astype(np.float32) * np.float32(2.0**-_MANTISSA_BITS))


def _top_bits(seed_R: Any, canvas_R: Any, step_R: Any, position_RL: Any, stream: Any) -> Any:
    """The bits of each uniform, of arrays of torch or numpy."""
    state = _finalise(seed_R + _GOLDEN)
    for key_R in (canvas_R, step_R):
        state = _finalise(state + _GOLDEN + key_R)
    state = _finalise((state if isinstance(stream, int) else state[..., None]) + (_GOLDEN + stream))
    bits = _finalise(state[..., None] + _GOLDEN + position_RL)
    return _shift_right(bits, 64 - _MANTISSA_BITS)


def _finalise(state: Any) -> Any:
    state = (state ^ _shift_right(state, 30)) * _MULTIPLIER_1
    state = (state ^ _shift_right(state, 27)) * _MULTIPLIER_2
    return state ^ _shift_right(state, 31)


def _shift_right(state: Any, bits: int) -> Any:
    """Logical shift: that of signed integers is arithmetic and would smear the sign bit."""
    return (state >> bits) & ((1 << (64 - bits)) - 1)
