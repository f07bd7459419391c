"""The operations between the products of a layer: norms, rotations and gates, also with rounding. Float32 on a CPU.

torch reads all memory once per operation and wakes its threads for each: a norm is four operations, and rounding the
inputs of a product eight, on rows that would fit the first-level cache. Here each row is read once and finished before
the next. A row's result depends only on the row, to the last bit, with any other rows and any number of threads.

Division by 0 does not raise (numba's error model of numpy), because a division that may raise is not vectorised.
"""

# N rows, I inputs, G groups of S inputs, H heads, E head dimension, F its rotated part, M one or two digits of each row

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.np.numpy_support import carray

from sfumato.kernels.base import DIGIT, SECOND_DIGIT
from sfumato.kernels.cpu.loops.compiling import SUMS, Array, F, Z, at, bits_of, exp, float_of, parts

_TINY = 1.1754944e-38


@njit(inline="always", cache=True)
def _scale_of(x_I: Array, eps: float) -> Any:
    """One over the root mean square."""
    total = F(0.0)
    for i in range(len(x_I)):
        total += x_I[i] * x_I[i]
    return F(1.0) / np.sqrt(total / F(len(x_I)) + eps)


@njit(inline="always", cache=True)
def _round_row(x_I: Array, factor_I: Array, row: int, levels_MI: Array, scale_NG: Array) -> None:
    """Round a row with one scale per group; second digits, if any, come after the first digits of all rows."""
    num_rows, num_groups = scale_NG.shape
    group = len(x_I) // num_groups
    for g in range(num_groups):
        # Slices, because indices that might be negative are not vectorised well.
        own = slice(g * group, (g + 1) * group)
        x_S, factor_S, levels_S = x_I[own], factor_I[own], levels_MI[row, own]
        highest = Z(0)
        for s in range(group):
            # Bits of the absolute value, in which NaN is above all numbers.
            highest = Z(max(highest, Z(bits_of(x_S[s] * factor_S[s]) & Z(0x7FFFFFFF))))
        scale = max(float_of(highest) / F(DIGIT), F(_TINY))
        inverse = F(1.0) / scale
        for s in range(group):
            levels_S[s] = np.int8(Z(np.rint(x_S[s] * factor_S[s] * inverse)))
        if len(levels_MI) > num_rows:
            rest_S = levels_MI[num_rows + row, own]
            for s in range(group):
                rest = x_S[s] * factor_S[s] * inverse - F(levels_S[s])
                rest_S[s] = np.int8(Z(np.rint(rest * F(SECOND_DIGIT))))
        scale_NG[row, g] = float_of(highest) if np.isnan(float_of(highest)) else scale


@njit(inline="always", cache=True)
def _norm_row(x_I: Array, weight_I: Array, eps: float, out_I: Array) -> None:
    scale = _scale_of(x_I, eps)
    for i in range(len(x_I)):
        out_I[i] = x_I[i] * scale * weight_I[i]


@njit(inline="always", cache=True)
def _gate_row(kind: int, gate_I: Array, up_I: Array, out_I: Array) -> None:
    for i in range(len(out_I)):
        g = gate_I[i]
        turn = g if kind == 0 else F(1.5957691216) * (g + F(0.044715) * g * g * g)
        out_I[i] = up_I[i] * g / (F(1.0) + exp(-turn))


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _round_rows(first: int, last: int, x_NI: Array, factor_I: Array, levels_MI: Array, scale_NG: Array) -> None:
    for n in range(first, last):
        _round_row(x_NI[n], factor_I, n, levels_MI, scale_NG)


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _norm_rows(
    first: int, last: int, x_NI: Array, weight_I: Array, eps: float, factor_I: Array, levels_MI: Array, scale_NG: Array
) -> None:
    normed_I = np.empty(x_NI.shape[1], F)
    for n in range(first, last):
        _norm_row(x_NI[n], weight_I, eps, normed_I)
        _round_row(normed_I, factor_I, n, levels_MI, scale_NG)


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _gate_rows(
    first: int, last: int, kind: int, both_NO: Array, factor_I: Array, levels_MI: Array, scale_NG: Array
) -> None:
    size = len(factor_I)
    inner_I = np.empty(size, F)
    for n in range(first, last):
        _gate_row(kind, both_NO[n, :size], both_NO[n, size:], inner_I)
        _round_row(inner_I, factor_I, n, levels_MI, scale_NG)


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _rotate_rows(
    first: int,
    last: int,
    normed: bool,
    weight_E: Array,
    eps: float,
    x_NS: Array,
    cos_NF: Array,
    sin_NF: Array,
    out_NHE: Array,
) -> None:
    num_heads, size = out_NHE.shape[1:]
    half = cos_NF.shape[1] // 2
    head_E = np.empty(size, F)
    for n in range(first, last):
        cos_F, sin_F = cos_NF[n], sin_NF[n]
        for h in range(num_heads):
            x_E, out_E = x_NS[n, h * size : (h + 1) * size], out_NHE[n, h]
            if normed:
                _norm_row(x_E, weight_E, eps, head_E)
                x_E = head_E
            for e in range(half):
                out_E[e] = x_E[e] * cos_F[e] - x_E[half + e] * sin_F[e]
            for e in range(half):
                out_E[half + e] = x_E[half + e] * cos_F[half + e] + x_E[e] * sin_F[half + e]
            for e in range(2 * half, size):
                out_E[e] = x_E[e]


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _plain_norm_rows(first: int, last: int, x_NI: Array, weight_I: Array, eps: float, out_NI: Array) -> None:
    for n in range(first, last):
        _norm_row(x_NI[n], weight_I, eps, out_NI[n])


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _plain_gate_rows(first: int, last: int, kind: int, gate_NS: Array, up_NS: Array, out_NI: Array) -> None:
    size = out_NI.shape[1]
    for n in range(first, last):
        _gate_row(kind, gate_NS[n, :size], up_NS[n, :size], out_NI[n])


def plain_norm(job: Any) -> None:
    head = carray(job, (9,), np.int64)
    num_rows, size, eps = head[1], head[4], float_of(Z(head[5]))
    x_NI, weight_I = carray(at(head[6]), (num_rows, size), F), carray(at(head[7]), (size,), F)
    out_NI = carray(at(head[8]), (num_rows, size), F)
    for first, last in parts(job):
        _plain_norm_rows(first, last, x_NI, weight_I, eps, out_NI)


def plain_gate(job: Any) -> None:
    head = carray(job, (11,), np.int64)
    num_rows, size = head[1], head[4]
    # Rows may be strided: the last one ends at its own width, not a stride later.
    gate_NS, up_NS = carray(at(head[8]), (num_rows, head[6]), F), carray(at(head[9]), (num_rows, head[7]), F)
    out_NI = carray(at(head[10]), (num_rows, size), F)
    for first, last in parts(job):
        _plain_gate_rows(first, last, head[5], gate_NS, up_NS, out_NI)


def round(job: Any) -> None:
    head = carray(job, (11,), np.int64)
    num_rows, size = head[1], head[4]
    x_NI, factor_I = carray(at(head[7]), (num_rows, size), F), carray(at(head[8]), (size,), F)
    levels_MI = carray(at(head[9]), (head[5] * num_rows, size), np.int8)
    scale_NG = carray(at(head[10]), (num_rows, head[6]), F)
    for first, last in parts(job):
        _round_rows(first, last, x_NI, factor_I, levels_MI, scale_NG)


def norm(job: Any) -> None:
    head = carray(job, (13,), np.int64)
    num_rows, size, eps = head[1], head[4], float_of(Z(head[7]))
    x_NI, weight_I = carray(at(head[8]), (num_rows, size), F), carray(at(head[9]), (size,), F)
    factor_I, levels_MI = carray(at(head[10]), (size,), F), carray(at(head[11]), (head[5] * num_rows, size), np.int8)
    scale_NG = carray(at(head[12]), (num_rows, head[6]), F)
    for first, last in parts(job):
        _norm_rows(first, last, x_NI, weight_I, eps, factor_I, levels_MI, scale_NG)


def gate(job: Any) -> None:
    head = carray(job, (12,), np.int64)
    num_rows, size = head[1], head[4]
    both_NO, factor_I = carray(at(head[8]), (num_rows, 2 * size), F), carray(at(head[9]), (size,), F)
    levels_MI = carray(at(head[10]), (head[5] * num_rows, size), np.int8)
    scale_NG = carray(at(head[11]), (num_rows, head[6]), F)
    for first, last in parts(job):
        _gate_rows(first, last, head[7], both_NO, factor_I, levels_MI, scale_NG)


def rotate(job: Any) -> None:
    head = carray(job, (15,), np.int64)
    num_rows, num_heads, size, turned, stride = head[1], head[4], head[5], head[6], head[7]
    # Rows may be strided: the last one ends with its heads, not a stride later.
    x_NS, weight_E = carray(at(head[10]), (num_rows, stride), F), carray(at(head[11]), (size,), F)
    cos_NF, sin_NF = carray(at(head[12]), (num_rows, turned), F), carray(at(head[13]), (num_rows, turned), F)
    out_NHE, eps = carray(at(head[14]), (num_rows, num_heads, size), F), float_of(Z(head[9]))
    for first, last in parts(job):
        _rotate_rows(first, last, head[8] != 0, weight_E, eps, x_NS, cos_NF, sin_NF, out_NHE)
