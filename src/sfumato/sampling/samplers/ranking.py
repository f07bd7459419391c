"""Samplers that accept a set number of positions per step, those with the highest scores."""

# R rows, L canvas

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sfumato.config import check_choice
from sfumato.sampling.samplers.base import Sampler, Stream, Turn, pick_highest, register

Budget = Literal["even", "truncated"]


@dataclass(frozen=True, kw_only=True)
class _Ranking(Sampler):
    by_schedule = True
    budget: Budget = "even"
    """Positions accepted per step, either an even share (LLaDA, SDAR) or the share that the reverse process would
    decide, rounded down (Dream)."""

    def __post_init__(self) -> None:
        check_choice("budget", self.budget, get_args(Budget))

    def score(self, turn: Turn) -> Tensor:
        """score_RL: float32 per position."""
        raise NotImplementedError

    def accept(self, turn: Turn) -> Tensor:
        budget_R = truncated_budget(turn) if self.budget == "truncated" else even_budget(turn)
        return pick_highest(self.score(turn), turn.candidates_RL, budget_R)


@register
@dataclass(frozen=True, kw_only=True)
class Confidence(_Ranking):
    """Highest probability of the sampled token (LLaDA, arXiv 2502.09992)."""

    name = "confidence"
    accepts_by_draw = True

    def score(self, turn: Turn) -> Tensor:
        return turn.statistics.confidence_RL


@register
@dataclass(frozen=True, kw_only=True)
class Margin(_Ranking):
    """Largest margin between the two most probable tokens (Kim et al. 2025, arXiv 2502.06768)."""

    name = "margin"

    def score(self, turn: Turn) -> Tensor:
        return turn.statistics.margin_RL


@register
@dataclass(frozen=True, kw_only=True)
class Certainty(_Ranking):
    """Lowest entropy (Dream, arXiv 2508.15487)."""

    name = "certainty"

    def score(self, turn: Turn) -> Tensor:
        return -turn.statistics.entropy_RL


@register
@dataclass(frozen=True, kw_only=True)
class Random(_Ranking):
    """Random order."""

    name = "random"

    def score(self, turn: Turn) -> Tensor:
        return turn.draw(Stream.ORDER)


def even_budget(turn: Turn) -> Tensor:
    """How many candidates to accept so that the decided positions are an even share of the steps so far.

    Returns:
        budget_R: int64, >= 1. Positions that are no longer candidates count as decided.
    """
    done_R = turn.step_R + 1
    target_R = turn.count_R // turn.steps_R * done_R + torch.minimum(done_R, turn.count_R % turn.steps_R)
    decided_R = turn.count_R - turn.candidates_RL.sum(-1)
    return (target_R - decided_R).clamp_min(1)


def truncated_budget(turn: Turn) -> Tensor:
    """How many of M candidates a reverse step from t to s decides: M (1 - s/t) rounded down; in the last step all.

    Noise levels run from 1 to 0.001 in equal float32 steps computed from both ends, as torch.linspace does, because the
    rounding decides counts close to a whole number.

    Returns:
        budget_R: int64, >= 0; 0 in the first step if there is one step per position.

    Source: Dream, Ye et al. 2025, arXiv 2508.15487.
    """
    t_R, s_R = _dream_level(turn.step_R, turn.steps_R), _dream_level(turn.step_R + 1, turn.steps_R)
    left_R = turn.candidates_RL.sum(-1)
    part_R = (left_R.float() * (1.0 - s_R / t_R)).long()
    return torch.where(turn.step_R + 1 >= turn.steps_R, left_R, part_R)


def _dream_level(step_R: Tensor, steps_R: Tensor) -> Tensor:
    last = 1e-3
    size_R = (last - 1.0) / steps_R.float()
    from_end_R = last - size_R * (steps_R - step_R).float()
    return torch.where(step_R < (steps_R + 1) // 2, 1.0 + size_R * step_R.float(), from_end_R)
