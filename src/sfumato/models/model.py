"""The interface of every model: one forward, logits, soft embeddings, and a pool for keys and values."""

# R rows, Q positions, D model, V vocabulary

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.errors import ConfigError
from sfumato.kernels.base import TORCH, Backend, KVPool
from sfumato.models.attention import Attention
from sfumato.models.quantization.tables import IntegerTable


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
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type in ("int", "float") and value <= 0:
                raise ConfigError(f"{field.name} is {value}; allowed: more than 0")

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
    def num_layers(self) -> int:
        return len(self.cache_heads)

    @property
    def device(self) -> torch.device:
        return self.embedding_VD.device

    @property
    def num_parameters(self) -> int:
        """Number of parameters, with a shared embedding counted once."""
        return sum(parameter.numel() for parameter in self.parameters())

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
