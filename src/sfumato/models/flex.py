"""Attention under a mask on a GPU, by FlexAttention."""

# R rows, Q positions, H heads, G key-value heads

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from sfumato.kernels.base import attend

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class BlockSparse:
    """Attention with FlexAttention, which skips key blocks that no query of a block reads: under the mask of packed
    clean halves and canvases, most of them."""

    blocks: BlockMask
    """Block mask of [R, 1, Q, Q]."""
    flex: Callable[..., Tensor]
    """`flex_attention`, compiled or not."""

    @classmethod
    def of(cls, mask_R1QQ: Tensor, flex: Callable[..., Tensor]) -> BlockSparse:
        """Equivalent attention with a dense mask."""
        from torch.nn.attention.flex_attention import create_block_mask

        def reads(row: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return mask_R1QQ[row, 0, query, key]

        num_rows, _, num_queries, num_keys = mask_R1QQ.shape
        blocks = create_block_mask(reads, num_rows, None, num_queries, num_keys, device=mask_R1QQ.device)
        return cls(blocks, flex)

    def attend(
        self, layer: int, heads: tuple[Tensor, Tensor, Tensor], *, window: int | None = None, scale: float | None = None
    ) -> Tensor:
        """See `models.model.Attention`. Windows are not supported."""
        assert window is None
        # Convert to one type, as autocast does elsewhere: norms and rotations may give another.
        queries, keys, values = (each.to(heads[2].dtype).transpose(1, 2) for each in heads)
        grouped = queries.shape[1] != keys.shape[1]
        out_RHQE = self.flex(queries, keys, values, block_mask=self.blocks, scale=scale, enable_gqa=grouped)
        return out_RHQE.transpose(1, 2)


@functools.cache
def checked_flex(device: torch.device) -> Callable[..., Tensor] | None:
    """Compiled FlexAttention, if it passes a small test, forward and backward."""
    from torch.nn.attention.flex_attention import flex_attention

    flex = torch.compile(flex_attention)
    try:
        if _agrees(flex, device):
            return flex
        reason = "wrong results"
    except Exception as error:  # Compilers fail in many ways.
        reason = f"{type(error).__name__}: {error}"
    _LOG.warning("FlexAttention is not used: %s", reason)
    return None


def _agrees(flex: Callable[..., Tensor], device: torch.device) -> bool:
    """Whether FlexAttention and its gradients match a dense mask in bfloat16."""
    generator = torch.Generator().manual_seed(0)
    mask_R1QQ = torch.rand(2, 1, 256, 256, generator=generator) < 0.5
    mask_R1QQ[1, :, :128, 128:] = False
    mask_R1QQ |= torch.eye(256, dtype=torch.bool)
    mask_R1QQ = mask_R1QQ.to(device)
    drawn = [torch.randn(2, 256, heads, 64, generator=generator) for heads in (4, 2, 2, 4)]
    sparse = BlockSparse.of(mask_R1QQ, flex)
    found = []
    for is_sparse in (False, True):
        queries, keys, values = inputs = [one.to(device, torch.bfloat16).requires_grad_() for one in drawn[:3]]
        with torch.enable_grad():
            out = (
                sparse.attend(0, (queries, keys, values))
                if is_sparse
                else attend(queries, keys, values, mask_R1QQ, False, None)
            )
            gradients = torch.autograd.grad(out, inputs, drawn[3].to(device, torch.bfloat16))
        found.append([out.detach(), *gradients])
    return all((a - b).float().norm() < 0.02 * a.float().norm() for a, b in zip(*found, strict=True))
