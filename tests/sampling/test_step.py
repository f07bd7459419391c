from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from denoising import denoise, noise_canvases
from settings import SAMPLERS, sampler_config
from sfumato.diffusion.process import Process, make_process
from sfumato.errors import RequestError
from sfumato.kernels.base import Statistics
from sfumato.sampling.canvas import CanvasBatch, StepResult
from sfumato.sampling.samplers.base import find_sampler
from sfumato.sampling.step import step

# R rows, L canvas, V vocab, D model


def is_supported(name: str, process: Process) -> bool:
    try:
        sampler_config(name=name).check(process)  # type: ignore[arg-type]
    except RequestError:
        return False
    return True


def supported_samplers(process: Process) -> list[Any]:
    return [name for name in SAMPLERS if is_supported(name, process)]


@st.composite
def canvases(draw: st.DrawFn) -> dict[str, Any]:
    """Rows of tokens and frozen positions, with settings that make every branch likely."""
    num_rows = draw(st.integers(1, 3))
    lengths = [draw(st.integers(1, 6)) for _ in range(num_rows)]
    return {
        "tokens": [draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)) for n in lengths],
        "frozen": [draw(st.lists(st.booleans(), min_size=n, max_size=n)) for n in lengths],
        "seeds": [draw(st.integers(0, 2**63 - 1)) for _ in range(num_rows)],
        "noise_level": draw(st.sampled_from([1.0, 0.6, 0.1])),
        "steps": draw(st.integers(1, 5)),
        "temperature_start": draw(st.sampled_from([0.0, 0.7, 3.0])),
        "entropy_bound": draw(st.sampled_from([0.0, 1.0, math.inf])),
        "threshold": draw(st.sampled_from([0.0, 0.4, 1.0])),
        "greedy_tail": draw(st.integers(0, 2)),
        "remask": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "corrector_k": draw(st.integers(0, 4)),
        "top_p": draw(st.sampled_from([0.3, 1.0])),
        "adaptive": draw(st.booleans()),
        "stable_steps": draw(st.integers(0, 1)),
        "stop_entropy": draw(st.sampled_from([0.0, 2.0])),
    }


def build(process: Process, names: list[Any], drawn: dict[str, Any]) -> CanvasBatch:
    rows = {key: drawn[key] for key in ("tokens", "frozen", "seeds", "noise_level")}
    fields = {key: value for key, value in drawn.items() if key not in rows}
    configs = [sampler_config(name=names[row % len(names)], **fields) for row in range(len(rows["tokens"]))]
    return CanvasBatch.from_tokens(process, config=configs, **rows)


@settings(deadline=None, max_examples=60)
@given(drawn=canvases(), first=st.integers(0, 5), vocabulary_noise=st.integers(0, 2**31))
def test_frozen_and_padding_never_change_and_commits_hold_no_mask(
    process: Process, drawn: dict[str, Any], first: int, vocabulary_noise: int
) -> None:
    names = supported_samplers(process)
    batch = build(process, names[first % len(names) :] + names[: first % len(names)], drawn)
    generator = torch.Generator().manual_seed(vocabulary_noise)

    class Random:
        def __call__(
            self, tokens_RL: Tensor, soft: Tensor | None, valid_RL: Tensor, index_N: Tensor, *rest: Any
        ) -> Tensor:
            return 4 * torch.randn(len(index_N), process.vocab_size, generator=generator)

        def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
            return probs_RLV[..., :2]

        def embedding(self, tokens_RL: Tensor) -> Tensor:
            return torch.eye(process.vocab_size)[tokens_RL][..., :2]

    before, rows_before = batch, list(range(len(batch)))

    def check(result: StepResult, rows: list[int]) -> None:
        nonlocal before, rows_before
        after = result.batch
        previous = before.select([rows_before.index(row) for row in rows])
        for old, new in ((previous.tokens_RL, after.tokens_RL), (previous.draft_RL, after.draft_RL)):
            assert torch.equal(old[~previous.free_RL], new[~previous.free_RL])
        assert not (after.accepted_RL & ~previous.free_RL).any()
        assert not (result.revised_RL & ~previous.free_RL).any()
        assert torch.equal(result.revised_RL & ~previous.ever_accepted_RL, torch.zeros_like(result.revised_RL))
        if not process.has_uniform:
            keeps = [
                name not in ("remdm", "edit") for name in (config.sampler.name for config in after.settings.configs)
            ]
            visible_RL = previous.free_RL & (previous.tokens_RL != process.mask_id) & torch.tensor(keeps)[:, None]
            assert torch.equal(previous.tokens_RL[visible_RL], after.tokens_RL[visible_RL])
        before, rows_before = after, rows

    finished = denoise(batch, Random(), process, self_conditioning=True, on_step=check).batch
    assert finished.done_R.all()
    assert not finished.failed_R.any()
    assert torch.equal(finished.tokens_RL, finished.draft_RL)
    assert torch.equal(finished.tokens_RL[~batch.free_RL], batch.tokens_RL[~batch.free_RL])
    assert (finished.tokens_RL[batch.free_RL] < process.vocab_size).all()
    if process.mask_id is not None:
        assert not (finished.tokens_RL[batch.free_RL] == process.mask_id).any()
    assert (finished.step_R <= batch.steps_R).all()


@pytest.mark.parametrize("self_conditioning", [False, True])
def test_row_does_not_depend_on_its_batch(
    process: Process, hashing: Callable[..., Any], self_conditioning: bool
) -> None:
    names = supported_samplers(process)
    configs = [
        sampler_config(
            name=names[row % len(names)],
            steps=3 + row % 4,
            temperature_start=1.0 + 0.2 * (row % 3),
            top_p=0.8 if row == 5 else 1.0,
            greedy_tail=row % 2,
            entropy_bound=1.5,
            threshold=0.5,
            remask=0.4,
            stop_entropy=1.0,
        )
        for row in range(9)
    ]
    lengths = [4, 7, 1, 9, 5, 6, 2, 8, 3]
    tokens = [[(3 * row + position) % 6 for position in range(length)] for row, length in enumerate(lengths)]
    frozen = [[position % 5 == 4 for position in range(length)] for length in lengths]
    banned_RV = torch.zeros(9, process.vocab_size, dtype=torch.bool)
    banned_RV[torch.arange(9), torch.tensor([0, 1, 3, 4, 5, 0, 1, 3, 4])] = True
    options: dict[str, Any] = {"self_conditioning": self_conditioning, "trace": True}

    def start(rows: list[int]) -> CanvasBatch:
        return CanvasBatch.from_tokens(
            process,
            [tokens[row] for row in rows],
            frozen=[frozen[row] for row in rows],
            seeds=[100 + row for row in rows],
            config=[configs[row] for row in rows],
            noise_level=[0.5 + 0.05 * row for row in rows],
            canvas=rows,
        )

    denoiser = hashing(process.vocab_size)
    together = denoise(start(list(range(9))), denoiser, process, banned=banned_RV, **options)
    assert len(set(together.batch.step_R.tolist())) > 2, "the rows are meant to finish at different steps"
    for row, length in enumerate(lengths):
        alone = denoise(start([row]), denoiser, process, banned=banned_RV[[row]], **options)
        assert torch.equal(alone.batch.tokens_RL[0], together.batch.tokens_RL[row, :length])
        assert alone.batch.step_R[0] == together.batch.step_R[row]
        assert alone.batch.revisions_R[0] == together.batch.revisions_R[row]
        for one, other in zip(alone.trace[0], together.trace[row], strict=True):
            for field in dataclasses.fields(one):
                left, right = getattr(one, field.name), getattr(other, field.name)
                assert torch.equal(left, right) if isinstance(left, Tensor) else left == right, field.name


def test_rows_at_different_steps_share_a_batch(uniform_process: Process, hashing: Callable[..., Any]) -> None:
    denoiser = hashing(6)
    config = sampler_config(steps=6, entropy_bound=1.0, adaptive=False)
    first = noise_canvases(uniform_process, [5], seeds=[1], config=config)
    second = noise_canvases(uniform_process, [3], seeds=[2], config=config)
    apart = [denoise(batch, denoiser, uniform_process, self_conditioning=True).batch for batch in (first, second)]
    for _ in range(2):
        first = step(first, denoiser, uniform_process, self_conditioning=True).batch
    joined = CanvasBatch.concatenate([first, second])
    while not joined.done_R.all():
        joined = step(joined, denoiser, uniform_process, self_conditioning=True).batch
    assert torch.equal(joined.tokens_RL[0], apart[0].tokens_RL[0])
    assert torch.equal(joined.tokens_RL[1, :3], apart[1].tokens_RL[0])
    assert joined.step_R.tolist() == [6, 6]


def test_step_leaves_done_rows_unchanged(process: Process, hashing: Callable[..., Any]) -> None:
    denoiser = hashing(process.vocab_size)
    batch = noise_canvases(process, [4, 4], seeds=[1, 2], config=sampler_config(steps=2))
    batch = dataclasses.replace(batch, done_R=torch.tensor([True, False]))
    result = step(batch, denoiser, process, self_conditioning=True)
    for name in ("tokens_RL", "draft_RL", "step_R", "stable_R", "revisions_R", "accepted_RL"):
        assert torch.equal(getattr(result.batch, name)[0], getattr(batch, name)[0]), name
    assert result.batch.soft_RLD is not None
    assert not result.batch.soft_RLD[0].any()
    assert result.batch.soft_RLD[1].any()
    assert result.batch.step_R.tolist() == [0, 1]


def test_mask_noise_keeps_accepted_tokens_and_uniform_noise_renoises(
    mask_process: Process, uniform_process: Process, hashing: Callable[..., Any]
) -> None:
    # A budget of zero accepts one position a step: six steps for six positions under mask noise.
    config = sampler_config(entropy_bound=0.0, steps=6, adaptive=False)
    for process in (mask_process, uniform_process):
        batch = noise_canvases(process, [6], seeds=[3], config=config)
        trace = denoise(batch, hashing(process.vocab_size), process, trace=[0]).trace[0]
        accepted = torch.stack([record.accepted_L for record in trace])
        assert accepted.sum(1).tolist() == [1] * 6
        if process is mask_process:
            assert torch.equal(accepted.sum(0), torch.ones(6, dtype=torch.int64))
        else:
            # What was not accepted is noise again: all but one position of the next canvas are drawn anew.
            for record, following in itertools.pairwise(trace):
                kept_L = record.accepted_L
                assert torch.equal(following.tokens_L[kept_L], record.sampled_L[kept_L])
            renoised = torch.stack([r.tokens_L[~q.accepted_L] for q, r in itertools.pairwise(trace)])
            assert len(renoised.unique()) > 3


def test_mask_canvas_ends_when_unmasked_unless_steps_are_forced(
    mask_process: Process, hashing: Callable[..., Any]
) -> None:
    for adaptive, steps in ((True, 1), (False, 9)):
        config = sampler_config(entropy_bound=math.inf, steps=9, adaptive=adaptive)
        batch = noise_canvases(mask_process, [5], seeds=[0], config=config)
        assert denoise(batch, hashing(7), mask_process).batch.step_R.tolist() == [steps]


def test_margin_follows_its_budget(
    uniform_process: Process, mask_process: Process, hashing: Callable[..., Any]
) -> None:
    config = sampler_config(name="margin", steps=4, adaptive=False)
    counts = {}
    for name, process in (("uniform", uniform_process), ("mask", mask_process)):
        batch = noise_canvases(process, [10], seeds=[4], config=config)
        trace = denoise(batch, hashing(process.vocab_size), process, trace=True).trace[0]
        counts[name] = [int(record.accepted_L.sum()) for record in trace]
    assert counts == {"uniform": [3, 6, 8, 10], "mask": [3, 3, 2, 2]}


def test_argmax_is_committed_even_where_another_token_was_sampled(
    uniform_process: Process, fixed: Callable[..., Any]
) -> None:
    logits_V = torch.tensor([0.0, 0.0, 0.5, 0.0, 0.0, 0.0])
    config = sampler_config(entropy_bound=math.inf, steps=2, adaptive=False)
    batch = noise_canvases(uniform_process, [40], seeds=[1], config=config)
    result = denoise(batch, fixed(logits_V), uniform_process, trace=True)
    assert (result.batch.tokens_RL == 2).all()
    assert (result.trace[0][-1].sampled_L != 2).any()


def test_canvas_of_one_position_commits_its_sample_in_one_step(process: Process, fixed: Callable[..., Any]) -> None:
    logits_V = torch.zeros(process.vocab_size)
    names = supported_samplers(process)
    for temperature, distinct in ((1.0, 6), (0.0, 1)):
        configs = [
            sampler_config(name=names[row % len(names)], steps=20, temperature_start=temperature) for row in range(100)
        ]
        batch = noise_canvases(process, [1] * 100, seeds=range(100), config=configs)
        finished = denoise(batch, fixed(logits_V), process).batch
        assert (finished.step_R == 1).all()
        assert finished.accepted_RL.all()
        assert len(finished.tokens_RL.unique()) == distinct


def test_revisions_are_changes_of_the_draft_after_acceptance(
    uniform_process: Process, scripted: Callable[..., Any]
) -> None:
    script = [[1, 1, 1], [2, 1, 1], [1, 1, 1], [1, 3, 1], [1, 3, 1]]
    # Position 2 is frozen at 5; the script would have changed it. With an infinite budget all the rest is accepted.
    config = sampler_config(entropy_bound=math.inf, steps=5, adaptive=False)
    batch = CanvasBatch.from_tokens(
        uniform_process, [[0, 0, 5]], frozen=[[False, False, True]], seeds=[0], config=config
    )
    result = denoise(batch, scripted(6, script), uniform_process, trace=True)
    revised = [record.revised_L.tolist() for record in result.trace[0]]
    none = [False, False, False]
    assert revised == [none, [True, False, False], [True, False, False], [False, True, False], none]
    assert result.batch.revisions_R.tolist() == [3]
    assert result.batch.tokens_RL.tolist() == [[1, 3, 5]]


def test_draft_changes_before_acceptance_are_not_revisions(
    uniform_process: Process, scripted: Callable[..., Any]
) -> None:
    # A threshold of 1 accepts only the best position, which is position 0, the first of equals.
    config = sampler_config(name="threshold", threshold=1.0, steps=3, adaptive=False)
    batch = noise_canvases(uniform_process, [3], seeds=[0], config=config)
    result = denoise(batch, scripted(6, [[1, 1, 1], [1, 2, 2], [1, 3, 3]], 3.0), uniform_process, trace=True)
    accepted = torch.stack([record.accepted_L for record in result.trace[0]]).any(0)
    changed = torch.tensor([0, 2, 2])
    assert result.batch.revisions_R[0] <= (changed * accepted).sum()
    assert not accepted.all()


@pytest.mark.parametrize(
    ("stable_steps", "steps_taken"),
    # The draft changes at steps 0 to 2 and then stays: unchanged for one step at step 3, for three at step 5.
    [(0, 1), (1, 4), (3, 6), (9, 8)],
)
def test_stable_and_confident_canvas_stops(
    uniform_process: Process, scripted: Callable[..., Any], stable_steps: int, steps_taken: int
) -> None:
    script = [[0, 0], [0, 1], [2, 1], [2, 1]]
    config = sampler_config(steps=8, stable_steps=stable_steps)
    batch = noise_canvases(uniform_process, [2], seeds=[0], config=config)
    finished = denoise(batch, scripted(6, script), uniform_process).batch
    assert finished.step_R.tolist() == [steps_taken]
    assert finished.tokens_RL.tolist() == [script[min(steps_taken, 4) - 1]]


def test_first_draft_does_not_count_as_stable(uniform_process: Process, scripted: Callable[..., Any]) -> None:
    # The denoiser agrees with the text it is given: one step to read it, one more to see it unchanged.
    config = sampler_config(steps=8, stable_steps=1)
    frozen = [[True, False, False]]
    batch = CanvasBatch.from_tokens(
        uniform_process, [[1, 2, 3]], frozen=frozen, seeds=[0], config=config, noise_level=1e-6
    )
    assert batch.tokens_RL.tolist() == [[1, 2, 3]]
    assert denoise(batch, scripted(6, [[1, 2, 3]]), uniform_process).batch.step_R.tolist() == [2]


@pytest.mark.parametrize(("adaptive", "certainty"), [(False, 20.0), (True, 1.0)])
def test_uncertain_and_forced_canvases_do_not_stop(
    uniform_process: Process, scripted: Callable[..., Any], adaptive: bool, certainty: float
) -> None:
    config = sampler_config(steps=5, adaptive=adaptive)
    batch = noise_canvases(uniform_process, [3], seeds=[0], config=config)
    finished = denoise(batch, scripted(6, [[1, 2, 3]], certainty), uniform_process).batch
    assert finished.step_R.tolist() == [5]


@pytest.mark.parametrize(
    ("settings", "certainty", "unsettled"),
    [
        ({}, 1.0, True),
        ({}, 20.0, False),
        # The rule is met in the very last step.
        ({"steps": 2}, 20.0, False),
        ({"steps": 1}, 20.0, True),
        ({"name": "threshold"}, 1.0, True),
        # These always take all of their steps, and are settled by definition.
        ({"adaptive": False}, 1.0, False),
        ({"name": "margin"}, 1.0, False),
        ({"name": "ancestral"}, 1.0, False),
    ],
)
def test_canvas_that_reaches_the_step_limit_first_is_unsettled(
    uniform_process: Process, scripted: Callable[..., Any], settings: dict[str, Any], certainty: float, unsettled: bool
) -> None:
    config = sampler_config(**{"steps": 5} | settings)
    batch = noise_canvases(uniform_process, [3, 1], seeds=[0, 1], config=config)
    finished = denoise(batch, scripted(6, [[1, 2, 3]], certainty), uniform_process).batch
    # A single position is always settled.
    assert finished.unsettled_R.tolist() == [unsettled, False]


@pytest.mark.parametrize(
    ("name", "steps", "unsettled"), [("entropy", 3, True), ("entropy", 9, False), ("margin", 3, False)]
)
def test_mask_canvas_is_settled_when_no_mask_is_left(
    mask_process: Process, scripted: Callable[..., Any], name: Any, steps: int, unsettled: bool
) -> None:
    config = sampler_config(name=name, steps=steps, entropy_bound=0.0, stop_entropy=0.0)
    batch = noise_canvases(mask_process, [5], seeds=[0], config=config)
    finished = denoise(batch, scripted(7, [[1, 3, 1, 3, 1]], 1.0), mask_process).batch
    assert finished.unsettled_R.tolist() == [unsettled]


def test_stop_head_ends_the_rows_it_is_certain_of(uniform_process: Process, hashing: Callable[..., Any]) -> None:
    config = sampler_config(steps=5, stop_entropy=0.0)
    batch = noise_canvases(uniform_process, [3, 4], seeds=[0, 1], config=config)
    calls = 0

    def head(statistics: Statistics, free_RL: Tensor, stable_R: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        assert statistics.entropy_RL.shape == free_RL.shape
        return torch.tensor([0.9 if calls == 3 else 0.1, 0.2])[: len(free_RL)] if calls <= 3 else torch.tensor([0.2])

    assert denoise(batch, hashing(6), uniform_process, stop_head=head).batch.step_R.tolist() == [3, 5]


def test_greedy_tail_takes_the_argmax(process: Process, hashing: Callable[..., Any]) -> None:
    config = sampler_config(name="ancestral", steps=6, greedy_tail=2, adaptive=False, temperature_start=3.0)
    batch = noise_canvases(process, [12], seeds=[5], config=config)
    drawn = []

    def watch(result: StepResult, rows: list[int]) -> None:
        drawn.append(torch.equal(result.statistics.sampled_RL, result.statistics.argmax_RL))

    denoise(batch, hashing(process.vocab_size, 1.0), process, on_step=watch)
    assert drawn[0] is False
    assert drawn[-2:] == [True, True]


def test_remdm_without_remasking_equals_ancestral(mask_process: Process, hashing: Callable[..., Any]) -> None:
    finished = [
        denoise(noise_canvases(mask_process, [30] * 8, seeds=range(8), config=config), hashing(7), mask_process).batch
        for config in (
            sampler_config(name="remdm", remask=0.0, steps=10, adaptive=False),
            sampler_config(name="ancestral", steps=10, adaptive=False),
            sampler_config(name="remdm", remask=0.5, steps=10, adaptive=False),
        )
    ]
    assert torch.equal(finished[0].tokens_RL, finished[1].tokens_RL)
    assert not finished[1].revisions_R.any()
    assert finished[2].revisions_R.all(), "remasking is how mask noise revises"


def test_remdm_canvas_does_not_end_when_unmasked(mask_process: Process, hashing: Callable[..., Any]) -> None:
    # One free token of two, never confident enough to stop: the ancestral sampler ends as soon as it is visible.
    taken = {}
    for name in ("ancestral", "remdm"):
        config = sampler_config(name=name, steps=30, stop_entropy=0.0)  # type: ignore[arg-type]
        batch = CanvasBatch.from_tokens(
            mask_process, [[5, 0]] * 8, frozen=[[True, False]] * 8, seeds=range(8), config=config
        )
        taken[name] = denoise(batch, hashing(7), mask_process).batch.step_R
    assert (taken["remdm"] == 30).all()
    assert (taken["ancestral"] < 30).any()


def test_broken_logits_fail_only_their_row(process: Process, hashing: Callable[..., Any]) -> None:
    config = sampler_config(steps=4, entropy_bound=1.0, adaptive=False)
    batch = noise_canvases(process, [4, 5, 3], seeds=[1, 2, 3], config=config)
    clean = hashing(process.vocab_size)

    class Breaking(type(clean)):  # type: ignore[misc]
        calls = 0

        def __call__(
            self, tokens_RL: Tensor, soft: Tensor | None, valid_RL: Tensor, index_N: Tensor, *rest: Any
        ) -> Tensor:
            logits_NV = super().__call__(tokens_RL, soft, valid_RL, index_N, *rest)
            self.calls += 1
            if self.calls == 3:
                logits_NV[(index_N // tokens_RL.shape[1]).tolist().index(1), 0] = math.nan
            return logits_NV

    seen = []
    broken = denoise(
        batch,
        Breaking(process.vocab_size),
        process,
        self_conditioning=True,
        on_step=lambda result, rows: seen.append(result.batch.tokens_RL[1] if len(result.batch) == 3 else None),
    ).batch
    expected = denoise(batch, clean, process, self_conditioning=True).batch
    assert broken.failed_R.tolist() == [False, True, False]
    assert broken.step_R.tolist() == [4, 3, 4]
    assert torch.equal(broken.tokens_RL[[0, 2]], expected.tokens_RL[[0, 2]])
    assert seen[1] is not None
    assert torch.equal(broken.tokens_RL[1], seen[1]), "a failed row keeps what it held before"


def test_denoiser_sees_only_active_rows_and_results_keep_their_order(
    uniform_process: Process, hashing: Callable[..., Any]
) -> None:
    configs = [sampler_config(steps=steps, adaptive=False) for steps in (3, 1, 2)]
    batch = noise_canvases(uniform_process, [2, 3, 4], seeds=[0, 1, 2], config=configs)
    clean = hashing(6)
    seen: list[list[int]] = []

    class Watching(type(clean)):  # type: ignore[misc]
        def __call__(
            self, tokens_RL: Tensor, soft: Tensor | None, valid_RL: Tensor, index_N: Tensor, *rest: Any
        ) -> Tensor:
            seen.append(valid_RL.sum(-1).tolist())
            return super().__call__(tokens_RL, soft, valid_RL, index_N, *rest)

    active = []
    result = denoise(batch, Watching(6), uniform_process, trace=[2], on_step=lambda _, rows: active.append(rows))
    assert seen == [[2, 3, 4], [2, 4], [2]]
    assert active == [[0, 1, 2], [0, 2], [0]]
    assert result.batch.length_R.tolist() == [2, 3, 4]
    assert list(result.trace) == [2]
    assert [record.step for record in result.trace[2]] == [0, 1]
    assert torch.equal(result.trace[2][-1].draft_L, result.batch.tokens_RL[2])


def test_self_conditioning_carries_the_last_prediction(uniform_process: Process, hashing: Callable[..., Any]) -> None:
    clean = hashing(6)
    seen: list[Tensor | None] = []

    class Watching(type(clean)):  # type: ignore[misc]
        def __call__(
            self, tokens_RL: Tensor, soft: Tensor | None, valid_RL: Tensor, index_N: Tensor, *rest: Any
        ) -> Tensor:
            seen.append(soft)
            self.logits_NV: Tensor = super().__call__(tokens_RL, soft, valid_RL, index_N, *rest)
            return self.logits_NV

    config = sampler_config(steps=2, adaptive=False, temperature_start=0.5, temperature_end=0.5)
    batch = noise_canvases(uniform_process, [3], seeds=[0], config=config)
    denoiser = Watching(6)
    after = step(batch, denoiser, uniform_process, self_conditioning=True).batch
    expected_RLD = (denoiser.logits_NV / 0.5).softmax(-1)[None, :, :2]
    step(after, denoiser, uniform_process, self_conditioning=True)
    assert seen[0] is None
    torch.testing.assert_close(seen[1], expected_RLD)
    finished = denoise(batch, denoiser, uniform_process)
    assert finished.batch.soft_RLD is None
    assert seen[2:] == [None, None]


def test_banned_tokens_never_appear(process: Process, hashing: Callable[..., Any]) -> None:
    banned_V = torch.zeros(process.vocab_size, dtype=torch.bool)
    banned_V[[0, 3, 4]] = True
    names = supported_samplers(process)
    configs = [sampler_config(name=names[row % len(names)], steps=4) for row in range(12)]
    batch = CanvasBatch.from_tokens(
        process, [[0] + [1] * 19] * 12, frozen=[[True] + [False] * 19] * 12, seeds=range(12), config=configs
    )
    finished = denoise(batch, hashing(process.vocab_size), process, banned=banned_V).batch
    assert (finished.tokens_RL[:, 0] == 0).all(), "a frozen token is the caller's own"
    assert not torch.isin(finished.tokens_RL[:, 1:], torch.tensor([0, 3, 4])).any()


def test_banning_all_tokens_fails_the_row(uniform_process: Process, hashing: Callable[..., Any]) -> None:
    batch = noise_canvases(uniform_process, [3], seeds=[0], config=sampler_config())
    finished = denoise(batch, hashing(6), uniform_process, banned=torch.ones(6, dtype=torch.bool)).batch
    assert finished.failed_R.tolist() == [True]


class NoSync(TorchDispatchMode):
    """Refuses every operation that would make the host wait for a device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        blocking = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal", "masked_select", "unique", "item")
        assert func.overloadpacket._qualified_op_name.split("::")[1] not in blocking, func
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("reuse", ["none", "settled"])
def test_step_never_waits_for_the_device(
    reuse: Any, process: Process, hashing: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on an accelerator; reading more than the open positions there does not change the result."""
    names = [name for name in supported_samplers(process) if reuse == "none" or not find_sampler(name).reopens]
    refresh = 0 if reuse == "none" else 4
    configs = [sampler_config(name=name, top_p=0.9, reuse=reuse, refresh=refresh, adaptive=False) for name in names]
    batch = noise_canvases(process, [1 + row for row in range(len(names))], seeds=range(len(names)), config=configs)
    banned_RV = torch.zeros(len(names), process.vocab_size, dtype=torch.bool)
    with pytest.raises(AssertionError, match="_local_scalar_dense"), NoSync():
        bool(batch.done_R.all())

    def some_steps() -> CanvasBatch:
        after = batch
        # The fifth one computes again what the others skipped.
        for _ in range(5):
            after = step(
                after,
                hashing(process.vocab_size),
                process,
                self_conditioning=True,
                banned=banned_RV,
                stop_head=lambda statistics, free_RL, stable_R: statistics.confidence_RL.amin(-1),
            ).batch
        return after

    expected = some_steps()
    monkeypatch.setattr(sys.modules[step.__module__], "_waits_for_nothing", lambda device: False)
    with NoSync():
        found = some_steps()
    for field in dataclasses.fields(CanvasBatch):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(one, Tensor):
            assert torch.equal(one, other), field.name


@pytest.mark.parametrize("name", ["confidence", "threshold"])
@pytest.mark.parametrize("commit_sample", [False, True])
def test_skipped_blocks_are_decided_before_a_canvas_is_finished(name: Any, commit_sample: bool) -> None:
    """Each block of this model is certain once the one before it is decided, and a guess of token 6 until then."""
    process = make_process("mask", 8, mask_id=7)

    def denoiser(tokens_RL: Tensor, soft: object, valid: object, index_N: Tensor, active: object) -> Tensor:
        decided_LB = (tokens_RL[0].view(-1, 8) != 7).all(-1)
        certain_B = torch.cat((torch.ones(1, dtype=torch.bool), decided_LB[:-1]))
        logits_BV = torch.zeros(4, 8)
        logits_BV[:, 1], logits_BV[:, 6] = torch.where(certain_B, 30.0, 0.0), torch.where(certain_B, 0.0, 0.5)
        return logits_BV.repeat_interleave(8, 0)[index_N]

    found = []
    for reuse in ("none", "block"):
        config = sampler_config(
            name=name, threshold=1.0, reuse=reuse, block_length=8, steps=32, commit_sample=commit_sample
        )
        done = denoise(noise_canvases(process, [32], seeds=[1], config=config), denoiser, process).batch
        found.append((done.tokens_RL.tolist(), int(done.step_R)))
        assert found[-1][0] == [[1] * 32]
    assert found[0] == found[1]


def test_the_last_step_decides_what_was_skipped(hashing: Callable[..., Any]) -> None:
    process = make_process("mask", 8, mask_id=7)
    config = sampler_config(name="entropy", steps=3, reuse="block", block_length=4, commit_sample=True)
    done = denoise(noise_canvases(process, [12] * 8, seeds=range(8), config=config), hashing(8), process).batch
    assert not (done.tokens_RL == 7).any()


def test_empty_batch_is_finished(uniform_process: Process, hashing: Callable[..., Any]) -> None:
    batch = noise_canvases(uniform_process, [], seeds=[], config=sampler_config())
    assert len(denoise(batch, hashing(6), uniform_process).batch) == 0


@pytest.mark.parametrize("name", ["entropy", "confidence", "margin", "certainty", "random", "threshold", "edit"])
def test_decisive_draws_have_unbiased_log_probabilities(process: Process, fixed: Callable[..., Any], name: Any) -> None:
    """Their mean log-probability is the negative entropy, as policy gradients need; that of accepted draws, which are
    selected by their value, is not."""
    if name not in supported_samplers(process):
        pytest.skip("not with this noise")
    logits_V = torch.tensor([0.0, 1.0, 2.0, 0.5, -1.0, 0.2, 0.0][: process.vocab_size])
    config = sampler_config(name=name, steps=4, threshold=0.5, entropy_bound=4.0, adaptive=False)
    batch = noise_canvases(process, [8] * 400, seeds=range(400), config=config)
    result = step(batch, fixed(logits_V), process)
    records = [result.record(row) for row in range(400)]
    entropy = float(result.statistics.entropy_RL[0, 0])
    surprise = {
        field: -torch.cat([record.confidence_L[getattr(record, field)] for record in records]).log()
        for field in ("decisive_L", "accepted_L")
    }
    off = {
        field: float(nats.mean() - entropy) / float(nats.std() / len(nats) ** 0.5) for field, nats in surprise.items()
    }
    assert abs(off["decisive_L"]) < 4
    assert (abs(off["accepted_L"]) > 6) == (name in ("confidence", "threshold", "edit"))
