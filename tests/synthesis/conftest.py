"""An autoregressive model of random weights in a directory, whose turns and answers end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.api import load
from sfumato.checkpoints.load import save_checkpoint
from sfumato.data.filters import FilterConfig
from sfumato.engine.model import TextModel
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.spec import GenerationSpec
from sfumato.synthesis.conversations import SynthesisConfig
from sfumato.text.tokenizer import Tokenizer

VOCAB = 261
OPEN = {"scripts": (), "min_printable": 0.0, "min_distinct": 0.0, "min_turn_tokens": 1, "min_answer_tokens": 1}


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, byte_tokenizer: Tokenizer) -> Path:
    config = DecoderConfig(
        vocab_size=VOCAB,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=256,
        tie_word_embeddings=False,
    )
    model = Decoder(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4 + (parameter.dim() < 2))
        # Large logits, of either sign, for what ends turns and answers: so some are short, and others long.
        model.lm_head.weight[
            [byte_tokenizer.encode_chat([{"role": "user", "content": ""}])[-1], byte_tokenizer.eos_ids[0]]
        ] *= 2.5
    directory = tmp_path_factory.mktemp("models") / "small-ar"
    save_checkpoint(
        directory, model, GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place"), generation={}
    )
    byte_tokenizer.save(directory)
    return directory


@pytest.fixture(scope="session")
def model(checkpoint: Path) -> TextModel:
    return load(checkpoint)


@pytest.fixture
def make_config() -> Callable[..., SynthesisConfig]:
    """Settings that keep most of what a random model writes: make_config(**changes), filters among them."""

    def made(**changes: Any) -> SynthesisConfig:
        filters = {**OPEN, "max_turn_tokens": 24, "max_answer_tokens": 40, **changes.pop("filters", {})}
        return SynthesisConfig(filters=FilterConfig(**filters), **{"top_p": 1.0, "shard_size": 16, **changes})

    return made
