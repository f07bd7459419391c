"""Matrix products of linears and experts with 8-bit inputs: integers on a CPU, floats on a GPU."""

# O outputs, I inputs, N positions, M rows sorted by expert, X experts

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.kernels.base import TORCH, Backend, QuantizedActivation, Rounding
from sfumato.models.products import FusedProduct, SharedProduct
from sfumato.models.quantization.tables import integer_matrix
from sfumato.models.quantization.weights import QuantizedWeight


class QuantizedLinear(nn.Module):
    """A linear with a quantized weight."""

    def __init__(self, weight: QuantizedWeight, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.weight = weight
        self.bias = bias
        self.product: SharedProduct | None = None
        """Multiplies the quantized weight, possibly together with other linears."""

    def forward(self, x: Tensor) -> Tensor:
        if self.product is None:
            return functional.linear(x, self.weight.dequantized(), self.bias)
        out: Tensor = self.product(x)[self.product.linears.index(self)]
        return out


class QuantizedProduct(SharedProduct):
    """Linears with the same input, which is quantized once, multiplied as one matrix.

    Args:
        linears: their weights become parts of that matrix.
    """

    scales_O: Tensor
    bias_O: Tensor

    def __init__(self, linears: Sequence[QuantizedLinear]) -> None:
        weights = [linear.weight for linear in linears]
        super().__init__(linears, [len(weight) for weight in weights])
        self.register_buffer("scales_O", torch.cat([weight.scales for weight in weights]).squeeze(-1), persistent=False)
        biases = [
            weight.scales.new_zeros(len(weight)) if linear.bias is None else linear.bias.detach()
            for linear, weight in zip(linears, weights, strict=True)
        ]
        self.register_buffer("bias_O", torch.cat(biases).float(), persistent=False)
        self.has_bias = any(linear.bias is not None for linear in linears)
        groups = [weight.groups for weight in weights if weight.groups is not None]
        self.hold(torch.cat([weight.levels for weight in weights]), torch.cat(groups) if groups else None)
        first = 0
        for weight, size in zip(weights, self.sizes, strict=True):
            weight.hand_over(self, first, first + size)
            first += size

    @property
    def scales(self) -> Tensor:
        """Scales of its rows [O, 1]."""
        return self.scales_O.unsqueeze(-1)

    @property
    @abc.abstractmethod
    def levels(self) -> Tensor:
        """The matrix [O, I]."""

    @property
    @abc.abstractmethod
    def groups(self) -> Tensor | None:
        """Its groups, if any: see `dequantize`."""

    @abc.abstractmethod
    def hold(self, levels_OI: Tensor, groups: Tensor | None) -> None:
        """Set the matrix."""


class IntegerProduct(QuantizedProduct, FusedProduct):
    """Integer products. Inputs of whole rows are smoothed: element i is divided by s_i, and its weights are multiplied
    by it. With grouped weights, inputs are rounded per group.

    Args:
        linears: see `QuantizedProduct`; with weights of whole rows already smoothed.
        unsmooth_I: 1 / s.
        digits: see `Quantization`.
    """

    unsmooth_I: Tensor

    def __init__(self, linears: Sequence[QuantizedLinear], unsmooth_I: Tensor, digits: int = 1) -> None:
        super().__init__(linears)
        self.digits = digits
        self.register_buffer("unsmooth_I", unsmooth_I, persistent=False)

    @property
    def rounding(self) -> Rounding:
        return Rounding(self.unsmooth_I, self.digits, self.matrix.num_groups)

    @property
    def levels(self) -> Tensor:
        return self.matrix.levels

    @property
    def groups(self) -> Tensor | None:
        return self.matrix.groups

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Everything a product reads."""
        return *self.buffers(recurse=False), *self.matrix.tensors

    def hold(self, levels_OI: Tensor, groups: Tensor | None) -> None:
        self.matrix = integer_matrix(levels_OI, groups)

    def multiply(self, x_NI: Tensor, residual_NO: Tensor | None = None) -> Tensor:
        return self._of(self.backend.quantize(x_NI, self.rounding), residual_NO)

    def multiply_normed(self, x_NI: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        return self._of(self.backend.norm_quantize(x_NI, weight_I, eps, self.rounding))

    def multiply_gated(self, both_NO: Tensor, activation: str, residual_NO: Tensor) -> Tensor:
        return self._of(self.backend.gate_quantize(both_NO, activation, self.rounding), residual_NO)

    def _of(self, x: QuantizedActivation, residual_NO: Tensor | None = None) -> Tensor:
        return self.matrix.multiply(x, self.scales_O, self.bias_O, residual_NO=residual_NO)


class Float8Product(QuantizedProduct):
    """Products of 8-bit floats, which need no smoothing: their relative precision does not depend on their size."""

    _levels_OI: Tensor

    @property
    def levels(self) -> Tensor:
        return self._levels_OI

    @property
    def groups(self) -> None:
        return None

    def hold(self, levels_OI: Tensor, groups: Tensor | None) -> None:
        self.register_buffer("_levels_OI", levels_OI, persistent=False)

    def multiply(self, x_NI: Tensor, residual_NO: Tensor | None = None) -> Tensor:
        levels_NI, scale_N = self.backend.quantize_float8(x_NI)
        out_NO = float8_product(levels_NI, scale_N, self._levels_OI, self.scales_O, x_NI.dtype)
        out_NO = out_NO + self.bias_O if self.has_bias else out_NO
        return out_NO if residual_NO is None else out_NO + residual_NO


class IntegerExperts(nn.Module):
    """Integer products of many experts with their own rows; experts without rows are not read.

    Args:
        weight: of all experts, smoothed if of whole rows; its levels move here.
        unsmooth_I: factors of the inputs.
    """

    unsmooth_I: Tensor
    scales_XO: Tensor

    def __init__(self, weight: QuantizedWeight, unsmooth_I: Tensor) -> None:
        super().__init__()
        self.backend: Backend = TORCH
        self.register_buffer("unsmooth_I", unsmooth_I, persistent=False)
        self.register_buffer("scales_XO", weight.scales.squeeze(-1), persistent=False)
        self.matrices = integer_matrix(weight.levels, weight.groups)
        weight.hand_over(self, 0, len(weight))

    @property
    def scales(self) -> Tensor:
        """Scales of their rows [X, O, 1]."""
        return self.scales_XO.unsqueeze(-1)

    @property
    def levels(self) -> Tensor:
        """The matrices [X, O, I]."""
        return self.matrices.levels

    @property
    def groups(self) -> Tensor | None:
        """Their groups, if any."""
        return self.matrices.groups

    def forward(self, x_NI: Tensor, row_M: Tensor | None, end_X: Tensor) -> Tensor:
        """See `grouped_product`."""
        x = self.backend.quantize(x_NI, Rounding(self.unsmooth_I, num_groups=self.matrices.num_groups))
        if row_M is not None:
            # Each position once, whichever experts read it.
            x = QuantizedActivation(*(part.index_select(0, row_M) for part in x))
        return self.matrices.multiply(x, self.scales_XO, end_X=end_X).to(x_NI.dtype)


def multiplies_float8(device: torch.device) -> bool:
    """Whether 8-bit float products are available: on GPUs from compute capability 8.9 on, and, slowly, on CPUs."""
    return device.type == "cpu" or (device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 9))


def float8_product(
    levels_NI: Tensor, scale_N: Tensor, levels_OI: Tensor, scales_O: Tensor, dtype: torch.dtype
) -> Tensor:
    """Product [N, O] of two 8-bit float matrices with row scales; CUDA's are best in bfloat16.

    Args:
        levels_NI, levels_OI: float8_e4m3fn.
        scale_N, scales_O: float32.
        dtype: of the result, if supported.
    """
    if not len(levels_NI):
        return levels_NI.new_empty(0, len(levels_OI), dtype=dtype)
    rows = functional.ScalingType.RowWise
    return functional.scaled_mm(
        *(levels_NI, levels_OI.T, scale_N.unsqueeze(1), rows, scales_O.unsqueeze(0), rows),
        output_dtype=torch.bfloat16 if levels_NI.is_cuda else dtype,
    )


def grouped_product(
    x_NI: Tensor,
    weight_XOI: Tensor | QuantizedWeight,
    end_X: Tensor,
    row_M: Tensor | None = None,
    backend: Backend = TORCH,
) -> Tensor:
    """Products of adjacent rows with a matrix each, [M, O].

    Args:
        x_NI: inputs.
        weight_XOI: the matrices.
        end_X: int32; end of each matrix's rows, M for the last.
        row_M: input index of each row: those of the first matrix, then of the second, and so on; a matrix may have
            none. None means in order.
        backend: quantizes the rows for 8-bit floats.
    """
    if isinstance(weight_XOI, QuantizedWeight) and weight_XOI.product is not None:
        out_MO: Tensor = weight_XOI.product(x_NI, row_M, end_X)
        return out_MO
    x_MI = x_NI if row_M is None else x_NI.index_select(0, row_M)
    if isinstance(weight_XOI, QuantizedWeight) and weight_XOI.watch is not None:
        weight_XOI.watch(weight_XOI, x_MI, end_X)
    if isinstance(weight_XOI, Tensor):
        return functional.grouped_mm(x_MI, weight_XOI.mT, offs=end_X)
    if not weight_XOI.is_float or not multiplies_float8(x_MI.device):
        return _one_by_one(x_MI, weight_XOI, end_X, lambda here, i: functional.linear(x_MI[here], weight_XOI[i]))
    levels_MI, scale_M = backend.quantize_float8(x_MI)
    levels_XOI, scales_XO = weight_XOI.levels, weight_XOI.scales.squeeze(-1)
    # One product for all exists only on Hopper and Blackwell.
    if x_MI.is_cuda and torch.cuda.get_device_capability(x_MI.device)[0] in (9, 10):
        rows = functional.ScalingType.RowWise
        out_MO = functional.scaled_grouped_mm(  # type: ignore[attr-defined]
            *(levels_MI, levels_XOI.mT, scale_M, rows, scales_XO, rows), offs=end_X, output_dtype=torch.bfloat16
        )
        return out_MO.to(x_MI.dtype)

    def product(here: slice, i: int) -> Tensor:
        return float8_product(levels_MI[here], scale_M[here], levels_XOI[i], scales_XO[i], x_MI.dtype)

    return _one_by_one(x_MI, weight_XOI, end_X, product).to(x_MI.dtype)


def _one_by_one(
    x_MI: Tensor, weight_XOI: QuantizedWeight, end_X: Tensor, product: Callable[[slice, int], Tensor]
) -> Tensor:
    """Products per matrix, skipping those without rows; asks the device for the numbers."""
    pairs = itertools.pairwise([0, *end_X.tolist()])
    parts = [product(slice(a, b), i) for i, (a, b) in enumerate(pairs) if a < b]
    return torch.cat(parts) if parts else x_MI.new_empty(0, weight_XOI.shape[1])
