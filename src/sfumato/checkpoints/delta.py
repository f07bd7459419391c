"""Checkpoints as what was changed of another one: differences in few bits, and tensors that it does not have.

A model of which only a base is public is shipped at a quarter of its size or less, and what did not change takes
nothing. The base is read where it is, tensor by tensor, and checked to be the one that was meant.
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
from sfumato.gguf_file import GGUFFile, opened
from sfumato.models.quantization.weights import Bits
from sfumato.storage import read_json, sha256_of, write_atomically

DELTA = "delta.safetensors"
BASE = "base.json"


def resolve_base(name: str) -> Path:
    """Where a base is, by any name that `find_model` takes.

    Raises:
        CheckpointError: see `find_model`; also if it is a delta itself.
    """
    place = find_model(name)
    if (place / DELTA).exists():
        base = base_of(place)["base"]
        raise CheckpointError(f"{place} is itself a delta, of {base}; allowed: a checkpoint with all of its weights")
    return place


def save_delta(directory: Path, weights: Mapping[str, Tensor], base: str, *, bits: Bits = 8) -> None:
    """Write weights as what they change of a base: base.json and delta.safetensors, each by rename.

    Args:
        directory: made if need be.
        weights: of the model, by name. Differences of matrices, and new ones, are rounded; everything else stays.
        base: see `resolve_base`.
        bits: of each number that is rounded, 8 or 4.

    Raises:
        CheckpointError: if the base cannot be read, or a file not be written.
    """
    place = resolve_base(base)
    source, new = tensors_of(place), dict(weights)
    stored: dict[str, Tensor] = {}
    taken = []
    for name, tensor in source:
        if name not in new or new[name].shape != tensor.shape:
            continue
        own = new.pop(name).detach().cpu().float()
        taken.append(name)
        if not torch.equal(own, tensor.float()):
            # What cannot be rounded is stored as it is, and not as a difference.
            difference = round_tensor(name, own - tensor.float(), bits)
            stored |= {name: own.contiguous()} if name in difference else difference
    for name, tensor in new.items():
        stored |= round_tensor(name, tensor.detach().cpu().float(), bits)
    told = {"base": base, "sha256": _sha256(place), "taken": sorted(taken)}
    write_atomically(directory / DELTA, save(stored, metadata={"format": "pt"}))
    write_atomically(directory / BASE, (json.dumps(told, indent=1) + "\n").encode())


def base_of(directory: Path) -> dict[str, Any]:
    """What base.json of a delta says: the base, its sha256, and what tensors it gives.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    told = read_json(directory / BASE)
    for key, kind in (("base", str), ("sha256", str), ("taken", list)):
        if not isinstance(told.get(key), kind):
            raise CheckpointError(f"{directory / BASE}: {key} is {told.get(key)!r}; allowed: a {kind.__name__}")
    return told


class DeltaSource:
    """The tensors of a base with a delta added.

    Args:
        directory: holds base.json and delta.safetensors.

    Raises:
        CheckpointError: if a file is missing or damaged, or the base is not there, or another one.
    """

    def __init__(self, directory: Path) -> None:
        told = base_of(directory)
        place = resolve_base(told["base"])
        self.where = str(directory)
        self._path = directory / DELTA
        self._base = tensors_of(place)
        self._taken = frozenset(map(str, told["taken"]))
        # A packaged one was checked where it was found.
        if told["base"] not in PACKAGED and (found := _sha256(place)) != told["sha256"]:
            raise CheckpointError(f"{place} has sha256 {found}; allowed: {told['sha256']}, as {directory} changes it")
        missing = self._taken - self._base.shapes().keys()
        if missing:
            raise CheckpointError(f"{place} lacks tensors that {directory} changes: {', '.join(sorted(missing)[:8])}")
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
                    own = read_tensor(file, name)
                    tensor = tensor.float() + own if is_rounded(file, name) else own
                if name in self._taken:
                    yield name, tensor
            for name in self._new:
                yield name, read_tensor(file, name)


def tensors_of(place: Path | GGUFFile) -> TensorSource:
    """The tensors of a checkpoint, however it holds them.

    Raises:
        CheckpointError: see the sources.
    """
    place = opened(place)
    if isinstance(place, GGUFFile):
        return GGUFSource(place)
    return DeltaSource(place) if (place / DELTA).exists() else SafetensorsSource(place)


def _sha256(place: Path) -> str:
    return sha256_of(sorted(SafetensorsSource(place).files) if place.is_dir() else [place])
