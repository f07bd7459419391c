"""What is between the products of a layer: norms, rotations, gates, and rounding. Everything is float32 on a CPU.

Where 0 divides nothing is raised (numba's error model of numpy), for a division that may raise is none for vectors.
"""

# N rows, I inputs, O outputs, H heads, E head dimension, F its rotated part

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numba import njit
from numba.np.numpy_support import carray
from torch import Tensor

from sfumato.loops.compiling import DIGIT, SUMS, Array, F, Loop, Z, at, bits_of, exp, float_of, over_parts, parts, word

_TINY = 1.1754944e-38


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _norm_rows(first: int, last: int, x_NI: Array, weight_I: Array, eps: float, out_NI: Array) -> None:
    for n in range(first, last):
        x_I, out_I = x_NI[n], out_NI[n]
        total = F(0.0)
        for i in range(len(x_I)):
            total += x_I[i] * x_I[i]
        scale = F(1.0) / np.sqrt(total / F(len(x_I)) + eps)
        for i in range(len(x_I)):
            out_I[i] = x_I[i] * scale * weight_I[i]


@over_parts
def _norm(job: Any) -> None:
    head = carray(job, (9,), np.int64)
    num_rows, size = head[1], head[4]
    x_NI, out_NI = carray(at(head[5]), (num_rows, size), F), carray(at(head[8]), (num_rows, size), F)
    weight_I, eps = carray(at(head[6]), (size,), F), float_of(Z(head[7]))
    for first, last in parts(job):
        _norm_rows(first, last, x_NI, weight_I, eps, out_NI)


@njit(inline="always", cache=True)
def _turn_heads(x_S: Array, cos_F: Array, sin_F: Array, out_HE: Array) -> None:
    num_heads, size = out_HE.shape
    turned = len(cos_F)
    half = turned // 2
    for h in range(num_heads):
        x_E, out_E = x_S[h * size : (h + 1) * size], out_HE[h]
        for e in range(half):
            out_E[e] = x_E[e] * cos_F[e] - x_E[half + e] * sin_F[e]
        for e in range(half):
            out_E[half + e] = x_E[half + e] * cos_F[half + e] + x_E[e] * sin_F[half + e]
        for e in range(turned, size):
            out_E[e] = x_E[e]


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _rotate_rows(first: int, last: int, x_NS: Array, cos_NF: Array, sin_NF: Array, out_NHE: Array) -> None:
    for n in range(first, last):
        _turn_heads(x_NS[n], cos_NF[n], sin_NF[n], out_NHE[n])


@over_parts
def _rotate(job: Any) -> None:
    head = carray(job, (12,), np.int64)
    num_rows, num_heads, size, turned, stride = head[1], head[4], head[5], head[6], head[7]
    # Rows may stand among others: the last one ends where its heads do, not a stride further.
    x_NS = carray(at(head[8]), (num_rows, stride), F)
    cos_NF, sin_NF = carray(at(head[9]), (num_rows, turned), F), carray(at(head[10]), (num_rows, turned), F)
    out_NHE = carray(at(head[11]), (num_rows, num_heads, size), F)
    for first, last in parts(job):
        _rotate_rows(first, last, x_NS, cos_NF, sin_NF, out_NHE)


@njit(inline="always", cache=True)
def _gate_row(gate_I: Array, up_I: Array, kind: int, out_I: Array) -> None:
    if kind == 0:
        for i in range(len(out_I)):
            g = gate_I[i]
            out_I[i] = up_I[i] * g / (F(1.0) + exp(-g))
    else:
        for i in range(len(out_I)):
            g = gate_I[i]
            twice = F(1.5957691216) * (g + F(0.044715) * g * g * g)
            out_I[i] = up_I[i] * g / (F(1.0) + exp(-twice))


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _gate_rows(first: int, last: int, gate_NS: Array, up_NS: Array, size: int, kind: int, out_NI: Array) -> None:
    for n in range(first, last):
        _gate_row(gate_NS[n, :size], up_NS[n, :size], kind, out_NI[n])


@over_parts
def _gate(job: Any) -> None:
    head = carray(job, (10,), np.int64)
    num_rows, size, stride = head[1], head[4], head[5]
    gate_NS, up_NS = carray(at(head[7]), (num_rows, stride), F), carray(at(head[8]), (num_rows, stride), F)
    out_NI = carray(at(head[9]), (num_rows, size), F)
    for first, last in parts(job):
        _gate_rows(first, last, gate_NS, up_NS, size, head[6], out_NI)


@njit(inline="always", cache=True)
def _round_row(x_I: Array, factor_I: Array, levels_I: Array) -> Any:
    """Returns its scale."""
    highest = Z(0)
    for i in range(len(levels_I)):
        # Of a float without its sign, NaN above all others.
        highest = Z(max(highest, Z(bits_of(x_I[i] * factor_I[i]) & Z(0x7FFFFFFF))))
    scale = max(float_of(highest) / F(DIGIT), F(_TINY))
    inverse = F(1.0) / scale
    for i in range(len(levels_I)):
        levels_I[i] = np.int8(Z(np.rint(x_I[i] * factor_I[i] * inverse)))
    return float_of(highest) if np.isnan(float_of(highest)) else scale


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _round_rows(first: int, last: int, x_NI: Array, factor_I: Array, levels_NI: Array, scale_N: Array) -> None:
    for n in range(first, last):
        scale_N[n] = _round_row(x_NI[n], factor_I, levels_NI[n])


@over_parts
def _round(job: Any) -> None:
    head = carray(job, (9,), np.int64)
    num_rows, size = head[1], head[4]
    x_NI, factor_I = carray(at(head[5]), (num_rows, size), F), carray(at(head[6]), (size,), F)
    levels_NI, scale_N = carray(at(head[7]), (num_rows, size), np.int8), carray(at(head[8]), (num_rows,), F)
    for first, last in parts(job):
        _round_rows(first, last, x_NI, factor_I, levels_NI, scale_N)


@njit(inline="always", cache=True)
def _scale_row(product_O: Array, scale: Any, scales_O: Array, bias_O: Array, out_O: Array) -> None:
    for o in range(len(out_O)):
        out_O[o] = F(product_O[o]) * scale * scales_O[o] + bias_O[o]


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _scale_rows(
    first: int, last: int, product_NO: Array, scale_N: Array, scales_O: Array, bias_O: Array, out_NO: Array
) -> None:
    for n in range(first, last):
        _scale_row(product_NO[n], scale_N[n], scales_O, bias_O, out_NO[n])


@over_parts
def _scale(job: Any) -> None:
    head = carray(job, (10,), np.int64)
    num_rows, size = head[1], head[4]
    product_NO, scale_N = carray(at(head[5]), (num_rows, size), Z), carray(at(head[6]), (num_rows,), F)
    scales_O, bias_O = carray(at(head[7]), (size,), F), carray(at(head[8]), (size,), F)
    out_NO = carray(at(head[9]), (num_rows, size), F)
    for first, last in parts(job):
        _scale_rows(first, last, product_NO, scale_N, scales_O, bias_O, out_NO)


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _add_norm_rows(
    first: int,
    last: int,
    adds: int,
    x_NI: Array,
    product_NI: Array,
    scale_N: Array,
    scales_I: Array,
    bias_I: Array,
    weight_I: Array,
    eps: float,
    factor_I: Array,
    sums_NI: Array,
    levels_NI: Array,
    out_N: Array,
) -> None:
    size = x_NI.shape[1]
    scratch_I = np.empty(size, F)
    for n in range(first, last):
        x_I = sums_NI[n] if adds else x_NI[n]
        if adds:
            before_I = x_NI[n]
            _scale_row(product_NI[n], scale_N[n], scales_I, bias_I, scratch_I)
            for i in range(size):
                x_I[i] = before_I[i] + scratch_I[i]
        total = F(0.0)
        for i in range(size):
            total += x_I[i] * x_I[i]
        root = F(1.0) / np.sqrt(total / F(size) + eps)
        for i in range(size):
            scratch_I[i] = x_I[i] * root * weight_I[i]
        out_N[n] = _round_row(scratch_I, factor_I, levels_NI[n])


@over_parts
def _add_norm(job: Any) -> None:
    head = carray(job, (17,), np.int64)
    num_rows, size, adds, eps = head[1], head[4], head[5], float_of(Z(head[6]))
    x_NI, product_NI = carray(at(head[7]), (num_rows, size), F), carray(at(head[8]), (num_rows, size), Z)
    scale_N, scales_I = carray(at(head[9]), (num_rows,), F), carray(at(head[10]), (size,), F)
    bias_I, weight_I = carray(at(head[11]), (size,), F), carray(at(head[12]), (size,), F)
    factor_I, sums_NI = carray(at(head[13]), (size,), F), carray(at(head[14]), (num_rows, size), F)
    levels_NI, out_N = carray(at(head[15]), (num_rows, size), np.int8), carray(at(head[16]), (num_rows,), F)
    for first, last in parts(job):
        given = (x_NI, product_NI, scale_N, scales_I, bias_I)
        _add_norm_rows(first, last, adds, *given, weight_I, eps, factor_I, sums_NI, levels_NI, out_N)


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _head_rows(
    first: int,
    last: int,
    product_NO: Array,
    scale_N: Array,
    scales_O: Array,
    bias_O: Array,
    cos_NF: Array,
    sin_NF: Array,
    queries_NHE: Array,
    keys_NGE: Array,
    values_NS: Array,
) -> None:
    scratch_O = np.empty(product_NO.shape[1], F)
    queries, keys = queries_NHE.shape[1] * queries_NHE.shape[2], keys_NGE.shape[1] * keys_NGE.shape[2]
    for n in range(first, last):
        _scale_row(product_NO[n], scale_N[n], scales_O, bias_O, scratch_O)
        _turn_heads(scratch_O[:queries], cos_NF[n], sin_NF[n], queries_NHE[n])
        _turn_heads(scratch_O[queries : queries + keys], cos_NF[n], sin_NF[n], keys_NGE[n])
        values_NS[n] = scratch_O[queries + keys :]


@over_parts
def _heads(job: Any) -> None:
    head = carray(job, (18,), np.int64)
    num_rows, num_queries, num_keys, num_values, size, turned = head[1], head[4], head[5], head[6], head[7], head[8]
    width = (num_queries + num_keys + num_values) * size
    product_NO, scale_N = carray(at(head[9]), (num_rows, width), Z), carray(at(head[10]), (num_rows,), F)
    scales_O, bias_O = carray(at(head[11]), (width,), F), carray(at(head[12]), (width,), F)
    cos_NF, sin_NF = carray(at(head[13]), (num_rows, turned), F), carray(at(head[14]), (num_rows, turned), F)
    queries_NHE = carray(at(head[15]), (num_rows, num_queries, size), F)
    keys_NGE = carray(at(head[16]), (num_rows, num_keys, size), F)
    values_NS = carray(at(head[17]), (num_rows, num_values * size), F)
    for first, last in parts(job):
        given = (product_NO, scale_N, scales_O, bias_O)
        _head_rows(first, last, *given, cos_NF, sin_NF, queries_NHE, keys_NGE, values_NS)


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _gate_round_rows(
    first: int,
    last: int,
    kind: int,
    product_NO: Array,
    scale_N: Array,
    scales_O: Array,
    bias_O: Array,
    factor_I: Array,
    levels_NI: Array,
    out_N: Array,
) -> None:
    size = levels_NI.shape[1]
    scratch_O, inner_I = np.empty(2 * size, F), np.empty(size, F)
    for n in range(first, last):
        _scale_row(product_NO[n], scale_N[n], scales_O, bias_O, scratch_O)
        _gate_row(scratch_O[:size], scratch_O[size:], kind, inner_I)
        out_N[n] = _round_row(inner_I, factor_I, levels_NI[n])


@over_parts
def _gate_round(job: Any) -> None:
    head = carray(job, (13,), np.int64)
    num_rows, size, kind = head[1], head[4], head[5]
    product_NO, scale_N = carray(at(head[6]), (num_rows, 2 * size), Z), carray(at(head[7]), (num_rows,), F)
    scales_O, bias_O = carray(at(head[8]), (2 * size,), F), carray(at(head[9]), (2 * size,), F)
    factor_I, levels_NI = carray(at(head[10]), (size,), F), carray(at(head[11]), (num_rows, size), np.int8)
    out_N = carray(at(head[12]), (num_rows,), F)
    for first, last in parts(job):
        given = (product_NO, scale_N, scales_O, bias_O)
        _gate_round_rows(first, last, kind, *given, factor_I, levels_NI, out_N)


_NORM, _ROTATE, _GATE = Loop(_norm), Loop(_rotate), Loop(_gate)
_ROUND, _SCALE = Loop(_round), Loop(_scale)
_ADD_NORM, _HEADS, _GATE_ROUND = Loop(_add_norm), Loop(_heads), Loop(_gate_round)
GATES: tuple[str, ...] = ("silu", "gelu_pytorch_tanh")
"""Activations that `gate` knows."""


def takes(*tensors: Tensor) -> bool:
    """Whether loops can go over these: float32 on a CPU, and nobody wants gradients."""
    return not torch.is_grad_enabled() and all(x.dtype is torch.float32 and x.device.type == "cpu" for x in tensors)


def rms_norm(x: Tensor, weight_I: Tensor, eps: float) -> Tensor:
    """Root mean square normalisation of the last dimension, with a learned scale."""
    x = x.contiguous()
    out, num_rows = torch.empty_like(x), x.numel() // len(weight_I)
    addresses = (x.data_ptr(), weight_I.data_ptr(), word(eps), out.data_ptr())
    _NORM(num_rows, 4 * x.numel(), len(weight_I), *addresses)
    return out


def rotate(x_NHE: Tensor, cos_NF: Tensor, sin_NF: Tensor) -> Tensor:
    """Rotate every head by its position, as `Operations.rotate`.

    Args:
        x_NHE: heads of a row stand behind each other; rows may stand apart.
        cos_NF, sin_NF: contiguous.
    """
    num_rows, num_heads, size = x_NHE.shape
    if x_NHE.stride(2) != 1 or (num_heads > 1 and x_NHE.stride(1) != size):
        x_NHE = x_NHE.contiguous()
    stride = x_NHE.stride(0) if num_rows > 1 else num_heads * size
    out_NHE = torch.empty(num_rows, num_heads, size)
    sizes = (num_heads, size, cos_NF.shape[1], stride)
    tensors = (x_NHE, cos_NF, sin_NF, out_NHE)
    _ROTATE(num_rows, 2 * out_NHE.numel(), *sizes, *(x.data_ptr() for x in tensors))
    return out_NHE


def gate(gate_NI: Tensor, up_NI: Tensor, activation: str) -> Tensor:
    """An activation of one half, times the other half; rows of both may stand equally far apart.

    Args:
        gate_NI, up_NI: the halves.
        activation: one of GATES.
    """
    num_rows, size = gate_NI.shape
    if gate_NI.stride() != up_NI.stride() or gate_NI.stride(1) != 1:
        gate_NI, up_NI = gate_NI.contiguous(), up_NI.contiguous()
    stride = gate_NI.stride(0) if num_rows > 1 else size
    out_NI = torch.empty(num_rows, size)
    tensors = (gate_NI, up_NI, out_NI)
    sizes = (size, stride, GATES.index(activation))
    _GATE(num_rows, 4 * out_NI.numel(), *sizes, *(x.data_ptr() for x in tensors))
    return out_NI


def round_rows(x_NI: Tensor, factor_I: Tensor) -> tuple[Tensor, Tensor]:
    """Rows times factors, as integers from -127 to 127 and a scale for each row.

    Returns:
        levels_NI: int8.
        scale_N: of each, more than 0; NaN where a row has one.
    """
    x_NI = x_NI.contiguous()
    num_rows, size = x_NI.shape
    levels_NI, scale_N = torch.empty(num_rows, size, dtype=torch.int8), torch.empty(num_rows)
    tensors = (x_NI, factor_I, levels_NI, scale_N)
    _ROUND(num_rows, 2 * x_NI.numel(), size, *(x.data_ptr() for x in tensors))
    return levels_NI, scale_N


def scale_product(product_NO: Tensor, scale_N: Tensor, scales_O: Tensor, bias_O: Tensor) -> Tensor:
    """A product of integers as floats: times the scales of its row and its column, plus a bias.

    Args:
        product_NO: int32.
        scale_N, scales_O, bias_O: float32.
    """
    out_NO = torch.empty(product_NO.shape)
    tensors = (product_NO, scale_N, scales_O, bias_O, out_NO)
    _SCALE(len(product_NO), out_NO.numel(), product_NO.shape[1], *(x.data_ptr() for x in tensors))
    return out_NO


def add_norm_round(
    x: Tensor, product: Sequence[Tensor] | None, weight_I: Tensor, eps: float, factor_I: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """A residual stream with a product of integers added to it, and the norm of that, rounded.

    Args:
        x: [..., I].
        product: as `scale_product` takes it; None adds nothing.
        weight_I, eps: as in `rms_norm`.
        factor_I: as in `round_rows`.

    Returns:
        x: with the product.
        levels_NI, scale_N: see `round_rows`.
    """
    x = x.contiguous()
    size = len(weight_I)
    num_rows = x.numel() // size
    sums = x if product is None else torch.empty_like(x)
    levels_NI, scale_N = torch.empty(num_rows, size, dtype=torch.int8), torch.empty(num_rows)
    given = (factor_I,) * 4 if product is None else product
    before = (x, *given, weight_I, factor_I, sums, levels_NI, scale_N)
    _ADD_NORM(num_rows, 6 * x.numel(), size, product is not None, word(eps), *(one.data_ptr() for one in before))
    return sums, levels_NI, scale_N


def heads(
    product_NO: Tensor,
    scale_N: Tensor,
    scales_O: Tensor,
    bias_O: Tensor,
    cos_RQ1F: Tensor,
    sin_RQ1F: Tensor,
    num_heads: Sequence[int],
    size: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys, rotated, and values, of a product of integers.

    Args:
        product_NO, scale_N, scales_O, bias_O: see `scale_product`; queries, keys and values stand behind each other.
        cos_RQ1F, sin_RQ1F: contiguous; N is R times Q.
        num_heads: of queries, keys and values.
        size: E.

    Returns:
        queries_RQHE, keys_RQGE, values_RQGE.
    """
    rows, per_row, _, turned = cos_RQ1F.shape
    queries, keys, values = (torch.empty(rows, per_row, count, size) for count in num_heads)
    tensors = (product_NO, scale_N, scales_O, bias_O, cos_RQ1F, sin_RQ1F, queries, keys, values)
    _HEADS(rows * per_row, 3 * product_NO.numel(), *num_heads, size, turned, *(x.data_ptr() for x in tensors))
    return queries, keys, values


def gate_round(
    product_NO: Tensor, scale_N: Tensor, scales_O: Tensor, bias_O: Tensor, factor_I: Tensor, activation: str
) -> tuple[Tensor, Tensor]:
    """An activation of one half of a product of integers, times the other half, rounded.

    Args:
        product_NO, scale_N, scales_O, bias_O: see `scale_product`.
        factor_I: see `round_rows`.
        activation: one of GATES.

    Returns:
        levels_NI, scale_N: see `round_rows`.
    """
    num_rows, size = len(product_NO), len(factor_I)
    levels_NI, out_N = torch.empty(num_rows, size, dtype=torch.int8), torch.empty(num_rows)
    tensors = (product_NO, scale_N, scales_O, bias_O, factor_I, levels_NI, out_N)
    numbers = (size, GATES.index(activation))
    _GATE_ROUND(num_rows, 6 * levels_NI.numel(), *numbers, *(x.data_ptr() for x in tensors))
    return levels_NI, out_N
