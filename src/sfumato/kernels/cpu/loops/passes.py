"""The loops of a whole pass, in one region of threads.

All threads go through the loops in order. A loop is over once all its rows are claimed and no thread is in it. A thread
whose core was given to another program finds its loops over when it comes back and skips them, so the others wait for
it only if it was in the middle of a loop.
"""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.np.numpy_support import carray

from sfumato.kernels.cpu.loops.compiling import INT, WORD, at, call, code, pointer

# Added to the number of threads in a loop when it is over.
_OVER = 2**32
# Looks at a loop before the core is offered to other threads: some fifty microseconds.
_PATIENCE = 1000
_SETTLED = "seq_cst"


@code
def _add(typing_context: Any, place: Any, number: Any) -> Any:
    """Add to a number that other threads change, and return what it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", pointer(builder, WORD, arguments[0]), arguments[1], _SETTLED)

    return types.int64(types.int64, types.int64), generate


@code
def _look(typing_context: Any, place: Any) -> Any:
    """A number that other threads change."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(pointer(builder, WORD, arguments[0]), _SETTLED, 8)

    return types.int64(types.int64), generate


@code
def _end(typing_context: Any, place: Any) -> Any:
    """Make a loop without threads one that is over; false if a thread is in it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = pointer(builder, WORD, arguments[0])
        swapped = builder.cmpxchg(place, WORD(0), WORD(_OVER), _SETTLED, _SETTLED)
        return builder.extract_value(swapped, 1)

    return types.boolean(types.int64), generate


@code
def _run(typing_context: Any, function: Any, job: Any) -> Any:
    """Run a loop by its address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
        builder.call(pointer(builder, kind, arguments[0]), [pointer(builder, ir.IntType(8), arguments[1])])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@code
def _pause(typing_context: Any) -> Any:
    """Leave the units of the core to its other thread for a moment."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if platform.machine().lower() in ("x86_64", "amd64"):
            call(builder, "llvm.x86.sse2.pause", ir.VoidType())
        return context.get_dummy_value()

    return types.void(), generate


@code
def _give_way(typing_context: Any) -> Any:
    """Let another thread use the core, if one waits for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if os.name == "posix":
            call(builder, "sched_yield", INT)
        return context.get_dummy_value()

    return types.void(), generate


def reset(job: Any) -> None:
    """Prepare the loops for `play`, in one thread."""
    head = carray(job, (6,), np.int64)
    table = carray(at(head[5]), (head[4], 8), np.int64)
    for i in range(len(table)):
        claims = carray(at(table[i, 1]), (4,), np.int64)
        claims[0] = claims[3] = table[i, 2] = 0


def play(job: Any) -> None:
    """Run the loops of a table: for each its address, that of its job, and its state."""
    head = carray(job, (6,), np.int64)
    table = carray(at(head[5]), (head[4], 8), np.int64)
    for i in range(len(table)):
        state = head[5] + 64 * i + 16
        if _add(state, 1) >= _OVER:
            continue
        _run(table[i, 0], table[i, 1])
        _add(state, -1)
        num_looks = 0
        while _look(state) < _OVER and not _end(state):
            num_looks += 1
            _pause()
            if num_looks > _PATIENCE:
                _give_way()
