"""One Llama- or Qwen-shaped transformer, used three ways.

As a causal prefill it writes keys and values; as a canvas it reads them and attends to itself in both directions; as an
autoregressive model it is a canvas of one position. The difference is entirely in `Attention` and `canvas`, so there is
one forward. It knows nothing of noise levels, samplers or token meanings.

For inference on a CPU, `fuse` replaces layers by ones that compute the same, with the same parts under the same names,
but everything between two products in one loop per row. A backend may record them, because the steps of a canvas differ
only in their inputs.
"""

# R rows, Q positions, N positions of all rows, D model, H heads, G key-value heads, E head dimension, V vocabulary

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard, cast

import torch
from torch import Tensor, nn

from sfumato.config import check_range
from sfumato.errors import ConfigError, RequestError
from sfumato.kernels.base import TORCH, Backend
from sfumato.models.layers import (
    MLP,
    FusedProduct,
    LexemeConfig,
    LexemeEmbedding,
    RMSNorm,
    RopeScaling,
    RotaryEmbedding,
    SelfConditioning,
    pack_linears,
    project,
    rotary_frequencies,
)
from sfumato.models.model import Attention, Heads, Model, ModelConfig, PackedAttention, set_backend
from sfumato.models.moe import MixtureOfExperts, MoEConfig

# Maximum positions of recorded passes: for larger ones the call overhead is negligible.
_MAX_REPLAYED = 1024
_FROM_ZERO = ("canvas_embed", "given_embed", "self_conditioning.mlp.down_proj")


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(ModelConfig):
    """Sizes and options of a decoder, named as in Hugging Face configs."""

    num_hidden_layers: int
    """Transformer blocks."""
    num_key_value_heads: int
    """Key-value heads G; divides num_attention_heads."""
    head_dim: int
    """Width E of one head; even."""
    max_position_embeddings: int = 2048
    rope_theta: float = 10000.0
    """Base of the rotary frequencies."""
    partial_rotary_factor: float = 1.0
    """Leading share of a head's dimensions that is rotated."""
    rope_scaling: RopeScaling | None = None
    """Scaling of the rotary frequencies."""
    attention_bias: bool = False
    """Biases on the query, key and value projections (Qwen2)."""
    output_bias: bool = False
    """Bias on the attention's output projection."""
    mlp_bias: bool = False
    """Biases in the MLP."""
    qk_norm: bool = False
    """RMSNorm on every query and key head (Qwen3)."""
    tie_word_embeddings: bool = True
    """Share the embedding with the output head."""
    canvas_embedding: bool = False
    """A learned vector added at canvas positions, which tells shared weights their mode."""
    given_embedding: bool = False
    """A learned vector added where a canvas token is given; not at the last token before a canvas."""
    self_conditioning: bool = False
    """A gated MLP that reads the soft embedding of the model's previous prediction."""
    length_buckets: tuple[int, ...] = ()
    """Length buckets, ascending upper ends, into which a head sorts an answer before it is written; longer answers make
    one more bucket. Empty: no length head."""
    moe: MoEConfig | None = None
    """A mixture of experts instead of the MLP."""
    lexemes: LexemeConfig | None = None
    """Embeddings computed from spellings instead of a table; vocab_size is then the minimum lexicon size."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                f"num_key_value_heads is {self.num_key_value_heads}; allowed: a divisor of "
                f"num_attention_heads = {self.num_attention_heads}"
            )
        edges, room = self.length_buckets, self.max_position_embeddings
        if list(edges) != sorted(set(edges)) or not all(1 <= edge <= room for edge in edges):
            raise ConfigError(f"length_buckets is {list(edges)}; allowed: lengths of 1 to {room}, ascending")
        check_range(self, "partial_rotary_factor", 0, 1, above=True)
        if self.head_dim % 2:
            raise ConfigError(f"head_dim is {self.head_dim}; allowed: an even number (rotary pairs)")
        if int(self.head_dim * self.partial_rotary_factor) % 2:
            raise ConfigError(
                f"partial_rotary_factor is {self.partial_rotary_factor}; allowed: one that leaves an even number of "
                f"head_dim = {self.head_dim} dimensions (rotary pairs)"
            )


class SelfAttention(nn.Module):
    """Grouped-query attention with rotary positions and, optionally, normalised queries and keys."""

    def __init__(self, config: DecoderConfig, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self.head_dim = config.head_dim
        queries, keys = (config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim)
        self.q_proj = nn.Linear(config.hidden_size, queries, bias=config.attention_bias)
        self.k_proj = nn.Linear(config.hidden_size, keys, bias=config.attention_bias)
        self.v_proj = nn.Linear(config.hidden_size, keys, bias=config.attention_bias)
        self.o_proj = nn.Linear(queries, config.hidden_size, bias=config.output_bias)
        if config.qk_norm:
            self.q_norm = RMSNorm(config.head_dim, config.rms_norm_eps)
            self.k_norm = RMSNorm(config.head_dim, config.rms_norm_eps)
        self.qk_norm = config.qk_norm
        self.backend: Backend = TORCH

    def forward(self, x_RQD: Tensor, rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        projected = project(x_RQD, self.q_proj, self.k_proj, self.v_proj)
        out_RQD: Tensor = self.o_proj(self.attend(projected, rotary, attention))
        return out_RQD

    def attend(self, projected: Sequence[Tensor], rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        """Everything between the projections."""
        queries, keys, values = (torch.unflatten(part, -1, (-1, self.head_dim)) for part in projected)
        if self.qk_norm:
            queries = self.backend.norm_rotate(queries, self.q_norm.weight, self.q_norm.eps, *rotary)
            keys = self.backend.norm_rotate(keys, self.k_norm.weight, self.k_norm.eps, *rotary)
        else:
            queries, keys = self.backend.rotate(queries, *rotary), self.backend.rotate(keys, *rotary)
        return attention.attend(self.layer, Heads(queries, keys, values)).flatten(2)


class DecoderLayer(nn.Module):
    """Pre-norm attention and MLP, each added to the residual stream."""

    def __init__(self, config: DecoderConfig, layer: int) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = SelfAttention(config, layer)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp: nn.Module
        if config.moe is not None and layer >= config.moe.first_k_dense_replace:
            self.mlp = MixtureOfExperts(config.hidden_size, config.moe)
        else:
            self.mlp = MLP(config.hidden_size, config.intermediate_size, bias=config.mlp_bias)

    def forward(self, x_RQD: Tensor, rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        x_RQD = x_RQD + self.self_attn(self.input_layernorm(x_RQD), rotary, attention)
        out_RQD: Tensor = x_RQD + self.mlp(self.post_attention_layernorm(x_RQD))
        return out_RQD


class LayerStack(nn.ModuleList):
    """A sequence of layers."""

    def forward(self, x_RQD: Tensor, rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        for layer in self:
            x_RQD = layer(x_RQD, rotary, attention)
        return x_RQD

    def condition(self, block: SelfConditioning, soft_RQD: Tensor, attention: Attention) -> Tensor:
        """The block's correction of the layers' input."""
        correction_RQD: Tensor = block(soft_RQD)
        return correction_RQD


class FusedLayer(DecoderLayer):
    """A layer of four products."""

    def __init__(self, layer: DecoderLayer, products: Sequence[FusedProduct], activation: str) -> None:
        nn.Module.__init__(self)
        for name, part in layer.named_children():
            self.add_module(name, part)
        self.backend: Backend = TORCH
        self.activation = activation
        # Not submodules: the linears hold them.
        self.products = tuple(products)

    @classmethod
    def of(cls, layer: DecoderLayer) -> DecoderLayer:
        """The fused layer, or the layer itself if it cannot be fused."""
        attention, mlp = layer.self_attn, layer.mlp
        if not isinstance(mlp, MLP):
            return layer
        groups: tuple[tuple[nn.Module, ...], ...] = (
            (attention.q_proj, attention.k_proj, attention.v_proj),
            (attention.o_proj,),
            (mlp.gate_proj, mlp.up_proj),
            (mlp.down_proj,),
        )
        found = [(group, getattr(group[0], "product", None)) for group in groups]
        products = [one for group, one in found if isinstance(one, FusedProduct) and one.linears == group]
        return cls(layer, products, mlp.activation) if len(products) == len(groups) else layer

    def forward(self, x_RQD: Tensor, rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        qkv, out, gate_up, down = self.products
        x_ND, norm = x_RQD.flatten(0, 1), self.input_layernorm
        product_NO = qkv.multiply_normed(x_ND, norm.weight, norm.eps)
        attended_RQO = self.self_attn.attend(qkv.split(product_NO, x_RQD.shape), rotary, attention)
        x_ND, norm = out.multiply(attended_RQO.flatten(0, 1), x_ND), self.post_attention_layernorm
        product_NO = gate_up.multiply_normed(x_ND, norm.weight, norm.eps)
        return down.multiply_gated(product_NO, self.activation, x_ND).view(x_RQD.shape)


class FusedLayers(LayerStack):
    """Layers of which the leading ones are fused, on a CPU in float32."""

    def __init__(self, layers: LayerStack) -> None:
        super().__init__(FusedLayer.of(cast(DecoderLayer, layer)) for layer in layers)
        self.backend: Backend = TORCH
        self._num_fused = next((i for i, one in enumerate(self) if not isinstance(one, FusedLayer)), len(self))

    def forward(self, x_RQD: Tensor, rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        if not _is_replayed(attention, x_RQD):
            return super().forward(x_RQD, rotary, attention)
        packed, layers, count = attention, list(self), self._num_fused

        def compute(x_RQD: Tensor, cos: Tensor, sin: Tensor, *tensors: Tensor) -> Tensor:
            here = packed.over(tensors)
            for layer in layers[:count]:
                x_RQD = layer(x_RQD, (cos, sin), here)
            return x_RQD

        inputs = (x_RQD, *rotary, *packed.tensors)
        key = (id(self), packed.form)
        constants = (*packed.pool.keys, *packed.pool.values)
        x_RQD = self.backend.replay(packed.pool, key, compute, inputs, lambda: (*_constants(self), *constants))
        for layer in layers[count:]:
            x_RQD = layer(x_RQD, rotary, attention)
        return x_RQD

    def condition(self, block: SelfConditioning, soft_RQD: Tensor, attention: Attention) -> Tensor:
        if not _is_replayed(attention, soft_RQD):
            return super().condition(block, soft_RQD, attention)
        return self.backend.replay(attention.pool, id(block), block, (soft_RQD,), lambda: _constants(block))


def _is_replayed(attention: Attention, x_RQD: Tensor) -> TypeGuard[PackedAttention]:
    return isinstance(attention, PackedAttention) and attention.form is not None and x_RQD.shape[1] <= _MAX_REPLAYED


def _constants(part: nn.Module) -> Iterator[Tensor]:
    """The weights of a part."""
    yield from part.parameters()
    for module in part.modules():
        product = getattr(module, "product", None)
        yield from product.tensors if isinstance(product, FusedProduct) else ()


def _mark(size: int) -> nn.Embedding:
    """One vector, which starts at zero."""
    embedding = nn.Embedding(1, size)
    nn.init.zeros_(embedding.weight)
    return embedding


class Backbone(nn.Module):
    """Everything from embeddings to the final hidden states."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.embed_tokens: nn.Module
        if config.lexemes is None:
            self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        else:
            self.embed_tokens = LexemeEmbedding(config.lexemes, config.hidden_size)
        self.layers = LayerStack(DecoderLayer(config, layer) for layer in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.rotary = RotaryEmbedding(
            rotary_frequencies(
                config.head_dim, config.rope_theta, fraction=config.partial_rotary_factor, scaling=config.rope_scaling
            )
        )
        self.canvas_embed = _mark(config.hidden_size) if config.canvas_embedding else None
        self.given_embed = _mark(config.hidden_size) if config.given_embedding else None
        self.self_conditioning: SelfConditioning | None = None
        if config.self_conditioning:
            self.self_conditioning = SelfConditioning(config.hidden_size, config.intermediate_size, config.rms_norm_eps)

    def forward(
        self,
        x_RQD: Tensor,
        positions_RQ: Tensor,
        attention: Attention,
        canvas_RQ: Tensor | None,
        soft_RQD: Tensor | None,
        given_RQ: Tensor | None,
    ) -> Tensor:
        if canvas_RQ is not None and self.canvas_embed is not None:
            x_RQD = x_RQD + canvas_RQ[:, :, None] * self.canvas_embed.weight
        if given_RQ is not None and self.given_embed is not None:
            x_RQD = x_RQD + given_RQ[:, :, None] * self.given_embed.weight
        if soft_RQD is not None and self.self_conditioning is not None:
            x_RQD = x_RQD + self.layers.condition(self.self_conditioning, soft_RQD, attention)
        hidden: Tensor = self.norm(self.layers(x_RQD, self.rotary(positions_RQ, x_RQD.dtype), attention))
        return hidden


class Decoder(Model):
    """The transformer with its output head."""

    config: DecoderConfig
    model: Backbone

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__(
            config,
            cache_heads=[(config.num_key_value_heads, config.head_dim)] * config.num_hidden_layers,
            self_conditions=config.self_conditioning,
            marks_given=config.given_embedding,
            length_buckets=config.length_buckets,
        )
        self.model = Backbone(config)
        # Embedding and head for a lexicon, once the model is bound to one.
        self._bound: tuple[Tensor, Tensor] | None = None
        self.lm_head: nn.Linear | None = None
        if not config.tie_word_embeddings and config.lexemes is None:
            self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.length_head: nn.Linear | None = None
        if config.length_buckets:
            self.length_head = nn.Linear(config.hidden_size, len(config.length_buckets) + 1)

    @property
    def embedding_VD(self) -> Tensor:
        if self._bound is not None:
            return self._bound[0]
        embedding = self.model.embed_tokens
        if isinstance(embedding, LexemeEmbedding):
            raise RequestError("this model reads lexemes and needs a lexicon; bind it to one")
        return cast(Tensor, embedding.weight)

    @property
    def device(self) -> torch.device:
        return self.model.norm.weight.device

    @property
    def reads_lexemes(self) -> bool:
        return self.config.lexemes is not None

    def initialize(self, seed: int) -> None:
        """Initialize weights: normal with standard deviation 1/sqrt(fan-in), residual outputs scaled by depth.

        Biases become zero. Parts that start at zero (position marks, the output of self-conditioning) stay zero.
        """
        generator = torch.Generator().manual_seed(seed)
        depth_scale = (2 * self.config.num_hidden_layers) ** -0.5
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            if parameter.dim() < 2 or any(part in name for part in _FROM_ZERO):
                continue
            std = 0.02 if name == "model.embed_tokens.weight" else parameter.shape[-1] ** -0.5
            if "o_proj" in name or "down_proj" in name or "embed_tokens.out_proj" in name:
                std *= depth_scale
            with torch.no_grad():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * std)

    def bind(self, features_VF: Tensor) -> Decoder:
        """The model bound to a lexicon, for models with `lexemes`; gradients reach its embeddings.

        Args:
            features_VF: int64, `Lexicon.features` of its lexemes.
        """
        bound = copy.copy(self)
        bound._bound = self.model.embed_tokens(features_VF)
        return bound

    @property
    def head_VD(self) -> Tensor:
        if self._bound is not None:
            return self._bound[1]
        return self.embedding_VD if self.lm_head is None else self.lm_head.weight

    def length_logits(self, hidden_ND: Tensor) -> Tensor:
        assert self.length_head is not None
        logits: Tensor = self.length_head(hidden_ND)
        return logits.float()


def fuse(model: Model) -> None:
    """Prepare a model for inference, for good: fuse its layers in float32 on a CPU, and use the fastest backend."""
    if model.device.type == "cpu":
        if next(model.parameters()).dtype is not torch.float32:
            return
        pack_linears(model)
        if isinstance(model, Decoder):
            model.model.layers = FusedLayers(model.model.layers)
    set_backend(model, model.choose_backend())
