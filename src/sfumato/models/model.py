"""The interface of every model: one forward with attention as an argument, logits, soft embeddings, and a pool for keys
and values.

A forward is given an `Attention`, which knows what each query may read and where its keys and values are; layers pass
it their queries, keys and values. `AttentionSpec` lets the positions of a forward attend to each other under a mask
(rollouts, the plain loop); `models.sparse` does so in training and likelihoods, and skips what is masked.
`PackedAttention` serves many texts without padding: their positions are packed in one row, and each attends to its own
text in a pool of slots, where the prefix was written before.

One rule covers every use of the pool. A forward writes the keys and values of its positions into their slots, and reads
its text from there; the caller decides what counts as committed. A causal segment that then counts is a prefill or a
commit; one that does not is a denoising step, whose keys the next step overwrites. Within a layer everything is written
before anything is read, so a canvas can share a forward with its prompt.
"""

# R rows, Q query positions, S key positions, N packed positions, H heads, G key-value heads, E head dimension, D model,
# V vocabulary

from __future__ import annotations

import abc
import copy
import dataclasses
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.config import check_choice, check_number
from sfumato.errors import ConfigError
from sfumato.kernels.base import TORCH, Backend, KVPool, attend
from sfumato.kernels.cpu.backend import CompiledBackend
from sfumato.layout import Segment
from sfumato.models.quantization.products import IntegerTable
from sfumato.models.quantization.weights import quantized_weights

DEVICES = ("auto", "cpu", "cuda")


def find_device(wanted: str) -> str:
    """The device for a name; "auto" is an accelerator if there is one.

    Raises:
        ConfigError: if the device is unknown or not available.
    """
    check_choice("device", wanted, DEVICES, ConfigError)
    found = torch.cuda.is_available()
    if wanted == "cuda" and not found:
        raise ConfigError("device is 'cuda' but there is no accelerator; allowed here: auto, cpu")
    return "cuda" if found and wanted != "cpu" else "cpu"


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Fields of every config, named as in Hugging Face configs; numbers are above 0."""

    vocab_size: int
    """Rows of the embedding."""
    max_position_embeddings: int
    """Maximum positions of prefix and canvas together."""
    hidden_size: int
    """Width D of the residual stream."""
    intermediate_size: int
    """Inner width of the gated MLP, and of the one in self-conditioning."""
    num_attention_heads: int
    """Query heads H per layer."""
    rms_norm_eps: float = 1e-6
    """Epsilon of the norms."""

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            if each.type in ("int", "float"):
                value, whole = getattr(self, each.name), each.type == "int"
                check_number(each.name, value, 0, above=True, whole=whole, error=ConfigError)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return dataclasses.asdict(self)


class Model(nn.Module, abc.ABC):
    """A transformer that runs as causal prefill, as a canvas after a prefix, and autoregressively.

    The difference is entirely in `Attention` and `canvas_RQ`. It knows nothing of noise levels, samplers or token
    meanings.
    """

    model: nn.Module
    """Everything from embeddings to the final hidden states; specific to the family."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        cache_heads: Sequence[tuple[int, int]],
        self_conditions: bool,
        marks_given: bool = False,
        length_buckets: tuple[int, ...] = (),
        windows: tuple[int, ...] = (),
        logit_cap: float | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.cache_heads = list(cache_heads)
        """(key-value heads, head dimension) of each layer."""
        self.self_conditions = self_conditions
        """Whether it reads soft embeddings."""
        self.marks_given = marks_given
        """Whether it marks given canvas tokens."""
        self.length_buckets = length_buckets
        """Upper ends of its length buckets; () without a length head."""
        self.windows = windows
        """Sizes of its layers' sliding windows."""
        self.logit_cap = logit_cap
        """Soft cap c, for logits c tanh(logit / c); None without one."""
        self.embedding_table: IntegerTable | None = None
        """The integer embedding matrix, if soft embeddings use one."""
        self.head_table: IntegerTable | None = None
        """The integer head, if logits use one."""
        self.backend: Backend = TORCH
        """The backend of its parts."""

    @property
    @abc.abstractmethod
    def embedding_VD(self) -> Tensor:
        """The input embedding matrix."""

    @property
    def embedding_scale(self) -> Tensor | None:
        """Factor on token embeddings; None for 1."""
        return None

    @property
    def device(self) -> torch.device:
        return self.embedding_VD.device

    @property
    def reads_lexemes(self) -> bool:
        """Whether it repairs Python, and so has no tokenizer."""
        return False

    @property
    def num_parameters(self) -> int:
        """Number of parameters, quantized or not, with a shared embedding counted once."""
        floats = sum(parameter.numel() for parameter in self.parameters())
        return floats + sum(weight.shape.numel() for weight in quantized_weights(self))

    def forward(
        self,
        tokens_RQ: Tensor,
        positions_RQ: Tensor,
        attention: Attention,
        *,
        canvas_RQ: Tensor | None = None,
        soft_RQD: Tensor | None = None,
        given_RQ: Tensor | None = None,
    ) -> Tensor:
        """Hidden states after the final norm.

        Args:
            tokens_RQ: int64.
            positions_RQ: int64, rotary positions.
            attention: what each query may read, and where its keys and values are.
            canvas_RQ: bool, True at canvas positions; None if there are none.
            soft_RQD: soft embedding of the last prediction, zero if there is none.
            given_RQ: bool, True where a canvas token is given; for models that `marks_given`.

        Returns:
            hidden_RQD.
        """
        hidden_RQD: Tensor = self.model(
            self.token_embedding(tokens_RQ), positions_RQ, attention, canvas_RQ, soft_RQD, given_RQ
        )
        return hidden_RQD

    @property
    def head_VD(self) -> Tensor:
        """The output head."""
        return self.embedding_VD

    def logits(self, hidden_RQD: Tensor) -> Tensor:
        """Token logits, float32, of hidden states of any leading shape."""
        if self.head_table is not None:
            logits_NV = self.head_table.logits(hidden_RQD.flatten(0, -2), self.head_VD, self.logit_cap)
            return logits_NV.view(*hidden_RQD.shape[:-1], logits_NV.shape[1])
        logits_RQV = functional.linear(hidden_RQD, self.head_VD)
        return logits_RQV.float() if self.logit_cap is None else self.backend.cap(logits_RQV, self.logit_cap)

    def length_logits(self, hidden_ND: Tensor) -> Tensor:
        """Logits [N, B + 1] of an answer's length, one per bucket in `length_buckets` and one for longer.

        Args:
            hidden_ND: at the last position before the answer's first canvas.
        """
        raise NotImplementedError("this model has no length head")

    def soft_embedding(self, probs_RQV: Tensor) -> Tensor:
        """Mean embedding [R, Q, D] under token probabilities, scaled as token embeddings are.

        Args:
            probs_RQV: probabilities, or weights from `Backend.read`.
        """
        embedding_VD = self.embedding_VD
        if self.embedding_table is None:
            mean_RQD = probs_RQV.to(embedding_VD.dtype) @ embedding_VD
        else:
            mean_ND = self.embedding_table.mean(probs_RQV.flatten(0, 1))
            mean_RQD = mean_ND.view(len(probs_RQV), -1, mean_ND.shape[1]).to(embedding_VD.dtype)
        return mean_RQD if self.embedding_scale is None else mean_RQD * self.embedding_scale

    def token_embedding(self, tokens: Tensor) -> Tensor:
        """`soft_embedding` of known tokens, of any shape."""
        embedding = functional.embedding(tokens, self.embedding_VD)
        return embedding if self.embedding_scale is None else embedding * self.embedding_scale

    def new_pool(self, num_slots: int) -> KVPool:
        """Allocate slots for keys and values of this model."""
        return KVPool(self.cache_heads, num_slots, dtype=self.embedding_VD.dtype, device=self.device)

    def choose_backend(self) -> Backend:
        """The fastest backend available for its device and type."""
        if self.device.type == "cpu":
            return CompiledBackend(None if self.embedding_table is None else self.embedding_table.share_V)
        if self.device.type == "cuda" and importlib.util.find_spec("triton") is not None:
            # Its compiler takes long to import.
            from sfumato.kernels.gpu.backend import TritonBackend

            return TritonBackend(self.embedding_VD.dtype)
        return TORCH


def set_backend(model: nn.Module, backend: Backend) -> None:
    """Make every part of a model use this backend."""
    for module in model.modules():
        if isinstance(getattr(module, "backend", None), Backend):
            setattr(module, "backend", backend)  # noqa: B010


class Heads(NamedTuple):
    """Queries, keys and values of one forward in one layer."""

    queries_RQHE: Tensor
    """H is a multiple of G; the heads of a group are adjacent."""
    keys_RQGE: Tensor
    values_RQGE: Tensor


class Attention(Protocol):
    """How the queries of one forward attend."""

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """Scaled dot-product attention with grouped key-value heads.

        Args:
            layer: index of the layer.
            heads: of this forward's positions.
            window: sliding window of the layer; None reads everything.
            scale: of the scores; None is 1 / sqrt(E).

        Returns:
            out_RQHE: same dtype as the queries.
        """
        ...


@dataclass(frozen=True)
class AttentionSpec:
    """The positions of a forward attend to each other."""

    mask: Tensor | None = None
    """bool [R or 1, 1, Q, Q], True where a query may attend to a key; None leaves it to `causal`."""
    causal: bool = False
    """Without a mask: whether each query reads only keys up to its own position. Otherwise it reads all."""
    windows: Mapping[int, AttentionSpec] = field(default_factory=dict)
    """Masks for sliding-window layers, by window size; missing windows cut nothing off."""

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """See `Attention`."""
        if window is not None and window in self.windows:
            return self.windows[window].attend(layer, heads, scale=scale)
        return attend(*heads, self.mask, self.causal, scale)


class PackedAttention:
    """Positions of many texts packed in one row [1, N], each attending to its own text in a pool.

    Args:
        segments: the packed row, in order; no two write the same slot. In torch, adjacent segments of one shape are
            computed together.
        num_positions: N; positions after the segments are padding.
        windows: sizes of the layers' sliding windows.
    """

    def __init__(
        self,
        pool: KVPool,
        segments: Sequence[Segment],
        num_positions: int,
        *,
        windows: Sequence[int] = (),
        backend: Backend = TORCH,
    ) -> None:
        self.pool = pool
        self._reader = backend.segments(pool, segments, windows)
        num_padding = num_positions - sum(segment.count for segment in segments)
        assert num_padding >= 0
        padding = np.zeros(num_padding, dtype=np.int64)
        ranges = [
            np.arange(segment.start, segment.end) if segment.place_Q is None else segment.place_Q
            for segment in segments
        ]
        slots = [segment.slot_S[span] for segment, span in zip(segments, ranges, strict=True)]
        both_2N = torch.from_numpy(np.stack([np.concatenate([*ranges, padding]), np.concatenate([*slots, padding])]))
        places_N, self._slot_N = both_2N.to(pool.device, non_blocking=True)
        self.positions_1N = places_N.unsqueeze(0)
        """int64; each position's index in its text."""

    @property
    def form(self) -> tuple[int, ...] | None:
        """A key equal for layouts of one pool that differ only in their `tensors`; None if they differ otherwise."""
        return self._reader.form

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The index tensors."""
        return self.positions_1N, self._slot_N, *self._reader.tensors

    def over(self, tensors: Sequence[Tensor]) -> PackedAttention:
        """The same with other tensors."""
        other = copy.copy(self)
        other.positions_1N, other._slot_N, *more = tensors
        other._reader = self._reader.over(more)
        return other

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """See `Attention`; R is 1, Q is N."""
        keys, values = self.pool.keys[layer], self.pool.values[layer]
        self._reader.write(keys, values, self._slot_N, heads.keys_RQGE.squeeze(0), heads.values_RQGE.squeeze(0))
        return self._reader.attend(heads.queries_RQHE[0], keys, values, window, scale).unsqueeze(0)
