"""A trainer small enough to overfit in a second, and documents to train on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.checkpoints.load import Checkpoint
from sfumato.data.packing import Document, PackingConfig
from sfumato.diffusion.process import Process, UniformProcess
from sfumato.engine.model import TextModel
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer
from sfumato.training.distributed import World
from sfumato.training.objective import ObjectiveConfig
from sfumato.training.trainer import TrainConfig, Trainer

END = 1
VOCAB = 23


class Reversals:
    """Up to four tokens, answered backwards; `num` different ones."""

    def __init__(self, num: int = 1000) -> None:
        self.num = num

    def document(self, seed: int) -> Document:
        rng = random.Random(seed % self.num)
        prompt = [rng.randrange(3, VOCAB) for _ in range(rng.randint(2, 4))]
        return Document([2, *prompt], [*reversed(prompt), END])


def build_trainer(
    directory: Path,
    *,
    model: dict[str, Any] | None = None,
    process: Process | None = None,
    packing: dict[str, Any] | None = None,
    objective: dict[str, Any] | None = None,
    num_documents: int = 1000,
    evaluate: Callable[[Decoder, int], dict[str, float]] | None = None,
    on_record: Callable[[dict[str, Any]], None] | None = None,
    world: World | None = None,
    **config: Any,
) -> Trainer:
    sizes: dict[str, Any] = {
        "vocab_size": VOCAB,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 8,
        "canvas_embedding": True,
    }
    decoder = Decoder(DecoderConfig(**sizes | (model or {})))
    settings: dict[str, Any] = {"steps": 6, "warmup": 2, "threads": 1} | config
    decoder.initialize(settings.get("seed", 0))
    rows: dict[str, Any] = {"rows": 2, "row_length": 48, "canvas_lengths": (4, 6)}
    return Trainer(
        decoder,
        process or UniformProcess(VOCAB),
        Reversals(num_documents),
        end_id=END,
        packing=PackingConfig(**rows | (packing or {})),
        objective=ObjectiveConfig(**objective or {}),
        config=TrainConfig(**settings),
        directory=directory,
        evaluate=evaluate,
        on_record=on_record,
        world=world,
    )


@pytest.fixture
def make_trainer() -> Callable[..., Trainer]:
    return build_trainer


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def make_model(make_decoder: Callable[..., Decoder], byte_tokenizer: Tokenizer) -> Callable[..., TextModel]:
    def made(spec: GenerationSpec, **changes: Any) -> TextModel:
        marks = {"canvas_embedding": True, "given_embedding": True, "self_conditioning": spec.self_conditioning}
        decoder = make_decoder(vocab_size=261, **marks | changes)
        return TextModel("small", Checkpoint(decoder, spec, {}), byte_tokenizer)

    return made
