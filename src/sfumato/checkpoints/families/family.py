"""The interface of checkpoint families: config, tensor names and sampling defaults; and the family of our own
checkpoints, whose config.json is the decoder's config with the generation spec.

A family is a value in a table. Other code branches on what it produces, a `GenerationSpec` and a config, never on its
name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from sfumato.config import from_table
from sfumato.errors import CheckpointError
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.model import Model
from sfumato.spec import GenerationSpec

MODEL_TYPE = "sfumato"
_REQUIRED = object()

# Keys that do not affect what is computed, or only training.
BOOKKEEPING = frozenset(
    """
    architectures auto_map bos_token_id dtype eos_token_id id2label initializer_range label2id model_type name_or_path
    _name_or_path output_attentions output_hidden_states pad_token_id return_dict tokenizer_class torch_dtype
    transformers_version use_cache _attn_implementation chunk_size_feed_forward is_encoder_decoder problem_type
    attention_dropout embedding_dropout hidden_dropout output_dropout residual_dropout attn_pdrop resid_pdrop
    output_router_logits router_aux_loss_coef router_dtype
    """.split()  # noqa: SIM905
)


class ConfigTable:
    """A config.json that is read key by key, so that unread keys can be reported.

    Args:
        where: the file, for messages.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = dict(values)
        self._left = set(values)
        self.where = where

    def take(self, key: str, default: Any = _REQUIRED) -> Any:
        """The value of a key.

        Raises:
            CheckpointError: if it is missing and has no default.
        """
        self._left.discard(key)
        value = self._values.get(key, default)
        if value is _REQUIRED:
            raise CheckpointError(f"{self.where}: {key} is missing")
        return value

    def number(self, key: str, default: Any = _REQUIRED) -> Any:
        """A number, or None if that is the default.

        Raises:
            CheckpointError: if it is anything else.
        """
        value = self.take(key, default)
        if value is not default and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise CheckpointError(f"{self.where}: {key} is {value!r}; allowed: a number")
        return value

    def object(self, key: str, default: Any = _REQUIRED) -> dict[str, Any]:
        """A nested object; null counts as missing.

        Raises:
            CheckpointError: if it is anything else.
        """
        value = self.take(key, default)
        value = default if value is None and default is not _REQUIRED else value
        if not isinstance(value, dict):
            raise CheckpointError(f"{self.where}: {key} is {value!r}; allowed: an object")
        return value

    def table(self, key: str) -> ConfigTable:
        """A nested object, to be read key by key."""
        return ConfigTable(self.object(key), f"{self.where}: {key}")

    def rest(self) -> dict[str, Any]:
        """Everything not read yet, without the model type."""
        left, self._left = self._left - {"model_type"}, set()
        return {key: self._values[key] for key in self._values if key in left}

    def expect(self, key: str, *allowed: Any) -> None:
        """Refuse unsupported values of a key; a missing key means the first allowed value.

        Raises:
            CheckpointError: with key, value and what is allowed.
        """
        value = self.take(key, allowed[0])
        if value not in allowed:
            wanted = " or ".join(repr(one) for one in allowed)
            raise CheckpointError(f"{self.where}: {key} is {value!r}; allowed: {wanted}; nothing else is supported")

    def finish(self, ignored: Collection[str] = ()) -> None:
        """Refuse unread keys, except bookkeeping, ignored ones and null values.

        Raises:
            CheckpointError: listing them.
        """
        left = {key for key in self._left if self._values[key] is not None} - BOOKKEEPING - set(ignored)
        if left:
            raise CheckpointError(
                f"{self.where}: unknown {', '.join(sorted(left))}; config keys are never silently ignored"
            )


@dataclass(frozen=True)
class Part:
    """Destination of all or part of a stored tensor."""

    name: str
    """A parameter or buffer of our model."""
    rows: int | None = None
    """Number of rows of the stored tensor, in order; None takes all."""
    put: tuple[int | slice, ...] = ()
    """Index of the part of the parameter; () is all of it."""


Layout = dict[str, tuple[Part, ...]]
"""Stored tensors by name, with their destinations."""


@dataclass(frozen=True)
class Family:
    """How checkpoints of one model_type become our models."""

    build: Callable[[ConfigTable], tuple[Model, GenerationSpec]]
    """Reads a config; the model's weights need not be initialized. A ConfigError is about the config's values."""
    layout: Callable[[Model], Layout]
    """The tensors of a checkpoint of that model."""
    generation: Callable[[Mapping[str, Any]], dict[str, Any]] = dict
    """Converts generation_config.json to sampling defaults under our names."""
    optional: Callable[[Model], Collection[str]] = lambda model: ()
    """Redundant tensors that may also be stored, such as a tied head."""
    ignored: tuple[str, ...] = ()
    """Name prefixes of tensors in unsupported parts, such as a vision tower."""


def given(values: Mapping[str, Any], key: str, default: float) -> Any:
    """A value of generation_config.json; missing or null ones are the default."""
    value = values.get(key)
    return default if value is None else value


def same_names(model: Model) -> Layout:
    """The layout of a checkpoint with our tensor names."""
    return {name: (Part(name),) for name in model.state_dict()}


def stored_shape(model: Mapping[str, torch.Tensor], parts: tuple[Part, ...]) -> tuple[int, ...]:
    """The shape of a stored tensor, from its destinations."""
    shapes = [model[part.name][part.put].shape for part in parts]
    if len(parts) == 1:
        return tuple(shapes[0])
    return (sum(shape[0] for shape in shapes), *shapes[0][1:])


def native_config(config: DecoderConfig, spec: GenerationSpec) -> dict[str, Any]:
    """The config.json of one of our checkpoints."""
    return {"model_type": MODEL_TYPE, **config.to_dict(), "generation_spec": spec.to_dict()}


def _build(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    spec = from_table(GenerationSpec, table.object("generation_spec", {}), "generation_spec.")
    return Decoder(from_table(DecoderConfig, table.rest())), spec


NATIVE = {MODEL_TYPE: Family(_build, same_names)}
