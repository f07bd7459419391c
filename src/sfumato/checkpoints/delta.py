"""Delta checkpoints: quantized differences from a base checkpoint, plus tensors the base does not have.

A model with a public base ships at a quarter of its size or less, and unchanged tensors take no space. The base is read
where it is, tensor by tensor, and verified by its hash.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from sfumato.checkpoints.gguf import GGUFSource
from sfumato.checkpoints.packaged import PACKAGED
from sfumato.checkpoints.registry import find_model
from sfumato.checkpoints.safetensors import (
    SafetensorsSource,
    TensorSource,
    is_rounded,
    opened_tensors,
    read_tensor,
    round_tensor,
    stored_shapes,
)
from sfumato.errors import CheckpointError
from sfumato.gguf_file import GGUFFile, open_checkpoint
from sfumato.models.quantization.weights import Bits
from sfumato.storage import read_json, sha256_of, write_atomically

DELTA = "delta.safetensors"
BASE = "base.json"


def resolve_base(name: str) -> Path:
    """Find a base by any name that `find_model` takes.

    Raises:
        CheckpointError: see `find_model`; also if the base is itself a delta.
    """
    path = find_model(name)
    if (path / DELTA).exists():
        base = base_of(path)["base"]
        raise CheckpointError(f"{path} is itself a delta, of {base}; allowed: a checkpoint with all of its weights")
    return path


def save_delta(directory: Path, weights: Mapping[str, Tensor], base: str, *, bits: Bits = 8) -> None:
    """Write weights as differences from a base: base.json and delta.safetensors, each by rename.

    Args:
        directory: created if missing.
        weights: of the model, by name. Differences of matrices, and new matrices, are quantized; everything else is
            exact.
        base: see `resolve_base`.
        bits: per quantized number, 8 or 4.

    Raises:
        CheckpointError: if the base cannot be read, or a file cannot be written.
    """
    path = resolve_base(base)
    source, new = tensors_of(path), dict(weights)
    stored: dict[str, Tensor] = {}
    taken = []
    for name, tensor in source:
        if name not in new or new[name].shape != tensor.shape:
            continue
        weight = new.pop(name).detach().cpu().float()
        taken.append(name)
        if not torch.equal(weight, tensor.float()):
            # Tensors that cannot be quantized are stored whole, not as a difference.
            difference = round_tensor(name, weight - tensor.float(), bits)
            stored |= {name: weight.contiguous()} if name in difference else difference
    for name, tensor in new.items():
        stored |= round_tensor(name, tensor.detach().cpu().float(), bits)
    info = {"base": base, "sha256": _sha256(path), "taken": sorted(taken)}
    write_atomically(directory / DELTA, save(stored, metadata={"format": "pt"}))
    write_atomically(directory / BASE, (json.dumps(info, indent=1) + "\n").encode())


def base_of(directory: Path) -> dict[str, Any]:
    """Contents of a delta's base.json: the base, its SHA-256, and the tensors it provides.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    info = read_json(directory / BASE)
    for key, kind in (("base", str), ("sha256", str), ("taken", list)):
        if not isinstance(info.get(key), kind):
            raise CheckpointError(f"{directory / BASE}: {key} is {info.get(key)!r}; allowed: a {kind.__name__}")
    return info


class DeltaSource:
    """The tensors of a base with a delta added.

    Args:
        directory: with base.json and delta.safetensors.

    Raises:
        CheckpointError: if a file is missing or damaged, or the base is missing or a different one.
    """

    def __init__(self, directory: Path) -> None:
        info = base_of(directory)
        path = resolve_base(info["base"])
        self.where = str(directory)
        self._path = directory / DELTA
        self._base = tensors_of(path)
        self._taken = frozenset(map(str, info["taken"]))
        # Packaged checkpoints are verified when they are found.
        if info["base"] not in PACKAGED and (found := _sha256(path)) != info["sha256"]:
            raise CheckpointError(f"{path} has sha256 {found}; allowed: {info['sha256']}, the base of {directory}")
        missing = self._taken - self._base.shapes().keys()
        if missing:
            raise CheckpointError(f"{path} lacks tensors that {directory} changes: {', '.join(sorted(missing)[:8])}")
        with opened_tensors(self._path) as file:
            stored = stored_shapes(file)
        self._changed = stored.keys() & self._taken
        self._new = {name: shape for name, shape in stored.items() if name not in self._taken}

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        taken = {name: shape for name, shape in self._base.shapes().items() if name in self._taken}
        return taken | self._new

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        with opened_tensors(self._path) as file:
            for name, tensor in self._base:
                if name in self._changed:
                    difference = read_tensor(file, name)
                    tensor = tensor.float() + difference if is_rounded(file, name) else difference
                if name in self._taken:
                    yield name, tensor
            for name in self._new:
                yield name, read_tensor(file, name)


def tensors_of(path: Path | GGUFFile) -> TensorSource:
    """The tensors of a checkpoint in any format.

    Raises:
        CheckpointError: see the sources.
    """
    path = open_checkpoint(path)
    if isinstance(path, GGUFFile):
        return GGUFSource(path)
    return DeltaSource(path) if (path / DELTA).exists() else SafetensorsSource(path)


def _sha256(path: Path) -> str:
    return sha256_of(sorted(SafetensorsSource(path).files) if path.is_dir() else [path])
