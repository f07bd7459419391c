"""From parts of texts to one forward over all of them, packed in a row without padding between them."""

# R rows, L canvas, N packed positions, D model, V vocab

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sfumato.models.attention import WHOLE, KVPool, PackedAttention, Segment
from sfumato.models.model import Model

Numbers = np.ndarray[Any, np.dtype[np.int64]]


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


class Runner:
    """Runs a model over parts of texts.

    Args:
        model: the weights.
        pool: where keys and values are.
        autoregressive: no position is marked as canvas, and a single position is run as it is, for speed.
    """

    def __init__(self, model: Model, pool: KVPool, *, autoregressive: bool = False) -> None:
        self._model, self._pool, self._autoregressive = model, pool, autoregressive
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
    ) -> Passed:
        """One pass through the weights; keys and values of all parts are written.

        Args:
            parts: any number, at most one for each row of the batch, and no two of one text that overlap.
            tokens_RL: int64; what the canvases read, if there are any.
            soft_RLD: soft embeddings of the last predictions, if there are any.
            given_RL: bool; which tokens of the canvases are given, if any is.
        """
        device = self._pool.device
        if tokens_RL is None:
            tokens_RL = torch.zeros(0, 0, dtype=torch.int64, device=device)
        width = tokens_RL.shape[1]
        # Neighbours of one shape are read together.
        order = sorted(
            range(len(parts)), key=lambda i: (parts[i].row is not None, parts[i].segment.start, parts[i].segment.count)
        )
        parts, end_P, count = [parts[i] for i in order], [0] * len(parts), 0
        for i, part in zip(order, parts, strict=True):
            count += part.segment.count
            end_P[i] = count - 1
        total = sum(part.segment.count for part in parts)
        num_positions = self._padded(total)
        # Tokens of the canvases, then those that the host knows, of which the first pads.
        first_known = tokens_RL.numel()
        known, pick_N, canvas_C, decided_C = [0], [], [], []
        place_RL = np.zeros(tuple(tokens_RL.shape), dtype=np.int64)
        for part in parts:
            pick_N.append(np.arange(len(part.tokens)) + first_known + len(known))
            known += part.tokens
            if part.row is not None:
                end = sum(map(len, pick_N)) + len(part.reads)
                place = np.arange(end - len(part.canvas), end)
                pick_N.append(part.reads + part.row * width)
                canvas_C.append(place)
                decided_C.append(part.canvas + part.row * width)
                _find(part, place, place_RL[part.row])
        pick_N.append(np.full(num_positions - total, first_known))
        known_N, index_N = torch.tensor(known, device=device), _index(pick_N, device)
        tokens_1N = torch.cat((tokens_RL.flatten(), known_N))[index_N].unsqueeze(0)
        given_1N = None
        if given_RL is not None and self._model.marks_given:
            given_1N = torch.cat((given_RL.flatten(), torch.zeros_like(known_N, dtype=torch.bool)))[index_N]
            given_1N = given_1N.unsqueeze(0)
        attention = PackedAttention(
            self._pool, [part.segment for part in parts], num_positions, windows=self._model.windows
        )
        canvas_1N = soft_1ND = None
        if canvas_C and not self._autoregressive:
            index_C = _index(canvas_C, device)
            canvas_1N = torch.zeros(1, num_positions, dtype=torch.bool, device=device)
            canvas_1N[0].index_fill_(0, index_C, True)
            if soft_RLD is not None:
                soft_1ND = soft_RLD.new_zeros(1, num_positions, soft_RLD.shape[2])
                soft_1ND[0].index_copy_(0, index_C, soft_RLD.flatten(0, 1)[_index(decided_C, device)])
        hidden_1ND = self._model(
            tokens_1N, attention.positions_1N, attention, canvas_RQ=canvas_1N, soft_RQD=soft_1ND, given_RQ=given_1N
        )
        self.num_forwards += 1
        self.num_positions += total
        return Passed(hidden_1ND.squeeze(0), torch.from_numpy(place_RL).to(device, non_blocking=True), end_P)

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
        """Mean embedding [1, N, D] under token probabilities."""
        count = probs_1NV.shape[1]
        if count % WHOLE:
            padding = probs_1NV.new_zeros(1, -count % WHOLE, probs_1NV.shape[2])
            probs_1NV = torch.cat((probs_1NV, padding), dim=1)
        return self._model.soft_embedding(probs_1NV)[:, :count]

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        """The same for tokens that are certain."""
        return self._model.token_embedding(tokens_RL)

    def _padded(self, count: int) -> int:
        return count if self._autoregressive and count == 1 else count + -count % WHOLE


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
