from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from enumeration import marginal, posterior
from settings import sampler_config
from sfumato.diffusion.process import MaskProcess, Process
from sfumato.kernels.base import Statistics
from sfumato.sampling.config import RowSettings
from sfumato.sampling.samplers.base import Entropy, StepLogits, Turn, even_share, pick_highest, uniform
from sfumato.sampling.samplers.ranking import even_budget, truncated_budget
from sfumato.sampling.samplers.reverse import Ancestral, ReMDM
from sfumato.sampling.samplers.threshold import Edit, Threshold
from sfumato.sampling.step import stop

# R rows, L canvas

# Multiples of 1/64 add up exactly in float32, so that the references may compare without tolerance.
nats = st.integers(0, 256).map(lambda n: n / 64)
rows = st.lists(st.lists(st.tuples(nats, st.booleans()), min_size=5, max_size=5), min_size=1, max_size=4).map(
    lambda rows: ([[x for x, _ in row] for row in rows], [[c for _, c in row] for row in rows])
)


def uniforms(num: int, stream: int) -> Tensor:
    zero = torch.zeros(1, dtype=torch.int64)
    return uniform(zero, zero, zero, torch.arange(num), stream)


def accepted_by_entropy(entropy: list[float], candidates: list[bool], bound: float) -> list[bool]:
    accepted = [False] * len(entropy)
    spent = 0.0
    for position in sorted(range(len(entropy)), key=lambda position: entropy[position]):
        if candidates[position]:
            accepted[position] = spent <= bound
            spent += entropy[position]
    return accepted


@settings(deadline=None)
@given(rows=rows, bound=nats)
def test_entropy_rule_equals_its_reference_loop(rows: tuple[list[list[float]], list[list[bool]]], bound: float) -> None:
    entropy, candidates = rows
    accepted_RL = by_entropy(torch.tensor(entropy), torch.tensor(candidates), bound)
    expected = [accepted_by_entropy(e, c, bound) for e, c in zip(entropy, candidates, strict=True)]
    assert accepted_RL.tolist() == expected


def test_entropy_rule_at_extreme_bounds() -> None:
    entropy_RL = torch.tensor([[0.375, 0.125, 0.25, 0.0], [0.5, 0.5, 0.5, 0.5]])
    candidates_RL = torch.tensor([[True, True, True, False], [True, True, True, True]])
    everything_RL = by_entropy(entropy_RL, candidates_RL, math.inf)
    assert torch.equal(everything_RL, candidates_RL)
    one_RL = by_entropy(entropy_RL, candidates_RL, 0.0)
    assert one_RL.tolist() == [[False, True, False, False], [True, False, False, False]]
    # Row 0: 0.125 precedes 0.25, and both precede 0.375; a bound of 0.125 therefore takes two.
    two_RL = by_entropy(entropy_RL, candidates_RL, 0.125)
    assert two_RL.tolist() == [[False, True, True, False], [True, False, False, False]]


def turn(candidates_RL: Tensor, step: int = 0, steps: int = 1, **changes: Any) -> Turn:
    """All positions are free; the same step in every row."""
    num_rows, length = candidates_RL.shape
    zeros_RL = torch.zeros(num_rows, length)
    fields: dict[str, Any] = {
        "process": MaskProcess(7, 2),
        "statistics": Statistics(zeros_RL.long(), zeros_RL.long(), zeros_RL, zeros_RL, zeros_RL),
        "tokens_RL": zeros_RL.long(),
        "free_RL": torch.ones_like(candidates_RL),
        "candidates_RL": candidates_RL,
        "count_R": torch.full((num_rows,), length),
        "step_R": torch.full((num_rows,), step),
        "steps_R": torch.full((num_rows,), steps),
        "t_R": torch.ones(num_rows),
        "s_R": torch.zeros(num_rows),
        "uniforms": lambda stream: zeros_RL,
        "logits": StepLogits(
            logits_NV=zeros_RL, index_N=zeros_RL.long(), tokens_RL=zeros_RL.long(), draw=lambda logits, stream: logits
        ),
    }
    return Turn(**{**fields, **changes})


def by_entropy(entropy_RL: Tensor, candidates_RL: Tensor, bound: float) -> Tensor:
    statistics = turn(candidates_RL).statistics._replace(entropy_RL=entropy_RL)
    return Entropy(entropy_bound=bound).accept(turn(candidates_RL, statistics=statistics))


def by_threshold(confidence_RL: Tensor, candidates_RL: Tensor, threshold: float, **changes: Any) -> Tensor:
    statistics = turn(candidates_RL).statistics._replace(confidence_RL=confidence_RL)
    return Threshold(threshold=threshold).accept(turn(candidates_RL, statistics=statistics, **changes))


@settings(deadline=None)
@given(rows=rows, bound=nats, step=st.integers(0, 3))
def test_every_rule_accepts_candidates_only_and_at_least_one(
    rows: tuple[list[list[float]], list[list[bool]]], bound: float, step: int
) -> None:
    score_RL, candidates_RL = torch.tensor(rows[0]), torch.tensor(rows[1])
    for accepted_RL in (
        by_entropy(score_RL, candidates_RL, bound),
        by_threshold(score_RL / 4, candidates_RL, bound / 4),
        pick_highest(score_RL, candidates_RL, even_budget(turn(candidates_RL, step, 4))),
    ):
        assert not (accepted_RL & ~candidates_RL).any()
        assert torch.equal(accepted_RL.any(-1), candidates_RL.any(-1))


def test_threshold_rule_accepts_above_the_threshold_or_the_best() -> None:
    confidence_RL = torch.tensor([[0.95, 0.9, 0.91, 0.99], [0.2, 0.4, 0.3, 0.4], [0.2, 0.95, 0.3, 0.4]])
    candidates_RL = torch.tensor([[True, True, True, False], [True, True, True, True], [True, True, True, True]])
    min_count_R = torch.tensor([1, 1, 2])
    accepted_RL = by_threshold(confidence_RL, candidates_RL, 0.9, count_R=min_count_R)
    assert accepted_RL.tolist() == [[True, False, True, False], [False, True, False, False], [False, True, False, True]]


@pytest.mark.parametrize(("count", "steps"), [(10, 4), (4, 10), (7, 7), (32, 5)])
def test_even_budget_gives_the_remainder_to_the_first_steps(count: int, steps: int) -> None:
    shares = [count // steps + (n < count % steps) for n in range(steps)]
    everything_RL = torch.ones(1, count, dtype=torch.bool)
    assert [even_share(turn(everything_RL, n, steps)).item() for n in range(steps)] == shares
    assert sum(shares) == count
    # Uniform noise: all are candidates at every step, so what is accepted grows to everything.
    counts = [even_budget(turn(everything_RL, n, steps)).item() for n in range(steps)]
    assert counts == [sum(shares[: n + 1]) for n in range(steps)]
    # Mask noise: decided positions are no longer candidates, so each step accepts its own share.
    decided = 0
    for n in range(min(steps, count)):
        masked_RL = torch.arange(count)[None] >= decided
        budget = even_budget(turn(masked_RL, n, steps)).item()
        assert budget == shares[n]
        decided += int(budget)
    assert decided == count


def test_truncated_budget_equals_that_of_dream() -> None:
    """Dream's loop: int(masks * (1 - s / t)) between levels of torch.linspace, and all in the last step."""
    for steps in (1, 2, 7, 64, 256, 511):
        levels = torch.linspace(1, 1e-3, steps + 1)
        num_masked = 256
        for n in range(steps):
            expected = int(num_masked * (1 - levels[n + 1] / levels[n])) if n < steps - 1 else num_masked
            masked_RL = torch.arange(256)[None] >= 256 - num_masked
            assert truncated_budget(turn(masked_RL, n, steps)).item() == expected, (steps, n)
            num_masked -= expected


def test_edits_replace_tokens_by_more_probable_ones() -> None:
    decided_RL = torch.tensor([[True, True, True, False]])
    tokens_RL, sampled_RL = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 1, 1, 1]])
    confidence_RL = torch.tensor([[0.9, 0.6, 0.5, 0.9]])
    for threshold, expected in ((0.5, [False, True, False, False]), (0.0, [False, True, True, False])):
        statistics = Statistics(sampled_RL, sampled_RL, confidence_RL, confidence_RL, confidence_RL)
        no_masks_RL = torch.zeros_like(decided_RL)
        now = turn(no_masks_RL, statistics=statistics, tokens_RL=tokens_RL, free_RL=decided_RL)
        found = Edit(edit_threshold=threshold).decide(now)
        assert (found.next_RL != tokens_RL).tolist() == [expected]


def test_pick_highest_takes_the_first_of_equals_and_only_candidates() -> None:
    score_RL = torch.tensor([[0.5, 0.7, 0.7, 0.7]])
    candidates_RL = torch.tensor([[True, False, True, True]])
    assert pick_highest(score_RL, candidates_RL, torch.tensor([1])).tolist() == [[False, False, True, False]]
    assert torch.equal(pick_highest(score_RL, candidates_RL, torch.tensor([9])), candidates_RL)
    assert not pick_highest(score_RL, candidates_RL, torch.tensor([0])).any()


@pytest.mark.parametrize(("s", "t"), [(0.0, 0.3), (0.25, 0.75), (0.6, 1.0), (0.0, 1.0)])
def test_ancestral_draw_follows_the_posterior(process: Process, s: float, t: float) -> None:
    num_draws = 20_000
    s_R, t_R = torch.tensor([s]), torch.tensor([t])
    reachable_K = marginal(process, torch.eye(process.vocab_size), t_R)
    for x0 in (0, 3):
        for xt in range(process.vocab_size):
            if reachable_K[x0, xt] == 0:
                continue
            xt_RL, x0_RL = torch.full((1, num_draws), xt), torch.full((1, num_draws), x0)
            xs_RL = moved(Ancestral(), process, xt_RL, x0_RL, s, t)
            one_hot = torch.eye(process.vocab_size)[x0]
            expected_K = posterior(process, torch.tensor([xt]), one_hot[None], s_R, t_R)[0]
            frequency_K = torch.bincount(xs_RL[0], minlength=process.vocab_size) / num_draws
            deviation_K = (expected_K * (1 - expected_K) / num_draws).sqrt()
            assert ((frequency_K - expected_K).abs() <= 4.5 * deviation_K + 1e-6).all(), (x0, xt)


def moved(sampler: Ancestral, process: Process, xt_RL: Tensor, x0_RL: Tensor, s: float, t: float) -> Tensor:
    """x_s of every position, given the drawn x_0."""
    drawn = Statistics(x0_RL, x0_RL, torch.ones_like(x0_RL), torch.zeros_like(x0_RL), torch.ones_like(x0_RL))
    current = turn(
        torch.ones_like(xt_RL, dtype=torch.bool),
        process=process,
        statistics=drawn,
        tokens_RL=xt_RL,
        t_R=torch.tensor([t]),
        s_R=torch.tensor([s]),
        uniforms=lambda stream: uniforms(xt_RL.shape[1], stream),
    )
    return sampler.transition(current)


@pytest.mark.parametrize(("schedule", "eta"), [("cap", 0.2), ("cap", 1.0), ("rescale", 0.5), ("cap", 0.0)])
def test_remasking_preserves_the_marginals(schedule: str, eta: float) -> None:
    num_draws, s, t = 40_000, 0.4, 0.5
    process = MaskProcess(7, 2)
    sampler = ReMDM(remask=eta, remask_schedule=schedule)  # type: ignore[arg-type]
    x0_RL = torch.full((1, num_draws), 5)
    xt_RL = torch.where(uniforms(num_draws, 0) < 1 - t, x0_RL, 2)
    xs_RL = moved(sampler, process, xt_RL, x0_RL, s, t)
    assert set(xs_RL.unique().tolist()) == {2, 5}
    share = (xs_RL == 2).float().mean().item()
    assert abs(share - s) < 4.5 * math.sqrt(s * (1 - s) / num_draws)
    # (1 - alpha_s) / alpha_t = 0.4 / 0.5 bounds the probability of going back to the mask.
    sigma = min(eta, 0.8) if schedule == "cap" else eta * 0.8
    visible_RL = xt_RL == 5
    share = (xs_RL[visible_RL] == 2).float().mean().item()
    assert abs(share - sigma) <= 4.5 * math.sqrt(sigma * (1 - sigma) / visible_RL.sum().item())


def test_no_mask_remains_after_the_last_remasking() -> None:
    xt_RL = torch.where(uniforms(1000, 0) < 0.5, 4, 2)
    xs_RL = moved(ReMDM(remask=1.0), MaskProcess(7, 2), xt_RL, torch.full_like(xt_RL, 4), 0.0, 0.5)
    assert (xs_RL == 4).all()


def statistics(entropy_RL: Tensor) -> Statistics:
    token_RL, one_RL = torch.zeros_like(entropy_RL, dtype=torch.int64), torch.ones_like(entropy_RL)
    return Statistics(token_RL, token_RL, one_RL, entropy_RL, one_RL)


def test_stop_rule_requires_stable_and_confident_free_positions() -> None:
    calm = sampler_config(stable_steps=2, stop_entropy=0.1)
    configs = [calm, calm, calm, sampler_config(stable_steps=0, stop_entropy=0.1), sampler_config(adaptive=False)]
    stable_R = torch.tensor([2, 1, 5, 0, 9])
    # Mean over the two free positions: 0.09, 0.09, 0.11, 0.09, 0; the third position is not free.
    entropy_RL = torch.tensor([[0.18, 0.0, 9.0]] * 2 + [[0.22, 0.0, 0.0], [0.18, 0.0, 9.0], [0.0, 0.0, 0.0]])
    free_RL = torch.tensor([True, True, False]).expand(5, 3)
    stop_R = stop(RowSettings.from_configs(configs), stable_R, statistics(entropy_RL), free_RL, None)
    assert stop_R.tolist() == [True, False, False, True, False]


def test_stop_head_stops_only_adaptive_rows() -> None:
    configs = [
        sampler_config(stop_probability=0.6),
        sampler_config(stop_probability=0.6),
        sampler_config(adaptive=False),
    ]
    entropy_RL = torch.ones(3, 2)
    free_RL = torch.ones(3, 2, dtype=torch.bool)

    def head(given: Statistics, free: Tensor, stable: Tensor) -> Tensor:
        assert given.entropy_RL is entropy_RL
        assert free is free_RL
        return torch.tensor([0.61, 0.59, 0.99])

    stop_R = stop(RowSettings.from_configs(configs), torch.zeros(3), statistics(entropy_RL), free_RL, head)
    assert stop_R.tolist() == [True, False, False]
