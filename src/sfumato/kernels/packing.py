"""Levels of weights in groups as they are held, and as the numbers that they are."""

# I inputs

from __future__ import annotations

import torch
from torch import Tensor


def unpack(levels: Tensor) -> Tensor:
    """Levels of groups as numbers from 0 on, uint8 [..., I].

    Args:
        levels: int8, or uint8 with two of 4 bits in each, the lower one first.
    """
    if levels.dtype is torch.uint8:
        return torch.stack(((levels & 15), (levels >> 4)), dim=-1).flatten(-2)
    return levels.view(torch.uint8) ^ 128


def pack(numbers: Tensor, bits: int) -> Tensor:
    """Numbers from 0 on as levels of groups."""
    return numbers[..., 0::2] | (numbers[..., 1::2] << 4) if bits == 4 else (numbers ^ 128).view(torch.int8)
