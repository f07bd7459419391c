"""Attention over a pool of keys and values: positions of many texts, each attending to its own. Float32 on a CPU.

Thirty-two query heads that read the same keys are processed together, or four if there are no more, a block of keys at
a time. Scores are stored with the queries side by side, so the softmax works on whole vectors and never sums across a
register. A query's result depends only on the query and its text, to the last bit.

Source: Dao et al. 2022, FlashAttention, arXiv 2205.14135, for processing keys in blocks.
"""

# N positions, H heads, G key-value heads, E head dimension, S slots, B segments, K keys of a block, R rows: one head of
# one query; rows that read the same keys are adjacent

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.np.numpy_support import carray

from sfumato.kernels.cpu.loops.compiling import (
    FLOAT,
    INT,
    LANES,
    LINE,
    NEVER,
    ROWS_AT_ONCE,
    WORD,
    Array,
    F,
    Z,
    add_product,
    at,
    code,
    exp_of,
    float_of,
    parts,
    place_of,
    pointer,
)
from sfumato.kernels.cpu.loops.sizes import QUERIES, features

_BLOCK = 128
# Keys whose sums fill the registers.
_KEYS_AT_ONCE = 12 if "avx512f" in features() else 3
# Maximum rows that are processed in narrow vectors, as when a text is written one token at a time.
_FEW = 4


def _scoring(num_rows: int) -> Any:
    """Emit the products of some keys with the queries, which are stored side by side per element."""
    kind = ir.VectorType(FLOAT, num_rows)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        keys, key_stride, queries, size, out = arguments
        sums = [cgutils.alloca_once(builder, kind) for _ in range(_KEYS_AT_ONCE)]  # type: ignore[no-untyped-call]
        for one in sums:
            builder.store(ir.Constant(kind, None), one)
        rows = [builder.add(keys, builder.mul(key_stride, WORD(row))) for row in range(_KEYS_AT_ONCE)]
        with cgutils.for_range(builder, size) as loop:
            lanes = builder.load(pointer(builder, kind, queries, builder.mul(loop.index, WORD(LINE))), align=4)
            for row, one in zip(rows, sums, strict=True):
                element = builder.load(pointer(builder, FLOAT, row, builder.mul(loop.index, WORD(4))), align=4)
                add_product(builder, one, element, lanes)
        for number, one in enumerate(sums):
            builder.store(builder.load(one), pointer(builder, kind, out, WORD(LINE * number)), align=4)
        return context.get_dummy_value()

    @code
    def score(typing_context: Any, keys: Any, key_stride: Any, queries: Any, size: Any, out: Any) -> Any:
        return types.void(*[types.int64] * 5), generate

    return score


def _mixing(num_rows: int) -> Any:
    """Emit the addition of weighted values to some rows, 32 elements at a time; the weights are stored side by side per
    key."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        weights, slots, values, slot_stride, count, out, out_stride = arguments
        sums = [cgutils.alloca_once(builder, LANES) for _ in range(num_rows)]  # type: ignore[no-untyped-call]
        places = [pointer(builder, LANES, out, builder.mul(out_stride, WORD(number))) for number in range(num_rows)]
        for one, place in zip(sums, places, strict=True):
            builder.store(builder.load(place, align=4), one)
        with cgutils.for_range(builder, count) as loop:
            slot = builder.load(pointer(builder, INT, slots, builder.mul(loop.index, WORD(4))), align=4)
            held = pointer(builder, LANES, values, builder.mul(builder.sext(slot, WORD), slot_stride))
            lanes = builder.load(held, align=4)
            for number, one in enumerate(sums):
                place = pointer(builder, FLOAT, weights, builder.mul(loop.index, WORD(LINE)), WORD(4 * number))
                add_product(builder, one, builder.load(place, align=4), lanes)
        for one, place in zip(sums, places, strict=True):
            builder.store(builder.load(one), place, align=4)
        return context.get_dummy_value()

    @code
    def mix(
        typing_context: Any,
        weights: Any,
        slots: Any,
        values: Any,
        slot_stride: Any,
        count: Any,
        out: Any,
        out_stride: Any,
    ) -> Any:
        return types.void(*[types.int64] * 7), generate

    return mix


@njit(error_model="numpy")
def _mask(base: int, score_KR: Array, ahead_R: Array, behind_R: Array) -> None:
    masked = False
    for r in range(QUERIES):
        masked |= ahead_R[r] > base or behind_R[r] < base + len(score_KR)
    for k in range(len(score_KR) if masked else 0):
        for r in range(QUERIES):
            reads = ahead_R[r] <= base + k and base + k < behind_R[r]
            score_KR[k, r] = score_KR[k, r] if reads else F(NEVER)


def _weighing(num_rows: int) -> Any:
    """Emit code that turns a block's scores into weights, and computes the factor by which earlier weights shrink."""
    kind = ir.VectorType(FLOAT, num_rows)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        scores, count, *others = arguments
        best, total, faded = (pointer(builder, kind, address) for address in others)
        never = ir.Constant(kind, [NEVER] * num_rows)
        above, added = (cgutils.alloca_once(builder, kind) for _ in range(2))  # type: ignore[no-untyped-call]
        before = builder.load(best, align=4)
        builder.store(before, above)
        builder.store(ir.Constant(kind, None), added)
        with cgutils.for_range(builder, count) as loop:
            score = builder.load(pointer(builder, kind, scores, builder.mul(loop.index, WORD(LINE))), align=4)
            highest = builder.load(above)
            builder.store(builder.select(builder.fcmp_ordered(">", score, highest), score, highest), above)
        highest = builder.load(above)
        fading = exp_of(builder, builder.fsub(before, highest))
        with cgutils.for_range(builder, count) as loop:
            place = pointer(builder, kind, scores, builder.mul(loop.index, WORD(LINE)))
            score = builder.load(place, align=4)
            # 0 where masked, even if nothing was read so far; NaN stays NaN.
            read = builder.fcmp_unordered("!=", score, never)
            weight = builder.select(read, exp_of(builder, builder.fsub(score, highest)), ir.Constant(kind, None))
            builder.store(weight, place, align=4)
            builder.store(builder.fadd(builder.load(added), weight), added)
        builder.store(highest, best, align=4)
        builder.store(fading, faded, align=4)
        faded_total = builder.fmul(builder.load(total, align=4), fading)
        builder.store(builder.fadd(faded_total, builder.load(added)), total, align=4)
        return context.get_dummy_value()

    @code
    def weigh(typing_context: Any, scores: Any, count: Any, best: Any, total: Any, faded: Any) -> Any:
        return types.void(*[types.int64] * 5), generate

    return weigh


def _for_few_or_many(for_few: Any, for_many: Any) -> Any:
    """Code that runs one of two."""

    @njit(error_model="numpy")
    def run(few: bool, given: Any) -> None:
        if few:
            for_few(*given)
        else:
            for_many(*given)

    return run


_score, _weigh = (_for_few_or_many(emit(_FEW), emit(QUERIES)) for emit in (_scoring, _weighing))
_mix = _for_few_or_many(_mixing(min(_FEW, ROWS_AT_ONCE)), _mixing(ROWS_AT_ONCE))


def attend(job: Any) -> None:
    head = carray(job, (20,), np.int64)
    num_groups, per_group, size, num_segments = head[4], head[5], head[6], head[7]
    row_stride, head_stride, slot_stride, window = head[9], head[10], head[11], head[12]
    scale, queries, keys, values = float_of(Z(head[13])), head[14], head[15], head[16]
    segments_B6 = carray(at(head[18]), (num_segments, 6), np.int32)
    num_heads = num_groups * per_group
    out_NHE = carray(at(head[19]), (head[8], num_heads, size), F)
    filled = segments_B6[num_segments - 1, 0] + segments_B6[num_segments - 1, 1]
    # Values are read 32 elements at a time; other widths are copied to a padded buffer.
    width = (size + QUERIES - 1) // QUERIES * QUERIES
    copies = width != size
    query_ER = np.empty((size, QUERIES), F)
    score_KR = np.empty((_BLOCK + _KEYS_AT_ONCE, QUERIES), F)
    key_KE = np.zeros((_KEYS_AT_ONCE, size), F)
    value_KE = np.zeros((_BLOCK if copies else 0, width), F)
    own_K = np.arange(_BLOCK).astype(Z)
    mean_RE = np.empty((QUERIES, width), F)
    query_R, own_R = np.empty(QUERIES, np.int64), np.empty(QUERIES, np.int64)
    ahead_R, behind_R = np.empty(QUERIES, np.int64), np.empty(QUERIES, np.int64)
    best_R, total_R, faded_R = np.empty(QUERIES, F), np.empty(QUERIES, F), np.empty(QUERIES, F)
    for first_unit, last_unit in parts(job):
        if first_unit == 0:
            out_NHE[filled:] = F(0.0)
        for unit in range(first_unit, last_unit):
            # Find the segment of this unit: each has its heads of a group, QUERIES at a time.
            group, first, number = unit % num_groups, unit // num_groups, 0
            while first >= (segments_B6[number, 1] * per_group + QUERIES - 1) // QUERIES:
                first -= (segments_B6[number, 1] * per_group + QUERIES - 1) // QUERIES
                number += 1
            row, count = int(segments_B6[number, 0]), int(segments_B6[number, 1])
            start, end = int(segments_B6[number, 2]), int(segments_B6[number, 3])
            block, slots_at = int(segments_B6[number, 4]), int(segments_B6[number, 5])
            first *= QUERIES
            num_rows = min(QUERIES, count * per_group - first)
            query, own = first // per_group, first % per_group
            for r in range(QUERIES):
                query_R[r], own_R[r] = query, group * per_group + own
                # Missing rows repeat the last one.
                own += 1 if r < num_rows - 1 else 0
                if own == per_group:
                    query, own = query + 1, 0
            low, high = end, 0
            for r in range(QUERIES):
                place = start + query_R[r]
                behind_R[r] = end if block == 0 else min(end, place + 1 if block == 1 else (place // block + 1) * block)
                ahead_R[r] = max(0, (start if block == 0 else place) - window + 1) if window > 0 else 0
                low, high = min(low, ahead_R[r]), max(high, behind_R[r])
            for r in range(num_rows):
                query_E = carray(
                    at(queries + 4 * ((row + query_R[r]) * row_stride + own_R[r] * head_stride)), (size,), F
                )
                for e in range(size):
                    query_ER[e, r] = query_E[e] * scale
            few = num_rows <= _FEW
            query_ER[:, num_rows : _FEW if few else QUERIES] = F(0.0)
            mean_RE[:], best_R[:], total_R[:] = F(0.0), F(NEVER), F(0.0)
            slot_K = carray(at(head[17] + 4 * slots_at), (end,), np.int32)
            # Blocks start at the same keys whatever the other rows are.
            for base in range(low // _BLOCK * _BLOCK, high, _BLOCK):
                num_keys = min(_BLOCK, high - base)
                for k in range(0, num_keys, _KEYS_AT_ONCE):
                    here = min(_KEYS_AT_ONCE, num_keys - k)
                    slot, last = np.int64(slot_K[base + k]), np.int64(slot_K[base + k + here - 1])
                    neighbours = here == _KEYS_AT_ONCE and last - slot == _KEYS_AT_ONCE - 1
                    for i in range(1, here - 1):
                        neighbours &= slot_K[base + k + i] == slot + i
                    from_key, stride = keys + 4 * (slot * slot_stride + group * size), 4 * slot_stride
                    if not neighbours:
                        for i in range(here):
                            held = 4 * (np.int64(slot_K[base + k + i]) * slot_stride + group * size)
                            key_KE[i] = carray(at(keys + held), (size,), F)
                        from_key, stride = place_of(key_KE), 4 * size
                    _score(few, (from_key, stride, place_of(query_ER), size, place_of(score_KR) + k * LINE))
                _mask(base, score_KR[:num_keys], ahead_R, behind_R)
                scores = (place_of(score_KR), num_keys, place_of(best_R), place_of(total_R), place_of(faded_R))
                _weigh(few, scores)
                for r in range(num_rows):
                    for e in range(width):
                        mean_RE[r, e] *= faded_R[r]
                from_value, from_slot, stride = values + 4 * group * size, head[17] + 4 * (slots_at + base), slot_stride
                if copies:
                    for k in range(num_keys):
                        held = np.int64(slot_K[base + k]) * slot_stride + group * size
                        value_KE[k, :size] = carray(at(values + 4 * held), (size,), F)
                    from_value, from_slot, stride = place_of(value_KE), place_of(own_K), width
                for r in range(0, num_rows, min(_FEW, ROWS_AT_ONCE) if few else ROWS_AT_ONCE):
                    for e in range(0, width, QUERIES):
                        weights, out = place_of(score_KR) + 4 * r, place_of(mean_RE) + 4 * (r * width + e)
                        rows = (weights, from_slot, from_value + 4 * e, 4 * stride, num_keys, out, 4 * width)
                        _mix(few, rows)
            for r in range(num_rows):
                out_E = out_NHE[row + query_R[r], own_R[r]]
                inverse = F(1.0) / total_R[r]
                for e in range(size):
                    out_E[e] = mean_RE[r, e] * inverse


@njit(cache=True)
def _store_rows(first: int, last: int, new_NS: Array, slot_N: Array, held_SI: Array) -> None:
    for n in range(first, last):
        held_SI[slot_N[n]] = new_NS[n, : held_SI.shape[1]]


def store(job: Any) -> None:
    head = carray(job, (13,), np.int64)
    num_rows, size, num_slots = head[1], head[4], head[5]
    slot_N = carray(at(head[8]), (num_rows,), np.int64)
    # Rows may be strided: the last one ends at its own width, not a stride later.
    keys_NS, values_NS = carray(at(head[9]), (num_rows, head[6]), F), carray(at(head[10]), (num_rows, head[7]), F)
    keys_SI, values_SI = carray(at(head[11]), (num_slots, size), F), carray(at(head[12]), (num_slots, size), F)
    for first, last in parts(job):
        _store_rows(first, last, keys_NS, slot_N, keys_SI)
        _store_rows(first, last, values_NS, slot_N, values_SI)
