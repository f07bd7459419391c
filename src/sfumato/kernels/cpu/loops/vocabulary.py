"""Loops over the whole vocabulary: logits, and weights of tokens. Float32 on a CPU."""

# N rows, O outputs, V vocabulary, D model, M two digits of each row, B blocks of the vocabulary, K tokens of a block

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numba.np.numpy_support import carray

from sfumato.kernels.base import DIGIT
from sfumato.kernels.cpu.loops.compiling import (
    FAINT,
    NEVER,
    SUMS,
    Array,
    F,
    Z,
    at,
    exp,
    float_of,
    order,
    parts,
    unorder,
)
from sfumato.kernels.cpu.loops.sizes import DIGIT_PAIRS, WEIGHTS

_BLOCK = 256


@njit(inline="always", cache=True)
def _to_digits(probs_V: Array, factor_V: Array, high_V: Array, low_V: Array) -> None:
    for v in range(len(high_V)):
        whole = probs_V[v] * factor_V[v] * F(DIGIT)
        high = Z(whole)
        high_V[v] = np.int8(high)
        low_V[v] = np.int8(Z(np.rint((whole - F(high)) * F(DIGIT))))


@njit(inline="always", cache=True)
def _highest_of(values_K: Any) -> Any:
    """`order` of the highest of some floats."""
    most = Z(-(2**31))
    for k in range(len(values_K)):
        most = Z(max(most, order(values_K[k])))
    return most


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _refine_rows(
    first: int, last: int, logits_NV: Array, x_ND: Array, weight_VD: Array, scales_V: Array, error: float, cap: float
) -> None:
    size = logits_NV.shape[1]
    num_blocks = (size + _BLOCK - 1) // _BLOCK
    highest_B, scale_B = np.empty(num_blocks, F), np.empty(num_blocks, F)
    for b in range(num_blocks):
        scale_B[b] = unorder(_highest_of(scales_V[b * _BLOCK : min((b + 1) * _BLOCK, size)]))
    for n in range(first, last):
        logits_V, x_D = logits_NV[n], x_ND[n]
        square = F(0.0)
        for d in range(len(x_D)):
            square += x_D[d] * x_D[d]
        unsure = F(error) * np.sqrt(square)
        # The highest logit is at least this, despite rounding.
        least = F(-np.inf)
        for b in range(num_blocks):
            highest_B[b] = unorder(_highest_of(logits_V[b * _BLOCK : min((b + 1) * _BLOCK, size)]))
            least = max(least, highest_B[b] - unsure * scale_B[b])
        for b in range(num_blocks):
            if highest_B[b] + unsure * scale_B[b] >= least:
                for v in range(b * _BLOCK, min((b + 1) * _BLOCK, size)):
                    if logits_V[v] + unsure * scales_V[v] >= least:
                        weight_D, exact = weight_VD[v], F(0.0)
                        for d in range(len(x_D)):
                            exact += x_D[d] * weight_D[d]
                        logits_V[v] = exact
        if cap > F(0.0):
            for v in range(size):
                logits_V[v] = cap - F(2.0) * cap / (F(1.0) + exp(F(2.0) / cap * logits_V[v]))


def refine(job: Any) -> None:
    head = carray(job, (12,), np.int64)
    num_rows, size, width = head[1], head[4], head[5]
    error, cap = float_of(Z(head[6])), float_of(Z(head[7]))
    logits_NV, x_ND = carray(at(head[8]), (num_rows, size), F), carray(at(head[9]), (num_rows, width), F)
    weight_VD, scales_V = carray(at(head[10]), (size, width), F), carray(at(head[11]), (size,), F)
    for first, last in parts(job):
        _refine_rows(first, last, logits_NV, x_ND, weight_VD, scales_V, error, cap)


@njit(fastmath=SUMS, error_model="numpy", cache=True)
def _read_rows(
    first: int,
    last: int,
    logits_NV: Array,
    scale_N: Array,
    banned_RV: Array,
    ban_N: Array,
    mask_id: int,
    u_N: Array,
    greedy_N: Array,
    tokens_2N: Array,
    numbers_4N: Array,
    kind: int,
    out_NV: Array,
    high_NV: Array,
    low_NV: Array,
    factor_V: Array,
) -> None:
    size = logits_NV.shape[1]
    num_blocks = (size + _BLOCK - 1) // _BLOCK
    scratch_V = np.empty(size, F)
    highest_B, sum_B = np.empty(num_blocks, Z), np.empty(num_blocks, F)
    never = order(F(NEVER))
    for n in range(first, last):
        logits_V, weights_V = logits_NV[n], out_NV[n] if kind == WEIGHTS else scratch_V
        scale = scale_N[n]
        for v in range(size):
            score = logits_V[v] / scale
            weights_V[v] = F(NEVER) if score < F(NEVER) else score
        if ban_N[n] >= 0:
            banned_V = banned_RV[ban_N[n]]
            for v in range(size):
                weights_V[v] = F(NEVER) if banned_V[v] else weights_V[v]
        if mask_id >= 0:
            weights_V[mask_id] = F(NEVER)
        highest, where = never, 0
        for b in range(num_blocks):
            highest_B[b] = _highest_of(weights_V[b * _BLOCK : min((b + 1) * _BLOCK, size)])
            if highest_B[b] > highest:
                highest, where = highest_B[b], b
        # The best token, and the score of the next: in the same block, or the best of another one.
        best, second = -1, never
        for v in range(where * _BLOCK, min((where + 1) * _BLOCK, size)):
            key = order(weights_V[v])
            if best < 0 and key == highest:
                best = v
            elif key > second:
                second = key
        for b in range(num_blocks):
            if b != where and highest_B[b] > second:
                second = highest_B[b]
        best = max(best, 0)
        top = unorder(highest)
        total, mean = np.float64(0.0), np.float64(0.0)
        for b in range(num_blocks):
            block_K = weights_V[b * _BLOCK : min((b + 1) * _BLOCK, size)]
            part, tilted = F(0.0), F(0.0)
            for k in range(len(block_K)):
                below = block_K[k] - top
                weight = exp(below)
                block_K[k] = weight
                part += weight
                tilted += weight * (F(FAINT) if below < F(FAINT) else below)
            sum_B[b] = part
            total += part
            mean += tilted
        chosen = best
        if not greedy_N[n]:
            wanted, b = u_N[n] * total, 0
            while b < num_blocks - 1 and wanted >= sum_B[b]:
                wanted -= sum_B[b]
                b += 1
            for v in range(b * _BLOCK, min((b + 1) * _BLOCK, size)):
                if weights_V[v] > F(0.0):
                    chosen = v
                    wanted -= weights_V[v]
                    if wanted < 0.0:
                        break
        tokens_2N[0, n], tokens_2N[1, n] = best, chosen
        numbers_4N[0, n] = weights_V[chosen] / total
        entropy = math.log(total) - mean / total
        # Not max(), which would hide NaN.
        numbers_4N[1, n] = 0.0 if entropy < 0.0 else entropy
        numbers_4N[2, n] = (1.0 - math.exp(unorder(second) - top)) / total if highest != never else np.nan
        numbers_4N[3, n] = total
        if kind == DIGIT_PAIRS:
            _to_digits(weights_V, factor_V, high_NV[n], low_NV[n])


def read(job: Any) -> None:
    head = carray(job, (19,), np.int64)
    num_rows, size, num_bans, mask_id, kind = head[1], head[4], head[5], head[6], head[7]
    logits_NV, scale_N = carray(at(head[8]), (num_rows, size), F), carray(at(head[9]), (num_rows,), F)
    banned_RV = carray(at(head[10]), (num_bans, size), np.bool_)
    ban_N = carray(at(head[11]), (num_rows,), np.int64)
    u_N, greedy_N = carray(at(head[12]), (num_rows,), F), carray(at(head[13]), (num_rows,), np.bool_)
    tokens_2N, numbers_4N = carray(at(head[14]), (2, num_rows), np.int64), carray(at(head[15]), (4, num_rows), F)
    # Both kinds share one address.
    out_NV, digits_MV = carray(at(head[16]), (num_rows, size), F), carray(at(head[16]), (2 * num_rows, size), np.int8)
    factor_V = carray(at(head[17]), (size,), F)
    high_NV, low_NV = digits_MV[:num_rows], digits_MV[num_rows:]
    for first, last in parts(job):
        reading = (logits_NV, scale_N, banned_RV, ban_N, mask_id, u_N, greedy_N, tokens_2N, numbers_4N)
        _read_rows(first, last, *reading, kind, out_NV, high_NV, low_NV, factor_V)
