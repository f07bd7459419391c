"""How loops are compiled, and how they run: on the threads of torch's own OpenMP, whose idle threads would spin against
those of a second pool.

A loop is compiled at its first call and kept on disk, beside the package or in the user's cache. What is changed in
this file reaches those of others when they are changed too, or what is kept is deleted.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from llvmlite import binding, ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.core import config as numba_config
from numba.extending import intrinsic
from numba.np.numpy_support import carray
from torch import Tensor

from sfumato.kernels.cpu.memory import recorder

Array = np.ndarray[Any, Any]
F, Z = np.float32, np.int32

FEATURES = binding.get_host_cpu_features()
"""Of this CPU, by LLVM's names."""
SUMS = {"reassoc", "contract", "nsz"}
"""Sums of a row may be taken in any order, and so in vectors. Not that there are no NaN: they are to be seen."""
FAINT = -87.0
"""Below, exponentials are 0: as floats that are not normal they would be slow."""
NEVER = -1e30
"""The score of what must not be."""
_LOG = logging.getLogger(__name__)
# What takes less is not worth a word.
_COMPILING_S = 0.3

WORD, INT, FLOAT = ir.IntType(64), ir.IntType(32), ir.FloatType()
"""Types of instructions."""
NUM_LANES = 32
"""Floats that are taken at once."""
LANES = ir.VectorType(FLOAT, NUM_LANES)
LINE = 4 * NUM_LANES
"""Bytes of them."""
ROWS_AT_ONCE = 8 if FEATURES.get("avx512f") else 2
"""Rows whose sums fill the registers, each of them lanes."""
# Of exp's polynomial.
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)

# Elements from which a second thread is worth waking, and how many parts each thread takes of what there is.
_GRAIN = 2**15
_PARTS = 4


def _find_cache() -> None:
    """Compile for this process alone where neither package nor home can be written to; numba would refuse to start."""
    try:
        njit(cache=True)(_find_cache)
    except RuntimeError:
        numba_config.CACHE_DIR = tempfile.mkdtemp(prefix="sfumato-")  # type: ignore[attr-defined]


_find_cache()


@functools.cache
def _team() -> Any:
    """GOMP_parallel of the OpenMP that torch runs on; None where it is another one."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*")):
        try:
            start = ctypes.CDLL(str(path)).GOMP_parallel
        except (OSError, AttributeError):
            continue
        start.argtypes, start.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
        return start
    return None


class Loop:
    """A function over a job, compiled at its first call.

    A job is the numbers of the rows that threads claim, and of threads; then addresses and sizes.
    """

    _lock = threading.Lock()
    _announced = False

    def __init__(self, function: Any) -> None:
        self._function = function
        self._address: int | None = None

    def _compile(self) -> int:
        with Loop._lock:
            started = time.perf_counter()
            compiled = cfunc(types.void(types.voidptr), cache=True)(self._function)
            slow = not compiled.cache_hits and time.perf_counter() - started > _COMPILING_S
            if slow and not Loop._announced:
                Loop._announced = True
                _LOG.warning("loops are being compiled for this CPU, once: that takes half a minute")
            address = int(compiled.address)  # type: ignore[arg-type]
            self._alone, self._address = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address), address
        return address

    def __call__(self, num_rows: int, num_elements: int, *rest: Tensor | float) -> Any:
        """Run it.

        Args:
            num_rows: what threads claim parts of.
            num_elements: how much there is to do, in what one of a norm is.
            rest: what else the function asks for; of tensors it is given the addresses.

        Returns:
            The job, in whose place 3 it says how many threads claimed a seat.
        """
        address = self._address or self._compile()
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


def code(generate: Any) -> Any:
    """A function of compiled code that is written as instructions."""
    return intrinsic(generate)


def call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """An instruction that calls a function by its name."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
    return builder.call(function, arguments)


def pointer(builder: Any, kind: Any, *terms: Any) -> Any:
    """To the sum of an address and some offsets."""
    address, *offsets = terms
    for offset in offsets:
        address = builder.add(address, offset)
    return builder.inttoptr(address, kind.as_pointer())


def add_product(builder: Any, sums: Any, factor: Any, lanes: Any) -> None:
    """Add to sums in lanes the product of a number and lanes."""
    nothing, everywhere = ir.Constant(LANES, ir.Undefined), ir.Constant(ir.VectorType(INT, NUM_LANES), [0] * NUM_LANES)
    factors = builder.shuffle_vector(builder.insert_element(nothing, factor, INT(0)), nothing, everywhere)
    builder.store(call(builder, f"llvm.fmuladd.v{NUM_LANES}f32", LANES, factors, lanes, builder.load(sums)), sums)


@code
def claim(typing_context: Any, job: Any) -> Any:
    """The first of the rows that come next, which are then nobody else's."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        head = builder.bitcast(arguments[0], word.as_pointer())
        part = builder.load(builder.gep(head, [ir.Constant(word, 2)]))
        return builder.atomic_rmw("add", head, part, "monotonic")

    return types.int64(types.voidptr), generate


@code
def claim_seat(typing_context: Any, job: Any) -> Any:
    """How many threads have asked before: a number for each, below that of all threads that run the job."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        seats = builder.gep(builder.bitcast(arguments[0], word.as_pointer()), [ir.Constant(word, 3)])
        return builder.atomic_rmw("add", seats, ir.Constant(word, 1), "monotonic")

    return types.int64(types.voidptr), generate


@njit
def parts(job: Any) -> Any:
    """Rows that nobody else goes over, from the first to before the last, until none are left."""
    head = carray(job, (3,), np.int64)
    while True:
        first = claim(job)
        if first >= head[1]:
            return
        yield first, min(first + head[2], head[1])


@code
def at(typing_context: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


@code
def place_of(typing_context: Any, values: Any) -> Any:
    """The address of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(
            context.make_array(signature.args[0])(context, builder, arguments[0]).data, ir.IntType(64)
        )

    return types.int64(values), generate


@code
def bits_of(typing_context: Any, value: Any) -> Any:
    """The bits of a float."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@code
def float_of(typing_context: Any, bits: Any) -> Any:
    """The float with these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


def exp_of(builder: Any, x: Any) -> Any:
    """Instructions of exp(x), of a float or of lanes of them, to two units in the last place; 0 for what is below -87,
    exp(87) for what is above, and NaN for NaN.

    Source: 2^n exp(r) with |r| <= log(2) / 2, as in Cephes' expf, whose polynomial it is.
    """
    kind, lanes = x.type, getattr(x.type, "count", None)
    whole = ir.IntType(32) if lanes is None else ir.VectorType(ir.IntType(32), lanes)
    suffix = "f32" if lanes is None else f"v{lanes}f32"

    def all_of(value: float, of: Any = kind) -> Any:
        return ir.Constant(of, value if lanes is None else [value] * lanes)

    def fused(a: Any, b: Any, c: Any) -> Any:
        return call(builder, f"llvm.fmuladd.{suffix}", kind, a, b, c)

    faint = builder.fcmp_ordered("<", x, all_of(FAINT))
    held = builder.select(faint, all_of(FAINT), x)
    held = builder.select(builder.fcmp_ordered(">", held, all_of(-FAINT)), all_of(-FAINT), held)
    n = call(builder, f"llvm.rint.{suffix}", kind, builder.fmul(held, all_of(1.44269504)))
    r = fused(n, all_of(2.12194440e-4), fused(n, all_of(-0.693359375), held))
    p = all_of(_EXP[0])
    for factor in _EXP[1:]:
        p = fused(p, r, all_of(factor))
    y = builder.fadd(fused(builder.fmul(p, r), r, r), all_of(1.0))
    power = builder.shl(builder.add(builder.fptosi(n, whole), all_of(127, whole)), all_of(23, whole))
    return builder.select(faint, all_of(0.0), builder.fmul(y, builder.bitcast(power, kind)))


@code
def exp(typing_context: Any, x: Any) -> Any:
    """The same as a function."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return exp_of(builder, arguments[0])

    return types.float32(types.float32), generate


@njit(inline="always", cache=True)
def order(x: Any) -> Any:
    """An integer that is larger for larger floats: maxima of integers become vector code, those of floats do not."""
    bits = bits_of(x)
    return Z(bits ^ Z((bits >> Z(31)) & Z(0x7FFFFFFF)))


@njit(inline="always", cache=True)
def unorder(key: Any) -> Any:
    return float_of(Z(key ^ Z((key >> Z(31)) & Z(0x7FFFFFFF))))


def word(number: float) -> int:
    """The bits of a float32 as an integer."""
    return int(np.float32(number).view(np.int32))
