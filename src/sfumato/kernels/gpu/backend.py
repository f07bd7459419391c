"""`Backend` in Triton, for floats on a GPU; see `kernels`."""

# N rows, H heads, E head dimension, I inputs, V vocabulary, T tiles

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sfumato.kernels.base import Backend, KVPool, LogitRows, SegmentReader, Statistics
from sfumato.kernels.gpu import kernels
from sfumato.layout import Segment

# Bytes of weights for soft embeddings: those of 2,048 positions with DiffusionGemma's 262,144 tokens.
_HELD_BYTES = 2**30


class TritonBackend(Backend):
    """Kernels where possible, torch elsewhere.

    Args:
        dtype: of the embedding, in which weights are returned.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self.held_bytes, self.bytes_per_weight = _HELD_BYTES, dtype.itemsize

    def rotate(self, x_RQHE: Tensor, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        if not kernels.takes(x_RQHE, cos_RQ1E, sin_RQ1E):
            return super().rotate(x_RQHE, cos_RQ1E, sin_RQ1E)
        return kernels.rotate(x_RQHE.flatten(0, 1), cos_RQ1E.flatten(0, 2), sin_RQ1E.flatten(0, 2)).view(x_RQHE.shape)

    def gate(self, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        if activation not in kernels.GATES or not kernels.takes(gate, up):
            return super().gate(gate, up, activation)
        return kernels.gate(gate.flatten(0, -2), up.flatten(0, -2), activation).view(gate.shape)

    def quantize_float8(self, x_NI: Tensor) -> tuple[Tensor, Tensor]:
        return kernels.round_rows(x_NI) if kernels.takes(x_NI) else super().quantize_float8(x_NI)

    def segments(self, pool: KVPool, segments: Sequence[Segment], windows: Sequence[int]) -> SegmentReader:
        if segments and pool.device.type == kernels.DEVICE:
            return TiledSegments(pool, segments)
        return super().segments(pool, segments, windows)

    def cap(self, logits: Tensor, most: float) -> Tensor:
        return kernels.cap(logits, most) if kernels.takes(logits) else super().cap(logits, most)

    def reads(self, logits_NV: Tensor) -> bool:
        return kernels.takes(logits_NV)

    def read(self, rows: LogitRows, *, weigh: bool) -> tuple[Statistics, Tensor, Tensor | None]:
        return kernels.read(rows, weights_dtype=self._dtype if weigh else None)


class TiledSegments(SegmentReader):
    """Reads all segments in one kernel, directly in the pool; see `sfumato.kernels.attend`."""

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
        num_heads, size = queries_NHE.shape[1:]
        per_group = num_heads // keys.shape[1]
        rows = kernels.attention_rows(size, per_group * int(self._counts.max()), queries_NHE.dtype)
        # A tile holds at least one query of each head of a group.
        rows = max(rows, 1 << (per_group - 1).bit_length())
        tiles_T7 = self._table(rows // per_group)
        return kernels.attend(queries_NHE, keys, values, self._slots, tiles_T7, rows=rows, window=window, scale=scale)

    def _table(self, num_queries: int) -> Tensor:
        """Tiles with a number of queries."""
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
