"""Weights held in 8 or 4 bits: half to a seventh of the memory, at a small cost in quality.

One mechanism for linears and experts: rows are cut into groups along the input, each group has one scale, and the float
weight is made again where it is used.

Where inputs may be rounded to 8 bits as well, each position by its own largest value, linears and experts multiply what
is held: integers on a CPU, or floats of 8 bits, which GPUs multiply twice as fast as those of 16, from half the memory.
"""

# O output rows (with any leading dimensions), I inputs, S inputs of a group, N positions, M rows sorted by expert, X
# experts

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import torch
from torch import Tensor, nn

from sfumato.errors import CheckpointError, ConfigError, unknown
from sfumato.kernels.base import LARGEST_FLOAT8
from sfumato.spec import GenerationSpec

Bits = Literal[4, 8]
Arithmetic = Literal["float", "int8", "float8"]
# What GPUs want the sides of a matrix of floats of 8 bits to be multiples of.
FLOAT8_SIDES = 16


@dataclass(frozen=True)
class Quantization:
    """How weights are held."""

    bits: Bits = 8
    """8 or 4."""
    group: int = 0
    """Inputs that share a scale; 0 means whole rows, and 32 for 4 bits."""
    arithmetic: Arithmetic = "float"
    """What linears multiply: "float", made again of the weights; "int8" or "float8", to which inputs are rounded as
    well, and of which weights are held then; for 8 bits and whole rows."""
    sample: tuple[int, ...] = ()
    """Tokens of a text, by which it is seen how large inputs get; random ones if there is none."""
    digits: Literal[1, 2] = 1
    """Integers of 8 bits that linears round an input to: with two, products of many rows take twice as long."""

    def __post_init__(self) -> None:
        if self.bits not in (4, 8):
            raise ConfigError(f"bits is {self.bits}; allowed: 8 or 4")
        if self.group < 0 or self.group % 2:
            raise ConfigError(f"group is {self.group}; allowed: 0 or an even number")
        if self.arithmetic not in get_args(Arithmetic):
            raise ConfigError(unknown("arithmetic", self.arithmetic, get_args(Arithmetic)))
        if self.arithmetic != "float" and (self.bits, self.group) != (8, 0):
            given = f"{self.arithmetic} arithmetic with bits {self.bits} and group {self.group}"
            raise ConfigError(f"{given}; allowed: bits 8 and group 0")

    def suited_to(self, spec: GenerationSpec) -> Quantization:
        """The same, with two digits for a model that writes one token at a time: reading weights takes its time."""
        return dataclasses.replace(self, digits=2 if self.arithmetic == "int8" and spec.autoregressive else 1)

    def group_of(self, num_inputs: int) -> int:
        """The group that rows of this many inputs have."""
        wanted = self.group or (32 if self.bits == 4 else num_inputs)
        return wanted if num_inputs % wanted == 0 else num_inputs


QUANTIZATIONS = {
    "int8": Quantization(bits=8),
    "int4": Quantization(bits=4),
    "w8a8": Quantization(bits=8, arithmetic="int8"),
    "fp8": Quantization(bits=8, arithmetic="float8"),
}
"""By the name they are asked for."""


class _Holder(Protocol):
    @property
    def levels(self) -> Tensor: ...


class QuantizedWeight(nn.Module):
    """A weight [..., O, I] as symmetric integers, or floats of 8 bits, with a scale for each group of a row.

    It indexes like a tensor along its first dimension, and gives float weights.

    Args:
        shape: of the float weight.
        quantization: bits, group and arithmetic.
        dtype: of the float weights it gives.
        device: where it is held.
    """

    levels: Tensor
    scales: Tensor

    def __init__(
        self, shape: torch.Size, quantization: Quantization, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__()
        *leading, num_inputs = shape
        self.shape, self.bits, self.dtype = shape, quantization.bits, dtype
        self.is_float = quantization.arithmetic == "float8"
        self.group = quantization.group_of(num_inputs)
        if self.bits == 4 and num_inputs % 2:
            raise CheckpointError(f"a weight of shape {list(shape)} cannot be held in 4 bits: its inputs are odd")
        width = num_inputs if self.bits == 8 else num_inputs // 2
        kind = torch.float8_e4m3fn if self.is_float else torch.int8 if self.bits == 8 else torch.uint8
        self.register_buffer("levels", torch.empty(*leading, width, dtype=kind, device=device))
        self.register_buffer("scales", torch.empty(*leading, num_inputs // self.group, device=device))
        self.product: nn.Module | None = None
        """Multiplies what is held of experts, if that is how it is done."""
        self.watch: Callable[[QuantizedWeight, Tensor, Tensor], None] | None = None
        """Is told the rows of experts, and where those of each end."""
        self._elsewhere: tuple[_Holder, slice] | None = None

    def put(self, place: tuple[int | slice, ...], weight: Tensor) -> None:
        """Take in float values, all of them or those of some rows.

        Args:
            place: index of the leading dimensions; () is everything.
            weight: [..., I], whole rows.
        """
        if not place and weight.dim() > 2:
            # An expert at a time: memory that is taken and given back for all of them costs more than the rest.
            for i, each in enumerate(weight):
                self.put((i,), each)
            return
        grouped = torch.unflatten(weight.to(self.levels.device).float(), -1, (-1, self.group))
        most = LARGEST_FLOAT8 if self.is_float else 2 ** (self.bits - 1) - 1
        scales = grouped.abs().amax(-1) / most
        levels = grouped / scales.clamp_min(torch.finfo(torch.float32).tiny)[..., None]
        levels = (levels if self.is_float else levels.round_()).clamp_(-most, most).flatten(-2)
        levels = levels.to(self.levels.dtype if self.bits == 8 else torch.int8)
        if self.bits == 4:
            shifted = (levels + 8).to(torch.uint8)
            levels = shifted[..., 0::2] | (shifted[..., 1::2] << 4)
        self.levels[place], self.scales[place] = levels, scales

    def hand_over(self, product: _Holder, first: int, last: int) -> None:
        """Have a part of what somebody else holds be the integers from now on."""
        self.levels = self.levels.new_empty(0)
        self._elsewhere = product, slice(first, last)

    def __getitem__(self, index: int) -> Tensor:
        """The float weight at one index of the first dimension."""
        return self._float(self.levels[index], self.scales[index])

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def levels_held(self) -> Tensor:
        """The whole weight as it is held, here or by a product."""
        return self.levels if self._elsewhere is None else self._elsewhere[0].levels[self._elsewhere[1]]

    def dequantized(self) -> Tensor:
        """The whole float weight."""
        return self._float(self.levels_held, self.scales)

    def _float(self, levels: Tensor, scales: Tensor) -> Tensor:
        return dequantize(levels, scales, self.dtype)


def dequantize(levels: Tensor, scales: Tensor, dtype: torch.dtype) -> Tensor:
    """Float weights [..., I] of integers, or floats of 8 bits, and the scales [..., groups of I] of their groups.

    Args:
        levels: of 8 bits, or uint8 with two integers of 4 bits in each.
        scales: float32.
        dtype: of the weights.
    """
    if levels.dtype is torch.uint8:
        both = torch.stack(((levels & 15), (levels >> 4)), dim=-1).flatten(-2)
        levels = both.to(torch.int8) - 8
    grouped = torch.unflatten(levels, -1, (scales.shape[-1], -1)).to(dtype) * scales.to(dtype)[..., None]
    return grouped.flatten(-2)
