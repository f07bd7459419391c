"""Tensors of a checkpoint, one at a time: safetensors in one file or in shards.

Files are opened one after the other, and again after every so many bytes: what has been read of one stays in memory for
as long as it is open, and so never comes to more than that, or one tensor.

A matrix NAME may be stored in few bits, as NAME.levels (int8, or uint8 with two numbers of 4 bits in each), NAME.scales
(float32, one for each row) and, of 4 bits, NAME.groups (float16, scale and minimum of each group of a row). It is read
as floats. Without groups, levels of 4 bits have a sign, and scales are those of groups.
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
_DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# Read of a file before it is opened anew, which takes a millisecond for a thousand tensors.
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
        """Every tensor, in the order that reads the files once."""
        ...


class SafetensorsSource:
    """The safetensors files of a directory.

    Args:
        directory: holds model.safetensors, or an index with its shards.

    Raises:
        CheckpointError: if there are none, a shard is missing, or a file is damaged or disagrees with the index.
    """

    def __init__(self, directory: Path) -> None:
        self.files = _files(directory)
        self.where = str(next(iter(self.files)) if len(self.files) == 1 else directory)
        self._shapes: dict[str, tuple[int, ...]] = {}
        self.dtypes: dict[str, torch.dtype | None] = {}
        """Of every tensor; None for types that weights do not come in, and for those in few bits."""
        for path, named in self.files.items():
            with opened_tensors(path) as file:
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
                ahead = list(reversed(stored_shapes(file)))
            while ahead:
                with opened_tensors(path) as file:
                    held_bytes = 0
                    while ahead and held_bytes < _PORTION_BYTES:
                        tensor = read_tensor(file, ahead[-1])
                        held_bytes += tensor.nbytes
                        yield ahead.pop(), tensor


def _files(directory: Path) -> dict[Path, set[str] | None]:
    """The files to read, each with the tensors that the index says are in it."""
    if (directory / WEIGHTS).is_file() or not (directory / INDEX).is_file():
        if not (directory / WEIGHTS).is_file():
            pickles = sorted(path.name for pattern in _PICKLES for path in directory.glob(pattern))
            if pickles:
                raise CheckpointError(
                    f"{directory} holds {pickles[0]}, a pickle, which can run code when it is read; allowed: "
                    "safetensors only, convert it where it comes from"
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
    """What to store of a tensor: a matrix in few bits, or the tensor itself if it cannot be rounded."""
    if tensor.dim() < 2 or tensor.shape[-1] % 2:
        return {name: tensor.contiguous()}
    weight = QuantizedWeight(tensor.shape, Quantization(bits), torch.float32)
    weight.put((), tensor)
    held = {f"{name}{_LEVELS}": weight.levels, f"{name}{_SCALES}": weight.scales}
    return held if weight.groups is None else held | {f"{name}{_GROUPS}": weight.groups}


def stored_shapes(file: Any) -> dict[str, tuple[int, ...]]:
    """The tensors of an open file, each with the shape that it is read in."""
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
    """Whether an open file holds a tensor in few bits."""
    return f"{name}{_LEVELS}" in file.keys()  # noqa: SIM118


@contextmanager
def opened_tensors(path: Path) -> Iterator[Any]:
    """safe_open, whose failures become ours, on opening and on reading."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"cannot read {path}: {error}; is the file complete?") from None
