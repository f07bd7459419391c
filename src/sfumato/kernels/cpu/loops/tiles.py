"""Products of 8-bit integers with a panel of a matrix in AMX, where a CPU has it.

Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, on AMX.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from sfumato.kernels.cpu.loops.compiling import Array, call, code, pointer
from sfumato.kernels.cpu.loops.instructions import (
    LINE,
    add_rows,
    clear_rows,
    fetch,
    halve_line,
    multiply_by_lanes,
    multiply_groups,
    product_of,
)
from sfumato.kernels.cpu.loops.sizes import PANEL, STEP, features

# Rows of a tile.
TILE = 16
_TILE_BYTES = TILE * LINE
GROUP_BYTES = 6 * _TILE_BYTES
"""Memory in which a product in groups keeps the levels of a group and the sums of two tiles of rows."""
AMX = "amx_int8" in features()

_WORD, _BYTE = ir.IntType(64), ir.IntType(8)


def _move(builder: Any, name: str, number: int, stride: Any, *terms: Any) -> None:
    """Load or store a tile."""
    call(builder, f"llvm.x86.tile{name}", ir.VoidType(), _BYTE(number), pointer(builder, _BYTE, *terms), stride)


def _multiply(builder: Any, rows: int, x: Any, width: Any, *terms: Any) -> None:
    """Multiply a tile of rows with the panel in tiles 6 and 7."""
    _move(builder, "loadd64", 4 + rows, width, x, builder.mul(width, _WORD(TILE * rows)), *terms)
    for half in (0, 1):
        given = (_BYTE(2 * rows + half), _BYTE(4 + rows), _BYTE(6 + half))
        call(builder, "llvm.x86.tdpbssd", ir.VoidType(), *given)


def _tiles(num_tiles: int) -> Any:
    """Emit the product of one or two tiles of 16 rows with a panel in AMX. Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7
    the panel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, start, start_stride, out, out_stride, ahead, num_ahead, _ = arguments

        def each_sum(name: str, address: Any, stride: Any) -> None:
            for number in range(2 * num_tiles):
                rows, half = divmod(number, 2)
                terms = (address, builder.mul(stride, _WORD(TILE * rows)), _WORD(LINE * half))
                _move(builder, name, number, stride, *terms)

        each_sum("loadd64", start, start_stride)
        with cgutils.for_range(builder, builder.sdiv(width, _WORD(STEP))) as loop:
            panel_at = builder.mul(loop.index, _WORD(PANEL * STEP))
            for half in (0, 1):
                _move(builder, "loadd64", 6 + half, _WORD(2 * LINE), panel, panel_at, _WORD(LINE * half))
            for rows in range(num_tiles):
                _multiply(builder, rows, x, width, builder.mul(loop.index, _WORD(STEP)))
            ahead_at = builder.mul(loop.index, builder.mul(num_ahead, _WORD(LINE)))
            with cgutils.for_range(builder, num_ahead) as line:
                fetch(builder, ahead, ahead_at, builder.mul(line.index, _WORD(LINE)))
        each_sum("stored64", out, out_stride)
        return context.get_dummy_value()

    return product_of(generate)


def _grouped_tiles(num_tiles: int) -> Any:
    """Emit the same for a panel of 4 bits in groups of 64 inputs, as many as a tile has; see `instructions`. Instead of
    lines to prefetch it gets the number of rows, and last the address of GROUP_BYTES of memory."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, factors, factors_stride, out, out_stride, ahead, num_rows, memory = arguments
        distance, sums = builder.sub(ahead, panel), builder.add(memory, _WORD(2 * _TILE_BYTES))
        clear_rows(builder, num_rows, out, out_stride)
        with cgutils.for_range(builder, builder.sdiv(width, _WORD(STEP))) as loop:
            block = builder.add(panel, builder.mul(loop.index, _WORD(_TILE_BYTES + 2 * LINE)))
            for line in range(0, _TILE_BYTES + 2 * LINE, LINE):
                if line < _TILE_BYTES:
                    halve_line(builder, builder.add(memory, _WORD(line)), _TILE_BYTES, block, _WORD(line))
                fetch(builder, block, distance, _WORD(line))
            for half in (0, 1):
                _move(builder, "loadd64", 6 + half, _WORD(LINE), memory, _WORD(half * _TILE_BYTES))
            for number in range(2 * num_tiles):
                call(builder, "llvm.x86.tilezero", ir.VoidType(), _BYTE(number))
            for rows in range(num_tiles):
                _multiply(builder, rows, x, width, builder.mul(loop.index, _WORD(STEP)))
            for number in range(2 * num_tiles):
                # Both halves of a row are adjacent.
                rows, half = divmod(number, 2)
                at = _WORD(2 * _TILE_BYTES * rows + LINE * half)
                _move(builder, "stored64", number, _WORD(2 * LINE), sums, at)
            of_group = builder.add(factors, builder.mul(loop.index, _WORD(8)))
            pairs = builder.add(block, _WORD(_TILE_BYTES))
            add_rows(builder, num_rows, sums, pairs, of_group, factors_stride, out, out_stride)
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
_two_grouped, _one_grouped = _grouped_tiles(2), _grouped_tiles(1)


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


@njit(error_model="numpy")
def _groups_by_tiles_of_amx(num_rows: int, product: Any, shapes: int, memory: int) -> None:
    """`multiply_groups` of 4 bits in AMX, with the shapes from `fill_shapes` and GROUP_BYTES of memory."""
    x, width, panel, factors, factors_stride, out, out_stride, ahead = product
    for row in range(0, num_rows, 2 * TILE):
        left = num_rows - row
        if left < 2 * TILE:
            _shape_tiles(shapes + LINE)
        elif row == 0:
            _shape_tiles(shapes)
        of_row, to = factors + row * factors_stride, out + row * out_stride
        # The first rows prefetch the next panel.
        then = ahead if row == 0 else panel
        given = (x + row * width, width, panel, of_row, factors_stride, to, out_stride, then)
        if left > TILE:
            _two_grouped(*given, min(left, 2 * TILE), memory)
        else:
            _one_grouped(*given, left, memory)


@njit(error_model="numpy")
def _groups_by_lanes(num_rows: int, product: Any, shapes: int, memory: int) -> None:
    multiply_groups(num_rows, product, 4)


# Instructions that this CPU lacks must not be compiled.
multiply_by_tiles = _by_tiles_of_amx if AMX else multiply_by_lanes
multiply_groups_by_tiles = _groups_by_tiles_of_amx if AMX else _groups_by_lanes


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
