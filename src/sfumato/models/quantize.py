"""Weights held in 8 or 4 bits: half to a seventh of the memory, at a small cost in quality.

One mechanism for linears and experts: rows are cut into groups along the input, each group has one scale, and the float
weight is made again where it is used. Embeddings, heads, routers and norms stay as they are.

Where inputs may be rounded to 8 bits as well, each position by its own largest value, linears multiply integers, which
is several times faster on CPUs that can (AVX-512 VNNI).
"""

# O output rows (with any leading dimensions), I inputs, S inputs of a group, N positions

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.errors import CheckpointError, ConfigError
from sfumato.models.model import Model
from sfumato.models.moe import Experts

Bits = Literal[4, 8]


@dataclass(frozen=True)
class Quantization:
    """How weights are held."""

    bits: Bits = 8
    """8 or 4."""
    group: int = 0
    """Inputs that share a scale; 0 means whole rows, and 32 for 4 bits."""
    integer: bool = False
    """Round the inputs of linears to 8 bits as well, and multiply integers; for 8 bits and whole rows."""

    def __post_init__(self) -> None:
        if self.bits not in (4, 8):
            raise ConfigError(f"bits is {self.bits}; allowed: 8 or 4")
        if self.group < 0 or self.group % 2:
            raise ConfigError(f"group is {self.group}; allowed: 0 or an even number")
        if self.integer and (self.bits, self.group) != (8, 0):
            raise ConfigError(
                f"integer arithmetic with bits {self.bits} and group {self.group}; allowed: bits 8 and group 0"
            )

    def group_of(self, num_inputs: int) -> int:
        """The group that rows of this many inputs have."""
        wanted = self.group or (32 if self.bits == 4 else num_inputs)
        return wanted if num_inputs % wanted == 0 else num_inputs


QUANTIZATIONS = {
    "int8": Quantization(bits=8),
    "int4": Quantization(bits=4),
    "w8a8": Quantization(bits=8, integer=True),
}
"""By the name they are asked for."""


class QuantizedWeight(nn.Module):
    """A weight [..., O, I] as symmetric integers with a scale for each group of a row.

    It indexes like a tensor along its first dimension, and gives float weights.

    Args:
        shape: of the float weight.
        quantization: bits and group.
        dtype: of the float weights it gives.
    """

    levels: Tensor
    scales: Tensor

    def __init__(self, shape: torch.Size, quantization: Quantization, dtype: torch.dtype) -> None:
        super().__init__()
        *leading, num_inputs = shape
        self.shape, self.bits, self.dtype = shape, quantization.bits, dtype
        self.integer = quantization.integer
        self.group = quantization.group_of(num_inputs)
        if self.bits == 4 and num_inputs % 2:
            raise CheckpointError(f"a weight of shape {list(shape)} cannot be held in 4 bits: its inputs are odd")
        width = num_inputs if self.bits == 8 else num_inputs // 2
        kind = torch.int8 if self.bits == 8 else torch.uint8
        self.register_buffer("levels", torch.empty(*leading, width, dtype=kind, device="cpu"))
        self.register_buffer("scales", torch.empty(*leading, num_inputs // self.group, device="cpu"))

    def put(self, place: tuple[int | slice, ...], weight: Tensor) -> None:
        """Take in float values, all of them or those of some rows.

        Args:
            place: index of the leading dimensions; () is everything.
            weight: [..., I], whole rows.
        """
        grouped = torch.unflatten(weight.float(), -1, (-1, self.group))
        most = 2 ** (self.bits - 1) - 1
        scales = grouped.abs().amax(-1) / most
        levels = (grouped / scales.clamp_min(torch.finfo(torch.float32).tiny)[..., None]).round().clamp(-most, most)
        levels = levels.flatten(-2).to(torch.int8)
        if self.bits == 4:
            shifted = (levels + 8).to(torch.uint8)
            levels = shifted[..., 0::2] | (shifted[..., 1::2] << 4)
        self.levels[place], self.scales[place] = levels, scales

    def __getitem__(self, index: int) -> Tensor:
        """The float weight at one index of the first dimension."""
        return self._float(self.levels[index], self.scales[index])

    def __len__(self) -> int:
        return self.shape[0]

    def dequantized(self) -> Tensor:
        """The whole float weight."""
        return self._float(self.levels, self.scales)

    def _float(self, levels: Tensor, scales: Tensor) -> Tensor:
        if self.bits == 4:
            both = torch.stack(((levels & 15), (levels >> 4)), dim=-1).flatten(-2)
            levels = both.to(torch.int8) - 8
        grouped = torch.unflatten(levels, -1, (-1, self.group)).to(self.dtype) * scales.to(self.dtype)[..., None]
        return grouped.flatten(-2)


class QuantizedLinear(nn.Module):
    """A linear whose weight is quantized."""

    def __init__(self, weight: QuantizedWeight, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.weight = weight
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:
        if not self.weight.integer:
            return functional.linear(x, self.weight.dequantized(), self.bias)
        levels_NI, scale_N1 = _rounded(x.flatten(0, -2))
        product_NO = torch._int_mm(levels_NI, self.weight.levels.T).float()
        out_NO = product_NO.mul_(scale_N1).mul_(self.weight.scales.T)
        if self.bias is not None:
            out_NO += self.bias
        return out_NO.view(*x.shape[:-1], -1).to(x.dtype)


def _rounded(x_NI: Tensor) -> tuple[Tensor, Tensor]:
    """Each row as integers of 8 bits, and what one of them is worth."""
    scale_N1 = (torch.linalg.vector_norm(x_NI, torch.inf, dim=-1, keepdim=True) / 127).clamp_min(
        torch.finfo(torch.float32).tiny
    )
    return (x_NI / scale_N1).round_().to(torch.int8), scale_N1.float()


def quantize_model(model: Model, quantization: Quantization) -> None:
    """Quantize a model's linears and experts where they are."""
    for name in quantizable(model):
        value = model.get_parameter(name).detach()
        weight = QuantizedWeight(value.shape, quantization, value.dtype)
        weight.put((), value)
        install(model, name, weight)


def quantizable(model: Model) -> set[str]:
    """Names of the parameters that can be held in few bits: linears inside the layers, and experts."""
    names: set[str] = set()
    for path, module in model.named_modules():
        if isinstance(module, Experts):
            names |= {f"{path}.gate_up_proj", f"{path}.down_proj"}
        elif isinstance(module, nn.Linear) and ".layers." in f".{path}" and not path.endswith("router.proj"):
            names.add(f"{path}.weight")
    return names


def install(model: Model, name: str, weight: QuantizedWeight) -> None:
    """Put a quantized weight where a parameter was."""
    path, _, own = name.rpartition(".")
    module = model.get_submodule(path)
    if isinstance(module, nn.Linear):
        parent, _, place = path.rpartition(".")
        setattr(model.get_submodule(parent), place, QuantizedLinear(weight, module.bias))
    else:
        del module._parameters[own]
        setattr(module, own, weight)
