"""Texts in a pool of slots, written and read by packed forwards: a minimal stand-in for an engine."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sfumato.layout import Segment
from sfumato.models.model import Model, PackedAttention

# N packed positions, Q positions of a text, D model, V vocabulary


class Texts:
    """Some texts, all empty at first.

    Args:
        num_texts: number of texts; every other one has slots in random order.
        num_slots: maximum positions of each.
    """

    def __init__(self, model: Model, num_texts: int, num_slots: int = 64) -> None:
        self.model = model
        self.pool = model.new_pool(1 + num_texts * num_slots)
        generator = torch.Generator().manual_seed(0)
        self.slots = []
        for text in range(num_texts):
            order = torch.randperm(num_slots, generator=generator) if text % 2 else torch.arange(num_slots)
            self.slots.append((1 + text * num_slots + order).numpy())
        self.lengths = [0] * num_texts
        """Committed positions."""

    def segment(self, text: int, count: int, block: int | None) -> Segment:
        return Segment(
            slot_S=self.slots[text],
            start=self.lengths[text],
            end=self.lengths[text] + count,
            block=block,
            run=text % 2 == 0,
        )

    def forward(
        self,
        tokens: dict[int, Sequence[int]],
        *,
        block: int | None = 1,
        canvases: Sequence[int] = (),
        soft: dict[int, Tensor] | None = None,
        padding: int = 2,
    ) -> dict[int, Tensor]:
        """One pass over the next tokens of some texts.

        Args:
            tokens: by text.
            block: see `Segment`; of the texts that are no canvases.
            canvases: texts whose positions are a canvas.
            soft: soft embeddings [Q, D] of canvases.

        Returns:
            Hidden states [Q, D], by text.
        """
        segments = [self.segment(text, len(own), None if text in canvases else block) for text, own in tokens.items()]
        num_positions = sum(map(len, tokens.values())) + padding
        tokens_1N = torch.tensor([[*(token for own in tokens.values() for token in own), *[0] * padding]])
        attention = PackedAttention(self.pool, segments, num_positions, windows=self.model.windows)
        canvas_1N = torch.zeros_like(tokens_1N, dtype=torch.bool)
        soft_1ND = torch.zeros(1, num_positions, self.model.embedding_VD.shape[1])
        place, places = 0, {}
        for text, own in tokens.items():
            places[text] = slice(place, place + len(own))
            canvas_1N[0, places[text]] = text in canvases
            if soft is not None and text in soft:
                soft_1ND[0, places[text]] = soft[text]
            place += len(own)
        hidden_1ND = self.model(
            tokens_1N,
            attention.positions_1N,
            attention,
            canvas_RQ=canvas_1N if canvases else None,
            soft_RQD=None if soft is None else soft_1ND,
        )
        return {text: hidden_1ND[0, part] for text, part in places.items()}

    def write(self, tokens: dict[int, Sequence[int]], *, block: int = 1) -> dict[int, Tensor]:
        """Prefill or commit."""
        hidden = self.forward({text: own for text, own in tokens.items() if own}, block=block)
        for text in hidden:
            self.lengths[text] += len(tokens[text])
        return hidden

    def logits(self, tokens: dict[int, Sequence[int]], soft: dict[int, Tensor] | None = None) -> dict[int, Tensor]:
        """Logits [Q, V] of canvases after some of the texts."""
        hidden = self.forward(tokens, canvases=list(tokens), soft=soft)
        return {text: self.model.logits(own) for text, own in hidden.items()}
