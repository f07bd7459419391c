"""Triton kernels for everything between matrix products on a GPU.

Like `kernels.cpu`: one pass over each row, in float32 whatever the tensors' type. With TRITON_INTERPRET=1 in the
environment when this module is imported, the kernels run on a CPU in Python, one program after the other: slowly, with
the same results. The tests use this without a GPU.
"""

# N rows, H heads, G key-value heads, E head dimension, F rotated dimensions, I inputs, V vocabulary, R sets of tokens,
# S slots, T tiles

# mypy: disable-error-code="no-untyped-def, misc, untyped-decorator"

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

from sfumato.kernels.base import LARGEST_FLOAT8, LogitRows, Statistics

INTERPRETED = bool(triton.knobs.runtime.interpret)
"""Whether kernels run on a CPU."""
DEVICE = "cpu" if INTERPRETED else "cuda"
"""Device that kernels run on."""
GATES: tuple[str, ...] = ("silu", "gelu_pytorch_tanh")
"""Activations supported by `gate`."""

# Columns of a row that are read at once, and of elementwise kernels.
_TILE = 4096
_COLUMNS = 1024
# Stands for minus infinity, for which 0 times it is 0; see `sampling.logits.NEVER`.
_NEVER = tl.constexpr(-1e30)
_TINY = tl.constexpr(1.1754943508222875e-38)


@triton.jit
def _gate_rows(gate, up, out, stride, size, GELU: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0).to(tl.int64), tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < size
    x = tl.load(gate + row * stride + column, mask=inside, other=0.0).to(tl.float32)
    other = tl.load(up + row * stride + column, mask=inside, other=0.0).to(tl.float32)
    # As a sigmoid, either: gelu's x (1 + tanh z) / 2 is x sigmoid(2 z).
    z = 1.5957691216057308 * (x + 0.044715 * x * x * x) if GELU else x
    y = x / (1.0 + tl.exp(-z)) * other
    tl.store(out + row * size + column, y.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _rotate_heads(
    x, cos, sin, out, row_stride, head_stride, num_heads, size, half, HALF: tl.constexpr, SIZE: tl.constexpr
):
    program = tl.program_id(0).to(tl.int64)
    row, head = program // num_heads, program % num_heads
    x += row * row_stride + head * head_stride
    out += program * size
    place = tl.arange(0, HALF)
    inside = place < half
    first = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(x + half + place, mask=inside, other=0.0).to(tl.float32)
    cos += row * 2 * half
    sin += row * 2 * half
    turned = first * tl.load(cos + place, mask=inside, other=0.0).to(tl.float32)
    turned -= second * tl.load(sin + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + place, turned.to(out.dtype.element_ty), mask=inside)
    turned = second * tl.load(cos + half + place, mask=inside, other=0.0).to(tl.float32)
    turned += first * tl.load(sin + half + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + half + place, turned.to(out.dtype.element_ty), mask=inside)
    if SIZE > 0:
        rest = 2 * half + tl.arange(0, SIZE)
        tl.store(out + rest, tl.load(x + rest, mask=rest < size, other=0.0), mask=rest < size)


@triton.jit
def _cap_rows(logits, out, count, cap, COLUMNS: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    x = tl.load(logits + place, mask=place < count, other=0.0).to(tl.float32)
    tl.store(out + place, cap - 2.0 * cap / (1.0 + tl.exp(2.0 / cap * x)), mask=place < count)


@triton.jit
def _round_rows(x, levels, scales, stride, size, most, SIZE: tl.constexpr):
    row, column = tl.program_id(0).to(tl.int64), tl.arange(0, SIZE)
    values = tl.load(x + row * stride + column, mask=column < size, other=0.0).to(tl.float32)
    highest = tl.max(tl.abs(values), 0)
    scale = tl.where(highest < _TINY * most, _TINY, highest / most)
    # Rounded to three bits of mantissa, half to even, by their bits: left to make floats of 8 bits by itself, Triton's
    # interpreter loses what that carries into the exponent.
    bits = (values / scale).to(tl.int32, bitcast=True)
    bits = (bits + 0x7FFFF + ((bits >> 20) & 1)) & -0x100000
    # A quotient may round up past the largest, which is no number in this type.
    levelled = tl.minimum(tl.maximum(bits.to(tl.float32, bitcast=True), -most), most)
    tl.store(levels + row * size + column, levelled.to(levels.dtype.element_ty), mask=column < size)
    # A row with what is no number must not look like one of numbers.
    broken = tl.sum((values != values).to(tl.int32), 0) > 0
    tl.store(scales + row, tl.where(broken, float("nan"), scale))


@triton.jit
def _scores(logits, column, size, scale, banned, mask_id, BANS: tl.constexpr):
    score = tl.load(logits + column, mask=column < size, other=float("-inf")).to(tl.float32) / scale
    # Not a maximum, which would make a number of NaN.
    score = tl.where(score < _NEVER, _NEVER, score)
    score = tl.where(column == mask_id, _NEVER, score)
    if BANS:
        score = tl.where(tl.load(banned + column, mask=column < size, other=0) != 0, _NEVER, score)
    return score


@triton.jit
def _read_rows(
    logits,
    scale_N,
    u_N,
    greedy_N,
    banned_RV,
    ban_N,
    mask_id,
    tokens,
    numbers,
    weights,
    num_rows,
    size,
    BANS: tl.constexpr,
    WEIGH: tl.constexpr,
    TILE: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    logits += row * size
    scale = tl.load(scale_N + row)
    banned = banned_RV
    if BANS:
        banned += tl.load(ban_N + row) * size
    # The best and the next, the sum of weights, and of weights times what they are of, all relative to the best so far.
    best = tl.full((), 0, tl.int32)
    top, second = tl.full((), _NEVER, tl.float32), tl.full((), _NEVER, tl.float32)
    total, tilted = tl.full((), 0.0, tl.float32), tl.full((), 0.0, tl.float32)
    for start in range(0, size, TILE):
        column = start + tl.arange(0, TILE)
        score = _scores(logits, column, size, scale, banned, mask_id, BANS)
        highest, place = tl.max(score, 0, return_indices=True)
        place += start
        next_best = tl.max(tl.where(column == place, _NEVER, score), 0)
        second = tl.where(highest > top, tl.maximum(top, next_best), tl.maximum(second, highest))
        best = tl.where(highest > top, place, best)
        above = tl.where(highest > top, highest, top)
        weight = tl.exp(score - above)
        tilted = tl.exp(top - above) * (tilted + (top - above) * total) + tl.sum(weight * (score - above), 0)
        total = tl.exp(top - above) * total + tl.sum(weight, 0)
        top = above
    # The first token at which the running sum of weights passes u times their total.
    drawn, found = best, tl.load(greedy_N + row).to(tl.int32)
    wanted, before = tl.load(u_N + row) * total, tl.full((), 0.0, tl.float32)
    for start in range(0, size, TILE):
        column = start + tl.arange(0, TILE)
        weight = tl.exp(_scores(logits, column, size, scale, banned, mask_id, BANS) - top)
        if WEIGH:
            tl.store(weights + row * size + column, weight.to(weights.dtype.element_ty), mask=column < size)
        part = tl.sum(weight, 0)
        if (found == 0) & (before + part > wanted):
            passed = (before + tl.cumsum(weight, 0) > wanted) & (weight > 0.0)
            # Sums in another order may not pass by a last bit.
            last = tl.max(tl.where(weight > 0.0, column, 0), 0)
            drawn = tl.minimum(tl.min(tl.where(passed, column, size), 0), last)
            found += 1
        before += part
    chosen = tl.load(logits + drawn).to(tl.float32) / scale
    entropy = tl.log(total) - tilted / total
    tl.store(tokens + row, best.to(tl.int64))
    tl.store(tokens + num_rows + row, drawn.to(tl.int64))
    tl.store(numbers + row, tl.exp(chosen - top) / total)
    tl.store(numbers + num_rows + row, tl.where(entropy < 0.0, 0.0, entropy))
    margin = (1.0 - tl.exp(second - top)) / total
    tl.store(numbers + 2 * num_rows + row, tl.where(top == _NEVER, float("nan"), margin))
    tl.store(numbers + 3 * num_rows + row, total)


@triton.jit
def _attend_tiles(
    queries,
    keys,
    values,
    out,
    slots,
    tiles,
    scale,
    window,
    row_stride,
    head_stride,
    slot_stride,
    size,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
):
    group = tl.program_id(1)
    tiles += tl.program_id(0) * 7
    row, count, start, end = tl.load(tiles), tl.load(tiles + 1), tl.load(tiles + 2), tl.load(tiles + 3)
    block, slots_at, first = tl.load(tiles + 4), tl.load(tiles + 5), tl.load(tiles + 6)
    # A row of the tile is one head of one query; the heads of a group read the same keys.
    query = first + tl.arange(0, ROWS) // HEADS
    head = group * HEADS + tl.arange(0, ROWS) % HEADS
    real = (query < count) & (tl.arange(0, ROWS) < ROWS // HEADS * HEADS)
    # A canvas, of block 0, is read whole; elsewhere a query reads up to the end of its block.
    place = start + query
    blocks = tl.maximum(block, 1)
    behind = tl.where(block == 0, end, tl.minimum(end, (place // blocks + 1) * blocks))
    ahead = tl.maximum(tl.where(block == 0, start, place) - window + 1, 0)
    ahead = tl.where(window > 0, ahead, 0)
    element = tl.arange(0, SIZE)
    inside = real[:, None] & (element < size)[None, :]
    # In 64 bits: 2^31 elements are four gigabytes of queries or pool.
    at = (row + query).to(tl.int64)[:, None] * row_stride + head[:, None] * head_stride + element[None, :]
    own = tl.load(queries + at, mask=inside, other=0.0)
    best = tl.full((ROWS,), _NEVER, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    mean = tl.zeros((ROWS, SIZE), tl.float32)
    low, high = tl.min(tl.where(real, ahead, end), 0), tl.max(tl.where(real, behind, 0), 0)
    for base in range(low, high, KEYS):
        key = base + tl.arange(0, KEYS)
        slot = tl.load(slots + slots_at + key, mask=key < high, other=0).to(tl.int64)
        held_at = slot[:, None] * slot_stride + group * size + element[None, :]
        held = (key < high)[:, None] & (element < size)[None, :]
        score = tl.dot(own, tl.trans(tl.load(keys + held_at, mask=held, other=0.0)), input_precision="ieee") * scale
        reads = real[:, None] & (key[None, :] >= ahead[:, None]) & (key[None, :] < behind[:, None])
        score = tl.where(reads, score, _NEVER)
        above = tl.maximum(best, tl.max(score, 1))
        weight = tl.where(reads, tl.exp(score - above[:, None]), 0.0)
        faded = tl.exp(best - above)
        total = total * faded + tl.sum(weight, 1)
        read = tl.load(values + held_at, mask=held, other=0.0)
        mean = mean * faded[:, None] + tl.dot(weight.to(read.dtype), read, input_precision="ieee")
        best = above
    mean = mean / tl.where(total > 0.0, total, 1.0)[:, None]
    at = ((row + query).to(tl.int64)[:, None] * (tl.num_programs(1) * HEADS) + head[:, None]) * size + element[None, :]
    tl.store(out + at, mean.to(out.dtype.element_ty), mask=inside)


def takes(*tensors: Tensor) -> bool:
    """Whether kernels can be used: floats on the kernels' device, without gradients."""
    return not torch.is_grad_enabled() and all(x.device.type == DEVICE and x.is_floating_point() for x in tensors)


def _at(x: Tensor) -> AbstractContextManager[object]:
    """Launch on the tensor's device."""
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()


def gate(gate_NI: Tensor, up_NI: Tensor, activation: str) -> Tensor:
    """An activation of one half times the other half; rows of both may have equal strides.

    Args:
        gate_NI, up_NI: the halves.
        activation: one of GATES.
    """
    num_rows, size = gate_NI.shape
    if gate_NI.stride() != up_NI.stride() or gate_NI.stride(1) != 1:
        gate_NI, up_NI = gate_NI.contiguous(), up_NI.contiguous()
    out_NI = gate_NI.new_empty(num_rows, size)
    if out_NI.numel():
        grid = (num_rows, triton.cdiv(size, _COLUMNS))
        with _at(out_NI):
            _gate_rows[grid](
                *(gate_NI, up_NI, out_NI, gate_NI.stride(0), size), GELU=activation != GATES[0], COLUMNS=_COLUMNS
            )
    return out_NI


def rotate(x_NHE: Tensor, cos_NF: Tensor, sin_NF: Tensor) -> Tensor:
    """Rotate every head by its position, like `Backend.rotate`.

    Args:
        x_NHE: rows and heads may be strided.
        cos_NF, sin_NF: of each row.
    """
    num_rows, num_heads, size = x_NHE.shape
    if x_NHE.stride(2) != 1:
        x_NHE = x_NHE.contiguous()
    out_NHE = x_NHE.new_empty(num_rows, num_heads, size)
    half = cos_NF.shape[1] // 2
    rest = size - 2 * half
    if out_NHE.numel():
        with _at(out_NHE):
            _rotate_heads[(num_rows * num_heads,)](
                *(x_NHE, cos_NF.contiguous(), sin_NF.contiguous(), out_NHE),
                *(x_NHE.stride(0), x_NHE.stride(1), num_heads, size, half),
                HALF=triton.next_power_of_2(half),
                SIZE=triton.next_power_of_2(rest) if rest else 0,
                num_warps=1,
            )
    return out_NHE


def cap(logits_NV: Tensor, most: float) -> Tensor:
    """c tanh(logit / c) as float32, of logits of any float type."""
    logits_NV = logits_NV.contiguous()
    out_NV = torch.empty_like(logits_NV, dtype=torch.float32)
    if out_NV.numel():
        with _at(out_NV):
            _cap_rows[(triton.cdiv(out_NV.numel(), _TILE),)](logits_NV, out_NV, out_NV.numel(), most, COLUMNS=_TILE)
    return out_NV


def round_rows(x_NI: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as float8_e4m3fn, and a scale for each.

    Returns:
        levels_NI: the largest of a row is 448 or -448.
        scale_N: float32, more than 0; NaN where a row has one.
    """
    num_rows, size = x_NI.shape
    if x_NI.stride(1) != 1:
        x_NI = x_NI.contiguous()
    levels_NI = torch.empty(num_rows, size, dtype=torch.float8_e4m3fn, device=x_NI.device)
    scale_N = torch.empty(num_rows, device=x_NI.device)
    if num_rows:
        with _at(x_NI):
            _round_rows[(num_rows,)](
                *(x_NI, levels_NI, scale_N, x_NI.stride(0), size, LARGEST_FLOAT8),
                SIZE=triton.next_power_of_2(size),
                num_warps=8,
            )
    return levels_NI, scale_N


def read(rows: LogitRows, *, weights_dtype: torch.dtype | None = None) -> tuple[Statistics, Tensor, Tensor | None]:
    """See `Backend.read`; weights are returned if their type is given."""
    logits_NV, scale_N, u_N, greedy_N, banned_RV, ban_N, mask_id = rows
    logits_NV = logits_NV.contiguous()
    num_rows, size = logits_NV.shape
    device = logits_NV.device
    tokens_2N = torch.empty(2, num_rows, dtype=torch.int64, device=device)
    numbers_4N = torch.empty(4, num_rows, device=device)
    weights_NV = None if weights_dtype is None else torch.empty(num_rows, size, dtype=weights_dtype, device=device)
    bans = banned_RV is not None and ban_N is not None
    if num_rows:
        with _at(logits_NV):
            _read_rows[(num_rows,)](
                *(logits_NV, scale_N.contiguous(), u_N.contiguous(), greedy_N.contiguous().view(torch.uint8)),
                banned_RV.contiguous().view(torch.uint8) if bans and banned_RV is not None else tokens_2N,
                ban_N.contiguous() if bans and ban_N is not None else tokens_2N,
                -1 if mask_id is None else mask_id,
                *(tokens_2N, numbers_4N, numbers_4N if weights_NV is None else weights_NV, num_rows, size),
                BANS=bans,
                WEIGH=weights_NV is not None,
                TILE=min(_TILE, max(16, triton.next_power_of_2(size))),
                num_warps=8,
            )
    return Statistics(*tokens_2N, *numbers_4N[:3]), numbers_4N[3], weights_NV


def attention_rows(size: int, most: int, dtype: torch.dtype) -> int:
    """Rows of a tile of `attend`, heads of queries read together: as many as registers hold.

    Args:
        size: of a head.
        most: heads of a group times queries, of the largest segment.
        dtype: of queries, keys and values.
    """
    held = 16 if dtype is torch.float32 else 64 if size <= 128 else 32 if size <= 256 else 16
    return max(16, min(int(triton.next_power_of_2(most)), held))


def attend(
    queries_NHE: Tensor,
    keys_SGE: Tensor,
    values_SGE: Tensor,
    slots: Tensor,
    tiles_T7: Tensor,
    *,
    rows: int,
    window: int | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attention for segments of many texts, packed in a row, with keys and values read directly from a pool.

    Args:
        queries_NHE: heads of a query are contiguous; H is a multiple of G, and the heads of a group are adjacent.
        keys_SGE, values_SGE: the pool's slots.
        slots: int32; for each segment its text's slots, from the first to the end of the segment.
        tiles_T7: int32; per tile, from its segment: first row among the queries, number of rows, text position of the
            start and after the end, the block as in `Segment` or 0 for a canvas, start of its slots; and its first
            query, of `rows` over H / G.
        rows: see `attention_rows`.
        window: sliding window of the layer; None is everything.
        scale: of the scores; None is 1 / sqrt(E).

    Returns:
        out_NHE: zero outside all segments.
    """
    num_heads, size = queries_NHE.shape[1:]
    if queries_NHE.stride(2) != 1:
        queries_NHE = queries_NHE.contiguous()
    out_NHE = queries_NHE.new_zeros(queries_NHE.shape)
    width = max(16, triton.next_power_of_2(size))
    if len(tiles_T7):
        with _at(out_NHE):
            _attend_tiles[(len(tiles_T7), keys_SGE.shape[1])](
                *(queries_NHE, keys_SGE, values_SGE, out_NHE, slots, tiles_T7),
                *(size**-0.5 if scale is None else scale, window or 0),
                *(queries_NHE.stride(0), queries_NHE.stride(1), keys_SGE.stride(0), size),
                HEADS=num_heads // keys_SGE.shape[1],
                SIZE=width,
                ROWS=rows,
                KEYS=32,
                num_warps=4 if width <= 128 else 8,
                num_stages=2,
            )
    return out_NHE
