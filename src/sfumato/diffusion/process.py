"""Noise processes: what a token turns into, and the way back.

Every process here interpolates between the data and a noise that is part mask, part uniform (GIDD, arXiv
2503.04482, section 3):

    q(x_t | x_0) = keep_t x_0 + mask_t m + uniform_t u,     keep_t + mask_t + uniform_t = 1,

with m the one-hot mask and u uniform over the vocabulary without the mask. Three scalars per noise level are
therefore all that a process defines; corruption and transitions are written once, from these scalars, and no
vector over the vocabulary is built. The instances are

    mask     keep = alpha, mask = 1 - alpha                  MDLM, arXiv 2406.07524
    uniform  keep = alpha, uniform = 1 - alpha, no mask id   UDLM, arXiv 2412.10193; Duo, arXiv 2506.10892
    hybrid   keep = (1-t)/C, mask = t/C, uniform = c/C       GIDD, section 4

t runs from 0 (clean) to 1 (pure noise). Losses live in loss.py. How many tokens a sampler accepts or puts back to noise
is not decided here.
"""

# R rows, L canvas, K vocabulary. Tokens have shape RL, probabilities RLK; other leading shapes work as well.
# Noise levels have the leading dimensions of the tokens: R, RL or none. Arguments keep the papers' names.

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from sfumato.errors import ConfigError, unknown


def sample_t(n: int, generator: torch.Generator | None = None, t_min: float = 1e-3, t_max: float = 1.0) -> Tensor:
    """Draw n noise levels for one batch, one in each of n equal strata, which lowers the variance of the batch mean of
    a loss. The strata are shuffled, so each row alone still sees a uniform level.

    Args:
        n: number of levels, >= 1.
        generator: source of randomness on the CPU; None takes torch's default.
        t_min: lowest level. Below it almost no token is noised while the weight of a bound grows like 1/t.

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
    u_R = torch.rand(n, generator=generator)
    stratum_R = torch.randperm(n, generator=generator)
    return t_min + (t_max - t_min) * ((stratum_R + u_R) / n)


class Mixture(NamedTuple):
    """Weights of one interpolation keep·x + mask·m + uniform·u; each >= 0, together 1."""

    keep: Tensor
    """Share of tokens left as they are."""
    mask: Tensor
    """Share of tokens turned into the mask."""
    uniform: Tensor
    """Share of tokens drawn again, uniformly over the vocabulary without the mask."""


class Flow(NamedTuple):
    """alpha² d/dt(noise / alpha), split like the noise; >= 0. Divided by alpha it is the rate of jumping."""

    mask: Tensor
    """Flow into the mask, per unit of t."""
    uniform: Tensor
    """Flow into all uniform noise together, per unit of t."""


def align(t: Tensor, tokens: Tensor) -> Tensor:
    """Give t the trailing dimensions it lacks, so that t_R stands for every position of its row of tokens."""
    return t.reshape(t.shape + (1,) * (tokens.ndim - t.ndim))


class Process(ABC):
    """A noise process; the subclasses give the weights of its mixture."""

    vocab_size: int
    """K, the mask included where there is one."""
    mask_id: int | None
    """Token id of the mask; None where every token of the vocabulary is an ordinary one."""
    has_uniform: bool
    """False if no token ever turns into another ordinary token, so that visible tokens are certain."""

    def __init__(self, vocab_size: int, mask_id: int | None, *, has_uniform: bool) -> None:
        smallest = 1 if mask_id is None else 2
        if vocab_size < smallest:
            raise ConfigError(f"vocab_size is {vocab_size}; allowed: {smallest} or more")
        if mask_id is not None and not 0 <= mask_id < vocab_size:
            raise ConfigError(f"mask_id is {mask_id}; allowed: 0 to {vocab_size - 1} (vocab_size is {vocab_size})")
        self.vocab_size = vocab_size
        self.mask_id = mask_id
        self.has_uniform = has_uniform

    @property
    def num_ordinary(self) -> int:
        """Number of tokens that uniform noise draws from: all but the mask."""
        return self.vocab_size - (self.mask_id is not None)

    @abstractmethod
    def mixture(self, t: Tensor) -> Mixture:
        """Weights of q(x_t | x_0); t in [0, 1], each weight of its shape."""

    @abstractmethod
    def flow(self, t: Tensor) -> Flow:
        """How fast noise flows in at t in (0, 1]; each part has the shape of t.

        A token other than z jumps to z at the rate d/dt(noise_z) - (alpha' / alpha) noise_z = flow_z / alpha.
        The factor alpha keeps the flow finite at t = 1, where every token must have jumped.

        Source: GIDD, arXiv 2503.04482, section 3, the forward rate of the continuous-time chain.
        """

    @abstractmethod
    def noise(self, u: Tensor, t: Tensor) -> Tensor:
        """Draw noise tokens by inverting the distribution function of the noise pi_t.

        Args:
            u: floats in [0, 1), any shape. float32 resolves 2^-24, ample for a vocabulary of 2^18.
            t: noise levels; its dimensions are the leading ones of u.

        Returns:
            int64 tokens of the shape of u.
        """

    def alpha(self, t: Tensor) -> Tensor:
        """Share of tokens kept at t, in [0, 1], falling to 0 at t = 1; the shape of t. 1 - t makes the total noise
        -log(alpha) log-linear.

        Source: MDLM, Sahoo et al. 2024, arXiv 2406.07524, appendix on noise schedules.
        """
        return 1.0 - t

    def corrupt(self, x0: Tensor, t: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Draw x_t from q(x_t | x_0), each position on its own.

        Args:
            x0: int64 clean tokens.
            t: noise levels in [0, 1]; t_R for a level per row, t_RL for one per position. 0 changes nothing.
            generator: source of randomness, on the device of x0; None takes torch's default.

        Returns:
            int64 tokens of the shape of x0.
        """
        t = align(t, x0)
        kept_RL = torch.rand(x0.shape, generator=generator, device=x0.device) < self.alpha(t)
        u_RL = torch.rand(x0.shape, generator=generator, device=x0.device)
        return torch.where(kept_RL, x0, self.noise(u_RL, t))

    def transition(self, s: Tensor, t: Tensor) -> Mixture:
        """Weights of q(x_t | x_s) for s <= t: what composes with the mixture at s into the mixture at t.

        Args:
            s: earlier noise levels, in [0, 1).
            t: later noise levels, >= s, of a shape that broadcasts with s.

        Returns:
            keep = alpha_t / alpha_s, and noise = noise_t - keep · noise_s for mask and uniform alike.

        Source: GIDD, arXiv 2503.04482, the conditional transitions (their pi_t may change with t).
        """
        early, late = self.mixture(s), self.mixture(t)
        keep = late.keep / early.keep.clamp_min(torch.finfo(early.keep.dtype).tiny)
        # The differences are >= 0 up to rounding, which for s close to t can have either sign.
        mask = (late.mask - keep * early.mask).clamp_min(0.0)
        uniform = (late.uniform - keep * early.uniform).clamp_min(0.0)
        return Mixture(keep, mask, uniform)

    def noise_mass(self, mixture: Mixture | Flow, tokens: Tensor) -> Tensor:
        """The part of a mixture or flow that lands on each given token as noise; the shape of tokens."""
        ordinary = mixture.uniform / self.num_ordinary
        if self.mask_id is None:
            return ordinary.expand(tokens.shape)
        return torch.where(tokens == self.mask_id, mixture.mask, ordinary)


class MaskProcess(Process):
    """Tokens turn into the mask and stay there.

    Source: MDLM, arXiv 2406.07524; D3PM with an absorbing state, arXiv 2107.03006.
    """

    mask_id: int

    def __init__(self, vocab_size: int, mask_id: int) -> None:
        super().__init__(vocab_size, mask_id, has_uniform=False)

    def mixture(self, t: Tensor) -> Mixture:
        alpha = self.alpha(t)
        return Mixture(alpha, 1.0 - alpha, torch.zeros_like(alpha))

    def flow(self, t: Tensor) -> Flow:
        return Flow(torch.ones_like(t), torch.zeros_like(t))

    def noise(self, u: Tensor, t: Tensor) -> Tensor:
        return torch.full_like(u, self.mask_id, dtype=torch.int64)


class UniformProcess(Process):
    """Tokens turn into tokens drawn uniformly from the whole vocabulary (perhaps the same one again).

    Source: UDLM, arXiv 2412.10193; Duo, arXiv 2506.10892; D3PM uniform, arXiv 2107.03006.
    """

    def __init__(self, vocab_size: int) -> None:
        super().__init__(vocab_size, None, has_uniform=True)

    def mixture(self, t: Tensor) -> Mixture:
        alpha = self.alpha(t)
        return Mixture(alpha, torch.zeros_like(alpha), 1.0 - alpha)

    def flow(self, t: Tensor) -> Flow:
        return Flow(torch.zeros_like(t), torch.ones_like(t))

    def noise(self, u: Tensor, t: Tensor) -> Tensor:
        # Clamped for a u that was rounded up to 1 on its way here.
        return (u * self.vocab_size).long().clamp_max(self.vocab_size - 1)


class HybridProcess(Process):
    """Mostly mask noise, with uniform noise on the way: peaking at t = 1/2, none at either end.

    With c_t = B sqrt(t (1 - t)), a share c_t / (1 + c_t) of all tokens is uniform noise; B = 2 p_uniform / (1 -
    p_uniform) makes it p_uniform at t = 1/2. u is uniform over the vocabulary without the mask, as in GIDD; at t = 1
    the canvas is all mask.

    Args:
        vocab_size: K, the mask included.
        mask_id: token id of the mask.
        p_uniform: share of all tokens that are uniform noise at t = 1/2, in [0, 1); 0 is mask noise.

    Source: GIDD, von Rütte et al. 2025, arXiv 2503.04482, section 4, with gamma = 1.
    """

    mask_id: int

    def __init__(self, vocab_size: int, mask_id: int, p_uniform: float) -> None:
        if not 0.0 <= p_uniform < 1.0:
            raise ConfigError(f"p_uniform is {p_uniform}; allowed: 0 <= p_uniform < 1")
        super().__init__(vocab_size, mask_id, has_uniform=p_uniform > 0.0)
        self.p_uniform = p_uniform

    def uniform_ratio(self, t: Tensor) -> Tensor:
        """c_t: uniform noise against everything else, >= 0; the shape of t."""
        return 2.0 * self.p_uniform / (1.0 - self.p_uniform) * (t * (1.0 - t)).sqrt()

    def alpha(self, t: Tensor) -> Tensor:
        return (1.0 - t) / (1.0 + self.uniform_ratio(t))

    def mixture(self, t: Tensor) -> Mixture:
        c = self.uniform_ratio(t)
        total = 1.0 + c
        return Mixture((1.0 - t) / total, t / total, c / total)

    def flow(self, t: Tensor) -> Flow:
        # noise / alpha is t/(1-t) for the mask and c/(1-t) for uniform noise.
        c = self.uniform_ratio(t)
        total_squared = (1.0 + c).square()
        return Flow(1.0 / total_squared, c * (1.0 / (2.0 * t)) / total_squared)

    def noise(self, u: Tensor, t: Tensor) -> Tensor:
        tiny = torch.finfo(t.dtype).tiny
        # At t = 0 there is no noise to take shares of; the limit from above is meant.
        _, mask, uniform = self.mixture(align(t, u).clamp_min(tiny))
        mask_share = mask / (mask + uniform)
        rest = (u - mask_share) / (1.0 - mask_share).clamp_min(tiny)
        ordinary = (rest.clamp(0.0, 1.0) * self.num_ordinary).long().clamp_max(self.num_ordinary - 1)
        ordinary = ordinary + (ordinary >= self.mask_id)
        # At t = 1 the share is 1 and u is below it, so every token is the mask.
        return torch.where(u < mask_share, self.mask_id, ordinary)


def make_process(noise: str, vocab_size: int, mask_id: int | None = None) -> Process:
    """Build the process that a GenerationSpec names, log-linear; hybrid noise has the share of uniform noise with which
    GIDD reports self-correction.

    Args:
        noise: "mask", "uniform" or "hybrid".
        vocab_size: K, the mask included.
        mask_id: token id of the mask; needed for mask and hybrid noise, not used by uniform noise.

    Raises:
        ConfigError: for an unknown noise, or a missing mask id.
    """
    if noise == "uniform":
        return UniformProcess(vocab_size)
    if noise not in ("mask", "hybrid"):
        raise ConfigError(unknown("noise", noise, ("mask", "uniform", "hybrid")))
    if mask_id is None:
        raise ConfigError(f"noise {noise!r} needs mask_id; it is not set")
    return MaskProcess(vocab_size, mask_id) if noise == "mask" else HybridProcess(vocab_size, mask_id, p_uniform=0.2)
