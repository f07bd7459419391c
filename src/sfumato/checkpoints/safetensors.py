"""Reads a checkpoint's tensors one at a time, from one safetensors file or from shards.

Files are opened one after the other, and reopened after a number of bytes: what was read from an open file stays in
memory, so this limits it to that number, or to one tensor.

A matrix NAME may be stored quantized, as NAME.levels (int8, or uint8 with two 4-bit numbers each), NAME.scales
(float32, one per row) and, for 4 bits, NAME.groups (float16, scale and minimum of each group of a row). It is read as
floats. Without groups, 4-bit levels are signed, and scales are those of groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from sfumato.errors import CheckpointError
from sfumato.models.quantization.weights import Bits, Quantization, QuantizedWeight, dequantize
from sfumato.storage import read_json

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
PREPARED = "sfumato_prepared"
"""Key of a file's metadata that says how its weights are prepared: see `checkpoints.prepared`."""
_DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
DTYPES = {**_DTYPES, "I32": torch.int32, "I8": torch.int8, "U8": torch.uint8}
"""Types of tensors, by the names in files."""
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# Bytes read from a file before it is reopened, which takes a millisecond for a thousand tensors.
_PORTION_BYTES = 2**26
_LEVELS, _SCALES, _GROUPS = ".levels", ".scales", ".groups"


class TensorSource(Protocol):
    """A checkpoint's tensors."""

    where: str
    """The file or directory, for messages."""

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of every tensor, without reading any."""
        ...

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor, in the order that reads each file once."""
        ...


class SafetensorsSource:
    """The safetensors files of a directory.

    Args:
        directory: with model.safetensors, or an index and its shards.

    Raises:
        CheckpointError: if there are none, a shard is missing, or a file is damaged or disagrees with the index.
    """

    def __init__(self, directory: Path) -> None:
        self.files = weight_files(directory)
        self.where = str(next(iter(self.files)) if len(self.files) == 1 else directory)
        self._shapes: dict[str, tuple[int, ...]] = {}
        self.dtypes: dict[str, torch.dtype | None] = {}
        """Type of every tensor; None for quantized tensors, and for types that weights do not have."""
        for path, named in self.files.items():
            with opened_tensors(path) as file:
                if PREPARED in (file.metadata() or {}):
                    raise CheckpointError(
                        f"{directory} holds quantized weights in the form in which they are multiplied; allowed: to "
                        "run it, or the checkpoint it was converted from"
                    )
                found = stored_shapes(file)
                plain = found.keys() & set(file.keys())
                self.dtypes |= {name: _DTYPES.get(file.get_slice(name).get_dtype()) for name in plain}
                self.dtypes |= dict.fromkeys(found.keys() - plain)
            if named is not None and (astray := named - found.keys()):
                raise CheckpointError(f"{path} lacks tensors that {INDEX} says it has: {', '.join(sorted(astray)[:8])}")
            self._shapes |= found

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return self._shapes

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        for path in self.files:
            with opened_tensors(path) as file:
                remaining = list(reversed(stored_shapes(file)))
            while remaining:
                with opened_tensors(path) as file:
                    held_bytes = 0
                    while remaining and held_bytes < _PORTION_BYTES:
                        tensor = read_tensor(file, remaining[-1])
                        held_bytes += tensor.nbytes
                        yield remaining.pop(), tensor


def weight_files(directory: Path) -> dict[Path, set[str] | None]:
    """The files to read, each with its tensors according to the index."""
    if (directory / WEIGHTS).is_file() or not (directory / INDEX).is_file():
        if not (directory / WEIGHTS).is_file():
            pickles = sorted(path.name for pattern in _PICKLES for path in directory.glob(pattern))
            if pickles:
                raise CheckpointError(
                    f"{directory} holds {pickles[0]}, a pickle, which can run code when it is read; "
                    "allowed: safetensors only; convert the file first"
                )
            raise CheckpointError(f"cannot read {directory / WEIGHTS}: no such file")
        return {directory / WEIGHTS: None}
    named: dict[Path, set[str] | None] = {}
    index = read_json(directory / INDEX).get("weight_map")
    if not isinstance(index, dict):
        raise CheckpointError(f"{directory / INDEX} has no weight_map")
    for name, file in index.items():
        path = directory / str(file)
        if path.parent != directory:
            raise CheckpointError(f"{directory / INDEX} names {file!r}; allowed: files beside it")
        tensors = named.setdefault(path, set())
        assert tensors is not None
        tensors.add(name)
    missing = [path.name for path in named if not path.is_file()]
    if missing:
        raise CheckpointError(f"{directory} lacks {len(missing)} of {len(named)} shards: {', '.join(missing[:8])}")
    return named


def round_tensor(name: str, tensor: Tensor, bits: Bits) -> dict[str, Tensor]:
    """What to store for a tensor: a quantized matrix, or the tensor itself if it cannot be quantized."""
    if tensor.dim() < 2 or tensor.shape[-1] % 2:
        return {name: tensor.contiguous()}
    weight = QuantizedWeight(tensor.shape, Quantization(bits), torch.float32)
    weight.put((), tensor)
    held = {f"{name}{_LEVELS}": weight.levels, f"{name}{_SCALES}": weight.scales}
    return held if weight.groups is None else held | {f"{name}{_GROUPS}": weight.groups}


def stored_shapes(file: Any) -> dict[str, tuple[int, ...]]:
    """The tensors of an open file, with the shapes they are read in."""
    names, shapes = set(file.keys()), {}
    for name in file.keys():  # noqa: SIM118
        stem, kind = name.rpartition(".")[0], name[name.rfind(".") :]
        stored = file.get_slice(name)
        *leading, width = stored.get_shape() or [1]
        if kind == _LEVELS and f"{stem}{_SCALES}" in names:
            shapes[stem] = (*leading, 2 * width if stored.get_dtype() == "U8" else width)
        elif kind not in (_SCALES, _GROUPS) or f"{stem}{_LEVELS}" not in names:
            shapes[name] = tuple(stored.get_shape())
    return shapes


def read_tensor(file: Any, name: str) -> Tensor:
    """A tensor of an open file."""
    if is_rounded(file, name):
        grouped = f"{name}{_GROUPS}" in file.keys()  # noqa: SIM118
        levels, scales = (file.get_tensor(f"{name}{part}") for part in (_LEVELS, _SCALES))
        return dequantize(levels, scales, torch.float32, file.get_tensor(f"{name}{_GROUPS}") if grouped else None)
    tensor: Tensor = file.get_tensor(name)
    return tensor


def is_rounded(file: Any, name: str) -> bool:
    """Whether a tensor of an open file is quantized."""
    return f"{name}{_LEVELS}" in file.keys()  # noqa: SIM118


@contextmanager
def opened_tensors(path: Path) -> Iterator[Any]:
    """safe_open with our errors, on opening and on reading."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"cannot read {path}: {error}; is the file complete?") from None
