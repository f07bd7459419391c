"""Products of integers of 8 bits with matrices, in floats.

A matrix is put in order once, in panels. Threads claim panels, and take all rows to each; or parts of a long sum, and
take all panels to each. Of many matrices that have rows of their own each, those that have none are not read. Sums are
exact, and so the same by either instruction and with any number of threads.

What is changed in `instructions` reaches the loops that are kept on disk when this file is changed too.
"""

# M rows, I inputs, O outputs, P panels of them, X matrices, C chunks of inputs, S threads

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import numpy as np
import torch
from numba import njit
from numba.np.numpy_support import carray
from torch import Tensor
from torch.nn import functional

from sfumato.kernels.base import DIGIT, SECOND_DIGIT, QuantizedActivation
from sfumato.kernels.cpu.compiling import Array, F, Loop, Z, at, claim_seat, float_of, parts, place_of
from sfumato.kernels.cpu.instructions import (
    AMX,
    LINE,
    PANEL,
    STEP,
    VNNI,
    fill_shapes,
    finish,
    leave_tiles,
    multiply_by_lanes,
    multiply_by_tiles,
)
from sfumato.kernels.cpu.memory import empty

# Inputs of a part of a long sum. With 128 rows they fill a quarter of a megabyte, and panels pass by.
_CHUNK = 2048
# Rows that are taken to a panel at a time: more would not stay in a cache.
_MOST_ROWS = 1024
# Rows of a tile of AMX that there should be.
_LEAST_TILED = 4
# VNNI multiplies integers with a sign by integers without: this bit makes ones without of ones with, 128 more each.
_FLIP = 128


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
def _finish_part(
    product_MP: Array, digits: int, scale_N: Array, scales_P: Array, bias_P: Array, residual_NP: Array, out_NP: Array
) -> None:
    """The same of the last panel, which is not whole."""
    num_rows = len(product_MP) // digits
    for row in range(num_rows):
        for p in range(out_NP.shape[1]):
            whole = F(product_MP[row, p])
            if digits == 2:
                whole += F(product_MP[num_rows + row, p]) * F(1.0 / SECOND_DIGIT)
            out_NP[row, p] = whole * scale_N[row] * scales_P[p] + bias_P[p]
            if len(residual_NP):
                out_NP[row, p] += residual_NP[row, p]


def _multiply(job: Any) -> None:
    head = carray(job, (24,), np.int64)
    num_rows, num_inputs, depth, num_panels, num_outputs = head[4], head[5], head[6], head[7], head[8]
    sums, digits, least_tiled, num_matrices = head[9] != 0, head[10], head[11], head[12]
    panels, signed_start, flipped_start, out = head[14], head[15], head[16], head[17]
    x_MI = carray(at(head[13]), (num_rows, num_inputs), np.int8)
    out_NO = carray(at(out), (num_rows // digits, num_outputs), F)
    scale_N = carray(at(head[18]), (num_rows // digits,), F)
    scales_XO, bias_O = carray(at(head[19]), (num_matrices, num_outputs), F), carray(at(head[20]), (num_outputs,), F)
    adds = head[21] != 0
    residual_NO = carray(at(head[22]), (num_rows // digits, num_outputs), F)
    end_X = carray(at(head[23]), (num_matrices,), np.int32)
    most_rows = num_rows
    if num_matrices > 1:
        most_rows = end_X[0]
        for matrix in range(1, num_matrices):
            most_rows = max(most_rows, end_X[matrix] - end_X[matrix - 1])
    room = np.empty(most_rows * depth + LINE, np.uint8)
    own_MD = room[-place_of(room) % LINE :][: most_rows * depth].reshape(most_rows, depth)
    shapes_2B = np.empty((2, LINE), np.uint8)
    product_MP = np.empty((most_rows, PANEL), Z)
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
                # What is summed has no sign.
                flip = 0 if by_tiles or sums else _FLIP
                takes = flip != 0 or depth != num_inputs
                if by_tiles:
                    fill_shapes(rows, shapes_2B)
                    leaves = True
                if takes:
                    _take(x_MI[row : row + rows], chunk * depth, flip, own_MD)
            if rows == 0:
                continue
            x = place_of(own_MD) if takes else head[13] + row * depth
            start = flipped_start if flip else signed_start
            for number in range(0 if sums else part, num_panels if sums else part + 1):
                column = number % num_panels * PANEL
                panel = panels + (chunk * num_panels + number) * PANEL * depth
                ahead, first_sum, sum_stride = panel + PANEL * depth, start + 4 * PANEL * number, 0
                to, to_stride = place_of(product_MP), 4 * PANEL
                if sums:
                    to, to_stride = out + 4 * column, stride
                    first_sum, sum_stride = to, stride
                product = (x, depth, panel, first_sum, sum_stride, to, to_stride, ahead)
                if by_tiles:
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
                    finish(digits, adds, given)
                else:
                    _finish_part(
                        product_MP[:rows],
                        digits,
                        scale_N[row : row + count],
                        scales_XO[matrix, column:],
                        bias_O[column:],
                        residual_NO[row : row + count if adds else row, column:],
                        out_NO[row : row + count, column:],
                    )
    # Who has no leave to use tiles may not even do this.
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


@Loop
def _sum(job: Any) -> None:
    head = carray(job, (10,), np.int64)
    num_rows, num_outputs, width = head[1], head[4], head[5]
    num_threads, factor = carray(at(head[6]), (4,), np.int64)[3], float_of(Z(head[7]))
    sums_SMO = carray(at(head[8]), (num_threads, 2 * num_rows, width), Z)
    out_NO = carray(at(head[9]), (num_rows, num_outputs), F)
    for first, last in parts(job):
        _sum_rows(first, last, sums_SMO, factor, out_NO)


_run = Loop(_multiply)


@functools.cache
def _has_tiles() -> bool:
    """Whether there is AMX, and the system lets this process use it.

    Source: the Linux kernel's documentation of x86, on dynamically enabled features: ARCH_REQ_XCOMP_PERM of XTILEDATA.
    """
    return AMX and sys.platform == "linux" and ctypes.CDLL(None).syscall(158, 0x1023, 18) == 0


def is_available() -> bool:
    """Whether this CPU multiplies integers in one of these ways."""
    return VNNI


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
        self._depth = -(-num_inputs // STEP) * STEP
        if sums:
            self._depth = min(self._depth, _CHUNK)
        num_chunks, self._num_panels = -(-num_inputs // self._depth), -(-num_outputs // PANEL)
        more = (0, num_chunks * self._depth - num_inputs, 0, self._num_panels * PANEL - num_outputs)
        whole = (functional.pad(levels, more) if any(more) else levels).contiguous()
        # Four inputs at a time are moved as one number.
        parts = whole.view(torch.int32).reshape(-1, PANEL, num_chunks, self._depth // 4)
        parts = parts.permute(2, 0, 3, 1).contiguous()
        self._panels = parts.view(torch.int8).view(*parts.shape, 4)
        # What sums start from, also where rows are flipped. A few at a time, as they are made wide first: floats, whose
        # sums are exact below 2^24, as those of 2^17 inputs are.
        few = torch.split(whole.reshape(-1, whole.shape[-1]), 1024)
        exact = torch.float32 if whole.shape[-1] < 2**17 else torch.float64
        self._flipped_start = torch.cat([part.to(exact).sum(-1) for part in few]).int().mul_(-_FLIP)
        self._start = torch.zeros_like(self._flipped_start)
        self._no_bias_O = torch.zeros(num_outputs)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All that a product reads besides what it is given."""
        return self._panels, self._start, self._flipped_start, self._no_bias_O

    @property
    def levels(self) -> Tensor:
        """As it was given."""
        *matrices, num_outputs, num_inputs = self.shape
        whole = self._panels.permute(1, 3, 0, 2, 4).reshape(*matrices, self._num_panels * PANEL, -1)
        return whole[..., :num_outputs, :num_inputs]

    def multiply(
        self,
        x: QuantizedActivation,
        scales_XO: Tensor,
        bias_O: Tensor | None = None,
        *,
        residual_NO: Tensor | None = None,
        end_X: Tensor | None = None,
    ) -> Tensor:
        """See `IntegerMatrix`."""
        levels_MI, scale_N = x.levels_MI.contiguous(), x.scale_N.contiguous()
        num_rows, digits = len(scale_N), len(levels_MI) // max(1, len(scale_N))
        out_NO = empty(num_rows, self.shape[-2])
        if digits == 1 and end_X is None and num_rows > _MOST_ROWS:
            for first in range(0, num_rows, _MOST_ROWS):
                rows = slice(first, first + _MOST_ROWS)
                part = QuantizedActivation(levels_MI[rows], scale_N[rows])
                added = None if residual_NO is None else residual_NO[rows]
                out_NO[rows] = self.multiply(part, scales_XO, bias_O, residual_NO=added)
            return out_NO
        added = None if residual_NO is None else residual_NO.contiguous()
        self._multiply(
            *(levels_MI, out_NO, max(1, digits), self._num_matrices * self._num_panels, scale_N),
            *(scales_XO.contiguous(), self._no_bias_O if bias_O is None else bias_O),
            *(0 if added is None else 1, scale_N if added is None else added),
            scale_N if end_X is None else end_X.contiguous(),
        )
        return out_NO

    def mean(self, digits_MI: Tensor, factor: float) -> Tensor:
        """See `IntegerMatrix`."""
        num_rows, num_outputs, width = len(digits_MI), self.shape[0], self._num_panels * PANEL
        sums_SMO = torch.empty(torch.get_num_threads(), num_rows, width, dtype=torch.int32)
        out_NO = torch.empty(num_rows // 2, num_outputs)
        job = self._multiply(
            digits_MI.contiguous(), sums_SMO, 0, len(self._panels), *[sums_SMO] * 3, 0, *[sums_SMO] * 2
        )
        _sum(num_rows // 2, out_NO.numel(), num_outputs, width, ctypes.addressof(job), float(factor), sums_SMO, out_NO)
        return out_NO

    def _multiply(self, x_MI: Tensor, out: Tensor, digits: int, num_parts: int, *more: Tensor | int) -> Any:
        """Run the loop; no digits stand for sums."""
        num_outputs, num_inputs = self.shape[-2:]
        least_tiled = _LEAST_TILED if _has_tiles() else sys.maxsize
        sizes = (len(x_MI), num_inputs, self._depth, self._num_panels, num_outputs, digits == 0, max(1, digits))
        tensors = (x_MI, self._panels, self._start, self._flipped_start, out)
        # Of few rows it is reading the matrix that takes the time.
        work = max(len(x_MI), _LEAST_TILED) * self._panels.numel() // self._num_matrices // 16
        return _run(num_parts, work, *sizes, least_tiled, self._num_matrices, *tensors, *more)
