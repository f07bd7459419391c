"""Models with random weights or scripted predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.checkpoints.load import Checkpoint
from sfumato.engine.model import TextModel
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.model import Attention
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

# R rows, Q positions, D model, V vocabulary

VOCAB = 261
SPECS = {
    "uniform": GenerationSpec(canvas_length=12),
    "self-conditioned": GenerationSpec(canvas_length=12, self_conditioning=True),
    "mask": GenerationSpec(noise="mask", mask_id=4, canvas_length=12),
    "hybrid": GenerationSpec(noise="hybrid", mask_id=4, canvas_length=12),
    "shifted": GenerationSpec(noise="mask", mask_id=4, canvas_length=12, logit_shift=True),
    "in-place": GenerationSpec(canvas_length=12, commit="in_place"),
    "full": GenerationSpec(noise="mask", mask_id=4, canvas_length=12, prefix_attention="full"),
    "full-shifted": GenerationSpec(
        noise="mask", mask_id=4, canvas_length=12, prefix_attention="full", logit_shift=True
    ),
    "block": GenerationSpec(noise="mask", mask_id=4, canvas_length=4, prefix_attention="block"),
    "ar": GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place"),
    "ar-reencoded": GenerationSpec(canvas_length=1, logit_shift=True),
}


class ScriptedDecoder(Decoder):
    """Predicts the scripted token at each position, whatever it reads; records the shapes of its calls."""

    def __init__(self, config: DecoderConfig, script: Callable[[int], int], certainty: float) -> None:
        super().__init__(config)
        self.script, self.certainty = script, certainty
        self.calls: list[tuple[int, ...]] = []

    def forward(
        self,
        tokens_RQ: Tensor,
        positions_RQ: Tensor,
        attention: Attention,
        *,
        canvas_RQ: Tensor | None = None,
        soft_RQD: Tensor | None = None,
        given_RQ: Tensor | None = None,
    ) -> Tensor:
        self.calls.append(tuple(tokens_RQ.shape))
        return positions_RQ[:, :, None].float().expand(-1, -1, self.config.hidden_size)

    def logits(self, hidden_RQD: Tensor) -> Tensor:
        positions = hidden_RQD[..., 0].long()
        tokens = torch.tensor([self.script(int(position)) for position in positions.flatten()]).view(positions.shape)
        return torch.nn.functional.one_hot(tokens, self.config.vocab_size).float() * self.certainty


@pytest.fixture
def specs() -> dict[str, GenerationSpec]:
    return SPECS


@pytest.fixture
def make_model(make_decoder: Callable[..., Decoder], byte_tokenizer: Tokenizer) -> Callable[..., TextModel]:
    """A model with random weights: make_model(spec, **changes to the decoder)."""

    def made(spec: GenerationSpec, generation: dict[str, Any] | None = None, **changes: Any) -> TextModel:
        settings: dict[str, Any] = {"canvas_embedding": True, "self_conditioning": spec.self_conditioning}
        # Sizes that fill vector registers, as in real models: the tail of a vector rounds differently.
        settings |= {"head_dim": 16, "intermediate_size": 32}
        decoder = make_decoder(vocab_size=VOCAB, **settings | changes)
        return TextModel("small", Checkpoint(decoder, spec, generation or {}), byte_tokenizer)

    return made


@pytest.fixture
def make_scripted(byte_tokenizer: Tokenizer) -> Callable[..., TextModel]:
    """A model that generates the given tokens after the prompt "?": make_scripted(spec, tokens)."""

    def made(spec: GenerationSpec, tokens: list[int], certainty: float = 30.0) -> TextModel:
        config = DecoderConfig(
            vocab_size=VOCAB,
            hidden_size=4,
            intermediate_size=4,
            num_hidden_layers=1,
            num_attention_heads=1,
            num_key_value_heads=1,
            head_dim=4,
            max_position_embeddings=96,
        )
        first = len(byte_tokenizer.encode_chat([{"role": "user", "content": "?"}])) - spec.logit_shift

        def script(position: int) -> int:
            return tokens[position - first] if 0 <= position - first < len(tokens) else 70

        model = ScriptedDecoder(config, script, certainty)
        return TextModel("scripted", Checkpoint(model, spec, {}), byte_tokenizer)

    return made
