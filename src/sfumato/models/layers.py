"""The parts a decoder is made of. None of them knows about noise, canvases or caches."""

# R rows, Q query positions, D model, H heads, E head dimension

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class RMSNorm(nn.Module):
    """Root mean square normalisation with a learned scale (Zhang & Sennrich 2019, arXiv 1910.07467)."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


class MLP(nn.Module):
    """Gated feed-forward block, SwiGLU (Shazeer 2020, arXiv 2002.05202)."""

    def __init__(self, size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class SelfConditioning(nn.Module):
    """Turn the soft embedding of the model's own last prediction into a correction of its input.

    The output projection starts at zero, so a model that gains this block computes what it did before. A zero
    soft embedding (the first step of a canvas) always gives a zero correction.

    Source: Chen et al. 2022, arXiv 2208.04202; gated form as in DiffusionGemma.
    """

    def __init__(self, size: int, intermediate_size: int, eps: float) -> None:
        super().__init__()
        self.norm = RMSNorm(size, eps)
        self.mlp = MLP(size, intermediate_size)
        nn.init.zeros_(self.mlp.down_proj.weight)

    def forward(self, soft_RQD: Tensor) -> Tensor:
        out: Tensor = self.mlp(self.norm(soft_RQD))
        return out


class RotaryEmbedding(nn.Module):
    """Rotary position embedding, half-split layout as in Llama checkpoints (Su et al. 2021, arXiv 2104.09864)."""

    inv_freq: Tensor

    def __init__(self, head_dim: int, theta: float) -> None:
        super().__init__()
        exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
        self.register_buffer("inv_freq", theta**-exponents, persistent=False)

    def forward(self, positions_RQ: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines for the given positions.

        Args:
            positions_RQ: int64, counted from 0.

        Returns:
            cos_RQ1E, sin_RQ1E: float32, the last dimension repeated over both halves of a head.
        """
        angles_RQ1F = positions_RQ[:, :, None, None].float() * self.inv_freq
        angles_RQ1E = torch.cat((angles_RQ1F, angles_RQ1F), dim=-1)
        return angles_RQ1E.cos(), angles_RQ1E.sin()


def rotate(x_RQHE: Tensor, cos_RQ1E: Tensor, sin_RQ1E: Tensor) -> Tensor:
    """Rotate every head's query or key by its position."""
    first, second = x_RQHE.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (x_RQHE * cos_RQ1E + turned * sin_RQ1E).to(x_RQHE.dtype)
