"""What a step does between its matrix products, each as one compiled loop over rows.

torch goes over all of its memory once for each operation, and wakes its threads for each: a norm is four of them, and
rounding the inputs of a product eight, on rows that would fit into the first cache. Here a row is read once, everything
that is to be done is done while it is there, and the next one follows. A row's result depends on nothing but the row,
so it is the same to the last bit with any others beside it and with any number of threads.

Loops run on the threads of torch's own OpenMP, whose idle threads would spin against those of a second pool. They are
compiled once, within seconds, and kept on disk, beside the package or in the user's cache. Everything is float32 on a
CPU.
"""

# N rows, I inputs, O outputs, H heads, E head dimension, F its rotated part, V vocabulary, B blocks of the vocabulary,
# K tokens of a block

from __future__ import annotations

import ctypes
import math
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import config as numba_config
from numba.extending import intrinsic
from numba.np.numpy_support import carray
from torch import Tensor

Array = np.ndarray[Any, Any]

_DIGIT = 127
# What the second digit of a rounded number counts for: the rest after the first is at most a half.
_SECOND = 254
_TINY = 1.1754944e-38
# Sums of a row may be taken in any order, and so in vectors. Not that there are no NaN: they are to be seen. Nothing is
# raised where 0 divides ("numpy"), for a division that may raise is none for vectors.
_SUMS = {"reassoc", "contract", "nsz"}
# Elements from which a second thread is worth waking, and how many parts each thread takes of what there is.
_GRAIN = 2**15
_PARTS = 4
_BLOCK = 256
# Tensors in memory that stays: smaller ones are found again by the allocator, larger ones would be missed elsewhere.
_LEAST_KEPT, _MOST_KEPT = 2**20, 2**27
# To a block that nobody uses: the list's, that of the loop over it, and that of the question.
_REFERENCES = 3
# What becomes of the weights of logits.
_NOTHING, _WEIGHTS, _DIGIT_PAIRS = 0, 1, 2
_NEVER = -1e30
# Below, exponentials are 0: as floats that are not normal they would be slow.
_FAINT = -87.0


def _find_cache() -> None:
    """Compile for this process alone where neither package nor home can be written to; numba would refuse to start."""
    try:
        njit(cache=True)(_find_cache)
    except RuntimeError:
        numba_config.CACHE_DIR = tempfile.mkdtemp(prefix="sfumato-")  # type: ignore[attr-defined]


_find_cache()


def _team() -> Any:
    """GOMP_parallel of the OpenMP that torch runs on; None where it is another one."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*")):
        try:
            start = ctypes.CDLL(str(path)).GOMP_parallel
        except (OSError, AttributeError):
            continue
        start.argtypes, start.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
        return start
    return None


_start_team = _team()


class _Loop:
    """A compiled function over a job: numbers of rows that threads claim, then addresses and sizes."""

    def __init__(self, function: Any) -> None:
        self.address = function.address
        self._alone = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function.address)

    def __call__(self, num_rows: int, num_elements: int, *rest: int) -> None:
        threads = 1 if _start_team is None else min(torch.get_num_threads(), num_elements // _GRAIN, num_rows)
        part = num_rows if threads < 2 else -(-num_rows // (threads * _PARTS))
        job = (ctypes.c_int64 * (3 + len(rest)))(0, num_rows, part, *rest)
        if _recording.calls is not None:
            _recording.calls.append(partial(self._run, job, threads))
        self._run(job, threads)

    def _run(self, job: Any, threads: int) -> None:
        job[0] = 0
        if threads < 2:
            self._alone(job)
        else:
            _start_team(self.address, job, threads, 0)


class _Recording(threading.local):
    """Who wants to know of a thread's loops."""

    calls: list[Callable[[], object]] | None = None


_recording = _Recording()


@contextmanager
def recorded(calls: list[Callable[[], object]]) -> Iterator[None]:
    """Append what this thread's loops do, to be done again: on the same memory, which is to stay."""
    before, _recording.calls = _recording.calls, calls
    try:
        yield
    finally:
        _recording.calls = before


def _code(generate: Any) -> Any:
    """A function of compiled code that is written as instructions."""
    return intrinsic(generate)


@_code
def _claim(typing_context: Any, job: Any) -> Any:
    """The first of the rows that come next, which are then nobody else's."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        head = builder.bitcast(arguments[0], word.as_pointer())
        part = builder.load(builder.gep(head, [ir.Constant(word, 2)]))
        return builder.atomic_rmw("add", head, part, "monotonic")

    return types.int64(types.voidptr), generate


@_code
def _at(typing_context: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


@_code
def _bits(typing_context: Any, value: Any) -> Any:
    """The bits of a float."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@_code
def _float(typing_context: Any, bits: Any) -> Any:
    """The float with these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


F, Z = np.float32, np.int32


@njit(inline="always", cache=True)
def exp(x: Any) -> Any:
    """exp(x) to two units in the last place; 0 for what is below -87, exp(87) for what is above, and NaN for NaN.

    Source: 2^n exp(r) with |r| <= log(2) / 2, as in Cephes' expf, whose polynomial it is.
    """
    held = F(_FAINT) if x < F(_FAINT) else x
    held = F(-_FAINT) if held > F(-_FAINT) else held
    n = np.rint(held * F(1.44269504))
    r = held - n * F(0.693359375)
    r = r + n * F(2.12194440e-4)
    p = F(1.9875691500e-4)
    p = p * r + F(1.3981999507e-3)
    p = p * r + F(8.3334519073e-3)
    p = p * r + F(4.1665795894e-2)
    p = p * r + F(1.6666665459e-1)
    p = p * r + F(5.0000001201e-1)
    y = (p * r * r + r + F(1.0)) * _float(Z((Z(n) + Z(127)) << Z(23)))
    return F(0.0) if x < F(_FAINT) else y


@njit(inline="always", cache=True)
def _order(x: Any) -> Any:
    """An integer that is larger for larger floats: maxima of integers become vector code, those of floats do not."""
    bits = _bits(x)
    return Z(bits ^ Z((bits >> Z(31)) & Z(0x7FFFFFFF)))


@njit(inline="always", cache=True)
def _unorder(key: Any) -> Any:
    return _float(Z(key ^ Z((key >> Z(31)) & Z(0x7FFFFFFF))))


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
def _norm_rows(first: int, last: int, x_NI: Array, weight_I: Array, eps: float, out_NI: Array) -> None:
    for n in range(first, last):
        x_I, out_I = x_NI[n], out_NI[n]
        total = F(0.0)
        for i in range(len(x_I)):
            total += x_I[i] * x_I[i]
        scale = F(1.0) / np.sqrt(total / F(len(x_I)) + eps)
        for i in range(len(x_I)):
            out_I[i] = x_I[i] * scale * weight_I[i]


@cfunc(types.void(types.voidptr), cache=True)
def _norm(job: Any) -> None:
    head = carray(job, (8,), np.int64)
    num_rows, size = head[1], head[3]
    x_NI, out_NI = carray(_at(head[4]), (num_rows, size), F), carray(_at(head[7]), (num_rows, size), F)
    weight_I, eps = carray(_at(head[5]), (size,), F), _float(Z(head[6]))
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        _norm_rows(first, min(first + head[2], num_rows), x_NI, weight_I, eps, out_NI)


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


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
def _rotate_rows(first: int, last: int, x_NS: Array, cos_NF: Array, sin_NF: Array, out_NHE: Array) -> None:
    for n in range(first, last):
        _turn_heads(x_NS[n], cos_NF[n], sin_NF[n], out_NHE[n])


@cfunc(types.void(types.voidptr), cache=True)
def _rotate(job: Any) -> None:
    head = carray(job, (11,), np.int64)
    num_rows, num_heads, size, turned, stride = head[1], head[3], head[4], head[5], head[6]
    # Rows may stand among others: the last one ends where its heads do, not a stride further.
    x_NS = carray(_at(head[7]), (num_rows, stride), F)
    cos_NF, sin_NF = carray(_at(head[8]), (num_rows, turned), F), carray(_at(head[9]), (num_rows, turned), F)
    out_NHE = carray(_at(head[10]), (num_rows, num_heads, size), F)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        _rotate_rows(first, min(first + head[2], num_rows), x_NS, cos_NF, sin_NF, out_NHE)


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


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
def _gate_rows(first: int, last: int, gate_NS: Array, up_NS: Array, size: int, kind: int, out_NI: Array) -> None:
    for n in range(first, last):
        _gate_row(gate_NS[n, :size], up_NS[n, :size], kind, out_NI[n])


@cfunc(types.void(types.voidptr), cache=True)
def _gate(job: Any) -> None:
    head = carray(job, (9,), np.int64)
    num_rows, size, stride = head[1], head[3], head[4]
    gate_NS, up_NS = carray(_at(head[6]), (num_rows, stride), F), carray(_at(head[7]), (num_rows, stride), F)
    out_NI = carray(_at(head[8]), (num_rows, size), F)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        _gate_rows(first, min(first + head[2], num_rows), gate_NS, up_NS, size, head[5], out_NI)


@njit(inline="always", cache=True)
def _round_row(x_I: Array, factor_I: Array, levels_I: Array) -> Any:
    """Returns its scale."""
    highest = Z(0)
    for i in range(len(levels_I)):
        # Of a float without its sign, NaN above all others.
        highest = Z(max(highest, Z(_bits(x_I[i] * factor_I[i]) & Z(0x7FFFFFFF))))
    scale = max(_float(highest) / F(_DIGIT), F(_TINY))
    inverse = F(1.0) / scale
    for i in range(len(levels_I)):
        levels_I[i] = np.int8(Z(np.rint(x_I[i] * factor_I[i] * inverse)))
    return _float(highest) if np.isnan(_float(highest)) else scale


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
def _round_rows(first: int, last: int, x_NI: Array, factor_I: Array, levels_NI: Array, scale_N: Array) -> None:
    for n in range(first, last):
        scale_N[n] = _round_row(x_NI[n], factor_I, levels_NI[n])


@cfunc(types.void(types.voidptr), cache=True)
def _round(job: Any) -> None:
    head = carray(job, (8,), np.int64)
    num_rows, size = head[1], head[3]
    x_NI, factor_I = carray(_at(head[4]), (num_rows, size), F), carray(_at(head[5]), (size,), F)
    levels_NI, scale_N = carray(_at(head[6]), (num_rows, size), np.int8), carray(_at(head[7]), (num_rows,), F)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        _round_rows(first, min(first + head[2], num_rows), x_NI, factor_I, levels_NI, scale_N)


@njit(inline="always", cache=True)
def _scale_row(product_O: Array, scale: Any, scales_O: Array, bias_O: Array, out_O: Array) -> None:
    for o in range(len(out_O)):
        out_O[o] = F(product_O[o]) * scale * scales_O[o] + bias_O[o]


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
def _scale_rows(
    first: int, last: int, product_NO: Array, scale_N: Array, scales_O: Array, bias_O: Array, out_NO: Array
) -> None:
    for n in range(first, last):
        _scale_row(product_NO[n], scale_N[n], scales_O, bias_O, out_NO[n])


@cfunc(types.void(types.voidptr), cache=True)
def _scale(job: Any) -> None:
    head = carray(job, (9,), np.int64)
    num_rows, size = head[1], head[3]
    product_NO, scale_N = carray(_at(head[4]), (num_rows, size), Z), carray(_at(head[5]), (num_rows,), F)
    scales_O, bias_O = carray(_at(head[6]), (size,), F), carray(_at(head[7]), (size,), F)
    out_NO = carray(_at(head[8]), (num_rows, size), F)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        _scale_rows(first, min(first + head[2], num_rows), product_NO, scale_N, scales_O, bias_O, out_NO)


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
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


@cfunc(types.void(types.voidptr), cache=True)
def _add_norm(job: Any) -> None:
    head = carray(job, (16,), np.int64)
    num_rows, size, adds, eps = head[1], head[3], head[4], _float(Z(head[5]))
    x_NI, product_NI = carray(_at(head[6]), (num_rows, size), F), carray(_at(head[7]), (num_rows, size), Z)
    scale_N, scales_I = carray(_at(head[8]), (num_rows,), F), carray(_at(head[9]), (size,), F)
    bias_I, weight_I = carray(_at(head[10]), (size,), F), carray(_at(head[11]), (size,), F)
    factor_I, sums_NI = carray(_at(head[12]), (size,), F), carray(_at(head[13]), (num_rows, size), F)
    levels_NI, out_N = carray(_at(head[14]), (num_rows, size), np.int8), carray(_at(head[15]), (num_rows,), F)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        last, given = min(first + head[2], num_rows), (x_NI, product_NI, scale_N, scales_I, bias_I)
        _add_norm_rows(first, last, adds, *given, weight_I, eps, factor_I, sums_NI, levels_NI, out_N)


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
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


@cfunc(types.void(types.voidptr), cache=True)
def _heads(job: Any) -> None:
    head = carray(job, (17,), np.int64)
    num_rows, num_queries, num_keys, num_values, size, turned = head[1], head[3], head[4], head[5], head[6], head[7]
    width = (num_queries + num_keys + num_values) * size
    product_NO, scale_N = carray(_at(head[8]), (num_rows, width), Z), carray(_at(head[9]), (num_rows,), F)
    scales_O, bias_O = carray(_at(head[10]), (width,), F), carray(_at(head[11]), (width,), F)
    cos_NF, sin_NF = carray(_at(head[12]), (num_rows, turned), F), carray(_at(head[13]), (num_rows, turned), F)
    queries_NHE = carray(_at(head[14]), (num_rows, num_queries, size), F)
    keys_NGE = carray(_at(head[15]), (num_rows, num_keys, size), F)
    values_NS = carray(_at(head[16]), (num_rows, num_values * size), F)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        last, given = min(first + head[2], num_rows), (product_NO, scale_N, scales_O, bias_O)
        _head_rows(first, last, *given, cos_NF, sin_NF, queries_NHE, keys_NGE, values_NS)


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
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


@cfunc(types.void(types.voidptr), cache=True)
def _gate_round(job: Any) -> None:
    head = carray(job, (12,), np.int64)
    num_rows, size, kind = head[1], head[3], head[4]
    product_NO, scale_N = carray(_at(head[5]), (num_rows, 2 * size), Z), carray(_at(head[6]), (num_rows,), F)
    scales_O, bias_O = carray(_at(head[7]), (2 * size,), F), carray(_at(head[8]), (2 * size,), F)
    factor_I, levels_NI = carray(_at(head[9]), (size,), F), carray(_at(head[10]), (num_rows, size), np.int8)
    out_N = carray(_at(head[11]), (num_rows,), F)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        last, given = min(first + head[2], num_rows), (product_NO, scale_N, scales_O, bias_O)
        _gate_round_rows(first, last, kind, *given, factor_I, levels_NI, out_N)


@njit(inline="always", cache=True)
def _to_digits(probs_V: Array, factor_V: Array, high_V: Array, low_V: Array) -> None:
    for v in range(len(high_V)):
        whole = probs_V[v] * factor_V[v] * F(_DIGIT)
        high = Z(whole)
        high_V[v] = np.int8(high)
        low_V[v] = np.int8(Z(np.rint((whole - F(high)) * F(_DIGIT))))


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
def _digit_rows(first: int, last: int, probs_NS: Array, factor_V: Array, high_NV: Array, low_NV: Array) -> None:
    for n in range(first, last):
        _to_digits(probs_NS[n], factor_V, high_NV[n], low_NV[n])


@cfunc(types.void(types.voidptr), cache=True)
def _digits(job: Any) -> None:
    head = carray(job, (8,), np.int64)
    num_rows, size, stride = head[1], head[3], head[4]
    probs_NS, factor_V = carray(_at(head[5]), (num_rows, stride), F), carray(_at(head[6]), (size,), F)
    digits_MV = carray(_at(head[7]), (2 * num_rows, size), np.int8)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        last, high_NV, low_NV = min(first + head[2], num_rows), digits_MV[:num_rows], digits_MV[num_rows:]
        _digit_rows(first, last, probs_NS, factor_V, high_NV, low_NV)


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
def _join_rows(first: int, last: int, high_NO: Array, low_NO: Array, scale_N: Array, out_NS: Array) -> None:
    for n in range(first, last):
        high_O, low_O, out_O, scale = high_NO[n], low_NO[n], out_NS[n], scale_N[n]
        for o in range(len(high_O)):
            out_O[o] = (high_O[o] + low_O[o] * F(1 / _SECOND)) * scale


@cfunc(types.void(types.voidptr), cache=True)
def _join(job: Any) -> None:
    head = carray(job, (8,), np.int64)
    num_rows, size, stride = head[1], head[3], head[4]
    product_MO, scale_N = carray(_at(head[5]), (2 * num_rows, size), F), carray(_at(head[6]), (num_rows,), F)
    out_NS = carray(_at(head[7]), (num_rows, stride), F)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        last, high_NO, low_NO = min(first + head[2], num_rows), product_MO[:num_rows], product_MO[num_rows:]
        _join_rows(first, last, high_NO, low_NO, scale_N, out_NS)


@njit(inline="always", cache=True)
def _highest_of(values_K: Any) -> Any:
    """The order of the highest of some floats, see `_order`."""
    most = Z(-(2**31))
    for k in range(len(values_K)):
        most = Z(max(most, _order(values_K[k])))
    return most


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
def _refine_rows(
    first: int, last: int, logits_NV: Array, x_ND: Array, weight_VD: Array, scales_V: Array, error: float, cap: float
) -> None:
    size = logits_NV.shape[1]
    num_blocks = (size + _BLOCK - 1) // _BLOCK
    highest_B, scale_B = np.empty(num_blocks, F), np.empty(num_blocks, F)
    for b in range(num_blocks):
        scale_B[b] = _unorder(_highest_of(scales_V[b * _BLOCK : min((b + 1) * _BLOCK, size)]))
    for n in range(first, last):
        logits_V, x_D = logits_NV[n], x_ND[n]
        square = F(0.0)
        for d in range(len(x_D)):
            square += x_D[d] * x_D[d]
        unsure = F(error) * np.sqrt(square)
        # The highest is no lower than this, whatever rounding did.
        least = F(-np.inf)
        for b in range(num_blocks):
            highest_B[b] = _unorder(_highest_of(logits_V[b * _BLOCK : min((b + 1) * _BLOCK, size)]))
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


@cfunc(types.void(types.voidptr), cache=True)
def _refine(job: Any) -> None:
    head = carray(job, (11,), np.int64)
    num_rows, size, width = head[1], head[3], head[4]
    error, cap = _float(Z(head[5])), _float(Z(head[6]))
    logits_NV, x_ND = carray(_at(head[7]), (num_rows, size), F), carray(_at(head[8]), (num_rows, width), F)
    weight_VD, scales_V = carray(_at(head[9]), (size, width), F), carray(_at(head[10]), (size,), F)
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        _refine_rows(first, min(first + head[2], num_rows), logits_NV, x_ND, weight_VD, scales_V, error, cap)


@njit(fastmath=_SUMS, error_model="numpy", cache=True)
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
    never = _order(F(_NEVER))
    for n in range(first, last):
        logits_V, weights_V = logits_NV[n], out_NV[n] if kind == _WEIGHTS else scratch_V
        scale = scale_N[n]
        for v in range(size):
            score = logits_V[v] / scale
            weights_V[v] = F(_NEVER) if score < F(_NEVER) else score
        if ban_N[n] >= 0:
            banned_V = banned_RV[ban_N[n]]
            for v in range(size):
                weights_V[v] = F(_NEVER) if banned_V[v] else weights_V[v]
        if mask_id >= 0:
            weights_V[mask_id] = F(_NEVER)
        highest, where = never, 0
        for b in range(num_blocks):
            highest_B[b] = _highest_of(weights_V[b * _BLOCK : min((b + 1) * _BLOCK, size)])
            if highest_B[b] > highest:
                highest, where = highest_B[b], b
        # The best token, and how good the next is: in the same block, or the best of another.
        best, second = -1, never
        for v in range(where * _BLOCK, min((where + 1) * _BLOCK, size)):
            key = _order(weights_V[v])
            if best < 0 and key == highest:
                best = v
            elif key > second:
                second = key
        for b in range(num_blocks):
            if b != where and highest_B[b] > second:
                second = highest_B[b]
        best = max(best, 0)
        top = _unorder(highest)
        total, mean = np.float64(0.0), np.float64(0.0)
        for b in range(num_blocks):
            block_K = weights_V[b * _BLOCK : min((b + 1) * _BLOCK, size)]
            part, tilted = F(0.0), F(0.0)
            for k in range(len(block_K)):
                below = block_K[k] - top
                weight = exp(below)
                block_K[k] = weight
                part += weight
                tilted += weight * (F(_FAINT) if below < F(_FAINT) else below)
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
        # Not max(), which would make a number of NaN.
        numbers_4N[1, n] = 0.0 if entropy < 0.0 else entropy
        numbers_4N[2, n] = (1.0 - math.exp(_unorder(second) - top)) / total if highest != never else np.nan
        numbers_4N[3, n] = total
        if kind == _DIGIT_PAIRS:
            _to_digits(weights_V, factor_V, high_NV[n], low_NV[n])


@cfunc(types.void(types.voidptr), cache=True)
def _read(job: Any) -> None:
    head = carray(job, (18,), np.int64)
    num_rows, size, num_bans, mask_id, kind = head[1], head[3], head[4], head[5], head[6]
    logits_NV, scale_N = carray(_at(head[7]), (num_rows, size), F), carray(_at(head[8]), (num_rows,), F)
    banned_RV = carray(_at(head[9]), (num_bans, size), np.bool_)
    ban_N = carray(_at(head[10]), (num_rows,), np.int64)
    u_N, greedy_N = carray(_at(head[11]), (num_rows,), F), carray(_at(head[12]), (num_rows,), np.bool_)
    tokens_2N, numbers_4N = carray(_at(head[13]), (2, num_rows), np.int64), carray(_at(head[14]), (4, num_rows), F)
    # One place for either kind.
    out_NV, digits_MV = carray(_at(head[15]), (num_rows, size), F), carray(_at(head[15]), (2 * num_rows, size), np.int8)
    factor_V = carray(_at(head[16]), (size,), F)
    high_NV, low_NV = digits_MV[:num_rows], digits_MV[num_rows:]
    while True:
        first = _claim(job)
        if first >= num_rows:
            break
        last = min(first + head[2], num_rows)
        reading = (logits_NV, scale_N, banned_RV, ban_N, mask_id, u_N, greedy_N, tokens_2N, numbers_4N)
        _read_rows(first, last, *reading, kind, out_NV, high_NV, low_NV, factor_V)


_NORM, _ROTATE, _GATE = _Loop(_norm), _Loop(_rotate), _Loop(_gate)
_ROUND, _SCALE, _DIGITS = _Loop(_round), _Loop(_scale), _Loop(_digits)
_ADD_NORM, _HEADS, _GATE_ROUND = _Loop(_add_norm), _Loop(_heads), _Loop(_gate_round)
_JOIN, _REFINE, _READ = _Loop(_join), _Loop(_refine), _Loop(_read)
GATES: tuple[str, ...] = ("silu", "gelu_pytorch_tanh")
"""Activations that `gate` knows."""


def takes(*tensors: Tensor) -> bool:
    """Whether loops can go over these: float32 on a CPU, and nobody wants gradients."""
    return not torch.is_grad_enabled() and all(x.dtype is torch.float32 and x.device.type == "cpu" for x in tensors)


def rms_norm(x: Tensor, weight_I: Tensor, eps: float) -> Tensor:
    """Root mean square normalisation of the last dimension, with a learned scale."""
    x = x.contiguous()
    out, num_rows = torch.empty_like(x), x.numel() // len(weight_I)
    addresses = (x.data_ptr(), weight_I.data_ptr(), _word(eps), out.data_ptr())
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
    _ADD_NORM(num_rows, 6 * x.numel(), size, product is not None, _word(eps), *(one.data_ptr() for one in before))
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


def digits(probs_NV: Tensor, factor_V: Tensor) -> Tensor:
    """Numbers times factors, from 0 to 1, as two digits to the base 127, the last one rounded.

    Args:
        probs_NV: rows may stand apart.
        factor_V: contiguous.

    Returns:
        digits_MV: int8, the first digits of all rows and then the second ones.
    """
    num_rows, size = probs_NV.shape
    digits_MV = torch.empty(2 * num_rows, size, dtype=torch.int8)
    stride = probs_NV.stride(0) if num_rows > 1 else size
    tensors = (probs_NV, factor_V, digits_MV)
    _DIGITS(num_rows, 2 * probs_NV.numel(), size, stride, *(x.data_ptr() for x in tensors))
    return digits_MV


def join(product_MO: Tensor, scale_N: Tensor, out_NO: Tensor) -> None:
    """Products of two digits, the second counting for a 254th of the first, as one.

    Args:
        product_MO: contiguous; those of the first digits and then of the second ones.
        scale_N: of rows.
        out_NO: receives it; rows may stand apart.
    """
    num_rows, size = out_NO.shape
    stride = out_NO.stride(0) if num_rows > 1 else size
    tensors = (product_MO, scale_N, out_NO)
    _JOIN(num_rows, out_NO.numel(), size, stride, *(x.data_ptr() for x in tensors))


def refine(
    logits_NV: Tensor, x_ND: Tensor, weight_VD: Tensor, scales_V: Tensor, *, error: float, cap: float | None
) -> None:
    """Compute logits anew, in floats, that may be the highest of their row; then cap all of them.

    Args:
        logits_NV: contiguous; changed in place.
        x_ND: what they were made of.
        weight_VD: with what, exactly; contiguous.
        scales_V: a logit is unsure by error times its scale times the length of x.
        error: see scales_V.
        cap: c in c tanh(logit / c); None leaves them.
    """
    num_rows, size = logits_NV.shape
    tensors = (logits_NV, x_ND, weight_VD, scales_V)
    numbers = (size, x_ND.shape[1], _word(error), _word(0.0 if cap is None else cap))
    _REFINE(num_rows, 4 * logits_NV.numel(), *numbers, *(x.data_ptr() for x in tensors))


def read(
    logits_NV: Tensor,
    scale_N: Tensor,
    u_N: Tensor,
    greedy_N: Tensor,
    *,
    banned_RV: Tensor | None = None,
    ban_N: Tensor | None = None,
    mask_id: int | None = None,
    weigh: bool = False,
    factor_V: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Read rows of logits: one draw each, by inverting the distribution function, and what is known of them.

    Args:
        logits_NV: as many as the room for weights has rows.
        scale_N: what they are divided by, more than 0.
        u_N: uniforms in [0, 1).
        greedy_N: bool; rows of which the best token is drawn.
        banned_RV: bool; sets of tokens that are never drawn.
        ban_N: int64; the set of each row, -1 for none.
        mask_id: a token that is never drawn.
        weigh: whether the weights exp((logit - highest) / scale) are wanted.
        factor_V: have them times these, from 0 to 1, in two digits, see `digits`.

    Returns:
        tokens_2N: int64; the most probable token of each row, and the one that was drawn.
        numbers_4N: the probability of that; the entropy in nats; the probability of the best token less that of the
            next, NaN if the logits are broken; the sum of the weights.
        weights: float32 [N, V] or int8 [2 N, V]; None if they are not wanted.
    """
    logits_NV = logits_NV.contiguous()
    num_rows, size = logits_NV.shape
    if banned_RV is None or ban_N is None:
        banned_RV, ban_N = torch.zeros(1, 1, dtype=torch.bool), torch.full((num_rows,), -1)
    tokens_2N = torch.empty(2, num_rows, dtype=torch.int64)
    numbers_4N = torch.empty(4, num_rows)
    kind, weights = _NOTHING, None
    if weigh and factor_V is None:
        kind, weights = _WEIGHTS, torch.empty(num_rows, size)
    elif weigh:
        kind, weights = _DIGIT_PAIRS, empty(2 * num_rows, size, torch.int8)
    sizes = (size, len(banned_RV), -1 if mask_id is None else mask_id, kind)
    tensors = tuple(
        x.contiguous() for x in (logits_NV, scale_N, banned_RV, ban_N, u_N, greedy_N, tokens_2N, numbers_4N)
    )
    more = (tokens_2N if weights is None else weights, scale_N if factor_V is None else factor_V)
    _READ(num_rows, 8 * logits_NV.numel(), *sizes, *(x.data_ptr() for x in (*tensors, *more)))
    return tokens_2N, numbers_4N, weights


class _Kept(threading.local):
    """Memory that stays with a thread: asked for anew at every step, it would come back a page fault at a time."""

    def __init__(self) -> None:
        self.blocks: list[Array] = []


_kept = _Kept()


def empty(num_rows: int, size: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor in memory that an earlier one may have had, which is gone by now; for what a step makes and leaves.

    Args:
        num_rows, size: its shape.
        dtype: float32 or int8.
    """
    num_bytes = num_rows * size * dtype.itemsize
    if not _LEAST_KEPT <= num_bytes <= _MOST_KEPT:
        return torch.empty(num_rows, size, dtype=dtype)
    # A tensor over a block holds a reference to it, as do its views.
    free = [block for block in _kept.blocks if sys.getrefcount(block) <= _REFERENCES]
    fitting = min((block for block in free if len(block) >= num_bytes), key=len, default=None)
    if fitting is None:
        # One that is too small makes way.
        _kept.blocks = [block for block in _kept.blocks if not any(block is one for one in free)]
        fitting = np.empty(num_bytes, np.int8)
        _kept.blocks.append(fitting)
    return torch.from_numpy(fitting[:num_bytes]).view(dtype).view(num_rows, size)


def _word(number: float) -> int:
    """The bits of a float32 as an integer."""
    return int(np.float32(number).view(np.int32))
