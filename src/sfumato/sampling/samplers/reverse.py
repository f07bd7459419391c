"""Samplers that simulate the reverse process from t to s, step by step."""

# R rows, L canvas, V vocab, N positions that were read

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sfumato.config import check_choice, check_number
from sfumato.diffusion.loss import loo_from_denoiser
from sfumato.diffusion.process import Process
from sfumato.errors import RequestError
from sfumato.sampling.samplers.base import Decision, Sampler, Stream, Turn, pick_highest, register

RemaskSchedule = Literal["cap", "rescale"]


@register
@dataclass(frozen=True, kw_only=True)
class Ancestral(Sampler):
    """Draw x_s from q(x_s | x_t, x_0) for a drawn x_0 (D3PM, arXiv 2107.03006).

    A position counts as accepted when its new token is the drawn x_0.
    """

    name = "ancestral"
    reverse = by_schedule = reopens = True

    def transition(self, turn: Turn) -> Tensor:
        """next_RL: int64, x_s of every position.

        With x_0 ~ p(x_0 | x_t) this samples the mixture of exact posteriors, the right one for a denoiser that has seen
        x_t; plugging p in for x_0 would count that observation twice. The posterior of a known x_0 is a choice of
        three, x_0, x_t or noise, so that it takes three weights per position and no vector over the vocabulary.

        Source: D3PM, arXiv 2107.03006, eq. 3 and 4.
        """
        process, xt_RL, x0_RL = turn.process, turn.tokens_RL, turn.statistics.sampled_RL
        s_R1, t_R1 = turn.s_R.unsqueeze(-1), turn.t_R.unsqueeze(-1)
        onward, at_s = process.transition(s_R1, t_R1), process.mixture(s_R1)
        # q(x_t | x_s = k) is the noise that lands on x_t, whatever k is, plus `keep` for k = x_t.
        landed_RL = process.noise_mass(onward, xt_RL)
        clean_RL = at_s.keep * (landed_RL + onward.keep * (xt_RL == x0_RL))
        fresh_RL = (1.0 - at_s.keep) * landed_RL
        stayed_RL = onward.keep * process.noise_mass(at_s, xt_RL)
        v_RL = turn.draw(Stream.MOVE) * (clean_RL + fresh_RL + stayed_RL)
        moved_RL = torch.where(v_RL < clean_RL + fresh_RL, turn.noise_RL, xt_RL)
        return torch.where(v_RL < clean_RL, x0_RL, moved_RL)

    def accept(self, turn: Turn) -> Tensor:
        return self.decide(turn).accepted_RL

    def decide(self, turn: Turn) -> Decision:
        next_RL = self.transition(turn)
        return Decision(turn.candidates_RL & (next_RL == turn.statistics.sampled_RL), next_RL)


@register
@dataclass(frozen=True, kw_only=True)
class ReMDM(Ancestral):
    """Under mask noise, return visible tokens to the mask with probability sigma.

    Source: ReMDM, Wang et al. 2025, arXiv 2503.00307, sections 3 and 4.1.
    """

    name = "remdm"
    remask: float = 0.008
    """eta, the strength of remasking, 0 to 1; 0 is the ancestral sampler. 0.008 is ReMDM's for its cap."""
    remask_schedule: RemaskSchedule = "cap"
    """With m = min(1, (1 - alpha_s) / alpha_t), cap remasks with probability min(eta, m), rescale with eta m."""

    def __post_init__(self) -> None:
        check_number("remask", self.remask, 0, 1)
        check_choice("remask_schedule", self.remask_schedule, get_args(RemaskSchedule))

    def check(self, process: Process) -> None:
        if process.mask_id is None or process.has_uniform:
            raise RequestError(
                "sampler 'remdm' returns tokens to the mask; allowed: models with mask noise only. "
                "Under uniform noise every sampler revises: use 'entropy' or 'ancestral'"
            )

    def transition(self, turn: Turn) -> Tensor:
        """A mask becomes x_0 with probability (alpha_s - (1 - sigma) alpha_t) / (1 - alpha_t), which leaves the
        marginals q(x_s | x_0) as they are for every sigma up to m. At s = 0 that limit is 0 and the canvas comes out
        free of masks."""
        mask_id = turn.process.mask_id
        assert mask_id is not None, "check refuses remdm without a mask"
        alpha_s_R, alpha_t_R = turn.process.alpha(turn.s_R), turn.process.alpha(turn.t_R)
        limit_R = ((1.0 - alpha_s_R) / alpha_t_R.clamp_min(torch.finfo(alpha_t_R.dtype).tiny)).clamp_max(1.0)
        sigma_R = self.remask * limit_R if self.remask_schedule == "rescale" else limit_R.clamp_max(self.remask)
        unmask_R = (alpha_s_R - (1.0 - sigma_R) * alpha_t_R) / (1.0 - alpha_t_R)
        masked_RL = turn.tokens_RL == mask_id
        changes_RL = turn.draw(Stream.MOVE) < torch.where(masked_RL, unmask_R.unsqueeze(-1), sigma_R.unsqueeze(-1))
        changed_RL = torch.where(masked_RL, turn.statistics.sampled_RL, mask_id)
        return torch.where(changes_RL, changed_RL, turn.tokens_RL)

    def is_finished(self, turn: Turn, decision: Decision) -> Tensor:
        # Remasking may still reopen settled positions.
        return torch.zeros_like(turn.count_R, dtype=torch.bool)


@register
@dataclass(frozen=True, kw_only=True)
class PredictorCorrector(Ancestral):
    """After an ancestral step, redraw the tokens that the rest of the canvas contradicts, from alpha_s x0_loo + (1 -
    alpha_s) / K.

    x0_loo is the leave-one-out prediction at t, so this is the exact q(x_s here | x_t elsewhere): the prediction for
    the position if its own token had not been seen; no further forward is needed. Choosing by the token itself
    sharpens: few-step errors are repaired, and over many steps likely canvases are favoured.

    Source: LOO, arXiv 2605.22765; the margin from informed correctors, Zhao et al. 2024, arXiv 2407.21243.
    """

    name = "predictor-corrector"
    corrector_k: int = 1
    """Positions redrawn per step, 0 or more, at which the token has the lowest margin over the best other one after the
    ancestral step. Keep it small relative to the canvas."""

    def __post_init__(self) -> None:
        check_number("corrector_k", self.corrector_k, 0, 2**31 - 1, whole=True)

    def check(self, process: Process) -> None:
        if process.mask_id is not None:
            raise RequestError(
                "sampler 'predictor-corrector' draws from uniform noise; allowed: models with uniform noise "
                "only. Under mask noise use 'remdm' or 'ancestral'"
            )

    def transition(self, turn: Turn) -> Tensor:
        moved_RL = super().transition(turn)
        logits = turn.logits
        row_N = logits.index_N // logits.tokens_RL.shape[1]
        alpha_R = turn.process.alpha(turn.t_R)
        alpha_N = turn.spread(alpha_R, torch.ones_like(logits.tokens_RL[:, 0], dtype=alpha_R.dtype))[row_N]
        loo_NV = loo_from_denoiser(logits.logits_NV, logits.tokens_RL.flatten()[logits.index_N], alpha_N)
        whole_RL = turn.spread(moved_RL, logits.tokens_RL)
        own_N1 = whole_RL.flatten()[logits.index_N].unsqueeze(-1)
        best_other_N = loo_NV.scatter(-1, own_N1, -torch.inf).amax(-1)
        margin_N = loo_NV.gather(-1, own_N1).squeeze(-1) - best_other_N
        margin_RL = torch.zeros_like(whole_RL, dtype=torch.float32).flatten()
        margin_RL = turn.select(margin_RL.index_copy(0, logits.index_N, margin_N).view_as(whole_RL))
        count_R = torch.full_like(turn.count_R, self.corrector_k)
        chosen_RL = pick_highest(-margin_RL, turn.free_RL, count_R)
        sampled_RL = turn.select(logits.draw(loo_NV, Stream.CORRECT_SAMPLE))
        noise_RL = turn.process.noise(turn.draw(Stream.CORRECT_NOISE), turn.s_R)
        kept_RL = turn.draw(Stream.CORRECT_KEEP) < turn.process.alpha(turn.s_R).unsqueeze(-1)
        return torch.where(chosen_RL, torch.where(kept_RL, sampled_RL, noise_RL), moved_RL)
