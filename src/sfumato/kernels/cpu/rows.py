"""Calls of `loops.rows`."""

# N rows, I inputs, G groups of them, H heads, E head dimension, F its rotated part

from __future__ import annotations

import torch
from torch import Tensor

from sfumato.kernels.base import QuantizedActivation, Rounding
from sfumato.kernels.cpu.loops.sizes import GATES
from sfumato.kernels.cpu.memory import empty
from sfumato.kernels.cpu.running import Loop

_round, _norm, _gate = Loop("rows.round"), Loop("rows.norm"), Loop("rows.gate")
_plain_norm, _plain_gate, _rotate = Loop("rows.plain_norm"), Loop("rows.plain_gate"), Loop("rows.rotate")


def takes(*tensors: Tensor) -> bool:
    """Whether loops can go over these: float32 on a CPU, and nobody wants gradients."""
    return not torch.is_grad_enabled() and all(x.dtype is torch.float32 and x.device.type == "cpu" for x in tensors)


def quantize(x_NI: Tensor, rounding: Rounding) -> QuantizedActivation:
    """See `Backend.quantize`."""
    out = _room(len(x_NI), rounding)
    _round(len(x_NI), 2 * x_NI.numel(), *_sizes(rounding), x_NI.contiguous(), rounding.factor_I, *out)
    return out


def norm_quantize(x: Tensor, weight_I: Tensor, eps: float, rounding: Rounding) -> QuantizedActivation:
    """See `Backend.norm_quantize`."""
    num_rows = x.numel() // len(weight_I)
    out = _room(num_rows, rounding)
    given = (float(eps), x.contiguous(), weight_I, rounding.factor_I)
    _norm(num_rows, 6 * x.numel(), *_sizes(rounding), *given, *out)
    return out


def gate_quantize(both_NO: Tensor, activation: str, rounding: Rounding) -> QuantizedActivation:
    """See `Backend.gate_quantize`; the activation is one of GATES."""
    out, numbers = _room(len(both_NO), rounding), (*_sizes(rounding), GATES.index(activation))
    _gate(len(both_NO), 3 * both_NO.numel(), *numbers, both_NO.contiguous(), rounding.factor_I, *out)
    return out


def norm(x: Tensor, weight_I: Tensor, eps: float) -> Tensor:
    """See `Backend.rms_norm`."""
    out = empty(*x.shape)
    size = len(weight_I)
    _plain_norm(x.numel() // size, 2 * x.numel(), size, float(eps), x.contiguous(), weight_I, out)
    return out


def gate(gate: Tensor, up: Tensor, activation: str) -> Tensor:
    """See `Backend.gate`; the activation is one of GATES."""
    out, size = empty(*gate.shape), gate.shape[-1]
    gate_NI, up_NI = (one.flatten(0, -2) for one in (gate, up))
    gate_NI, up_NI = (one if one.stride(1) == 1 else one.contiguous() for one in (gate_NI, up_NI))
    strides = (one.stride(0) if len(one) > 1 else size for one in (gate_NI, up_NI))
    _plain_gate(len(gate_NI), 3 * out.numel(), size, GATES.index(activation), *strides, gate_NI, up_NI, out)
    return out


def rotate(x_NHE: Tensor, cos_NF: Tensor, sin_NF: Tensor, weight_E: Tensor | None = None, eps: float = 0.0) -> Tensor:
    """Rotate every head by its position, as `Backend.rotate`.

    Args:
        x_NHE: heads of a row stand behind each other; rows may stand apart.
        cos_NF, sin_NF: contiguous.
        weight_E: norm each head before, with this weight.
        eps: of the norm.
    """
    num_rows, num_heads, size = x_NHE.shape
    if x_NHE.stride(2) != 1 or (num_heads > 1 and x_NHE.stride(1) != size):
        x_NHE = x_NHE.contiguous()
    stride = x_NHE.stride(0) if num_rows > 1 else num_heads * size
    out_NHE = empty(num_rows, num_heads, size)
    numbers = (num_heads, size, cos_NF.shape[1], stride, weight_E is not None, float(eps))
    tensors = (x_NHE, cos_NF if weight_E is None else weight_E, cos_NF, sin_NF, out_NHE)
    _rotate(num_rows, 2 * out_NHE.numel(), *numbers, *tensors)
    return out_NHE


def _sizes(rounding: Rounding) -> tuple[int, int, int]:
    return len(rounding.factor_I), rounding.digits, rounding.num_groups


def _room(num_rows: int, rounding: Rounding) -> QuantizedActivation:
    size, digits, num_groups = _sizes(rounding)
    return QuantizedActivation(empty(digits * num_rows, size, dtype=torch.int8), empty(num_rows, num_groups))
