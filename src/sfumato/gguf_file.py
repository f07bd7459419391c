"""GGUF files: the metadata and tensors of llama.cpp's format. The `gguf` package dequantizes tensors; the header is
read here, because the package takes seconds for the hundred thousand strings of a vocabulary.

Source: the GGUF specification, github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import CheckpointError

if TYPE_CHECKING:
    import numpy

SUFFIX = ".gguf"
# Metadata types: numbers by `struct` code, then the others.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True)
class _Tensor:
    """Location of a tensor."""

    shape: tuple[int, ...]
    """Outermost dimension first."""
    kind: int
    """Tensor type, as the format numbers it."""
    offset: int
    """Bytes from the start of the data."""


class _Header:
    """Reads numbers and strings in sequence."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self.position = 0

    def numbers(self, letter: str, count: int = 1) -> tuple[Any, ...]:
        layout = f"<{count}{letter}"
        values = struct.unpack_from(layout, self._content, self.position)
        self.position += struct.calcsize(layout)
        return values

    def string(self) -> str:
        start = self.position + 8
        self.position = start + int.from_bytes(self._content[self.position : start], "little")
        if self.position > len(self._content):
            raise ValueError("a string ends past the end of the data")
        return str(self._content[start : self.position], "utf-8")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.numbers(_NUMBERS[kind])[0]
        [kind], [count] = self.numbers("I"), self.numbers("Q")
        if kind in _NUMBERS:
            return list(self.numbers(_NUMBERS[kind], count))
        return [self.value(kind) for _ in range(count)]

    def tensor(self) -> tuple[str, _Tensor]:
        name, [num_sides] = self.string(), self.numbers("I")
        shape = self.numbers("Q", num_sides)[::-1]
        return name, _Tensor(shape, *self.numbers("I"), *self.numbers("Q"))


class GGUFFile:
    """One GGUF file, memory-mapped.

    Raises:
        CheckpointError: if it is missing or not a GGUF file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            header = _Header(self._content)
            [magic], [version] = header.numbers("s", 4), header.numbers("I")
            if magic != b"GGUF" or version not in (2, 3):
                raise ValueError(f"it starts with {magic!r}, version {version}; allowed: b'GGUF', version 2 or 3")
            num_tensors, num_keys = header.numbers("Q", 2)
            self.metadata: dict[str, Any] = {}
            """Every key with its plain value."""
            for _ in range(num_keys):
                key = header.string()
                self.metadata[key] = header.value(*header.numbers("I"))
            self._tensors = dict(header.tensor() for _ in range(num_tensors))
            alignment = self.metadata.get("general.alignment", 32)
            self._start = -(-header.position // alignment) * alignment
        except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError, struct.error) as error:
            raise CheckpointError(f"cannot read {path}: {error}; is the file a complete GGUF file?") from None

    def get(self, key: str) -> Any:
        """The value of a key.

        Raises:
            CheckpointError: if the file has no such key.
        """
        if key not in self.metadata:
            raise CheckpointError(f"{self.path} has no {key}")
        return self.metadata[key]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor, outermost dimension first."""
        return {name: tensor.shape for name, tensor in self._tensors.items()}

    def tensors(self) -> Iterator[tuple[str, numpy.ndarray[Any, Any]]]:
        """Every tensor, dequantized to float32.

        Raises:
            CheckpointError: if a tensor's type is not supported, or the file is truncated.
        """
        import numpy
        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize

        for name, tensor in self._tensors.items():
            try:
                kind = GGMLQuantizationType(tensor.kind)
                block, block_bytes = GGML_QUANT_SIZES[kind]
                num_bytes = math.prod(tensor.shape) // block * block_bytes
                data = numpy.frombuffer(self._content, numpy.uint8, num_bytes, self._start + tensor.offset)
                values = dequantize(data.reshape(*tensor.shape[:-1], -1), kind)
            except (NotImplementedError, ValueError, ArithmeticError) as error:
                raise CheckpointError(f"cannot read {name} of {self.path}: {error}") from None
            yield name, values.astype(numpy.float32, copy=False).reshape(tensor.shape)
