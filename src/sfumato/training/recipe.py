"""A recipe: one TOML file that says everything about a run."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.config import changes
from sfumato.data.packing import PackingConfig
from sfumato.errors import ConfigError
from sfumato.models.decoder import DecoderConfig
from sfumato.spec import GenerationSpec
from sfumato.storage import write_atomically
from sfumato.training.code import CodeConfig
from sfumato.training.objective import ObjectiveConfig
from sfumato.training.trainer import TrainConfig

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# A resumed run may change these: they do not touch the weights of the steps that were taken.
_FREE = (
    "evaluation.",
    "generation.",
    "train.steps",
    "train.eval_every",
    "train.save_every_s",
    "train.minutes",
    "train.device",
    "train.threads",
    "train.compile",
    "train.recompute",
)


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """What is trained on."""

    tasks: dict[str, float] = field(default_factory=dict)
    """Weight by procedural task; items of the test split are never drawn."""
    files: dict[str, float] = field(default_factory=dict)
    """Weight by path of a text, .jsonl or .parquet file, or directory of shards, relative to the working directory."""
    tokenizer: str = ""
    """A tokenizer to use: its directory, or the name of a model; empty trains one of model.vocab_size on the tasks."""
    tokenizer_items: int = 2000
    """Items of each task that a new tokenizer is trained on."""
    tokenizer_words: bool = False
    """A new tokenizer's tokens end before spaces, for tasks whose answers copy words of the prompt."""


@dataclass(frozen=True, kw_only=True)
class AdaptConfig:
    """An autoregressive checkpoint that learns to refine canvases."""

    base: str
    """Its directory or GGUF file, a hub id, or the name of one that comes in a package, such as
    smollm2-135m-instruct."""
    layers: int = 0
    """Its first so many layers alone, with its embeddings and its head, to try a recipe out; 0 takes all."""
    canvas_embedding: bool = True
    given_embedding: bool = False
    self_conditioning: bool = True
    length_buckets: tuple[int, ...] = ()
    """What it gets besides, as in `DecoderConfig`; all of it starts at zero, where the model is what it was."""

    def __post_init__(self) -> None:
        if self.layers < 0:
            raise ConfigError(f"adapt.layers is {self.layers}; allowed: 0 or more")


@dataclass(frozen=True, kw_only=True)
class LoRAConfig:
    """Corrections of low rank that the layers' matrices learn, while they and all else that was there stay as they are;
    what a model gets besides is trained whole."""

    rank: int
    """Of each correction."""
    alpha: float = 32.0
    """Corrections are multiplied by this over their rank."""

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ConfigError(f"lora.rank is {self.rank}; allowed: 1 or more, or no [lora], which trains everything")
        if not 0.0 < self.alpha < math.inf:
            raise ConfigError(f"lora.alpha is {self.alpha}; allowed: more than 0")


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """What is measured while training, on the averaged weights."""

    tasks: tuple[str, ...] = ()
    """Tasks to score."""
    n: int = 100
    """Items of each, and answers to prompts."""
    steps: int = 0
    """Cap on denoising steps a canvas; 0 takes the generation defaults."""
    bound_batches: int = 0
    """Packed batches of held-out documents to bound the likelihood on; 0 leaves it out."""
    files: dict[str, float] = field(default_factory=dict)
    """Weight by path of files of such documents; without them they are items of the tasks that are never trained on."""
    prompts: str = ""
    """A file of prompts to answer, as `sfumato eval --samples` takes it; the first n of them, again from the start if
    there are fewer."""
    judge: str = ""
    """An autoregressive model that reads the answers: a name, directory or hub id."""

    def __post_init__(self) -> None:
        if self.judge and not self.prompts:
            raise ConfigError(f"judge is {self.judge} with no prompts; allowed: with a file of prompts")

    @property
    def wanted(self) -> bool:
        """True if anything is to be measured."""
        return bool(self.tasks) or self.bound_batches > 0 or bool(self.prompts)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything about a run; one table a field."""

    model: DecoderConfig | None = None
    """Shape of the model; vocab_size is also that of a tokenizer trained here. Not for one that is adapted."""
    adapt: AdaptConfig | None = None
    """What is adapted."""
    lora: LoRAConfig | None = None
    """What is trained of a model that starts as another one was, if not everything."""
    data: DataConfig = DataConfig()
    """Sources and tokenizer."""
    code: CodeConfig | None = None
    """Code to train on, in place of documents, for a model with lexemes."""
    train: TrainConfig
    """The loop."""
    generation_spec: GenerationSpec | None = None
    """How the model will generate; its noise is the training noise, and rows are read as its prefixes are. Without it,
    that of init_from, or else `spec.DEFAULT`."""
    generation: dict[str, object] = field(default_factory=dict)
    """Sampling defaults written to generation_config.json; if there are none, those of init_from."""
    packing: PackingConfig = PackingConfig()
    """Rows and canvases."""
    objective: ObjectiveConfig = ObjectiveConfig()
    """Loss terms."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """Scores while training."""
    init_from: str = ""
    """The checkpoint whose weights to start from: a name, a directory, a GGUF file or a hub id; parts of the model that
    it lacks start fresh. Without a [model] its shape is taken from there as well."""

    def __post_init__(self) -> None:
        if self.generation_spec is not None:
            self.packing.check_for(self.generation_spec)
        if self.code is not None and self.evaluation.wanted:
            raise ConfigError("the recipe has [code] and [evaluation]; allowed: no [evaluation], which asks in tokens")
        objective = self.objective
        if objective.asks_teacher and objective.teacher == "ar" and self.packing.ar_share == 0.0:
            raise ConfigError(
                'objective.teacher is "ar", which reads responses on clean halves, and packing.ar_share is 0; allowed: '
                'more than 0, or teacher "stored" or "canvas"'
            )


def write_recipe(path: Path, recipe: DataclassInstance) -> None:
    """Leave a recipe as it is run, overrides included."""
    write_atomically(path, (json.dumps(asdict(recipe), indent=2) + "\n").encode())


def check_recipe(path: Path, recipe: DataclassInstance) -> None:
    """Hold a recipe against the one that a run was started with, if that was left.

    Raises:
        ConfigError: if it says otherwise where that would change the weights.
    """
    if not path.exists():
        return
    before, now = json.loads(path.read_text(encoding="utf-8")), json.loads(json.dumps(asdict(recipe)))
    changed = changes(before, now, _FREE)
    if changed:
        raise ConfigError(
            f"{path.parent} holds a run of another recipe: {'; '.join(changed)}. Resume with the same values, or start "
            "in another directory with init_from"
        )
