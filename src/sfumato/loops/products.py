"""Products of integers of 8 bits, by the instructions that CPUs have for them: AMX, or VNNI of AVX-512.

A matrix is put in order once: in panels of 32 outputs, in which four inputs of each stand beside each other, as either
instruction reads them. Threads claim panels, and take all rows to each; or parts of a long sum, and take all panels to
each. Of many matrices that have rows of their own each, those that have none are not read. Sums are exact, and so the
same by either instruction and with any number of threads.

Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, on VNNI and AMX, for the order.
"""

# M rows, I inputs, O outputs, P panels of them, X matrices, C chunks of inputs, S threads

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.np.numpy_support import carray
from torch import Tensor
from torch.nn import functional

from sfumato.loops.compiling import (
    FEATURES,
    Array,
    F,
    Loop,
    Z,
    at,
    call,
    claim_seat,
    code,
    float_of,
    over_parts,
    parts,
    place_of,
    pointer,
    word,
)

_PANEL = 32
# Inputs that an instruction of AMX goes over; rows are padded to a multiple of it.
_STEP = 64
# Inputs of a part of a long sum. With 128 rows they fill a quarter of a megabyte, and panels pass by.
_CHUNK = 2048
# Rows that are taken to a panel at a time: more would not stay in a cache.
_MOST_ROWS = 1024
# Rows of a tile of AMX, and how many of them there should be.
_TILE = 16
_LEAST_TILED = 4
# VNNI multiplies integers with a sign by integers without: this bit makes ones without of ones with, 128 more each.
_FLIP = 128
# What becomes of the sums.
_INTEGERS, _JOINED, _SUMMED, _SCALED = 0, 1, 2, 3

_VNNI = bool(FEATURES.get("avx512vnni"))
_AMX = _VNNI and bool(FEATURES.get("amx-int8"))

_WORD, _INT, _BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)
_LANES = ir.VectorType(_INT, 16)
_LINE = 64
_PRODUCT = types.void(*[types.int64] * 9)


def _fetch(builder: Any, *terms: Any) -> None:
    """Have what is at an address brought to the cache of the second level, if there is anything."""
    reading, level, data = _INT(0), _INT(2), _INT(1)
    call(builder, "llvm.prefetch.p0", ir.VoidType(), pointer(builder, _BYTE, *terms), reading, level, data)


def _dots(num_rows: int) -> Any:
    """Code for so many rows and a panel by VNNI: 16 sums in each register, and 12 rows fill the registers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, start, start_stride, out, out_stride, ahead, num_ahead = arguments

        def places(address: Any, stride: Any) -> list[Any]:
            offsets = [builder.mul(stride, _WORD(row)) for row in range(num_rows)]
            return [pointer(builder, _LANES, address, row, _WORD(half)) for row in offsets for half in (0, _LINE)]

        # In memory, as far as this code goes; the compiler has them in registers.
        sums = [cgutils.alloca_once(builder, _LANES) for _ in range(2 * num_rows)]  # type: ignore[no-untyped-call]
        for own, place in zip(sums, places(start, start_stride), strict=True):
            builder.store(builder.load(place, align=4), own)
        fetched = builder.select(builder.icmp_signed(">", num_ahead, _WORD(0)), _WORD(2 * _LINE), _WORD(0))
        nothing, everywhere = ir.Constant(_LANES, ir.Undefined), ir.Constant(_LANES, [0] * 16)
        with cgutils.for_range(builder, builder.sdiv(width, _WORD(4))) as loop:
            panel_at, ahead_at = (builder.mul(loop.index, step) for step in (_WORD(2 * _LINE), fetched))
            halves = []
            for half in (0, _LINE):
                halves.append(builder.load(pointer(builder, _LANES, panel, panel_at, _WORD(half)), align=_LINE))
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


def _tiles(num_tiles: int) -> Any:
    """Code for so many tiles of 16 rows and a panel by AMX. Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 the panel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width, panel, start, start_stride, out, out_stride, ahead, num_ahead = arguments

        def tile(name: str, number: int, stride: Any, *terms: Any) -> None:
            place = pointer(builder, _BYTE, *terms)
            call(builder, f"llvm.x86.tile{name}", ir.VoidType(), _BYTE(number), place, stride)

        def each_sum(name: str, address: Any, stride: Any) -> None:
            for number in range(2 * num_tiles):
                rows, half = divmod(number, 2)
                tile(name, number, stride, address, builder.mul(stride, _WORD(_TILE * rows)), _WORD(_LINE * half))

        each_sum("loadd64", start, start_stride)
        with cgutils.for_range(builder, builder.sdiv(width, _WORD(_STEP))) as loop:
            panel_at = builder.mul(loop.index, _WORD(_PANEL * _STEP))
            for half in (0, 1):
                tile("loadd64", 6 + half, _WORD(2 * _LINE), panel, panel_at, _WORD(_LINE * half))
            for rows in range(num_tiles):
                offset = builder.mul(width, _WORD(_TILE * rows))
                tile("loadd64", 4 + rows, width, x, offset, builder.mul(loop.index, _WORD(_STEP)))
                for half in (0, 1):
                    given = (_BYTE(2 * rows + half), _BYTE(4 + rows), _BYTE(6 + half))
                    call(builder, "llvm.x86.tdpbssd", ir.VoidType(), *given)
            ahead_at = builder.mul(loop.index, builder.mul(num_ahead, _WORD(_LINE)))
            with cgutils.for_range(builder, num_ahead) as line:
                _fetch(builder, ahead, ahead_at, builder.mul(line.index, _WORD(_LINE)))
        each_sum("stored64", out, out_stride)
        return context.get_dummy_value()

    return _product(generate)


def _product(generate: Any) -> Any:
    """Products of some rows with a panel: addresses, and bytes between rows.

    Those of `num_ahead` lines of memory, for each instruction, are brought nearer meanwhile.
    """

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
    """Say how large tiles are, at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        call(builder, "llvm.x86.ldtilecfg", ir.VoidType(), pointer(builder, _BYTE, arguments[0]))
        return context.get_dummy_value()

    return types.void(types.int64), generate


@code
def _leave_tiles(typing_context: Any) -> Any:
    """Say that they are not in use."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        call(builder, "llvm.x86.tilerelease", ir.VoidType())
        return context.get_dummy_value()

    return types.void(), generate


_dots_12, _dots_8, _dots_4, _dots_2, _dots_1 = (_dots(num_rows) for num_rows in (12, 8, 4, 2, 1))
_two_tiles, _one_tile = _tiles(2), _tiles(1)


@njit(error_model="numpy")
def _by_lanes(num_rows: int, product: Any, shapes: int) -> None:
    """Of all rows with a panel: what `_product` takes, but for `num_ahead`."""
    x, width, panel, start, start_stride, out, out_stride, ahead = product
    row = 0
    while row < num_rows:
        left = num_rows - row
        first, to = start + row * start_stride, out + row * out_stride
        # Memory is as slow as 12 rows are: they bring what comes next.
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
def _by_tiles_of_amx(num_rows: int, product: Any, shapes: int) -> None:
    """The same, with what `_fill_shapes` filled."""
    x, width, panel, start, start_stride, out, out_stride, ahead = product
    # Each instruction goes over 32 lines of the panel.
    num_ahead = 32 // max((num_rows + 2 * _TILE - 1) // (2 * _TILE), 1)
    for row in range(0, num_rows, 2 * _TILE):
        left = num_rows - row
        if left < 2 * _TILE:
            _shape_tiles(shapes + _LINE)
        elif row == 0:
            _shape_tiles(shapes)
        first, to = start + row * start_stride, out + row * out_stride
        given = (x + row * width, width, panel, first, start_stride, to, out_stride, ahead, num_ahead)
        if left > _TILE:
            _two_tiles(*given)
        else:
            _one_tile(*given)
        ahead += num_ahead * width


# What this CPU does not have must not be compiled.
_by_tiles = _by_tiles_of_amx if _AMX else _by_lanes


@njit(error_model="numpy")
def _leave() -> None:
    """Leave tiles, where there are any."""
    if _AMX:
        _leave_tiles()


@njit(error_model="numpy")
def _fill_shapes(num_rows: int, shapes_2B: Array) -> None:
    """How large tiles are for whole pairs of them, and for the rows behind those.

    Source: the manual's LDTILECFG: a byte of 1, bytes of a row of each tile from byte 16 on, rows from byte 48 on.
    """
    tail = num_rows % (2 * _TILE)
    shapes_2B[:] = 0
    for shape in range(2):
        upper = _TILE if shape == 0 else max(1, min(tail, _TILE))
        lower = _TILE if shape == 0 else max(1, tail - _TILE)
        shapes_2B[shape, 0] = 1
        for tile in range(8):
            shapes_2B[shape, 16 + 2 * tile] = _LINE
            shapes_2B[shape, 48 + tile] = _TILE
        for tile in (0, 1, 4):
            shapes_2B[shape, 48 + tile] = upper
        for tile in (2, 3, 5):
            shapes_2B[shape, 48 + tile] = lower


@njit(error_model="numpy")
def _take(x_MI: Array, first: int, flip: int, out_MD: Array) -> None:
    """Inputs from one on, and zeros behind the last."""
    taken, bit = min(out_MD.shape[1], x_MI.shape[1] - first), np.uint8(flip)
    for row in range(len(x_MI)):
        x_D, out_D = x_MI[row, first : first + taken], out_MD[row]
        for i in range(taken):
            out_D[i] = np.uint8(x_D[i]) ^ bit
        out_D[taken:] = 0


@njit(error_model="numpy")
def _join_panel(
    product_MP: Array, scale_N: Array, scales_O: Array, share: float, first: int, last: int, out_NO: Array
) -> None:
    num_rows = len(scale_N)
    scales_P = scales_O[first:last]
    for row in range(num_rows):
        high_P, low_P, out_P, scale = product_MP[row], product_MP[num_rows + row], out_NO[row, first:last], scale_N[row]
        for p in range(len(out_P)):
            out_P[p] = (F(high_P[p]) + F(low_P[p]) * share) * scale * scales_P[p]


@njit(error_model="numpy")
def _scale_panel(product_MP: Array, scale_M: Array, scales_P: Array, out_MP: Array) -> None:
    for row in range(len(out_MP)):
        product_P, out_P, scale = product_MP[row], out_MP[row], scale_M[row]
        for p in range(len(out_P)):
            out_P[p] = F(product_P[p]) * scale * scales_P[p]


def _multiply(job: Any) -> None:
    head = carray(job, (21,), np.int64)
    num_rows, num_inputs, depth, num_panels, num_outputs = head[4], head[5], head[6], head[7], head[8]
    kind, panels, signed_start, flipped_start, out = head[9], head[11], head[12], head[13], head[14]
    x_MI = carray(at(head[10]), (num_rows, num_inputs), np.int8)
    out_MO = carray(at(out), (num_rows, num_outputs), Z)
    floats_MO = carray(at(out), (num_rows, num_outputs), F)
    joined_NO = carray(at(out), (num_rows // 2, num_outputs), F)
    share, least_tiled, num_matrices = float_of(Z(head[17])), head[18], head[19]
    scale_M = carray(at(head[15]), (num_rows,), F)
    scales_XO = carray(at(head[16]), (num_matrices, num_outputs), F)
    end_X = carray(at(head[20]), (num_matrices,), np.int32)
    most_rows = num_rows
    if kind == _SCALED:
        most_rows = end_X[0]
        for matrix in range(1, num_matrices):
            most_rows = max(most_rows, end_X[matrix] - end_X[matrix - 1])
    room = np.empty(most_rows * depth + _LINE, np.uint8)
    own_MD = room[-place_of(room) % _LINE :][: most_rows * depth].reshape(most_rows, depth)
    shapes_2B = np.empty((2, _LINE), np.uint8)
    product_MP = np.empty((most_rows, _PANEL), Z)
    stride = 4 * num_panels * _PANEL
    if kind == _SUMMED:
        out += claim_seat(job) * num_rows * stride
        carray(at(out), (num_rows, num_panels * _PANEL), Z)[:] = 0
    taken, row, rows, flip, by_tiles, takes, leaves = -1, 0, num_rows, 0, False, False, False
    for first, last in parts(job):
        for part in range(first, last):
            chunk = part if kind == _SUMMED else 0
            matrix = part // num_panels if kind == _SCALED else 0
            if taken != chunk + matrix:
                taken = chunk + matrix
                if kind == _SCALED:
                    row = 0 if matrix == 0 else end_X[matrix - 1]
                    rows = end_X[matrix] - row
                by_tiles = rows >= least_tiled
                # What is summed has no sign.
                flip = 0 if by_tiles or kind == _SUMMED else _FLIP
                takes = flip != 0 or depth != num_inputs
                if by_tiles:
                    _fill_shapes(rows, shapes_2B)
                    leaves = True
                if takes:
                    _take(x_MI[row : row + rows], chunk * depth, flip, own_MD)
            if rows == 0:
                continue
            x = place_of(own_MD) if takes else head[10] + row * depth
            start = flipped_start if flip else signed_start
            for number in range(0 if kind == _SUMMED else part, num_panels if kind == _SUMMED else part + 1):
                column = number % num_panels * _PANEL
                size = min(_PANEL, num_outputs - column)
                panel = panels + (chunk * num_panels + number) * _PANEL * depth
                ahead, first_sum, sum_stride = panel + _PANEL * depth, start + 4 * _PANEL * number, 0
                to, to_stride = place_of(product_MP), 4 * _PANEL
                if kind == _SUMMED:
                    to, to_stride = out + 4 * column, stride
                    first_sum, sum_stride = to, stride
                elif kind == _INTEGERS and size == _PANEL:
                    to, to_stride = out + 4 * column, 4 * num_outputs
                product = (x, depth, panel, first_sum, sum_stride, to, to_stride, ahead)
                if by_tiles:
                    _by_tiles(rows, product, place_of(shapes_2B))
                else:
                    _by_lanes(rows, product, place_of(shapes_2B))
                if kind == _JOINED:
                    _join_panel(product_MP, scale_M[: rows // 2], scales_XO[0], share, column, column + size, joined_NO)
                elif kind == _SCALED:
                    out_MP = floats_MO[row : row + rows, column : column + size]
                    _scale_panel(product_MP, scale_M[row:], scales_XO[matrix, column:], out_MP)
                elif kind == _INTEGERS and size < _PANEL:
                    out_MO[:, column : column + size] = product_MP[:, :size]
    # Who has no leave to use tiles may not even do this.
    if leaves:
        _leave()


@njit(error_model="numpy", cache=True)
def _sum_rows(first: int, last: int, sums_SMO: Array, factor: float, share: float, out_NO: Array) -> None:
    num_rows, num_outputs = out_NO.shape
    for row in range(first, last):
        for column in range(num_outputs):
            high, low = Z(0), Z(0)
            for thread in range(len(sums_SMO)):
                high += sums_SMO[thread, row, column]
                low += sums_SMO[thread, num_rows + row, column]
            out_NO[row, column] = (F(high) + F(low) * share) * factor


@over_parts
def _sum(job: Any) -> None:
    head = carray(job, (11,), np.int64)
    num_rows, num_outputs, width = head[1], head[4], head[5]
    num_threads = carray(at(head[6]), (4,), np.int64)[3]
    factor, share = float_of(Z(head[7])), float_of(Z(head[8]))
    sums_SMO = carray(at(head[9]), (num_threads, 2 * num_rows, width), Z)
    out_NO = carray(at(head[10]), (num_rows, num_outputs), F)
    for first, last in parts(job):
        _sum_rows(first, last, sums_SMO, factor, share, out_NO)


_SUM = Loop(_sum)
_MULTIPLY = Loop(over_parts(_multiply)) if _VNNI else None


@functools.cache
def _has_tiles() -> bool:
    """Whether there is AMX, and the system lets this process use it.

    Source: the Linux kernel's documentation of x86, on dynamically enabled features: ARCH_REQ_XCOMP_PERM of XTILEDATA.
    """
    return _AMX and sys.platform == "linux" and ctypes.CDLL(None).syscall(158, 0x1023, 18) == 0


def there() -> bool:
    """Whether this CPU multiplies integers in one of these ways."""
    return _VNNI


class Matrix:
    """A matrix of integers, in the order in which it is multiplied, or many of one shape.

    Args:
        levels: int8 [O, I] or [X, O, I].
        sums: it is there for `mean`, which few outputs of very many inputs are made by.
    """

    def __init__(self, levels: Tensor, *, sums: bool = False) -> None:
        self.shape = levels.shape
        self._num_matrices = levels.shape[:-2].numel()
        num_outputs, num_inputs = levels.shape[-2:]
        self._depth = -(-num_inputs // _STEP) * _STEP
        if sums:
            self._depth = min(self._depth, _CHUNK)
        num_chunks, self._num_panels = -(-num_inputs // self._depth), -(-num_outputs // _PANEL)
        more = (0, num_chunks * self._depth - num_inputs, 0, self._num_panels * _PANEL - num_outputs)
        whole = functional.pad(levels, more) if any(more) else levels
        parts = whole.reshape(-1, _PANEL, num_chunks, self._depth // 4, 4)
        self._panels = parts.permute(2, 0, 3, 1, 4).contiguous()
        # What sums start from, also where rows are flipped. A few at a time, as they are made wide first.
        few = torch.split(whole.reshape(-1, whole.shape[-1]), 1024)
        self._flipped_start = torch.cat([part.sum(-1, dtype=torch.int32) for part in few]).mul_(-_FLIP)
        self._start = torch.zeros_like(self._flipped_start)

    @property
    def levels(self) -> Tensor:
        """As it was given."""
        *matrices, num_outputs, num_inputs = self.shape
        whole = self._panels.permute(1, 3, 0, 2, 4).reshape(*matrices, self._num_panels * _PANEL, -1)
        return whole[..., :num_outputs, :num_inputs]

    def multiply(self, levels_MI: Tensor) -> Tensor:
        """The product with some rows [M, O], int32.

        Args:
            levels_MI: int8.
        """
        out_MO = torch.empty(len(levels_MI), self.shape[0], dtype=torch.int32)
        for rows_MI, part_MO in zip(*(torch.split(one, _MOST_ROWS) for one in (levels_MI, out_MO)), strict=True):
            self._run(rows_MI, part_MO, _INTEGERS, self._num_panels)
        return out_MO

    def multiply_each(self, levels_MI: Tensor, scale_M: Tensor, scales_XO: Tensor, end_X: Tensor) -> Tensor:
        """The products of neighbouring rows with a matrix each [M, O], times factors, float32.

        Args:
            levels_MI: int8; rows of the first matrix, then of the second, and so on.
            scale_M: float32; factors of rows.
            scales_XO: float32; of each matrix's outputs.
            end_X: int32; the row that those of each matrix end before, M of the last.
        """
        out_MO = torch.empty(len(levels_MI), self.shape[1])
        tensors = (scale_M.contiguous(), scales_XO.contiguous(), end_X.contiguous())
        scale, scales, ends = (one.data_ptr() for one in tensors)
        self._run(levels_MI, out_MO, _SCALED, len(end_X) * self._num_panels, scale=scale, scales=scales, ends=ends)
        return out_MO

    def join(self, digits_MI: Tensor, base: float, scale_N: Tensor, scales_O: Tensor, out_NO: Tensor) -> None:
        """Products with rows of two digits, times factors.

        Args:
            digits_MI: int8; the first digits of all rows, then the second ones.
            base: what part of the first the second is.
            scale_N: float32; factors of rows.
            scales_O: float32; of outputs.
            out_NO: float32, contiguous; receives it.
        """
        scale, scales = scale_N.data_ptr(), scales_O.data_ptr()
        self._run(digits_MI, out_NO, _JOINED, self._num_panels, scale=scale, scales=scales, share=word(1 / base))

    def mean(self, digits_MI: Tensor, base: float, factor: float) -> Tensor:
        """The same, times one factor.

        Args:
            digits_MI: from 0 on.
            base: see `join`.
            factor: of all.
        """
        num_rows, num_outputs, width = len(digits_MI), self.shape[0], self._num_panels * _PANEL
        sums_SMO = torch.empty(torch.get_num_threads(), num_rows, width, dtype=torch.int32)
        out_NO = torch.empty(num_rows // 2, num_outputs)
        job = self._run(digits_MI, sums_SMO, _SUMMED, len(self._panels))
        numbers = (num_outputs, width, ctypes.addressof(job), word(factor), word(1 / base))
        _SUM(num_rows // 2, out_NO.numel(), *numbers, sums_SMO.data_ptr(), out_NO.data_ptr())
        return out_NO

    def _run(
        self,
        x_MI: Tensor,
        out: Tensor,
        kind: int,
        num_parts: int,
        *,
        scale: int = 0,
        scales: int = 0,
        share: int = 0,
        ends: int = 0,
    ) -> Any:
        x_MI = x_MI.contiguous()
        assert _MULTIPLY is not None, "somebody asked whether it is there"
        num_outputs, num_inputs = self.shape[-2:]
        sizes = (len(x_MI), num_inputs, self._depth, self._num_panels, num_outputs, kind)
        tensors = (x_MI, self._panels, self._start, self._flipped_start, out)
        least_tiled = _LEAST_TILED if _has_tiles() else sys.maxsize
        more = (scale, scales, share, least_tiled, self._num_matrices, ends)
        # Of few rows it is reading the matrix that takes the time.
        work = max(len(x_MI), _LEAST_TILED) * self._panels.numel() // self._num_matrices // 16
        return _MULTIPLY(num_parts, work, *sizes, *(one.data_ptr() for one in tensors), *more)
