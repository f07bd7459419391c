"""Products of 8-bit integers with a panel of a matrix, in CPU instructions: VNNI on 512 or 256 bits, or AVX2.

A panel is 32 outputs, with four inputs of each output adjacent, as AMX and VNNI read them. Levels of groups are
unsigned; with 4 bits, those of the upper 16 outputs are in the upper halves of the bytes. After the levels of each
group come its 32 scales and 32 minimums, in float16.

Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, on VNNI.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from sfumato.kernels.base import SECOND_DIGIT
from sfumato.kernels.cpu.loops.compiling import call, code, pointer
from sfumato.kernels.cpu.loops.sizes import PANEL, features

VNNI = not features().isdisjoint({"avx512_vnni", "avx_vnni"})
LINE = 64
REGISTER = LINE if "avx512_vnni" in features() else 32
"""Bytes of a vector register. Two of them hold the sums of a row; without AVX-512 a panel takes two passes."""
INPUT_BYTES = 1 if VNNI else 2
"""Bytes per input, except for levels of 4 bits: AVX2 multiplies pairs of 16 bits, in the order of `products._widen`."""
_NUM_LANES = REGISTER // 4

_WORD, _INT, _SHORT, _BYTE = (ir.IntType(bits) for bits in (64, 32, 16, 8))
_LANES, _FLOATS, _HALVES = (ir.VectorType(kind, _NUM_LANES) for kind in (_INT, ir.FloatType(), ir.HalfType()))
_PAIRS, _BYTES = ir.VectorType(_SHORT, 2 * _NUM_LANES), ir.VectorType(_BYTE, REGISTER)
_PRODUCT = types.void(*[types.int64] * 10)
# Offsets of a row's two registers of sums, in bytes.
_SIDES = (0, 2 * PANEL)


def fetch(builder: Any, *terms: Any) -> None:
    """Prefetch an address into the second-level cache."""
    reading, level, data = _INT(0), _INT(2), _INT(1)
    call(builder, "llvm.prefetch.p0", ir.VoidType(), pointer(builder, _BYTE, *terms), reading, level, data)


def _everywhere(builder: Any, kind: Any, *terms: Any) -> Any:
    """Emit a register that holds the number at an address in all lanes."""
    number = builder.load(pointer(builder, kind.element, *terms), align=4)
    alone = builder.insert_element(ir.Constant(kind, ir.Undefined), number, _INT(0))
    return builder.shuffle_vector(alone, ir.Constant(kind, ir.Undefined), ir.Constant(_LANES, [0] * _NUM_LANES))


def _unpack(builder: Any, levels: Any, *, signed: bool) -> Sequence[Any]:
    """Emit a matrix's levels as `_add_dots` reads them. AVX2: those of even and of odd inputs, in 16 bits each."""
    if VNNI:
        return (levels,)
    eight = ir.Constant(_PAIRS, [8] * 2 * _NUM_LANES)
    pairs = builder.bitcast(levels, _PAIRS)
    if signed:
        return builder.ashr(builder.shl(pairs, eight), eight), builder.ashr(pairs, eight)
    return builder.and_(pairs, ir.Constant(_PAIRS, [0xFF] * 2 * _NUM_LANES)), builder.lshr(pairs, eight)


def _add_dots(builder: Any, sums: Sequence[Any], columns: Sequence[Sequence[Any]], signed: bool, *terms: Any) -> None:
    """Emit the products of four inputs of a row, at an address, with unpacked levels, and add them to the row's sums.
    One of inputs and levels is signed in VNNI; 16 bits hold either."""
    if VNNI:
        fours = _everywhere(builder, _LANES, *terms)
        for total, (levels,) in zip(sums, columns, strict=True):
            given = (fours, levels) if signed else (levels, fours)
            name = f"llvm.x86.avx512.vpdpbusd.{8 * REGISTER}"
            builder.store(call(builder, name, _LANES, builder.load(total), *given), total)
        return
    pairs = [builder.bitcast(_everywhere(builder, _LANES, *terms, _WORD(offset)), _PAIRS) for offset in (0, 4)]
    for total, levels in zip(sums, columns, strict=True):
        for given in zip(pairs, levels, strict=True):
            products = call(builder, "llvm.x86.avx2.pmadd.wd", _LANES, *given)
            builder.store(builder.add(builder.load(total), products), total)


def _dots(num_rows: int) -> Any:
    """Emit the product of some rows with a panel, or with half of it on 256 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, start, start_stride, out, out_stride, ahead, num_ahead, column = arguments

        def places(address: Any, stride: Any) -> list[Any]:
            offsets = [builder.mul(stride, _WORD(row)) for row in range(num_rows)]
            return [pointer(builder, _LANES, address, column, row, _WORD(side)) for row in offsets for side in _SIDES]

        # Declared in memory; the compiler keeps them in registers.
        sums = [cgutils.alloca_once(builder, _LANES) for _ in range(2 * num_rows)]  # type: ignore[no-untyped-call]
        for own, place in zip(sums, places(start, start_stride), strict=True):
            builder.store(builder.load(place, align=4), own)
        fetched = builder.select(builder.icmp_signed(">", num_ahead, _WORD(0)), _WORD(2 * LINE), _WORD(0))
        row_bytes = builder.mul(width, _WORD(INPUT_BYTES))
        with cgutils.for_range(builder, builder.sdiv(width, _WORD(4))) as loop:
            panel_at, ahead_at = (builder.mul(loop.index, step) for step in (_WORD(2 * LINE), fetched))
            columns = []
            for side in _SIDES:
                place = pointer(builder, _LANES, panel, column, panel_at, _WORD(side))
                columns.append(_unpack(builder, builder.load(place, align=REGISTER), signed=True))
                fetch(builder, ahead, ahead_at, _WORD(side))
            inputs = builder.mul(loop.index, _WORD(4 * INPUT_BYTES))
            for row in range(num_rows):
                of_row = sums[2 * row : 2 * row + 2]
                _add_dots(builder, of_row, columns, True, x, builder.mul(row_bytes, _WORD(row)), inputs)
        for own, place in zip(sums, places(out, out_stride), strict=True):
            builder.store(builder.load(own), place, align=4)
        return context.get_dummy_value()

    return product_of(generate)


def _halved(builder: Any, levels: Any) -> Sequence[Any]:
    """Emit two registers of levels from one of 4 bits: those of the lower and of the upper outputs."""
    low = ir.Constant(_LANES, [0x0F0F0F0F] * _NUM_LANES)
    upper = builder.lshr(levels, ir.Constant(_LANES, [4] * _NUM_LANES))
    return [builder.and_(half, low) for half in (levels, upper)]


def _pairs_at(builder: Any, *terms: Any) -> Any:
    """Emit registers of scales and minimums, which take half as much memory as sums, for both sides."""

    def load(first: int, side: int) -> Any:
        place = pointer(builder, _HALVES, *terms, _WORD(first + side // 2))
        return builder.fpext(builder.load(place, align=REGISTER // 2), _FLOATS)

    return [[load(first, side) for first in (0, LINE)] for side in _SIDES]


def _add_row(builder: Any, sums: Sequence[Any], pairs: Any, totals: Sequence[Any], *terms: Any) -> None:
    """Emit the addition of a row's sums over a group to its totals in memory; its two factors are at an address."""
    scale, scaled_sum = (_everywhere(builder, _FLOATS, *terms, _WORD(place)) for place in (0, 4))
    for sum_, pair, total in zip(sums, pairs, totals, strict=True):
        whole = builder.fmul(builder.sitofp(sum_, _FLOATS), scale)
        for given in zip((whole, scaled_sum), pair, strict=True):
            more = call(builder, f"llvm.fma.v{_NUM_LANES}f32", _FLOATS, *given, builder.load(total, align=4))
            builder.store(more, total, align=4)


def halve_line(builder: Any, to: Any, distance: int, *terms: Any) -> None:
    """Emit the levels of a line of 4 bits, those of the upper outputs a distance behind the others. AVX-512 only."""
    levels = builder.load(pointer(builder, _LANES, *terms), align=REGISTER)
    for half, offset in zip(_halved(builder, levels), (0, distance), strict=True):
        builder.store(half, pointer(builder, _LANES, to, _WORD(offset)), align=REGISTER)


def clear_rows(builder: Any, num_rows: Any, out: Any, stride: Any) -> None:
    """Emit zeros as the totals of some rows. AVX-512 only."""
    with cgutils.for_range(builder, num_rows) as row:
        for side in _SIDES:
            place = pointer(builder, _FLOATS, out, builder.mul(row.index, stride), _WORD(side))
            builder.store(ir.Constant(_FLOATS, [0.0] * _NUM_LANES), place, align=4)


def add_rows(builder: Any, num_rows: Any, sums: Any, pairs: Any, factors: Any, stride: Any, *totals: Any) -> None:
    """Emit `_add_row` for some rows of sums, given addresses and strides. AVX-512 only."""
    loaded, (out, out_stride) = _pairs_at(builder, pairs), totals
    with cgutils.for_range(builder, num_rows) as row:
        at_sums, at_out = builder.mul(row.index, _WORD(2 * LINE)), builder.mul(row.index, out_stride)
        found = [builder.load(pointer(builder, _LANES, sums, at_sums, _WORD(side)), align=REGISTER) for side in _SIDES]
        into = [pointer(builder, _FLOATS, out, at_out, _WORD(side)) for side in _SIDES]
        _add_row(builder, found, loaded, into, factors, builder.mul(row.index, stride))


def _grouped_dots(num_rows: int, bits: int) -> Any:
    """Emit the same for a panel in groups, with float results. Instead of start values it reads factors: for each group
    of a row, the scale of its inputs, and that times their sum."""
    step_bytes = 4 * PANEL * bits // 8
    # AVX2 multiplies bytes where eight sums of products fit 16 bits: 8 * 2 * 15 * 128 < 2^15.
    in_bytes = bits == 4 and not VNNI
    input_bytes = 1 if in_bytes else INPUT_BYTES

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, factors, factors_stride, out, out_stride, ahead, num_ahead, column = arguments
        num_groups = builder.sdiv(factors_stride, _WORD(8))
        group, row_bytes = builder.sdiv(width, num_groups), builder.mul(width, _WORD(input_bytes))
        levels_bytes = builder.mul(builder.sdiv(group, _WORD(4)), _WORD(step_bytes))
        block_bytes = builder.add(levels_bytes, _WORD(2 * LINE))
        distance = builder.select(builder.icmp_signed(">", num_ahead, _WORD(0)), builder.sub(ahead, panel), _WORD(0))
        sums, totals = (
            [cgutils.alloca_once(builder, kind) for _ in range(2 * num_rows)]  # type: ignore[no-untyped-call]
            for kind in (_LANES, _FLOATS)
        )

        def add_bytes(levels: Sequence[Any], of_row: Sequence[Any], *terms: Any) -> None:
            fours = builder.bitcast(_everywhere(builder, _LANES, *terms), _BYTES)
            for half, total in zip(levels, of_row, strict=True):
                given = (builder.bitcast(half, _BYTES), fours)
                products = call(builder, "llvm.x86.avx2.pmadd.ub.sw", _PAIRS, *given)
                builder.store(builder.add(builder.load(total), products), total)

        def fold() -> None:
            """Move sums of 16 bits to those of 32."""
            for pairs, total in zip(shorts, sums, strict=True):
                given = (builder.load(pairs), ir.Constant(_PAIRS, [1] * 2 * _NUM_LANES))
                products = call(builder, "llvm.x86.avx2.pmadd.wd", _LANES, *given)
                builder.store(builder.add(builder.load(total), products), total)
                builder.store(ir.Constant(_PAIRS, [0] * 2 * _NUM_LANES), pairs)

        def take(block: Any, inputs: Any, step: Any) -> None:
            """Add the products of four inputs."""
            lines = builder.mul(step, _WORD(step_bytes))
            levels = []
            for line in range(0, step_bytes, LINE):
                place = pointer(builder, _LANES, block, column, lines, _WORD(line))
                levels.append(builder.load(place, align=REGISTER))
                fetch(builder, block, distance, lines, _WORD(line))
            if bits == 4:
                levels = [*_halved(builder, levels[0])]
            columns = [] if in_bytes else [_unpack(builder, half, signed=False) for half in levels]
            for row in range(num_rows):
                sides = slice(2 * row, 2 * row + 2)
                terms = (inputs, builder.mul(row_bytes, _WORD(row)), builder.mul(step, _WORD(4 * input_bytes)))
                if in_bytes:
                    add_bytes(levels, shorts[sides], *terms)
                else:
                    _add_dots(builder, sums[sides], columns, False, *terms)

        shorts = [cgutils.alloca_once(builder, _PAIRS) for _ in sums] if in_bytes else []  # type: ignore[no-untyped-call]
        for pairs in shorts:
            builder.store(ir.Constant(_PAIRS, [0] * 2 * _NUM_LANES), pairs)
        for total in totals:
            builder.store(ir.Constant(_FLOATS, [0.0] * _NUM_LANES), total)
        with cgutils.for_range(builder, num_groups) as loop:
            block = builder.add(panel, builder.mul(loop.index, block_bytes))
            inputs = builder.add(x, builder.mul(loop.index, builder.mul(group, _WORD(input_bytes))))
            for own in sums:
                builder.store(ir.Constant(_LANES, [0] * _NUM_LANES), own)
            # Eight at a time, because loop overhead would cost as much as a row.
            num_steps = builder.sdiv(group, _WORD(4))
            num_eights = builder.sdiv(num_steps, _WORD(8))
            with cgutils.for_range(builder, num_eights) as eight:
                for number in range(8):
                    take(block, inputs, builder.add(builder.mul(eight.index, _WORD(8)), _WORD(number)))
                if in_bytes:
                    fold()
            whole_steps = builder.mul(num_eights, _WORD(8))
            with cgutils.for_range(builder, builder.sub(num_steps, whole_steps)) as step:
                take(block, inputs, builder.add(whole_steps, step.index))
                if in_bytes:
                    fold()
            pairs = _pairs_at(builder, block, levels_bytes, builder.sdiv(column, _WORD(2)))
            for line in (0, LINE):
                fetch(builder, block, distance, levels_bytes, _WORD(line))
            for row in range(num_rows):
                sides = slice(2 * row, 2 * row + 2)
                terms = (factors, builder.mul(factors_stride, _WORD(row)), builder.mul(loop.index, _WORD(8)))
                _add_row(builder, [builder.load(sum_) for sum_ in sums[sides]], pairs, totals[sides], *terms)
        for number, total in enumerate(totals):
            at_row = builder.mul(out_stride, _WORD(number // 2))
            place = pointer(builder, _FLOATS, out, column, at_row, _WORD(_SIDES[number % 2]))
            builder.store(builder.load(total), place, align=4)
        return context.get_dummy_value()

    return product_of(generate)


def product_of(generate: Any) -> Any:
    """Product of some rows with a panel, given addresses and strides in bytes; the width is in inputs. Meanwhile,
    `num_ahead` lines of memory per instruction are prefetched from `ahead`. On 256 bits, `column` is the offset of the
    first of the two registers of sums that are computed, in bytes."""

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
        column: Any,
    ) -> Any:
        return _PRODUCT, generate

    return product


def _by_rows(products: Sequence[tuple[int, Any]]) -> Callable[..., int]:
    """A function that multiplies as many rows as one of these products takes with a whole panel, and returns how many.
    The last product takes one row."""
    (count, product), *others = products

    @njit(error_model="numpy")
    def multiply(left: int, given: Any) -> int:
        product(*given, 0)
        if REGISTER < LINE:
            product(*given[:-1], 0, REGISTER)
        return count

    if not others:
        return multiply
    multiply_fewer = _by_rows(others)

    @njit(error_model="numpy")
    def multiply_some(left: int, given: Any) -> int:
        return multiply(left, given) if left >= count else multiply_fewer(left, given)

    return multiply_some


# As many rows as fill the registers, then fewer; in AVX-512, float sums of groups take half of the registers.
_FEW_ROWS = (6, 4, 2, 1) if VNNI else (4, 2, 1)
_MANY_ROWS = (12, 8, 4, 2, 1) if REGISTER == LINE else _FEW_ROWS
_multiply_some = _by_rows([(num_rows, _dots(num_rows)) for num_rows in _MANY_ROWS])
_multiply_some_of_4, _multiply_some_of_8 = (
    _by_rows([(num_rows, _grouped_dots(num_rows, bits)) for num_rows in _FEW_ROWS]) for bits in (4, 8)
)


@njit(error_model="numpy")
def multiply_by_lanes(num_rows: int, product: Any, shapes: int) -> None:
    """Multiply all rows with a panel; `product` is what `product_of` takes, without `num_ahead` and `column`."""
    x, width, panel, start, start_stride, out, out_stride, ahead = product
    row = 0
    while row < num_rows:
        of_row, first, to = x + row * width * INPUT_BYTES, start + row * start_stride, out + row * out_stride
        # Memory takes as long as 12 rows, so the first ones prefetch the next panel.
        given = (of_row, width, panel, first, start_stride, to, out_stride, ahead, 2 if row == 0 else 0)
        row += _multiply_some(num_rows - row, given)


@njit(error_model="numpy")
def multiply_groups(num_rows: int, product: Any, bits: int) -> None:
    """Multiply all rows with a panel in groups."""
    x, width, panel, factors, factors_stride, out, out_stride, ahead = product
    row = 0
    while row < num_rows:
        of_row = x + row * width * (1 if bits == 4 else INPUT_BYTES)
        scales, to = factors + row * factors_stride, out + row * out_stride
        given = (of_row, width, panel, scales, factors_stride, to, out_stride, ahead, 1 if row == 0 else 0)
        if bits == 4:
            row += _multiply_some_of_4(num_rows - row, given)
        else:
            row += _multiply_some_of_8(num_rows - row, given)


def _finishing(digits: int, adds: bool, grouped: bool) -> Any:
    """Emit code that turns a panel's sums into floats, a register at a time, and adds bias and residual. Residual and
    result have one stride. Sums of groups are floats already, with their inputs' scales."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product, num_rows, scale, scales, bias, residual, out, stride = arguments

        def load(kind: Any, *terms: Any) -> Any:
            return builder.load(pointer(builder, kind, *terms), align=4)

        def load_sums(row: Any, half: Any) -> Any:
            terms = (product, builder.mul(row, _WORD(4 * PANEL)), half)
            return load(_FLOATS, *terms) if grouped else builder.sitofp(load(_LANES, *terms), _FLOATS)

        with cgutils.for_range(builder, num_rows) as loop:
            factors = _everywhere(builder, _FLOATS, scale, builder.mul(loop.index, _WORD(4)))
            row = builder.mul(loop.index, stride)
            for half in (_WORD(offset) for offset in range(0, 4 * PANEL, REGISTER)):
                sums = load_sums(loop.index, half)
                if digits == 2:
                    rest = load_sums(builder.add(loop.index, num_rows), half)
                    if not grouped:
                        rest = builder.fmul(rest, ir.Constant(_FLOATS, [1.0 / SECOND_DIGIT] * _NUM_LANES))
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
