"""Matrices of integers of 8 bits: products with them, by what a CPU has for that, and tables of a whole vocabulary.

Integers are several times faster than floats on CPUs that can (AVX-512 VNNI, AMX).
"""

# N positions, M rows or two digits of each position, I inputs, O outputs, X matrices, V vocabulary, D model

from __future__ import annotations

import functools
import importlib.util
import itertools
from typing import Protocol

import torch
from torch import Tensor, nn

from sfumato.models.operations import DIGIT, SECOND_DIGIT, TORCH, Operations

# Four standard deviations of what rounding a row of the matrix does to a logit, which are scale * |x| / sqrt(12) each.
_UNSURE = 4 / 12**0.5
# Outputs whose products in torch are made at once, so that they stay in a cache until they are joined.
_COLUMNS = 4096


@functools.cache
def multiplies_integers(device: torch.device) -> bool:
    """Whether products of integers of 8 bits are exact: on CPUs of x86 without VNNI sums of two of them overflow."""
    most = torch.full((32, 64), DIGIT, dtype=torch.int8, device=device)
    return bool((torch._int_mm(most, most.T) == 64 * DIGIT**2).all())


class IntegerMatrix(Protocol):
    """A matrix to multiply with, or many of one shape: `sfumato.loops.products.Matrix`, or one in torch."""

    @property
    def levels(self) -> Tensor: ...

    def multiply(self, levels_NI: Tensor) -> Tensor: ...

    def multiply_each(self, levels_MI: Tensor, scale_M: Tensor, scales_XO: Tensor, end_X: Tensor) -> Tensor: ...

    def join(self, digits_MI: Tensor, base: float, scale_N: Tensor, scales_O: Tensor, out_NO: Tensor) -> None: ...

    def mean(self, digits_MI: Tensor, base: float, factor: float) -> Tensor: ...


class _Plain:
    """The same in torch, of matrices as they are."""

    def __init__(self, levels: Tensor) -> None:
        self.levels = levels

    def multiply(self, levels_NI: Tensor) -> Tensor:
        return torch._int_mm(levels_NI, self.levels.T)

    def multiply_each(self, levels_MI: Tensor, scale_M: Tensor, scales_XO: Tensor, end_X: Tensor) -> Tensor:
        out_MO = scale_M.new_empty(len(levels_MI), scales_XO.shape[1])
        for i, (first, last) in enumerate(itertools.pairwise([0, *end_X.tolist()])):
            if first < last:
                product_MO = torch._int_mm(levels_MI[first:last], self.levels[i].T)
                torch.mul(product_MO, scale_M[first:last, None], out=out_MO[first:last]).mul_(scales_XO[i])
        return out_MO

    def join(self, digits_MI: Tensor, base: float, scale_N: Tensor, scales_O: Tensor, out_NO: Tensor) -> None:
        columns = (torch.split(self.levels, _COLUMNS), torch.split(out_NO, _COLUMNS, dim=1))
        for levels_OI, part_NO in zip(*columns, strict=True):
            high_NO, low_NO = torch._int_mm(digits_MI, levels_OI.T).chunk(2)
            torch.add(high_NO.float(), low_NO, alpha=1 / base, out=part_NO)
        out_NO.mul_(scale_N.unsqueeze(-1)).mul_(scales_O)

    def mean(self, digits_MI: Tensor, base: float, factor: float) -> Tensor:
        high_NO, low_NO = self.multiply(digits_MI).float().chunk(2)
        return high_NO.add_(low_NO, alpha=1 / base).mul_(factor)


def integer_matrix(levels: Tensor, *, means: bool = False) -> IntegerMatrix:
    """A matrix in the form in which it is multiplied fastest, or many.

    Args:
        levels: int8 [O, I] or [X, O, I].
        means: it is there for `mean`.
    """
    # Their compiler takes a quarter of a second to import.
    if levels.device.type == "cpu" and importlib.util.find_spec("numba") is not None:
        from sfumato.loops import products

        if products.there():
            return products.Matrix(levels, sums=means)
    return _Plain(levels)


class IntegerTable(nn.Module):
    """An embedding matrix in 8 bits, with a scale for each token, for the two products that go over all of it.

    Hidden states and probabilities have two digits in them, each an integer matrix of its own, so that what is rounded
    is the matrix alone. A mean of many embeddings evens that out. Of logits, those are computed anew in floats that may
    be the highest.

    Args:
        weight_VD: the matrix.
        logits, means: what is to be made with it.
    """

    scales_V: Tensor
    share_V: Tensor

    def __init__(self, weight_VD: Tensor, *, logits: bool = True, means: bool = True) -> None:
        super().__init__()
        self.operations: Operations = TORCH
        weight_VD = weight_VD.detach()
        tiny = torch.finfo(torch.float32).tiny
        scales_V = (weight_VD.abs().amax(1).float() / DIGIT).clamp_min(tiny)
        levels_VD = torch.empty_like(weight_VD, dtype=torch.int8)
        # In parts, so that no second copy in floats is made.
        rows = (torch.split(part, 4096) for part in (weight_VD, scales_V, levels_VD))
        for part_VD, part_V, into_VD in zip(*rows, strict=True):
            into_VD.copy_((part_VD / part_V.unsqueeze(-1)).round_())
        self.register_buffer("scales_V", scales_V, persistent=False)
        self._most = float(scales_V.max())
        self.register_buffer("share_V", scales_V / self._most, persistent=False)
        self._to_logits = integer_matrix(levels_VD) if logits else None
        self._to_mean = integer_matrix(levels_VD.T, means=True) if means else None

    def mean(self, probs_NV: Tensor) -> Tensor:
        """Mean embeddings [N, D] under weights between 0 and 1; what is below a 32,000th counts as nothing.

        Args:
            probs_NV: weights, or what `Operations.digits` makes of them and `share_V`.
        """
        assert self._to_mean is not None, "it was asked for"
        digits_MV = probs_NV if probs_NV.dtype is torch.int8 else self.operations.digits(probs_NV, self.share_V)
        return self._to_mean.mean(digits_MV, DIGIT, self._most / DIGIT)

    def logits(self, x_ND: Tensor, weight_VD: Tensor, cap: float | None) -> Tensor:
        """Products with all rows, float32.

        Args:
            x_ND: hidden states.
            weight_VD: the matrix in floats.
            cap: c in c tanh(logit / c); None leaves them.
        """
        assert self._to_logits is not None, "it was asked for"
        out_NV = self.operations.empty(len(x_ND), len(self.scales_V), x_ND)
        if not len(x_ND):
            return out_NV
        x_ND = x_ND.contiguous()
        scale_N = (x_ND.abs().amax(-1).float() / DIGIT).clamp_min_(torch.finfo(torch.float32).tiny)
        whole_ND = x_ND / scale_N.unsqueeze(-1)
        high_ND = whole_ND.round()
        digits_MD = torch.cat((high_ND, ((whole_ND - high_ND) * SECOND_DIGIT).round_())).to(torch.int8)
        self._to_logits.join(digits_MD, SECOND_DIGIT, scale_N, self.scales_V, out_NV)
        self.operations.refine(out_NV, x_ND, weight_VD, self.scales_V, error=_UNSURE, cap=cap)
        return out_NV
