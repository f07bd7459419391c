"""Weights held in 8 or 4 bits: half to a seventh of the memory, at a small cost in quality.

One mechanism for linears and experts: rows are cut into groups along the input, each group has one scale, and the float
weight is made again where it is used. Embeddings, heads, routers and norms stay as they are.

Where inputs may be rounded to 8 bits as well, each position by its own largest value, linears and experts multiply what
is held: integers on a CPU (`sfumato.models.integers`), or floats of 8 bits, which GPUs multiply twice as fast as those
of 16, from half the memory.
"""

# O output rows (with any leading dimensions), I inputs, S inputs of a group, N positions, M rows sorted by expert, X
# experts

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.errors import CheckpointError, ConfigError, unknown
from sfumato.models.integers import integer_matrix
from sfumato.models.operations import (
    LARGEST_FLOAT8,
    TORCH,
    Operations,
    Rounded,
    Unscaled,
)

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
        self,
        shape: torch.Size,
        quantization: Quantization,
        dtype: torch.dtype,
        device: torch.device | str = "cpu",
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
        self.product: IntegerExperts | None = None
        """Multiplies what is held of experts, if that is how it is done."""
        self._elsewhere: tuple[SharedProduct | IntegerExperts, slice] | None = None

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

    def hand_over(self, product: SharedProduct | IntegerExperts, first: int, last: int) -> None:
        """Have a part of what somebody else holds be the integers from now on."""
        self.levels = self.levels.new_empty(0)
        self._elsewhere = product, slice(first, last)

    def forward(self, x: Tensor | Rounded, end_X: Tensor, operations: Operations) -> Tensor:
        """What each expert, each with a matrix of this weight, makes of its rows: see `grouped_product`."""
        if self.product is not None:
            return self.product(x, end_X, operations)  # type: ignore[no-any-return]
        assert isinstance(x, Tensor), "`rounding` did not ask for anything else"
        if not self.is_float or not multiplies_float8(x.device):
            return _one_by_one(x, self, end_X, lambda here, i: functional.linear(x[here], self[i]))
        levels_MI, scale_M = operations.round_floats(x)
        levels_XOI, scales_XO = self.levels, self.scales.squeeze(-1)
        # The product of all at once is one of Hopper's and Blackwell's.
        if x.is_cuda and torch.cuda.get_device_capability(x.device)[0] in (9, 10):
            rows = functional.ScalingType.RowWise
            out_MO: Tensor = functional.scaled_grouped_mm(  # type: ignore[attr-defined]
                *(levels_MI, levels_XOI.mT, scale_M, rows, scales_XO, rows), offs=end_X, output_dtype=torch.bfloat16
            )
            return out_MO.to(x.dtype)

        def product(here: slice, i: int) -> Tensor:
            return float8_product(levels_MI[here], scale_M[here], levels_XOI[i], scales_XO[i], x.dtype)

        return _one_by_one(x, self, end_X, product).to(x.dtype)

    def __getitem__(self, index: int) -> Tensor:
        """The float weight at one index of the first dimension."""
        return self._float(self.levels[index], self.scales[index])

    def __len__(self) -> int:
        return self.shape[0]

    def dequantized(self) -> Tensor:
        """The whole float weight."""
        if self._elsewhere is None:
            return self._float(self.levels, self.scales)
        product, rows = self._elsewhere
        return self._float(product.levels[rows], self.scales)

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
        self.product: SharedProduct | None = None
        """Multiplies what is held, if that is how it is done; it may be that of other linears too."""

    def forward(self, x: Tensor) -> Tensor:
        if self.product is None:
            return functional.linear(x, self.weight.dequantized(), self.bias)
        out: Tensor = self.product(x)[self.product.linears.index(self)]
        return out


class SharedProduct(nn.Module, abc.ABC):
    """Linears that read one input, which is rounded once, multiplied as one matrix.

    Args:
        linears: their weights, in 8 bits and whole rows, are parts of that matrix from now on.
    """

    scales_O: Tensor
    bias_O: Tensor

    def __init__(self, linears: Sequence[QuantizedLinear]) -> None:
        super().__init__()
        # Not as modules: each of them holds this one.
        self.linears = tuple(linears)
        self.operations: Operations = TORCH
        weights = [linear.weight for linear in linears]
        self.register_buffer("scales_O", torch.cat([weight.scales for weight in weights]).squeeze(-1), persistent=False)
        biases = [
            weight.scales.new_zeros(len(weight)) if linear.bias is None else linear.bias.detach()
            for linear, weight in zip(linears, weights, strict=True)
        ]
        self.register_buffer("bias_O", torch.cat(biases).float(), persistent=False)
        self.has_bias = any(linear.bias is not None for linear in linears)
        self.sizes = [len(weight) for weight in weights]
        self.hold(torch.cat([weight.levels for weight in weights]))
        first = 0
        for weight, size in zip(weights, self.sizes, strict=True):
            weight.hand_over(self, first, first + size)
            first += size

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """The output of each linear."""
        out_NO = self.multiply(x.flatten(0, -2)).to(x.dtype)
        return torch.split(out_NO.view(*x.shape[:-1], out_NO.shape[-1]), self.sizes, dim=-1)

    @property
    @abc.abstractmethod
    def levels(self) -> Tensor:
        """The matrix [O, I]."""

    @abc.abstractmethod
    def hold(self, levels_OI: Tensor) -> None:
        """Take in the matrix."""

    @abc.abstractmethod
    def multiply(self, x_NI: Tensor) -> Tensor:
        """The product with the whole matrix [N, O], and the bias."""


class IntegerProduct(SharedProduct):
    """Of integers. Inputs are smoothed: element i of them is divided by s_i, and the weights that it meets are
    multiplied by it.

    Args:
        linears: see `SharedProduct`; their weights are smoothed here.
        smooth_I: s.
    """

    unsmooth_I: Tensor

    def __init__(self, linears: Sequence[QuantizedLinear], smooth_I: Tensor) -> None:
        for linear in linears:
            linear.weight.put((), linear.weight.dequantized() * smooth_I)
        super().__init__(linears)
        self.register_buffer("unsmooth_I", 1.0 / smooth_I, persistent=False)

    @property
    def levels(self) -> Tensor:
        return self._matrix.levels

    def hold(self, levels_OI: Tensor) -> None:
        self._matrix = integer_matrix(levels_OI)

    def multiply(self, x_NI: Tensor) -> Tensor:
        return self.operations.floats(self.unscaled(x_NI), x_NI)

    def unscaled(self, x: Tensor | Rounded) -> Unscaled:
        """The product with the whole matrix, of inputs or of what they were rounded to, as `unsmooth_I` asks."""
        if isinstance(x, Tensor):
            x = self.operations.round_rows(x.flatten(0, -2), self.unsmooth_I)
        return Unscaled(self._matrix.multiply(x.levels_NI), x.scale_N, self.scales_O, self.bias_O, self.sizes)


class Float8Product(SharedProduct):
    """Of floats of 8 bits, which need no smoothing: a small one is as exact as a large one."""

    _levels_OI: Tensor

    @property
    def levels(self) -> Tensor:
        return self._levels_OI

    def hold(self, levels_OI: Tensor) -> None:
        self.register_buffer("_levels_OI", levels_OI, persistent=False)

    def multiply(self, x_NI: Tensor) -> Tensor:
        levels_NI, scale_N = self.operations.round_floats(x_NI)
        out_NO = float8_product(levels_NI, scale_N, self._levels_OI, self.scales_O, x_NI.dtype)
        return out_NO + self.bias_O if self.has_bias else out_NO


class IntegerExperts(nn.Module):
    """Products of integers with a matrix each for rows of many experts; only what experts with rows hold is read.

    Args:
        weight: of all experts, in 8 bits and whole rows, smoothed; what it holds is held here from now on.
        unsmooth_I: what inputs are multiplied by.
    """

    unsmooth_I: Tensor
    scales_XO: Tensor

    def __init__(self, weight: QuantizedWeight, unsmooth_I: Tensor) -> None:
        super().__init__()
        self.dtype = weight.dtype
        self.register_buffer("unsmooth_I", unsmooth_I, persistent=False)
        self.register_buffer("scales_XO", weight.scales.squeeze(-1), persistent=False)
        self._matrices = integer_matrix(weight.levels)
        weight.hand_over(self, 0, len(weight))

    @property
    def levels(self) -> Tensor:
        """The matrices [X, O, I]."""
        return self._matrices.levels

    def forward(self, x: Tensor | Rounded, end_X: Tensor, operations: Operations) -> Tensor:
        if isinstance(x, Tensor):
            x = operations.round_rows(x, self.unsmooth_I)
        return self._matrices.multiply_each(x.levels_NI, x.scale_N, self.scales_XO, end_X).to(self.dtype)


def multiplies_float8(device: torch.device) -> bool:
    """Whether there is a product of floats of 8 bits: on GPUs from compute capability 8.9 on, and, slowly, on CPUs."""
    return device.type == "cpu" or (device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 9))


def float8_product(
    levels_NI: Tensor, scale_N: Tensor, levels_OI: Tensor, scales_O: Tensor, dtype: torch.dtype
) -> Tensor:
    """The product [N, O] of two matrices of floats of 8 bits whose rows have scales; of CUDA's in bfloat16 at best.

    Args:
        levels_NI, levels_OI: float8_e4m3fn.
        scale_N, scales_O: float32.
        dtype: of the result, if there is a product that gives it.
    """
    if not len(levels_NI):
        return levels_NI.new_empty(0, len(levels_OI), dtype=dtype)
    rows = functional.ScalingType.RowWise
    return functional.scaled_mm(
        *(levels_NI, levels_OI.T, scale_N.unsqueeze(1), rows, scales_O.unsqueeze(0), rows),
        output_dtype=torch.bfloat16 if levels_NI.is_cuda else dtype,
    )


def _shared(linears: tuple[nn.Module | Tensor, ...]) -> SharedProduct | None:
    """The product that linears have in common, and nobody else."""
    product = getattr(linears[0], "product", None) if linears else None
    return product if isinstance(product, SharedProduct) and product.linears == linears else None


def rounding(*readers: nn.Module | Tensor) -> Tensor | None:
    """What readers of an input want it to be rounded with (`Operations.round_rows`), if they multiply integers.

    Args:
        readers: linears, or the weight of experts.
    """
    held = readers[0] if len(readers) == 1 else None
    if isinstance(held, QuantizedWeight):
        return None if held.product is None else held.product.unsmooth_I
    product = _shared(readers)
    return product.unsmooth_I if isinstance(product, IntegerProduct) else None


def project(x: Tensor | Rounded, *linears: nn.Module) -> Sequence[Tensor] | Unscaled:
    """What several linears make of one input: in one product, where they share one.

    Args:
        x: the input, or what it was rounded to, if `rounding` asks for that.
        linears: in the order of the product.
    """
    product = _shared(linears)
    if isinstance(product, IntegerProduct):
        return product.unscaled(x)
    outs: Sequence[Tensor] = [linear(x) for linear in linears] if product is None else product(x)
    return outs


def project_one(x: Tensor | Rounded, linear: nn.Module) -> Tensor | Unscaled:
    """The same of one linear."""
    outs = project(x, linear)
    return outs if isinstance(outs, Unscaled) else outs[0]


def grouped_product(
    x: Tensor | Rounded, weight_XOI: Tensor | QuantizedWeight, end_X: Tensor, operations: Operations = TORCH
) -> Tensor:
    """Products of neighbouring rows with a matrix each, [M, O].

    Args:
        x: rows [M, I] of the first matrix, then of the second, and so on; a matrix may have none. Or what they were
            rounded to, if `rounding` asks for that.
        weight_XOI: the matrices.
        end_X: int32; the row that those of each matrix end before, M of the last.
        operations: round the rows, where floats of 8 bits are multiplied.
    """
    if isinstance(weight_XOI, Tensor):
        assert isinstance(x, Tensor), "`rounding` did not ask for anything else"
        return functional.grouped_mm(x, weight_XOI.mT, offs=end_X)
    out_MO: Tensor = weight_XOI(x, end_X, operations)
    return out_MO


def _one_by_one(
    x_MI: Tensor, weight_XOI: QuantizedWeight, end_X: Tensor, product: Callable[[slice, int], Tensor]
) -> Tensor:
    """Products of the rows that each matrix has, if any; asks the device how many those are."""
    pairs = itertools.pairwise([0, *end_X.tolist()])
    parts = [product(slice(a, b), i) for i, (a, b) in enumerate(pairs) if a < b]
    return torch.cat(parts) if parts else x_MI.new_empty(0, weight_XOI.shape[1])
