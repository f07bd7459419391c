"""`Backend` as compiled loops, for float32 on a CPU. Tensors that the loops do not take are left to torch."""

# N rows or positions, I inputs, O outputs, G key-value heads or groups of inputs, H heads, E head dimension, F its
# rotated part, S slots, B segments, V vocabulary, D model

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from sfumato.kernels.base import Backend, KVPool, LogitRows, QuantizedActivation, Rounding, SegmentReader, Statistics
from sfumato.kernels.cpu.loops.sizes import DIGIT_PAIRS, GATES, NOTHING, PANEL, QUERIES, WEIGHTS
from sfumato.kernels.cpu.running import ALIGNMENT, Graphs, Loop, empty
from sfumato.layout import Segment

_norm, _gate, _rotate = Loop("rows.plain_norm"), Loop("rows.plain_gate"), Loop("rows.rotate")
_round, _round_normed, _round_gated = Loop("rows.round"), Loop("rows.norm"), Loop("rows.gate")
_attend, _store = Loop("attention.attend"), Loop("attention.store")
_refine, _read = Loop("vocabulary.refine"), Loop("vocabulary.read")
_multiply = Loop("floats.multiply")
# For digits, in memory that is kept.
_KEPT_BYTES = 64 * 2**20
# Number of text slots that a table has room for.
_MIN_SLOTS = 256


class CompiledBackend(Backend):
    """Compiled loops where possible, torch elsewhere.

    Args:
        share_V: factors of weights that are read as digits.
    """

    def __init__(self, share_V: Tensor | None = None) -> None:
        self._share_V = share_V
        if share_V is not None:
            self.held_bytes, self.bytes_per_weight = _KEPT_BYTES, 2

    def rms_norm(self, x: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        if not _takes(x, weight_I):
            return super().rms_norm(x, weight_I, eps)
        out, size = empty(*x.shape), len(weight_I)
        _norm(x.numel() // size, 2 * x.numel(), size, float(eps), x.contiguous(), weight_I, out)
        return out

    def gate(self, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        if activation not in GATES or not _takes(gate, up):
            return super().gate(gate, up, activation)
        out, size = empty(*gate.shape), gate.shape[-1]
        gate_NI, up_NI = (one.flatten(0, -2) for one in (gate, up))
        gate_NI, up_NI = (one if one.stride(1) == 1 else one.contiguous() for one in (gate_NI, up_NI))
        strides = (one.stride(0) if len(one) > 1 else size for one in (gate_NI, up_NI))
        _gate(len(gate_NI), 3 * out.numel(), size, GATES.index(activation), *strides, gate_NI, up_NI, out)
        return out

    def rotate(self, x_RQHE: Tensor, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        if not _takes(x_RQHE, cos_RQ1E, sin_RQ1E):
            return super().rotate(x_RQHE, cos_RQ1E, sin_RQ1E)
        return _rotated(x_RQHE, cos_RQ1E, sin_RQ1E)

    def norm_rotate(self, x_RQHE: Tensor, weight_E: Tensor, eps: float, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        if not _takes(x_RQHE, weight_E, cos_RQ1E, sin_RQ1E):
            return super().norm_rotate(x_RQHE, weight_E, eps, cos_RQ1E, sin_RQ1E)
        return _rotated(x_RQHE, cos_RQ1E, sin_RQ1E, weight_E, eps)

    def quantize(self, x_NI: Tensor, rounding: Rounding) -> QuantizedActivation:
        if not _takes(x_NI, rounding.factor_I):
            return super().quantize(x_NI, rounding)
        sizes, out = _rounded(len(x_NI), rounding)
        _round(len(x_NI), 2 * x_NI.numel(), *sizes, x_NI.contiguous(), rounding.factor_I, *out)
        return out

    def norm_quantize(self, x: Tensor, weight_I: Tensor, eps: float, rounding: Rounding) -> QuantizedActivation:
        if not _takes(x, weight_I, rounding.factor_I):
            return super().norm_quantize(x, weight_I, eps, rounding)
        num_rows = x.numel() // len(weight_I)
        sizes, out = _rounded(num_rows, rounding)
        given = (float(eps), x.contiguous(), weight_I, rounding.factor_I)
        _round_normed(num_rows, 6 * x.numel(), *sizes, *given, *out)
        return out

    def gate_quantize(self, both_NO: Tensor, activation: str, rounding: Rounding) -> QuantizedActivation:
        if activation not in GATES or not _takes(both_NO, rounding.factor_I):
            return super().gate_quantize(both_NO, activation, rounding)
        sizes, out = _rounded(len(both_NO), rounding)
        given = (GATES.index(activation), both_NO.contiguous(), rounding.factor_I)
        _round_gated(len(both_NO), 3 * both_NO.numel(), *sizes, *given, *out)
        return out

    def segments(self, pool: KVPool, segments: Sequence[Segment], windows: Sequence[int]) -> SegmentReader:
        if segments and pool.device.type == "cpu" and pool.keys[0].dtype is torch.float32:
            return CompiledSegments(segments)
        return super().segments(pool, segments, windows)

    def replay(
        self,
        pool: KVPool,
        key: Hashable,
        compute: Callable[..., Tensor],
        inputs: Sequence[Tensor],
        constants: Callable[[], Iterable[Tensor]],
    ) -> Tensor:
        if not pool.replays or not _takes(inputs[0]):
            return compute(*inputs)
        if not isinstance(pool.graphs, Graphs):
            pool.graphs = Graphs()
        return pool.graphs.replay(key, compute, inputs, constants)

    def refine(
        self, logits_NV: Tensor, x_ND: Tensor, weight_VD: Tensor, scales_V: Tensor, *, error: float, cap: float | None
    ) -> None:
        tensors = (logits_NV, x_ND, weight_VD, scales_V)
        if not _takes(*tensors):
            super().refine(*tensors, error=error, cap=cap)
            return
        numbers = (logits_NV.shape[1], x_ND.shape[1], float(error), 0.0 if cap is None else float(cap))
        _refine(len(logits_NV), 4 * logits_NV.numel(), *numbers, *tensors)

    def reads(self, logits_NV: Tensor) -> bool:
        return logits_NV.device.type == "cpu" and not torch.is_grad_enabled()

    def read(self, rows: LogitRows, *, weigh: bool) -> tuple[Statistics, Tensor, Tensor | None]:
        logits_NV, scale_N, u_N, greedy_N, banned_RV, ban_N, mask_id = rows
        num_rows, size = logits_NV.shape
        if banned_RV is None or ban_N is None:
            banned_RV, ban_N = torch.zeros(1, 1, dtype=torch.bool), torch.full((num_rows,), -1)
        tokens_2N = torch.empty(2, num_rows, dtype=torch.int64)
        numbers_4N = torch.empty(4, num_rows)
        kind, weights = NOTHING, None
        if weigh and self._share_V is None:
            kind, weights = WEIGHTS, torch.empty(num_rows, size)
        elif weigh:
            # Weights times factors, as `Backend.digits` gives them.
            kind, weights = DIGIT_PAIRS, empty(2 * num_rows, size, dtype=torch.int8)
        sizes = (size, len(banned_RV), -1 if mask_id is None else mask_id, kind)
        given = (x.contiguous() for x in (logits_NV.float(), scale_N, banned_RV, ban_N, u_N, greedy_N))
        more = (tokens_2N if weights is None else weights, scale_N if self._share_V is None else self._share_V)
        _read(num_rows, 8 * logits_NV.numel(), *sizes, *given, tokens_2N, numbers_4N, *more)
        return Statistics(*tokens_2N, *numbers_4N[:3]), numbers_4N[3], weights


def _takes(*tensors: Tensor) -> bool:
    """Whether loops can be used: float32 on a CPU, without gradients."""
    return not torch.is_grad_enabled() and all(x.dtype is torch.float32 and x.device.type == "cpu" for x in tensors)


def _rotated(
    x_RQHE: Tensor, cos_RQ1E: Tensor, sin_RQ1E: Tensor, weight_E: Tensor | None = None, eps: float = 0.0
) -> Tensor:
    """Rotate every head, after its norm if there is a weight. The loop takes strided rows, but whole heads."""
    x_NHE, cos_NF, sin_NF = x_RQHE.flatten(0, 1), cos_RQ1E.flatten(0, 2), sin_RQ1E.flatten(0, 2)
    num_rows, num_heads, size = x_NHE.shape
    if x_NHE.stride(2) != 1 or (num_heads > 1 and x_NHE.stride(1) != size):
        x_NHE = x_NHE.contiguous()
    stride = x_NHE.stride(0) if num_rows > 1 else num_heads * size
    out_NHE = empty(num_rows, num_heads, size)
    numbers = (num_heads, size, cos_NF.shape[1], stride, weight_E is not None, float(eps))
    tensors = (x_NHE, cos_NF if weight_E is None else weight_E, cos_NF, sin_NF, out_NHE)
    _rotate(num_rows, 2 * out_NHE.numel(), *numbers, *tensors)
    return out_NHE.view(x_RQHE.shape)


def _rounded(num_rows: int, rounding: Rounding) -> tuple[tuple[int, int, int], QuantizedActivation]:
    """The sizes that a rounding loop is given, and memory for its result."""
    size, digits, num_groups = len(rounding.factor_I), rounding.digits, rounding.num_groups
    levels_MI = empty(digits * num_rows, size, dtype=torch.int8)
    return (size, digits, num_groups), QuantizedActivation(levels_MI, empty(num_rows, num_groups))


class CompiledSegments(SegmentReader):
    """Reads and writes segments in loops, directly in the pool: readers of one form differ only in their tensors."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.form = tuple(segment.count for segment in segments)
        numbers = np.array([(one.start, one.end, one.block or 0) for one in segments])
        first_B, end_B = np.cumsum(self.form) - self.form, numbers[:, 1]
        table_B6 = np.column_stack((first_B, self.form, numbers, end_B.cumsum() - end_B))
        # Enough for somewhat longer texts, so that their tensors have the same shape.
        slots = np.zeros(max(_MIN_SLOTS, 1 << (int(end_B.sum()) - 1).bit_length()), dtype=np.int32)
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


class FloatMatrix:
    """A float matrix, packed for multiplication.

    Args:
        weight_OI: float32 on a CPU.
        bias_O: added to every row; None is zero.
    """

    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None = None) -> None:
        self.shape = weight_OI.shape
        num_outputs, num_inputs = self.shape
        missing = -num_outputs % PANEL
        padded_OI = functional.pad(weight_OI.detach(), (0, 0, 0, missing))
        self._panels = _in_lines(padded_OI.view(-1, PANEL, num_inputs).transpose(1, 2))
        self._bias, self._biased = torch.zeros(num_outputs + missing), bias_O is not None
        if bias_O is not None:
            self._bias[:num_outputs] = bias_O.detach()

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Everything a product reads besides its arguments."""
        return self._panels, self._bias

    def multiply(self, x_NI: Tensor, *, residual_NO: Tensor | None = None) -> Tensor:
        """The product [N, O] with some rows, plus bias and optionally a residual."""
        num_rows, (num_outputs, num_inputs) = len(x_NI), self.shape
        if x_NI.stride(1) != 1:
            x_NI = x_NI.contiguous()
        added = x_NI if residual_NO is None else residual_NO.contiguous()
        out_NO = empty(num_rows, num_outputs)
        sizes = (num_rows, num_inputs, num_outputs, self._biased, residual_NO is not None)
        # With few rows, reading the matrix takes most of the time.
        work = max(num_rows, 4) * self._panels.numel() // 16
        stride = x_NI.stride(0) if num_rows > 1 else num_inputs
        _multiply(len(self._panels), work, *sizes, x_NI, stride, self._panels, self._bias, added, out_NO)
        return out_NO


def _in_lines(values: Tensor) -> Tensor:
    """A copy of a tensor, aligned to a cache line."""
    raw = torch.empty(values.numel() * values.element_size() + ALIGNMENT, dtype=torch.uint8)
    first = -raw.data_ptr() % ALIGNMENT
    own = raw[first : len(raw) - ALIGNMENT + first].view(values.dtype).view(values.shape)
    return own.copy_(values)
