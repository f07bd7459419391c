"""What a model does besides plain matrix products: one `Backend`, in torch, and those that do it faster.

Modules ask their `backend`. The one here runs on any device, in any type, and has gradients: it says what operations
are. `kernels.cpu` does the same in compiled loops over float32 tensors of a CPU, `kernels.gpu` in Triton; each leaves
everything else to torch.
"""

# R rows, Q query positions, S key positions, N rows of a product or packed positions, H heads, G key-value heads
# or groups of inputs, E head dimension, I inputs, O outputs, X matrices, V vocabulary, D model, M one or two digits of
# each row, K chosen tokens

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

Numbers = np.ndarray[Any, np.dtype[np.int64]]

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

WHOLE = 8
"""What a row of a matrix product gives depends, in its last bit, on how many rows there are: MKL treats the last one to
three apart, of all or of a thread's share (measured). In whole eights it does not, so that forwards are filled up to
them: a text stays the same, to the last bit, whoever else is there. Single rows are left alone, as they are faster."""

# Weights are held for so many positions at a time: of a whole canvas of 256 they would take 268 MB of DiffusionGemma's
# 262,144 tokens. Below 32 MB, glibc finds freed memory again instead of asking the system for it.
_HELD_BYTES = 24 * 2**20


class KVPool:
    """Slots for the keys and values of single positions, of any texts.

    Slot 0 belongs to no text: what pads a forward is written there.

    Args:
        heads: (key-value heads, head dimension) of each layer.
        num_slots: of each layer.
    """

    def __init__(
        self,
        heads: Sequence[tuple[int, int]],
        num_slots: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        # Empty: slots that no text ever used take no memory.
        self.keys = [torch.empty((num_slots, *pair), dtype=dtype, device=device) for pair in heads]
        self.values = [torch.empty((num_slots, *pair), dtype=dtype, device=device) for pair in heads]
        self.num_slots = num_slots
        self.replays = True
        """Whether passes that read and write it may be recorded."""
        self.graphs: object = None
        """What a backend recorded of passes that read and write it."""

    @property
    def device(self) -> torch.device:
        return self.keys[0].device


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Neighbouring positions of one text that go through the weights together."""

    slot_S: Numbers
    """int64; the pool's slot of each position of the text, at least up to the end of this segment."""
    start: int
    """Position in the text of the first."""
    end: int
    """Position in the text behind the last."""
    block: int | None = 1
    """A position reads up to the end of its own block of this many positions, counted from the start of the text: 1 is
    causal. None is a canvas, whose positions read all of it. Nobody reads past the segment."""
    run: bool = False
    """Whether the slots are neighbours, in order."""
    place_Q: Numbers | None = None
    """int64, ascending; of a canvas, the positions that are computed anew, where the others keep what was written of
    them before. None is all."""

    @property
    def count(self) -> int:
        """How many positions go through the weights."""
        return self.end - self.start if self.place_Q is None else len(self.place_Q)


def readable(
    start: int, end: int, block: int | None, window: int | None = None, *, device: torch.device | str | None = None
) -> tuple[int, Tensor | None]:
    """What the positions of a segment may read of their text.

    Args:
        start, end, block: see `Segment`.
        window: a position reads as many keys up to itself as this holds; a canvas reads itself whole, and before it
            as far as its first position does.
        device: of the mask.

    Returns:
        The first position that any of them reads, and a mask bool [Q, S] over the positions from there to the end of
        the segment, None if all is read.
    """
    first = 0 if window is None else max(0, start - window + 1)
    if block is None:
        return first, None
    own_Q = torch.arange(start, end, device=device)
    last_Q = ((own_Q // block + 1) * block).clamp_max(end) - 1
    place_S = torch.arange(first, end, device=device)
    mask_QS = place_S <= last_Q[:, None]
    if window is not None:
        mask_QS &= place_S > own_Q[:, None] - window
    return first, None if bool(mask_QS.all()) else mask_QS


class _Group:
    """Segments of one shape, side by side in the packed row."""

    def __init__(self, pool: KVPool, segments: Sequence[Segment], windows: Sequence[int]) -> None:
        like = segments[0]
        self.num_rows, self.count, self.end = len(segments), like.count, like.end
        self.base = int(like.slot_S[0]) if self.num_rows == 1 and like.run else None
        self.slot_RS = None
        if self.base is None:
            slots = np.stack([segment.slot_S[: like.end] for segment in segments])
            self.slot_RS = torch.from_numpy(slots).to(pool.device, non_blocking=True)
        # A plain causal prompt needs no mask.
        self.causal = like.start == 0 and like.block == 1 and like.count > 1
        self.reads = {
            window: readable(like.start, like.end, like.block, window, device=pool.device)
            for window in (None, *windows)
        }
        self._runs: dict[tuple[int, int], Tensor] = {}

    def _read(self, held: Tensor, first: int) -> Tensor:
        """Keys or values [R, S, G, E] of all rows, from a place on."""
        if self.slot_RS is not None:
            slots = self.slot_RS[:, first:].flatten()
            return held.index_select(0, slots).view(self.num_rows, self.end - first, *held.shape[1:])
        # Of one text whose slots are neighbours, the pool's own memory: at every step the same.
        key = held.data_ptr(), first
        if key not in self._runs:
            assert self.base is not None
            self._runs[key] = held[self.base + first : self.base + self.end].unsqueeze(0)
        return self._runs[key]

    def attend(
        self, queries_NHE: Tensor, keys: Tensor, values: Tensor, window: int | None, scale: float | None
    ) -> Tensor:
        first, mask_QS = self.reads[window]
        causal = self.causal and (window is None or window >= self.end)
        mask = None if causal else mask_QS
        queries_RQHE = queries_NHE.view(self.num_rows, self.count, *queries_NHE.shape[1:])
        missing = -self.count % WHOLE if self.count > 1 else 0
        if missing:
            queries_RQHE = functional.pad(queries_RQHE, (0, 0, 0, 0, 0, missing))
            mask = mask if mask is None else functional.pad(mask, (0, 0, 0, missing), value=True)
        out_RQHE = attend(queries_RQHE, self._read(keys, first), self._read(values, first), mask, causal, scale)
        return (out_RQHE[:, : self.count] if missing else out_RQHE).flatten(0, 1)


class SegmentReader:
    """Writes keys and values of a forward's positions into the pool, and reads from there."""

    form: tuple[int, ...] | None = None
    """Of readers that differ in their `tensors` alone: how many positions each segment has. None where there is more to
    it."""
    tensors: tuple[Tensor, ...] = ()
    """All that such a reader differs in."""

    def over(self, tensors: Sequence[Tensor]) -> SegmentReader:
        """The same over other tensors."""
        other = copy.copy(self)
        other.tensors = tuple(tensors)
        return other

    def write(self, keys: Tensor, values: Tensor, slot_N: Tensor, new_keys: Tensor, new_values: Tensor) -> None:
        keys.index_copy_(0, slot_N, new_keys)
        values.index_copy_(0, slot_N, new_values)

    def attend(
        self, queries_NHE: Tensor, keys: Tensor, values: Tensor, window: int | None, scale: float | None
    ) -> Tensor:
        raise NotImplementedError


class GatheredSegments(SegmentReader):
    """Reads segments of one shape that are neighbours together, in torch: gathers what they read of the pool."""

    def __init__(self, pool: KVPool, segments: Sequence[Segment], windows: Sequence[int]) -> None:
        shapes = itertools.groupby(segments, lambda one: (one.start, one.end, one.count, one.block))
        self._groups = [_Group(pool, list(group), windows) for _, group in shapes]

    def attend(
        self, queries_NHE: Tensor, keys: Tensor, values: Tensor, window: int | None, scale: float | None
    ) -> Tensor:
        parts, first = list[Tensor](), 0
        for group in self._groups:
            size = group.num_rows * group.count
            parts.append(group.attend(queries_NHE[first : first + size], keys, values, window, scale))
            first += size
        if first < len(queries_NHE):
            parts.append(torch.zeros_like(queries_NHE[first:]))
        return parts[0] if len(parts) == 1 else torch.cat(parts)


def attend(
    queries_RQHE: Tensor, keys_RSGE: Tensor, values_RSGE: Tensor, mask: Tensor | None, causal: bool, scale: float | None
) -> Tensor:
    queries, keys, values = (one.transpose(1, 2) for one in (queries_RQHE, keys_RSGE, values_RSGE))
    grouped = queries.shape[1] != keys.shape[1]
    if queries.requires_grad and queries.dtype is torch.bfloat16 and queries.device.type == "cpu" and not grouped:
        # torch's own backward takes twice as long there as that of plain products (measured, 256 positions).
        if causal:
            mask = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).tril()
        scores = queries @ keys.transpose(2, 3) * (queries.shape[3] ** -0.5 if scale is None else scale)
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        return (scores.softmax(-1) @ values).transpose(1, 2)
    out_RHQE = functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=grouped
    )
    return out_RHQE.transpose(1, 2)


class LogitRows(NamedTuple):
    """Rows of logits, and how one pass reads them."""

    logits_NV: Tensor
    """Of any float type."""
    scale_N: Tensor
    """float32; what they are divided by, more than 0."""
    u_N: Tensor
    """float32; uniforms in [0, 1)."""
    greedy_N: Tensor
    """bool; rows of which the best token is drawn."""
    banned_RV: Tensor | None = None
    """bool; sets of tokens that are never drawn."""
    ban_N: Tensor | None = None
    """int64; the set of each row."""
    mask_id: int | None = None
    """A token that is never drawn."""


class TokenStats(NamedTuple):
    """What one pass over the logits knows of each row."""

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
    num_groups: int = 1
    """Of a row's neighbours, that have a scale each."""


class QuantizedActivation(NamedTuple):
    """Inputs of a product as integers: what they are but for a factor of each row, or of each group of one."""

    levels_MI: Tensor
    """int8, from -127 to 127: the first digits of all rows, then the second ones, if they have two."""
    scale_NG: Tensor
    """float32; that factor, of the first digits, more than 0, NaN where a group has one."""


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
        x_NGS = torch.unflatten(x_NI * rounding.factor_I, -1, (rounding.num_groups, -1))
        scale_NG1 = (x_NGS.abs().amax(-1, keepdim=True) / DIGIT).clamp_min_(_TINY).float()
        levels_NI = (x_NGS / scale_NG1).flatten(1)
        levels_MI = levels_NI.round()
        if rounding.digits == 2:
            levels_MI = torch.cat((levels_MI, ((levels_NI - levels_MI) * SECOND_DIGIT).round_()))
        return QuantizedActivation(levels_MI.to(torch.int8), scale_NG1.squeeze(-1))

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
        """What writes segments of many texts, in the order of the packed row, into a pool, and reads them there.

        Windows are the sizes of the sliding windows that some layers read.
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
            compute, inputs: the computation, and what changes.
            constants: gives what else it reads.
        """
        return compute(*inputs)

    def digits(self, probs_NV: Tensor, factor_V: Tensor) -> Tensor:
        """Numbers times factors, from 0 to 1, as two digits to the base 127: int8 [2 N, V], the second ones rounded."""
        digits_MV = probs_NV.new_empty(2 * len(probs_NV), probs_NV.shape[1], dtype=torch.int8)
        high_NV, low_NV = digits_MV.chunk(2)
        # A few rows at a time, which stay in the cache meanwhile.
        for parts in zip(*(torch.split(rows_NV, 16) for rows_NV in (probs_NV, high_NV, low_NV)), strict=True):
            rest_NV = parts[0] * factor_V * DIGIT
            parts[1].copy_(rest_NV)
            parts[2].copy_(rest_NV.sub_(parts[1]).mul_(DIGIT).round_())
        return digits_MV

    def refine(
        self, logits_NV: Tensor, x_ND: Tensor, weight_VD: Tensor, scales_V: Tensor, *, error: float, cap: float | None
    ) -> None:
        """Compute logits anew, in floats, that may be the highest of their row; then cap all of them.

        Args:
            logits_NV: float32; changed in place.
            x_ND, weight_VD: what they are products of, exactly.
            scales_V, error: a logit is unsure by error times its scale times the length of x.
            cap: c in c tanh(logit / c); None leaves them.
        """
        spread_NV = error * x_ND.float().norm(dim=-1, keepdim=True) * scales_V
        least_N1 = (logits_NV - spread_NV).amax(-1, keepdim=True)
        row_K, token_K = (logits_NV + spread_NV >= least_N1).nonzero(as_tuple=True)
        logits_NV[row_K, token_K] = (x_ND[row_K].float() * weight_VD[token_K].float()).sum(-1)
        if cap is not None:
            self.cap(logits_NV, cap)

    def cap(self, logits: Tensor, most: float) -> Tensor:
        """c tanh(logit / c) of logits [..., V] of any float type, as float32; float32 ones may be changed in place."""
        if torch.is_grad_enabled():
            return most * torch.tanh(logits.float() / most)
        logits = logits.float()
        # On a CPU a few rows at a time, which stay in its cache meanwhile.
        rows_NV = logits.view(-1, logits.shape[-1])
        for part_NV in torch.split(rows_NV, max(1, len(rows_NV)) if logits.is_cuda else 1):
            part_NV.div_(most).tanh_().mul_(most)
        return logits

    def rows_at_once(self, vocab_size: int) -> int:
        """How many rows of weights [V] are held at a time, where soft embeddings are made of them."""
        return _HELD_BYTES // (4 * vocab_size)

    def reads(self, logits_NV: Tensor) -> bool:
        """Whether `read` does: whether there is a loop, or a kernel."""
        return False

    def read(self, rows: LogitRows, *, weigh: bool) -> tuple[TokenStats, Tensor | None]:
        """Read rows of logits in one pass: one draw each, by inverting the distribution function, and what is known.

        Args:
            rows: logits, and how they are read.
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
