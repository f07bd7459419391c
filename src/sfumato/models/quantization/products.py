"""Matrix products with 8-bit inputs, of linears, experts and tables of a whole vocabulary: integers on a CPU, floats on
a GPU. On CPUs with AVX-512 VNNI or AMX, integers are several times faster than floats."""

# N positions, M one or two digits of each, or rows sorted by expert, I inputs, G groups of them, O outputs, X matrices
# or experts, V vocabulary, D model

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.kernels.base import DIGIT, SECOND_DIGIT, TORCH, Backend, QuantizedActivation, Rounding
from sfumato.kernels.cpu.products import Matrix, is_available
from sfumato.models.layers import FusedProduct, SharedProduct
from sfumato.models.quantization.weights import QuantizedWeight, dequantize

# Rounding a row of the matrix changes a logit by a standard deviation of scale * |x| / sqrt(12); this allows four.
_UNSURE = 4 / 12**0.5


@functools.cache
def multiplies_integers(device: torch.device) -> bool:
    """Whether 8-bit integer products are exact: by `kernels.cpu.products`, or by torch, whose sums of two overflow on
    some x86 CPUs."""
    if device.type == "cpu" and is_available():
        return True
    largest = torch.full((32, 64), DIGIT, dtype=torch.int8, device=device)
    return bool((torch._int_mm(largest, largest.T) == 64 * DIGIT**2).all())


class IntegerMatrix:
    """A matrix, or many of one shape, multiplied in torch; `kernels.cpu.products.Matrix` is the compiled version.

    Args:
        levels: int8 [O, I] or [X, O, I]; with groups, see `weights.dequantize`.
        groups: their scales and minimums, if any.
    """

    def __init__(self, levels: Tensor, groups: Tensor | None = None) -> None:
        self.levels, self.groups = levels, groups
        self.num_groups = 1 if groups is None else groups.shape[-2]
        """Number of scales per input row."""
        self.tensors: tuple[Tensor, ...] = (levels,) if groups is None else (levels, groups)
        """Everything a product reads besides its arguments."""

    def multiply(
        self,
        x: QuantizedActivation,
        scales_XO: Tensor,
        bias_O: Tensor | None = None,
        *,
        residual_NO: Tensor | None = None,
        end_X: Tensor | None = None,
    ) -> Tensor:
        """The product [N, O] with some rows, float32.

        Args:
            scales_XO: float32; factors of each matrix's outputs.
            bias_O, residual_NO: float32; added in this order.
            end_X: int32, for many matrices: end of each matrix's rows, which have one digit.
        """
        if end_X is None:
            out_NO = self._product(x, self.levels, self.groups).mul_(scales_XO)
        else:
            out_NO = scales_XO.new_empty(len(x.scale_NG), scales_XO.shape[1])
            for i, (first, last) in enumerate(itertools.pairwise([0, *end_X.tolist()])):
                if first < last:
                    rows = QuantizedActivation(*(part[first:last] for part in x))
                    groups = None if self.groups is None else self.groups[i]
                    torch.mul(self._product(rows, self.levels[i], groups), scales_XO[i], out=out_NO[first:last])
        for added in (bias_O, residual_NO):
            if added is not None:
                out_NO += added
        return out_NO

    @staticmethod
    def _product(x: QuantizedActivation, levels: Tensor, groups: Tensor | None) -> Tensor:
        """The product with one matrix, before its output factors."""
        num_rows, num_groups = x.scale_NG.shape
        if groups is None:
            product_MO = torch._int_mm(x.levels_MI, levels.T).float()
        else:
            # In floats, where sums of small integers are exact too.
            digits_MGS = torch.unflatten(x.levels_MI, -1, (num_groups, -1))
            scale_MG = x.scale_NG.repeat(len(digits_MGS) // max(1, num_rows), 1)
            weight_OI = dequantize(levels, torch.ones(len(levels), 1, device=levels.device), torch.float32, groups)
            product_MO = (digits_MGS * scale_MG.unsqueeze(-1)).flatten(1) @ weight_OI.T
        high_NO, *low_NO = torch.split(product_MO, max(1, num_rows))
        if low_NO:
            high_NO = high_NO.add(low_NO[0], alpha=1 / SECOND_DIGIT)
        return high_NO.mul(x.scale_NG) if groups is None else high_NO

    def mean(self, digits_MI: Tensor, factor: float) -> Tensor:
        """The product [N, O] with rows of two digits in base 127, 0 or more, times a factor, float32. For few outputs
        and very many inputs."""
        high_NO, low_NO = torch._int_mm(digits_MI, self.levels.T).float().chunk(2)
        mean_NO: Tensor = high_NO.add_(low_NO, alpha=1 / DIGIT).mul_(factor)
        return mean_NO


def integer_matrix(levels: Tensor, groups: Tensor | None = None, *, means: bool = False) -> IntegerMatrix | Matrix:
    """The fastest form of a matrix, or of many.

    Args:
        levels, groups: see `IntegerMatrix`.
        means: whether it is for `mean`.

    On the meta device, it is the form in files: see `checkpoints.prepared`.
    """
    if levels.is_meta or (levels.device.type == "cpu" and is_available()):
        return Matrix(levels, groups, sums=means)
    return IntegerMatrix(levels, groups)


def _join(tensors: Sequence[Tensor]) -> Tensor:
    """`torch.cat`, which on the meta device imports torch's compiler: one to five seconds."""
    if tensors[0].is_meta:
        return tensors[0].new_empty((sum(map(len, tensors)), *tensors[0].shape[1:]))
    return torch.cat(list(tensors))


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
    """Linears with the same input, which is quantized once, multiplied as one matrix. It becomes their `product`.

    Args:
        linears: that matrix takes their weights.
        matrix_of: makes it from levels [O, I] and groups, see `dequantize`.
    """

    scales_O: Tensor
    bias_O: Tensor

    def __init__(self, linears: Sequence[QuantizedLinear], matrix_of: Callable[[Tensor, Tensor | None], Any]) -> None:
        weights = [linear.weight for linear in linears]
        super().__init__(linears, [len(weight) for weight in weights])
        self.register_buffer("scales_O", _join([weight.scales for weight in weights]).squeeze(-1), persistent=False)
        biases = [
            weight.scales.new_zeros(len(weight)) if linear.bias is None else linear.bias.detach()
            for linear, weight in zip(linears, weights, strict=True)
        ]
        self.register_buffer("bias_O", _join(biases).float(), persistent=False)
        self.has_bias = any(linear.bias is not None for linear in linears)
        groups = [weight.groups for weight in weights if weight.groups is not None]
        levels_OI = _join([weight.levels for weight in weights])
        self.matrix = matrix_of(levels_OI, _join(groups) if groups else None)
        for linear in linears:
            linear.weight.drop()
            linear.product = self


class IntegerProduct(QuantizedProduct, FusedProduct):
    """Integer products. Inputs of whole rows are smoothed: element i is divided by s_i, and its weights are multiplied
    by it. With grouped weights, inputs are rounded per group.

    Args:
        linears: see `QuantizedProduct`; with weights of whole rows already smoothed.
        unsmooth_I: 1 / s; None is 1.
        digits: see `Quantization`.
    """

    unsmooth_I: Tensor
    matrix: IntegerMatrix | Matrix

    def __init__(self, linears: Sequence[QuantizedLinear], unsmooth_I: Tensor | None = None, digits: int = 1) -> None:
        super().__init__(linears, integer_matrix)
        self.digits = digits
        if unsmooth_I is None:
            unsmooth_I = torch.ones(linears[0].weight.shape[-1], device=self.scales_O.device)
        self.register_buffer("unsmooth_I", unsmooth_I, persistent=False)

    @property
    def rounding(self) -> Rounding:
        return Rounding(self.unsmooth_I, self.digits, self.matrix.num_groups)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return *self.buffers(recurse=False), *self.matrix.tensors

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

    matrix: Tensor

    def __init__(self, linears: Sequence[QuantizedLinear]) -> None:
        super().__init__(linears, lambda levels_OI, groups: levels_OI)

    def multiply(self, x_NI: Tensor, residual_NO: Tensor | None = None) -> Tensor:
        levels_NI, scale_N = self.backend.quantize_float8(x_NI)
        out_NO = float8_product(levels_NI, scale_N, self.matrix, self.scales_O, x_NI.dtype)
        out_NO = out_NO + self.bias_O if self.has_bias else out_NO
        return out_NO if residual_NO is None else out_NO + residual_NO


class IntegerExperts(nn.Module):
    """Integer products of many experts with their own rows; experts without rows are not read. It becomes the `product`
    of their weight.

    Args:
        weight: of all experts, smoothed if of whole rows; its levels move here.
        unsmooth_I: factors of the inputs; None is 1.
    """

    unsmooth_I: Tensor
    scales_XO: Tensor

    def __init__(self, weight: QuantizedWeight, unsmooth_I: Tensor | None = None) -> None:
        super().__init__()
        self.backend: Backend = TORCH
        if unsmooth_I is None:
            unsmooth_I = torch.ones(weight.shape[-1], device=weight.scales.device)
        self.register_buffer("unsmooth_I", unsmooth_I, persistent=False)
        self.register_buffer("scales_XO", weight.scales.squeeze(-1), persistent=False)
        self.matrices = integer_matrix(weight.levels, weight.groups)
        weight.drop()
        weight.product = self

    def forward(self, x_NI: Tensor, row_M: Tensor | None, end_X: Tensor) -> Tensor:
        """See `grouped_product`."""
        x = self.backend.quantize(x_NI, Rounding(self.unsmooth_I, num_groups=self.matrices.num_groups))
        if row_M is not None:
            # Each position once, whichever experts read it.
            x = QuantizedActivation(*(part.index_select(0, row_M) for part in x))
        return self.matrices.multiply(x, self.scales_XO, end_X=end_X).to(x_NI.dtype)


class IntegerTable(nn.Module):
    """An 8-bit embedding matrix with one scale per token, for the two products that read all of it.

    Hidden states and probabilities have two digits, so that only the matrix is rounded. In a mean of many embeddings
    these errors cancel out; of the logits, those that may be the highest are recomputed in floats.

    Args:
        logits, means: which products it is for.
    """

    scales_V: Tensor
    share_V: Tensor

    def __init__(self, weight_VD: Tensor, *, logits: bool = True, means: bool = True) -> None:
        super().__init__()
        self.backend: Backend = TORCH
        weight_VD = weight_VD.detach()
        levels_VD = weight_VD.new_empty(weight_VD.shape, dtype=torch.int8)
        scales_V = weight_VD.new_empty(len(weight_VD), dtype=torch.float32)
        if not weight_VD.is_meta:
            # In parts, to avoid a second float copy.
            rows = (torch.split(part, 4096) for part in (weight_VD, scales_V, levels_VD))
            for part_VD, part_V, into_VD in zip(*rows, strict=True):
                part_V.copy_((part_VD.abs().amax(1).float() / DIGIT).clamp_min(torch.finfo(torch.float32).tiny))
                into_VD.copy_((part_VD / part_V.unsqueeze(-1)).round_())
        self.register_buffer("scales_V", scales_V, persistent=False)
        share_V = scales_V.new_empty(len(scales_V)) if weight_VD.is_meta else scales_V / scales_V.max()
        self.register_buffer("share_V", share_V, persistent=False)
        self.to_logits = integer_matrix(levels_VD) if logits else None
        self.to_mean = integer_matrix(levels_VD.T, means=True) if means else None

    @functools.cached_property
    def _max_scale(self) -> float:
        return float(self.scales_V.max())

    def mean(self, probs_NV: Tensor) -> Tensor:
        """Mean embeddings [N, D] under weights between 0 and 1; weights below a 32,000th count as 0.

        Args:
            probs_NV: weights, or their digits from `Backend.digits` with `share_V`.
        """
        assert self.to_mean is not None
        digits_MV = probs_NV if probs_NV.dtype is torch.int8 else self.backend.digits(probs_NV, self.share_V)
        return self.to_mean.mean(digits_MV, self._max_scale / DIGIT)

    def logits(self, x_ND: Tensor, weight_VD: Tensor, cap: float | None) -> Tensor:
        """Logits of all tokens, float32.

        Args:
            weight_VD: the matrix in floats.
            cap: c in c tanh(logit / c); None for no cap.
        """
        assert self.to_logits is not None
        if not len(x_ND):
            return self.scales_V.new_empty(0, len(self.scales_V))
        x_ND = x_ND.contiguous()
        x = self.backend.quantize(x_ND, Rounding(torch.ones_like(x_ND[0], dtype=torch.float32), digits=2))
        out_NV = self.to_logits.multiply(x, self.scales_V)
        self.backend.refine(out_NV, x_ND, weight_VD, self.scales_V, error=_UNSURE, cap=cap)
        return out_NV


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
