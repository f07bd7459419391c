"""Loads and saves checkpoints as Hugging Face directories: config.json, safetensors, generation_config.json.

Loading is strict: a missing, unexpected or misshapen tensor is an error that lists the names. Only safetensors is read,
and no code that comes with a checkpoint is ever run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sfumato.checkpoints.families import FAMILIES
from sfumato.checkpoints.families.family import ConfigTable, Family, native_config, stored_shape
from sfumato.checkpoints.families.llama import hugging_face_config
from sfumato.checkpoints.kept import keep, kept_model, restore
from sfumato.checkpoints.prepared import Layout, Preparation, Shards, encode, prepare
from sfumato.checkpoints.registry import open_checkpoint
from sfumato.checkpoints.tensors import (
    BASE,
    DELTA,
    INDEX,
    PREPARED,
    WEIGHTS,
    GGUFSource,
    SafetensorsSource,
    TensorSource,
    open_tensors,
    round_tensor,
    save_delta,
    tensors_of,
    weight_files,
    write_tensors,
)
from sfumato.config import read_json
from sfumato.errors import CheckpointError, ConfigError, unknown
from sfumato.gguf_file import GGUFFile
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.model import Model
from sfumato.models.quantization.apply import finish, install, quantizable, waiting
from sfumato.models.quantization.weights import Bits, Quantization, QuantizedWeight
from sfumato.spec import GenerationSpec
from sfumato.storage import write_atomically, write_json

# Weight files of any program.
_OF_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx"}


class _NoDraws(TorchFunctionMode):
    """Skips weight initialization, which does nothing on the meta device but imports half of sympy."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return kwargs["tensor"] if func is nn.init.normal_ else func(*args, **kwargs)


@dataclass(frozen=True)
class Checkpoint:
    """A model with everything it needs to generate."""

    model: Model
    spec: GenerationSpec
    generation: dict[str, Any]
    """Sampling defaults under our names, from generation_config.json."""


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
        directory: created if missing.
        model: provides the config, and the weights unless `tensors` does.
        spec: how the model generates.
        generation: sampling defaults for generation_config.json.
        tensors: weights to write instead of the model's own, such as their moving average.
        dtype: of the stored weights; None keeps each tensor's.
        base: write only the difference from this checkpoint, see `save_delta`; None writes everything.
        bits: per number of a matrix, 8 or 4; None quantizes nothing, or differences to 8.

    Raises:
        CheckpointError: if the base cannot be read, or a file cannot be written; the previous one survives.
    """
    weights = model.state_dict() if tensors is None else tensors
    if base is None:
        stored: dict[str, Tensor] = {}
        for name, tensor in weights.items():
            weight = tensor.detach().to("cpu", dtype)
            stored |= {name: weight.contiguous()} if bits is None else round_tensor(name, weight, bits)
        write_tensors(directory / WEIGHTS, stored)
        # It would be mistaken for the weights.
        (directory / DELTA).unlink(missing_ok=True)
    else:
        save_delta(directory, weights, base, bits=bits or 8)
        (directory / WEIGHTS).unlink(missing_ok=True)
    write_json(directory / "generation_config.json", generation or {})
    write_json(directory / "config.json", native_config(model.config, spec))


def export_checkpoint(
    directory: Path, checkpoint: Checkpoint, eos_ids: Sequence[int], *, dtype: torch.dtype | None = None
) -> None:
    """Write an autoregressive checkpoint in the format of an equivalent transformers model.

    Args:
        directory: created if missing.
        dtype: of the stored weights; None keeps each tensor's.

    Raises:
        CheckpointError: if transformers has no such model, or a file cannot be written.
    """
    model, spec = checkpoint.model, checkpoint.spec
    if checkpoint.model.reads_lexemes or not spec.autoregressive or not isinstance(model.config, DecoderConfig):
        what = "reads lexemes" if checkpoint.model.reads_lexemes else "refines canvases"
        raise CheckpointError(
            f"this model {what}, which no transformers model does; allowed: autoregressive ones, "
            "--base with the directory of the checkpoint it was trained from, or --to sfumato"
        )
    config = hugging_face_config(model.config)
    stored = _tensors_to_store(FAMILIES[config["model_type"]], model, dtype)
    config["dtype"] = str(next(iter(stored.values())).dtype).removeprefix("torch.")
    write_tensors(directory / WEIGHTS, stored)
    write_json(directory / "generation_config.json", {"eos_token_id": list(eos_ids)})
    write_json(directory / "config.json", config)


def export_like(directory: Path, checkpoint: Checkpoint, base: Path, *, dtype: torch.dtype | None = None) -> None:
    """Write a checkpoint in the layout of the one it was trained from, so that the same programs can read it. All files
    but the weights are copied from there, including tokenizer and code.

    Args:
        directory: created if missing.
        base: directory of the other checkpoint.
        dtype: of the stored weights; None takes each tensor's in the base.

    Raises:
        CheckpointError: if the models differ, or a file cannot be read or written.
    """
    if not (base / "config.json").is_file():
        raise CheckpointError(f"{base} holds no config.json; allowed: the directory of a checkpoint")
    model, spec, kind = build(base)
    ours, theirs = (
        {name: tuple(tensor.shape) for name, tensor in one.state_dict().items()} for one in (checkpoint.model, model)
    )
    problems = _misfits(ours, theirs, ours.keys() - theirs.keys())
    if problems:
        raise CheckpointError(f"the model does not have the layout of {base}: {'; '.join(problems)}")
    for field in spec.read_fields:
        found, wanted = getattr(checkpoint.spec, field), getattr(spec, field)
        if found != wanted:
            raise CheckpointError(f"{field} of the model is {found!r}; allowed for one like {base}: {wanted!r}")
    stored = _tensors_to_store(
        FAMILIES[kind], checkpoint.model, SafetensorsSource(base).dtypes if dtype is None else dtype
    )
    _copy_others(directory, base)
    write_tensors(directory / WEIGHTS, stored)


def _tensors_to_store(
    family: Family, model: Model, dtype: torch.dtype | Mapping[str, torch.dtype | None] | None
) -> dict[str, Tensor]:
    """The tensors to store for a model, converted to one type or to one each; None keeps the type."""
    weights, stored = model.state_dict(), {}
    for name, parts in family.layout(model).items():
        target = dtype.get(name) if isinstance(dtype, Mapping) else dtype
        stored[name] = torch.cat([weights[part.name][part.put] for part in parts]).to("cpu", target).contiguous()
    return stored


def load_checkpoint(
    source: Path | GGUFFile,
    *,
    dtype: torch.dtype = torch.float32,
    quantization: Quantization | None = None,
    device: str = "cpu",
) -> Checkpoint:
    """Load a checkpoint of any family.

    Args:
        source: a directory with config.json and the weights, whole or as a delta, or a GGUF file.
        quantization: of linears and experts; None leaves them floats.
        device: where tensors go, each as it is read.

    Raises:
        CheckpointError: if a file is missing or damaged, the model type or config is not supported, or tensors do not
            match.
    """
    source = open_checkpoint(source)
    model, spec, kind = build(source)
    generation = read_generation(source, kind)
    if (preparation := preparation_of(source)) is not None:
        if quantization is None or device != "cpu" or not preparation.answers(quantization):
            raise CheckpointError(
                f"{source} holds weights in {preparation.name} for a CPU; allowed: to run it so, or the checkpoint it "
                "was converted from"
            )
        assert isinstance(source, Path)
        model = Layout(model, preparation).load(weight_files(source), dtype)
        return Checkpoint(model.eval(), spec, generation)
    quantization = None if quantization is None else quantization.suited_to(spec, device)
    kept = None if quantization is None else kept_model(source, model, dtype, quantization, device)
    if quantization is None or kept is None:
        fill(model, FAMILIES[kind], tensors_of(source), dtype, quantization, device)
        return Checkpoint(model.eval(), spec, generation)
    layout = Layout(model, Preparation.of(quantization, dtype))
    if (restored := restore(kept, layout)) is not None:
        return Checkpoint(restored.eval(), spec, generation)
    fill(model, FAMILIES[kind], tensors_of(source), dtype, quantization, device)
    keep(kept, *encode(layout.held(model), layout.preparation))
    return Checkpoint(model.eval(), spec, generation)


def preparation_of(source: Path | GGUFFile) -> Preparation | None:
    """How a checkpoint's weights are prepared; None if they are not.

    Raises:
        CheckpointError: if a file is damaged, missing or of another version.
    """
    if isinstance(source, GGUFFile) or not ((source / WEIGHTS).is_file() or (source / INDEX).is_file()):
        return None
    path = next(iter(weight_files(source)))
    with open_tensors(path) as file:
        record = (file.metadata() or {}).get(PREPARED)
    return None if record is None else Preparation.parse(record, path)


def save_prepared(
    directory: Path, source: Path | GGUFFile, quantization: Quantization, *, dtype: torch.dtype = torch.float32
) -> None:
    """Write a checkpoint with its weights quantized and packed as a CPU multiplies them; `load_checkpoint` maps them.

    Weights in groups are read and written part by part. Those of whole rows are smoothed with a sample, for which the
    whole model is loaded, in 8 bits.

    Args:
        directory: created if missing.
        source: the checkpoint, of any family. All files of a directory but the weights are copied.
        quantization: of integer arithmetic.
        dtype: of the weights that are not quantized.

    Raises:
        CheckpointError: if a file cannot be read or written; no weights are left then.
    """
    source = open_checkpoint(source)
    model, spec, kind = build(source)
    quantization = quantization.suited_to(spec)
    layout = Layout(model, Preparation.of(quantization, dtype))
    with Shards(directory, layout) as shards:
        if quantization.grouped:
            weights = read_weights(model, FAMILIES[kind], tensors_of(source), dtype, quantization)
            prepare(shards, layout, model, weights)
        else:
            fill(model, FAMILIES[kind], tensors_of(source), dtype, quantization)
            for name, tensor in layout.held(model).items():
                shards.add({name: tensor})
        shards.finish()
        if isinstance(source, Path):
            _copy_others(directory, source)
        elif isinstance(model, Decoder):
            write_json(directory / "config.json", native_config(model.config, spec))


def _copy_others(directory: Path, base: Path) -> None:
    """Copy all files but those of weights."""
    for path in sorted(base.iterdir()):
        of_weights = path.suffix in _OF_WEIGHTS or path.name.endswith(".index.json") or path.name == BASE
        if path.is_file() and not of_weights:
            write_atomically(directory / path.name, path.read_bytes())


def describe(source: Path | GGUFFile) -> Checkpoint:
    """Load a checkpoint without weights, on the meta device.

    Raises:
        CheckpointError: see `build`.
    """
    model, spec, kind = build(source)
    return Checkpoint(model, spec, read_generation(source, kind))


def read_generation(source: Path | GGUFFile, kind: str) -> dict[str, Any]:
    """A checkpoint's sampling defaults under our names.

    Raises:
        CheckpointError: if they are invalid.
    """
    file = None if isinstance(source, GGUFFile) else source / "generation_config.json"
    return dict(FAMILIES[kind].generation(read_json(file) if file is not None and file.exists() else {}))


def build(source: Path | GGUFFile) -> tuple[Model, GenerationSpec, str]:
    """Build a checkpoint's model on the meta device from its config, with its spec and model type.

    Raises:
        CheckpointError: if there is no config, or its model type or settings are not supported.
    """
    source = open_checkpoint(source)
    if isinstance(source, GGUFFile):
        config, where = GGUFSource(source).config(), str(source.path)
    else:
        config, where = read_json(source / "config.json"), str(source / "config.json")
    kind = str(config.get("model_type"))
    if kind not in FAMILIES:
        own_code = "; the code it names (auto_map) is never run" if "auto_map" in config else ""
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
    """Fill a model on the meta device tensor by tensor, holding no more than the model and one file.

    Args:
        model: its parameters and persistent buffers are replaced.

    Raises:
        CheckpointError: if tensors are missing, unexpected, misshapen or not finite; lists all of them.
    """
    weights = dict(read_weights(model, family, source, dtype, quantization, device))
    # Quantized linears take the bias loaded so far.
    model.load_state_dict(
        {name: one for name, one in weights.items() if isinstance(one, Tensor)}, strict=False, assign=True
    )
    for name, weight in weights.items():
        if isinstance(weight, QuantizedWeight):
            install(model, name, weight)
    # Buffers that are not weights, such as frequencies.
    model.to(device)
    if quantization is not None:
        finish(model, quantization)


def read_weights(
    model: Model,
    family: Family,
    source: TensorSource,
    dtype: torch.dtype,
    quantization: Quantization | None = None,
    device: str = "cpu",
) -> Iterator[tuple[str, Tensor | QuantizedWeight]]:
    """A model's parameters and persistent buffers, each once all of it is read; see `fill`.

    Raises:
        CheckpointError: like `fill`; of numbers that are not finite at the end.
    """
    layout, optional = family.layout(model), set(family.optional(model))
    empty, found = model.state_dict(), source.shapes()
    expected = {name: stored_shape(empty, parts) for name, parts in layout.items()}
    unexpected = found.keys() - expected.keys() - optional
    problems = _misfits(found, expected, (name for name in unexpected if not name.startswith(family.ignored)))
    if problems:
        raise CheckpointError(f"{source.where} does not hold this model: " + "; ".join(problems))
    few_bits = quantizable(model, quantization) - waiting(model, quantization) if quantization else set()
    remaining = Counter(part.name for parts in layout.values() for part in parts)
    weights: dict[str, Tensor | QuantizedWeight] = {}
    broken: dict[str, list[str]] = {"not finite": [], "integers": []}
    for name, tensor in source:
        if name.startswith(family.ignored):
            continue
        if not tensor.is_floating_point():
            broken["integers"].append(name)
        elif tensor.numel() and not all(end.isfinite() for end in _at_least_half(tensor).aminmax()):
            broken["not finite"].append(name)
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
            remaining[part.name] -= 1
            if not remaining[part.name]:
                yield part.name, weights.pop(part.name)
    if problems := _listings(broken):
        raise CheckpointError(f"{source.where} does not hold this model: " + "; ".join(problems))


def _at_least_half(tensor: Tensor) -> Tensor:
    """A tensor as torch can compare its values, which float8 is too short for."""
    return tensor if tensor.element_size() > 1 else tensor.half()


def _misfits(
    found: Mapping[str, tuple[int, ...]], expected: Mapping[str, tuple[int, ...]], unexpected: Iterable[str]
) -> list[str]:
    """What is missing, unexpected or misshapen, each as one text."""
    misshapen = [
        f"{name} {list(found[name])}, not {list(expected[name])}"
        for name in expected.keys() & found.keys()
        if tuple(found[name]) != expected[name]
    ]
    problems = {"missing": expected.keys() - found.keys(), "unexpected": list(unexpected), "misshapen": misshapen}
    return _listings(problems)


def _listings(problems: Mapping[str, Collection[str]]) -> list[str]:
    """The first tensors with each problem, as texts; nothing of problems that none has."""
    more = {kind: f" and {len(names) - 8} more" if len(names) > 8 else "" for kind, names in problems.items()}
    return [f"{kind}: {', '.join(sorted(names)[:8])}{more[kind]}" for kind, names in problems.items() if names]
