"""Attention as an argument: what each query may read, and the cache of what was committed.

One rule covers every use. A forward writes the keys and values of its Q positions into the cache right behind each
row's committed prefix and reads them back from there; only `advance` moves the prefix. So a causal forward
followed by `advance` is a prefill or a commit, and a forward without it is a denoising step, whose keys the next
step overwrites.
"""

# R rows, Q query positions, S key slots, H heads, G key-value heads, E head dimension

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class AttentionSpec:
    """Which keys the queries of one forward may read."""

    mask: Tensor | None = None
    """bool [R or 1, 1, Q, S], True where a query may read a key; None leaves it to `causal`."""
    causal: bool = False
    """With no mask: each query reads keys up to its own position. Otherwise every key is read."""


class KVCache:
    """Keys and values of the committed prefix of R rows, with room behind it for the positions in work.

    Args:
        num_layers, num_rows, num_slots, num_heads, head_dim: sizes; `num_slots` bounds prefix plus canvas.
    """

    def __init__(
        self,
        num_layers: int,
        num_rows: int,
        num_slots: int,
        num_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        shape = (num_layers, num_rows, num_slots, num_heads, head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.lengths: list[int] = [0] * num_rows
        """Committed positions of each row."""

    @property
    def num_slots(self) -> int:
        return self.keys.shape[2]

    def positions(self, num_queries: int) -> Tensor:
        """The positions [R, Q] that the next forward over `num_queries` positions stands at."""
        starts_R1 = torch.tensor(self.lengths, device=self.keys.device)[:, None]
        return starts_R1 + torch.arange(num_queries, device=self.keys.device)

    def attention(self, num_queries: int, *, causal: bool, widths: Sequence[int] | None = None) -> AttentionSpec:
        """What a forward over `num_queries` positions behind each prefix may read.

        Args:
            num_queries: Q.
            causal: True for prefill and commit, False for a canvas that reads itself in both directions.
            widths: how many of the Q positions of each row are no padding; None means all.
        """
        level = min(self.lengths) == max(self.lengths) and (widths is None or min(widths) == num_queries)
        if level and (not causal or num_queries == 1):
            return AttentionSpec()
        if level and self.lengths[0] == 0:
            return AttentionSpec(causal=True)
        device = self.keys.device
        slots_S = torch.arange(max(self.lengths) + num_queries, device=device)
        last_RQ = self.positions(num_queries)
        if not causal:
            counts_R = torch.tensor(widths or [num_queries] * len(self.lengths), device=device)
            last_RQ = (last_RQ[:, 0] + counts_R - 1)[:, None].expand(-1, num_queries)
        return AttentionSpec(mask=(slots_S <= last_RQ[:, :, None])[:, None])

    def extend(self, layer: int, keys_RQGE: Tensor, values_RQGE: Tensor) -> tuple[Tensor, Tensor]:
        """Write keys and values behind each row's prefix and return all that this layer may read.

        Returns:
            keys_RSGE, values_RSGE: views, S = longest prefix + Q.
        """
        num_queries = keys_RQGE.shape[1]
        end = max(self.lengths) + num_queries
        if min(self.lengths) == max(self.lengths):
            self.keys[layer, :, end - num_queries : end] = keys_RQGE
            self.values[layer, :, end - num_queries : end] = values_RQGE
        else:
            rows_R1 = torch.arange(len(self.lengths), device=self.keys.device)[:, None]
            slots_RQ = self.positions(num_queries)
            self.keys[layer][rows_R1, slots_RQ] = keys_RQGE
            self.values[layer][rows_R1, slots_RQ] = values_RQGE
        return self.keys[layer, :, :end], self.values[layer, :, :end]

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
        for i, row in enumerate(rows):
            part = slice(self.lengths[row], self.lengths[row] + num_positions)
            self.keys[:, row, part] = selected.keys[:, i, part]
            self.values[:, row, part] = selected.values[:, i, part]

    @staticmethod
    def gather(rows: Sequence[tuple[KVCache, int]], num_slots: int) -> KVCache:
        """A new cache with a copy of rows of other caches of the same model.

        Args:
            rows: a cache and the index of a row in it, for each row wanted.
            num_slots: room of the new cache.
        """
        like = rows[0][0].keys
        layers, _, _, heads, size = like.shape
        new = KVCache(layers, len(rows), num_slots, heads, size, dtype=like.dtype, device=like.device)
        for i, (cache, row) in enumerate(rows):
            used = cache.lengths[row]
            new.keys[:, i, :used] = cache.keys[:, row, :used]
            new.values[:, i, :used] = cache.values[:, row, :used]
            new.lengths[i] = used
        return new


def attend(queries_RQHE: Tensor, keys_RSGE: Tensor, values_RSGE: Tensor, spec: AttentionSpec) -> Tensor:
    """Scaled dot-product attention with grouped key-value heads.

    Returns:
        out_RQHE: same dtype as the queries.
    """
    out_RHQE = functional.scaled_dot_product_attention(
        queries_RQHE.transpose(1, 2),
        keys_RSGE.transpose(1, 2),
        values_RSGE.transpose(1, 2),
        attn_mask=spec.mask,
        is_causal=spec.causal,
        enable_gqa=queries_RQHE.shape[2] != keys_RSGE.shape[2],
    )
    return out_RHQE.transpose(1, 2)
