"""Checkpoints as ordinary Hugging Face directories: config.json, model.safetensors, generation_config.json.

Loading is strict: a missing, unexpected or misshapen tensor is an error that lists the names. Only safetensors is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from sfumato.config import from_table
from sfumato.errors import CheckpointError, ConfigError, unknown
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.spec import GenerationSpec
from sfumato.storage import write_atomically

MODEL_TYPE = "sfumato"
WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """A decoder with what it needs to generate."""

    model: Decoder
    spec: GenerationSpec
    generation: dict[str, Any]
    """Sampling defaults, as generation_config.json gives them."""


def save_checkpoint(
    directory: Path,
    model: Decoder,
    spec: GenerationSpec,
    *,
    generation: Mapping[str, Any] | None = None,
    tensors: Mapping[str, Tensor] | None = None,
    dtype: torch.dtype | None = None,
) -> None:
    """Write a checkpoint directory, each file by rename.

    Args:
        directory: made if need be.
        model: gives the config, and the weights unless `tensors` does.
        spec: how it generates.
        generation: sampling defaults for generation_config.json.
        tensors: weights to write instead of the model's own, such as their moving average.
        dtype: of the stored weights; None keeps each tensor's.

    Raises:
        CheckpointError: if a file cannot be written; the previous one survives.
    """
    weights = model.state_dict() if tensors is None else tensors
    stored = {name: tensor.detach().to("cpu", dtype).contiguous() for name, tensor in weights.items()}
    config = {"model_type": MODEL_TYPE, **model.config.to_dict(), "generation_spec": spec.to_dict()}
    write_atomically(directory / WEIGHTS, save(stored, metadata={"format": "pt"}))
    write_atomically(directory / "generation_config.json", _json(generation or {}))
    write_atomically(directory / "config.json", _json(config))


def load_checkpoint(directory: Path, *, dtype: torch.dtype = torch.float32) -> Checkpoint:
    """Read a checkpoint directory.

    Args:
        directory: holds config.json and model.safetensors.
        dtype: of the loaded weights.

    Raises:
        CheckpointError: if a file is missing or damaged, the model type is not supported, or tensors do not match.
    """
    config = read_json(directory / "config.json")
    if config.pop("model_type", None) != MODEL_TYPE:
        given = read_json(directory / "config.json").get("model_type")
        raise CheckpointError(f"{directory}: {unknown('model_type', str(given), [MODEL_TYPE])}")
    spec_table = config.pop("generation_spec", {})
    if not isinstance(spec_table, dict):
        raise CheckpointError(f"{directory / 'config.json'}: generation_spec is {spec_table!r}; allowed: an object")
    try:
        spec = from_table(GenerationSpec, spec_table, "generation_spec.")
        model = Decoder(from_table(DecoderConfig, config))
    except ConfigError as error:
        raise CheckpointError(f"{directory / 'config.json'}: {error}") from None
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    tensors = read_tensors(directory / WEIGHTS, expected)
    model.load_state_dict(tensors)
    model.to(dtype).eval()
    generation_file = directory / "generation_config.json"
    generation = read_json(generation_file) if generation_file.exists() else {}
    return Checkpoint(model, spec, generation)


def read_tensors(path: Path, expected: Mapping[str, torch.Size]) -> dict[str, Tensor]:
    """Read exactly the expected tensors from a safetensors file.

    Raises:
        CheckpointError: if the file is missing or damaged, or a tensor is missing, unexpected, misshapen or not finite.
    """
    try:
        with safe_open(path, framework="pt") as file:
            found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"cannot read {path}: {error}; is the file complete?") from None
    problems = [
        *_listing("missing", expected.keys() - found.keys()),
        *_listing("unexpected", found.keys() - expected.keys()),
        *_listing(
            "misshapen",
            (
                f"{name} {list(found[name].shape)}, not {list(expected[name])}"
                for name in expected.keys() & found.keys()
                if found[name].shape != expected[name]
            ),
        ),
        *_listing("not finite", (name for name, tensor in found.items() if not bool(tensor.isfinite().all()))),
    ]
    if problems:
        raise CheckpointError(f"{path} does not hold this model: " + "; ".join(problems))
    return found


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a checkpoint directory.

    Raises:
        CheckpointError: if it is missing, or not a JSON object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} holds a {type(value).__name__}; allowed: an object")
    return value


def _listing(kind: str, names: Iterable[str]) -> list[str]:
    shown = sorted(names)
    if not shown:
        return []
    more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
    return [f"{kind}: {', '.join(shown[:8])}{more}"]


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()
