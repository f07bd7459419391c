"""Which tokens a step accepts, which go back to noise, and when a canvas is finished.

Every rule is a pure function of one step's statistics, batched over rows, with per-row settings as tensors
and no branch on a tensor's value. A rule chooses among the *candidates* of a row: the free positions that can
still be decided. Under noise with a uniform share those are all free positions, at every step, so nothing is
final before the commit; under mask noise they are the positions that still hold the mask, so accepted tokens
stay.

What a step does with the choice is in sampler.py; the noise itself is in diffusion/process.py.
"""

# R rows, L canvas, V vocab

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sfumato.diffusion.process import Process
from sfumato.sampling.reading import Statistics
from sfumato.sampling.settings import RANKING_SAMPLERS, RowSettings

StopHead = Callable[[Statistics, Tensor, Tensor], Tensor]
"""A learned stop rule: (statistics, free_RL, stable_R) -> prob_R, the probability that the draft, unchanged for so many
steps, is already what more steps would give. It must not let a position outside free_RL count. Source: Learn2PD, a
small MLP on the confidences."""


class Turn(NamedTuple):
    """What the accept rules know besides the statistics."""

    candidates_RL: Tensor
    """bool; free positions of the block in work that can still be decided."""
    count_R: Tensor
    """int64; free positions of the block in work."""
    step_R: Tensor
    """int64; index of this step within the block."""
    steps_R: Tensor
    """int64; steps that the block has."""
    order_RL: Tensor
    """float32 uniforms that order positions at random."""


def accept(settings: RowSettings, statistics: Statistics, turn: Turn) -> Tensor:
    """Apply to each row its own accept rule; no position of a row whose sampler has none (REVERSE_SAMPLERS).

    Args:
        settings: per-row settings.
        statistics: of this step.
        turn: candidates and where the row stands.

    Returns:
        accepted_RL: bool; at least one True in every row with a candidate and an accept rule, but under a truncated
            budget.
    """
    candidates_RL = turn.candidates_RL
    accepted_RL = torch.zeros_like(candidates_RL)
    if settings.has("entropy"):
        chosen_RL = accept_by_entropy(statistics.entropy_RL, candidates_RL, settings.entropy_bound_R)
        accepted_RL = accepted_RL | (chosen_RL & settings.uses("entropy").unsqueeze(-1))
    if settings.has("threshold", "edit"):
        share_R = even_share(turn.count_R, turn.step_R, turn.steps_R).clamp_min(1)
        # Filling before an edit has no number of steps to keep to.
        least_R = torch.where(settings.uses("edit"), 1, share_R)
        chosen_RL = accept_by_threshold(statistics.confidence_RL, candidates_RL, settings.threshold_R, least_R)
        accepted_RL = accepted_RL | (chosen_RL & settings.uses("threshold", "edit").unsqueeze(-1))
    if settings.has(*RANKING_SAMPLERS):
        scores = {
            "confidence": statistics.confidence_RL,
            "margin": statistics.margin_RL,
            "certainty": -statistics.entropy_RL,
            "random": turn.order_RL,
        }
        budget_R = torch.where(settings.truncated_R, truncated_budget(turn), even_budget(turn))
        for name, score_RL in scores.items():
            if settings.has(name):
                chosen_RL = pick_highest(score_RL, candidates_RL, budget_R)
                accepted_RL = accepted_RL | (chosen_RL & settings.uses(name).unsqueeze(-1))
    return accepted_RL


def accept_by_entropy(entropy_RL: Tensor, candidates_RL: Tensor, bound_R: Tensor) -> Tensor:
    """Accept each row's lowest-entropy candidates while (cumulative entropy - own) <= bound.

    The left side bounds the mutual information of the accepted tokens, given that they are drawn
    independently.

    Args:
        entropy_RL: float32 nats, >= 0.
        candidates_RL: bool.
        bound_R: nats, >= 0; infinity accepts all candidates.

    Returns:
        accepted_RL: bool; at least one True in every row with a candidate, for nothing precedes the first.

    Source: Ben-Hamu et al. 2025, arXiv 2505.24857, section 4; DiffusionGemma's sampler.
    """
    sorted_RL, order_RL = entropy_RL.masked_fill(~candidates_RL, torch.inf).sort(dim=-1, stable=True)
    spent_RL = sorted_RL.masked_fill(sorted_RL == torch.inf, 0.0).cumsum(-1) - sorted_RL
    within_RL = torch.zeros_like(candidates_RL).scatter(-1, order_RL, spent_RL <= bound_R.unsqueeze(-1))
    return within_RL & candidates_RL


def accept_by_threshold(confidence_RL: Tensor, candidates_RL: Tensor, threshold_R: Tensor, least_R: Tensor) -> Tensor:
    """Accept each row's candidates above a confidence, or its most confident ones where those are too few.

    Args:
        confidence_RL: probability of the token that would be accepted.
        candidates_RL: bool.
        threshold_R: 0 to 1; 1 leaves it to `least_R`.
        least_R: int64, how many to accept at least.

    Returns:
        accepted_RL: bool.

    Source: Fast-dLLM, Wu et al. 2025, arXiv 2505.22618, section 3, which accepts at least one; SDAR and LLaDA2 at least
        an even share of the block a step.
    """
    above_RL = candidates_RL & (confidence_RL > threshold_R.unsqueeze(-1))
    enough_R1 = (above_RL.sum(-1) >= least_R).unsqueeze(-1)
    return torch.where(enough_R1, above_RL, pick_highest(confidence_RL, candidates_RL, least_R))


def accept_edits(
    confidence_RL: Tensor, sampled_RL: Tensor, tokens_RL: Tensor, decided_RL: Tensor, threshold_R: Tensor
) -> Tensor:
    """Tokens that were filled in and that the model would now rather write otherwise, with enough confidence.

    Args:
        confidence_RL: probability of the sampled token.
        sampled_RL, tokens_RL: int64, what would be written and what stands there.
        decided_RL: bool; free positions without the mask.
        threshold_R: 0 to 1; 0 always follows the model.

    Returns:
        edited_RL: bool.

    Source: LLaDA2.1, token-to-token editing.
    """
    return decided_RL & (sampled_RL != tokens_RL) & (confidence_RL > threshold_R.unsqueeze(-1))


def even_share(count_R: Tensor, step_R: Tensor, steps_R: Tensor) -> Tensor:
    """How many of F positions step n of N decides: F // N, and one more in the first F mod N steps (LLaDA)."""
    return count_R // steps_R + (step_R < count_R % steps_R).long()


def even_budget(turn: Turn) -> Tensor:
    """How many candidates to accept so that the positions decided so far are an even share of each step up to now.

    Returns:
        budget_R: int64, >= 1. What is no longer a candidate counts as decided.
    """
    done_R = turn.step_R + 1
    target_R = turn.count_R // turn.steps_R * done_R + torch.minimum(done_R, turn.count_R % turn.steps_R)
    decided_R = turn.count_R - turn.candidates_RL.sum(-1)
    return (target_R - decided_R).clamp_min(1)


def truncated_budget(turn: Turn) -> Tensor:
    """How many of M candidates a reverse step from t to s decides: M (1 - s/t) rounded down, in the last step all.

    The noise levels run from 1 to 0.001 in equal steps, in float32 and from both ends, as torch.linspace does: the
    rounding decides what a count close to a whole number becomes.

    Returns:
        budget_R: int64, >= 0; 0 in the first step where there is a position a step.

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


def pick_highest(score_RL: Tensor, candidates_RL: Tensor, count_R: Tensor) -> Tensor:
    """Pick each row's count_R candidates with the highest score, fewer if it has fewer; the first of equals
    wins.

    With the margin as score this is top-probability margin: Kim et al. 2025, arXiv 2502.06768.
    """
    order_RL = score_RL.masked_fill(~candidates_RL, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    place_L = torch.arange(score_RL.shape[-1], device=score_RL.device)
    within_RL = place_L < count_R.unsqueeze(-1)
    return torch.zeros_like(candidates_RL).scatter(-1, order_RL, within_RL) & candidates_RL


def draw_ancestral(
    process: Process, xt_RL: Tensor, x0_RL: Tensor, s_R: Tensor, t_R: Tensor, u_RL: Tensor, noise_RL: Tensor
) -> Tensor:
    """Draw x_s from q(x_s | x_t, x_0) for a drawn x_0.

    With x_0 ~ p(x_0 | x_t) this samples the mixture of exact posteriors, the right one for a denoiser that
    has seen x_t (``Process.posterior`` explains the difference to plugging p in). The posterior of a known
    x_0 is a choice of three, x_0, x_t or noise, so that it takes three weights per position and no vector
    over the vocabulary.

    Args:
        process: noise process.
        xt_RL: int64 tokens at t.
        x0_RL: int64 drawn clean tokens.
        s_R: noise levels to step to.
        t_R: noise levels of xt_RL, > s_R.
        u_RL: uniforms that make the choice.
        noise_RL: int64 noise drawn at s.

    Returns:
        xs_RL: int64.

    Source: D3PM, arXiv 2107.03006, eq. 3 and 4.
    """
    s_R1, t_R1 = s_R.unsqueeze(-1), t_R.unsqueeze(-1)
    onward, at_s = process.transition(s_R1, t_R1), process.mixture(s_R1)
    # q(x_t | x_s = k) is the noise that lands on x_t, whatever k is, plus `keep` for k = x_t.
    landed_RL = process.noise_mass(onward, xt_RL)
    clean_RL = at_s.keep * (landed_RL + onward.keep * (xt_RL == x0_RL))
    fresh_RL = (1.0 - at_s.keep) * landed_RL
    stayed_RL = onward.keep * process.noise_mass(at_s, xt_RL)
    v_RL = u_RL * (clean_RL + fresh_RL + stayed_RL)
    moved_RL = torch.where(v_RL < clean_RL + fresh_RL, noise_RL, xt_RL)
    return torch.where(v_RL < clean_RL, x0_RL, moved_RL)


def draw_remasking(
    process: Process,
    xt_RL: Tensor,
    x0_RL: Tensor,
    s_R: Tensor,
    t_R: Tensor,
    settings: RowSettings,
    u_RL: Tensor,
) -> Tensor:
    """Draw x_s under mask noise when visible tokens go back to the mask with probability sigma.

    A mask then becomes x_0 with probability (alpha_s - (1 - sigma) alpha_t) / (1 - alpha_t), which leaves the
    marginals q(x_s | x_0) as they are for every sigma up to min(1, (1 - alpha_s) / alpha_t); sigma = 0 is the
    ancestral step. At s = 0 that limit is 0 and the canvas comes out free of masks.

    Args:
        process: mask noise.
        xt_RL: int64 tokens at t.
        x0_RL: int64 drawn clean tokens.
        s_R: noise levels to step to.
        t_R: noise levels of xt_RL, > s_R.
        settings: for the strength and schedule of remasking.
        u_RL: uniforms.

    Returns:
        xs_RL: int64.

    Source: ReMDM, Wang et al. 2025, arXiv 2503.00307, sections 3 and 4.1.
    """
    assert process.mask_id is not None, "SamplerConfig.check refuses remdm without a mask"
    alpha_s_R, alpha_t_R = process.schedule.alpha(s_R), process.schedule.alpha(t_R)
    limit_R = ((1.0 - alpha_s_R) / alpha_t_R.clamp_min(torch.finfo(alpha_t_R.dtype).tiny)).clamp_max(1.0)
    capped_R = torch.minimum(settings.remask_R, limit_R)
    sigma_R = torch.where(settings.rescale_R, settings.remask_R * limit_R, capped_R)
    unmask_R = (alpha_s_R - (1.0 - sigma_R) * alpha_t_R) / (1.0 - alpha_t_R)
    masked_RL = xt_RL == process.mask_id
    changes_RL = u_RL < torch.where(masked_RL, unmask_R.unsqueeze(-1), sigma_R.unsqueeze(-1))
    changed_RL = torch.where(masked_RL, x0_RL, process.mask_id)
    return torch.where(changes_RL, changed_RL, xt_RL)


def token_margin(logits: Tensor, tokens: Tensor) -> Tensor:
    """Log-probability of each token less that of the best other one; negative where another is more probable.

    The vocabulary is the last dimension of the logits; the others are those of tokens.

    Source: Zhao et al. 2024, arXiv 2407.21243, the confidence of informed correctors.
    """
    index = tokens.unsqueeze(-1)
    best_other = logits.scatter(-1, index, -torch.inf).amax(-1)
    return logits.gather(-1, index).squeeze(-1) - best_other


def stop(
    settings: RowSettings, stable_R: Tensor, statistics: Statistics, free_RL: Tensor, head: StopHead | None
) -> Tensor:
    """Tell which rows need no further step: the draft is stable and confident, or a learned head says so.

    Args:
        settings: per-row settings; rows that are not adaptive never stop here.
        stable_R: int64; steps in a row that left the draft unchanged.
        statistics: of this step.
        free_RL: bool; the positions that count.
        head: a learned stop rule, or None.

    Returns:
        stop_R: bool.

    Source: DiffusionGemma's stable-and-confident rule; Learn2PD for the head.
    """
    entropy_R = (statistics.entropy_RL * free_RL).sum(-1) / free_RL.sum(-1).clamp_min(1)
    stop_R = (stable_R >= settings.stable_steps_R) & (entropy_R < settings.stop_entropy_R)
    if head is not None:
        stop_R = stop_R | (head(statistics, free_RL, stable_R) > settings.stop_probability_R)
    return stop_R & settings.adaptive_R
