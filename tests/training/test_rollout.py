"""Replayed steps have the log-probabilities with which the sampler drew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from rollouts import SETTINGS, SPECS, answers_of, policy_of
from settings import sampler_config
from sfumato.engine.model import TextModel
from sfumato.engine.request import Result
from sfumato.errors import ConfigError
from sfumato.models.decoder import Decoder
from sfumato.spec import GenerationSpec
from sfumato.training.rollout import Replay, Rollout, check_replayable, lay_out


def replays_of(*results: Result, advantage: float = 1.0, positions: int = 1000) -> list[Replay]:
    pairs = [(Rollout(canvases=result.canvases, reward=0.0), advantage) for result in results]
    return lay_out(pairs, device=torch.device("cpu"), positions=positions)


def difference(model: TextModel, weights: Decoder, results: list[Result], positions: int = 1000) -> float:
    """The largest between log-probabilities now and when they were drawn."""
    replays = replays_of(*results, positions=positions)
    assert sum(len(replay.sampled_N) for replay in replays) > 20
    found = [policy_of(model).log_probs(weights, replay) - replay.log_prob_N for replay in replays]
    return torch.cat(found).abs().max().item()


@pytest.mark.parametrize("name", SPECS)
def test_replay_log_probabilities_match_the_rollout(make_model: Callable[..., TextModel], name: str):
    model = make_model(SPECS[name])
    results = answers_of(model)
    assert all(len(result.canvases) >= 2 for result in results)
    assert {len(canvas.steps) for result in results for canvas in result.canvases} != {1}
    assert difference(model, model.decoder, results) < 1e-4
    # In other batches too.
    assert difference(model, model.decoder, results, positions=1) < 1e-4


@pytest.mark.parametrize("change", ["soft", "temperature", "tokens", "text", "weights"])
def test_rollouts_that_do_not_match_are_refused(make_model: Callable[..., TextModel], change: str):
    model = make_model(SPECS["self-conditioned, shifted"])
    weights = model.decoder
    replay = replays_of(*answers_of(model))[0]
    wrong = {
        "soft": {"soft_BLD": None},
        "temperature": {"temperature_B": replay.temperature_B * 1.1},
        "tokens": {"tokens_BL": replay.tokens_BL.flip(1)},
        "text": {"text": (*replay.text[:-1], replay.text[-1] + 1)},
        "weights": {},
    }
    if change == "weights":
        weights = make_model(SPECS["self-conditioned, shifted"], qk_norm=True).decoder
    changed = type(replay)(**vars(replay) | wrong[change])
    found_N = policy_of(model).log_probs(weights, changed)
    assert (found_N - replay.log_prob_N).abs().max().item() > 1e-2


def test_shared_prefix_has_the_same_gradients(make_model: Callable[..., TextModel]):
    model = make_model(SPECS["self-conditioned, shifted"])
    results, gradients = answers_of(model), []
    for positions in (1, 1000):
        model.decoder.zero_grad()
        for replay in replays_of(*results, positions=positions):
            policy_of(model).log_probs(model.decoder, replay).sum().backward()
        gradients.append({name: p.grad for name, p in model.decoder.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, rtol=1e-3, atol=1e-3)


def test_only_requested_rollouts_are_recorded(make_model: Callable[..., TextModel]):
    model = make_model(SPECS["uniform"])
    assert model.generate("abc", max_tokens=12, **SETTINGS).canvases == ()


def test_recording_changes_no_answer(make_model: Callable[..., TextModel]):
    model = make_model(SPECS["self-conditioned"])
    plain = model.generate("abc", max_tokens=20, **SETTINGS)
    (recorded,) = answers_of(model, n=1)
    assert recorded.tokens == plain.tokens
    steps = [step for canvas in recorded.canvases for step in canvas.steps]
    assert len(steps) == plain.usage.denoising_steps
    # What is accepted is what the next step reads.
    first, second = recorded.canvases[0].steps[:2]
    assert torch.equal(second.tokens_L[first.accepted_L], first.sampled_L[first.accepted_L])
    assert first.soft_LD is None or not first.soft_LD.any()
    assert second.soft_LD.any()


@pytest.mark.parametrize("name", ["uniform", "mask", "hybrid"])
def test_last_step_draws_nothing(make_model: Callable[..., TextModel], name: str):
    for result in answers_of(make_model(SPECS[name]), max_tokens=12):
        (canvas,) = result.canvases
        count = sum(int(step.accepted_L.sum()) for step in canvas.steps[:-1])
        assert sum(len(replay.sampled_N) for replay in replays_of(result)) == count


@pytest.mark.parametrize("name", ["uniform", "mask", "self-conditioned"])
def test_every_committed_token_is_a_draw(make_model: Callable[..., TextModel], name: str):
    for result in answers_of(make_model(SPECS[name]), max_tokens=12, commit_sample=True):
        (canvas,) = result.canvases
        last = canvas.steps[-1]
        drawn_L = torch.ones(12, dtype=torch.bool) if name != "mask" else last.tokens_L == 4
        assert torch.equal(last.decisive_L, drawn_L)
        committed = torch.where(drawn_L, last.sampled_L, last.tokens_L).tolist()
        assert committed[: len(result.tokens)] == list(result.tokens)
        count = sum(int(step.accepted_L.sum()) for step in canvas.steps[:-1]) + int(drawn_L.sum())
        assert sum(len(replay.sampled_N) for replay in replays_of(result)) == count


@pytest.mark.parametrize(
    ("field", "sampler"),
    [
        ("top_p", {"top_p": 0.9}),
        ("top_k", {"top_k": 5}),
        ("greedy_tail", {"greedy_tail": 1}),
        ("draft_steps", {"draft_steps": 1}),
        ("reuse", {"reuse": "settled"}),
        ("temperature_end", {"temperature_end": 0.0}),
        ("sampler is 'ancestral'", {"name": "ancestral"}),
    ],
)
def test_constrained_draws_are_refused(field: str, sampler: dict[str, Any]):
    with pytest.raises(ConfigError, match=f"{field}.*allowed"):
        check_replayable(SPECS["uniform"], sampler_config(**sampler))


@pytest.mark.parametrize(
    "spec", [GenerationSpec(canvas_length=1, logit_shift=True), GenerationSpec(canvas_length=12, commit="in_place")]
)
def test_models_without_replay_are_refused(spec: GenerationSpec):
    with pytest.raises(ConfigError, match="allowed"):
        check_replayable(spec, sampler_config())


def test_each_position_has_the_advantage_of_its_answer(make_model: Callable[..., TextModel]):
    """Also where an answer has several canvases."""
    (result, *_) = answers_of(make_model(SPECS["uniform"]), max_tokens=24)
    assert len(result.canvases) == 2
    replays = replays_of(result, advantage=-0.5)
    count = sum(int(step.decisive_L.sum()) for canvas in result.canvases for step in canvas.steps)
    assert torch.cat([replay.advantage_N for replay in replays]).tolist() == [-0.5] * count
