"""Products with float matrices that were packed once, in panels. Float32 on a CPU.

A panel is 32 outputs, stored side by side per input. Threads claim panels and multiply a few rows at a time. A row's
product depends only on the row: its sums are taken in one order, whatever other rows there are.
"""

# N rows, I inputs, O outputs, P outputs of a panel

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.np.numpy_support import carray

from sfumato.kernels.cpu.loops.compiling import (
    FLOAT,
    LANES,
    LINE,
    NUM_LANES,
    ROWS_AT_ONCE,
    WORD,
    Array,
    F,
    add_product,
    at,
    code,
    parts,
    place_of,
    pointer,
)

# Inputs per part of a long sum, so that this much of a panel stays in a cache for all rows.
_CHUNK = 2048


def _rows(num_rows: int) -> Any:
    """Emit code that adds the product of some rows with a part of a panel to their sums."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, x_stride, depth, panel, start, start_stride, out, out_stride = arguments

        def places(address: Any, stride: Any) -> list[Any]:
            return [pointer(builder, LANES, address, builder.mul(stride, WORD(row))) for row in range(num_rows)]

        # Declared in memory; the compiler keeps them in registers.
        sums = [cgutils.alloca_once(builder, LANES) for _ in range(num_rows)]  # type: ignore[no-untyped-call]
        for own, place in zip(sums, places(start, start_stride), strict=True):
            builder.store(builder.load(place, align=4), own)
        rows = [builder.add(x, builder.mul(x_stride, WORD(row))) for row in range(num_rows)]
        with cgutils.for_range(builder, depth) as loop:
            lanes = builder.load(pointer(builder, LANES, panel, builder.mul(loop.index, WORD(LINE))), align=64)
            for row, own in zip(rows, sums, strict=True):
                place = pointer(builder, FLOAT, row, builder.mul(loop.index, WORD(4)))
                add_product(builder, own, builder.load(place, align=4), lanes)
        for own, place in zip(sums, places(out, out_stride), strict=True):
            builder.store(builder.load(own), place, align=4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 8), generate


@code
def _multiply_rows(
    typing_context: Any, x: Any, x_stride: Any, depth: Any, panel: Any, start: Any, start_stride: Any, out: Any, to: Any
) -> Any:
    return _rows(ROWS_AT_ONCE)


@code
def _multiply_row(
    typing_context: Any, x: Any, x_stride: Any, depth: Any, panel: Any, start: Any, start_stride: Any, out: Any, to: Any
) -> Any:
    return _rows(1)


@njit(error_model="numpy")
def _multiply_panel(
    num_rows: int, x: int, x_stride: int, depth: int, panel: int, start: int, start_stride: int, out: int, to: int
) -> None:
    row = 0
    while row < num_rows:
        given = (
            x + row * x_stride,
            x_stride,
            depth,
            panel,
            start + row * start_stride,
            start_stride,
            out + row * to,
            to,
        )
        if num_rows - row >= ROWS_AT_ONCE:
            _multiply_rows(*given)
            row += ROWS_AT_ONCE
        else:
            _multiply_row(*given)
            row += 1


@njit(error_model="numpy")
def _begin(first: int, bias_O: Array, residual_NO: Array, out_NP: Array) -> None:
    """Initialise the sums of a panel with bias and residual."""
    for row in range(len(out_NP)):
        for column in range(NUM_LANES):
            out_NP[row, column] = bias_O[first + column]
            if row < len(residual_NO) and first + column < residual_NO.shape[1]:
                out_NP[row, column] += residual_NO[row, first + column]


def multiply(job: Any) -> None:
    head = carray(job, (15,), np.int64)
    num_rows, num_inputs, num_outputs, biased, adds = head[4], head[5], head[6], head[7] != 0, head[8] != 0
    x, x_stride, panels, bias, residual = head[9], 4 * head[10], head[11], head[12], head[13]
    num_panels, width = (num_outputs + NUM_LANES - 1) // NUM_LANES, 4 * num_outputs
    bias_O = carray(at(bias), (num_panels * NUM_LANES,), F)
    residual_NO = carray(at(residual), (num_rows if adds else 0, num_outputs), F)
    out_NO = carray(at(head[14]), (num_rows, num_outputs), F)
    product_NP = np.empty((num_rows, NUM_LANES), F)
    for first, last in parts(job):
        for number in range(first, last):
            column, panel = number * NUM_LANES, panels + number * num_inputs * LINE
            start, start_stride, out, stride = bias + 4 * column, 0, head[14] + 4 * column, width
            if adds:
                start, start_stride = residual + 4 * column, width
            apart = column + NUM_LANES > num_outputs or (biased and adds)
            if apart:
                _begin(column, bias_O, residual_NO, product_NP)
                start, start_stride, out, stride = place_of(product_NP), LINE, place_of(product_NP), LINE
            for chunk in range(0, num_inputs, _CHUNK):
                depth = min(_CHUNK, num_inputs - chunk)
                given = (x + 4 * chunk, x_stride, depth, panel + chunk * LINE, start, start_stride, out, stride)
                _multiply_panel(num_rows, *given)
                # The next part adds to this one.
                start, start_stride = out, stride
            if apart:
                end = min(num_outputs, column + NUM_LANES)
                out_NO[:, column:end] = product_NP[:, : end - column]
