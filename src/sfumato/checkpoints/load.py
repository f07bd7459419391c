"""Checkpoints as ordinary Hugging Face directories: config.json, safetensors, generation_config.json.

Loading is strict: a missing, unexpected or misshapen tensor is an error that lists the names. Only safetensors is read,
and no code that comes with a checkpoint is ever run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sfumato.checkpoints.delta import DELTA, save_delta, tensors_of
from sfumato.checkpoints.families import FAMILIES
from sfumato.checkpoints.families.family import ConfigTable, Family, stored_shape
from sfumato.checkpoints.families.llama import hugging_face_config
from sfumato.checkpoints.families.own import own_config
from sfumato.checkpoints.gguf import GGUFSource
from sfumato.checkpoints.kept import kept_model, restore, save_kept
from sfumato.checkpoints.safetensors import WEIGHTS, SafetensorsSource, TensorSource, round_tensor
from sfumato.errors import CheckpointError, ConfigError, unknown
from sfumato.gguf_file import GGUFFile, opened
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.model import Model
from sfumato.models.quantization.apply import finish, install, quantizable, waiting
from sfumato.models.quantization.weights import Bits, Quantization, QuantizedWeight
from sfumato.spec import GenerationSpec
from sfumato.storage import read_json, write_atomically

# Files of weights, of whatever program.
_OF_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx"}


class _NoDraws(TorchFunctionMode):
    """Leaves out the drawing of weights, which on the meta device does nothing, but imports half of sympy for it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return kwargs["tensor"] if func is nn.init.normal_ else func(*args, **kwargs)


@dataclass(frozen=True)
class Checkpoint:
    """A model with what it needs to generate."""

    model: Model
    spec: GenerationSpec
    generation: dict[str, Any]
    """Sampling defaults under our names, from generation_config.json."""

    @property
    def reads_lexemes(self) -> bool:
        """Whether it repairs Python, and has no tokenizer."""
        return isinstance(self.model, Decoder) and self.model.config.lexemes is not None


def save_checkpoint(
    directory: Path,
    model: Decoder,
    spec: GenerationSpec,
    *,
    generation: Mapping[str, Any] | None = None,
    tensors: Mapping[str, Tensor] | None = None,
    dtype: torch.dtype | None = None,
    base: str | None = None,
    bits: Bits | None = None,
) -> None:
    """Write a checkpoint directory, each file by rename.

    Args:
        directory: made if need be.
        model: gives the config, and the weights unless `tensors` does.
        spec: how it generates.
        generation: sampling defaults for generation_config.json.
        tensors: weights to write instead of the model's own, such as their moving average.
        dtype: of the stored weights; None keeps each tensor's.
        base: of what checkpoint to write the changes alone, see `save_delta`; None writes all.
        bits: of each number of a matrix, 8 or 4; None rounds none, or changes to 8.

    Raises:
        CheckpointError: if the base cannot be read, or a file cannot be written; the previous one survives.
    """
    weights = model.state_dict() if tensors is None else tensors
    if base is None:
        stored: dict[str, Tensor] = {}
        for name, tensor in weights.items():
            own = tensor.detach().to("cpu", dtype)
            stored |= {name: own.contiguous()} if bits is None else round_tensor(name, own, bits)
        write_atomically(directory / WEIGHTS, save(stored, metadata={"format": "pt"}))
        # It would be taken for what is meant.
        (directory / DELTA).unlink(missing_ok=True)
    else:
        save_delta(directory, weights, base, bits=bits or 8)
    write_atomically(directory / "generation_config.json", _json(generation or {}))
    write_atomically(directory / "config.json", _json(own_config(model.config, spec)))


def export_checkpoint(
    directory: Path, checkpoint: Checkpoint, eos_ids: Sequence[int], *, dtype: torch.dtype | None = None
) -> None:
    """Write an autoregressive checkpoint so that transformers reads it and computes the same.

    Args:
        directory: made if need be.
        checkpoint: the model.
        eos_ids: ids that end a text.
        dtype: of the stored weights; None keeps each tensor's.

    Raises:
        CheckpointError: if transformers has no such model, or a file cannot be written.
    """
    model, spec = checkpoint.model, checkpoint.spec
    if checkpoint.reads_lexemes or not spec.autoregressive or not isinstance(model.config, DecoderConfig):
        what = "reads lexemes" if checkpoint.reads_lexemes else "refines canvases"
        raise CheckpointError(
            f"this model {what}, which no model of transformers does; allowed: autoregressive ones, --base "
            "with the directory of the checkpoint it was trained from, or --to sfumato"
        )
    config = hugging_face_config(model.config)
    stored = _stored(FAMILIES[config["model_type"]], model, dtype)
    config["dtype"] = str(next(iter(stored.values())).dtype).removeprefix("torch.")
    write_atomically(directory / WEIGHTS, save(stored, metadata={"format": "pt"}))
    write_atomically(directory / "generation_config.json", _json({"eos_token_id": list(eos_ids)}))
    write_atomically(directory / "config.json", _json(config))


def export_like(directory: Path, checkpoint: Checkpoint, base: Path, *, dtype: torch.dtype | None = None) -> None:
    """Write a checkpoint as one that it was trained from is laid out: whatever reads that reads this one too. All but
    the weights is copied from there, tokenizer and code included.

    Args:
        directory: made if need be.
        checkpoint: the model.
        base: the directory of the other one.
        dtype: of the stored weights; None takes that of each in the other one.

    Raises:
        CheckpointError: if it is another model than that, or a file cannot be read or written.
    """
    if not (base / "config.json").is_file():
        raise CheckpointError(f"{base} holds no config.json; allowed: the directory of a checkpoint")
    model, spec, kind = build(base)
    own, theirs = (
        {name: tuple(tensor.shape) for name, tensor in one.state_dict().items()} for one in (checkpoint.model, model)
    )
    problems = _misfits(own, theirs, own.keys() - theirs.keys())
    if problems:
        raise CheckpointError(f"the model is not laid out as {base} is: {'; '.join(problems)}")
    for field in spec.read_fields:
        found, wanted = getattr(checkpoint.spec, field), getattr(spec, field)
        if found != wanted:
            raise CheckpointError(f"{field} of the model is {found!r}; allowed for one like {base}: {wanted!r}")
    stored = _stored(FAMILIES[kind], checkpoint.model, SafetensorsSource(base).dtypes if dtype is None else dtype)
    for path in sorted(base.iterdir()):
        if path.is_file() and path.suffix not in _OF_WEIGHTS and not path.name.endswith(".index.json"):
            write_atomically(directory / path.name, path.read_bytes())
    write_atomically(directory / WEIGHTS, save(stored, metadata={"format": "pt"}))


def _stored(
    family: Family, model: Model, dtype: torch.dtype | Mapping[str, torch.dtype | None] | None
) -> dict[str, Tensor]:
    """The tensors that a checkpoint of a model stores: of one type, or each of its own; None keeps what it is."""
    weights, stored = model.state_dict(), {}
    for name, parts in family.layout(model).items():
        own = dtype.get(name) if isinstance(dtype, Mapping) else dtype
        stored[name] = torch.cat([weights[part.name][part.put] for part in parts]).to("cpu", own).contiguous()
    return stored


def load_checkpoint(
    place: Path | GGUFFile,
    *,
    dtype: torch.dtype = torch.float32,
    quantization: Quantization | None = None,
    device: str = "cpu",
) -> Checkpoint:
    """Read a checkpoint of any family.

    Args:
        place: a directory with config.json and the weights, whole or as a delta, or a GGUF file.
        dtype: of the loaded weights.
        quantization: holds the weights of linears and experts in few bits; None leaves them floats.
        device: where they go, each as it is read.

    Raises:
        CheckpointError: if a file is missing or damaged, the model type is not supported, the config asks for what is
            not computed, or tensors do not match.
    """
    place = opened(place)
    model, spec, kind = build(place)
    quantization = None if quantization is None else quantization.suited_to(spec, device)
    kept = kept_model(place, model, dtype, quantization, device)
    if kept is None or quantization is None or not restore(kept, model, dtype, quantization):
        fill(model, FAMILIES[kind], tensors_of(place), dtype, quantization, device)
        if kept is not None:
            save_kept(kept, model)
    return Checkpoint(model.eval(), spec, read_generation(place, kind))


def describe(place: Path | GGUFFile) -> Checkpoint:
    """A checkpoint without its weights: the model is on the meta device.

    Raises:
        CheckpointError: see `build`.
    """
    model, spec, kind = build(place)
    return Checkpoint(model, spec, read_generation(place, kind))


def read_generation(place: Path | GGUFFile, kind: str) -> dict[str, Any]:
    """The sampling defaults of a checkpoint of a model type, under our names.

    Raises:
        CheckpointError: if they cannot be read.
    """
    file = None if isinstance(place, GGUFFile) else place / "generation_config.json"
    return FAMILIES[kind].generation(read_json(file) if file is not None and file.exists() else {})


def build(place: Path | GGUFFile) -> tuple[Model, GenerationSpec, str]:
    """The model of a checkpoint on the meta device, from its config alone, with its spec and model type.

    Raises:
        CheckpointError: if there is no config, its model type is not supported, or it asks for what is not computed.
    """
    place = opened(place)
    if isinstance(place, GGUFFile):
        config, where = GGUFSource(place).config(), str(place.path)
    else:
        config, where = read_json(place / "config.json"), str(place / "config.json")
    kind = str(config.get("model_type"))
    if kind not in FAMILIES:
        own_code = "; the code that it names (auto_map) is never run" if "auto_map" in config else ""
        raise CheckpointError(f"{where}: {unknown('model_type', kind, FAMILIES)}{own_code}")
    try:
        with torch.device("meta"), _NoDraws():
            model, spec = FAMILIES[kind].build(ConfigTable(config, where))
    except ConfigError as error:
        raise CheckpointError(f"{where}: {error}") from None
    return model, spec, kind


def fill(
    model: Model,
    family: Family,
    source: TensorSource,
    dtype: torch.dtype,
    quantization: Quantization | None = None,
    device: str = "cpu",
) -> None:
    """Give a model on the meta device its weights, a tensor at a time: no more than the model and one file are held.

    Args:
        model: its parameters and persistent buffers are replaced.
        family: says where each tensor goes.
        source: the tensors.
        dtype: of the weights.
        quantization, device: see `load_checkpoint`.

    Raises:
        CheckpointError: if a tensor is missing, unexpected, misshapen or not finite; all of them are listed.
    """
    layout, optional = family.layout(model), set(family.optional(model))
    empty, found = model.state_dict(), source.shapes()
    expected = {name: stored_shape(empty, parts) for name, parts in layout.items()}
    unexpected = found.keys() - expected.keys() - optional
    problems = _misfits(found, expected, (name for name in unexpected if not name.startswith(family.ignored)))
    if problems:
        raise CheckpointError(f"{source.where} does not hold this model: " + "; ".join(problems))
    few_bits = quantizable(model, quantization) - waiting(model, quantization) if quantization else set()
    weights: dict[str, Tensor | QuantizedWeight] = {}
    broken: list[str] = []
    for name, tensor in source:
        if name.startswith(family.ignored):
            continue
        if tensor.numel() and not all(end.isfinite() for end in tensor.aminmax()):
            broken.append(name)
        first = 0
        for part in layout.get(name, ()):
            rows = tensor.shape[0] - first if part.rows is None else part.rows
            values = tensor if part.rows is None else tensor[first : first + rows]
            first += rows
            if part.name not in weights:
                shape = empty[part.name].shape
                if quantization and part.name in few_bits:
                    weights[part.name] = QuantizedWeight(shape, quantization, dtype, device)
                else:
                    weights[part.name] = torch.empty(shape, dtype=dtype, device=device)
            target = weights[part.name]
            if isinstance(target, QuantizedWeight):
                target.put(part.put, values)
            else:
                target[part.put].copy_(values)
    if broken:
        raise CheckpointError(f"{source.where} does not hold this model: {_listing('not finite', broken)[0]}")
    # Quantized linears take the bias that is there by then.
    model.load_state_dict(
        {name: one for name, one in weights.items() if isinstance(one, Tensor)}, strict=False, assign=True
    )
    for name, weight in weights.items():
        if isinstance(weight, QuantizedWeight):
            install(model, name, weight)
    # What is no weight, such as frequencies.
    model.to(device)
    finish(model, quantization)


def _misfits(
    found: Mapping[str, tuple[int, ...]], expected: Mapping[str, tuple[int, ...]], unexpected: Iterable[str]
) -> list[str]:
    """What is wrong with some tensors, by their shapes, and with those that are too many."""
    misshapen = (
        f"{name} {list(found[name])}, not {list(expected[name])}"
        for name in expected.keys() & found.keys()
        if tuple(found[name]) != expected[name]
    )
    return [
        *_listing("missing", expected.keys() - found.keys()),
        *_listing("unexpected", unexpected),
        *_listing("misshapen", misshapen),
    ]


def _listing(kind: str, names: Iterable[str]) -> list[str]:
    shown = sorted(names)
    if not shown:
        return []
    more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
    return [f"{kind}: {', '.join(shown[:8])}{more}"]


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()
