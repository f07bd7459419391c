"""Products of 8-bit integers with a panel of a matrix, in CPU instructions: AMX, or VNNI of AVX-512.

A panel is 32 outputs, with four inputs of each output adjacent, as both instructions read them. Levels of groups are
unsigned; with 4 bits, those of the upper 16 outputs are in the upper halves of the bytes. After the levels of each
group come its 32 scales and 32 minimums, in float16.

Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, on VNNI and AMX.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from sfumato.kernels.base import SECOND_DIGIT
from sfumato.kernels.cpu.loops.compiling import Array, call, code, pointer
from sfumato.kernels.cpu.loops.sizes import PANEL, STEP, features

# Rows of an AMX tile.
TILE = 16
AMX = "amx_int8" in features()

_WORD, _INT, _BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)
_LANES, _FLOATS, _HALVES = (ir.VectorType(kind, 16) for kind in (_INT, ir.FloatType(), ir.HalfType()))
LINE = 64
_PRODUCT = types.void(*[types.int64] * 9)


def _fetch(builder: Any, *terms: Any) -> None:
    """Prefetch an address into the second-level cache."""
    reading, level, data = _INT(0), _INT(2), _INT(1)
    call(builder, "llvm.prefetch.p0", ir.VoidType(), pointer(builder, _BYTE, *terms), reading, level, data)


def _dots(num_rows: int) -> Any:
    """Emit the product of some rows with a panel in VNNI: 16 sums per register; 12 rows fill the registers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, start, start_stride, out, out_stride, ahead, num_ahead = arguments

        def places(address: Any, stride: Any) -> list[Any]:
            offsets = [builder.mul(stride, _WORD(row)) for row in range(num_rows)]
            return [pointer(builder, _LANES, address, row, _WORD(half)) for row in offsets for half in (0, LINE)]

        # Declared in memory; the compiler keeps them in registers.
        sums = [cgutils.alloca_once(builder, _LANES) for _ in range(2 * num_rows)]  # type: ignore[no-untyped-call]
        for own, place in zip(sums, places(start, start_stride), strict=True):
            builder.store(builder.load(place, align=4), own)
        fetched = builder.select(builder.icmp_signed(">", num_ahead, _WORD(0)), _WORD(2 * LINE), _WORD(0))
        nothing, everywhere = ir.Constant(_LANES, ir.Undefined), ir.Constant(_LANES, [0] * 16)
        with cgutils.for_range(builder, builder.sdiv(width, _WORD(4))) as loop:
            panel_at, ahead_at = (builder.mul(loop.index, step) for step in (_WORD(2 * LINE), fetched))
            halves = []
            for half in (0, LINE):
                halves.append(builder.load(pointer(builder, _LANES, panel, panel_at, _WORD(half)), align=LINE))
                _fetch(builder, ahead, ahead_at, _WORD(half))
            for row in range(num_rows):
                place = pointer(builder, _INT, x, builder.mul(width, _WORD(row)), builder.mul(loop.index, _WORD(4)))
                four = builder.insert_element(nothing, builder.load(place, align=4), _INT(0))
                fours = builder.shuffle_vector(four, nothing, everywhere)
                for half, own in zip(halves, sums[2 * row : 2 * row + 2], strict=True):
                    given = (builder.load(own), fours, half)
                    builder.store(call(builder, "llvm.x86.avx512.vpdpbusd.512", _LANES, *given), own)
        for own, place in zip(sums, places(out, out_stride), strict=True):
            builder.store(builder.load(own), place, align=4)
        return context.get_dummy_value()

    return _product(generate)


def _grouped_dots(num_rows: int, bits: int) -> Any:
    """Emit the same for a panel in groups, with float results. Instead of start values it reads factors: for each group
    of a row, the scale of its inputs, and that times their sum."""
    step_bytes = 4 * PANEL * bits // 8

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, factors, factors_stride, out, out_stride, ahead, num_ahead = arguments
        num_groups = builder.sdiv(factors_stride, _WORD(8))
        group = builder.sdiv(width, num_groups)
        levels_bytes = builder.mul(builder.sdiv(group, _WORD(4)), _WORD(step_bytes))
        block_bytes = builder.add(levels_bytes, _WORD(2 * LINE))
        distance = builder.select(builder.icmp_signed(">", num_ahead, _WORD(0)), builder.sub(ahead, panel), _WORD(0))
        sums, totals = (
            [cgutils.alloca_once(builder, kind) for _ in range(2 * num_rows)]  # type: ignore[no-untyped-call]
            for kind in (_LANES, _FLOATS)
        )
        low = ir.Constant(_LANES, [0x0F0F0F0F] * 16)

        def everywhere(kind: Any, *terms: Any) -> Any:
            one = builder.load(pointer(builder, kind.element, *terms), align=4)
            alone = builder.insert_element(ir.Constant(kind, ir.Undefined), one, _INT(0))
            return builder.shuffle_vector(alone, ir.Constant(kind, ir.Undefined), ir.Constant(_LANES, [0] * 16))

        def fused(a: Any, b: Any, total: Any) -> None:
            builder.store(call(builder, "llvm.fma.v16f32", _FLOATS, a, b, builder.load(total)), total)

        def take(block: Any, inputs: Any, step: Any) -> None:
            """Add the products of four inputs."""
            lines = builder.mul(step, _WORD(step_bytes))
            halves = []
            for line in range(0, step_bytes, LINE):
                halves.append(builder.load(pointer(builder, _LANES, block, lines, _WORD(line)), align=LINE))
                _fetch(builder, block, distance, lines, _WORD(line))
            if bits == 4:
                upper = builder.lshr(halves[0], ir.Constant(_LANES, [4] * 16))
                halves = [builder.and_(half, low) for half in (halves[0], upper)]
            for row in range(num_rows):
                fours = everywhere(_LANES, inputs, builder.mul(width, _WORD(row)), builder.mul(step, _WORD(4)))
                for half, own in zip(halves, sums[2 * row : 2 * row + 2], strict=True):
                    given = (builder.load(own), half, fours)
                    builder.store(call(builder, "llvm.x86.avx512.vpdpbusd.512", _LANES, *given), own)

        for total in totals:
            builder.store(ir.Constant(_FLOATS, [0.0] * 16), total)
        with cgutils.for_range(builder, num_groups) as loop:
            block = builder.add(panel, builder.mul(loop.index, block_bytes))
            inputs = builder.add(x, builder.mul(loop.index, group))
            for own in sums:
                builder.store(ir.Constant(_LANES, [0] * 16), own)
            # Eight at a time, because loop overhead would cost as much as a row.
            num_steps = builder.sdiv(group, _WORD(4))
            num_eights = builder.sdiv(num_steps, _WORD(8))
            with cgutils.for_range(builder, num_eights) as eight:
                for number in range(8):
                    take(block, inputs, builder.add(builder.mul(eight.index, _WORD(8)), _WORD(number)))
            whole_steps = builder.mul(num_eights, _WORD(8))
            with cgutils.for_range(builder, builder.sub(num_steps, whole_steps)) as step:
                take(block, inputs, builder.add(whole_steps, step.index))
            scales, minimums = (
                [
                    builder.fpext(
                        builder.load(pointer(builder, _HALVES, block, levels_bytes, _WORD(first + half)), align=32),
                        _FLOATS,
                    )
                    for half in (0, LINE // 2)
                ]
                for first in (0, LINE)
            )
            for line in (0, LINE):
                _fetch(builder, block, distance, levels_bytes, _WORD(line))
            for row in range(num_rows):
                terms = (factors, builder.mul(factors_stride, _WORD(row)), builder.mul(loop.index, _WORD(8)))
                scale, scaled_sum = (everywhere(_FLOATS, *terms, _WORD(place)) for place in (0, 4))
                for half in (0, 1):
                    sum_, total = sums[2 * row + half], totals[2 * row + half]
                    whole = builder.sitofp(builder.load(sum_), _FLOATS)
                    fused(builder.fmul(whole, scale), scales[half], total)
                    fused(scaled_sum, minimums[half], total)
        for number, total in enumerate(totals):
            at_row = builder.mul(out_stride, _WORD(number // 2))
            place = pointer(builder, _FLOATS, out, at_row, _WORD(number % 2 * LINE))
            builder.store(builder.load(total), place, align=4)
        return context.get_dummy_value()

    return _product(generate)


def _tiles(num_tiles: int) -> Any:
    """Emit the product of one or two tiles of 16 rows with a panel in AMX. Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7
    the panel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, start, start_stride, out, out_stride, ahead, num_ahead = arguments

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
                _fetch(builder, ahead, ahead_at, builder.mul(line.index, _WORD(LINE)))
        each_sum("stored64", out, out_stride)
        return context.get_dummy_value()

    return _product(generate)


def _product(generate: Any) -> Any:
    """Product of some rows with a panel, given addresses and strides in bytes. Meanwhile, `num_ahead` lines of memory
    per instruction are prefetched from `ahead`."""

    @code
    def product(
        typing_context: Any,
        x: Any,
        width: Any,
        panel: Any,
        start: Any,
        start_stride: Any,
        out: Any,
        out_stride: Any,
        ahead: Any,
        num_ahead: Any,
    ) -> Any:
        return _PRODUCT, generate

    return product


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


_dots_12, _dots_8, _dots_4, _dots_2, _dots_1 = (_dots(num_rows) for num_rows in (12, 8, 4, 2, 1))
# Six rows with their float sums fill the registers.
_dots_6_of_4, _dots_4_of_4, _dots_2_of_4, _dots_1_of_4 = (_grouped_dots(num_rows, 4) for num_rows in (6, 4, 2, 1))
_dots_6_of_8, _dots_4_of_8, _dots_2_of_8, _dots_1_of_8 = (_grouped_dots(num_rows, 8) for num_rows in (6, 4, 2, 1))
_two_tiles, _one_tile = _tiles(2), _tiles(1)


@njit(error_model="numpy")
def multiply_by_lanes(num_rows: int, product: Any, shapes: int) -> None:
    """Multiply all rows with a panel; `product` is what `_product` takes, without `num_ahead`."""
    x, width, panel, start, start_stride, out, out_stride, ahead = product
    row = 0
    while row < num_rows:
        left = num_rows - row
        first, to = start + row * start_stride, out + row * out_stride
        # Memory takes as long as 12 rows, so the first ones prefetch the next panel.
        given = (x + row * width, width, panel, first, start_stride, to, out_stride, ahead, 2 if row == 0 else 0)
        if left >= 12:
            _dots_12(*given)
            row += 12
        elif left >= 8:
            _dots_8(*given)
            row += 8
        elif left >= 4:
            _dots_4(*given)
            row += 4
        elif left >= 2:
            _dots_2(*given)
            row += 2
        else:
            _dots_1(*given)
            row += 1


@njit(error_model="numpy")
def multiply_groups(num_rows: int, product: Any, bits: int) -> None:
    """Multiply all rows with a panel in groups."""
    x, width, panel, factors, factors_stride, out, out_stride, ahead = product
    row = 0
    while row < num_rows:
        left = num_rows - row
        of_row, to = factors + row * factors_stride, out + row * out_stride
        given = (x + row * width, width, panel, of_row, factors_stride, to, out_stride, ahead, 1 if row == 0 else 0)
        if left >= 6:
            if bits == 4:
                _dots_6_of_4(*given)
            else:
                _dots_6_of_8(*given)
            row += 6
        elif left >= 4:
            if bits == 4:
                _dots_4_of_4(*given)
            else:
                _dots_4_of_8(*given)
            row += 4
        elif left >= 2:
            if bits == 4:
                _dots_2_of_4(*given)
            else:
                _dots_2_of_8(*given)
            row += 2
        else:
            if bits == 4:
                _dots_1_of_4(*given)
            else:
                _dots_1_of_8(*given)
            row += 1


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
        given = (x + row * width, width, panel, first, start_stride, to, out_stride, ahead, num_ahead)
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


def _finishing(digits: int, adds: bool, grouped: bool) -> Any:
    """Emit code that turns a panel's sums into floats, 16 at a time, and adds bias and residual. Residual and result
    have one stride. Sums of groups are floats already, with their inputs' scales."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product, num_rows, scale, scales, bias, residual, out, stride = arguments
        nothing, everywhere = ir.Constant(_FLOATS, ir.Undefined), ir.Constant(_LANES, [0] * 16)

        def load(kind: Any, *terms: Any) -> Any:
            return builder.load(pointer(builder, kind, *terms), align=4)

        def load_sums(row: Any, half: Any) -> Any:
            terms = (product, builder.mul(row, _WORD(4 * PANEL)), half)
            return load(_FLOATS, *terms) if grouped else builder.sitofp(load(_LANES, *terms), _FLOATS)

        with cgutils.for_range(builder, num_rows) as loop:
            own = load(ir.FloatType(), scale, builder.mul(loop.index, _WORD(4)))
            factors = builder.shuffle_vector(builder.insert_element(nothing, own, _INT(0)), nothing, everywhere)
            row = builder.mul(loop.index, stride)
            for half in (_WORD(0), _WORD(LINE)):
                sums = load_sums(loop.index, half)
                if digits == 2:
                    rest = load_sums(builder.add(loop.index, num_rows), half)
                    if not grouped:
                        rest = builder.fmul(rest, ir.Constant(_FLOATS, [1.0 / SECOND_DIGIT] * 16))
                    sums = builder.fadd(sums, rest)
                if not grouped:
                    sums = builder.fmul(sums, factors)
                sums = builder.fmul(sums, load(_FLOATS, scales, half))
                sums = builder.fadd(sums, load(_FLOATS, bias, half))
                if adds:
                    sums = builder.fadd(sums, load(_FLOATS, residual, row, half))
                builder.store(sums, pointer(builder, _FLOATS, out, row, half), align=4)
        return context.get_dummy_value()

    @code
    def finish_panel(
        typing_context: Any,
        product: Any,
        num_rows: Any,
        scale: Any,
        scales: Any,
        bias: Any,
        residual: Any,
        out: Any,
        stride: Any,
    ) -> Any:
        return types.void(*[types.int64] * 8), generate

    return finish_panel


_finish_1, _finish_2, _finish_1_adding, _finish_2_adding = (
    _finishing(digits, adds, False) for adds in (False, True) for digits in (1, 2)
)
_join_1, _join_2, _join_1_adding, _join_2_adding = (
    _finishing(digits, adds, True) for adds in (False, True) for digits in (1, 2)
)


@njit(error_model="numpy")
def finish(digits: int, adds: bool, panel: Any) -> None:
    if digits == 2:
        if adds:
            _finish_2_adding(*panel)
        else:
            _finish_2(*panel)
    elif adds:
        _finish_1_adding(*panel)
    else:
        _finish_1(*panel)


@njit(error_model="numpy")
def finish_groups(digits: int, adds: bool, panel: Any) -> None:
    if digits == 2:
        if adds:
            _join_2_adding(*panel)
        else:
            _join_2(*panel)
    elif adds:
        _join_1_adding(*panel)
    else:
        _join_1(*panel)
