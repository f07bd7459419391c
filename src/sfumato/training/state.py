"""The state of a run: everything that cannot be recomputed from (recipe, step).

Data order and noise depend only on the seed and the step, so the state is tensors (trained weights, their moving
average, optimizer moments) and a few numbers. One process keeps it in one file; several keep shards in a directory.
Either is replaced by a rename, so that a kill at any moment leaves the old or the new state. Names are the same in
both, and any number of processes can resume from either.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load as load_shards
from torch.distributed.checkpoint.state_dict_saver import save as save_shards

from sfumato.errors import CheckpointError
from sfumato.models.decoder import Decoder
from sfumato.storage import write_atomically
from sfumato.training.distributed import World, like, trained

Record = dict[str, float]
Optimizers = Mapping[str, torch.optim.Optimizer]
Target = Callable[[str, tuple[int, ...]], Tensor]
STATE = "state.safetensors"
"""A run's state, in its directory; several processes write directories named after it."""
_PROGRESS = "progress.json"


@dataclass(frozen=True, kw_only=True)
class Progress:
    step: int = 0
    num_tokens: int = 0
    """Positions seen, including canvases, without padding."""
    num_refused: int = 0
    """Steps skipped because loss or gradient was not finite."""
    seconds: float = 0.0
    """Time in training steps, over all sessions."""


class Log:
    """The log file, one JSON record per step."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def records(self) -> list[Record]:
        return [json.loads(line) for line in self._lines()]

    def cut(self, step: int) -> None:
        """Drop the records of later steps, and an incomplete last one."""
        kept = [line for line in self._lines() if _step_of(line) <= step]
        write_atomically(self.path, "".join(f"{line}\n" for line in kept).encode())

    def append(self, record: Record) -> None:
        """Append a record.

        Raises:
            CheckpointError: if it cannot be written.
        """
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        except OSError as error:
            raise CheckpointError(f"cannot write {self.path}: {error.strerror}") from error

    def _lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []


def _step_of(line: str) -> float:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf


def save_state(
    path: Path, progress: Progress, model: Decoder, average: Mapping[str, Tensor], optimizers: Optimizers, world: World
) -> None:
    """Write the state by rename: a file, or with several processes a directory of shards, named after file and step.

    Args:
        progress: stored in the file's header, or next to the shards.
        average: moving average of the weights, by name.
        world: all its processes must call this.

    Raises:
        CheckpointError: if it cannot be written; the previous state survives.
    """
    tensors = _weights(model, average)
    for name, optimizer in optimizers.items():
        for index, moments in optimizer.state_dict()["state"].items():
            for key, value in moments.items():
                tensors[f"optimizer.{name}.{index}.{key}"] = torch.as_tensor(value)
    if world.size > 1:
        _save_shards(path, progress, tensors, world)
        return
    stored = {name: tensor.detach().cpu().contiguous() for name, tensor in world.whole(tensors).items()}
    write_atomically(path, save(stored, metadata={"progress": json.dumps(asdict(progress))}))
    _remove(path, but=path)


def load_state(path: Path, model: Decoder, average: dict[str, Tensor], optimizers: Optimizers) -> Progress:
    """Read the newest state, of any number of processes, into a model, its average and its optimizers, all built from
    the same recipe.

    Raises:
        CheckpointError: if the state is missing or damaged, or belongs to a model of another shape or to other
            optimizers.
    """
    path = newest_state(path) or path
    parameters = {
        (name, index): parameter
        for name, optimizer in optimizers.items()
        for index, parameter in enumerate(one for group in optimizer.param_groups for one in group["params"])
    }
    weights = _weights(model, average)

    def target(name: str, shape: tuple[int, ...]) -> Tensor:
        """A tensor with the sharding that a stored one needs."""
        if name.startswith("optimizer."):
            _, kind, index, _ = name.split(".", 3)
            found = parameters.get((kind, int(index)))
        else:
            found = weights.get(name)
        return torch.empty(shape) if found is None or found.shape != shape else found.detach()

    read = _read_shards if path.is_dir() else _read_file
    try:
        tensors, progress = read(path, target)
    except (SafetensorError, CheckpointException, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"cannot resume from {path}: {_said(error)}; to start anew, delete it") from None
    try:
        stored = _within(tensors, "model.")
        if alien := stored.keys() - trained(model).keys():
            raise KeyError(min(alien))
        put(model, stored)
        for name, tensor in average.items():
            tensor.copy_(tensors[f"average.{name}"])
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(f"{path} belongs to a model of another shape: {error}") from None
    stepped = {key.split(".")[1] for key in tensors if key.startswith("optimizer.")}
    if stepped and stepped != optimizers.keys():
        raise CheckpointError(
            f"{path} belongs to a run with other optimizers: {', '.join(sorted(stepped))}; this one has "
            f"{', '.join(sorted(optimizers))} (muon_lr decides)"
        )
    for name, optimizer in optimizers.items():
        state = optimizer.state_dict()
        moments: dict[int, dict[str, Tensor]] = {}
        for key, tensor in _within(tensors, f"optimizer.{name}.").items():
            index, _, moment = key.partition(".")
            moments.setdefault(int(index), {})[moment] = tensor
        optimizer.load_state_dict({**state, "state": moments})
    return progress


def _weights(model: Decoder, average: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The trained weights and their average, by their names in a state."""
    tensors: dict[str, Tensor] = {f"model.{name}": tensor for name, tensor in trained(model).items()}
    return tensors | {f"average.{name}": tensor for name, tensor in average.items()}


@torch.no_grad()
def put(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Set a model's trained parameters.

    Raises:
        KeyError: naming a missing one.
        RuntimeError: if a shape differs.
    """
    for name, parameter in trained(model).items():
        if weights[name].shape != parameter.shape:
            raise RuntimeError(f"{name} has shape {list(weights[name].shape)}, not {list(parameter.shape)}")
        parameter.copy_(weights[name])


def newest_state(path: Path) -> Path | None:
    """The newest state, a file or a directory of shards; None if there is none."""
    found = list(_sharded(path))
    if path.exists():
        found.append((_step_in(path), path))
    return max(found, default=(0, None), key=lambda entry: entry[0])[1]


def _save_shards(path: Path, progress: Progress, tensors: Mapping[str, Tensor], world: World) -> None:
    folder = path.with_name(f"{path.stem}-{progress.step}")
    if world.any(folder.is_dir())[0]:
        # The state of a step is always the same.
        return
    partial = folder.with_name(folder.name + ".partial")
    failure: BaseException | None = None
    try:
        if world.leads:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
    except OSError as error:
        failure = error
    if not world.any(failure is not None)[0]:
        try:
            save_shards({name: tensor.detach() for name, tensor in tensors.items()}, checkpoint_id=partial)
            if world.leads:
                write_atomically(partial / _PROGRESS, json.dumps(asdict(progress)).encode())
        except (CheckpointException, CheckpointError, OSError) as error:
            failure = error
    if world.any(failure is not None)[0]:
        if world.leads:
            shutil.rmtree(partial, ignore_errors=True)
        reason = _said(failure) if failure else "another process failed"
        raise CheckpointError(f"cannot write {folder}: {reason}; the previous state is kept")
    if world.leads:
        partial.replace(folder)
        _remove(path, but=folder)
    world.wait()


def _read_file(path: Path, target: Target) -> tuple[dict[str, Tensor], Progress]:
    with safe_open(path, framework="pt") as file:
        progress = Progress(**json.loads(file.metadata()["progress"]))
        tensors = {}
        for name in file.keys():  # noqa: SIM118
            tensor = file.get_tensor(name)
            tensors[name] = like(tensor, target(name, tuple(tensor.shape)))
    return tensors, progress


def _read_shards(path: Path, target: Target) -> tuple[dict[str, Tensor], Progress]:
    progress = Progress(**json.loads((path / _PROGRESS).read_text(encoding="utf-8")))
    entries: dict[str, Any] = FileSystemReader(path).read_metadata().state_dict_metadata
    tensors = {
        name: torch.empty_like(target(name, tuple(entry.size)), dtype=entry.properties.dtype)
        for name, entry in entries.items()
        if isinstance(entry, TensorStorageMetadata)
    }
    with warnings.catch_warnings():
        # Torch warns that one process reads alone, even when told to.
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        load_shards(tensors, checkpoint_id=path, no_dist=not dist.is_initialized())
    return tensors, progress


def _sharded(path: Path) -> Iterator[tuple[int, Path]]:
    """(step, directory) of complete shards next to a state file."""
    for folder in path.parent.glob(f"{path.stem}-*"):
        if folder.is_dir() and (step := re.fullmatch(rf"{re.escape(path.stem)}-(\d+)", folder.name)):
            yield int(step[1]), folder


def _remove(path: Path, *, but: Path) -> None:
    """Delete superseded states."""
    for _, folder in list(_sharded(path)):
        if folder != but:
            # A directory is deleted file by file: under its own name, half of it would be taken for a state.
            folder.rename(folder.with_name(folder.name + ".partial"))
    for folder in path.parent.glob(f"{path.stem}-*.partial"):
        shutil.rmtree(folder, ignore_errors=True)
    if path != but:
        path.unlink(missing_ok=True)


def _said(error: BaseException) -> str:
    """An error on one line; for several processes, the first error."""
    if isinstance(error, CheckpointException) and error.failures:
        rank, (cause, _) = next(iter(error.failures.items()))
        return f"{cause} (process {rank})"
    return str(error)


def _step_in(path: Path) -> int:
    try:
        with safe_open(path, framework="pt") as file:
            return int(json.loads(file.metadata()["progress"])["step"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError):
        # The caller reports it.
        return 0


def _within(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
