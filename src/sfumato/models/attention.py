"""Attention metadata as an argument: what each query may read, and where its keys and values are.

A forward is given an `Attention`, and its layers pass it their queries, keys and values. `AttentionSpec` lets the
positions of a forward attend to each other under a mask (training, likelihoods, the plain loop); `BlockSparse` does the
same on a GPU and skips masked blocks. `PackedAttention` serves many texts without padding: their positions are packed
in one row, and each attends to its own text in a pool of slots, where the prefix was written before. `SharedPrefix`
replays steps with gradients.

One rule covers every use of the pool. A forward writes the keys and values of its positions into their slots, and reads
its text from there; the caller decides what counts as committed. A causal segment that then counts is a prefill or a
commit; one that does not is a denoising step, whose keys the next step overwrites. Within a layer everything is written
before anything is read, so a canvas can share a forward with its prompt.
"""

# R rows, Q query positions, S key positions, N packed positions, H heads, G key-value heads, E head dimension; A
# positions before B rows of W

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from sfumato.kernels.base import TORCH, Backend, KVPool, Segment, attend

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

_LOG = logging.getLogger(__name__)


class Heads(NamedTuple):
    """Queries, keys and values of one forward in one layer."""

    queries_RQHE: Tensor
    """H is a multiple of G; the heads of a group are adjacent."""
    keys_RQGE: Tensor
    values_RQGE: Tensor


class Attention(Protocol):
    """How the queries of one forward attend."""

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """Scaled dot-product attention with grouped key-value heads.

        Args:
            layer: index of the layer.
            heads: of this forward's positions.
            window: sliding window of the layer; None reads everything.
            scale: of the scores; None is 1 / sqrt(E).

        Returns:
            out_RQHE: same dtype as the queries.
        """
        ...


@dataclass(frozen=True)
class AttentionSpec:
    """The positions of a forward attend to each other."""

    mask: Tensor | None = None
    """bool [R or 1, 1, Q, Q], True where a query may attend to a key; None leaves it to `causal`."""
    causal: bool = False
    """Without a mask: whether each query reads only keys up to its own position. Otherwise it reads all."""
    windows: Mapping[int, AttentionSpec] = field(default_factory=dict)
    """Masks for sliding-window layers, by window size; missing windows cut nothing off."""

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """See `Attention`."""
        if window is not None and window in self.windows:
            return self.windows[window].attend(layer, heads, scale=scale)
        return attend(*heads, self.mask, self.causal, scale)


@dataclass(frozen=True)
class BlockSparse:
    """The same with FlexAttention, which skips key blocks that no query of a block reads: under the mask of packed
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

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """See `Attention`. Windows are not supported."""
        assert window is None
        # Convert to one type, as autocast does elsewhere: norms and rotations may give another.
        given = [each.to(heads.values_RQGE.dtype).transpose(1, 2) for each in heads]
        grouped = heads.queries_RQHE.shape[2] != heads.keys_RQGE.shape[2]
        out_RHQE = self.flex(*given, block_mask=self.blocks, scale=scale, enable_gqa=grouped)
        return out_RHQE.transpose(1, 2)


def select_masked_attention(mask_R1QQ: Tensor) -> Attention:
    """Masked attention with gradients: FlexAttention if it compiles (on CPUs it has no backward), otherwise a dense
    mask."""
    flex = _flex(mask_R1QQ.device) if mask_R1QQ.is_cuda else None
    return AttentionSpec(mask=mask_R1QQ) if flex is None else BlockSparse.of(mask_R1QQ, flex)


@functools.cache
def _flex(device: torch.device) -> Callable[..., Tensor] | None:
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
    found = []
    for attention in (AttentionSpec(mask=mask_R1QQ), BlockSparse.of(mask_R1QQ, flex)):
        inputs = [one.to(device, torch.bfloat16).requires_grad_() for one in drawn[:3]]
        with torch.enable_grad():
            out = attention.attend(0, Heads(*inputs))
            gradients = torch.autograd.grad(out, inputs, drawn[3].to(device, torch.bfloat16))
        found.append([out.detach(), *gradients])
    return all((a - b).float().norm() < 0.02 * a.float().norm() for a, b in zip(*found, strict=True))


@dataclass(frozen=True)
class SharedPrefix:
    """One text and several rows after it, packed as [1, A + B * W]; a row attends to the text and to all of itself.

    Text shared by several canvas steps is computed once, and gradients pass through it.
    """

    num_prefix: int
    """Positions A of the text; 0 for rows without text."""
    num_rows: int
    """Number B of rows, each of length W."""
    prefix: AttentionSpec
    """How the text attends to itself."""

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """See `Attention`; R is 1. Windows are not supported."""
        assert window is None
        text = Heads(*(each[:, : self.num_prefix] for each in heads))
        rows = Heads(*(torch.unflatten(each[0, self.num_prefix :], 0, (self.num_rows, -1)) for each in heads))
        if not self.num_prefix:
            return attend(*rows, None, False, scale).flatten(0, 1).unsqueeze(0)
        keys, values = (
            torch.cat((before.expand(self.num_rows, -1, -1, -1), each), dim=1)
            for before, each in zip(text[1:], rows[1:], strict=True)
        )
        out_RQHE = attend(rows.queries_RQHE, keys, values, None, False, scale)
        out_prefix = self.prefix.attend(layer, text, scale=scale)
        return torch.cat((out_prefix, out_RQHE.flatten(0, 1).unsqueeze(0)), dim=1)


class PackedAttention:
    """Positions of many texts packed in one row [1, N], each attending to its own text in a pool.

    Args:
        pool: of keys and values.
        segments: the packed row, in order; no two write the same slot. In torch, adjacent segments of one shape are
            computed together.
        num_positions: N; positions after the segments are padding.
        windows: sizes of the layers' sliding windows.
        backend: of the model.
    """

    def __init__(
        self,
        pool: KVPool,
        segments: Sequence[Segment],
        num_positions: int,
        *,
        windows: Sequence[int] = (),
        backend: Backend = TORCH,
    ) -> None:
        self.pool = pool
        self._reader = backend.segments(pool, segments, windows)
        num_padding = num_positions - sum(segment.count for segment in segments)
        assert num_padding >= 0
        padding = np.zeros(num_padding, dtype=np.int64)
        ranges = [
            np.arange(segment.start, segment.end) if segment.place_Q is None else segment.place_Q
            for segment in segments
        ]
        slots = [segment.slot_S[span] for segment, span in zip(segments, ranges, strict=True)]
        both_2N = torch.from_numpy(np.stack([np.concatenate([*ranges, padding]), np.concatenate([*slots, padding])]))
        places_N, self._slot_N = both_2N.to(pool.device, non_blocking=True)
        self.positions_1N = places_N.unsqueeze(0)
        """int64; each position's index in its text."""

    @property
    def form(self) -> tuple[int, ...] | None:
        """A key equal for layouts of one pool that differ only in their `tensors`; None if they differ otherwise."""
        return self._reader.form

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The index tensors."""
        return self.positions_1N, self._slot_N, *self._reader.tensors

    def over(self, tensors: Sequence[Tensor]) -> PackedAttention:
        """The same with other tensors."""
        other = copy.copy(self)
        other.positions_1N, other._slot_N, *more = tensors
        other._reader = self._reader.over(more)
        return other

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """See `Attention`; R is 1, Q is N."""
        keys, values = self.pool.keys[layer], self.pool.values[layer]
        self._reader.write(keys, values, self._slot_N, heads.keys_RQGE.squeeze(0), heads.values_RQGE.squeeze(0))
        return self._reader.attend(heads.queries_RQHE[0], keys, values, window, scale).unsqueeze(0)
