"""The command line in this process, and checkpoints small enough to create on the fly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sfumato.checkpoints.load import save_checkpoint
from sfumato.cli.app import app
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.spec import GenerationSpec
from sfumato.text.training import train_tokenizer

TEXTS = ("answer, then derive: 7*6+3^2", "answer: 51\n7*6 = 42\n3^2 = 9\n42+9 = 51")
POSITIONS = 160


@pytest.fixture
def sfumato() -> Callable[..., Any]:
    """Run `sfumato` with these arguments: a result with exit_code, stdout and stderr."""
    return lambda *args, **settings: CliRunner().invoke(app, [str(arg) for arg in args], **settings)


def make_checkpoint(directory: Path, **generation: Any) -> Path:
    """A uniform-noise model of random weights."""
    tokenizer = train_tokenizer(TEXTS, 280)
    config = DecoderConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=POSITIONS,
        canvas_embedding=True,
    )
    model = Decoder(config)
    model.initialize(0)
    spec = GenerationSpec(noise="uniform", canvas_length=16)
    save_checkpoint(directory, model, spec, generation={"steps": 6, "max_tokens": 24, **generation})
    tokenizer.save(directory)
    return directory


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared by tests that do not change it."""
    return make_checkpoint(tmp_path_factory.mktemp("models") / "small", tasks=["pi", "arithmetic"])


@pytest.fixture(scope="session")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model made for no tasks, and so for conversations."""
    return make_checkpoint(tmp_path_factory.mktemp("models") / "talker")
