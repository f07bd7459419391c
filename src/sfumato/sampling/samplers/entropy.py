"""Accept what together is sure enough."""

# R rows, L canvas

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.sampling.samplers.base import Sampler, Turn, check_number, register


@register
@dataclass(frozen=True, kw_only=True)
class Entropy(Sampler):
    """Accept each row's lowest-entropy candidates while (cumulative entropy - own) <= bound, and renoise the rest.

    The left side bounds the mutual information of the accepted tokens, given that they are drawn independently.

    Source: Ben-Hamu et al. 2025, arXiv 2505.24857, section 4; DiffusionGemma's sampler.
    """

    name = "entropy"
    entropy_bound: float = 0.1
    """Budget per step in nats, >= 0; infinity accepts everything. 0.1 is DiffusionGemma's."""

    def __post_init__(self) -> None:
        check_number("entropy_bound", self.entropy_bound, 0, math.inf)

    def accept(self, turn: Turn) -> Tensor:
        return accept_by_entropy(turn.statistics.entropy_RL, turn.candidates_RL, self.entropy_bound)


def accept_by_entropy(entropy_RL: Tensor, candidates_RL: Tensor, bound: float) -> Tensor:
    """accepted_RL: bool; at least one True in every row with a candidate, for nothing precedes the first.

    Args:
        entropy_RL: float32 nats, >= 0.
        candidates_RL: bool.
        bound: nats, >= 0.
    """
    sorted_RL, order_RL = entropy_RL.masked_fill(~candidates_RL, torch.inf).sort(dim=-1, stable=True)
    spent_RL = sorted_RL.masked_fill(sorted_RL == torch.inf, 0.0).cumsum(-1) - sorted_RL
    within_RL = torch.zeros_like(candidates_RL).scatter(-1, order_RL, spent_RL <= bound)
    return within_RL & candidates_RL
