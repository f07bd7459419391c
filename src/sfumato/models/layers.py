"""Building blocks of decoders. None of them knows about noise, canvases or caches."""

# R rows, Q query positions, D model, H heads, E head dimension; for lexemes: V lexemes, F features, E table width

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.errors import ConfigError, check_range, unknown
from sfumato.kernels.base import TORCH, Backend
from sfumato.models.products import project


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
        if self.rope_type not in ("linear", "llama3"):
            raise ConfigError(unknown("rope_type", str(self.rope_type), ["linear", "llama3"]))
        check_range(self, "factor", 1)
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

    def forward(self, positions_RQ: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines for the given positions.

        Args:
            positions_RQ: int64, counted from 0.

        Returns:
            cos_RQ1E, sin_RQ1E: float32, the last dimension repeated over both halves of the rotated part of a head.
        """
        angles_RQ1F = positions_RQ[:, :, None, None].float() * self.inv_freq
        angles_RQ1E = torch.cat((angles_RQ1F, angles_RQ1F), dim=-1)
        return angles_RQ1E.cos(), angles_RQ1E.sin()


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
