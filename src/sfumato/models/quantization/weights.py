"""Weights stored in 8 or 4 bits: half to a sixth of the memory, at a small cost in quality.

Linears and experts use the same format. An 8-bit row has one scale; or a row is split into groups along the input, each
with a scale and a minimum, which represents llama.cpp's 4-bit files without loss. Float weights are computed where they
are used.

If inputs are rounded to 8 bits as well, each position by its own largest value, the stored weights are multiplied
directly: integers on a CPU, or 8-bit floats, which GPUs multiply twice as fast as 16-bit ones, from half the memory.
"""

# O output rows (with any leading dimensions), I inputs, G groups of S inputs, K groups of all rows, N positions, M rows
# sorted by expert, X experts

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from sfumato.config import check_choice
from sfumato.errors import CheckpointError, ConfigError
from sfumato.kernels.base import DIGIT, LARGEST_FLOAT8, pack, unpack
from sfumato.spec import GenerationSpec

Bits = Literal[4, 8]
Arithmetic = Literal["float", "int8", "float8"]
# GPUs multiply 8-bit float matrices whose sides are multiples of this.
FLOAT8_SIDES = 16
# Inputs per group, as in llama.cpp's formats.
_GROUP = 32
# The same for experts in w4a8: 4.5 bits per weight instead of 5, because they are nearly all of a large mixture.
_EXPERTS_GROUP = 64
# Numbers of steps tried for a group's range; 4 bits have 15. More steps cut off the ends of the range, and a line is
# fitted through the resulting levels; fewer occur in files whose groups use only a part of the levels. Source:
# make_qkx2_quants of llama.cpp's ggml-quants.c, which tries some numbers around 15.
_NUM_STEPS = (15, 10, 11, 12, 13, 14, 16, 17, 18)
# Distance, in steps, within which a weight counts as exactly on its level.
_ON_LEVEL = 0.01
# A row's minimums are scaled below this power of two; float16 ends at 2^16.
_EXPONENT = 15
# Weights fitted at a time, so that they stay in a cache.
_FITTED = 2**18


@dataclass(frozen=True)
class Quantization:
    """How weights are stored and multiplied."""

    bits: Bits = 8
    """Bits per weight, 8 or 4."""
    group: int = 0
    """Inputs that share a scale and a minimum. 0 is whole rows with a scale only for 8 bits, and 32 for 4 bits, or
    64 for experts multiplied as integers. A row that does not divide into groups is one group."""
    arithmetic: Arithmetic = "float"
    """What linears multiply: "float", computed from the stored weights; "int8", with inputs rounded per group of the
    weights; or "float8", with inputs rounded per row, for 8 bits and whole rows."""
    sample: tuple[int, ...] = ()
    """Tokens of a text on which the size of inputs is measured, for whole rows; random ones if empty."""
    digits: Literal[1, 2] = 1
    """8-bit integers per input. With two, products of many rows take twice as long."""

    def __post_init__(self) -> None:
        if self.bits not in (4, 8):
            raise ConfigError(f"bits is {self.bits}; allowed: 8 or 4")
        if self.group < 0 or self.group % 2:
            raise ConfigError(f"group is {self.group}; allowed: 0 or an even number")
        check_choice("arithmetic", self.arithmetic, get_args(Arithmetic), ConfigError)
        given = f"{self.arithmetic} arithmetic with bits {self.bits} and group {self.group}"
        if self.arithmetic == "float8" and (self.bits, self.group) != (8, 0):
            raise ConfigError(f"{given}; allowed: bits 8 and group 0")
        if self.arithmetic == "int8" and self.group % 4:
            raise ConfigError(f"{given}; allowed: groups of a multiple of 4")

    @property
    def grouped(self) -> bool:
        """Whether weights have minimums."""
        return self.bits == 4 or self.group > 0

    def suited_to(self, spec: GenerationSpec, device: str = "cpu") -> Quantization:
        """The setting for a model: an autoregressive one gets two digits, and groups on a CPU, because there the time
        goes into reading weights."""
        if self.arithmetic != "int8" or not spec.autoregressive:
            return dataclasses.replace(self, digits=1)
        chosen = _GROUP if device == "cpu" and self.bits == 8 else 0
        return dataclasses.replace(self, digits=2, group=self.group or chosen)

    def group_of(self, shape: torch.Size) -> int:
        """Group size for a weight [O, I] or experts [X, O, I]."""
        num_inputs = shape[-1]
        wanted = self.group or (num_inputs if self.bits == 8 else _GROUP)
        if len(shape) == 3 and (self.bits, self.group, self.arithmetic) == (4, 0, "int8"):
            wanted = _EXPERTS_GROUP
        return wanted if num_inputs % wanted == 0 else num_inputs


QUANTIZATIONS = {
    "int8": Quantization(bits=8),
    "int4": Quantization(bits=4),
    "w8a8": Quantization(bits=8, arithmetic="int8"),
    "w4a8": Quantization(bits=4, arithmetic="int8"),
    "fp8": Quantization(bits=8, arithmetic="float8"),
}
"""Quantizations by name."""


class QuantizedWeight(nn.Module):
    """A weight [..., O, I] stored as integers or 8-bit floats, with a scale per row, and optionally a scale and a
    minimum per group.

    Indexing along the first dimension returns float weights.

    Args:
        shape: of the float weight.
        dtype: of the float weights.
    """

    levels: Tensor
    scales: Tensor
    groups: Tensor | None

    def __init__(
        self, shape: torch.Size, quantization: Quantization, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__()
        *leading, num_inputs = shape
        self.shape, self.bits, self.dtype = shape, quantization.bits, dtype
        self.is_float = quantization.arithmetic == "float8"
        self.group = quantization.group_of(shape)
        if self.bits == 4 and num_inputs % 2:
            raise CheckpointError(
                f"a weight of shape {list(shape)} cannot be stored in 4 bits: its number of inputs is odd"
            )
        width = num_inputs if self.bits == 8 else num_inputs // 2
        kind = torch.float8_e4m3fn if self.is_float else torch.int8 if self.bits == 8 else torch.uint8
        self.register_buffer("levels", torch.empty(*leading, width, dtype=kind, device=device))
        self.register_buffer("scales", torch.empty(*leading, 1, device=device))
        pairs = (*leading, num_inputs // self.group, 2)
        groups = torch.empty(pairs, dtype=torch.float16, device=device) if quantization.grouped else None
        self.register_buffer("groups", groups)
        self.product: nn.Module | None = None
        """Multiplies the stored weights of experts; None if they are multiplied as floats."""
        self.watch: Callable[[QuantizedWeight, Tensor, Tensor], None] | None = None
        """Called with the input rows of experts and the end of each expert's rows, to measure them."""

    def put(self, index: tuple[int | slice, ...], weight: Tensor) -> None:
        """Quantize and store float values, all of them or those of some rows.

        Args:
            index: of the leading dimensions; () is all.
            weight: [..., I], whole rows.
        """
        if not index and weight.dim() > 2:
            # One expert at a time: allocating memory for all of them costs more than the rest.
            for i, each in enumerate(weight):
                self.put((i,), each)
            return
        weight = weight.to(self.levels.device).float()
        if self.groups is not None:
            *leading, num_inputs = weight.shape
            rows = weight.reshape(-1, num_inputs // self.group, self.group)
            fitted = [fit_groups(part, self.bits) for part in torch.split(rows, max(1, _FITTED // num_inputs))]
            joined = [torch.cat(parts) for parts in zip(*fitted, strict=True)]
            levels, scales, self.groups[index] = (whole.view(*leading, *whole.shape[1:]) for whole in joined)
        else:
            largest = LARGEST_FLOAT8 if self.is_float else DIGIT
            scales = weight.abs().amax(-1, keepdim=True) / largest
            levels = weight / scales.clamp_min(torch.finfo(torch.float32).tiny)
            levels = (levels if self.is_float else levels.round_()).clamp_(-largest, largest).to(self.levels.dtype)
        self.levels[index], self.scales[index] = levels, scales

    def drop(self) -> None:
        """Drop the stored tensors, because a product now holds them."""
        # On a CPU, so that a model without weights does not wait for them.
        self.levels = self.levels.new_empty(0, device="cpu")
        self.groups = None if self.groups is None else self.groups.new_empty(0, device="cpu")

    def __getitem__(self, index: int) -> Tensor:
        """The float weight at one index of the first dimension."""
        groups = None if self.groups is None else self.groups[index]
        return dequantize(self.levels[index], self.scales[index], self.dtype, groups)

    def __len__(self) -> int:
        return self.shape[0]

    def dequantized(self) -> Tensor:
        """The whole float weight."""
        return dequantize(self.levels, self.scales, self.dtype, self.groups)


def quantized_weights(model: nn.Module) -> Iterator[QuantizedWeight]:
    """All quantized weights of a model."""
    return (module for module in model.modules() if isinstance(module, QuantizedWeight))


def dequantize(levels: Tensor, scales: Tensor, dtype: torch.dtype, groups: Tensor | None = None) -> Tensor:
    """Float weights [..., I] from stored ones.

    Args:
        levels: 8-bit integers or floats, or uint8 with two 4-bit integers each, the lower one first.
        scales: float32, one per row; without groups, one or more per row.
        groups: float16 [..., G, 2]; the scale of each group, and the value of its lowest level.
    """
    if groups is None:
        numbers = unpack(levels).to(torch.int8) - 8 if levels.dtype is torch.uint8 else levels
        return (torch.unflatten(numbers, -1, (scales.shape[-1], -1)).to(dtype) * scales.to(dtype)[..., None]).flatten(
            -2
        )
    scale, minimum = torch.split(groups.float().mul_(scales[..., None]), 1, dim=-1)
    grouped = torch.unflatten(unpack(levels), -1, (groups.shape[-2], -1))
    return (grouped * scale).add_(minimum).flatten(-2).to(dtype)


def fit_groups(weight_OGS: Tensor, bits: int) -> tuple[Tensor, Tensor, Tensor]:
    """Quantize float32 weights in groups: levels, scales and groups as in `dequantize`.

    A group's levels span its weights. With 4 bits, groups that are not exactly on such levels try several numbers of
    steps and keep the one with the least squared error.
    """
    max_level = 2**bits - 1
    low_OG, high_OG = weight_OGS.aminmax(dim=-1)
    # Powers of two, so that scaling does not round.
    exponent_O = torch.frexp(torch.maximum(low_OG.abs(), high_OG.abs()).amax(-1)).exponent
    scales_O1 = torch.ldexp(torch.ones_like(low_OG[:, :1]), exponent_O.unsqueeze(-1) - _EXPONENT)
    x_KS = (weight_OGS / scales_O1[..., None]).flatten(0, 1)
    low_K1, high_K1 = ((ends_OG / scales_O1).view(-1, 1) for ends_OG in (low_OG, high_OG))
    levels_KS, groups_K2 = _levels_of(x_KS, (high_K1 - low_K1) / max_level, low_K1, max_level)
    if bits == 4:
        error_KS = (_values_of(levels_KS, groups_K2) - x_KS).abs_()
        [rest] = torch.nonzero((error_KS > _ON_LEVEL * groups_K2[:, :1]).any(-1), as_tuple=True)
        if len(rest):
            levels_KS[rest], groups_K2[rest] = _search(x_KS[rest], low_K1[rest], high_K1[rest], max_level)
    levels = pack(levels_KS.view(len(weight_OGS), -1), bits)
    return levels, scales_O1, groups_K2.view(*low_OG.shape, 2)


def _search(x_KS: Tensor, low_K1: Tensor, high_K1: Tensor, max_level: int) -> tuple[Tensor, Tensor]:
    """Levels and groups with the least squared error."""
    levels_KS, groups_K2 = torch.empty_like(x_KS, dtype=torch.uint8), x_KS.new_empty(len(x_KS), 2).half()
    min_error_K1 = torch.full_like(low_K1, torch.inf)
    for num_steps in _NUM_STEPS:
        scale_K1 = (high_K1 - low_K1) / num_steps
        minimum_K1 = low_K1 + 0.5 * scale_K1 * max(0, num_steps - max_level)
        tried_KS, tried_K2 = _levels_of(x_KS, scale_K1, minimum_K1, max_level)
        if num_steps >= max_level:
            found_KS = tried_KS.float()
            apart_KS = found_KS - found_KS.mean(-1, keepdim=True)
            scale_K1 = (apart_KS * x_KS).sum(-1, keepdim=True) / apart_KS.square().sum(-1, keepdim=True).clamp_min_(1.0)
            minimum_K1 = x_KS.mean(-1, keepdim=True) - scale_K1 * found_KS.mean(-1, keepdim=True)
            tried_KS, tried_K2 = _levels_of(x_KS, scale_K1, minimum_K1, max_level)
        error_K1 = (_values_of(tried_KS, tried_K2) - x_KS).square_().sum(-1, keepdim=True)
        better_K1 = error_K1 < min_error_K1
        levels_KS = torch.where(better_K1, tried_KS, levels_KS)
        groups_K2 = torch.where(better_K1, tried_K2, groups_K2)
        min_error_K1 = torch.minimum(min_error_K1, error_K1)
    return levels_KS, groups_K2


def _levels_of(x_KS: Tensor, scale_K1: Tensor, minimum_K1: Tensor, max_level: int) -> tuple[Tensor, Tensor]:
    """Levels uint8 [K, S] of groups, and their stored scales and minimums, float16 [K, 2]."""
    groups_K2 = torch.cat((scale_K1, minimum_K1), dim=-1).half()
    scale_K1, minimum_K1 = torch.split(groups_K2.float(), 1, dim=-1)
    levels_KS = (x_KS - minimum_K1).div_(scale_K1.clamp_min(torch.finfo(torch.float32).tiny))
    return levels_KS.round_().clamp_(0, max_level).to(torch.uint8), groups_K2


def _values_of(levels_KS: Tensor, groups_K2: Tensor) -> Tensor:
    scale_K1, minimum_K1 = torch.split(groups_K2.float(), 1, dim=-1)
    return (levels_KS * scale_K1).add_(minimum_K1)
