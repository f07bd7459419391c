"""From parts of texts to one forward over all of them, packed in a row without padding between them."""

# R rows, L canvas, N packed positions, D model, V vocab

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.models.attention import WHOLE, KVPool, PackedAttention, Segment
from sfumato.models.model import Model


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one text puts through the weights in one forward."""

    segment: Segment
    """Where in its text and in the pool."""
    tokens: Sequence[int]
    """Its leading tokens; those of a canvas follow."""
    row: int | None = None
    """The canvas that follows, as a row of the batch; None for text that is only written."""
    length: int = 0
    """Positions of the segment, its last, that are canvas."""
    shift: int = 0
    """The logits of a canvas position stand this many places before it."""


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
        self, parts: Sequence[Part], tokens_RL: Tensor | None = None, soft_RLD: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """One pass through the weights; keys and values of all parts are written.

        Args:
            parts: any number, at most one for each row of the batch, and no two of one text that overlap.
            tokens_RL: int64; what the canvases read, if there are any.
            soft_RLD: soft embeddings of the last predictions, if there are any.

        Returns:
            hidden_ND, and base_R: where the hidden state of each canvas's first position stands in it.
        """
        device = self._pool.device
        if tokens_RL is None:
            tokens_RL = torch.zeros(0, 0, dtype=torch.int64, device=device)
        width = tokens_RL.shape[1]
        # Neighbours of one shape are read together.
        parts = sorted(parts, key=lambda part: (part.row is not None, part.segment.start, part.segment.count))
        total = sum(part.segment.count for part in parts)
        num_positions = self._padded(total)
        host: list[int] = [0]
        pick_N: list[int] = []
        canvas_N: list[int] = []
        base_R = [0] * tokens_RL.shape[0]
        for part in parts:
            place, count = len(pick_N), part.segment.count
            pick_N += range(len(host), len(host) + len(part.tokens))
            host += part.tokens
            if part.row is not None:
                # Counted from the end: the canvases stand behind the host's tokens, whose number is not known yet.
                start = part.row * width - tokens_RL.numel()
                pick_N += range(start, start + count - len(part.tokens))
                canvas_N += range(place + count - part.length, place + count)
                base_R[part.row] = place + count - part.length - part.shift
        pick_N += [0] * (num_positions - total)
        source = torch.cat((torch.tensor(host, device=device), tokens_RL.flatten()))
        index_N = torch.tensor(pick_N, device=device)
        tokens_1N = source[torch.where(index_N < 0, index_N + len(source), index_N)].unsqueeze(0)
        attention = PackedAttention(
            self._pool, [part.segment for part in parts], num_positions, windows=self._model.windows
        )
        canvas_1N = soft_1ND = None
        if canvas_N and not self._autoregressive:
            place_C = torch.tensor(canvas_N, device=device)
            canvas_1N = torch.zeros(1, num_positions, dtype=torch.bool, device=device)
            canvas_1N[0].index_fill_(0, place_C, True)
            if soft_RLD is not None:
                soft_1ND = self._spread(parts, soft_RLD, place_C, num_positions)
        hidden_1ND = self._model(tokens_1N, attention.positions_1N, attention, canvas_RQ=canvas_1N, soft_RQD=soft_1ND)
        self.num_forwards += 1
        self.num_positions += total
        return hidden_1ND.squeeze(0), torch.tensor(base_R, device=device)

    def logits(self, hidden_ND: Tensor, place_N: Tensor) -> Tensor:
        """Logits [N, V] of some of the positions."""
        count = len(place_N)
        padding = place_N.new_zeros(self._padded(count) - count)
        return self._model.logits(hidden_ND[torch.cat((place_N, padding))])[:count]

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

    def _spread(self, parts: Sequence[Part], soft_RLD: Tensor, place_C: Tensor, num_positions: int) -> Tensor:
        rows = [(part.row, part.length) for part in parts if part.row is not None]
        width = soft_RLD.shape[1]
        index_C = torch.tensor(
            list(itertools.chain.from_iterable(range(row * width, row * width + length) for row, length in rows)),
            device=soft_RLD.device,
        )
        soft_1ND = soft_RLD.new_zeros(1, num_positions, soft_RLD.shape[2])
        soft_1ND[0].index_copy_(0, place_C, soft_RLD.flatten(0, 1)[index_C])
        return soft_1ND
