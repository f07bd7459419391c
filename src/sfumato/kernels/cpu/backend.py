"""`Backend` as compiled loops, for float32 on a CPU."""

# N rows of a product, I inputs, O outputs, V vocabulary, D model

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import torch
from torch import Tensor

from sfumato.kernels.base import (
    Backend,
    KVPool,
    LogitRows,
    QuantizedActivation,
    Rounding,
    Segment,
    SegmentReader,
    TokenStats,
)
from sfumato.kernels.cpu import memory, rows, vocabulary
from sfumato.kernels.cpu.attention import CompiledSegments
from sfumato.kernels.cpu.loops.sizes import GATES

# For digits, in memory that is kept.
_KEPT_BYTES = 64 * 2**20


class CompiledBackend(Backend):
    """Compiled loops where possible, torch elsewhere.

    Args:
        share_V: factors of weights that are read as digits.
    """

    def __init__(self, share_V: Tensor | None = None) -> None:
        self._share_V = share_V

    def rms_norm(self, x: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        return rows.norm(x, weight_I, eps) if rows.takes(x, weight_I) else super().rms_norm(x, weight_I, eps)

    def gate(self, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        go = rows.gate if activation in GATES and rows.takes(gate, up) else super().gate
        return go(gate, up, activation)

    def rotate(self, x_RQHE: Tensor, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        if not rows.takes(x_RQHE, cos_RQ1E, sin_RQ1E):
            return super().rotate(x_RQHE, cos_RQ1E, sin_RQ1E)
        return rows.rotate(x_RQHE.flatten(0, 1), cos_RQ1E.flatten(0, 2), sin_RQ1E.flatten(0, 2)).view(x_RQHE.shape)

    def norm_rotate(self, x_RQHE: Tensor, weight_E: Tensor, eps: float, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        if not rows.takes(x_RQHE, weight_E, cos_RQ1E, sin_RQ1E):
            return super().norm_rotate(x_RQHE, weight_E, eps, cos_RQ1E, sin_RQ1E)
        turn = (cos_RQ1E.flatten(0, 2), sin_RQ1E.flatten(0, 2))
        return rows.rotate(x_RQHE.flatten(0, 1), *turn, weight_E, eps).view(x_RQHE.shape)

    def quantize(self, x_NI: Tensor, rounding: Rounding) -> QuantizedActivation:
        go = rows.quantize if rows.takes(x_NI, rounding.factor_I) else super().quantize
        return go(x_NI, rounding)

    def norm_quantize(self, x: Tensor, weight_I: Tensor, eps: float, rounding: Rounding) -> QuantizedActivation:
        go = rows.norm_quantize if rows.takes(x, weight_I, rounding.factor_I) else super().norm_quantize
        return go(x, weight_I, eps, rounding)

    def gate_quantize(self, both_NO: Tensor, activation: str, rounding: Rounding) -> QuantizedActivation:
        go = super().gate_quantize
        if activation in GATES and rows.takes(both_NO, rounding.factor_I):
            go = rows.gate_quantize
        return go(both_NO, activation, rounding)

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
        if not pool.replays or not rows.takes(inputs[0]):
            return compute(*inputs)
        if not isinstance(pool.graphs, memory.Graphs):
            pool.graphs = memory.Graphs()
        return pool.graphs.replay(key, compute, inputs, constants)

    def refine(
        self, logits_NV: Tensor, x_ND: Tensor, weight_VD: Tensor, scales_V: Tensor, *, error: float, cap: float | None
    ) -> None:
        go = vocabulary.refine if rows.takes(logits_NV, x_ND, weight_VD, scales_V) else super().refine
        go(logits_NV, x_ND, weight_VD, scales_V, error=error, cap=cap)

    def rows_at_once(self, vocab_size: int) -> int:
        return super().rows_at_once(vocab_size) if self._share_V is None else _KEPT_BYTES // (2 * vocab_size)

    def reads(self, logits_NV: Tensor) -> bool:
        return logits_NV.device.type == "cpu" and not torch.is_grad_enabled()

    def read(self, rows: LogitRows, *, weigh: bool) -> tuple[TokenStats, Tensor | None]:
        return vocabulary.read(rows, weigh=weigh, factor_V=self._share_V)
