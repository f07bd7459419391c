"""Attention as an argument: what each query may read, and where its keys and values are.

A forward is given an `Attention`, and its layers hand it their queries, keys and values. `AttentionSpec` lets the
positions of a forward read each other under a mask: training, likelihoods, the plain loop; `BlockSparse` does the same
on a GPU, and leaves out what is masked. `PackedAttention` serves
many texts at once without padding: positions of all of them stand behind each other in one row, and each reads its own
text from a pool of slots, where the prefix was written before. `BehindText` takes steps again, with gradients.

One rule covers every use of the pool. A forward writes the keys and values of its positions into the slots of their
places in the text, and reads its text from there; what counts as committed is the caller's book-keeping. So a
causal segment that the caller then counts is a prefill or a commit, and one that he does not count is a denoising step,
whose keys the next step overwrites. Within a layer everything is written before anything is read: the canvas behind a
prompt may share a forward with the prompt.
"""

# R rows, Q query positions, S key positions, N packed positions, H heads, G key-value heads, E head dimension; A
# positions ahead of B rows of W

from __future__ import annotations

import copy
import functools
import importlib.util
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

Numbers = np.ndarray[Any, np.dtype[np.int64]]

_LOG = logging.getLogger(__name__)
WHOLE = 8
"""What a row of a matrix product gives depends, in its last bit, on how many rows there are: MKL treats the last one to
three apart, of all or of a thread's share (measured). In whole eights it does not, so that forwards are filled up to
them: a text stays the same, to the last bit, whoever else is there. Single rows are left alone, as they are faster."""
# Slots of texts that a table has room for.
_LEAST_SLOTS = 256


class Attention(Protocol):
    """How the queries of one forward read."""

    def attend(
        self,
        layer: int,
        queries_RQHE: Tensor,
        keys_RQGE: Tensor,
        values_RQGE: Tensor,
        *,
        window: int | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Scaled dot-product attention with grouped key-value heads.

        Args:
            layer: whose keys and values these are.
            queries_RQHE, keys_RQGE, values_RQGE: of the positions of this forward; H a multiple of G, the heads of a
                group are neighbours.
            window: how far back a layer reads; None is everything.
            scale: on the scores; None is 1 / sqrt(E).

        Returns:
            out_RQHE: same dtype as the queries.
        """
        ...


@dataclass(frozen=True)
class AttentionSpec:
    """The positions of a forward read each other."""

    mask: Tensor | None = None
    """bool [R or 1, 1, Q, Q], True where a query may read a key; None leaves it to `causal`."""
    causal: bool = False
    """With no mask: each query reads keys up to its own position. Otherwise every key is read."""
    windows: Mapping[int, AttentionSpec] = field(default_factory=dict)
    """The same for layers that read a sliding window, by its size; a window that is not named cuts nothing off."""

    def attend(
        self,
        layer: int,
        queries_RQHE: Tensor,
        keys_RQGE: Tensor,
        values_RQGE: Tensor,
        *,
        window: int | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """See `Attention`."""
        if window is not None and window in self.windows:
            return self.windows[window].attend(layer, queries_RQHE, keys_RQGE, values_RQGE, scale=scale)
        return _attend(queries_RQHE, keys_RQGE, values_RQGE, self.mask, self.causal, scale)


@dataclass(frozen=True)
class BlockSparse:
    """The same under a mask by FlexAttention, which leaves out blocks of keys that no query of a block reads: under the
    mask of packed rows of clean halves and canvases, most of them."""

    blocks: BlockMask
    """Of the mask [R, 1, Q, Q]."""
    flex: Callable[..., Tensor]
    """`flex_attention`, compiled or not."""

    @classmethod
    def of(cls, mask_R1QQ: Tensor, flex: Callable[..., Tensor]) -> BlockSparse:
        """Attention under a dense mask."""
        from torch.nn.attention.flex_attention import create_block_mask

        def reads(row: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return mask_R1QQ[row, 0, query, key]

        num_rows, _, num_queries, num_keys = mask_R1QQ.shape
        blocks = create_block_mask(reads, num_rows, None, num_queries, num_keys, device=mask_R1QQ.device)
        return cls(blocks, flex)

    def attend(
        self,
        layer: int,
        queries_RQHE: Tensor,
        keys_RQGE: Tensor,
        values_RQGE: Tensor,
        *,
        window: int | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """See `Attention`. No windows: they would be ignored."""
        assert window is None
        # Of one type, which autocast sees to elsewhere: norms and rotations may give another.
        given = (one.to(values_RQGE.dtype) for one in (queries_RQHE, keys_RQGE, values_RQGE))
        out_RHQE = self.flex(
            *(one.transpose(1, 2) for one in given),
            block_mask=self.blocks,
            scale=scale,
            enable_gqa=queries_RQHE.shape[2] != keys_RQGE.shape[2],
        )
        return out_RHQE.transpose(1, 2)


def masked(mask_R1QQ: Tensor) -> Attention:
    """How the positions of rows read each other under a mask, with gradients: by blocks where there is a compiled
    FlexAttention, which on CPUs has no backward, and otherwise by an explicit mask."""
    flex = _flex(mask_R1QQ.device) if mask_R1QQ.is_cuda else None
    return AttentionSpec(mask=mask_R1QQ) if flex is None else BlockSparse.of(mask_R1QQ, flex)


@functools.cache
def _flex(device: torch.device) -> Callable[..., Tensor] | None:
    """FlexAttention, compiled, if a small case of it comes out as it should, forward and backward."""
    from torch.nn.attention.flex_attention import flex_attention

    flex = torch.compile(flex_attention)
    try:
        if _agrees(flex, device):
            return flex
        reason = "it computes something else"
    except Exception as error:  # Compilers fail in many ways.
        reason = f"{type(error).__name__}: {error}"
    _LOG.warning("FlexAttention is not used: %s", reason)
    return None


def _agrees(flex: Callable[..., Tensor], device: torch.device) -> bool:
    """Whether attention by blocks, and its gradients, are those of an explicit mask, in bfloat16."""
    generator = torch.Generator().manual_seed(0)
    mask_R1QQ = torch.rand(2, 1, 256, 256, generator=generator) < 0.5
    mask_R1QQ[1, :, :128, 128:] = False
    mask_R1QQ |= torch.eye(256, dtype=torch.bool)
    mask_R1QQ = mask_R1QQ.to(device)
    drawn = [torch.randn(2, 256, heads, 64, generator=generator) for heads in (4, 2, 2, 4)]
    found = []
    for attention in (AttentionSpec(mask=mask_R1QQ), BlockSparse.of(mask_R1QQ, flex)):
        inputs = [one.to(device, torch.bfloat16).requires_grad_() for one in drawn[:3]]
        with torch.enable_grad():
            out = attention.attend(0, *inputs)
            gradients = torch.autograd.grad(out, inputs, drawn[3].to(device, torch.bfloat16))
        found.append([out.detach(), *gradients])
    return all((a - b).float().norm() < 0.02 * a.float().norm() for a, b in zip(*found, strict=True))


@dataclass(frozen=True)
class BehindText:
    """One text and rows behind it, packed one after the other [1, A + B * W]; a row reads the text, and itself whole.

    What is read many times, as by the steps of its canvases, is computed once, and gradients pass through it.
    """

    num_ahead: int
    """Positions A of the text; 0 leaves rows that read themselves alone."""
    num_rows: int
    """Rows B, of one length W."""
    ahead: AttentionSpec
    """How the text reads itself."""

    def attend(
        self,
        layer: int,
        queries_RQHE: Tensor,
        keys_RQGE: Tensor,
        values_RQGE: Tensor,
        *,
        window: int | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """See `Attention`; R is 1. No windows: they would be ignored."""
        assert window is None
        given = (queries_RQHE, keys_RQGE, values_RQGE)
        texts = [one[:, : self.num_ahead] for one in given]
        own = [torch.unflatten(one[0, self.num_ahead :], 0, (self.num_rows, -1)) for one in given]
        if not self.num_ahead:
            return _attend(own[0], own[1], own[2], None, False, scale).flatten(0, 1).unsqueeze(0)
        keys, values = (
            torch.cat((text.expand(self.num_rows, -1, -1, -1), one), dim=1)
            for text, one in zip(texts[1:], own[1:], strict=True)
        )
        out_RQHE = _attend(own[0], keys, values, None, False, scale)
        out_ahead = self.ahead.attend(layer, texts[0], texts[1], texts[2], scale=scale)
        return torch.cat((out_ahead, out_RQHE.flatten(0, 1).unsqueeze(0)), dim=1)


class SegmentLoops(Protocol):
    """What packed segments are read and written by: `sfumato.loops.attention`."""

    def attend(
        self,
        queries_NHE: Tensor,
        keys_SGE: Tensor,
        values_SGE: Tensor,
        slots: Tensor,
        segments_B6: Tensor,
        *,
        counts: Sequence[int],
        window: int | None = None,
        scale: float | None = None,
    ) -> Tensor: ...

    def store(
        self, new_keys_NGE: Tensor, new_values_NGE: Tensor, slot_N: Tensor, keys_SGE: Tensor, values_SGE: Tensor
    ) -> None: ...


class KVPool:
    """Slots for the keys and values of single positions, of any texts.

    Slot 0 belongs to no text: what pads a forward is written there.

    Args:
        heads: (key-value heads, head dimension) of each layer.
        num_slots: sizes.
    """

    def __init__(
        self,
        heads: Sequence[tuple[int, int]],
        num_slots: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        # Empty: slots that no text ever used take no memory.
        self.keys = [torch.empty((num_slots, *pair), dtype=dtype, device=device) for pair in heads]
        self.values = [torch.empty((num_slots, *pair), dtype=dtype, device=device) for pair in heads]
        self.num_slots = num_slots

    @property
    def device(self) -> torch.device:
        return self.keys[0].device


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Neighbouring positions of one text that go through the weights together."""

    slot_S: Numbers
    """int64; the pool's slot of each position of the text, at least up to the end of this segment."""
    start: int
    """Position in the text of the first."""
    end: int
    """Position in the text behind the last."""
    block: int | None = 1
    """A position reads up to the end of its own block of this many positions, counted from the start of the text: 1 is
    causal. None is a canvas, whose positions read all of it. Nobody reads past the segment."""
    run: bool = False
    """Whether the slots are neighbours, in order."""
    place_Q: Numbers | None = None
    """int64, ascending; of a canvas, the positions that are computed anew, where the others keep what was written of
    them before. None is all."""

    @property
    def count(self) -> int:
        """How many positions go through the weights."""
        return self.end - self.start if self.place_Q is None else len(self.place_Q)


def readable(
    start: int, end: int, block: int | None, window: int | None = None, *, device: torch.device | str | None = None
) -> tuple[int, Tensor | None]:
    """What the positions of a segment may read of their text.

    Args:
        start, end, block: see `Segment`.
        window: a position reads as many keys up to itself as this holds; a canvas reads itself whole, and before it
            as far as its first position does.
        device: of the mask.

    Returns:
        The first position that any of them reads, and a mask bool [Q, S] over the positions from there to the end of
        the segment, None if all is read.
    """
    first = 0 if window is None else max(0, start - window + 1)
    if block is None:
        return first, None
    own_Q = torch.arange(start, end, device=device)
    last_Q = ((own_Q // block + 1) * block).clamp_max(end) - 1
    place_S = torch.arange(first, end, device=device)
    mask_QS = place_S <= last_Q[:, None]
    if window is not None:
        mask_QS &= place_S > own_Q[:, None] - window
    return first, None if bool(mask_QS.all()) else mask_QS


class _Group:
    """Segments of one shape, side by side in the packed row."""

    def __init__(self, pool: KVPool, segments: Sequence[Segment], windows: Sequence[int]) -> None:
        like = segments[0]
        self.num_rows, self.count, self.end = len(segments), like.count, like.end
        self.base = int(like.slot_S[0]) if self.num_rows == 1 and like.run else None
        self.slot_RS = None
        if self.base is None:
            slots = np.stack([segment.slot_S[: like.end] for segment in segments])
            self.slot_RS = torch.from_numpy(slots).to(pool.device, non_blocking=True)
        # A plain causal prompt needs no mask.
        self.causal = like.start == 0 and like.block == 1 and like.count > 1
        self.reads = {
            window: readable(like.start, like.end, like.block, window, device=pool.device)
            for window in (None, *windows)
        }
        self._runs: dict[tuple[int, int], Tensor] = {}

    def _read(self, held: Tensor, first: int) -> Tensor:
        """Keys or values [R, S, G, E] of all rows, from a place on."""
        if self.slot_RS is not None:
            slots = self.slot_RS[:, first:].flatten()
            return held.index_select(0, slots).view(self.num_rows, self.end - first, *held.shape[1:])
        # Of one text whose slots are neighbours, the pool's own memory: at every step the same.
        key = held.data_ptr(), first
        if key not in self._runs:
            assert self.base is not None
            self._runs[key] = held[self.base + first : self.base + self.end].unsqueeze(0)
        return self._runs[key]

    def attend(
        self, queries_NHE: Tensor, keys: Tensor, values: Tensor, window: int | None, scale: float | None
    ) -> Tensor:
        first, mask_QS = self.reads[window]
        keys_RSGE, values_RSGE = self._read(keys, first), self._read(values, first)
        causal = self.causal and (window is None or window >= self.end)
        queries_RQHE = queries_NHE.view(self.num_rows, self.count, *queries_NHE.shape[1:])
        mask = None if causal else mask_QS
        missing = -self.count % WHOLE if self.count > 1 else 0
        if missing:
            queries_RQHE = functional.pad(queries_RQHE, (0, 0, 0, 0, 0, missing))
            mask = mask if mask is None else functional.pad(mask, (0, 0, 0, missing), value=True)
        out_RQHE = _attend(queries_RQHE, keys_RSGE, values_RSGE, mask, causal, scale)
        return (out_RQHE[:, : self.count] if missing else out_RQHE).flatten(0, 1)


class _Reader:
    """Writes keys and values of a forward's positions into the pool, and reads from there."""

    counts: tuple[int, ...] | None = None
    """Of the positions of each segment, where readers that have the same differ in their tensors alone."""
    tensors: tuple[Tensor, ...] = ()
    """All that such a reader differs in."""

    def over(self, tensors: Sequence[Tensor]) -> _Reader:
        """The same over other tensors."""
        other = copy.copy(self)
        other.tensors = tuple(tensors)
        return other

    def write(self, keys: Tensor, values: Tensor, slot_N: Tensor, new_keys: Tensor, new_values: Tensor) -> None:
        keys.index_copy_(0, slot_N, new_keys)
        values.index_copy_(0, slot_N, new_values)

    def attend(
        self, queries_NHE: Tensor, keys: Tensor, values: Tensor, window: int | None, scale: float | None
    ) -> Tensor:
        raise NotImplementedError


class _Groups(_Reader):
    """Reads segments of one shape that are neighbours together, in torch: gathers what they read of the pool."""

    def __init__(self, pool: KVPool, segments: Sequence[Segment], windows: Sequence[int]) -> None:
        self._groups = [_Group(pool, list(group), windows) for _, group in itertools.groupby(segments, _shape)]

    def attend(
        self, queries_NHE: Tensor, keys: Tensor, values: Tensor, window: int | None, scale: float | None
    ) -> Tensor:
        parts: list[Tensor] = []
        first = 0
        for group in self._groups:
            size = group.num_rows * group.count
            parts.append(group.attend(queries_NHE[first : first + size], keys, values, window, scale))
            first += size
        if first < len(queries_NHE):
            parts.append(queries_NHE.new_zeros(len(queries_NHE) - first, *queries_NHE.shape[1:]))
        return parts[0] if len(parts) == 1 else torch.cat(parts)


class _Tiles(_Reader):
    """Reads all segments in one kernel, each where its keys and values are; see `sfumato.kernels.attend`."""

    def __init__(self, pool: KVPool, segments: Sequence[Segment]) -> None:
        self._segments, self._device = segments, pool.device
        ends = np.array([segment.end for segment in segments])
        self._slots_at = np.concatenate(([0], ends.cumsum()[:-1]))
        slots = np.concatenate([segment.slot_S[: segment.end] for segment in segments]).astype(np.int32)
        self._slots = torch.from_numpy(slots).to(pool.device, non_blocking=True)
        self._counts = np.array([segment.count for segment in segments])
        self._tables: dict[int, Tensor] = {}

    def attend(
        self, queries_NHE: Tensor, keys: Tensor, values: Tensor, window: int | None, scale: float | None
    ) -> Tensor:
        from sfumato import kernels

        num_heads, size = queries_NHE.shape[1:]
        per_group = num_heads // keys.shape[1]
        rows = kernels.attention_rows(size, per_group * int(self._counts.max()), queries_NHE.dtype)
        tiles_T7 = self._table(rows // per_group)
        return kernels.attend(queries_NHE, keys, values, self._slots, tiles_T7, rows=rows, window=window, scale=scale)

    def _table(self, num_queries: int) -> Tensor:
        """Tiles of so many queries."""
        if num_queries not in self._tables:
            numbers = np.array([(one.start, one.end, one.block or 0) for one in self._segments])
            first_N = self._counts.cumsum() - self._counts
            of_segment = np.stack((first_N, self._counts, *numbers.T, self._slots_at), axis=1)
            num_tiles = -(-self._counts // num_queries)
            nth_T = np.arange(num_tiles.sum()) - np.repeat(num_tiles.cumsum() - num_tiles, num_tiles)
            tiles_T7 = np.column_stack((np.repeat(of_segment, num_tiles, axis=0), nth_T * num_queries))
            table = torch.from_numpy(tiles_T7.astype(np.int32))
            self._tables[num_queries] = table.to(self._device, non_blocking=True)
        return self._tables[num_queries]


class _InLoops(_Reader):
    """The same in a loop of a CPU; see `sfumato.loops.attention.attend`."""

    def __init__(self, segments: Sequence[Segment], loops: SegmentLoops) -> None:
        self._loops = loops
        self.counts = tuple(segment.count for segment in segments)
        numbers = np.array([(one.start, one.end, one.block or 0) for one in segments])
        first_B, end_B = np.cumsum(self.counts) - self.counts, numbers[:, 1]
        table_B6 = np.column_stack((first_B, self.counts, numbers, end_B.cumsum() - end_B))
        # As many as for somewhat longer texts, so that those have tensors of the same shape.
        slots = np.zeros(max(_LEAST_SLOTS, 1 << (int(end_B.sum()) - 1).bit_length()), dtype=np.int32)
        np.concatenate([one.slot_S[: one.end] for one in segments], out=slots[: end_B.sum()], casting="same_kind")
        self.tensors = torch.from_numpy(slots), torch.from_numpy(table_B6.astype(np.int32))

    def write(self, keys: Tensor, values: Tensor, slot_N: Tensor, new_keys: Tensor, new_values: Tensor) -> None:
        self._loops.store(new_keys, new_values, slot_N, keys, values)

    def attend(
        self, queries_NHE: Tensor, keys: Tensor, values: Tensor, window: int | None, scale: float | None
    ) -> Tensor:
        assert self.counts is not None
        slots, segments_B6 = self.tensors
        given = (queries_NHE, keys, values, slots, segments_B6)
        return self._loops.attend(*given, counts=self.counts, window=window, scale=scale)


def _reads_in_kernels(pool: KVPool) -> bool:
    return pool.device.type == "cuda" and importlib.util.find_spec("triton") is not None


def _reader(pool: KVPool, segments: Sequence[Segment], windows: Sequence[int], loops: SegmentLoops | None) -> _Reader:
    if segments and _reads_in_kernels(pool):
        return _Tiles(pool, segments)
    if segments and loops is not None and pool.device.type == "cpu" and pool.keys[0].dtype is torch.float32:
        return _InLoops(segments, loops)
    return _Groups(pool, segments, windows)


class PackedAttention:
    """Positions of many texts in one row [1, N], each reading its own text from a pool.

    Args:
        pool: where keys and values are.
        segments: what stands in the packed row, in order; where neither kernel nor loop reads all of them, segments of
            one shape that are neighbours are read together.
            No two share a slot at the positions they write.
        num_positions: N; what is left behind the segments is padding.
        windows: sizes of the sliding windows that some layers read.
        loops: read and write by these, where they can; None leaves it to torch.
    """

    def __init__(
        self,
        pool: KVPool,
        segments: Sequence[Segment],
        num_positions: int,
        *,
        windows: Sequence[int] = (),
        loops: SegmentLoops | None = None,
    ) -> None:
        self._pool = pool
        self._reader = _reader(pool, segments, windows, loops)
        num_padding = num_positions - sum(segment.count for segment in segments)
        assert num_padding >= 0
        padding = np.zeros(num_padding, dtype=np.int64)
        places = [
            np.arange(segment.start, segment.end) if segment.place_Q is None else segment.place_Q
            for segment in segments
        ]
        slots = [segment.slot_S[place] for segment, place in zip(segments, places, strict=True)]
        both_2N = torch.from_numpy(np.stack([np.concatenate([*places, padding]), np.concatenate([*slots, padding])]))
        places_N, self._slot_N = both_2N.to(pool.device, non_blocking=True)
        self.positions_1N = places_N.unsqueeze(0)
        """int64; the place in its text of each position."""

    @property
    def form(self) -> tuple[int, ...] | None:
        """Equal for those of one pool that differ in their `tensors` alone; None where there is more to it."""
        return self._reader.counts

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Which texts are read, and where they are."""
        return self.positions_1N, self._slot_N, *self._reader.tensors

    def over(self, tensors: Sequence[Tensor]) -> PackedAttention:
        """The same over other tensors."""
        other = copy.copy(self)
        other.positions_1N, other._slot_N, *more = tensors
        other._reader = self._reader.over(more)
        return other

    def attend(
        self,
        layer: int,
        queries_RQHE: Tensor,
        keys_RQGE: Tensor,
        values_RQGE: Tensor,
        *,
        window: int | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """See `Attention`; R is 1, Q is N."""
        keys, values = self._pool.keys[layer], self._pool.values[layer]
        self._reader.write(keys, values, self._slot_N, keys_RQGE.squeeze(0), values_RQGE.squeeze(0))
        return self._reader.attend(queries_RQHE[0], keys, values, window, scale).unsqueeze(0)


def _shape(segment: Segment) -> tuple[int, int, int, int | None]:
    return segment.start, segment.end, segment.count, segment.block


def _attend(
    queries_RQHE: Tensor,
    keys_RSGE: Tensor,
    values_RSGE: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float | None,
) -> Tensor:
    out_RHQE = functional.scaled_dot_product_attention(
        queries_RQHE.transpose(1, 2),
        keys_RSGE.transpose(1, 2),
        values_RSGE.transpose(1, 2),
        attn_mask=mask,
        is_causal=causal,
        scale=scale,
        enable_gqa=queries_RQHE.shape[2] != keys_RSGE.shape[2],
    )
    return out_RHQE.transpose(1, 2)
