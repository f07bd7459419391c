"""Wrappers of `loops.vocabulary`."""

# N rows, V vocabulary, D model

from __future__ import annotations

import torch
from torch import Tensor

from sfumato.kernels.base import LogitRows, TokenStats
from sfumato.kernels.cpu.loops.sizes import DIGIT_PAIRS, NOTHING, WEIGHTS
from sfumato.kernels.cpu.memory import empty
from sfumato.kernels.cpu.running import Loop

_refine, _read = Loop("vocabulary.refine"), Loop("vocabulary.read")


def refine(
    logits_NV: Tensor, x_ND: Tensor, weight_VD: Tensor, scales_V: Tensor, *, error: float, cap: float | None
) -> None:
    """See `Backend.refine`; logits and weights are contiguous."""
    num_rows, size = logits_NV.shape
    tensors = (logits_NV, x_ND, weight_VD, scales_V)
    numbers = (size, x_ND.shape[1], float(error), 0.0 if cap is None else float(cap))
    _refine(num_rows, 4 * logits_NV.numel(), *numbers, *tensors)


def read(rows: LogitRows, *, weigh: bool = False, factor_V: Tensor | None = None) -> tuple[TokenStats, Tensor | None]:
    """See `Backend.read`; with factors from 0 to 1, the weights times these come in two digits, see `Backend.digits`.

    Returns:
        The statistics, and the weights, float32 [N, V] or int8 [2 N, V]; None if not requested.
    """
    logits_NV, scale_N, u_N, greedy_N, banned_RV, ban_N, mask_id = rows
    num_rows, size = logits_NV.shape
    if banned_RV is None or ban_N is None:
        banned_RV, ban_N = torch.zeros(1, 1, dtype=torch.bool), torch.full((num_rows,), -1)
    tokens_2N = torch.empty(2, num_rows, dtype=torch.int64)
    numbers_4N = torch.empty(4, num_rows)
    kind, weights = NOTHING, None
    if weigh and factor_V is None:
        kind, weights = WEIGHTS, torch.empty(num_rows, size)
    elif weigh:
        kind, weights = DIGIT_PAIRS, empty(2 * num_rows, size, dtype=torch.int8)
    sizes = (size, len(banned_RV), -1 if mask_id is None else mask_id, kind)
    given = (x.contiguous() for x in (logits_NV.float(), scale_N, banned_RV, ban_N, u_N, greedy_N))
    more = (tokens_2N if weights is None else weights, scale_N if factor_V is None else factor_V)
    _read(num_rows, 8 * logits_NV.numel(), *sizes, *given, tokens_2N, numbers_4N, *more)
    return TokenStats(*tokens_2N, *numbers_4N), weights
