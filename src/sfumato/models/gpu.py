"""`Operations` in kernels of a GPU, see `sfumato.kernels`."""

# N rows, I inputs, V vocabulary

from __future__ import annotations

import torch
from torch import Tensor

import sfumato.kernels as kernels
from sfumato.models.operations import FusedOperations, Reading

# Of weights that soft embeddings are made of: those of 2,048 positions of DiffusionGemma's 262,144 tokens.
_HELD_BYTES = 2**30


class GPUOperations(FusedOperations):
    """In kernels where they can go, elsewhere in torch.

    Args:
        dtype: of the embedding, in which weights are read.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__(kernels)
        self._dtype = dtype

    def round_floats(self, x_NI: Tensor) -> tuple[Tensor, Tensor]:
        return kernels.round_rows(x_NI) if kernels.takes(x_NI) else super().round_floats(x_NI)

    def cap(self, logits: Tensor, most: float) -> Tensor:
        return kernels.cap(logits, most) if kernels.takes(logits) else super().cap(logits, most)

    def rows_at_once(self, vocab_size: int) -> int:
        return _HELD_BYTES // (self._dtype.itemsize * vocab_size)

    def reads(self, logits_NV: Tensor) -> bool:
        return kernels.takes(logits_NV)

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
        tokens_2N, numbers_4N, weights_NV = kernels.read(
            *(logits_NV, scale_N, u_N, greedy_N),
            banned_RV=banned_RV,
            ban_N=ban_N,
            mask_id=mask_id,
            weights_dtype=self._dtype if weigh else None,
        )
        return Reading(*tokens_2N, *numbers_4N), weights_NV
