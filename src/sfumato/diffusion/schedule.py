"""Noise schedules, and how training draws the noise level t.

t runs from 0 (clean) to 1 (pure noise); alpha(t) is the share of tokens kept. A schedule says how much is
lost, never what replaces it: that is the process (process.py).
"""

# R rows

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from sfumato.errors import ConfigError


class Schedule(Protocol):
    """The share of tokens kept as a function of t, falling from alpha(0) = 1 to alpha(1) = 0."""

    def alpha(self, t: Tensor) -> Tensor:
        """Share of tokens kept at t, in [0, 1]; the shape of t."""
        ...

    def alpha_prime(self, t: Tensor) -> Tensor:
        """Derivative of alpha at t, <= 0; the shape of t."""
        ...


@dataclass(frozen=True)
class LogLinear:
    """alpha(t) = 1 - t, so that the total noise -log(alpha) is log-linear.

    Source: MDLM, Sahoo et al. 2024, arXiv 2406.07524, appendix on noise schedules.
    """

    def alpha(self, t: Tensor) -> Tensor:
        """1 - t."""
        return 1.0 - t

    def alpha_prime(self, t: Tensor) -> Tensor:
        """-1 everywhere."""
        return -torch.ones_like(t)


@dataclass(frozen=True)
class HybridSchedule:
    """alpha(t) = (1 - t) / C_t: log-linear, less the room that uniform noise takes in the middle of the way.

    With c_t = B t^(gamma/2) (1-t)^(gamma/2) and C_t = 1 + c_t, a share c_t / C_t of all tokens is uniform
    noise. It peaks at t = 1/2, where B = 2^gamma p_uniform / (1 - p_uniform) makes it p_uniform.

    Source: GIDD, von Rütte et al. 2025, arXiv 2503.04482, section 4.
    """

    p_uniform: float
    """Share of all tokens that are uniform noise at t = 1/2, in [0, 1)."""
    gamma: float = 1.0
    """Sharpness of that peak, in (0, 2]."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.p_uniform < 1.0:
            raise ConfigError(f"p_uniform is {self.p_uniform}; allowed: 0 <= p_uniform < 1")
        # Past 2, uniform noise would have to vanish near t = 1 faster than tokens can jump: a negative rate.
        if not 0.0 < self.gamma <= 2.0:
            raise ConfigError(f"gamma is {self.gamma}; allowed: 0 < gamma <= 2")

    def uniform_ratio(self, t: Tensor) -> Tensor:
        """c_t: uniform noise against everything else, >= 0; the shape of t."""
        scale = math.pow(2.0, self.gamma) * self.p_uniform / (1.0 - self.p_uniform)
        return scale * (t * (1.0 - t)).pow(self.gamma / 2)

    def alpha(self, t: Tensor) -> Tensor:
        """(1 - t) / (1 + c_t)."""
        return (1.0 - t) / (1.0 + self.uniform_ratio(t))

    def alpha_prime(self, t: Tensor) -> Tensor:
        """Derivative of alpha; for gamma < 2 it diverges at t = 0, so t must be positive."""
        c = self.uniform_ratio(t)
        # (1-t) c'_t = c_t gamma (1-2t) / 2t
        return -(1.0 + c * self.gamma * (1.0 - 2.0 * t) / (2.0 * t * (1.0 + c))) / (1.0 + c)


def sample_t(
    n: int,
    generator: torch.Generator | None = None,
    t_min: float = 1e-3,
    t_max: float = 1.0,
    antithetic: bool = True,
    device: torch.device | str | None = None,
) -> Tensor:
    """Draw n noise levels for one batch.

    Args:
        n: number of levels, >= 1.
        generator: source of randomness, on ``device``; None takes torch's default.
        t_min: lowest level. Below it almost no token is noised while the weight of a bound grows like 1/t.
        t_max: highest level.
        antithetic: draw one level in each of n equal strata instead of independently, which lowers the
            variance of the batch mean of a loss. The strata are shuffled, so each row alone still sees a
            uniform level.
        device: where the result lives; None follows the generator.

    Returns:
        t_R: float32 in [t_min, t_max], uniform.

    Raises:
        ValueError: if n or the range is out of bounds.

    Source: Kingma et al. 2021 (VDM), arXiv 2107.00630, appendix I.1; the name is MDLM's (arXiv 2406.07524).
    """
    if n < 1:
        raise ValueError(f"n is {n}; allowed: 1 or more")
    if not 0.0 <= t_min < t_max <= 1.0:
        raise ValueError(f"t range is [{t_min}, {t_max}]; allowed: 0 <= t_min < t_max <= 1")
    if device is None:
        device = generator.device if generator is not None else torch.device("cpu")
    u_R = torch.rand(n, generator=generator, device=device)
    if antithetic:
        stratum_R = torch.randperm(n, generator=generator, device=device)
        u_R = (stratum_R + u_R) / n
    return t_min + (t_max - t_min) * u_R
