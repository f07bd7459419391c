"""Wrappers of `loops.attention`."""

# N positions, H heads, G key-value heads, E head dimension, S slots, B segments

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sfumato.kernels.base import Segment, SegmentReader
from sfumato.kernels.cpu.loops.sizes import QUERIES
from sfumato.kernels.cpu.memory import empty
from sfumato.kernels.cpu.running import Loop

# Number of text slots that a table has room for.
_LEAST_SLOTS = 256

_attend, _store = Loop("attention.attend"), Loop("attention.store")


class CompiledSegments(SegmentReader):
    """Reads and writes segments in loops, directly in the pool: readers of one form differ only in their tensors."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.form = tuple(segment.count for segment in segments)
        numbers = np.array([(one.start, one.end, one.block or 0) for one in segments])
        first_B, end_B = np.cumsum(self.form) - self.form, numbers[:, 1]
        table_B6 = np.column_stack((first_B, self.form, numbers, end_B.cumsum() - end_B))
        # Enough for somewhat longer texts, so that their tensors have the same shape.
        slots = np.zeros(max(_LEAST_SLOTS, 1 << (int(end_B.sum()) - 1).bit_length()), dtype=np.int32)
        np.concatenate([one.slot_S[: one.end] for one in segments], out=slots[: end_B.sum()], casting="same_kind")
        self.tensors = torch.from_numpy(slots), torch.from_numpy(table_B6.astype(np.int32))

    def write(self, keys: Tensor, values: Tensor, slot_N: Tensor, new_keys: Tensor, new_values: Tensor) -> None:
        """If a slot occurs several times, the position written last counts."""
        news = [_dense(one) for one in (new_keys, new_values)]
        strides = [one.stride(0) if len(one) > 1 else keys[0].numel() for one in news]
        _store(len(slot_N), 2 * new_keys.numel(), keys[0].numel(), len(keys), *strides, slot_N, *news, keys, values)

    def attend(
        self, queries_NHE: Tensor, keys: Tensor, values: Tensor, window: int | None, scale: float | None
    ) -> Tensor:
        assert self.form is not None
        slots, segments_B6 = self.tensors
        num_heads, size = queries_NHE.shape[1:]
        if queries_NHE.stride(2) != 1:
            queries_NHE = queries_NHE.contiguous()
        num_groups = keys.shape[1]
        per_group = num_heads // num_groups
        out_NHE = empty(*queries_NHE.shape)
        sizes = (num_groups, per_group, size, len(self.form), len(out_NHE))
        strides = (queries_NHE.stride(0), queries_NHE.stride(1), keys.stride(0), window or 0)
        tensors = (queries_NHE, keys, values, slots, segments_B6, out_NHE)
        num_units = num_groups * sum(-(-count * per_group // QUERIES) for count in self.form)
        # Every query reads about as many keys as the text has slots.
        work = out_NHE.numel() * len(slots) // (16 * max(1, len(self.form)))
        _attend(num_units, work, *sizes, *strides, size**-0.5 if scale is None else float(scale), *tensors)
        return out_NHE


def _dense(x_NGE: Tensor) -> Tensor:
    """With the heads of a row contiguous."""
    dense = x_NGE.stride(2) == 1 and (x_NGE.shape[1] == 1 or x_NGE.stride(1) == x_NGE.shape[2])
    return x_NGE if dense else x_NGE.contiguous()
