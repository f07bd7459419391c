"""The run of a recipe: its starting model, its trainer, and the resulting checkpoint."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import random
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sfumato.checkpoints.load import Checkpoint, build, load_checkpoint, save_checkpoint
from sfumato.checkpoints.registry import find_model, open_checkpoint
from sfumato.checkpoints.tensors import resolve_base
from sfumato.config import read_json
from sfumato.data.kinds import FIELD, with_kinds
from sfumato.data.packing import Source
from sfumato.data.sources import make_source, read_records
from sfumato.data.tasks import draw, find_task, kinds_of
from sfumato.diffusion.process import make_process
from sfumato.errors import ConfigError, SfumatoError
from sfumato.hardware import GPUS
from sfumato.layout import PrefixLayout
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.lora import add_lora
from sfumato.models.model import Model
from sfumato.sampling.config import sampler_setting_names
from sfumato.sampling.logits import LearnedStop
from sfumato.sampling.samplers.base import Entropy
from sfumato.spec import DEFAULT, GenerationSpec
from sfumato.storage import sha256_of, write_json
from sfumato.text.tokenizer import Tokenizer
from sfumato.text.training import train_tokenizer
from sfumato.training.code import CodeBatches
from sfumato.training.distributed import World, is_of_memory
from sfumato.training.plan import count_parameters, plan
from sfumato.training.recipe import AdaptConfig, DataConfig, Recipe, check_recipe
from sfumato.training.state import STATE, Record, newest_state
from sfumato.training.trainer import Trainer

_LOG = logging.getLogger(__name__)
_LAYERS = "model.layers."
_LEARNED_FROM = "learned_from.json"


class Run:
    """A recipe with its directory, tokenizer and trainer.

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
        self.directory, self.checkpoint_directory = directory, directory / "checkpoint"
        self.recipe_path = directory / "recipe.json"
        """The recipe as it is run, including overrides."""
        start, found = self._start()
        self.shape = start.config
        spec = recipe.generation_spec or (DEFAULT if found is None else found.spec)
        # Text that is not trained to predict the next token unlearns it.
        self.spec = dataclasses.replace(spec, next_token=spec.next_token and recipe.packing.ar_share > 0)
        recipe.packing.check_for(self.spec)
        room = self.shape.max_position_embeddings
        if long := [length for length in recipe.packing.canvas_lengths if length >= room]:
            raise ConfigError(f"packing.canvas_lengths has {long[0]}; allowed: below {room}, the model's positions")
        layout = PrefixLayout(self.spec)
        if weight := recipe.objective.length_weight:
            given = f"objective.length_weight is {weight}"
            if not layout.causal:
                raise ConfigError(f"{given} and {layout.setting}; allowed: 0, as a length head needs a causal prefix")
            if not self.shape.length_buckets:
                raise ConfigError(f"{given} and the model has no length head; allowed: 0, or with length_buckets")
        lengths = recipe.packing.canvas_lengths
        if lengths and layout.causal and not self.shape.length_buckets and self.spec.canvas_length not in lengths:
            _LOG.warning(
                "generation_spec.canvas_length is %d: answers use canvases that packing.canvas_lengths %s do not train",
                self.spec.canvas_length,
                list(lengths),
            )
        before = {} if found is None else dict(found.generation)
        if not self.spec.next_token:
            before.pop("draft_steps", None)
        # Files teach prompts other than the tasks', and so may have a starting model without kinds.
        unknown_kinds = recipe.data.files or (found is not None and FIELD not in before)
        kinds = [] if unknown_kinds else kinds_of(recipe.data.tasks)
        if unknown_kinds:
            before.pop("tasks", None)
        sampler = before.get("name", Entropy.name)
        if recipe.generation.get("name", sampler) != sampler:
            before = {name: value for name, value in before.items() if name not in sampler_setting_names()}
        self.generation = with_kinds(before | recipe.generation, kinds)
        in_spec, in_model = self.spec.self_conditioning, self.shape.self_conditioning
        if in_spec != in_model:
            raise ConfigError(
                f"generation_spec.self_conditioning is {in_spec} and model.self_conditioning is {in_model}; "
                "allowed: the same for both"
            )
        self.stop_head = None if found is None else LearnedStop.read(find_model(recipe.init_from))
        """Stop head of init_from, kept in the checkpoint."""
        self.world = world or World()
        self._text_tokenizer: Tokenizer | None = None
        self.source: Source | None = None
        """Where documents come from; None for a recipe with [code]."""
        make_batch = None
        if recipe.code is None:
            self._text_tokenizer = self.world.first(self._tokenizer)
            self.source = make_source(
                recipe.data.tasks,
                recipe.data.files,
                self.tokenizer,
                recipe.packing,
                max_tokens=room,
                teacher_top=recipe.objective.teacher_top if recipe.objective.stored_teacher else 0,
                every_answer=recipe.data.every_answer,
            )
        elif self.shape.lexemes is not None:
            causal = self.spec.autoregressive
            make_batch = CodeBatches(recipe.code, self.shape.lexemes, causal=causal, seed=recipe.train.seed).make
        self.trainer = Trainer(
            start,
            make_process(self.spec.noise, self.shape.vocab_size, self.spec.mask_id),
            self.source,
            end_id=0 if self._text_tokenizer is None else self._text_tokenizer.eos_ids[0],
            make_batch=make_batch,
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
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, for a model of tokens."""
        assert self._text_tokenizer is not None, "a recipe with [code] needs none"
        return self._text_tokenizer

    def start(self) -> None:
        """Save the recipe in the directory, for `resume` and for people, with hashes of the data's files. If one is
        another than before, a warning says so: a run may go on with more data, but is no longer what the recipe says.
        """
        if not self.world.leads:
            return
        write_json(self.recipe_path, dataclasses.asdict(self.recipe))
        path = self.directory / "data.json"
        hashes = {
            name: sha256_of(sorted(each for each in Path(name).rglob("*") if each.is_file()) or [Path(name)])
            for name in self.recipe.data.files
            if Path(name).exists()
        }
        before = read_json(path) if path.exists() else {}
        for name in hashes.keys() & before.keys():
            if hashes[name] != before[name]:
                _LOG.warning("%s has changed since the run began, and is read as it is now", name)
        write_json(path, before | hashes)

    def resume(self) -> None:
        """Restore the last saved state.

        Raises:
            ConfigError: if the recipe differs from the run's original in a way that affects the weights.
            CheckpointError: if the state cannot be read.
        """
        check_recipe(self.recipe_path, self.recipe)
        self.trainer.resume()

    def train(self) -> None:
        """Train to the last step; see `Loop.run`.

        Raises:
            SfumatoError: also if memory runs out, with what the run needs and how to reduce it.
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
        """Write the averaged weights as a checkpoint directory, with tokenizer and stop head."""
        weights = self.trainer.averaged()
        if self.world.leads:
            save_checkpoint(
                self.checkpoint_directory, self.trainer.model, self.spec, generation=self.generation, tensors=weights
            )
            if self._text_tokenizer is not None:
                self._text_tokenizer.save(self.checkpoint_directory)
            if self.stop_head is not None:
                self.stop_head.write(self.checkpoint_directory)
        self.world.wait()

    def _tokenizer(self) -> Tokenizer:
        data, vocab_size = self.recipe.data, self.shape.vocab_size
        saved = self.directory / "tokenizer"
        learned_from = json.loads(json.dumps({"vocab_size": vocab_size} | dataclasses.asdict(data)))
        given = Path(data.tokenizer) if data.tokenizer else saved
        if data.tokenizer and not given.is_dir():
            tokenizer = Tokenizer.of(open_checkpoint(find_model(data.tokenizer)))
        elif data.tokenizer or self._has_tokenizer(saved, learned_from):
            tokenizer = Tokenizer.load(given)
        elif self.recipe.adapt is not None or self.recipe.init_from:
            given = find_model(self.recipe.init_from if self.recipe.adapt is None else self.recipe.adapt.base)
            tokenizer = Tokenizer.of(open_checkpoint(given))
        else:
            tokenizer = train_tokenizer(_texts(data), vocab_size, words=data.tokenizer_words)
            tokenizer.save(saved)
            write_json(saved / _LEARNED_FROM, learned_from)
        if tokenizer.vocab_size > vocab_size:
            raise ConfigError(
                f"model.vocab_size is {vocab_size}; allowed: at least {tokenizer.vocab_size}, "
                f"the size of the tokenizer in {given}"
            )
        return tokenizer

    def _has_tokenizer(self, saved: Path, learned_from: dict[str, Any]) -> bool:
        """Whether this run has a tokenizer. That of a start that failed may have learned from something else."""
        if newest_state(self.directory / STATE) is not None:
            return (saved / "tokenizer.json").exists()
        return (saved / _LEARNED_FROM).exists() and read_json(saved / _LEARNED_FROM) == learned_from

    def _start(self) -> tuple[Decoder, Checkpoint | None]:
        """The model before its first step, and the checkpoint it continues from."""
        recipe = self.recipe
        _check_model(recipe)
        if (recipe.code is None) != (recipe.model is None or recipe.model.lexemes is None):
            raise ConfigError("the recipe has one of [code] and [model.lexemes]; allowed: both, or neither")
        if recipe.adapt is not None:
            return _adapted(recipe, recipe.adapt), None
        if recipe.lora is not None and not recipe.init_from:
            raise ConfigError(
                "[lora] corrects an existing model, but this one starts from random weights; "
                "allowed: [adapt], or init_from"
            )
        found = load_checkpoint(find_model(recipe.init_from)) if recipe.init_from else None
        if recipe.model is None:
            assert found is not None
            ours = _of_ours(found.model, recipe.init_from).requires_grad_(True)
            _correct(ours, recipe, list(ours.state_dict()))
            return ours, found
        model = Decoder(recipe.model)
        model.initialize(recipe.train.seed)
        if found is not None:
            first = _of_ours(found.model, recipe.init_from)
            layers = first.config.num_hidden_layers, recipe.model.num_hidden_layers
            start, state = _deepen(first.state_dict(), *layers), model.state_dict()
            alien = [
                f"{name} {list(start[name].shape)} ({list(state[name].shape) if name in state else 'none'})"
                for name in start
                if name not in state or start[name].shape != state[name].shape
            ]
            if alien:
                more = f" and {len(alien) - 4} more" if len(alien) > 4 else ""
                raise ConfigError(
                    f"init_from is {recipe.init_from}; its tensors do not fit this model's (in brackets): "
                    f"{', '.join(alien[:4])}{more}; allowed: the same [model], with more layers, or none"
                )
            model.load_state_dict(state | start)
            _correct(model, recipe, start)
        return model, found


def _deepen(state: dict[str, Tensor], num_layers: int, num_wanted: int) -> dict[str, Tensor]:
    """Weights of a deeper model that computes the same: some layers are followed by a copy that adds nothing.

    The copies' output projections are zero, as in LLaMA Pro's block expansion (Wu et al. 2024).
    """
    if num_wanted <= num_layers:
        return state
    deeper = {name: tensor for name, tensor in state.items() if not name.startswith(_LAYERS)}
    sources = [index * num_layers // num_wanted for index in range(num_wanted)]
    for index, source in enumerate(sources):
        is_copy = index > 0 and sources[index - 1] == source
        prefix = f"{_LAYERS}{source}."
        for name, tensor in state.items():
            if name.startswith(prefix):
                is_zero = is_copy and ("o_proj" in name or "down_proj" in name)
                deeper[f"{_LAYERS}{index}.{name.removeprefix(prefix)}"] = (
                    torch.zeros_like(tensor) if is_zero else tensor
                )
    return deeper


def outline(recipe: Recipe) -> Decoder:
    """The model of a recipe on the meta device; trained parameters require gradients.

    Raises:
        ConfigError: if the recipe has no model, or one that cannot be trained here.
    """
    _check_model(recipe)
    base: Model | None = None
    if recipe.adapt is not None:
        base, spec, _ = build(resolve_base(recipe.adapt.base))
        config = _adapted_config(recipe.adapt, base, spec)
    elif recipe.model is not None and (recipe.lora is None or not recipe.init_from):
        # The starting checkpoint may not exist yet; a shape alone is planned as if it had been trained before.
        config = recipe.model
    else:
        base = build(find_model(recipe.init_from))[0]
        config = recipe.model or _of_ours(base, recipe.init_from).config
    with torch.device("meta"):
        model = Decoder(config)
    _correct(model, recipe, (model if base is None else base).state_dict())
    return model


def _check_model(recipe: Recipe) -> None:
    """Refuse a recipe that defines its model twice or not at all."""
    if recipe.adapt is not None and (recipe.model is not None or recipe.init_from):
        raise ConfigError("[adapt] defines the model and where it starts; leave [model] and init_from out")
    if recipe.adapt is None and recipe.model is None and not recipe.init_from:
        raise ConfigError("the recipe has no model; allowed: [model], [adapt], or init_from")


def _of_ours(model: Model, init_from: str) -> Decoder:
    if not isinstance(model, Decoder):
        raise ConfigError(
            f"init_from is {init_from}, a {type(model).__name__}; allowed: a model of Sfumato's own decoder"
        )
    return model


def _adapted(recipe: Recipe, adapt: AdaptConfig) -> Decoder:
    """An autoregressive checkpoint with added canvas parts, which start at zero."""
    found = load_checkpoint(resolve_base(adapt.base))
    model = Decoder(_adapted_config(adapt, found.model, found.spec))
    model.initialize(recipe.train.seed)
    state = model.state_dict()
    start = {name: tensor for name, tensor in found.model.state_dict().items() if name in state}
    model.load_state_dict(state | start)
    _correct(model, recipe, start)
    return model


def _correct(model: Decoder, recipe: Recipe, start: Collection[str]) -> None:
    """Freeze what existed at the start and add low-rank corrections, if the recipe asks for it."""
    if recipe.lora is not None:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name not in start)
        largest = min(model.config.hidden_size, model.config.num_attention_heads * model.config.head_dim)
        if recipe.lora.rank > largest:
            raise ConfigError(f"lora.rank is {recipe.lora.rank}; allowed: up to {largest}, the width of this model")
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
