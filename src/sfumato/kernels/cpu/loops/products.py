"""Products of 8-bit integers with matrices, with float results.

A matrix is packed once, in panels. Threads claim panels and multiply all rows with each; or they claim parts of a long
sum and multiply them with all panels. If there are several matrices with their own rows, those without rows are not
read. Integer sums are exact, so all instructions and any number of threads give the same result; sums over groups are
floats, added in order.

numba caches compiled loops by file: after a change in `instructions` or `tiles`, touch this file too.
"""

# M rows, I inputs, G groups of them, O outputs, P panels of them, X matrices, C chunks of inputs, S threads

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.np.numpy_support import carray

from sfumato.kernels.base import DIGIT, SECOND_DIGIT
from sfumato.kernels.cpu.loops.compiling import Array, F, Z, at, claim_seat, float_of, parts, place_of
from sfumato.kernels.cpu.loops.instructions import (
    INPUT_BYTES,
    LINE,
    VNNI,
    finish,
    finish_groups,
    multiply_by_lanes,
    multiply_groups,
)
from sfumato.kernels.cpu.loops.sizes import FLIP, PANEL
from sfumato.kernels.cpu.loops.tiles import (
    GROUP_BYTES,
    fill_shapes,
    leave_tiles,
    multiply_by_tiles,
    multiply_groups_by_tiles,
)


@njit(error_model="numpy")
def _take(x_MI: Array, first: int, flip: int, out_MD: Array) -> None:
    """Copy inputs from an index on, with zeros after the last."""
    taken, bit = min(out_MD.shape[1], x_MI.shape[1] - first), np.uint8(flip)
    for row in range(len(x_MI)):
        x_D, out_D = x_MI[row, first : first + taken], out_MD[row]
        for i in range(taken):
            out_D[i] = np.uint8(x_D[i]) ^ bit
        out_D[taken:] = 0


@njit(error_model="numpy")
def _widen(x_MI: Array, first: int, unsigned: bool, out_MD: Array) -> None:
    """Copy inputs from an index on in 16 bits, with zeros after the last: of each four, the even ones come first."""
    taken, mask = min(out_MD.shape[1], x_MI.shape[1] - first), np.int16(0xFF if unsigned else -1)
    whole = taken // 4 * 4
    for row in range(len(x_MI)):
        x_D, out_D = x_MI[row, first : first + taken], out_MD[row]
        out_D[whole:] = 0
        for i in range(0, whole, 4):
            out_D[i] = np.int16(x_D[i]) & mask
            out_D[i + 1] = np.int16(x_D[i + 2]) & mask
            out_D[i + 2] = np.int16(x_D[i + 1]) & mask
            out_D[i + 3] = np.int16(x_D[i + 3]) & mask
        for i in range(whole, taken):
            out_D[whole + (i % 4 % 2) * 2 + i % 4 // 2] = np.int16(x_D[i]) & mask


@njit(error_model="numpy")
def _weigh_groups(x_MI: Array, scale_NG: Array, factors_MG2: Array) -> None:
    """Compute the factors of each group's sum and of its minimum."""
    num_rows, num_groups = scale_NG.shape
    group = x_MI.shape[1] // max(num_groups, 1)
    for row in range(len(x_MI)):
        second = row >= num_rows
        for g in range(num_groups):
            total = Z(0)
            for level in x_MI[row, g * group : (g + 1) * group]:
                total += Z(level)
            scale = scale_NG[row - num_rows, g] * F(1.0 / SECOND_DIGIT) if second else scale_NG[row, g]
            factors_MG2[row, g, 0] = scale
            factors_MG2[row, g, 1] = scale * F(total)


@njit(error_model="numpy")
def _finish_part(
    product_MP: Array,
    grouped: bool,
    digits: int,
    scale_N: Array,
    scales_P: Array,
    bias_P: Array,
    residual_NP: Array,
    out_NP: Array,
) -> None:
    """What `finish` does, for the last panel if it is not whole."""
    num_rows, floats_MP = len(product_MP) // digits, product_MP.view(F)
    for row in range(num_rows):
        for p in range(out_NP.shape[1]):
            whole = floats_MP[row, p] if grouped else F(product_MP[row, p])
            if digits == 2:
                rest = num_rows + row
                whole += floats_MP[rest, p] if grouped else F(product_MP[rest, p]) * F(1.0 / SECOND_DIGIT)
            if not grouped:
                whole *= scale_N[row]
            out_NP[row, p] = whole * scales_P[p] + bias_P[p]
            if len(residual_NP):
                out_NP[row, p] += residual_NP[row, p]


def multiply(job: Any) -> None:
    head = carray(job, (27,), np.int64)
    num_rows, num_inputs, depth, num_panels, num_outputs = head[4], head[5], head[6], head[7], head[8]
    # 0 bits: whole rows, without groups.
    bits, num_groups, panel_bytes = head[24], head[25], head[26]
    sums, digits, least_tiled, num_matrices = head[9] != 0, head[10], head[11], head[12]
    panels, signed_start, flipped_start, out = head[14], head[15], head[16], head[17]
    x_MI = carray(at(head[13]), (num_rows, num_inputs), np.int8)
    out_NO = carray(at(out), (num_rows // digits, num_outputs), F)
    scale_NG = carray(at(head[18]), (num_rows // digits, num_groups), F)
    scales_XO, bias_O = carray(at(head[19]), (num_matrices, num_outputs), F), carray(at(head[20]), (num_outputs,), F)
    adds = head[21] != 0
    residual_NO = carray(at(head[22]), (num_rows // digits, num_outputs), F)
    end_X = carray(at(head[23]), (num_matrices,), np.int32)
    most_rows = num_rows
    if num_matrices > 1:
        most_rows = end_X[0]
        for matrix in range(1, num_matrices):
            most_rows = max(most_rows, end_X[matrix] - end_X[matrix - 1])
    own_MD = np.empty((most_rows, depth * INPUT_BYTES), np.uint8)
    shapes_2B = np.empty((2, LINE), np.uint8)
    product_MP = np.empty((most_rows, PANEL), Z)
    factors_MG2 = np.empty((most_rows if bits else 0, num_groups, 2), F)
    # Whole lines. Its address is taken at each use, because numba frees an array after its last use.
    kept = np.empty(GROUP_BYTES + LINE if bits == 4 else 0, np.uint8)
    stride = 4 * num_panels * PANEL
    if sums:
        out += claim_seat(job) * num_rows * stride
        carray(at(out), (num_rows, num_panels * PANEL), Z)[:] = 0
    taken, row, rows, flip, by_tiles, takes, leaves = -1, 0, num_rows, 0, False, False, False
    for first, last in parts(job):
        for part in range(first, last):
            chunk = part if sums else 0
            matrix = 0 if sums else part // num_panels
            if taken != chunk + matrix:
                taken = chunk + matrix
                if num_matrices > 1:
                    row = 0 if matrix == 0 else end_X[matrix - 1]
                    rows = end_X[matrix] - row
                by_tiles = rows >= least_tiled
                # Digits to be summed are unsigned, and so are levels of groups.
                flip = 0 if by_tiles or sums or bits or not VNNI else FLIP
                widens = not VNNI and bits != 4
                takes = flip != 0 or depth != num_inputs or widens
                if by_tiles:
                    fill_shapes(rows, shapes_2B)
                    leaves = True
                if widens:
                    _widen(x_MI[row : row + rows], chunk * depth, sums, own_MD.view(np.int16))
                elif takes:
                    _take(
                        x_MI[row : row + rows],
                        chunk * depth,
                        flip,
                        carray(at(place_of(own_MD)), (rows, depth), np.uint8),
                    )
                if bits:
                    _weigh_groups(x_MI[row : row + rows], scale_NG[row : row + rows // digits], factors_MG2)
            if rows == 0:
                continue
            x = place_of(own_MD) if takes else head[13] + row * depth
            start = flipped_start if flip else signed_start
            for number in range(0 if sums else part, num_panels if sums else part + 1):
                column = number % num_panels * PANEL
                panel = panels + (chunk * num_panels + number) * panel_bytes
                ahead, first_sum, sum_stride = panel + panel_bytes, start + 4 * PANEL * number, 0
                to, to_stride = place_of(product_MP), 4 * PANEL
                if sums:
                    to, to_stride = out + 4 * column, stride
                    first_sum, sum_stride = to, stride
                if bits:
                    first_sum, sum_stride = place_of(factors_MG2), 8 * num_groups
                product = (x, depth, panel, first_sum, sum_stride, to, to_stride, ahead)
                if bits and by_tiles:
                    memory = (place_of(kept) + LINE - 1) // LINE * LINE
                    multiply_groups_by_tiles(rows, product, place_of(shapes_2B), memory)
                elif bits:
                    multiply_groups(rows, product, bits)
                elif by_tiles:
                    multiply_by_tiles(rows, product, place_of(shapes_2B))
                else:
                    multiply_by_lanes(rows, product, place_of(shapes_2B))
                if sums:
                    continue
                count, size, stride_out = rows // digits, min(PANEL, num_outputs - column), 4 * num_outputs
                at_out = row * stride_out + 4 * column
                if size == PANEL:
                    scales, bias = head[19] + 4 * (matrix * num_outputs + column), head[20] + 4 * column
                    given = (to, count, head[18] + 4 * row, scales, bias, head[22] + at_out, out + at_out, stride_out)
                    if bits:
                        finish_groups(digits, adds, given)
                    else:
                        finish(digits, adds, given)
                else:
                    _finish_part(
                        product_MP[:rows],
                        bits != 0,
                        digits,
                        scale_NG[row : row + count, 0],
                        scales_XO[matrix, column:],
                        bias_O[column:],
                        residual_NO[row : row + count if adds else row, column:],
                        out_NO[row : row + count, column:],
                    )
    # Not even this is allowed without permission to use tiles.
    if leaves:
        leave_tiles()


@njit(error_model="numpy", cache=True)
def _sum_rows(first: int, last: int, sums_SMO: Array, factor: float, out_NO: Array) -> None:
    num_rows, num_outputs = out_NO.shape
    for row in range(first, last):
        for column in range(num_outputs):
            high, low = Z(0), Z(0)
            for thread in range(len(sums_SMO)):
                high += sums_SMO[thread, row, column]
                low += sums_SMO[thread, num_rows + row, column]
            out_NO[row, column] = (F(high) + F(low) * F(1.0 / DIGIT)) * factor


def sum_parts(job: Any) -> None:
    head = carray(job, (10,), np.int64)
    num_rows, num_outputs, width = head[1], head[4], head[5]
    num_threads, factor = carray(at(head[6]), (4,), np.int64)[3], float_of(Z(head[7]))
    sums_SMO = carray(at(head[8]), (num_threads, 2 * num_rows, width), Z)
    out_NO = carray(at(head[9]), (num_rows, num_outputs), F)
    for first, last in parts(job):
        _sum_rows(first, last, sums_SMO, factor, out_NO)
