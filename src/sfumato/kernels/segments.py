"""Keys and values of many texts in one pool, and what reads them there, in torch."""

# R rows, Q query positions, S key positions, N packed positions, H heads, G key-value heads, E head dimension

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

Numbers = np.ndarray[Any, np.dtype[np.int64]]

WHOLE = 8
"""What a row of a matrix product gives depends, in its last bit, on how many rows there are: MKL treats the last one to
three apart, of all or of a thread's share (measured). In whole eights it does not, so that forwards are filled up to
them: a text stays the same, to the last bit, whoever else is there. Single rows are left alone, as they are faster."""


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
        self.replays = True
        """Whether passes that read and write it may be recorded."""
        self.graphs: object = None
        """What a backend recorded of passes that read and write it."""

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
        out_RQHE = attend(queries_RQHE, keys_RSGE, values_RSGE, mask, causal, scale)
        return (out_RQHE[:, : self.count] if missing else out_RQHE).flatten(0, 1)


class SegmentReader:
    """Writes keys and values of a forward's positions into the pool, and reads from there."""

    form: tuple[int, ...] | None = None
    """Of readers that differ in their `tensors` alone: how many positions each segment has. None where there is more to
    it."""
    tensors: tuple[Tensor, ...] = ()
    """All that such a reader differs in."""

    def over(self, tensors: Sequence[Tensor]) -> SegmentReader:
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


class GatheredSegments(SegmentReader):
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


def _shape(segment: Segment) -> tuple[int, int, int, int | None]:
    return segment.start, segment.end, segment.count, segment.block


def attend(
    queries_RQHE: Tensor,
    keys_RSGE: Tensor,
    values_RSGE: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float | None,
) -> Tensor:
    queries, keys, values = (one.transpose(1, 2) for one in (queries_RQHE, keys_RSGE, values_RSGE))
    grouped = queries.shape[1] != keys.shape[1]
    if queries.requires_grad and queries.dtype is torch.bfloat16 and queries.device.type == "cpu" and not grouped:
        # torch's own backward takes twice as long there as that of plain products (measured, 256 positions).
        if causal:
            mask = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).tril()
        scores = queries @ keys.transpose(2, 3) * (queries.shape[3] ** -0.5 if scale is None else scale)
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        return (scores.softmax(-1) @ values).transpose(1, 2)
    out_RHQE = functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=grouped
    )
    return out_RHQE.transpose(1, 2)
