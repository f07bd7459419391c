"""A recipe: one TOML file that says everything about a run, and the trainer it describes."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from sfumato.config import changes
from sfumato.data.packing import PackingConfig
from sfumato.data.sources import make_source, read_records
from sfumato.data.tasks import draw, find_task
from sfumato.data.tokenizer import Tokenizer, train_tokenizer
from sfumato.diffusion.process import make_process
from sfumato.errors import ConfigError, SfumatoError
from sfumato.gguf_file import opened
from sfumato.hardware import GPUS
from sfumato.models.checkpoint import Checkpoint, build, load_checkpoint, save_checkpoint
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.delta import base_place
from sfumato.models.lora import add_lora
from sfumato.models.model import Model
from sfumato.models.places import find
from sfumato.spec import DEFAULT, GenerationSpec
from sfumato.storage import write_atomically
from sfumato.training.distributed import World
from sfumato.training.objective import ObjectiveConfig
from sfumato.training.plan import count_parameters, plan
from sfumato.training.rl import RLConfig
from sfumato.training.trainer import Record, TrainConfig, Trainer, is_of_memory

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# A resumed run may change these: they do not touch the weights.
_FREE = (
    "evaluation.",
    "generation.",
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
    """Directory of a tokenizer to use; empty trains one of model.vocab_size on the tasks."""
    tokenizer_items: int = 2000
    """Items of each task that a new tokenizer is trained on."""


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
    data: DataConfig
    """Sources and tokenizer."""
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
        objective = self.objective
        if objective.asks_teacher and objective.teacher == "ar" and self.packing.ar_share == 0.0:
            raise ConfigError(
                'objective.teacher is "ar", which reads responses on clean halves, and packing.ar_share is 0; allowed: '
                'more than 0, or teacher "stored" or "canvas"'
            )


@dataclass(frozen=True, kw_only=True)
class RolloutConfig:
    """What is asked while learning from rewards, and how it is answered."""

    tasks: dict[str, float] = field(default_factory=dict)
    """Weight by procedural task; items of the test split are never drawn."""
    canvas_length: int = 0
    """Positions denoised together; 0 takes the model's own, which a length head may set."""
    max_tokens: int = 0
    """Most tokens of an answer; 0 takes the model's own."""
    sampler: dict[str, object] = field(default_factory=dict)
    """Settings of the sampler, name included, where they are not to be the model's own."""

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ConfigError("tasks is empty; allowed: a weight for each of one or more tasks")
        for name, weight in self.tasks.items():
            if not 0.0 < weight < math.inf:
                raise ConfigError(f"the weight of task {name!r} is {weight}; allowed: more than 0")
        for name in ("canvas_length", "max_tokens"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; allowed: 0 or more")


@dataclass(frozen=True, kw_only=True)
class RLRecipe:
    """Everything about a run that learns from rewards; one table a field."""

    init_from: str
    """The model to start from: a name, directory or hub id."""
    rollout: RolloutConfig
    """What is asked, and how it is answered."""
    train: TrainConfig
    """The loop; a step is an update."""
    rl: RLConfig = RLConfig()
    """Groups, ratios and divergence."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """Scores before, while and after training, by the sampler that answers while training."""

    def __post_init__(self) -> None:
        if self.evaluation.bound_batches:
            raise ConfigError(f"bound_batches is {self.evaluation.bound_batches}; allowed with rewards: 0")
        if self.evaluation.prompts:
            raise ConfigError(f"prompts is {self.evaluation.prompts}; allowed with rewards: none")


class Run:
    """A recipe with its directory: tokenizer, trainer, and the checkpoint that comes out.

    Args:
        recipe: what to do.
        directory: of the run.
        evaluate: see `Trainer`.
        on_record: see `Trainer`.
        world: see `Trainer`.

    Raises:
        ConfigError: if the parts of the recipe do not fit together.
    """

    def __init__(
        self,
        recipe: Recipe,
        directory: Path,
        *,
        evaluate: Callable[[Decoder, int], dict[str, float]] | None = None,
        on_record: Callable[[Record], None] | None = None,
        world: World | None = None,
    ) -> None:
        self.recipe = recipe
        self.directory = directory
        start, found = self._start()
        self.shape = start.config
        self.spec = recipe.generation_spec or (DEFAULT if found is None else found.spec)
        recipe.packing.check_for(self.spec)
        if recipe.objective.length_weight and self.spec.prefix_attention != "causal":
            raise ConfigError(
                f"objective.length_weight is {recipe.objective.length_weight} and prefix_attention is "
                f"{self.spec.prefix_attention!r}; allowed: 0, as a length head reads text that is read causally"
            )
        self.generation = recipe.generation or ({} if found is None else found.generation)
        in_spec, in_model = self.spec.self_conditioning, self.shape.self_conditioning
        if in_spec != in_model:
            raise ConfigError(
                f"generation_spec.self_conditioning is {in_spec} and model.self_conditioning is {in_model}; "
                "allowed: the same for both"
            )
        self.world = world or World()
        self.tokenizer = self.world.first(self._tokenizer)
        window = recipe.packing.row_length // (2 + recipe.packing.canvas_copies)
        self.trainer = Trainer(
            start,
            make_process(self.spec.noise, self.shape.vocab_size, self.spec.mask_id),
            make_source(
                recipe.data.tasks,
                recipe.data.files,
                self.tokenizer,
                window,
                teacher_top=recipe.objective.teacher_top if recipe.objective.stored_teacher else 0,
            ),
            end_id=self.tokenizer.eos_ids[0],
            spec=self.spec,
            packing=recipe.packing,
            objective=recipe.objective,
            config=recipe.train,
            directory=directory,
            teacher=copy.deepcopy(start) if recipe.objective.asks_teacher else None,
            evaluate=evaluate,
            on_record=on_record,
            world=self.world,
        )

    @property
    def checkpoint_directory(self) -> Path:
        return self.directory / "checkpoint"

    @property
    def recipe_path(self) -> Path:
        """The recipe as it was run, overrides included."""
        return self.directory / "recipe.json"

    def start(self) -> None:
        """Leave the recipe in the directory, for `resume` to compare and for people to read."""
        if self.world.leads:
            write_recipe(self.recipe_path, self.recipe)

    def resume(self) -> None:
        """Go back to the last saved state.

        Raises:
            ConfigError: if the recipe says otherwise than the one the run was started with, where that would change
                the weights.
            CheckpointError: if the state cannot be read.
        """
        check_recipe(self.recipe_path, self.recipe)
        self.trainer.resume()

    def train(self) -> None:
        """Train to the last step, see `Loop.run`.

        Raises:
            SfumatoError: also if memory does not suffice, with what the run needs and how it would need less.
        """
        try:
            self.trainer.run()
        except (RuntimeError, MemoryError) as error:
            if not is_of_memory(error):
                raise
            raise SfumatoError(self._out_of_memory()) from error

    def _out_of_memory(self) -> str:
        recipe, model = self.recipe, self.trainer.model
        needed = plan(
            self.shape,
            recipe.packing,
            recipe.objective,
            recipe.train,
            gpu=next(iter(GPUS)),
            num_gpus=self.world.size,
            count=count_parameters(model),
        )
        held = sum(needed.state_bytes.values())
        advice = "lower packing.rows or packing.row_length"
        if not recipe.train.recompute:
            advice += ", or set train.recompute = true"
        if recipe.lora is None and (recipe.adapt is not None or recipe.init_from):
            advice += ", or lora.rank = 16"
        return (
            f"out of memory at step {self.trainer.progress.step + 1}. By its plan a step takes up to "
            f"{needed.memory_bytes / 1e9:.1f} GB: {held / 1e9:.1f} for weights, gradients, optimizer and average, "
            f"{needed.gathered_bytes / 1e9:.1f} for copies, {needed.activation_bytes / 1e9:.1f} for activations; "
            f"{advice}"
        )

    def save_checkpoint(self) -> None:
        """Write the averaged weights as a checkpoint directory, tokenizer included."""
        weights = self.trainer.averaged()
        if self.world.leads:
            save_checkpoint(
                self.checkpoint_directory,
                self.trainer.model,
                self.spec,
                generation=self.generation,
                tensors=weights,
            )
            self.tokenizer.save(self.checkpoint_directory)
        self.world.wait()

    def _tokenizer(self) -> Tokenizer:
        data, vocab_size = self.recipe.data, self.shape.vocab_size
        own = self.directory / "tokenizer"
        given = Path(data.tokenizer) if data.tokenizer else own
        if data.tokenizer or (own / "tokenizer.json").exists():
            tokenizer = Tokenizer.load(given)
        elif self.recipe.adapt is not None or self.recipe.model is None:
            given = find(self.recipe.init_from if self.recipe.adapt is None else self.recipe.adapt.base)
            tokenizer = Tokenizer.of(opened(given))
        else:
            tokenizer = train_tokenizer(_texts(data), vocab_size)
            tokenizer.save(own)
        if tokenizer.vocab_size > vocab_size:
            raise ConfigError(
                f"model.vocab_size is {vocab_size}; allowed: at least {tokenizer.vocab_size}, "
                f"the size of the tokenizer in {given}"
            )
        return tokenizer

    def _start(self) -> tuple[Decoder, Checkpoint | None]:
        """The model before its first step, and the checkpoint that it is trained further from."""
        recipe = self.recipe
        _check_model(recipe)
        if recipe.adapt is not None:
            return _adapted(recipe, recipe.adapt), None
        if recipe.lora is not None and not recipe.init_from:
            raise ConfigError(
                "[lora] corrects what a model was, and this one starts afresh; allowed: [adapt], or init_from"
            )
        found = load_checkpoint(find(recipe.init_from)) if recipe.init_from else None
        if recipe.model is None:
            assert found is not None
            ours = _of_ours(found.model, recipe.init_from).requires_grad_(True)
            _correct(ours, recipe, list(ours.state_dict()))
            return ours, found
        model = Decoder(recipe.model)
        model.initialize(recipe.train.seed)
        if found is not None:
            start, own = _of_ours(found.model, recipe.init_from).state_dict(), model.state_dict()
            alien = [name for name in start if name not in own or start[name].shape != own[name].shape]
            if alien:
                raise ConfigError(f"init_from is {recipe.init_from}; its tensors do not fit this model: {alien[:8]}")
            model.load_state_dict(own | start)
            _correct(model, recipe, start)
        return model, found


def outline(recipe: Recipe) -> Decoder:
    """The model of a recipe without its weights, on the meta device; what is trained of it asks for a gradient.

    Raises:
        ConfigError: if the recipe has no model, or not one that is trained here.
    """
    _check_model(recipe)
    base: Model | None = None
    if recipe.adapt is not None:
        base, spec, _ = build(base_place(recipe.adapt.base))
        config = _adapted_config(recipe.adapt, base, spec)
    elif recipe.model is not None and (recipe.lora is None or not recipe.init_from):
        # Where it starts need not be there yet; a shape alone is planned as if it had been trained before.
        config = recipe.model
    else:
        base = build(find(recipe.init_from))[0]
        config = recipe.model or _of_ours(base, recipe.init_from).config
    with torch.device("meta"):
        model = Decoder(config)
    _correct(model, recipe, (model if base is None else base).state_dict())
    return model


def _check_model(recipe: Recipe) -> None:
    """Refuse a recipe that does not say what its model is, or says it twice."""
    if recipe.adapt is not None and (recipe.model is not None or recipe.init_from):
        raise ConfigError("[adapt] says what the model is and where it starts; leave [model] and init_from out")
    if recipe.adapt is None and recipe.model is None and not recipe.init_from:
        raise ConfigError("the recipe has no model; allowed: [model], [adapt], or init_from")


def _of_ours(model: Model, init_from: str) -> Decoder:
    if not isinstance(model, Decoder):
        raise ConfigError(f"init_from is {init_from}, a {type(model).__name__}; allowed: a model of ours")
    return model


def _adapted(recipe: Recipe, adapt: AdaptConfig) -> Decoder:
    """An autoregressive checkpoint with what a canvas needs, which starts at zero."""
    found = load_checkpoint(base_place(adapt.base))
    model = Decoder(_adapted_config(adapt, found.model, found.spec))
    model.initialize(recipe.train.seed)
    own = model.state_dict()
    start = {name: tensor for name, tensor in found.model.state_dict().items() if name in own}
    model.load_state_dict(own | start)
    _correct(model, recipe, start)
    return model


def _correct(model: Decoder, recipe: Recipe, start: Collection[str]) -> None:
    """Leave what was there at the start as it is and train corrections of it, if that is asked for."""
    if recipe.lora is not None:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name not in start)
        add_lora(model, recipe.lora.rank, recipe.lora.alpha, seed=recipe.train.seed)


def _adapted_config(adapt: AdaptConfig, base: Model, spec: GenerationSpec) -> DecoderConfig:
    if not isinstance(base, Decoder) or not spec.autoregressive:
        raise ConfigError(f"adapt.base is {adapt.base}; allowed: an autoregressive checkpoint of a Llama or Qwen shape")
    shape, layers = base.config, adapt.layers or base.config.num_hidden_layers
    if layers > shape.num_hidden_layers:
        raise ConfigError(f"adapt.layers is {layers}; allowed: up to {shape.num_hidden_layers}, those of {adapt.base}")
    return dataclasses.replace(
        shape,
        num_hidden_layers=layers,
        canvas_embedding=adapt.canvas_embedding,
        given_embedding=adapt.given_embedding,
        self_conditioning=adapt.self_conditioning,
        length_buckets=adapt.length_buckets,
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


def _texts(data: DataConfig) -> Iterator[str]:
    rng = random.Random("tokenizer")
    for name in data.tasks:
        task = find_task(name)
        for _ in range(data.tokenizer_items):
            item = draw(task, "train", rng.getrandbits(62))
            yield item.prompt
            yield item.response
    for path in data.files:
        for record in read_records(Path(path)):
            yield from (turn["content"] for turn in record.turns if isinstance(turn.get("content"), str))
            yield record.text
