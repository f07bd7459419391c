"""Runs compiled loops on the threads of torch's own OpenMP, because a second pool's idle threads would compete with
them, and on fewer while other programs use the cores; gives them memory, and replays recorded passes of them.

Loops are written in `kernels.cpu.loops`. The package ships them compiled for Linux on x86-64, for CPUs with AVX-512 and
VNNI, AVX-VNNI, or AVX2 alone; elsewhere, and if their source was changed, a loop is compiled at its first call and
cached on disk, next to the package or in the user's cache.

A step of a small model is hundreds of loops, driven by a program that makes the same decisions every time. A `Graph`
records the loops of one pass with their memory, like a CUDA graph on a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib
import logging
import math
import os
import platform
import sys
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfumato.kernels.base import DIGIT, SECOND_DIGIT
from sfumato.kernels.cpu.loops.sizes import features
from sfumato.machine import core_time

LOOPS = Path(__file__).parent / "loops"
_AVX2 = frozenset({"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})
LIBRARIES = {
    "x86-64-v4-vnni.so": _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni"},
    "x86-64-v3-vnni.so": _AVX2 | {"avx_vnni"},
    "x86-64-v3.so": _AVX2,
}
"""The libraries in `LOOPS`, best first, with the CPU features that they need, by Linux's names. They are built by
`python -m sfumato.kernels.cpu.loops.build`."""
_LOG = logging.getLogger(__name__)
# Shorter compilations are not announced.
_COMPILING_S = 0.3
# Bytes of a seal.
_SEAL = 32
# Elements from which a second thread is worth waking, and parts per thread.
_GRAIN = 2**15
_PARTS = 4
# Alignment of blocks, as in torch's own memory.
ALIGNMENT = 64
# Outside a graph: the allocator reuses smaller tensors by itself, and larger ones would be missing elsewhere.
_MIN_KEPT, _MAX_KEPT = 2**20, 2**27
# Maximum number of graphs kept, least recently used evicted.
_MAX_GRAPHS = 16
# Share of the time that threads wait for a core, from which other programs use it; seconds over which it is measured.
_CROWDED, _WINDOW_S = 0.15, 0.05
# Seconds after which more threads are tried again: at first, and at most.
_FIRST_HOLD_S, _MAX_HOLD_S = 0.5, 8.0


def seal(content: bytes) -> bytes:
    """The seal at the end of a library: a hash of its content and of all sources of the loops."""
    digest = hashlib.sha256(repr((DIGIT, SECOND_DIGIT)).encode())
    for path in sorted((*LOOPS.glob("*.py"), *LOOPS.glob("*.c"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(content)
    return digest.digest()


@functools.cache
def library() -> ctypes.CDLL | None:
    """The loops shipped with the package for this CPU; None if there are none, or they have other sources."""
    fitting = [LOOPS / name for name, needed in LIBRARIES.items() if features() >= needed]
    is_built = sys.platform == "linux" and platform.machine() == "x86_64" and bool(fitting)
    if not is_built or os.environ.get("SFUMATO_COMPILE_LOOPS"):
        return None
    try:
        held = fitting[0].read_bytes()
        return ctypes.CDLL(str(fitting[0])) if held[-_SEAL:] == seal(held[:-_SEAL]) else None
    except OSError:
        return None


@functools.cache
def _team() -> Any:
    """GOMP_parallel of the OpenMP that torch uses; None if torch uses another one."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*")):
        try:
            start = ctypes.CDLL(str(path)).GOMP_parallel
        except (OSError, AttributeError):
            continue
        start.argtypes, start.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
        return start
    return None


class Waits:
    """The share of their time that this process's threads wait for a core, since it was made."""

    def __init__(self) -> None:
        self.since = time.monotonic()
        self._ran, self._waited = core_time()

    def is_crowded(self) -> bool:
        """Whether other programs use the cores."""
        ran, waited = core_time()
        ran, waited = ran - self._ran, waited - self._waited
        return waited > _CROWDED * (ran + waited)


class _SharedCores(contextlib.ContextDecorator, threading.local):
    """Within it, which is not to be nested, torch uses fewer threads while other programs use the cores.

    Threads that compute together wait for each other, so all are as slow as the one that waits longest for a core. The
    number of threads is halved while they wait, and doubled again after a time that doubles as well.
    """

    def __init__(self) -> None:
        self._halvings, self._hold_s, self._until = 0, _FIRST_HOLD_S, 0.0
        self._waits: Waits | None = None

    def __enter__(self) -> None:
        self._threads = torch.get_num_threads()
        if self._halvings and time.monotonic() >= self._until:
            self._halvings, self._waits = self._halvings - 1, None
        threads = max(1, self._threads >> self._halvings)
        torch.set_num_threads(threads)
        if threads > 1 and self._waits is None:
            self._waits = Waits()

    def __exit__(self, *exception: object) -> None:
        now, waits = time.monotonic(), self._waits
        torch.set_num_threads(self._threads)
        if waits is None or now < waits.since + _WINDOW_S:
            return
        self._waits = None
        if waits.is_crowded():
            self._halvings, self._until = self._halvings + 1, now + self._hold_s
            self._hold_s = min(2 * self._hold_s, _MAX_HOLD_S)
        elif not self._halvings:
            self._hold_s = _FIRST_HOLD_S


shared_cores = _SharedCores()


class Loop:
    """A loop by its name, "module.function" of `kernels.cpu.loops`: a function of a job.

    A job is the numbers of rows that threads claim and of threads, then addresses and sizes.
    """

    _lock = threading.Lock()
    _announced = False

    def __init__(self, name: str) -> None:
        self.name, self.symbol = name, name.replace(".", "_")

    def function(self) -> Callable[[Any], None]:
        """The compiled function."""
        module, _, name = self.name.rpartition(".")
        found: Callable[[Any], None] = getattr(importlib.import_module(f"{__package__}.loops.{module}"), name)
        return found

    @functools.cached_property
    def address(self) -> int:
        """The address of the compiled function."""
        shipped = library()
        return self._compile() if shipped is None else _address(getattr(shipped, self.symbol))

    @functools.cached_property
    def _alone(self) -> Callable[[Any], None]:
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)

    def _compile(self) -> int:
        with Loop._lock:
            started = time.perf_counter()
            # The compiler takes half a second to import.
            from sfumato.kernels.cpu.loops.compiling import compiled

            self._made = compiled(self.function())
            slow = not self._made.cache_hits and time.perf_counter() - started > _COMPILING_S
            if slow and not Loop._announced:
                Loop._announced = True
                _LOG.warning("compiling loops for this CPU, once: this takes half a minute")
        return int(self._made.address)

    def __call__(self, num_rows: int, num_elements: int, *rest: Tensor | float) -> Any:
        """Run it.

        Args:
            num_rows: rows for threads to claim.
            num_elements: amount of work, in elements of a norm.
            rest: further arguments; tensors are passed as addresses.

        Returns:
            The job, whose index 3 counts the threads that took part.
        """
        threads = 1 if _team() is None else min(torch.get_num_threads(), num_elements // _GRAIN, num_rows)
        part = num_rows if threads < 2 else -(-num_rows // (threads * _PARTS))
        words = [
            one.data_ptr() if isinstance(one, Tensor) else word(one) if isinstance(one, float) else one for one in rest
        ]
        job = (ctypes.c_int64 * (4 + len(rest)))(0, num_rows, part, 0, *words)
        if recorder.graph is not None:
            recorder.graph.append(self.address, job, threads, rest)
        self.run(job, threads)
        return job

    def run(self, job: Any, threads: int) -> None:
        """Run a job, anew or again."""
        job[0] = job[3] = 0
        if threads < 2:
            self._alone(job)
        else:
            _team()(self.address, job, threads, 0)


def _address(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def word(number: float) -> int:
    """The bits of a float32 as an integer."""
    return int(np.float32(number).view(np.int32))


_RESET, _PLAY = Loop("passes.reset"), Loop("passes.play")


class UnrepeatableError(RuntimeError):
    """A graph would read something that is neither computed by its loops, nor a weight, nor an input."""


class _Block:
    """Memory for one tensor at a time."""

    def __init__(self, num_bytes: int) -> None:
        raw = np.empty(num_bytes + ALIGNMENT, np.uint8)
        self._bytes = raw[-raw.ctypes.data % ALIGNMENT :][:num_bytes]
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
        self._blocks, self._jobs, self._threads = blocks, list[tuple[int, Any]](), 1
        self._constants = list(constants)
        self._known = {_storage_of(one) for one in self._constants}

    def append(self, address: int, job: Any, threads: int, given: Sequence[Tensor | float]) -> None:
        """Record a loop by its address.

        Raises:
            UnrepeatableError: if it reads a tensor whose content came from elsewhere.
        """
        known = self._known | {block.address for block in self._blocks.blocks}
        if any(isinstance(one, Tensor) and one.numel() and _storage_of(one) not in known for one in given):
            raise UnrepeatableError("a loop reads a tensor that no loop wrote")
        self._jobs.append((address, job))
        self._threads = max(self._threads, threads)

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
        # One line of memory for each loop; see `passes.play`.
        self._table = np.zeros((len(self._jobs), 8), np.int64)
        for row, (address, job) in zip(self._table, self._jobs, strict=True):
            row[:2] = address, ctypes.addressof(job)
        self._pass = (ctypes.c_int64 * 6)(0, 0, 0, 0, len(self._table), self._table.ctypes.data)
        return self._out

    def play(self, inputs: Sequence[Tensor]) -> Tensor:
        """Replay with other inputs; the next graph that is played may overwrite the result."""
        for own, one in zip(self._inputs, inputs, strict=True):
            own.copy_(one)
        _RESET.run(self._pass, 1)
        _PLAY.run(self._pass, self._threads)
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
            known = self._graphs[key] = self._graphs.pop(key)
            return compute(*inputs) if known is None else known.play(inputs)
        graph = Graph(self._blocks, constants())
        try:
            out = graph.record(compute, inputs)
            self._graphs[key] = graph
        except UnrepeatableError:
            out = compute(*inputs)
            self._graphs[key] = None
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


def _storage_of(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
