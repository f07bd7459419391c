"""Samplers that accept tokens above a probability threshold, and one that also edits filled positions."""

# R rows, L canvas

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.config import check_number
from sfumato.diffusion.process import Process
from sfumato.errors import RequestError
from sfumato.sampling.samplers.base import Decision, Sampler, Turn, even_share, has_mask, pick_highest, register


@register
@dataclass(frozen=True, kw_only=True)
class Threshold(Sampler):
    """Accept candidates above a confidence, but at least an even share of the steps.

    Source: Fast-dLLM, Wu et al. 2025, arXiv 2505.22618, section 3, which accepts at least one; SDAR and LLaDA2 accept
        at least an even share of the block per step.
    """

    name = "threshold"
    accepts_by_draw = True
    threshold: float = 0.9
    """Probability of the sampled token, 0 to 1; 0.9 is Fast-dLLM's, and 1 leaves it to the even share."""

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold, 0, 1)

    def minimum(self, turn: Turn) -> Tensor:
        """int64_R: how many candidates to accept at least."""
        return even_share(turn).clamp_min(1)

    def accept(self, turn: Turn) -> Tensor:
        confidence_RL, candidates_RL, minimum_R = turn.statistics.confidence_RL, turn.candidates_RL, self.minimum(turn)
        above_RL = candidates_RL & (confidence_RL > self.threshold)
        enough_R1 = (above_RL.sum(-1) >= minimum_R).unsqueeze(-1)
        return torch.where(enough_R1, above_RL, pick_highest(confidence_RL, candidates_RL, minimum_R))


@register
@dataclass(frozen=True, kw_only=True)
class Edit(Threshold):
    """Fill masks like `threshold`, at least one per step, and replace filled tokens when another exceeds a second
    threshold.

    Source: LLaDA2.1, token-to-token editing.
    """

    name = "edit"
    reopens = reads_decided = True
    edit_threshold: float = 0.9
    """Minimum probability to replace a token, 0 to 1; 0 always follows the model, 0.9 is LLaDA2.1's."""
    post_steps: int = 16
    """Maximum steps after the last mask is filled, 0 or more; 16 is LLaDA2.1's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("edit_threshold", self.edit_threshold, 0, 1)
        check_number("post_steps", self.post_steps, 0, 1000, whole=True)

    def check(self, process: Process) -> None:
        if process.has_uniform:
            raise RequestError(
                "sampler 'edit' depends on the positions that still hold the mask; allowed: models "
                "with mask noise only. Under uniform noise every sampler revises: use 'entropy'"
            )

    def minimum(self, turn: Turn) -> Tensor:
        # Filling before an edit has no number of steps to keep to.
        return torch.ones_like(turn.count_R)

    def decide(self, turn: Turn) -> Decision:
        accepted_RL, next_RL = super().decide(turn)
        decided_RL = turn.free_RL & (turn.tokens_RL != turn.process.mask_id)
        sampled_RL, is_sure_RL = turn.statistics.sampled_RL, turn.statistics.confidence_RL > self.edit_threshold
        edited_RL = decided_RL & (sampled_RL != turn.tokens_RL) & is_sure_RL
        return Decision(accepted_RL | edited_RL, torch.where(edited_RL, sampled_RL, next_RL))

    def is_finished(self, turn: Turn, decision: Decision) -> Tensor:
        was_full_R = ~has_mask(turn, turn.tokens_RL)
        post_R = torch.where(was_full_R, turn.step_R + 1, 0)
        over_R = (was_full_R & ~decision.accepted_RL.any(-1)) | (post_R >= self.post_steps)
        return over_R & ~has_mask(turn, decision.next_RL)
