"""What a model does between its matrix products: in torch, in compiled loops, or in kernels of a GPU.

Modules ask an `Operations` for it. The one of torch runs on any device, in any type, and has gradients; the compiled
one does the same on float32 tensors of a CPU several times faster, that of kernels on tensors of a GPU, and each leaves
everything else to torch.
"""

# R rows, Q positions, H heads, E head dimension, N rows of a product, I inputs, O outputs, V vocabulary, D model, M two
# digits of each row, K chosen tokens

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.models.attention import SegmentLoops

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

# Weights are held for so many positions at a time: of a whole canvas of 256 they would take 268 MB of DiffusionGemma's
# 262,144 tokens. Below 32 MB, glibc finds freed memory again instead of asking the system for it.
_HELD_BYTES = 24 * 2**20


class Reading(NamedTuple):
    """What one step reads of each position's logits."""

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


class Rounded(NamedTuple):
    """Inputs of a product as integers: what they are but for a factor of each row."""

    levels_NI: Tensor
    """int8, from -127 to 127."""
    scale_N: Tensor
    """float32; that factor, more than 0, NaN where a row has one."""


class Unscaled(NamedTuple):
    """What a product of such inputs came to: whoever goes over it next makes floats of it."""

    product_NO: Tensor
    """int32."""
    scale_N: Tensor
    """float32; factors of its rows."""
    scales_O: Tensor
    """float32; factors of its columns."""
    bias_O: Tensor
    """float32; what is added then."""
    sizes: Sequence[int]
    """How many columns each of the linears has whose product it is."""

    @property
    def factors(self) -> tuple[Tensor, Tensor, Tensor]:
        """What makes floats of it: of rows, of columns, and what is added."""
        return self.scale_N, self.scales_O, self.bias_O


class Operations:
    """In torch."""

    segments: SegmentLoops | None = None
    """What reads and writes packed segments of many texts, in float32 on a CPU."""

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

    def gate(self, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        """The activation of one half, times the other half."""
        return ACTIVATIONS[activation](gate) * up

    def floats(self, out: Tensor | Unscaled, like: Tensor) -> Tensor:
        """What a product gave, as floats, in the type and the leading dimensions of another tensor."""
        if isinstance(out, Tensor):
            return out
        return self.scale_product(out.product_NO, *out.factors).to(like.dtype).view(*like.shape[:-1], -1)

    def parts(self, outs: Sequence[Tensor] | Unscaled, like: Tensor) -> Sequence[Tensor]:
        """What each of some linears gave, as `floats`."""
        if not isinstance(outs, Unscaled):
            return outs
        return torch.split(self.floats(outs, like), list(outs.sizes), dim=-1)

    def add_norm(
        self, x: Tensor, out: Tensor | Unscaled | None, weight_I: Tensor, eps: float, factor_I: Tensor | None
    ) -> tuple[Tensor, Tensor | Rounded]:
        """A residual stream with what was made of it, and its norm.

        Args:
            x: the stream.
            out: what is added to it; None is nothing.
            weight_I, eps: of the norm.
            factor_I: have the norm rounded, see `round_rows`.
        """
        if out is not None:
            x = x + self.floats(out, x)
        normed = self.rms_norm(x, weight_I, eps)
        return x, normed if factor_I is None else self.round_rows(normed.flatten(0, -2), factor_I)

    def heads(
        self,
        outs: Sequence[Tensor] | Unscaled,
        head_dim: int,
        rotary: tuple[Tensor, Tensor],
        norms: tuple[nn.Module, nn.Module] | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys, rotated, and values, all [R, Q, heads, E], of what three linears gave.

        Args:
            outs: of the three.
            head_dim: E.
            rotary: cosines and sines.
            norms: of queries and of keys, ahead of rotating.
        """
        parts = self.parts(outs, rotary[0][:, :, 0])
        queries, keys, values = (part.view(*part.shape[:2], -1, head_dim) for part in parts)
        if norms is not None:
            queries, keys = norms[0](queries), norms[1](keys)
        return self.rotate(queries, *rotary), self.rotate(keys, *rotary), values

    def gated(self, outs: Sequence[Tensor] | Unscaled, activation: str, factor_I: Tensor | None) -> Tensor | Rounded:
        """The activation of what one linear gave, times what the other gave.

        Args:
            outs: of both.
            activation: a name of ACTIVATIONS.
            factor_I: have it rounded, see `round_rows`; None is for floats alone.
        """
        if isinstance(outs, Unscaled):
            outs = self.scale_product(outs.product_NO, *outs.factors).chunk(2, dim=-1)
        gate, up = outs
        inner = self.gate(gate, up, activation)
        return inner if factor_I is None else self.round_rows(inner.flatten(0, -2), factor_I)

    def round_rows(self, x_NI: Tensor, factor_I: Tensor) -> Rounded:
        """Rows times factors, as integers."""
        x_NI = x_NI * factor_I
        scale_N1 = (x_NI.abs().amax(-1, keepdim=True) / DIGIT).clamp_min_(torch.finfo(torch.float32).tiny).float()
        return Rounded((x_NI / scale_N1).round_().to(torch.int8), scale_N1.squeeze(-1))

    def round_floats(self, x_NI: Tensor) -> tuple[Tensor, Tensor]:
        """Rows as floats of 8 bits, and a scale for each.

        Returns:
            levels_NI: float8_e4m3fn; the largest of a row is 448 or -448.
            scale_N: float32, more than 0; NaN where a row has one.
        """
        tiny = torch.finfo(torch.float32).tiny
        scale_N1 = (x_NI.abs().amax(-1, keepdim=True).float() / LARGEST_FLOAT8).clamp_min_(tiny)
        # A quotient may round up past the largest, which is no number in this type.
        levels_NI = (x_NI / scale_N1).clamp_(-LARGEST_FLOAT8, LARGEST_FLOAT8).to(torch.float8_e4m3fn)
        return levels_NI, scale_N1.squeeze(-1)

    def scale_product(self, product_NO: Tensor, scale_N: Tensor, scales_O: Tensor, bias_O: Tensor) -> Tensor:
        """A product of integers as float32: times the scales of its row and its column, plus a bias."""
        return torch.mul(product_NO, scale_N.unsqueeze(-1)).mul_(scales_O).add_(bias_O)

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

    def empty(self, num_rows: int, size: int, like: Tensor) -> Tensor:
        """A float32 tensor on the device of another, for what a step makes and leaves."""
        return like.new_empty(num_rows, size, dtype=torch.float32)

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
        """Whether there is a loop, or a kernel, that reads them."""
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
    ) -> tuple[Reading, Tensor | None]:
        """Read logits in one pass, as `sfumato.loops.vocabulary.read`; of the weights soft embeddings are made."""
        raise NotImplementedError


class Fused(Protocol):
    """Functions that go once over each row: `sfumato.loops.rows` and `sfumato.kernels`."""

    GATES: tuple[str, ...]

    def takes(self, *tensors: Tensor) -> bool: ...

    def rotate(self, x_NHE: Tensor, cos_NF: Tensor, sin_NF: Tensor) -> Tensor: ...

    def gate(self, gate_NI: Tensor, up_NI: Tensor, activation: str) -> Tensor: ...


class FusedOperations(Operations):
    """By fused functions where they can go, elsewhere in torch.

    Args:
        fused: has those that loops and kernels give alike.
    """

    def __init__(self, fused: Fused) -> None:
        self._fused = fused

    def rotate(self, x_RQHE: Tensor, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        if not self._fused.takes(x_RQHE, cos_RQ1E, sin_RQ1E):
            return super().rotate(x_RQHE, cos_RQ1E, sin_RQ1E)
        cos_NE, sin_NE = (part_RQ1E.flatten(0, 2) for part_RQ1E in (cos_RQ1E, sin_RQ1E))
        return self._fused.rotate(x_RQHE.flatten(0, 1), cos_NE, sin_NE).view(x_RQHE.shape)

    def gate(self, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        if activation not in self._fused.GATES or not self._fused.takes(gate, up):
            return super().gate(gate, up, activation)
        return self._fused.gate(gate.flatten(0, -2), up.flatten(0, -2), activation).view(gate.shape)


TORCH = Operations()


def compiled(share_V: Tensor | None = None) -> Operations:
    """Loops, if their compiler is installed, else torch. The first call on a machine compiles them, for seconds.

    Args:
        share_V: of a model whose soft embeddings are made of digits, `IntegerTable.share_V`.
    """
    if importlib.util.find_spec("numba") is None:
        return TORCH
    # Their compiler takes a quarter of a second to import.
    from sfumato.models.compiled import CompiledOperations

    return CompiledOperations(share_V)


def on_gpu(dtype: torch.dtype) -> Operations:
    """Kernels, if their compiler is installed, else torch.

    Args:
        dtype: of the model's embedding.
    """
    if importlib.util.find_spec("triton") is None:
        return TORCH
    from sfumato.models.gpu import GPUOperations

    return GPUOperations(dtype)


def use(model: nn.Module, operations: Operations) -> None:
    """Have every part of a model ask this one."""
    for module in model.modules():
        if isinstance(getattr(module, "operations", None), Operations):
            setattr(module, "operations", operations)  # noqa: B010
