"""Float matrix products, using `loops.floats`."""

# N rows, I inputs, O outputs

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.kernels.cpu.loops.sizes import PANEL
from sfumato.kernels.cpu.memory import empty, place_in_lines
from sfumato.kernels.cpu.running import Loop

_multiply = Loop("floats.multiply")


class Matrix:
    """A float matrix, packed for multiplication.

    Args:
        weight_OI: float32 on a CPU.
        bias_O: added to every row; None is zero.
    """

    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None = None) -> None:
        self.shape = weight_OI.shape
        num_outputs, num_inputs = self.shape
        missing = -num_outputs % PANEL
        padded_OI = functional.pad(weight_OI.detach(), (0, 0, 0, missing))
        self._panels = place_in_lines(padded_OI.view(-1, PANEL, num_inputs).transpose(1, 2))
        self._bias, self._biased = torch.zeros(num_outputs + missing), bias_O is not None
        if bias_O is not None:
            self._bias[:num_outputs] = bias_O.detach()

    @property
    def weight_OI(self) -> Tensor:
        """The original matrix."""
        return self._panels.transpose(1, 2).flatten(0, 1)[: self.shape[0]]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Everything a product reads besides its arguments."""
        return self._panels, self._bias

    def multiply(self, x_NI: Tensor, *, residual_NO: Tensor | None = None) -> Tensor:
        """The product [N, O] with some rows, plus bias and optionally a residual."""
        num_rows, (num_outputs, num_inputs) = len(x_NI), self.shape
        if x_NI.stride(1) != 1:
            x_NI = x_NI.contiguous()
        added = x_NI if residual_NO is None else residual_NO.contiguous()
        out_NO = empty(num_rows, num_outputs)
        sizes = (num_rows, num_inputs, num_outputs, self._biased, residual_NO is not None)
        # With few rows, reading the matrix takes most of the time.
        work = max(num_rows, 4) * self._panels.numel() // 16
        stride = x_NI.stride(0) if num_rows > 1 else num_inputs
        _multiply(len(self._panels), work, *sizes, x_NI, stride, self._panels, self._bias, added, out_NO)
        return out_NO
