"""Products of 8-bit integers with a panel of a matrix in AMX, where a CPU has it.

Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, on AMX.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from sfumato.kernels.cpu.loops.compiling import Array, call, code, pointer
from sfumato.kernels.cpu.loops.instructions import LINE, fetch, multiply_by_lanes, product_of
from sfumato.kernels.cpu.loops.sizes import PANEL, STEP, features

# Rows of a tile.
TILE = 16
AMX = "amx_int8" in features()

_WORD, _BYTE = ir.IntType(64), ir.IntType(8)


def _tiles(num_tiles: int) -> Any:
    """Emit the product of one or two tiles of 16 rows with a panel in AMX. Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7
    the panel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, start, start_stride, out, out_stride, ahead, num_ahead, _ = arguments

        def tile(name: str, number: int, stride: Any, *terms: Any) -> None:
            place = pointer(builder, _BYTE, *terms)
            call(builder, f"llvm.x86.tile{name}", ir.VoidType(), _BYTE(number), place, stride)

        def each_sum(name: str, address: Any, stride: Any) -> None:
            for number in range(2 * num_tiles):
                rows, half = divmod(number, 2)
                tile(name, number, stride, address, builder.mul(stride, _WORD(TILE * rows)), _WORD(LINE * half))

        each_sum("loadd64", start, start_stride)
        with cgutils.for_range(builder, builder.sdiv(width, _WORD(STEP))) as loop:
            panel_at = builder.mul(loop.index, _WORD(PANEL * STEP))
            for half in (0, 1):
                tile("loadd64", 6 + half, _WORD(2 * LINE), panel, panel_at, _WORD(LINE * half))
            for rows in range(num_tiles):
                offset = builder.mul(width, _WORD(TILE * rows))
                tile("loadd64", 4 + rows, width, x, offset, builder.mul(loop.index, _WORD(STEP)))
                for half in (0, 1):
                    given = (_BYTE(2 * rows + half), _BYTE(4 + rows), _BYTE(6 + half))
                    call(builder, "llvm.x86.tdpbssd", ir.VoidType(), *given)
            ahead_at = builder.mul(loop.index, builder.mul(num_ahead, _WORD(LINE)))
            with cgutils.for_range(builder, num_ahead) as line:
                fetch(builder, ahead, ahead_at, builder.mul(line.index, _WORD(LINE)))
        each_sum("stored64", out, out_stride)
        return context.get_dummy_value()

    return product_of(generate)


@code
def _shape_tiles(typing_context: Any, shapes: Any) -> Any:
    """Configure the tiles from the shapes at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        call(builder, "llvm.x86.ldtilecfg", ir.VoidType(), pointer(builder, _BYTE, arguments[0]))
        return context.get_dummy_value()

    return types.void(types.int64), generate


@code
def _leave_tiles(typing_context: Any) -> Any:
    """Release the tiles."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        call(builder, "llvm.x86.tilerelease", ir.VoidType())
        return context.get_dummy_value()

    return types.void(), generate


_two_tiles, _one_tile = _tiles(2), _tiles(1)


@njit(error_model="numpy")
def _by_tiles_of_amx(num_rows: int, product: Any, shapes: int) -> None:
    """`multiply_by_lanes` in AMX, with the shapes from `fill_shapes`."""
    x, width, panel, start, start_stride, out, out_stride, ahead = product
    # Each instruction reads 32 lines of the panel.
    num_ahead = 32 // max((num_rows + 2 * TILE - 1) // (2 * TILE), 1)
    for row in range(0, num_rows, 2 * TILE):
        left = num_rows - row
        if left < 2 * TILE:
            _shape_tiles(shapes + LINE)
        elif row == 0:
            _shape_tiles(shapes)
        first, to = start + row * start_stride, out + row * out_stride
        given = (x + row * width, width, panel, first, start_stride, to, out_stride, ahead, num_ahead, 0)
        if left > TILE:
            _two_tiles(*given)
        else:
            _one_tile(*given)
        ahead += num_ahead * width


# Instructions that this CPU lacks must not be compiled.
multiply_by_tiles = _by_tiles_of_amx if AMX else multiply_by_lanes


@njit(error_model="numpy")
def leave_tiles() -> None:
    """Release the tiles, if the CPU has any."""
    if AMX:
        _leave_tiles()


@njit(error_model="numpy")
def fill_shapes(num_rows: int, shapes_2B: Array) -> None:
    """Write the shapes of tiles for whole pairs, and for the remaining rows.

    Source: the manual's LDTILECFG: a byte of 1, bytes per row of each tile from byte 16 on, rows from byte 48 on.
    """
    tail = num_rows % (2 * TILE)
    shapes_2B[:] = 0
    for shape in range(2):
        upper = TILE if shape == 0 else max(1, min(tail, TILE))
        lower = TILE if shape == 0 else max(1, tail - TILE)
        shapes_2B[shape, 0] = 1
        for tile in range(8):
            shapes_2B[shape, 16 + 2 * tile] = LINE
            shapes_2B[shape, 48 + tile] = TILE
        for tile in (0, 1, 4):
            shapes_2B[shape, 48 + tile] = upper
        for tile in (2, 3, 5):
            shapes_2B[shape, 48 + tile] = lower
