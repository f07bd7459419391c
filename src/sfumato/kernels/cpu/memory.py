"""Memory of a CPU that is used again, and loops that are run again on it.

A step of a small model is hundreds of loops, each of which comes out of a program that decides nothing anew. A `Graph`
keeps the loops of one pass, with the memory that they read and wrote, as a CUDA graph does on a GPU.
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

# Blocks start at such addresses, as torch's own memory does.
_ALIGNMENT = 64
# Outside of a graph: smaller tensors are found again by the allocator, larger ones would be missed elsewhere.
_MIN_KEPT, _MAX_KEPT = 2**20, 2**27
# Graphs that are kept, those that were played last.
_MAX_GRAPHS = 16


class UnrepeatableError(RuntimeError):
    """A graph would read what was not computed by its loops, and is no weight or input either."""


class _Block:
    """Memory for one tensor at a time."""

    def __init__(self, num_bytes: int) -> None:
        raw = np.empty(num_bytes + _ALIGNMENT, np.uint8)
        self._bytes = raw[-raw.ctypes.data % _ALIGNMENT :][:num_bytes]
        self._held: Callable[[], Any] = lambda: None
        self.num_bytes, self.address = num_bytes, self._bytes.ctypes.data

    @property
    def free(self) -> bool:
        """Whether no tensor is left here, and no view of one."""
        return self._held() is None

    def give(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        held = self._bytes[: math.prod(shape) * dtype.itemsize]
        # A tensor keeps the array that it is over, and views of a tensor keep its memory.
        self._held = weakref.ref(held)
        return torch.from_numpy(held).view(dtype).view(*shape)


class Blocks:
    """Blocks for tensors that come and go.

    Args:
        stay: whether those that are too small for what is asked for are kept.
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
    """The loops of a computation.

    Args:
        blocks: memory of what is computed on the way; other graphs may use it in between.
        constants: what the loops may read besides inputs and what they computed.
    """

    def __init__(self, blocks: Blocks, constants: Iterable[Tensor]) -> None:
        self._blocks, self._runs = blocks, list[Callable[[], None]]()
        self._constants = list(constants)
        self._known = {_address(one) for one in self._constants}

    def append(self, run: Callable[[], None], given: Sequence[Tensor | float]) -> None:
        """Keep a loop.

        Raises:
            UnrepeatableError: if it reads a tensor whose content came about in another way.
        """
        known = self._known | {block.address for block in self._blocks.blocks}
        if any(isinstance(one, Tensor) and one.numel() and _address(one) not in known for one in given):
            raise UnrepeatableError("a loop reads a tensor that no loop wrote")
        self._runs.append(run)

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Memory for something that is computed on the way."""
        return self._blocks.empty(shape, dtype)

    def record(self, compute: Callable[..., Tensor], inputs: Sequence[Tensor]) -> Tensor:
        """Compute, and keep the loops: the result is where each `play` puts it."""
        self._inputs = [self.empty(one.shape, one.dtype).copy_(one) for one in inputs]
        recorder.graph = self
        try:
            self._out = compute(*self._inputs)
        finally:
            recorder.graph = None
        return self._out

    def play(self, inputs: Sequence[Tensor]) -> Tensor:
        """The same of other inputs; the next graph that is played may overwrite the result."""
        for own, one in zip(self._inputs, inputs, strict=True):
            own.copy_(one)
        for run in self._runs:
            run()
        return self._out


class Graphs:
    """Graphs that take turns in one memory: those of one pool of keys and values, which one thread at a time writes."""

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
        """See `Backend.replay`: by a graph of the computation, if it is of loops alone."""
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
    """What a thread keeps."""

    def __init__(self) -> None:
        self.graph: Graph | None = None
        self.blocks = Blocks(stay=False)


recorder = _Recorder()


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor for what a step makes and leaves, in memory that an earlier one may have had, which is gone by now."""
    if recorder.graph is not None:
        return recorder.graph.empty(shape, dtype)
    if _MIN_KEPT <= math.prod(shape) * dtype.itemsize <= _MAX_KEPT:
        return recorder.blocks.empty(shape, dtype)
    return torch.empty(shape, dtype=dtype)


def place_in_lines(values: Tensor) -> Tensor:
    """A copy of a tensor whose memory starts with a line of the cache."""
    raw = torch.empty(values.numel() * values.element_size() + _ALIGNMENT, dtype=torch.uint8)
    first = -raw.data_ptr() % _ALIGNMENT
    own = raw[first : len(raw) - _ALIGNMENT + first].view(values.dtype).view(values.shape)
    return own.copy_(values)


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
