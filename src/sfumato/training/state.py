"""The state of a run: everything that cannot be computed again from (recipe, step).

Data order and noise depend only on the seed and the step, so the state is tensors (weights, their moving average,
optimizer moments) and a few numbers. It is one file, replaced by a rename: a kill at any moment leaves either the
old state or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from sfumato.errors import CheckpointError
from sfumato.models.decoder import Decoder
from sfumato.storage import write_atomically


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run has come."""

    step: int = 0
    """Optimizer steps done."""
    num_tokens: int = 0
    """Positions seen, canvases included, padding not."""
    num_refused: int = 0
    """Steps left out because loss or gradient was not finite."""
    seconds: float = 0.0
    """Time spent in training steps, over all sittings."""


def save_state(
    path: Path,
    progress: Progress,
    model: Decoder,
    average: Mapping[str, Tensor],
    optimizers: Mapping[str, torch.optim.Optimizer],
) -> None:
    """Write the state file by rename.

    Args:
        path: the file.
        progress: kept in the file's header.
        model: its weights.
        average: moving average of the weights, by name.
        optimizers: by name.

    Raises:
        CheckpointError: if it cannot be written; the previous state survives.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"average.{name}": tensor for name, tensor in average.items()}
    for name, optimizer in optimizers.items():
        for index, moments in optimizer.state_dict()["state"].items():
            for key, value in moments.items():
                tensors[f"optimizer.{name}.{index}.{key}"] = torch.as_tensor(value)
    stored = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, save(stored, metadata={"progress": json.dumps(asdict(progress))}))


def load_state(
    path: Path,
    model: Decoder,
    average: dict[str, Tensor],
    optimizers: Mapping[str, torch.optim.Optimizer],
) -> Progress:
    """Read a state file into a model, its average and its optimizers, all built from the same recipe.

    Raises:
        CheckpointError: if the file is missing or damaged, or belongs to a model of another shape or to other
            optimizers.
    """
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            progress = Progress(**json.loads(file.metadata()["progress"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"cannot resume from {path}: {error}") from None
    try:
        model.load_state_dict(_within(tensors, "model."))
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


def _within(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
