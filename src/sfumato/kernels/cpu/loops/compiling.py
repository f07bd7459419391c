"""Building blocks of loops, and their compilation.

numba caches compiled loops on disk by the file they are in. After a change in this file, touch the other files or
delete the cache.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.core import config as numba_config
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from sfumato.kernels.cpu.loops.sizes import PANEL, features

Array = np.ndarray[Any, Any]
F, Z = np.float32, np.int32

SUMS = {"reassoc", "contract", "nsz"}
"""Allows sums in any order, and so in vectors. NaN must stay visible, so they are not excluded."""
FAINT = -87.0
"""Exponentials below this are 0, because denormal floats are slow."""
NEVER = -1e30
"""Score of what is masked or banned."""
WORD, INT, FLOAT = ir.IntType(64), ir.IntType(32), ir.FloatType()
"""LLVM types."""
NUM_LANES = PANEL
"""Floats processed at once."""
LANES = ir.VectorType(FLOAT, NUM_LANES)
LINE = 4 * NUM_LANES
"""Their size in bytes."""
ROWS_AT_ONCE = 8 if "avx512f" in features() else 2
"""Rows whose sums fill the vector registers."""
# Coefficients of exp's polynomial.
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)


def _find_cache() -> None:
    """Use a temporary cache if neither package nor home is writable, because numba would refuse to start."""
    try:
        njit(cache=True)(_find_cache)
    except RuntimeError:
        numba_config.CACHE_DIR = tempfile.mkdtemp(prefix="sfumato-")  # type: ignore[attr-defined]


_find_cache()


def compiled(function: Callable[[Any], None]) -> Any:
    """Compile a loop as a C function."""
    return cfunc(types.void(types.voidptr), cache=True)(function)


def code(generate: Any) -> Any:
    """Decorator for functions of compiled code that are written as LLVM instructions."""
    return intrinsic(generate)


def call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """Emit a call of a function by name."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
    return builder.call(function, arguments)


def pointer(builder: Any, kind: Any, *terms: Any) -> Any:
    """A pointer to an address plus offsets."""
    address, *offsets = terms
    for offset in offsets:
        address = builder.add(address, offset)
    return builder.inttoptr(address, kind.as_pointer())


def add_product(builder: Any, sums: Any, factor: Any, lanes: Any) -> None:
    """Add a number times a vector to sums."""
    kind, count = lanes.type, lanes.type.count
    nothing, everywhere = ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(INT, count), [0] * count)
    factors = builder.shuffle_vector(builder.insert_element(nothing, factor, INT(0)), nothing, everywhere)
    builder.store(call(builder, f"llvm.fmuladd.v{count}f32", kind, factors, lanes, builder.load(sums)), sums)


@code
def claim(typing_context: Any, job: Any) -> Any:
    """Claim the next rows for this thread, and return the first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        head = builder.bitcast(arguments[0], word.as_pointer())
        part = builder.load(builder.gep(head, [ir.Constant(word, 2)]))
        return builder.atomic_rmw("add", head, part, "monotonic")

    return types.int64(types.voidptr), generate


@code
def claim_seat(typing_context: Any, job: Any) -> Any:
    """A number for this thread, from 0 to the number of threads that run the job."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        seats = builder.gep(builder.bitcast(arguments[0], word.as_pointer()), [ir.Constant(word, 3)])
        return builder.atomic_rmw("add", seats, ir.Constant(word, 1), "monotonic")

    return types.int64(types.voidptr), generate


@njit
def parts(job: Any) -> Any:
    """Claim ranges of rows, as (first, end), until none are left."""
    head = carray(job, (3,), np.int64)
    while True:
        first = claim(job)
        if first >= head[1]:
            return
        yield first, min(first + head[2], head[1])


@code
def at(typing_context: Any, address: Any) -> Any:
    """Convert an address to a pointer."""

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
    """The float with the given bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


def exp_of(builder: Any, x: Any) -> Any:
    """Emit exp(x) of a float or a vector, to two units in the last place: 0 below -87, exp(87) above 87, and NaN for
    NaN.

    Source: 2^n exp(r) with |r| <= log(2) / 2 and the polynomial of Cephes' expf.
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
    """`exp_of` a float, as a function."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return exp_of(builder, arguments[0])

    return types.float32(types.float32), generate


@njit(inline="always", cache=True)
def order(x: Any) -> Any:
    """Map floats to integers in the same order: maxima of integers are vectorised, those of floats are not."""
    bits = bits_of(x)
    return Z(bits ^ Z((bits >> Z(31)) & Z(0x7FFFFFFF)))


@njit(inline="always", cache=True)
def unorder(key: Any) -> Any:
    return float_of(Z(key ^ Z((key >> Z(31)) & Z(0x7FFFFFFF))))
