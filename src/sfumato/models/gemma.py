"""The text part of DiffusionGemma: one set of weights that is both encoder and decoder.

The encoder reads the prefix causally and writes its keys and values, at prefill and at commit; the decoder reads them
from a canvas. They differ in two things, selected per position by `canvas_RQ`: each layer's last scalar, and the
self-conditioning block, which applies only to canvas positions.

Source: transformers 5.23, models/diffusion_gemma, which the tests compare with; Gemma 4 for the layers.
"""

# R rows, Q positions, N positions of all rows, D model, H heads, G key-value heads, E head dimension, K experts per
# position, X experts, V vocabulary

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.config import check_range
from sfumato.errors import ConfigError
from sfumato.kernels.base import TORCH, Backend
from sfumato.models.layers import MLP, RMSNorm, RotaryEmbedding, project, rotary_frequencies
from sfumato.models.model import Attention, Heads, Model, ModelConfig
from sfumato.models.moe import Experts

ACTIVATION = "gelu_pytorch_tanh"
ENCODER, DECODER = 0, 1


@dataclass(frozen=True, kw_only=True)
class AttentionShape:
    """Attention of one kind of layer."""

    num_key_value_heads: int
    """Key-value heads G; divides num_attention_heads."""
    head_dim: int
    """Width E of one head; even."""
    window: int | None = None
    """Sliding window, including the own position; None reads the whole prefix."""
    shared_values: bool = False
    """Values are the keys before their norm and rotation; there is no value projection."""
    rope_theta: float = 10000.0
    """Base of the rotary frequencies."""
    partial_rotary_factor: float = 1.0
    """Leading share of the rotary pairs that is rotated, with the frequencies of the whole head."""

    def __post_init__(self) -> None:
        check_range(self, "num_key_value_heads head_dim rope_theta", 0, above=True)
        check_range(self, "partial_rotary_factor", 0, 1, above=True)
        if self.head_dim % 2:
            raise ConfigError(f"head_dim is {self.head_dim}; allowed: an even number (rotary pairs)")
        if self.window is not None:
            check_range(self, "window", 1)


@dataclass(frozen=True, kw_only=True)
class GemmaConfig(ModelConfig):
    """Sizes of a DiffusionGemma, named as in Hugging Face configs where possible."""

    layer_types: tuple[str, ...]
    """The kind of each layer, a key of `attention`."""
    attention: dict[str, AttentionShape]
    """Attention by kind of layer."""
    num_experts: int
    """Experts X beside each dense MLP."""
    top_k_experts: int
    """Experts K per position."""
    moe_intermediate_size: int
    """Inner width of one expert."""
    max_position_embeddings: int = 131072
    final_logit_softcapping: float = 30.0
    """Soft cap c of a logit x: c tanh(x / c)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top_k_experts > self.num_experts:
            raise ConfigError(
                f"top_k_experts is {self.top_k_experts}; allowed: at most num_experts = {self.num_experts}"
            )
        if not self.layer_types:
            raise ConfigError("layer_types is empty; allowed: one kind or more")
        for kind in self.layer_types:
            if kind not in self.attention:
                raise ConfigError(f"layer_types has {kind!r}; allowed: {', '.join(self.attention)}")
        for kind, shape in self.attention.items():
            if self.num_attention_heads % shape.num_key_value_heads:
                raise ConfigError(
                    f"num_key_value_heads of {kind} is {shape.num_key_value_heads}; allowed: a divisor of "
                    f"num_attention_heads = {self.num_attention_heads}"
                )

    @property
    def shapes(self) -> list[AttentionShape]:
        """The attention of each layer."""
        return [self.attention[kind] for kind in self.layer_types]


def proportional_frequencies(head_dim: int, theta: float, fraction: float) -> Tensor:
    """Float32 frequencies of all pairs of a head: as if all were rotated for the leading share, zero for the others.

    Unlike this, `rotary_frequencies` with a fraction spreads the same range over fewer pairs.
    """
    frequencies = rotary_frequencies(head_dim, theta)
    frequencies[int(fraction * head_dim // 2) :] = 0.0
    return frequencies


def normalize(x: Tensor, eps: float) -> Tensor:
    """RMS normalisation of the last dimension without a learned scale; float32 inside."""
    return functional.rms_norm(x, x.shape[-1:], None, eps)


class SelfAttention(nn.Module):
    """Grouped-query attention with normalised queries, keys and values; the norms replace the score scale.

    Args:
        layer: index of the layer, which determines its kind and its place in the cache.
    """

    def __init__(self, config: GemmaConfig, layer: int) -> None:
        super().__init__()
        self.layer, self.eps, self.shape = layer, config.rms_norm_eps, config.shapes[layer]
        size, head_dim = config.hidden_size, self.shape.head_dim
        queries, keys = config.num_attention_heads * head_dim, self.shape.num_key_value_heads * head_dim
        self.q_proj = nn.Linear(size, queries, bias=False)
        self.k_proj = nn.Linear(size, keys, bias=False)
        self.v_proj = None if self.shape.shared_values else nn.Linear(size, keys, bias=False)
        self.o_proj = nn.Linear(queries, size, bias=False)
        self.q_norm = RMSNorm(head_dim, config.rms_norm_eps)
        self.k_norm = RMSNorm(head_dim, config.rms_norm_eps)
        self.backend: Backend = TORCH

    def forward(self, x_RQD: Tensor, rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        linears = (self.q_proj, self.k_proj) if self.v_proj is None else (self.q_proj, self.k_proj, self.v_proj)
        queries_RQHE, keys_RQGE, *others = (
            torch.unflatten(part, -1, (-1, self.shape.head_dim)) for part in project(x_RQD, *linears)
        )
        values_RQGE = normalize(others[0] if others else keys_RQGE, self.eps)
        queries_RQHE = self.backend.norm_rotate(queries_RQHE, self.q_norm.weight, self.eps, *rotary)
        keys_RQGE = self.backend.norm_rotate(keys_RQGE, self.k_norm.weight, self.eps, *rotary)
        heads = Heads(queries_RQHE, keys_RQGE, values_RQGE)
        out_RQHE = attention.attend(self.layer, heads, window=self.shape.window, scale=1.0)
        out_RQD: Tensor = self.o_proj(out_RQHE.flatten(2))
        return out_RQD


class Router(nn.Module):
    """Choose and weigh each position's experts from the raw residual stream.

    Weights are the chosen probabilities, normalised, times a learned scale per expert. The softmax is in float32,
    because it decides.
    """

    def __init__(self, config: GemmaConfig) -> None:
        super().__init__()
        self.eps, self.num_chosen = config.rms_norm_eps, config.top_k_experts
        self.proj = nn.Linear(config.hidden_size, config.num_experts, bias=False)
        self.scale = nn.Parameter(torch.ones(config.hidden_size))
        self.per_expert_scale = nn.Parameter(torch.ones(config.num_experts))

    def forward(self, x_ND: Tensor) -> tuple[Tensor, Tensor]:
        """Route positions.

        Returns:
            experts_NK: int64.
            weights_NK: float32.
        """
        scaled_ND = normalize(x_ND, self.eps) * self.scale * x_ND.shape[-1] ** -0.5
        probs_NX = self.proj(scaled_ND).softmax(-1, dtype=torch.float32)
        probs_NK, experts_NK = probs_NX.topk(self.num_chosen, dim=-1)
        weights_NK = probs_NK / probs_NK.sum(-1, keepdim=True) * self.per_expert_scale[experts_NK]
        return experts_NK, weights_NK


class GemmaLayer(nn.Module):
    """Attention, then a dense MLP beside a mixture of experts; each is normalised before and after."""

    layer_scalar: Tensor

    def __init__(self, config: GemmaConfig, layer: int) -> None:
        super().__init__()
        size, eps = config.hidden_size, config.rms_norm_eps
        self.input_layernorm = RMSNorm(size, eps)
        self.self_attn = SelfAttention(config, layer)
        self.post_attention_layernorm = RMSNorm(size, eps)
        self.pre_feedforward_layernorm = RMSNorm(size, eps)
        self.mlp = MLP(size, config.intermediate_size, activation=ACTIVATION)
        self.post_feedforward_layernorm_1 = RMSNorm(size, eps)
        self.router = Router(config)
        self.pre_feedforward_layernorm_2 = RMSNorm(size, eps)
        self.experts = Experts(config.num_experts, size, config.moe_intermediate_size, activation=ACTIVATION)
        self.post_feedforward_layernorm_2 = RMSNorm(size, eps)
        self.post_feedforward_layernorm = RMSNorm(size, eps)
        # Output scale by role: the first in the encoder, the second in the decoder.
        self.register_buffer("layer_scalar", torch.ones(2))

    def forward(self, x_RQD: Tensor, role_RQ1: Tensor, rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        attended_RQD = self.self_attn(self.input_layernorm(x_RQD), rotary, attention)
        x_RQD = x_RQD + self.post_attention_layernorm(attended_RQD)
        dense_RQD = self.mlp(self.pre_feedforward_layernorm(x_RQD))
        x_ND = x_RQD.flatten(0, 1)
        sparse_ND = self.experts(self.pre_feedforward_layernorm_2(x_ND), *self.router(x_ND))
        sparse_RQD = self.post_feedforward_layernorm_2(sparse_ND).view_as(x_RQD)
        fed_RQD = self.post_feedforward_layernorm_1(dense_RQD) + sparse_RQD
        x_RQD = x_RQD + self.post_feedforward_layernorm(fed_RQD)
        return x_RQD * self.layer_scalar[role_RQ1]


class SelfConditioning(MLP):
    """Turns the soft embedding of the last prediction into a correction of the canvas; zero stays zero."""

    def __init__(self, config: GemmaConfig) -> None:
        super().__init__(config.hidden_size, config.intermediate_size, activation=ACTIVATION)
        self.pre_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(self.pre_norm(x))


class Backbone(nn.Module):
    """Everything from embeddings to the final hidden states."""

    def __init__(self, config: GemmaConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.self_conditioning = SelfConditioning(config)
        self.layers = nn.ModuleList(GemmaLayer(config, layer) for layer in range(len(config.layer_types)))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.rotary = nn.ModuleDict(
            {
                kind: RotaryEmbedding(
                    proportional_frequencies(shape.head_dim, shape.rope_theta, shape.partial_rotary_factor)
                )
                for kind, shape in config.attention.items()
            }
        )

    def forward(
        self,
        x_RQD: Tensor,
        positions_RQ: Tensor,
        attention: Attention,
        canvas_RQ: Tensor | None,
        soft_RQD: Tensor | None,
        given_RQ: Tensor | None,
    ) -> Tensor:
        role_RQ1 = torch.full_like(positions_RQ, ENCODER)[:, :, None]
        if canvas_RQ is not None:
            role_RQ1 = torch.where(canvas_RQ, DECODER, ENCODER)[:, :, None]
            corrected_RQD = x_RQD if soft_RQD is None else x_RQD + self.self_conditioning(soft_RQD)
            conditioned_RQD = normalize(corrected_RQD, self.config.rms_norm_eps)
            x_RQD = torch.where(canvas_RQ[:, :, None], conditioned_RQD, x_RQD)
        rotary = {kind: embedding(positions_RQ, x_RQD.dtype) for kind, embedding in self.rotary.items()}
        for layer, kind in zip(self.layers, self.config.layer_types, strict=True):
            x_RQD = layer(x_RQD, role_RQ1, rotary[kind], attention)
        hidden: Tensor = self.norm(x_RQD)
        return hidden


class Gemma(Model):
    """The transformer with its tied output head."""

    config: GemmaConfig
    model: Backbone
    embed_scale: Tensor

    def __init__(self, config: GemmaConfig) -> None:
        super().__init__(
            config,
            cache_heads=[(shape.num_key_value_heads, shape.head_dim) for shape in config.shapes],
            self_conditions=True,
            windows=tuple(sorted({shape.window for shape in config.shapes if shape.window is not None})),
            logit_cap=config.final_logit_softcapping,
        )
        self.model = Backbone(config)
        self.register_buffer("embed_scale", torch.tensor(config.hidden_size**0.5, device="cpu"), persistent=False)

    @property
    def embedding_VD(self) -> Tensor:
        return self.model.embed_tokens.weight

    @property
    def embedding_scale(self) -> Tensor:
        """sqrt(D) in the type of the weights, as the model was trained: 55.5 for 3072 in bfloat16, not 55.43."""
        return self.embed_scale.to(self.embedding_VD.dtype)
