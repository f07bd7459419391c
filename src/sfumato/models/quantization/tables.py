"""Matrices of integers of 8 bits: products with them, by what a CPU has for that, and tables of a whole vocabulary.

Integers are several times faster than floats on CPUs that can (AVX-512 VNNI, AMX).
"""

# N positions, M one or two digits of each, I inputs, G groups of them, O outputs, X matrices, V vocabulary, D model

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from sfumato.kernels.base import DIGIT, SECOND_DIGIT, TORCH, Backend, QuantizedActivation, Rounding
from sfumato.models.quantization.weights import dequantize

if TYPE_CHECKING:
    from sfumato.kernels.cpu.products import Matrix

# Four standard deviations of what rounding a row of the matrix does to a logit, which are scale * |x| / sqrt(12) each.
_UNSURE = 4 / 12**0.5


@functools.cache
def multiplies_integers(device: torch.device) -> bool:
    """Whether products of integers of 8 bits are exact: on CPUs of x86 without VNNI sums of two of them overflow."""
    most = torch.full((32, 64), DIGIT, dtype=torch.int8, device=device)
    return bool((torch._int_mm(most, most.T) == 64 * DIGIT**2).all())


class IntegerMatrix:
    """A matrix to multiply with, or many of one shape, in torch; `sfumato.kernels.cpu.products.Matrix` does the same.

    Args:
        levels: int8 [O, I] or [X, O, I]; with groups, see `weights.dequantize`.
        groups: their scales and minimums, if there are any.
    """

    def __init__(self, levels: Tensor, groups: Tensor | None = None) -> None:
        self.levels, self.groups = levels, groups
        self.num_groups = 1 if groups is None else groups.shape[-2]
        """How many scales inputs have."""
        self.tensors: tuple[Tensor, ...] = (levels,) if groups is None else (levels, groups)
        """All that a product reads besides what it is given."""

    def multiply(
        self,
        x: QuantizedActivation,
        scales_XO: Tensor,
        bias_O: Tensor | None = None,
        *,
        residual_NO: Tensor | None = None,
        end_X: Tensor | None = None,
    ) -> Tensor:
        """Products with some rows [N, O], float32.

        Args:
            x: the rows.
            scales_XO: float32; factors of the outputs of each matrix.
            bias_O, residual_NO: float32; what is added, one after the other.
            end_X: int32, of many matrices: the row that those of each end before; of one digit.
        """
        if end_X is None:
            out_NO = self._product(x, self.levels, self.groups).mul_(scales_XO)
        else:
            out_NO = scales_XO.new_empty(len(x.scale_NG), scales_XO.shape[1])
            for i, (first, last) in enumerate(itertools.pairwise([0, *end_X.tolist()])):
                if first < last:
                    own = QuantizedActivation(*(part[first:last] for part in x))
                    groups = None if self.groups is None else self.groups[i]
                    torch.mul(self._product(own, self.levels[i], groups), scales_XO[i], out=out_NO[first:last])
        for added in (bias_O, residual_NO):
            if added is not None:
                out_NO += added
        return out_NO

    @staticmethod
    def _product(x: QuantizedActivation, levels: Tensor, groups: Tensor | None) -> Tensor:
        """With one matrix, but for the factors of its outputs."""
        num_rows, num_groups = x.scale_NG.shape
        if groups is None:
            product_MO = torch._int_mm(x.levels_MI, levels.T).float()
        else:
            # Of floats: sums of so small integers are as exact.
            digits_MGS = torch.unflatten(x.levels_MI, -1, (num_groups, -1))
            scale_MG = x.scale_NG.repeat(len(digits_MGS) // max(1, num_rows), 1)
            weight_OI = dequantize(levels, torch.ones(len(levels), 1, device=levels.device), torch.float32, groups)
            product_MO = (digits_MGS * scale_MG.unsqueeze(-1)).flatten(1) @ weight_OI.T
        high_NO, *low_NO = torch.split(product_MO, max(1, num_rows))
        if low_NO:
            high_NO = high_NO.add(low_NO[0], alpha=1 / SECOND_DIGIT)
        return high_NO.mul(x.scale_NG) if groups is None else high_NO

    def mean(self, digits_MI: Tensor, factor: float) -> Tensor:
        """Products with rows of two digits from 0 on to the base 127, times a factor [N, O], float32: of few outputs
        and very many inputs."""
        high_NO, low_NO = torch._int_mm(digits_MI, self.levels.T).float().chunk(2)
        mean_NO: Tensor = high_NO.add_(low_NO, alpha=1 / DIGIT).mul_(factor)
        return mean_NO


def integer_matrix(levels: Tensor, groups: Tensor | None = None, *, means: bool = False) -> IntegerMatrix | Matrix:
    """A matrix in the form in which it is multiplied fastest, or many.

    Args:
        levels, groups: see `IntegerMatrix`.
        means: it is there for `mean`.

    On the meta device, it is what files hold: see `checkpoints.prepared`.
    """
    if levels.device.type in ("cpu", "meta"):
        # Its compiler takes a quarter of a second to import.
        from sfumato.kernels.cpu import products

        if levels.is_meta or products.is_available():
            return products.Matrix(levels, groups, sums=means)
    return IntegerMatrix(levels, groups)


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
        self.backend: Backend = TORCH
        weight_VD = weight_VD.detach()
        tiny = torch.finfo(torch.float32).tiny
        # In parts, so that no second copy in floats is made.
        peak_V = torch.cat([part_VD.abs().amax(1) for part_VD in torch.split(weight_VD, 4096)])
        scales_V = (peak_V.float() / DIGIT).clamp_min(tiny)
        levels_VD = torch.empty_like(weight_VD, dtype=torch.int8)
        rows = (torch.split(part, 4096) for part in (weight_VD, scales_V, levels_VD))
        for part_VD, part_V, into_VD in zip(*rows, strict=True):
            into_VD.copy_((part_VD / part_V.unsqueeze(-1)).round_())
        self.register_buffer("scales_V", scales_V, persistent=False)
        self.register_buffer("share_V", scales_V / scales_V.max(), persistent=False)
        self.to_logits = integer_matrix(levels_VD) if logits else None
        self.to_mean = integer_matrix(levels_VD.T, means=True) if means else None

    @functools.cached_property
    def _most(self) -> float:
        return float(self.scales_V.max())

    def mean(self, probs_NV: Tensor) -> Tensor:
        """Mean embeddings [N, D] under weights between 0 and 1; what is below a 32,000th counts as nothing.

        Args:
            probs_NV: weights, or what `Backend.digits` makes of them and `share_V`.
        """
        assert self.to_mean is not None, "it was asked for"
        digits_MV = probs_NV if probs_NV.dtype is torch.int8 else self.backend.digits(probs_NV, self.share_V)
        return self.to_mean.mean(digits_MV, self._most / DIGIT)

    def logits(self, x_ND: Tensor, weight_VD: Tensor, cap: float | None) -> Tensor:
        """Products with all rows, float32.

        Args:
            x_ND: hidden states.
            weight_VD: the matrix in floats.
            cap: c in c tanh(logit / c); None leaves them.
        """
        assert self.to_logits is not None, "it was asked for"
        if not len(x_ND):
            return self.scales_V.new_empty(0, len(self.scales_V))
        x_ND = x_ND.contiguous()
        x = self.backend.quantize(x_ND, Rounding(torch.ones_like(x_ND[0], dtype=torch.float32), digits=2))
        out_NV = self.to_logits.multiply(x, self.scales_V)
        self.backend.refine(out_NV, x_ND, weight_VD, self.scales_V, error=_UNSURE, cap=cap)
        return out_NV
