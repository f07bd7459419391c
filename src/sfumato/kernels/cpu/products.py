"""8-bit integer matrix products, using `loops.products`."""

# M rows, I inputs, G groups of S of them, O outputs, P panels of them, X matrices

from __future__ import annotations

import ctypes
import functools
import math
import sys
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.kernels.base import QuantizedActivation, pack, unpack
from sfumato.kernels.cpu.loops.sizes import FLIP, PANEL, STEP, features
from sfumato.kernels.cpu.running import Loop, empty

# Inputs per part of a long sum. With 128 rows they fill a quarter of a megabyte, and panels stream past.
_CHUNK = 2048
# Maximum rows per panel: more would not stay in a cache.
_MAX_ROWS = 1024
# Minimum rows for a tile of AMX.
_MIN_TILED = 4

_run, _sum = Loop("products.multiply"), Loop("products.sum_parts")


@functools.cache
def _has_tiles() -> bool:
    """Whether AMX is available to this process.

    Source: the Linux kernel's documentation of x86, on dynamically enabled features: ARCH_REQ_XCOMP_PERM of XTILEDATA.
    """
    return "amx_int8" in features() and sys.platform == "linux" and ctypes.CDLL(None).syscall(158, 0x1023, 18) == 0


def is_available() -> bool:
    """Whether this CPU supports one of these integer products."""
    return "avx2" in features()


class Matrix(nn.Module):
    """An integer matrix, packed for multiplication, or many of one shape.

    Args:
        levels, groups: see `IntegerMatrix`. On the meta device, its tensors are assigned later.
        sums: for `mean`, products with few outputs and very many inputs.
    """

    panels: Tensor
    flipped_start: Tensor

    def __init__(self, levels: Tensor, groups: Tensor | None = None, *, sums: bool = False) -> None:
        super().__init__()
        self._bits = 0 if groups is None else 4 if levels.dtype is torch.uint8 else 8
        self.shape = torch.Size((*levels.shape[:-1], levels.shape[-1] * (2 if self._bits == 4 else 1)))
        self._num_matrices = levels.shape[:-2].numel()
        num_outputs, num_inputs = self.shape[-2:]
        self._no_bias_O = torch.zeros(num_outputs, device="cpu")
        self.num_groups = 1 if groups is None else groups.shape[-2]
        """Number of input scales."""
        if groups is not None:
            self._depth, self._num_panels = -(-num_inputs // 4) * 4, -(-num_outputs // PANEL)
            self._start = torch.empty(0, dtype=torch.int32, device="cpu")
            block_bytes = self._depth // self.num_groups * PANEL * self._bits // 8 + 4 * PANEL
            sizes = (self._num_matrices, self._num_panels, self.num_groups, block_bytes)
            panels = torch.empty(sizes, dtype=torch.uint8, device=levels.device)
            flat = (one.reshape(-1, *one.shape[own:]) for one, own in ((levels, -2), (groups, -3)))
            for blocks, *pair in () if levels.is_meta else zip(panels, *flat, strict=True):
                blocks.copy_(self._blocks(*pair))
            self._hold(panels, self._start)
            return
        self._depth = -(-num_inputs // STEP) * STEP
        if sums:
            self._depth = min(self._depth, _CHUNK)
        num_chunks, self._num_panels = -(-num_inputs // self._depth), -(-num_outputs // PANEL)
        more = (0, num_chunks * self._depth - num_inputs, 0, self._num_panels * PANEL - num_outputs)
        whole = (functional.pad(levels, more) if any(more) else levels).contiguous()
        # Four inputs at a time are moved as one number.
        parts = whole.view(torch.int32).reshape(-1, PANEL, num_chunks, self._depth // 4)
        parts = parts.permute(2, 0, 3, 1).contiguous()
        panels = parts.view(torch.int8).view(*parts.shape, 4)
        # Start values of the sums, also for flipped rows. A few at a time, because they are widened first: float sums
        # are exact below 2^24, as sums of 2^17 inputs are.
        few = torch.split(whole.reshape(-1, whole.shape[-1]), 1024)
        exact = torch.float32 if whole.shape[-1] < 2**17 else torch.float64
        if levels.is_meta:
            # There, `torch.cat` imports torch's compiler.
            self._hold(panels, whole.new_empty(whole.shape[:-1].numel(), dtype=torch.int32))
        else:
            self._hold(panels, torch.cat([part.to(exact).sum(-1) for part in few]).int().mul_(-FLIP))
        self._start = torch.zeros(len(self.flipped_start), dtype=torch.int32, device="cpu")

    def _hold(self, panels: Tensor, flipped_start: Tensor) -> None:
        self.register_buffer("panels", panels, persistent=False)
        self.register_buffer("flipped_start", flipped_start, persistent=False)

    def _blocks(self, levels: Tensor, groups_OG2: Tensor) -> Tensor:
        """Bytes of the groups of all panels of a matrix, uint8 [P, G, ...]; see `loops.instructions`."""
        numbers_OI = unpack(levels)
        more = (0, self._depth - numbers_OI.shape[1], 0, self._num_panels * PANEL - len(numbers_OI))
        numbers = functional.pad(numbers_OI, more).view(self._num_panels, PANEL, self.num_groups, -1, 4)
        numbers = numbers.permute(0, 2, 3, 1, 4)
        if self._bits == 4:
            lower, upper = torch.split(numbers, PANEL // 2, dim=3)
            numbers = lower | (upper << 4)
        pairs = functional.pad(groups_OG2, (0, 0, 0, 0, 0, more[-1])).view(self._num_panels, PANEL, self.num_groups, 2)
        return torch.cat((numbers.flatten(2), pairs.permute(0, 2, 3, 1).flatten(2).contiguous().view(torch.uint8)), 2)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Everything a product reads besides its arguments."""
        return self.panels, self._start, self.flipped_start, self._no_bias_O

    @property
    def levels(self) -> Tensor:
        """The original levels."""
        *matrices, num_outputs, num_inputs = self.shape
        if self._bits:
            blocks = torch.unflatten(self.panels[..., : -4 * PANEL], -1, (-1, PANEL * self._bits // 8, 4))
            numbers = torch.cat((blocks & 15, blocks >> 4), -2) if self._bits == 4 else blocks
            numbers = numbers.permute(0, 1, 4, 2, 3, 5).reshape(*matrices, self._num_panels * PANEL, -1)
            return pack(numbers[..., :num_outputs, :num_inputs], self._bits)
        whole = self.panels.permute(1, 3, 0, 2, 4).reshape(*matrices, self._num_panels * PANEL, -1)
        return whole[..., :num_outputs, :num_inputs]

    @property
    def groups(self) -> Tensor | None:
        """The original groups."""
        if not self._bits:
            return None
        *matrices, num_outputs, _ = self.shape
        pairs = torch.unflatten(self.panels[..., -4 * PANEL :].contiguous().view(torch.float16), -1, (2, PANEL))
        whole = pairs.permute(0, 1, 4, 2, 3).reshape(*matrices, -1, self.num_groups, 2)
        return whole[..., :num_outputs, :, :]

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
        levels_MI, scale_NG = x.levels_MI.contiguous(), x.scale_NG.contiguous()
        num_rows, digits = len(scale_NG), len(levels_MI) // max(1, len(scale_NG))
        out_NO = empty(num_rows, self.shape[-2])
        if digits == 1 and end_X is None and num_rows > _MAX_ROWS:
            for first in range(0, num_rows, _MAX_ROWS):
                rows = slice(first, first + _MAX_ROWS)
                part = QuantizedActivation(levels_MI[rows], scale_NG[rows])
                added = None if residual_NO is None else residual_NO[rows]
                out_NO[rows] = self.multiply(part, scales_XO, bias_O, residual_NO=added)
            return out_NO
        added = None if residual_NO is None else residual_NO.contiguous()
        self._multiply(
            *(levels_MI, out_NO, max(1, digits), self._num_matrices * self._num_panels, scale_NG),
            *(scales_XO.contiguous(), self._no_bias_O if bias_O is None else bias_O),
            *(0 if added is None else 1, scale_NG if added is None else added),
            scale_NG if end_X is None else end_X.contiguous(),
        )
        return out_NO

    def mean(self, digits_MI: Tensor, factor: float) -> Tensor:
        """See `IntegerMatrix`."""
        num_rows, num_outputs, width = len(digits_MI), self.shape[0], self._num_panels * PANEL
        sums_SMO = torch.empty(torch.get_num_threads(), num_rows, width, dtype=torch.int32)
        out_NO = torch.empty(num_rows // 2, num_outputs)
        job = self._multiply(digits_MI.contiguous(), sums_SMO, 0, len(self.panels), *[sums_SMO] * 3, 0, *[sums_SMO] * 2)
        _sum(num_rows // 2, out_NO.numel(), num_outputs, width, ctypes.addressof(job), float(factor), sums_SMO, out_NO)
        return out_NO

    def _multiply(self, x_MI: Tensor, out: Tensor, digits: int, num_parts: int, *more: Tensor | int) -> Any:
        """Run the loop; without digits it computes sums."""
        num_outputs, num_inputs = self.shape[-2:]
        # In groups, unpacking and scaling pay off later.
        is_tiled = _has_tiles() and (not self._bits or (self._bits == 4 and self._depth == STEP * self.num_groups))
        least_tiled = _MIN_TILED * (2 if self._bits else 1) if is_tiled else sys.maxsize
        panel_bytes = math.prod(self.panels.shape[2:])
        sizes = (len(x_MI), num_inputs, self._depth, self._num_panels, num_outputs, digits == 0, max(1, digits))
        tensors = (x_MI, self.panels, self._start, self.flipped_start, out)
        # With few rows, reading the matrix takes most of the time.
        work = max(len(x_MI), _MIN_TILED) * self.panels.numel() // self._num_matrices // 16
        more = (*more, self._bits, self.num_groups, panel_bytes)
        return _run(num_parts, work, *sizes, least_tiled, self._num_matrices, *tensors, *more)
