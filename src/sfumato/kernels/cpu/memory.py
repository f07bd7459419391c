"""Reusable CPU memory, and recorded loops replayed on it.

A step of a small model is hundreds of loops, driven by a program that makes the same decisions every time. A `Graph`
records the loops of one pass with their memory, like a CUDA graph on a GPU.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Alignment of blocks, as in torch's own memory.
_ALIGNMENT = 64
# Outside a graph: the allocator reuses smaller tensors by itself, and larger ones would be missing elsewhere.
_MIN_KEPT, _MAX_KEPT = 2**20, 2**27
# Maximum number of graphs kept, least recently used evicted.
_MAX_GRAPHS = 16


class UnrepeatableError(RuntimeError):
    """A graph would read something that is neither computed by its loops, nor a weight, nor an input."""


class _Block:
    """Memory for one tensor at a time."""

    def __init__(self, num_bytes: int) -> None:
        raw = np.empty(num_bytes + _ALIGNMENT, np.uint8)
        self._bytes = raw[-raw.ctypes.data % _ALIGNMENT :][:num_bytes]
        self._held: Callable[[], Any] = lambda: None
        self.num_bytes, self.address = num_bytes, self._bytes.ctypes.data

    @property
    def free(self) -> bool:
        """Whether no tensor, and no view of one, is left here."""
        return self._held() is None

    def give(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        held = self._bytes[: math.prod(shape) * dtype.itemsize]
        # A tensor keeps its array alive, and views of a tensor keep its memory.
        self._held = weakref.ref(held)
        return torch.from_numpy(held).view(dtype).view(*shape)


class Blocks:
    """Blocks for temporary tensors.

    Args:
        stay: whether to keep blocks that are too small for a request.
    """

    def __init__(self, *, stay: bool) -> None:
        self._stay = stay
        self.blocks: list[_Block] = []

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        num_bytes = math.prod(shape) * dtype.itemsize
        free = [block for block in self.blocks if block.free]
        fitting = min((one for one in free if one.num_bytes >= num_bytes), key=lambda one: one.num_bytes, default=None)
        if fitting is None:
            if not self._stay:
                self.blocks = [block for block in self.blocks if block not in free]
            fitting = _Block(num_bytes)
            self.blocks.append(fitting)
        return fitting.give(shape, dtype)


class Graph:
    """The recorded loops of a computation.

    Args:
        blocks: memory for intermediate results; other graphs may use it in between.
        constants: what loops may read besides inputs and computed tensors.
    """

    def __init__(self, blocks: Blocks, constants: Iterable[Tensor]) -> None:
        self._blocks, self._runs = blocks, list[Callable[[], None]]()
        self._constants = list(constants)
        self._known = {_address(one) for one in self._constants}

    def append(self, run: Callable[[], None], given: Sequence[Tensor | float]) -> None:
        """Record a loop.

        Raises:
            UnrepeatableError: if it reads a tensor whose content came from elsewhere.
        """
        known = self._known | {block.address for block in self._blocks.blocks}
        if any(isinstance(one, Tensor) and one.numel() and _address(one) not in known for one in given):
            raise UnrepeatableError("a loop reads a tensor that no loop wrote")
        self._runs.append(run)

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Memory for an intermediate result."""
        return self._blocks.empty(shape, dtype)

    def record(self, compute: Callable[..., Tensor], inputs: Sequence[Tensor]) -> Tensor:
        """Compute and record the loops; each `play` writes to the same result."""
        self._inputs = [self.empty(one.shape, one.dtype).copy_(one) for one in inputs]
        recorder.graph = self
        try:
            self._out = compute(*self._inputs)
        finally:
            recorder.graph = None
        return self._out

    def play(self, inputs: Sequence[Tensor]) -> Tensor:
        """Replay with other inputs; the next graph that is played may overwrite the result."""
        for own, one in zip(self._inputs, inputs, strict=True):
            own.copy_(one)
        for run in self._runs:
            run()
        return self._out


class Graphs:
    """Graphs that share memory: those of one pool of keys and values, which one thread at a time writes."""

    def __init__(self) -> None:
        self._blocks = Blocks(stay=True)
        self._graphs: dict[Hashable, Graph | None] = {}

    def replay(
        self,
        key: Hashable,
        compute: Callable[..., Tensor],
        inputs: Sequence[Tensor],
        constants: Callable[[], Iterable[Tensor]],
    ) -> Tensor:
        """See `Backend.replay`: uses a graph if the computation consists of loops only."""
        key = (key, torch.get_num_threads(), *((one.shape, one.dtype) for one in inputs))
        if key in self._graphs:
            graph = self._graphs[key] = self._graphs.pop(key)
            return compute(*inputs) if graph is None else graph.play(inputs)
        graph = Graph(self._blocks, constants())
        try:
            out = graph.record(compute, inputs)
        except UnrepeatableError:
            self._graphs[key] = None
            return compute(*inputs)
        self._graphs[key] = graph
        if len(self._graphs) > _MAX_GRAPHS:
            del self._graphs[next(iter(self._graphs))]
        return out


class _Recorder(threading.local):
    """Per-thread state."""

    def __init__(self) -> None:
        self.graph: Graph | None = None
        self.blocks = Blocks(stay=False)


recorder = _Recorder()


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor for a step's temporary result, in memory that an earlier one may have used."""
    if recorder.graph is not None:
        return recorder.graph.empty(shape, dtype)
    if _MIN_KEPT <= math.prod(shape) * dtype.itemsize <= _MAX_KEPT:
        return recorder.blocks.empty(shape, dtype)
    return torch.empty(shape, dtype=dtype)


def place_in_lines(values: Tensor) -> Tensor:
    """A copy of a tensor, aligned to a cache line."""
    raw = torch.empty(values.numel() * values.element_size() + _ALIGNMENT, dtype=torch.uint8)
    first = -raw.data_ptr() % _ALIGNMENT
    own = raw[first : len(raw) - _ALIGNMENT + first].view(values.dtype).view(values.shape)
    return own.copy_(values)


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
