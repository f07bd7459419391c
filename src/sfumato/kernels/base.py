"""`Backend`: the model operations besides plain matrix products, in torch.

Modules use their `backend`. This one runs on any device and type, with gradients, and defines the operations.
`kernels.cpu` implements them as compiled loops over float32 CPU tensors, `kernels.gpu` in Triton; each leaves
everything else to torch.
"""

# R rows, Q query positions, S key positions, N rows of a product or packed positions, H heads, G key-value heads
# or groups of inputs, E head dimension, I inputs, O outputs, X matrices, V vocabulary, D model, M one or two digits of
# each row, K chosen tokens

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from sfumato.layout import Segment

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": functional.silu,
    "gelu_pytorch_tanh": partial(functional.gelu, approximate="tanh"),
}
"""Activations, by the names that configs use."""

DIGIT = 127
"""The largest 8-bit integer used, and the base of positive two-digit numbers."""
SECOND_DIGIT = 254
"""Divisor of the second digit, which rounds the first digit's remainder of at most one half."""
LARGEST_FLOAT8 = torch.finfo(torch.float8_e4m3fn).max
"""The largest 8-bit float with three mantissa bits."""
_TINY = torch.finfo(torch.float32).tiny

WHOLE = 8
"""The last bit of a row of a matrix product depends on the number of rows: MKL treats the last one to three
differently, of all rows or of a thread's share (measured). Multiples of eight avoid this, so forwards are padded to
them, and a text is bit-identical in any batch. Single rows are not padded, because they are faster."""


class KVPool:
    """Slots for keys and values of single positions of any texts.

    Slot 0 belongs to no text and receives padding.

    Args:
        heads: (key-value heads, head dimension) of each layer.
        num_slots: per layer.
    """

    def __init__(
        self,
        heads: Sequence[tuple[int, int]],
        num_slots: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        # Empty: slots that no text has used take no memory.
        self.keys = [torch.empty((num_slots, *pair), dtype=dtype, device=device) for pair in heads]
        self.values = [torch.empty((num_slots, *pair), dtype=dtype, device=device) for pair in heads]
        self.num_slots = num_slots
        self.replays = True
        """Whether passes that read and write it may be recorded."""
        self.graphs: object = None
        """Recorded passes that read and write it."""

    @property
    def device(self) -> torch.device:
        return self.keys[0].device


def readable(
    start: int, end: int, block: int | None, window: int | None = None, *, device: torch.device | str | None = None
) -> tuple[int, Tensor | None]:
    """The keys that a segment's positions may read.

    Args:
        start, end, block: see `Segment`.
        window: sliding window of a position, itself included; a canvas reads all of itself, and as far back as its
            first position does.
        device: of the mask.

    Returns:
        The first position that any of them reads, and a mask bool [Q, S] from there to the end of the segment, None if
        all is read.
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
    """Segments of one shape, adjacent in the packed row."""

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
        """Keys or values [R, S, G, E] of all rows, from a position on."""
        if self.slot_RS is not None:
            slots = self.slot_RS[:, first:].flatten()
            return held.index_select(0, slots).view(self.num_rows, self.end - first, *held.shape[1:])
        # For one text with consecutive slots, the pool's own memory: the same in every step.
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
    """Writes a forward's keys and values into the pool, and reads from it."""

    form: tuple[int, ...] | None = None
    """A key equal for readers that differ only in their `tensors`, by segment sizes. None if they differ otherwise."""
    tensors: tuple[Tensor, ...] = ()
    """All tensors in which such readers differ."""

    def over(self, tensors: Sequence[Tensor]) -> SegmentReader:
        """The same with other tensors."""
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
    """Reads adjacent segments of one shape together in torch, gathering keys and values from the pool."""

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
        # torch's own backward takes twice as long there as plain products (measured, 256 positions).
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
    """Rows of logits, and how to read them in one pass."""

    logits_NV: Tensor
    """Of any float type."""
    scale_N: Tensor
    """float32; divisor, more than 0."""
    u_N: Tensor
    """float32; uniforms in [0, 1)."""
    greedy_N: Tensor
    """bool; rows that draw the best token."""
    banned_RV: Tensor | None = None
    """bool; sets of banned tokens."""
    ban_N: Tensor | None = None
    """int64; each row's set."""
    mask_id: int | None = None
    """A token banned in every set."""


class Statistics(NamedTuple):
    """What one pass over its logits knows of each position."""

    argmax_RL: Tensor
    """int64; the most probable token."""
    sampled_RL: Tensor
    """int64; the token drawn from the tempered distribution, or the argmax in a greedy step."""
    confidence_RL: Tensor
    """float32; probability of the sampled token."""
    entropy_RL: Tensor
    """float32 nats, of the tempered distribution before top_p."""
    margin_RL: Tensor
    """float32; probability of the most probable token less that of the next; NaN if the logits are broken."""


class Rounding(NamedTuple):
    """How inputs of a product are quantized."""

    factor_I: Tensor
    """float32; factors applied first."""
    digits: int = 1
    """Digits per input, 1 or 2."""
    num_groups: int = 1
    """Size of groups with their own scale."""


class QuantizedActivation(NamedTuple):
    """Quantized inputs of a product: integers, with one scale per row or per group."""

    levels_MI: Tensor
    """int8, from -127 to 127: the first digits of all rows, then the second ones, if any."""
    scale_NG: Tensor
    """float32; scale of the first digits, more than 0; NaN if a group contains one."""


class Backend:
    """The operations in torch."""

    # For a whole canvas of 256, weights would take 268 MB with DiffusionGemma's 262,144 tokens. Below 32 MB, glibc
    # reuses freed memory instead of asking the system.
    held_bytes = 24 * 2**20
    """Memory for the weights of logits that are held at once for soft embeddings."""
    bytes_per_weight = 4

    def rms_norm(self, x: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        """RMS normalisation of the last dimension, with a learned scale."""
        return functional.rms_norm(x, weight_I.shape, weight_I, eps)

    def rotate(self, x_RQHE: Tensor, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        """Rotate every head's query or key by its position; dimensions beyond those of the cosines are unchanged."""
        size = cos_RQ1E.shape[-1]
        part = x_RQHE[..., :size]
        first, second = part.chunk(2, dim=-1)
        turned = (part * cos_RQ1E + torch.cat((-second, first), dim=-1) * sin_RQ1E).to(x_RQHE.dtype)
        return turned if size == x_RQHE.shape[-1] else torch.cat((turned, x_RQHE[..., size:]), dim=-1)

    def norm_rotate(self, x_RQHE: Tensor, weight_E: Tensor, eps: float, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
        """The same after normalising each head."""
        return self.rotate(self.rms_norm(x_RQHE, weight_E, eps), cos_RQ1E, sin_RQ1E)

    def gate(self, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        """The activation of one half times the other half."""
        return ACTIVATIONS[activation](gate) * up

    def quantize(self, x_NI: Tensor, rounding: Rounding) -> QuantizedActivation:
        """Quantize rows after multiplying them by factors."""
        x_NGS = torch.unflatten(x_NI * rounding.factor_I, -1, (rounding.num_groups, -1))
        scale_NG1 = (x_NGS.abs().amax(-1, keepdim=True) / DIGIT).clamp_min_(_TINY).float()
        levels_NI = (x_NGS / scale_NG1).flatten(1)
        levels_MI = levels_NI.round()
        if rounding.digits == 2:
            levels_MI = torch.cat((levels_MI, ((levels_NI - levels_MI) * SECOND_DIGIT).round_()))
        return QuantizedActivation(levels_MI.to(torch.int8), scale_NG1.squeeze(-1))

    def norm_quantize(self, x: Tensor, weight_I: Tensor, eps: float, rounding: Rounding) -> QuantizedActivation:
        """`rms_norm`, then `quantize`."""
        return self.quantize(self.rms_norm(x, weight_I, eps).flatten(0, -2), rounding)

    def gate_quantize(self, both_NO: Tensor, activation: str, rounding: Rounding) -> QuantizedActivation:
        """`gate` of each row's halves, then `quantize`."""
        gate_NI, up_NI = both_NO.chunk(2, dim=-1)
        return self.quantize(self.gate(gate_NI, up_NI, activation), rounding)

    def quantize_float8(self, x_NI: Tensor) -> tuple[Tensor, Tensor]:
        """Rows as 8-bit floats with one scale each.

        Returns:
            levels_NI: float8_e4m3fn; the largest of a row is 448 or -448.
            scale_N: float32, more than 0; NaN if the row contains one.
        """
        scale_N1 = (x_NI.abs().amax(-1, keepdim=True).float() / LARGEST_FLOAT8).clamp_min_(_TINY)
        # A quotient may round up past the largest value, which this type cannot represent.
        levels_NI = (x_NI / scale_N1).clamp_(-LARGEST_FLOAT8, LARGEST_FLOAT8).to(torch.float8_e4m3fn)
        return levels_NI, scale_N1.squeeze(-1)

    def segments(self, pool: KVPool, segments: Sequence[Segment], windows: Sequence[int]) -> SegmentReader:
        """An object that writes segments of many texts into a pool, in packed order, and reads them there.

        Windows are the sizes of the layers' sliding windows.
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
        """Run a computation, or replay it with other inputs.

        Args:
            pool: of the keys and values it uses; the next computation on it may overwrite the result.
            key: equal for computations that differ only in the values of their inputs.
            compute, inputs: the computation, and what changes.
            constants: returns everything else it reads.
        """
        return compute(*inputs)

    def digits(self, probs_NV: Tensor, factor_V: Tensor) -> Tensor:
        """Numbers in 0 to 1, times factors, as two digits in base 127: int8 [2 N, V], with the second digits
        rounded."""
        digits_MV = probs_NV.new_empty(2 * len(probs_NV), probs_NV.shape[1], dtype=torch.int8)
        high_NV, low_NV = digits_MV.chunk(2)
        # A few rows at a time, which stay in the cache.
        for parts in zip(*(torch.split(rows_NV, 16) for rows_NV in (probs_NV, high_NV, low_NV)), strict=True):
            rest_NV = parts[0] * factor_V * DIGIT
            parts[1].copy_(rest_NV)
            parts[2].copy_(rest_NV.sub_(parts[1]).mul_(DIGIT).round_())
        return digits_MV

    def refine(
        self, logits_NV: Tensor, x_ND: Tensor, weight_VD: Tensor, scales_V: Tensor, *, error: float, cap: float | None
    ) -> None:
        """Recompute in floats the logits that may be the highest of their row, then cap all of them.

        Args:
            logits_NV: float32; modified in place.
            x_ND, weight_VD: the exact factors of the logits.
            scales_V, error: a logit's uncertainty is error times its scale times the length of x.
            cap: c in c tanh(logit / c); None for no cap.
        """
        spread_NV = error * x_ND.float().norm(dim=-1, keepdim=True) * scales_V
        least_N1 = (logits_NV - spread_NV).amax(-1, keepdim=True)
        row_K, token_K = (logits_NV + spread_NV >= least_N1).nonzero(as_tuple=True)
        logits_NV[row_K, token_K] = (x_ND[row_K].float() * weight_VD[token_K].float()).sum(-1)
        if cap is not None:
            self.cap(logits_NV, cap)

    def cap(self, logits: Tensor, most: float) -> Tensor:
        """c tanh(logit / c) of logits [..., V] of any float type, as float32; float32 logits may be modified in
        place."""
        if torch.is_grad_enabled():
            return most * torch.tanh(logits.float() / most)
        logits = logits.float()
        # On a CPU a few rows at a time, which stay in the cache.
        rows_NV = logits.view(-1, logits.shape[-1])
        for part_NV in torch.split(rows_NV, max(1, len(rows_NV)) if logits.is_cuda else 1):
            part_NV.div_(most).tanh_().mul_(most)
        return logits

    def reads(self, logits_NV: Tensor) -> bool:
        """Whether `read` is available as a loop or kernel."""
        return False

    def read(self, rows: LogitRows, *, weigh: bool) -> tuple[Statistics, Tensor, Tensor | None]:
        """Read rows of logits in one pass: statistics, and one draw each by inverting the distribution function.

        Args:
            rows: logits, and how they are read.
            weigh: whether to return the weights exp((logit - highest) / scale).

        Returns:
            The statistics of each row, the sum of its weights, and the weights for `Model.soft_embedding`; None if not
            requested.
        """
        raise NotImplementedError


TORCH = Backend()


def unpack(levels: Tensor) -> Tensor:
    """Levels of groups as numbers from 0 on, uint8 [..., I].

    Args:
        levels: int8, or uint8 with two of 4 bits in each, the lower one first.
    """
    if levels.dtype is torch.uint8:
        return torch.stack(((levels & 15), (levels >> 4)), dim=-1).flatten(-2)
    return levels.view(torch.uint8) ^ 128


def pack(numbers: Tensor, bits: int) -> Tensor:
    """Numbers from 0 on as levels of groups."""
    return numbers[..., 0::2] | (numbers[..., 1::2] << 4) if bits == 4 else (numbers ^ 128).view(torch.int8)
