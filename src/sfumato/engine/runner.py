"""From parts of texts to one forward over all of them, packed in a row without padding between them."""

# R rows, L canvas, N packed positions, D model, V vocab

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sfumato.engine.replay import MOST_REPLAYED, Left, Replayer
from sfumato.models.attention import WHOLE, KVPool, Numbers, PackedAttention, Segment, SegmentLoops
from sfumato.models.model import Model


def _none() -> Numbers:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one text puts through the weights in one forward."""

    segment: Segment
    """Where in its text and in the pool."""
    tokens: Sequence[int]
    """Its leading tokens; those of a canvas follow."""
    row: int | None = None
    """The canvas that follows, as a row of the batch; None for text that is only written."""
    reads: Numbers = field(default_factory=_none)
    """Of the canvas: which of its positions stand, one after the other, behind the leading tokens."""
    canvas: Numbers = field(default_factory=_none)
    """Of the segment's last positions, one after the other: which position of the canvas each decides, and whose soft
    embedding it gets."""
    shift: int = 0
    """The logits of a canvas position stand this many places of the text before it."""


class Passed(NamedTuple):
    """What one pass through the weights gives."""

    hidden_ND: Tensor
    """Hidden states of all positions, one after the other."""
    place_RL: Tensor
    """int64; where among them the one stands that decides a canvas position, 0 if none does."""
    end_P: list[int]
    """Where the last position of each part stands, in the order in which they were given."""


class _Layout:
    """Where everything in a forward comes from, and where it goes: all that does not change while its parts do not.

    Args:
        key: see `_key`.
        parts: see `Runner.forward`.
        shape: of the batch of canvases.
        num_positions: of the forward, padding included.
        pool: where keys and values are.
        windows, loops: see `PackedAttention`.
    """

    def __init__(
        self,
        key: tuple[Hashable, ...] | None,
        parts: Sequence[Part],
        shape: tuple[int, int],
        num_positions: int,
        pool: KVPool,
        windows: Sequence[int],
        loops: SegmentLoops | None,
    ) -> None:
        device = pool.device
        # Neighbours of one shape are read together.
        order = sorted(
            range(len(parts)), key=lambda i: (parts[i].row is not None, parts[i].segment.start, parts[i].segment.count)
        )
        self.key = key
        """That of `_key`: it names slots by identity, so that they have to stay."""
        self.parts, self.end_P, self.total = [parts[i] for i in order], [0] * len(parts), 0
        for i, part in zip(order, self.parts, strict=True):
            self.total += part.segment.count
            self.end_P[i] = self.total - 1
        # Tokens of the canvases, then those that the host knows, of which the first pads.
        first_known, width = shape[0] * shape[1], shape[1]
        known, pick_N, canvas_C, decided_C, end = [0], [], [], [], 0
        place_RL = np.zeros(shape, dtype=np.int64)
        for part in self.parts:
            pick_N.append(np.arange(len(part.tokens)) + first_known + len(known))
            known += part.tokens
            end += len(part.tokens)
            if part.row is not None:
                end += len(part.reads)
                place = np.arange(end - len(part.canvas), end)
                pick_N.append(part.reads + part.row * width)
                canvas_C.append(place)
                decided_C.append(part.canvas + part.row * width)
                _find(part, place, place_RL[part.row])
        pick_N.append(np.full(num_positions - self.total, first_known))
        self.known_N, self.index_N = torch.tensor(known, device=device), _index(pick_N, device)
        self.place_RL = torch.from_numpy(place_RL).to(device, non_blocking=True)
        segments = [part.segment for part in self.parts]
        self.attention = PackedAttention(pool, segments, num_positions, windows=windows, loops=loops)
        self.canvas_1N = self.index_C = self.decided_C = None
        if canvas_C:
            self.index_C, self.decided_C = _index(canvas_C, device), _index(decided_C, device)
            self.canvas_1N = torch.zeros(1, num_positions, dtype=torch.bool, device=device)
            self.canvas_1N[0].index_fill_(0, self.index_C, True)
        self.tensors = (*self._own, *self.attention.tensors)
        """All that a forward reads of it."""

    @property
    def _own(self) -> tuple[Tensor | None, ...]:
        return self.known_N, self.index_N, self.canvas_1N, self.index_C, self.decided_C

    @property
    def form(self) -> Hashable:
        """Equal for layouts that differ in their tensors alone; None for one that does not come again."""
        form = self.attention.form
        if form is None:
            return self.key
        return form if self.index_N.numel() <= MOST_REPLAYED else None

    def over(self, tensors: Sequence[Any]) -> _Layout:
        """The same over other tensors."""
        other = copy.copy(self)
        other.known_N, other.index_N, other.canvas_1N, other.index_C, other.decided_C, *rest = tensors
        other.attention = self.attention.over(rest)
        return other


class Runner:
    """Runs a model over parts of texts.

    Args:
        model: the weights.
        pool: where keys and values are.
        autoregressive: no position is marked as canvas, and a single position is run as it is, for speed.
        replayer: replays steps that differ in their tokens alone; None computes each.
    """

    def __init__(
        self, model: Model, pool: KVPool, *, autoregressive: bool = False, replayer: Replayer | None = None
    ) -> None:
        self._model, self._pool, self._autoregressive = model, pool, autoregressive
        self._last: _Layout | None = None
        self.replayer = replayer or Replayer(None)
        self.num_forwards = 0
        """Passes through the weights so far."""
        self.num_positions = 0
        """Positions in them, without padding."""

    def forward(
        self,
        parts: Sequence[Part],
        tokens_RL: Tensor | None = None,
        soft_RLD: Tensor | None = None,
        given_RL: Tensor | None = None,
        left: Callable[[], Left] | None = None,
    ) -> Passed:
        """One pass through the weights; keys and values of all parts are written.

        Args:
            parts: any number, at most one for each row of the batch, and no two of one text that overlap.
            tokens_RL: int64; what the canvases read, if there are any.
            soft_RLD: soft embeddings of the last predictions, if there are any.
            given_RL: bool; which tokens of the canvases are given, if any is.
            left: tells how often the same parts will come again.

        Returns:
            What came out; the next forward may overwrite the hidden states.
        """
        if tokens_RL is None:
            tokens_RL = torch.zeros(0, 0, dtype=torch.int64, device=self._pool.device)
        layout = self._laid_out(parts, (tokens_RL.shape[0], tokens_RL.shape[1]))

        def compute(
            tokens_RL: Tensor, soft_RLD: Tensor | None, given_RL: Tensor | None, *tensors: Tensor | None
        ) -> Tensor:
            return self._compute(layout.over(tensors), tokens_RL, soft_RLD, given_RL)

        again = left
        if left is not None and layout.attention.form is not None:
            # Other canvases will come.
            again = lambda: Left(left().at_least, sys.maxsize)  # noqa: E731
        inputs = (tokens_RL, soft_RLD, given_RL)
        hidden_ND = self.replayer(layout.form, compute, *inputs, held=layout, left=again)
        self.num_forwards += 1
        self.num_positions += layout.total
        return Passed(hidden_ND, layout.place_RL, layout.end_P)

    def _laid_out(self, parts: Sequence[Part], shape: tuple[int, int]) -> _Layout:
        """The layout of some parts: that of the last forward, where it was of the same."""
        key = _key(parts, shape)
        if self._last is None or key is None or self._last.key != key:
            num_positions = self._padded(sum(part.segment.count for part in parts))
            loops = self._model.operations.segments
            self._last = _Layout(key, parts, shape, num_positions, self._pool, self._model.windows, loops)
        return self._last

    def _compute(self, layout: _Layout, tokens_RL: Tensor, soft_RLD: Tensor | None, given_RL: Tensor | None) -> Tensor:
        tokens_1N = torch.cat((tokens_RL.flatten(), layout.known_N))[layout.index_N].unsqueeze(0)
        given_1N = canvas_1N = soft_1ND = None
        if given_RL is not None and self._model.marks_given:
            known_N = torch.zeros_like(layout.known_N, dtype=torch.bool)
            given_1N = torch.cat((given_RL.flatten(), known_N))[layout.index_N].unsqueeze(0)
        if not self._autoregressive:
            canvas_1N = layout.canvas_1N
            if soft_RLD is not None and layout.index_C is not None and layout.decided_C is not None:
                soft_1ND = soft_RLD.new_zeros(1, tokens_1N.shape[1], soft_RLD.shape[2])
                soft_1ND[0].index_copy_(0, layout.index_C, soft_RLD.flatten(0, 1)[layout.decided_C])
        attention = layout.attention
        hidden_1ND: Tensor = self._model(
            tokens_1N, attention.positions_1N, attention, canvas_RQ=canvas_1N, soft_RQD=soft_1ND, given_RQ=given_1N
        )
        return hidden_1ND.squeeze(0)

    def logits(self, hidden_ND: Tensor, place_N: Tensor) -> Tensor:
        """Logits [N, V] of some of the positions."""
        return self._of_some(self._model.logits, hidden_ND, place_N)

    def length_logits(self, hidden_ND: Tensor, place_N: Tensor) -> Tensor:
        """Logits [N, B + 1] of how long the answers behind some of the positions will be."""
        return self._of_some(self._model.length_logits, hidden_ND, place_N)

    def _of_some(self, head: Callable[[Tensor], Tensor], hidden_ND: Tensor, place_N: Tensor) -> Tensor:
        count = len(place_N)
        padding = place_N.new_zeros(self._padded(count) - count)
        return head(hidden_ND[torch.cat((place_N, padding))])[:count]

    def soft_embedding(self, probs_1NV: Tensor) -> Tensor:
        """Mean embedding [1, N, D] under token probabilities, or under what the model's operations gave as weights."""
        count = probs_1NV.shape[1]
        # Digits are two rows for each position, and sums of integers the same for any number of rows.
        if probs_1NV.is_floating_point() and count % WHOLE:
            padding = probs_1NV.new_zeros(1, -count % WHOLE, probs_1NV.shape[2])
            probs_1NV = torch.cat((probs_1NV, padding), dim=1)
        return self._model.soft_embedding(probs_1NV)[:, :count]

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        """The same for tokens that are certain."""
        return self._model.token_embedding(tokens_RL)

    def _padded(self, count: int) -> int:
        return count if self._autoregressive and count == 1 else count + -count % WHOLE


def _key(parts: Sequence[Part], shape: tuple[int, int]) -> tuple[Hashable, ...] | None:
    """Equal for parts that are laid out alike; None for some that do not come again, as what is written does not."""
    if any(part.row is None for part in parts):
        return None
    fields: list[Hashable] = [shape]
    for part in parts:
        segment, numbers = part.segment, (part.reads.tobytes(), part.canvas.tobytes())
        place = None if segment.place_Q is None else segment.place_Q.tobytes()
        fields.append((id(segment.slot_S), segment.start, segment.end, segment.block, segment.run, place))
        fields.append((tuple(part.tokens), part.row, part.shift, *numbers))
    return tuple(fields)


def _find(part: Part, place_C: Numbers, place_L: Numbers) -> None:
    """Write down where the logits of each canvas position of a part stand."""
    decided_C = part.canvas
    if not part.shift:
        place_L[decided_C] = place_C
        return
    # The place before it, which for the first may be the last leading token.
    before = np.concatenate(([place_C[0] - 1], place_C[:-1]))
    neighbours = np.concatenate(([bool(part.tokens) and decided_C[0] == 0], decided_C[:-1] + 1 == decided_C[1:]))
    place_L[decided_C[neighbours]] = before[neighbours]


def _index(parts: Sequence[Numbers], device: torch.device) -> Tensor:
    return torch.from_numpy(np.concatenate(parts).astype(np.int64)).to(device, non_blocking=True)
