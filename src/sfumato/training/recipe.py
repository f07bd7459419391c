"""Recipes: one TOML file that describes a whole run."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.config import changes, check_choice, check_number, check_range, from_table, read_json
from sfumato.data.packing import PackingConfig
from sfumato.errors import ConfigError, RequestError
from sfumato.models.decoder import DecoderConfig
from sfumato.sampling.config import SamplerConfig, setting_names
from sfumato.spec import GenerationSpec
from sfumato.training.code import CodeConfig
from sfumato.training.objective import ObjectiveConfig
from sfumato.training.trainer import TrainConfig

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# A resumed run may change these: they do not affect the weights of steps already taken.
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
    """The training data."""

    tasks: dict[str, float] = field(default_factory=dict)
    """Weight of each procedural task; items of the test split are never drawn."""
    files: dict[str, float] = field(default_factory=dict)
    """Weight of each text, .jsonl or .parquet file or directory of shards, relative to the working directory."""
    every_answer: bool = False
    """Learn every answer of a conversation, each after the messages before it, instead of the last one alone."""
    tokenizer: str = ""
    """Tokenizer directory or model name; empty takes that of init_from or the adapted model, and otherwise trains a
    tokenizer of model.vocab_size on the tasks."""
    tokenizer_items: int = 2000
    """Items of each task used to train a new tokenizer."""
    tokenizer_words: bool = False
    """Make a new tokenizer's tokens end before spaces, for tasks whose answers copy words of the prompt."""


@dataclass(frozen=True, kw_only=True)
class AdaptConfig:
    """An autoregressive checkpoint to adapt to canvases."""

    base: str
    """Its directory or GGUF file, a hub id, or a packaged name such as smollm2-135m-instruct."""
    layers: int = 0
    """Use only its first layers, with embeddings and head, to try out a recipe; 0 uses all."""
    canvas_embedding: bool = True
    given_embedding: bool = False
    self_conditioning: bool = True
    length_buckets: tuple[int, ...] = ()
    """Settings of `DecoderConfig` to add; all new parts start at zero, so the model is unchanged at first."""

    def __post_init__(self) -> None:
        check_range(self, "layers", 0)


@dataclass(frozen=True, kw_only=True)
class LoRAConfig:
    """Low-rank corrections of the layers' matrices, which stay frozen with everything else that existed; new parts are
    trained in full."""

    rank: int
    """Rank of each correction."""
    alpha: float = 32.0
    """Corrections are multiplied by this divided by their rank."""

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ConfigError(f"rank is {self.rank}; allowed: 1 or more, or no [lora], which trains everything")
        check_range(self, "alpha", 0, above=True)


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Evaluations during training, on the averaged weights."""

    tasks: tuple[str, ...] = ()
    """Tasks to score."""
    n: int = 100
    """Items per task, and answers to prompts."""
    steps: int = 0
    """Maximum denoising steps per canvas; 0 takes the generation default."""
    bound_batches: int = 0
    """Packed batches of held-out documents for the likelihood bound; 0 leaves it out."""
    files: dict[str, float] = field(default_factory=dict)
    """Weight of each file of such documents; by default, items of the tasks' test split."""
    prompts: str = ""
    """File of prompts to answer, as for `sfumato eval --samples`; the first n, repeated if there are fewer."""
    judge: str = ""
    """An autoregressive model that judges the answers: a name, directory or hub id."""

    def __post_init__(self) -> None:
        check_range(self, "n", 1)
        check_range(self, "steps bound_batches", 0)
        if self.judge and not self.prompts:
            raise ConfigError(f"judge is {self.judge} with no prompts; allowed: with a file of prompts")
        if self.files and not self.bound_batches:
            raise ConfigError(f"files is {self.files} and bound_batches is 0; allowed: 1 or more")

    @property
    def wanted(self) -> bool:
        """Whether anything is evaluated."""
        return bool(self.tasks) or self.bound_batches > 0 or bool(self.prompts)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A whole run; one table per field."""

    model: DecoderConfig | None = None
    """Shape of the model; vocab_size is also that of a tokenizer trained here. Not for adapted models."""
    adapt: AdaptConfig | None = None
    """What to adapt."""
    lora: LoRAConfig | None = None
    """Train low-rank corrections instead of everything, for a model that starts from another one."""
    data: DataConfig = DataConfig()
    """Sources and tokenizer."""
    code: CodeConfig | None = None
    """Code to train on instead of documents, for a model with lexemes."""
    train: TrainConfig
    """The training loop."""
    generation_spec: GenerationSpec | None = None
    """How the model will generate; its noise is the training noise, and rows are read like its prefixes. Default: that
    of init_from, or `spec.DEFAULT`."""
    generation: dict[str, object] = field(default_factory=dict)
    """Sampling defaults for generation_config.json; others are those of init_from."""
    packing: PackingConfig = PackingConfig()
    """Rows and canvases."""
    objective: ObjectiveConfig = ObjectiveConfig()
    """Loss terms."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """Evaluations during training."""
    init_from: str = ""
    """Checkpoint to start from: a name, a directory, a GGUF file or a hub id; parts that it lacks are initialized,
    layers that it lacks as copies of others that change nothing at first. Without a [model], its shape is used too."""

    def __post_init__(self) -> None:
        if self.generation_spec is not None:
            self.packing.check_for(self.generation_spec)
        settings, others = setting_names(), {"max_tokens", "min_certainty", "tasks"}
        for name in self.generation:
            check_choice("key of [generation]", name, settings | others, ConfigError)
        try:
            SamplerConfig.of({key: value for key, value in self.generation.items() if key in settings})
            check_number("max_tokens", self.generation.get("max_tokens", 1), 1, whole=True)
            check_number("min_certainty", self.generation.get("min_certainty", 0.0), -math.inf, 0)
        except RequestError as error:
            raise ConfigError(f"generation: {error}") from None
        tasks = self.generation.get("tasks", [])
        if not isinstance(tasks, list) or not all(isinstance(name, str) for name in tasks):
            raise ConfigError(f"generation: tasks is {tasks!r}; allowed: a list of names")
        if self.code is not None and self.evaluation.wanted:
            raise ConfigError("the recipe has [code] and [evaluation]; allowed: no [evaluation], which needs tokens")
        objective = self.objective
        if objective.asks_teacher and objective.teacher == "ar" and self.packing.ar_share == 0.0:
            raise ConfigError(
                'objective.teacher is "ar", which reads responses on clean halves, but '
                'packing.ar_share is 0; allowed: more than 0, or teacher "stored" or "canvas"'
            )


def check_recipe(
    path: Path,
    recipe: DataclassInstance,
    *,
    free: tuple[str, ...] = _FREE,
    what: str = "a run of",
    advice: str = "resume with the same values, or use init_from in another directory",
) -> None:
    """Compare a recipe with the one that a run was started with, if it was saved.

    Args:
        free: keys, or key prefixes, that may differ.
        what, advice: for the message.

    Raises:
        ConfigError: if they differ.
    """
    if not path.exists():
        return
    before, now = read_json(path), json.loads(json.dumps(asdict(recipe)))
    with suppress(ConfigError):
        # Settings that are newer than the run have their defaults.
        before = json.loads(json.dumps(asdict(from_table(type(recipe), before))))
    if changed := changes(before, now, free):
        raise ConfigError(f"{path.parent} holds {what} another recipe: {'; '.join(changed)}; {advice}")
