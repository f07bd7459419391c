"""The GRPO loss equals its definition, and rewards move the weights."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from rollouts import SPECS, VOCAB, answers_of, policy_of
from sfumato.engine.model import TextModel
from sfumato.engine.request import Result
from sfumato.errors import ConfigError, SfumatoError
from sfumato.training.rl import RLConfig, RLTrainer, advantages, policy_loss
from sfumato.training.rollout import Rollout
from sfumato.training.trainer import TrainConfig


def test_advantages_have_a_mean_of_zero():
    assert advantages([1.0, 0.0, 0.0, 1.0]) == [0.5, -0.5, -0.5, 0.5]
    assert sum(advantages([0.3, 0.1, 0.9])) == pytest.approx(0.0)
    assert advantages([0.1] * 3) == [0.0] * 3


def test_on_policy_gradient_is_the_advantage():
    log_prob_N = torch.tensor([-1.0, -2.0], requires_grad=True)
    terms = policy_loss(
        log_prob_N, log_prob_N.detach(), None, torch.tensor([0.5, -0.25]), ratio_clip=0.2, kl_weight=1.0
    )
    terms.loss.backward()
    assert log_prob_N.grad.tolist() == [-0.5, 0.25]
    assert (terms.kl.item(), terms.clipped.item()) == (0.0, 0)


def test_ratio_is_clipped():
    # Ratios 1.5, 1.5, 0.5, 0.5: clipped where the advantage has it go further, not where it draws it back.
    log_prob_N = torch.tensor([1.5, 1.5, 0.5, 0.5]).log().requires_grad_()
    advantage_N = torch.tensor([1.0, -1.0, 1.0, -1.0])
    terms = policy_loss(log_prob_N, torch.zeros(4), None, advantage_N, ratio_clip=0.2, kl_weight=0.0)
    terms.loss.backward()
    assert terms.loss.item() == pytest.approx(-(1.2 - 1.5 + 0.5 - 0.8))
    assert terms.clipped.item() == 2
    assert log_prob_N.grad.tolist() == pytest.approx([0.0, 1.5, -0.5, 0.0])


def test_divergence_estimate_matches_the_distributions():
    # In expectation over draws of the weights now, over all tokens of a vocabulary.
    now_V, start_V = (torch.tensor(values).log_softmax(0) for values in ([0.3, -1.0, 2.0], [1.0, 0.0, 0.5]))
    estimates = [
        policy_loss(now_V[i : i + 1], now_V[i : i + 1], start_V[i : i + 1], torch.zeros(1), ratio_clip=0.2, kl_weight=1)
        for i in range(3)
    ]
    mean = sum(float(p) * float(terms.loss) for p, terms in zip(now_V.exp(), estimates, strict=True))
    assert mean == pytest.approx(float((now_V.exp() * (now_V - start_V)).sum()), rel=1e-5)
    assert all(float(terms.kl) >= 0 for terms in estimates)


@pytest.mark.parametrize(
    "setting",
    [
        {"prompts": 0},
        {"answers": 1},
        {"epochs": 0},
        {"ratio_clip": 1.0},
        {"ratio_clip": 0.0},
        {"kl_weight": -1.0},
        {"kl_weight": math.nan},
        {"step_cost": -0.1},
        {"part_reward": -0.1},
        {"positions": 0},
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, Any]):
    with pytest.raises(ConfigError, match=f"{next(iter(setting))} is .*allowed"):
        RLConfig(**setting)


def small(result: Result) -> float:
    """The share of small tokens in all that was drawn: a bandit with an arm for each token, at every step."""
    return torch.cat([step.sampled_L < VOCAB // 2 for step in result.canvases[0].steps]).double().mean().item()


def build(model: TextModel, directory: Path, rl: dict[str, Any] | None = None, **config: Any) -> RLTrainer:
    def collect(step: int) -> list[list[Rollout]]:
        groups = []
        for place, prompt in enumerate(("abc", "xyz")):
            results = answers_of(
                model,
                prompt,
                n=16,
                max_tokens=4,
                canvas_length=4,
                steps=3,
                seed=100 * (2 * step + place),
                entropy_bound=math.inf,
                stop_entropy=0.0,
            )
            groups.append([Rollout(canvases=result.canvases, reward=small(result)) for result in results])
        return groups

    settings: dict[str, Any] = {
        "steps": 4,
        "lr": 2e-2,
        "warmup": 0,
        "final_lr": 1.0,
        "average": 0.0,
        "weight_decay": 0.0,
        "threads": 1,
    }
    return RLTrainer(
        model.decoder,
        policy_of(model),
        collect,
        rl=RLConfig(**{"kl_weight": 0.01, "epochs": 2} | (rl or {})),
        config=TrainConfig(**settings | config),
        directory=directory,
    )


def log_of(trainer: RLTrainer) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in trainer.log.path.read_text().splitlines()]
    return [{key: value for key, value in line.items() if "seconds" not in key} for line in lines]


def flat_model(make_model: Callable[..., TextModel]) -> TextModel:
    """One that is sure of nothing, so that its draws differ."""
    model = make_model(SPECS["self-conditioned, shifted"])
    model.decoder.initialize(0)
    return model


def test_rewards_rise(make_model: Callable[..., TextModel], tmp_path: Path):
    trainer = build(flat_model(make_model), tmp_path, steps=12)
    trainer.run()
    log = log_of(trainer)
    assert all(record["replay_error"] < 1e-4 for record in log)
    assert log[-1]["kl"] > log[0]["kl"] == pytest.approx(0.0, abs=1e-6)
    first, last = (sum(record["reward"] for record in part) / 3 for part in (log[:3], log[-3:]))
    assert last > first + 0.2


def test_zero_advantages_change_nothing(make_model: Callable[..., TextModel], tmp_path: Path):
    trainer = build(flat_model(make_model), tmp_path, steps=2)
    collect = trainer._collect
    trainer._collect = lambda step: [[Rollout(canvases=r.canvases, reward=1.0) for r in g] for g in collect(step)]
    before = {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}
    trainer.run()
    assert [record["decisions"] for record in log_of(trainer)] == [0, 0]
    assert all(torch.equal(before[name], tensor) for name, tensor in trainer.model.state_dict().items())


def test_divergence_penalty_keeps_weights_near_the_start(make_model: Callable[..., TextModel], tmp_path: Path):
    divergences = []
    for weight in (0.01, 10.0):
        trainer = build(flat_model(make_model), tmp_path / str(weight), rl={"kl_weight": weight}, steps=6, lr=3e-3)
        trainer.run()
        divergences.append(log_of(trainer)[-1]["kl"])
    assert divergences[1] < 0.5 * divergences[0]


def test_steps_are_charged_to_the_reward(make_model: Callable[..., TextModel], tmp_path: Path):
    trainer = build(flat_model(make_model), tmp_path, rl={"step_cost": 0.1}, steps=1)
    trainer.run()
    (record,) = log_of(trainer)
    assert record["mean_steps"] == 3.0
    free = build(flat_model(make_model), tmp_path / "free", steps=1)
    free.run()
    assert record["reward"] == pytest.approx(log_of(free)[0]["reward"] - 0.3)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError(), RuntimeError("other")])
def test_out_of_memory_names_the_settings(make_model: Callable[..., TextModel], tmp_path: Path, error: Exception):
    trainer = build(flat_model(make_model), tmp_path, steps=2)

    def failing(step: int) -> Any:
        raise error

    trainer._collect = failing
    message = "other" if str(error) == "other" else r"out of memory at update 1: \d+ answers .* lower rl\.positions"
    with pytest.raises(RuntimeError if message == "other" else SfumatoError, match=message):
        trainer.run()


def test_correct_parts_are_rewarded(make_model: Callable[..., TextModel], tmp_path: Path):
    """So that there is something to learn where all answers are wrong."""
    trainer = build(flat_model(make_model), tmp_path, rl={"part_reward": 0.5}, steps=1)
    collect = trainer._collect

    def halves(step: int) -> list[list[Rollout]]:
        parts = [(1.0, 0.0), (0.0, 0.0)]
        return [
            [Rollout(canvases=one.canvases, reward=0.0, parts=parts[i % 2]) for i, one in enumerate(group)]
            for group in collect(step)
        ]

    trainer._collect = halves
    trainer.run()
    (record,) = log_of(trainer)
    assert record["solved"] == 0.0
    assert record["reward"] == pytest.approx(0.125)
    assert record["mixed"] == 1.0
    assert record["decisions"] > 0


def test_resumed_run_equals_uninterrupted_run(make_model: Callable[..., TextModel], tmp_path: Path):
    whole = build(flat_model(make_model), tmp_path / "one")
    whole.run()
    stopped = build(flat_model(make_model), tmp_path / "other")

    def stop(record: dict[str, Any]) -> None:
        if record["step"] == 2:
            raise KeyboardInterrupt

    stopped._on_record = stop
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    again = build(flat_model(make_model), tmp_path / "other")
    again.resume()
    assert again.progress.step == 2
    again.run()
    assert log_of(again) == log_of(whole)
    assert log_of(whole)[-1]["kl"] > 0.0
    ours, theirs = again.model.state_dict(), whole.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_run_is_evaluated_before_its_first_step(make_model: Callable[..., TextModel], tmp_path: Path):
    trainer = build(flat_model(make_model), tmp_path, steps=2)
    trainer._evaluate = lambda model, step: {"score/x": float(step)}
    trainer.run()
    assert [(record["step"], record.get("score/x")) for record in log_of(trainer)] == [(0, 0.0), (1, None), (2, 2.0)]


@pytest.mark.parametrize("setting", [{"accumulation": 2}, {"compile": True}])
def test_invalid_loop_settings_are_refused(
    make_model: Callable[..., TextModel], tmp_path: Path, setting: dict[str, Any]
):
    with pytest.raises(ConfigError, match=f"{next(iter(setting))} is .*allowed"):
        build(make_model(SPECS["uniform"]), tmp_path, **setting)
