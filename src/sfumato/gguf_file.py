"""GGUF files: the metadata and tensors of llama.cpp's format, read with the `gguf` package."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy

from sfumato.errors import CheckpointError

SUFFIX = ".gguf"


class GGUFFile:
    """One GGUF file, memory-mapped.

    Args:
        path: the file.

    Raises:
        CheckpointError: if it is missing or no GGUF file, or the `gguf` package is not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            import gguf
        except ImportError:
            raise CheckpointError(f"{path} needs the gguf package: pip install 'sfumato[gguf]'") from None
        self.path = path
        try:
            self._reader = gguf.GGUFReader(path)
        except (OSError, ValueError, IndexError, KeyError) as error:
            raise CheckpointError(f"cannot read {path}: {error}; is the file a complete GGUF file?") from None
        self._dequantize = gguf.dequantize

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Every key with its plain value."""
        return {name: field.contents() for name, field in self._reader.fields.items()}

    def get(self, key: str) -> Any:
        """The value of a key.

        Raises:
            CheckpointError: if the file has no such key.
        """
        if key not in self._reader.fields:
            raise CheckpointError(f"{self.path} has no {key}")
        return self._reader.fields[key].contents()

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor, outermost dimension first."""
        return {tensor.name: tuple(int(size) for size in reversed(tensor.shape)) for tensor in self._reader.tensors}

    def tensors(self) -> Iterator[tuple[str, numpy.ndarray[Any, Any]]]:
        """Every tensor, dequantized to float32.

        Raises:
            CheckpointError: if one is stored in a way that the package cannot dequantize.
        """
        for tensor in self._reader.tensors:
            shape = tuple(int(size) for size in reversed(tensor.shape))
            try:
                values = self._dequantize(tensor.data, tensor.tensor_type)
            except NotImplementedError as error:
                raise CheckpointError(f"{self.path}: {tensor.name} is {tensor.tensor_type.name}: {error}") from None
            yield tensor.name, values.astype(numpy.float32, copy=False).reshape(shape)


def opened(place: Path | GGUFFile) -> Path | GGUFFile:
    """A GGUF file's path opened, so that all who need the file read it once; anything else as it is.

    Raises:
        CheckpointError: if the GGUF file cannot be read.
    """
    return GGUFFile(place) if isinstance(place, Path) and place.suffix == SUFFIX else place
