"""Attention as an argument: what each query may read, and the cache of what was committed.

One rule covers every use. A forward writes the keys and values of its Q positions into the cache right behind each
row's committed prefix and reads them back from there; only `advance` moves the prefix. So a causal forward
followed by `advance` is a prefill or a commit, and a forward without it is a denoising step, whose keys the next
step overwrites.
"""

# R rows, Q query positions, S key slots, H heads, G key-value heads, E head dimension

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class AttentionSpec:
    """Which keys the queries of one forward may read."""

    mask: Tensor | None = None
    """bool [R or 1, 1, Q, S - first], True where a query may read a key; None leaves it to `causal`."""
    causal: bool = False
    """With no mask: each query reads keys up to its own position. Otherwise every key is read."""
    first: int = 0
    """Slots before this one are read by no query."""
    windows: Mapping[int, AttentionSpec] = field(default_factory=dict)
    """The same for layers that read a sliding window, by its size; a window that is not named cuts nothing off."""

    def within(self, window: int | None) -> AttentionSpec:
        """What a layer may read: all that this allows, or a sliding window of it."""
        return self if window is None else self.windows.get(window, self)


class KVCache:
    """Keys and values of the committed prefix of R rows, with room behind it for the positions in work.

    Args:
        heads: (key-value heads, head dimension) of each layer.
        num_rows, num_slots: sizes; `num_slots` bounds prefix plus canvas.
        windows: sizes of the sliding windows that some layers read.
    """

    def __init__(
        self,
        heads: Sequence[tuple[int, int]],
        num_rows: int,
        num_slots: int,
        *,
        windows: Sequence[int] = (),
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        shapes = [(num_rows, num_slots, *pair) for pair in heads]
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for shape in shapes]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for shape in shapes]
        self.windows = tuple(windows)
        self.lengths: list[int] = [0] * num_rows
        """Committed positions of each row."""

    @property
    def num_slots(self) -> int:
        return self.keys[0].shape[1]

    def positions(self, num_queries: int) -> Tensor:
        """The positions [R, Q] that the next forward over `num_queries` positions stands at."""
        device = self.keys[0].device
        return torch.tensor(self.lengths, device=device)[:, None] + torch.arange(num_queries, device=device)

    def attention(self, num_queries: int, *, block: int | None, widths: Sequence[int] | None = None) -> AttentionSpec:
        """What a forward over `num_queries` positions behind each prefix may read.

        Args:
            num_queries: Q.
            block: a position reads up to the end of its own block of this many positions, counted from the start of
                the text: 1 is causal. None is a canvas, whose positions read all of it.
            widths: how many of the Q positions of each row are no padding; None means all. Only padding reads padding.

        Returns:
            The spec, with one for each of the cache's windows. A position reads as many keys before it, itself
            included, as a window holds; a canvas reads itself whole, and before it as far as its first position does.
        """
        everything = self._reads(num_queries, block, widths, None)
        windows = {window: self._reads(num_queries, block, widths, window) for window in self.windows}
        return AttentionSpec(mask=everything.mask, causal=everything.causal, windows=windows)

    def _reads(
        self, num_queries: int, block: int | None, widths: Sequence[int] | None, window: int | None
    ) -> AttentionSpec:
        longest = max(self.lengths)
        level = min(self.lengths) == longest and (widths is None or min(widths) == num_queries)
        cut = 0 if window is None else max(0, min(self.lengths) - window + 1)
        inside = window is None or longest + num_queries <= window
        if level and (block is None or num_queries == 1):
            return AttentionSpec(first=cut)
        if level and block == 1 and longest == 0 and inside:
            return AttentionSpec(causal=True)
        device = self.keys[0].device
        slots_S = torch.arange(cut, longest + num_queries, device=device)
        own_RQ = self.positions(num_queries)
        end_R1 = own_RQ[:, :1] + torch.tensor(widths or [num_queries] * len(self.lengths), device=device)[:, None]
        last_RQ = end_R1 - 1 if block is None else torch.minimum((own_RQ // block + 1) * block, end_R1) - 1
        mask_RQS = slots_S <= torch.maximum(last_RQ, own_RQ)[:, :, None]
        if window is not None:
            first_RQ = (own_RQ[:, :1] if block is None else own_RQ) - window + 1
            mask_RQS = mask_RQS & (slots_S >= first_RQ[:, :, None])
        return AttentionSpec(mask=mask_RQS[:, None], first=cut)

    def extend(self, layer: int, keys_RQGE: Tensor, values_RQGE: Tensor) -> tuple[Tensor, Tensor]:
        """Write keys and values behind each row's prefix and return all that this layer may read.

        Returns:
            keys_RSGE, values_RSGE: views, S = longest prefix + Q.
        """
        num_queries = keys_RQGE.shape[1]
        end = max(self.lengths) + num_queries
        keys, values = self.keys[layer], self.values[layer]
        if min(self.lengths) == max(self.lengths):
            keys[:, end - num_queries : end] = keys_RQGE
            values[:, end - num_queries : end] = values_RQGE
        else:
            rows_R1 = torch.arange(len(self.lengths), device=keys.device)[:, None]
            slots_RQ = self.positions(num_queries)
            keys[rows_R1, slots_RQ] = keys_RQGE
            values[rows_R1, slots_RQ] = values_RQGE
        return keys[:, :end], values[:, :end]

    def advance(self, num_positions: list[int]) -> None:
        """Commit that many of the positions last written, per row."""
        self.lengths = [length + count for length, count in zip(self.lengths, num_positions, strict=True)]
        assert max(self.lengths) <= self.num_slots

    def select(self, rows: Sequence[int], num_slots: int | None = None) -> KVCache:
        """A new cache with a copy of the given rows; a row may be named several times.

        Args:
            rows: indices into this cache.
            num_slots: room of the new cache; None keeps this one's.
        """
        return KVCache.gather([(self, row) for row in rows], num_slots or self.num_slots)

    def take_back(self, selected: KVCache, rows: Sequence[int], num_positions: int) -> None:
        """Copy what was last written behind the prefixes of a selection of this cache.

        Args:
            selected: what `select` gave for `rows`, its prefixes as they were then.
            rows: indices into this cache.
            num_positions: how many positions were written.
        """
        for mine, theirs in ((self.keys, selected.keys), (self.values, selected.values)):
            for layer, source in zip(mine, theirs, strict=True):
                for i, row in enumerate(rows):
                    part = slice(self.lengths[row], self.lengths[row] + num_positions)
                    layer[row, part] = source[i, part]

    @staticmethod
    def gather(rows: Sequence[tuple[KVCache, int]], num_slots: int) -> KVCache:
        """A new cache with a copy of rows of other caches of the same model.

        Args:
            rows: a cache and the index of a row in it, for each row wanted.
            num_slots: room of the new cache.
        """
        like = rows[0][0]
        new = KVCache(
            [(layer.shape[2], layer.shape[3]) for layer in like.keys],
            len(rows),
            num_slots,
            windows=like.windows,
            dtype=like.keys[0].dtype,
            device=like.keys[0].device,
        )
        for i, (cache, row) in enumerate(rows):
            used = new.lengths[i] = cache.lengths[row]
            for mine, theirs in ((new.keys, cache.keys), (new.values, cache.values)):
                for layer, source in zip(mine, theirs, strict=True):
                    layer[i, :used] = source[row, :used]
        return new


def attend(
    queries_RQHE: Tensor,
    keys_RSGE: Tensor,
    values_RSGE: Tensor,
    spec: AttentionSpec,
    *,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention with grouped key-value heads.

    Args:
        queries_RQHE, keys_RSGE, values_RSGE: H a multiple of G; the heads of a group are neighbours.
        spec: what may be read.
        scale: on the scores; None is 1 / sqrt(E).

    Returns:
        out_RQHE: same dtype as the queries.
    """
    out_RHQE = functional.scaled_dot_product_attention(
        queries_RQHE.transpose(1, 2),
        keys_RSGE[:, spec.first :].transpose(1, 2),
        values_RSGE[:, spec.first :].transpose(1, 2),
        attn_mask=spec.mask,
        is_causal=spec.causal,
        scale=scale,
        enable_gqa=queries_RQHE.shape[2] != keys_RSGE.shape[2],
    )
    return out_RHQE.transpose(1, 2)
