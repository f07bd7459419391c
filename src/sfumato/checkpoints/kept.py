"""What is costly to find out, kept between starts in the user's cache, by content: models whose weights were smoothed
and rounded, and small facts. An entry that cannot be read, or is not what it should be, counts as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from sfumato.checkpoints import prepared
from sfumato.checkpoints.prepared import Layout
from sfumato.checkpoints.registry import KEPT, cache_directory
from sfumato.errors import CheckpointError
from sfumato.gguf_file import GGUFFile
from sfumato.kernels import base
from sfumato.models.model import Model
from sfumato.models.moe import Experts
from sfumato.models.quantization import apply, products, weights
from sfumato.models.quantization.weights import Quantization
from sfumato.storage import sha256_of, write_atomically

# Of all entries together; a model takes half of it at most.
_LIMIT_BYTES = 2 * 2**30
_CODE = (base, apply, prepared, products, weights)


def kept_path(about: str, files: Sequence[Path] = ()) -> Path:
    """The path of an entry, whether it exists or not; all entries may be deleted at any time.

    Args:
        about: what it depends on.
        files: what else it depends on, by content.

    Raises:
        CheckpointError: if one of the files cannot be read.
    """
    digest = hashlib.sha256(f"{about} {sha256_of(files)}".encode()).hexdigest()
    return cache_directory() / KEPT / digest


def read_kept(path: Path) -> dict[str, Any] | None:
    """The facts of an entry; None if it holds none."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None


def keep(path: Path, *parts: bytes | memoryview) -> None:
    """Write an entry, and delete those that were not used for longest while all are too large; failing is no error."""
    # Under another name, as another process may write the same.
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(CheckpointError, OSError):
        write_atomically(temporary, *parts)
        temporary.replace(path)
        total = 0
        for entry in sorted(path.parent.iterdir(), key=lambda entry: entry.stat().st_mtime, reverse=True):
            total += entry.stat().st_size
            if total > _LIMIT_BYTES:
                entry.unlink()


def kept_model(
    source: Path | GGUFFile, model: Model, dtype: torch.dtype, quantization: Quantization, device: str
) -> Path | None:
    """The path of a model's entry, whether it exists or not; None if the model is not kept: if it does not multiply
    integers on a CPU, has experts, or is large.
    """
    if quantization.arithmetic != "int8" or device != "cpu":
        return None
    if not products.multiplies_integers(torch.device(device)) or 4 * model.num_parameters > _LIMIT_BYTES // 2:
        return None
    if any(isinstance(module, Experts) for module in model.modules()):
        return None
    files = (
        [source.path]
        if isinstance(source, GGUFFile)
        else sorted([*source.glob("*.json"), *source.glob("*.safetensors")])
    )
    return kept_path(f"{dtype} {quantization}", [*files, *(Path(str(module.__file__)) for module in _CODE)])


def restore(path: Path, layout: Layout) -> Model | None:
    """The model of an entry; None if there is no such entry, or it is not of this layout."""
    try:
        model = layout.load([path], layout.preparation.dtype)
    except CheckpointError:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return model
