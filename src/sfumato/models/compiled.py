"""`Operations` in compiled loops, see `sfumato.loops`."""

# N rows of a product, I inputs, O outputs, V vocabulary, D model, M two
# digits of each row

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sfumato.loops import attention, rows, vocabulary
from sfumato.models.attention import SegmentLoops
from sfumato.models.operations import FusedOperations, Reading, Rounded, Unscaled

# Of digits; they are in memory that stays.
_KEPT_BYTES = 64 * 2**20


class CompiledOperations(FusedOperations):
    """In compiled loops where they can go, elsewhere in torch.

    Args:
        share_V: factors of weights that are read as digits.
    """

    segments: SegmentLoops | None = attention

    def __init__(self, share_V: Tensor | None = None) -> None:
        super().__init__(rows)
        self._share_V = share_V

    def rms_norm(self, x: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        if not rows.takes(x, weight_I):
            return super().rms_norm(x, weight_I, eps)
        return rows.rms_norm(x, weight_I, eps)

    def add_norm(
        self, x: Tensor, out: Tensor | Unscaled | None, weight_I: Tensor, eps: float, factor_I: Tensor | None
    ) -> tuple[Tensor, Tensor | Rounded]:
        factors = out.factors if isinstance(out, Unscaled) else ()
        if isinstance(out, Tensor) or factor_I is None or not rows.takes(x, weight_I, factor_I, *factors):
            return super().add_norm(x, out, weight_I, eps, factor_I)
        product = None if out is None else (out.product_NO, *factors)
        x, levels_NI, scale_N = rows.add_norm_round(x, product, weight_I, eps, factor_I)
        return x, Rounded(levels_NI, scale_N)

    def heads(
        self,
        outs: Sequence[Tensor] | Unscaled,
        head_dim: int,
        rotary: tuple[Tensor, Tensor],
        norms: tuple[nn.Module, nn.Module] | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        if not isinstance(outs, Unscaled) or norms is not None or not rows.takes(*outs.factors, *rotary):
            return super().heads(outs, head_dim, rotary, norms)
        num_heads = [size // head_dim for size in outs.sizes]
        return rows.heads(outs.product_NO, *outs.factors, *rotary, num_heads, head_dim)

    def gated(self, outs: Sequence[Tensor] | Unscaled, activation: str, factor_I: Tensor | None) -> Tensor | Rounded:
        if (
            not isinstance(outs, Unscaled)
            or factor_I is None
            or activation not in rows.GATES
            or not rows.takes(*outs.factors, factor_I)
        ):
            return super().gated(outs, activation, factor_I)
        return Rounded(*rows.gate_round(outs.product_NO, *outs.factors, factor_I, activation))

    def round_rows(self, x_NI: Tensor, factor_I: Tensor) -> Rounded:
        if not rows.takes(x_NI, factor_I):
            return super().round_rows(x_NI, factor_I)
        return Rounded(*rows.round_rows(x_NI, factor_I))

    def scale_product(self, product_NO: Tensor, scale_N: Tensor, scales_O: Tensor, bias_O: Tensor) -> Tensor:
        if not rows.takes(scale_N, scales_O, bias_O):
            return super().scale_product(product_NO, scale_N, scales_O, bias_O)
        return rows.scale_product(product_NO, scale_N, scales_O, bias_O)

    def digits(self, probs_NV: Tensor, factor_V: Tensor) -> Tensor:
        if not rows.takes(probs_NV, factor_V):
            return super().digits(probs_NV, factor_V)
        return vocabulary.digits(probs_NV, factor_V)

    def empty(self, num_rows: int, size: int, like: Tensor) -> Tensor:
        return vocabulary.empty(num_rows, size) if like.device.type == "cpu" else super().empty(num_rows, size, like)

    def refine(
        self,
        logits_NV: Tensor,
        x_ND: Tensor,
        weight_VD: Tensor,
        scales_V: Tensor,
        *,
        error: float,
        cap: float | None,
    ) -> None:
        go = vocabulary.refine if rows.takes(logits_NV, x_ND, weight_VD, scales_V) else super().refine
        go(logits_NV, x_ND, weight_VD, scales_V, error=error, cap=cap)

    def rows_at_once(self, vocab_size: int) -> int:
        return super().rows_at_once(vocab_size) if self._share_V is None else _KEPT_BYTES // (2 * vocab_size)

    def reads(self, logits_NV: Tensor) -> bool:
        return logits_NV.device.type == "cpu" and not torch.is_grad_enabled()

    def read(
        self,
        logits_NV: Tensor,
        scale_N: Tensor,
        u_N: Tensor,
        greedy_N: Tensor,
        *,
        banned_RV: Tensor | None,
        ban_N: Tensor | None,
        mask_id: int | None,
        weigh: bool,
    ) -> tuple[Reading, Tensor | None]:
        tokens_2N, numbers_4N, weights = vocabulary.read(
            *(logits_NV.float(), scale_N, u_N, greedy_N),
            banned_RV=banned_RV,
            ban_N=ban_N,
            mask_id=mask_id,
            weigh=weigh,
            factor_V=self._share_V,
        )
        return Reading(*tokens_2N, *numbers_4N), weights
