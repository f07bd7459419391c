"""What a model does besides plain matrix products: one `Backend`, in torch, and those that do it faster.

Modules ask their `backend`. The one here runs on any device, in any type, and has gradients: it says what operations
are. `kernels.cpu` does the same in compiled loops over float32 tensors of a CPU, `kernels.gpu` in Triton; each leaves
everything else to torch.
"""

# R rows, Q positions, H heads, E head dimension, N rows of a product, I inputs, O outputs, X matrices, V vocabulary,
# D model, M one or two digits of each row, K chosen tokens

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.kernels.segments import GatheredSegments, KVPool, Segment, SegmentReader

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": functional.silu,
    "gelu_pytorch_tanh": partial(functional.gelu, approximate="tanh"),
}
"""By the names that configs use."""

DIGIT = 127
"""The largest integer of 8 bits in use, and the base of positive numbers of two digits."""
SECOND_DIGIT = 254
"""What the second digit of a number that was rounded to the first counts for: the rest is a half at most."""
LARGEST_FLOAT8 = torch.finfo(torch.float8_e4m3fn).max
"""The largest number of 8 bits with a point, of the kind with three bits of mantissa."""
_TINY = torch.finfo(torch.float32).tiny

# Weights are held for so many positions at a time: of a whole canvas of 256 they would take 268 MB of DiffusionGemma's
# 262,144 tokens. Below 32 MB, glibc finds freed memory again instead of asking the system for it.
_HELD_BYTES = 24 * 2**20


class TokenStats(NamedTuple):
    """What one pass over the logits says of each position."""

    best_N: Tensor
    """int64; the most probable token."""
    drawn_N: Tensor
    """int64; the one that was drawn."""
    confidence_N: Tensor
    """The probability of that."""
    entropy_N: Tensor
    """In nats."""
    margin_N: Tensor
    """Probability of the best token less that of the next; NaN if the logits are broken."""
    total_N: Tensor
    """Sum of the weights."""


class Rounding(NamedTuple):
    """How inputs of a product become integers."""

    factor_I: Tensor
    """float32; what they are multiplied by before."""
    digits: int = 1
    """1 or 2 of each."""


class QuantizedActivation(NamedTuple):
    """Inputs of a product as integers: what they are but for a factor of each row."""

    levels_MI: Tensor
    """int8, from -127 to 127: the first digits of all rows, then the second ones, if they have two."""
    scale_N: Tensor
    """float32; that factor, of the first digits, more than 0, NaN where a row has one."""


class Backend:
    """In torch."""

    def rms_norm(self, x: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        """Root mean square normalisation of the last dimension, with a learned scale."""
        return functional.rms_norm(x, weight_I.shape, weight_I, eps)

    def rotate(self, x_RQHE: Tensor, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        """Rotate every head's query or key by its position; dimensions past those of the cosines stay."""
        size = cos_RQ1E.shape[-1]
        part = x_RQHE[..., :size]
        first, second = part.chunk(2, dim=-1)
        turned = (part * cos_RQ1E + torch.cat((-second, first), dim=-1) * sin_RQ1E).to(x_RQHE.dtype)
        return turned if size == x_RQHE.shape[-1] else torch.cat((turned, x_RQHE[..., size:]), dim=-1)

    def norm_rotate(self, x_RQHE: Tensor, weight_E: Tensor, eps: float, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        """The same of heads that are normed before."""
        return self.rotate(self.rms_norm(x_RQHE, weight_E, eps), cos_RQ1E, sin_RQ1E)

    def gate(self, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        """The activation of one half, times the other half."""
        return ACTIVATIONS[activation](gate) * up

    def quantize(self, x_NI: Tensor, rounding: Rounding) -> QuantizedActivation:
        """Rows times factors, as integers."""
        x_NI = x_NI * rounding.factor_I
        scale_N1 = (x_NI.abs().amax(-1, keepdim=True) / DIGIT).clamp_min_(_TINY).float()
        levels_NI = x_NI / scale_N1
        levels_MI = levels_NI.round()
        if rounding.digits == 2:
            levels_MI = torch.cat((levels_MI, ((levels_NI - levels_MI) * SECOND_DIGIT).round_()))
        return QuantizedActivation(levels_MI.to(torch.int8), scale_N1.squeeze(-1))

    def norm_quantize(self, x: Tensor, weight_I: Tensor, eps: float, rounding: Rounding) -> QuantizedActivation:
        """`rms_norm`, and `quantize` of its rows."""
        return self.quantize(self.rms_norm(x, weight_I, eps).flatten(0, -2), rounding)

    def gate_quantize(self, both_NO: Tensor, activation: str, rounding: Rounding) -> QuantizedActivation:
        """`gate` of the halves of each row, and `quantize` of that."""
        gate_NI, up_NI = both_NO.chunk(2, dim=-1)
        return self.quantize(self.gate(gate_NI, up_NI, activation), rounding)

    def quantize_float8(self, x_NI: Tensor) -> tuple[Tensor, Tensor]:
        """Rows as floats of 8 bits, and a scale for each.

        Returns:
            levels_NI: float8_e4m3fn; the largest of a row is 448 or -448.
            scale_N: float32, more than 0; NaN where a row has one.
        """
        scale_N1 = (x_NI.abs().amax(-1, keepdim=True).float() / LARGEST_FLOAT8).clamp_min_(_TINY)
        # A quotient may round up past the largest, which is no number in this type.
        levels_NI = (x_NI / scale_N1).clamp_(-LARGEST_FLOAT8, LARGEST_FLOAT8).to(torch.float8_e4m3fn)
        return levels_NI, scale_N1.squeeze(-1)

    def segments(self, pool: KVPool, segments: Sequence[Segment], windows: Sequence[int]) -> SegmentReader:
        """What writes packed segments of many texts into a pool, and reads them there.

        Args:
            pool: where keys and values are.
            segments: in the order of the packed row.
            windows: sizes of the sliding windows that some layers read.
        """
        return GatheredSegments(pool, segments, windows)

    def replay(
        self,
        pool: KVPool,
        key: Hashable,
        compute: Callable[..., Tensor],
        inputs: Sequence[Tensor],
        constants: Callable[[], Iterable[Tensor]],
    ) -> Tensor:
        """What a computation gives of its inputs, which may come again with others.

        Args:
            pool: whose keys and values it writes and reads; the next computation over it may overwrite the result.
            key: equal for computations that differ in the values of their inputs alone.
            compute: of the inputs.
            inputs: what changes.
            constants: gives what else it reads.
        """
        return compute(*inputs)

    def digits(self, probs_NV: Tensor, factor_V: Tensor) -> Tensor:
        """Numbers times factors, from 0 to 1, as two digits to the base 127.

        Returns:
            digits_MV: int8, the first digits of all rows and then the second ones, which are rounded.
        """
        digits_MV = probs_NV.new_empty(2 * len(probs_NV), probs_NV.shape[1], dtype=torch.int8)
        high_NV, low_NV = digits_MV.chunk(2)
        # A few rows at a time, which stay in the cache meanwhile.
        for parts in zip(*(torch.split(rows_NV, 16) for rows_NV in (probs_NV, high_NV, low_NV)), strict=True):
            rest_NV = parts[0] * factor_V * DIGIT
            parts[1].copy_(rest_NV)
            parts[2].copy_(rest_NV.sub_(parts[1]).mul_(DIGIT).round_())
        return digits_MV

    def refine(
        self,
        logits_NV: Tensor,
        x_ND: Tensor,
        weight_VD: Tensor,
        scales_V: Tensor,
        *,
        error: float,
        cap: float | None,
    ) -> None:
        """Compute logits anew, in floats, that may be the highest of their row; then cap all of them.

        Args:
            logits_NV: float32; changed in place.
            x_ND: what they were made of.
            weight_VD: with what, exactly.
            scales_V: a logit is unsure by error times its scale times the length of x.
            error: see scales_V.
            cap: c in c tanh(logit / c); None leaves them.
        """
        spread_NV = error * x_ND.float().norm(dim=-1, keepdim=True) * scales_V
        least_N1 = (logits_NV - spread_NV).amax(-1, keepdim=True)
        row_K, token_K = (logits_NV + spread_NV >= least_N1).nonzero(as_tuple=True)
        logits_NV[row_K, token_K] = (x_ND[row_K].float() * weight_VD[token_K].float()).sum(-1)
        if cap is not None:
            self.cap(logits_NV, cap)

    def cap(self, logits: Tensor, most: float) -> Tensor:
        """c tanh(logit / c) of logits [..., V], float32; those that are float32 may be changed in place.

        Args:
            logits: of any float type.
            most: c.
        """
        if torch.is_grad_enabled():
            return most * torch.tanh(logits.float() / most)
        logits = logits.float()
        # On a CPU a few rows at a time, which stay in its cache meanwhile.
        size = logits[..., 0].numel() if logits.is_cuda else 1
        for part_NV in torch.split(logits.view(-1, logits.shape[-1]), max(1, size)):
            part_NV.div_(most).tanh_().mul_(most)
        return logits

    def rows_at_once(self, vocab_size: int) -> int:
        """How many rows of weights [V] are held at a time, where soft embeddings are made of them."""
        return _HELD_BYTES // (4 * vocab_size)

    def reads(self, logits_NV: Tensor) -> bool:
        """Whether `read` does: whether there is a loop, or a kernel."""
        return False

    def read(
        self,
        logits_NV: Tensor,
        scale_N: Tensor,
        u_N: Tensor,
        greedy_N: Tensor,
        *,
        banned_RV: Tensor | None,
        ban_N: Tensor | None,
        mask_id: int | None,
        weigh: bool,
    ) -> tuple[TokenStats, Tensor | None]:
        """Read rows of logits in one pass: one draw each, by inverting the distribution function, and what is known.

        Args:
            logits_NV: of any float type.
            scale_N: float32; what they are divided by, more than 0.
            u_N: float32; uniforms in [0, 1).
            greedy_N: bool; rows of which the best token is drawn.
            banned_RV: bool; sets of tokens that are never drawn.
            ban_N: int64; the set of each row.
            mask_id: a token that is never drawn.
            weigh: whether the weights exp((logit - highest) / scale) are wanted.

        Returns:
            The statistics, and the weights as `Model.soft_embedding` takes them; None if they are not wanted.
        """
        raise NotImplementedError


TORCH = Backend()


def set_backend(model: nn.Module, backend: Backend) -> None:
    """Have every part of a model ask this one."""
    for module in model.modules():
        if isinstance(getattr(module, "backend", None), Backend):
            setattr(module, "backend", backend)  # noqa: B010
