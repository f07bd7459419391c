"""Attention under a mask that hides most of a row, with gradients: training and likelihoods of packed documents.

On a GPU, FlexAttention skips the blocks in which nothing is read. On a CPU, where it has no backward, a row is cut into
stretches that do not read each other, such as its documents, and only these are multiplied.
"""

# R rows, Q positions, H heads, G key-value heads, E head dimension; N stretches of up to L positions

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sfumato.models.model import Attention, AttentionSpec, Heads

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

_LOG = logging.getLogger(__name__)
_SHORT = 128
"""Neighbouring stretches of a row are joined up to this length: more and smaller products take longer."""
_ROUND = 32
"""Stretches are multiplied together if their lengths are equal when rounded up to a multiple of this."""
_MAX_SCORES = 1 << 22
"""Maximum scores at a time, unless one stretch has more."""


def select_masked_attention(mask_R1QQ: Tensor) -> Attention:
    """The fastest attention under a mask that has gradients.

    Args:
        mask_R1QQ: bool, True where a query may attend to a key. Each attends to itself.
    """
    if mask_R1QQ.is_cuda:
        flex = _flex(mask_R1QQ.device)
        return AttentionSpec(mask=mask_R1QQ) if flex is None else BlockSparse.of(mask_R1QQ, flex)
    return BlockDiagonal.of(mask_R1QQ) if mask_R1QQ.shape[2] > _SHORT else AttentionSpec(mask=mask_R1QQ)


@dataclass(frozen=True)
class BlockDiagonal:
    """Attention within stretches of a row that do not read each other, such as its documents."""

    bias_R1QQ: Tensor
    """bfloat16; 0 where a query may attend to a key, elsewhere minus infinity."""
    starts_RQ: Tensor
    """bool; True where a stretch starts."""

    @classmethod
    def of(cls, mask_R1QQ: Tensor) -> BlockDiagonal:
        """Equivalent attention with a dense mask."""
        reads_RQQ, size = mask_R1QQ[:, 0].view(torch.uint8), mask_R1QQ.shape[2]
        first_RQ, last_RQ = reads_RQQ.argmax(2), size - 1 - reads_RQQ.flip(2).argmax(2)
        # A stretch starts where nothing from there on reads what is before, and nothing before reads from there on.
        first_RQ = first_RQ.flip(1).cummin(1).values.flip(1)
        last_RQ = last_RQ.cummax(1).values.roll(1, 1)
        starts_RQ = (first_RQ == torch.arange(size)) & (last_RQ < torch.arange(size))
        starts_RQ[:, 0], first = True, 0
        for span in _stretches(starts_RQ):
            if span.start % size == 0 or span.stop - first > _SHORT:
                first = span.start
            else:
                starts_RQ.view(-1)[span.start] = False
        bias_R1QQ = torch.zeros(mask_R1QQ.shape, dtype=torch.bfloat16)
        return cls(bias_R1QQ.masked_fill_(~mask_R1QQ, -torch.inf), starts_RQ)

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """See `Attention`. Windows cut nothing off."""
        queries, keys, values = (each.to(heads.values_RQGE.dtype) for each in heads)
        if (group := queries.shape[2] // keys.shape[2]) > 1:
            keys, values = (each.repeat_interleave(group, 2) for each in (keys, values))
        scale = queries.shape[3] ** -0.5 if scale is None else scale
        out: Tensor = _attend(queries * scale, keys, values, self.bias_R1QQ, self.starts_RQ)
        return out


# Operators of their own, because stretches differ between batches, and compiled layers would be compiled again.


@torch.library.custom_op("sfumato::attend_in_stretches", mutates_args=())
def _attend(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor, starts: Tensor) -> Tensor:
    out = queries.new_empty(queries.shape)
    for spans in _alike(starts, queries.shape[2]):
        probs = _probs(_take(queries, spans), _take(keys, spans), bias, spans)
        _put(out, probs @ _take(values, spans), spans)
    return out


@torch.library.custom_op("sfumato::attend_in_stretches_backward", mutates_args=())
def _attend_backward(
    gradient: Tensor, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor, starts: Tensor
) -> list[Tensor]:
    gradients = [each.new_empty(each.shape) for each in (queries, keys, values)]
    for spans in _alike(starts, queries.shape[2]):
        of_out, *heads = (_take(each, spans) for each in (gradient, queries, keys, values))
        probs = _probs(heads[0], heads[1], bias, spans)
        of_probs = of_out @ heads[2].transpose(2, 3)
        of_scores = torch._softmax_backward_data(of_probs, probs, -1, probs.dtype)
        parts = of_scores @ heads[1], of_scores.transpose(2, 3) @ heads[0], probs.transpose(2, 3) @ of_out
        for each, part in zip(gradients, parts, strict=True):
            _put(each, part, spans)
    return gradients


_attend.register_fake(lambda queries, *_: queries.new_empty(queries.shape))
_attend_backward.register_fake(lambda _, *inputs: [each.new_empty(each.shape) for each in inputs[:3]])
_attend.register_autograd(
    lambda ctx, gradient: (*_attend_backward(gradient, *ctx.saved_tensors), None, None),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def _stretches(starts_RQ: Tensor) -> list[slice]:
    """Spans of the stretches in the flattened rows."""
    edges = [*starts_RQ.flatten().nonzero().flatten().tolist(), starts_RQ.numel()]
    return [slice(*each) for each in itertools.pairwise(edges)]


def _alike(starts_RQ: Tensor, num_heads: int) -> Iterator[list[slice]]:
    """The same spans in groups of about equal length."""
    found = sorted(_stretches(starts_RQ), key=lambda each: each.stop - each.start)
    for _, alike in itertools.groupby(found, lambda each: (each.stop - each.start - 1) // _ROUND):
        spans = list(alike)
        length = spans[-1].stop - spans[-1].start
        at_once = max(1, _MAX_SCORES // (num_heads * length * length))
        for first in range(0, len(spans), at_once):
            yield spans[first : first + at_once]


def _take(given_RQHE: Tensor, spans: Sequence[slice]) -> Tensor:
    """The positions of some spans [N, H, L, E], padded with zeros."""
    flat = given_RQHE.flatten(0, 1)
    return pad_sequence([flat[span] for span in spans], batch_first=True).transpose(1, 2)


def _put(into_RQHE: Tensor, part_NHLE: Tensor, spans: Sequence[slice]) -> None:
    flat = into_RQHE.flatten(0, 1)
    for span, part_LHE in zip(spans, part_NHLE.transpose(1, 2), strict=True):
        flat[span] = part_LHE[: span.stop - span.start]


def _probs(queries_NHLE: Tensor, keys_NHLE: Tensor, bias_R1QQ: Tensor, spans: Sequence[slice]) -> Tensor:
    """Shares [N, H, L, L] with which queries read keys."""
    length, size = queries_NHLE.shape[2], bias_R1QQ.shape[3]
    bias_N1LL = bias_R1QQ.new_full((len(spans), 1, length, length), -torch.inf)
    # Padding reads something: the softmax of nothing is NaN.
    bias_N1LL[..., 0] = 0.0
    for span, bias_1LL in zip(spans, bias_N1LL, strict=True):
        (row, first), count = divmod(span.start, size), span.stop - span.start
        bias_1LL[:, :count, :count] = bias_R1QQ[row, :, first : first + count, first : first + count]
    return (queries_NHLE @ keys_NHLE.transpose(2, 3)).add_(bias_N1LL).softmax(-1)


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

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """See `Attention`. Windows are not supported."""
        assert window is None
        # Convert to one type, as autocast does elsewhere: norms and rotations may give another.
        queries, keys, values = (each.to(heads.values_RQGE.dtype).transpose(1, 2) for each in heads)
        grouped = queries.shape[1] != keys.shape[1]
        out_RHQE = self.flex(queries, keys, values, block_mask=self.blocks, scale=scale, enable_gqa=grouped)
        return out_RHQE.transpose(1, 2)


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
