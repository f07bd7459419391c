"""Runs compiled loops on the threads of torch's own OpenMP, because a second pool's idle threads would compete with
them.

Loops are written in `kernels.cpu.loops`. The package ships them compiled for Linux CPUs with AVX-512 and VNNI;
elsewhere, and if their source was changed, a loop is compiled at its first call and cached on disk, next to the package
or in the user's cache.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib
import logging
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfumato.kernels.base import DIGIT, SECOND_DIGIT
from sfumato.kernels.cpu.features import features
from sfumato.kernels.cpu.memory import recorder

LOOPS = Path(__file__).parent / "loops"
LIBRARY = LOOPS / "x86-64-v4-vnni.so"
"""The library, built by `python -m sfumato.kernels.cpu.loops.build`."""
NEEDED = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni", "bmi2", "fma", "avx2"}
"""CPU features it needs, by Linux's names."""
_LOG = logging.getLogger(__name__)
# Shorter compilations are not announced.
_COMPILING_S = 0.3
# Bytes of a seal.
_SEAL = 32
# Elements from which a second thread is worth waking, and parts per thread.
_GRAIN = 2**15
_PARTS = 4


def seal(content: bytes) -> bytes:
    """The seal at the end of a library: a hash of its content and of all sources of the loops."""
    digest = hashlib.sha256(repr((DIGIT, SECOND_DIGIT)).encode())
    for path in sorted((*LOOPS.glob("*.py"), *LOOPS.glob("*.c"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(content)
    return digest.digest()


@functools.cache
def library() -> ctypes.CDLL | None:
    """The loops shipped with the package; None if they do not run here or have other sources."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or not features() >= NEEDED:
        return None
    if os.environ.get("SFUMATO_COMPILE_LOOPS"):
        return None
    try:
        held = LIBRARY.read_bytes()
        return ctypes.CDLL(str(LIBRARY)) if held[-_SEAL:] == seal(held[:-_SEAL]) else None
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


class Loop:
    """A loop by its name, "module.function" of `kernels.cpu.loops`: a function of a job.

    A job is the numbers of rows that threads claim and of threads, then addresses and sizes.
    """

    _lock = threading.Lock()
    _announced = False

    def __init__(self, name: str) -> None:
        self.name, self.symbol = name, name.replace(".", "_")
        self._address: int | None = None

    def function(self) -> Callable[[Any], None]:
        """The compiled function."""
        module, _, name = self.name.rpartition(".")
        found: Callable[[Any], None] = getattr(importlib.import_module(f"{__package__}.loops.{module}"), name)
        return found

    def _find(self) -> int:
        shipped = library()
        address = self._compile() if shipped is None else _address(getattr(shipped, self.symbol))
        self._alone, self._address = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address), address
        return address

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
        address = self._address or self._find()
        team = _team()
        threads = 1 if team is None else min(torch.get_num_threads(), num_elements // _GRAIN, num_rows)
        part = num_rows if threads < 2 else -(-num_rows // (threads * _PARTS))
        words = [
            one.data_ptr() if isinstance(one, Tensor) else word(one) if isinstance(one, float) else one for one in rest
        ]
        job = (ctypes.c_int64 * (4 + len(rest)))(0, num_rows, part, 0, *words)

        def run() -> None:
            job[0] = job[3] = 0
            if threads < 2:
                self._alone(job)
            else:
                team(address, job, threads, 0)

        if recorder.graph is not None:
            recorder.graph.append(run, rest)
        run()
        return job


def _address(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def word(number: float) -> int:
    """The bits of a float32 as an integer."""
    return int(np.float32(number).view(np.int32))
