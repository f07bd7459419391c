"""Building blocks of decoders, linears that share an input, and packed float products on a CPU. None of them knows
about noise, canvases or caches."""

# R rows, Q query positions, N positions, D model, H heads, E head dimension, O outputs, I inputs; for lexemes: V
# lexemes, F features, E table width

from __future__ import annotations

import abc
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.config import check_choice, check_range
from sfumato.errors import ConfigError
from sfumato.kernels.base import TORCH, Backend
from sfumato.kernels.cpu.backend import FloatMatrix

# Groups of linears with the same input, by the names that families use.
_GROUPS = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))


class RMSNorm(nn.Module):
    """Root mean square normalisation with a learned scale (Zhang & Sennrich 2019, arXiv 1910.07467)."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps
        self.backend: Backend = TORCH

    def forward(self, x: Tensor) -> Tensor:
        return self.backend.rms_norm(x, self.weight, self.eps)


class MLP(nn.Module):
    """Gated feed-forward block: SwiGLU, or another gate (Shazeer 2020, arXiv 2002.05202)."""

    def __init__(self, size: int, intermediate_size: int, *, activation: str = "silu", bias: bool = False) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(size, intermediate_size, bias=bias)
        self.up_proj = nn.Linear(size, intermediate_size, bias=bias)
        self.down_proj = nn.Linear(intermediate_size, size, bias=bias)
        self.activation = activation
        self.backend: Backend = TORCH

    def forward(self, x: Tensor) -> Tensor:
        gate, up = project(x, self.gate_proj, self.up_proj)
        out: Tensor = self.down_proj(self.backend.gate(gate, up, self.activation))
        return out


class SelfConditioning(nn.Module):
    """Turns the soft embedding of the model's previous prediction into a correction of its input.

    The output projection starts at zero, so adding this block does not change a model. A zero soft embedding (the first
    step of a canvas) always gives a zero correction.

    Source: Chen et al. 2022, arXiv 2208.04202; gated form as in DiffusionGemma.
    """

    def __init__(self, size: int, intermediate_size: int, eps: float) -> None:
        super().__init__()
        self.norm = RMSNorm(size, eps)
        self.mlp = MLP(size, intermediate_size)
        nn.init.zeros_(self.mlp.down_proj.weight)

    def forward(self, soft_RQD: Tensor) -> Tensor:
        corrected_RQD: Tensor = self.mlp(self.norm(soft_RQD))
        return corrected_RQD


@dataclass(frozen=True, kw_only=True)
class RopeScaling:
    """Scaling of rotary frequencies for texts longer than in pretraining."""

    rope_type: Literal["linear", "llama3"]
    """linear divides all frequencies by `factor`; llama3 only the low ones."""
    factor: float
    """Scaling factor."""
    low_freq_factor: float = 1.0
    """llama3: wavelengths longer than original_max_position_embeddings / this are scaled fully."""
    high_freq_factor: float = 4.0
    """llama3: wavelengths shorter than original_max_position_embeddings / this are not scaled."""
    original_max_position_embeddings: int = 8192
    """llama3: positions in pretraining."""

    def __post_init__(self) -> None:
        check_choice("rope_type", self.rope_type, ("linear", "llama3"), ConfigError)
        check_range(self, "factor", 1)
        check_range(self, "low_freq_factor original_max_position_embeddings", 0, above=True)
        if not self.low_freq_factor < self.high_freq_factor:
            raise ConfigError(
                f"low_freq_factor is {self.low_freq_factor}; allowed: below high_freq_factor = {self.high_freq_factor}"
            )

    def apply(self, frequencies: Tensor) -> Tensor:
        """The scaled frequencies.

        Source: linear: Chen et al. 2023, arXiv 2306.15595; llama3: Llama 3.1's release.
        """
        stretched = frequencies / self.factor
        if self.rope_type == "linear":
            return stretched
        turns = self.original_max_position_embeddings * frequencies / (2 * math.pi)
        kept = ((turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)).clamp(0.0, 1.0)
        return (1.0 - kept) * stretched + kept * frequencies


def rotary_frequencies(
    head_dim: int, theta: float, *, fraction: float = 1.0, scaling: RopeScaling | None = None
) -> Tensor:
    """Frequencies of the rotated pairs, float32: theta^(-2i/n) for the n = fraction * head_dim leading dimensions."""
    size = int(head_dim * fraction)
    # A quotient, to round as transformers does.
    frequencies = 1.0 / theta ** (torch.arange(0, size, 2, dtype=torch.float32, device="cpu") / size)
    return frequencies if scaling is None else scaling.apply(frequencies)


class RotaryEmbedding(nn.Module):
    """Rotary position embedding, half-split layout as in Llama checkpoints (Su et al. 2021, arXiv 2104.09864).

    Args:
        frequencies: of the rotated pairs, from `rotary_frequencies`.
    """

    inv_freq: Tensor

    def __init__(self, frequencies: Tensor) -> None:
        super().__init__()
        self.register_buffer("inv_freq", frequencies, persistent=False)

    def forward(self, positions_RQ: Tensor, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
        """Cosines and sines for the given positions, computed in float32.

        Args:
            positions_RQ: int64, counted from 0.

        Returns:
            cos_RQ1E, sin_RQ1E: the last dimension repeated over both halves of the rotated part of a head.
        """
        angles_RQ1F = positions_RQ[:, :, None, None].float() * self.inv_freq
        angles_RQ1E = torch.cat((angles_RQ1F, angles_RQ1F), dim=-1)
        return angles_RQ1E.cos().to(dtype), angles_RQ1E.sin().to(dtype)


@dataclass(frozen=True, kw_only=True)
class LexemeConfig:
    """Hash tables for lexeme embeddings."""

    num_spellings: int = 16384
    """Rows for whole lexemes."""
    num_words: int = 16384
    """Rows for words and kinds; row 0 stands for none."""
    size: int = 128
    """Width E of a row."""

    def __post_init__(self) -> None:
        check_range(self, "num_spellings num_words size", 2)


class LexemeEmbedding(nn.Module):
    """A lexeme is the sum of its spelling's vector and its words' mean; one matrix projects it to the input embedding,
    another to the output head."""

    def __init__(self, config: LexemeConfig, hidden_size: int) -> None:
        super().__init__()
        self.config = config
        self.spellings = nn.Embedding(config.num_spellings, config.size)
        self.words = nn.Embedding(config.num_words, config.size)
        self.in_proj = nn.Linear(config.size, hidden_size, bias=False)
        self.out_proj = nn.Linear(config.size, hidden_size, bias=False)

    def forward(self, features_VF: Tensor) -> tuple[Tensor, Tensor]:
        """Embeddings for a lexicon.

        Args:
            features_VF: int64, `sfumato.text.lexemes.Lexicon.features`.

        Returns:
            embedding_VD: input embeddings.
            head_VD: output embeddings, multiplied with hidden states to give logits.
        """
        words_VF = features_VF[:, 1:]
        mean_VE = functional.embedding_bag(
            words_VF, self.words.weight, mode="sum", per_sample_weights=(words_VF > 0).to(self.words.weight.dtype)
        )
        count_V1 = (words_VF > 0).sum(1, keepdim=True).clamp_min(1)
        lexeme_VE = self.spellings(features_VF[:, 0]) + mean_VE / count_V1
        return self.in_proj(lexeme_VE), self.out_proj(lexeme_VE)


class SharedProduct(nn.Module, abc.ABC):
    """Linears with the same input, multiplied as one matrix.

    Args:
        sizes: outputs of each.
    """

    def __init__(self, linears: Sequence[nn.Module], sizes: Sequence[int]) -> None:
        super().__init__()
        # Not submodules: each of them holds this product.
        self.linears = tuple(linears)
        self.sizes = list(sizes)
        self.backend: Backend = TORCH

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """The output of each linear."""
        return self.split(self.multiply(x.flatten(0, -2)).to(x.dtype), x.shape)

    def split(self, out_NO: Tensor, shape: torch.Size) -> tuple[Tensor, ...]:
        """Split an output by linear."""
        return torch.split(out_NO.view(*shape[:-1], out_NO.shape[-1]), self.sizes, dim=-1)

    @abc.abstractmethod
    def multiply(self, x_NI: Tensor, residual_NO: Tensor | None = None) -> Tensor:
        """Product with the whole matrix [N, O] plus bias; a residual is added."""


class FusedProduct(SharedProduct):
    """A product fused with the operation before it; float32 on a CPU."""

    @property
    @abc.abstractmethod
    def tensors(self) -> tuple[Tensor, ...]:
        """Everything it reads besides its arguments."""

    @abc.abstractmethod
    def multiply_normed(self, x_NI: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        """The product of rows after `Backend.rms_norm`."""

    @abc.abstractmethod
    def multiply_gated(self, both_NO: Tensor, activation: str, residual_NO: Tensor) -> Tensor:
        """The product of rows after `Backend.gate` on their halves."""


class FloatProduct(FusedProduct):
    """A float product with weights packed for multiplication.

    Args:
        linears: with float32 weights on a CPU.
    """

    def __init__(self, linears: Sequence[nn.Linear]) -> None:
        super().__init__([PackedLinear(linear, self) for linear in linears], [one.out_features for one in linears])
        biases: list[Tensor] = [
            linear.weight.new_zeros(linear.out_features) if linear.bias is None else linear.bias for linear in linears
        ]
        biased = any(linear.bias is not None for linear in linears)
        self.matrix = FloatMatrix(
            torch.cat([linear.weight for linear in linears]), torch.cat(biases) if biased else None
        )

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.matrix.tensors

    def multiply(self, x_NI: Tensor, residual_NO: Tensor | None = None) -> Tensor:
        return self.matrix.multiply(x_NI, residual_NO=residual_NO)

    def multiply_normed(self, x_NI: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        return self.multiply(self.backend.rms_norm(x_NI, weight_I, eps))

    def multiply_gated(self, both_NO: Tensor, activation: str, residual_NO: Tensor) -> Tensor:
        gate_NI, up_NI = both_NO.chunk(2, dim=-1)
        return self.multiply(self.backend.gate(gate_NI, up_NI, activation), residual_NO)


class PackedLinear(nn.Linear):
    """A frozen linear of a packed float product: `weight` has a shape, but no values.

    Args:
        linear: provides the shape and the bias.
    """

    def __init__(self, linear: nn.Linear, product: FloatProduct) -> None:
        super().__init__(linear.in_features, linear.out_features, bias=False, device="meta")
        self.weight.requires_grad_(False)
        self.bias = linear.bias
        self.product = product

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.product(x)[self.product.linears.index(self)]
        return out


def project(x: Tensor, *linears: nn.Module) -> Sequence[Tensor]:
    """Outputs of several linears for one input, in one product if they share one."""
    product = getattr(linears[0], "product", None)
    if isinstance(product, SharedProduct) and product.linears == linears:
        outs: Sequence[Tensor] = product(x)
        return outs
    return [linear(x) for linear in linears]


def shared_inputs(module: nn.Module, names: Collection[str]) -> list[tuple[str, ...]]:
    """Groups of a module's linears, by shared input.

    Args:
        names: of the linears to group. If one of a group is missing here, the others stay alone.
    """
    held = dict(module.named_children())
    groups = [tuple(name for name in group if name in held) for group in _GROUPS]
    groups = [group for group in groups if group and all(name in names for name in group)]
    return [*groups, *((name,) for name in names if not any(name in group for group in groups))]


def pack_linears(model: nn.Module) -> None:
    """Pack the linears of an inference-only model, in float32 on a CPU, with shared inputs together. Its own heads stay
    unpacked, because they are also read as matrices."""
    for module in list(model.modules())[1:]:
        fitting = {
            name: one
            for name, one in module.named_children()
            if type(one) is nn.Linear and (one.weight.dtype, one.weight.device.type) == (torch.float32, "cpu")
        }
        for group in shared_inputs(module, fitting):
            product = FloatProduct([fitting[name] for name in group])
            for name, linear in zip(group, product.linears, strict=True):
                setattr(module, name, linear)
