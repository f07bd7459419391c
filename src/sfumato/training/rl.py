"""Learning from rewards (GRPO): several answers per prompt, and updates towards the better ones.

A decision is a token drawn by one step at one position and kept (`rollout`). Each decision has the advantage of its
answer over the others to the same prompt, and its own probability ratio between the current weights and those that drew
it, clipped as in PPO. The sum over all decisions is divided by their number, so that each counts equally in long and
short trajectories; dividing per answer would make steps cheaper the more an answer takes.

Nothing here knows a task, an engine or a terminal: answers and rewards come from a callable.

Source: GRPO, Shao et al. 2024, arXiv 2402.03300, section 4.1; the normalisation as in DAPO, Yu et al. 2025, arXiv
2503.14476; advantages without the standard deviation, Liu et al. 2025, arXiv 2503.20783.
"""

# G answers per prompt, N decided positions

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from sfumato.config import check_range
from sfumato.errors import ConfigError, SfumatoError
from sfumato.models.decoder import Decoder
from sfumato.training.distributed import is_of_memory
from sfumato.training.recipe import EvaluationConfig
from sfumato.training.rollout import Policy, Replay, Rollout, lay_out
from sfumato.training.state import Record
from sfumato.training.trainer import Loop, TrainConfig

Collect = Callable[[int], Sequence[Sequence[Rollout]]]
"""Collects answers of the current weights for an update, one group per prompt. The same weights and step give the same
answers."""


@dataclass(frozen=True, kw_only=True)
class RLConfig:
    """Settings of an update."""

    prompts: int = 8
    """Prompts per update."""
    answers: int = 8
    """Answers per prompt, 2 or more."""
    epochs: int = 1
    """Optimizer steps over the answers of an update; from the second on, ratios differ from 1."""
    ratio_clip: float = 0.2
    """Maximum distance of a decision's ratio from 1 that still gains, more than 0 and less than 1; 0.2 is PPO's."""
    kl_weight: float = 0.02
    """Weight of the divergence from the starting weights, in nats per decision; 0 leaves it out, with its forwards."""
    part_reward: float = 0.0
    """Reward for the share of an answer's correct parts, if the task judges parts separately, so that wrong answers
    differ too."""
    step_cost: float = 0.0
    """Penalty per denoising step; at 1/48, 48 steps cost as much as a correct answer gains."""
    positions: int = 4096
    """Maximum canvas positions per forward."""

    def __post_init__(self) -> None:
        check_range(self, "prompts epochs positions", 1)
        check_range(self, "answers", 2)
        check_range(self, "kl_weight part_reward step_cost", 0)
        if not 0.0 < self.ratio_clip < 1.0:
            raise ConfigError(f"ratio_clip is {self.ratio_clip}; allowed: more than 0, less than 1")


@dataclass(frozen=True, kw_only=True)
class RolloutConfig:
    """Prompts and generation settings for learning from rewards."""

    tasks: dict[str, float] = field(default_factory=dict)
    """Weight of each procedural task; items of the test split are never drawn."""
    canvas_length: int = 0
    """Canvas length; 0 takes the model's default, which a length head may set."""
    max_tokens: int = 0
    """Maximum tokens of an answer; 0 takes the model's default."""
    sampler: dict[str, object] = field(default_factory=dict)
    """Sampler settings, including its name, that differ from the model's defaults."""

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ConfigError("tasks is empty; allowed: a weight for each of one or more tasks")
        for name, weight in self.tasks.items():
            if not 0.0 < weight < math.inf:
                raise ConfigError(f"the weight of task {name!r} is {weight}; allowed: more than 0")
        check_range(self, "canvas_length max_tokens", 0)


@dataclass(frozen=True, kw_only=True)
class RLRecipe:
    """A whole run of learning from rewards; one table per field."""

    init_from: str
    """The model to start from: a name, directory or hub id."""
    rollout: RolloutConfig
    """Prompts and generation settings."""
    train: TrainConfig
    """The training loop; a step is an update."""
    rl: RLConfig = RLConfig()
    """Groups, ratios and divergence."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """Evaluations before, during and after training, with the sampler used for training."""

    def __post_init__(self) -> None:
        if self.evaluation.bound_batches:
            raise ConfigError(f"bound_batches is {self.evaluation.bound_batches}; allowed with rewards: 0")
        if self.evaluation.prompts:
            raise ConfigError(f"prompts is {self.evaluation.prompts}; allowed with rewards: none")


class PolicyTerms(NamedTuple):
    """Sums over decisions."""

    loss: Tensor
    kl: Tensor
    """Estimated divergence from the starting weights, in nats."""
    clipped: Tensor
    """Decisions whose ratio is clipped."""


def advantages(rewards: Sequence[float]) -> list[float]:
    """Each answer's reward minus its group's mean."""
    reward_G = torch.tensor(rewards, dtype=torch.float64)
    above_G = reward_G - reward_G.mean()
    # A mean of equal numbers may differ from them in the last bit.
    return torch.where(above_G.abs() < 1e-9, 0.0, above_G).tolist()


def policy_loss(
    log_prob_N: Tensor,
    old_N: Tensor,
    start_N: Tensor | None,
    advantage_N: Tensor,
    *,
    ratio_clip: float,
    kl_weight: float,
) -> PolicyTerms:
    """PPO's clipped objective per decision, minus the weighted divergence.

    The divergence is estimated from draws as exp(d) - d - 1 with d = log p_start - log p: never negative, and unbiased
    while the draws are from the current weights (k3).

    Args:
        log_prob_N: under the weights in training.
        old_N: under the weights that drew.
        start_N: under the starting weights; None leaves the divergence out.
        advantage_N: of each decision's answer.

    Source: PPO, Schulman et al. 2017, arXiv 1707.06347, eq. 7; GRPO, arXiv 2402.03300, eq. 4.
    """
    ratio_N = (log_prob_N - old_N).exp()
    held_N = ratio_N.clamp(1.0 - ratio_clip, 1.0 + ratio_clip)
    gain_N, held_gain_N = ratio_N * advantage_N, held_N * advantage_N
    kl_N = torch.zeros_like(log_prob_N)
    if start_N is not None:
        apart_N = start_N - log_prob_N
        kl_N = apart_N.exp() - apart_N - 1.0
    loss = (kl_weight * kl_N - torch.minimum(gain_N, held_gain_N)).sum()
    return PolicyTerms(loss, kl_N.detach().sum(), (held_gain_N < gain_N).sum())


class RLTrainer(Loop):
    """Training with rewards. A step of the loop is an update: answers, and `epochs` optimizer steps over them.

    Args:
        model: the starting weights; trained in place, and used by `collect`.
        directory, evaluate, on_record: see `Loop`; the starting weights are evaluated too.

    Raises:
        ConfigError: if a field of config does not apply here.
    """

    def __init__(
        self,
        model: Decoder,
        policy: Policy,
        collect: Collect,
        *,
        rl: RLConfig,
        config: TrainConfig,
        directory: Path,
        evaluate: Callable[[Decoder, int], dict[str, float]] | None = None,
        on_record: Callable[[Record], None] | None = None,
    ) -> None:
        if config.accumulation != 1:
            raise ConfigError(f"accumulation is {config.accumulation}; allowed with rewards: 1, see rl.positions")
        if config.compile:
            raise ConfigError("compile is True; allowed with rewards: False")
        super().__init__(model, config=config, directory=directory, evaluate=evaluate, on_record=on_record)
        self._policy, self._collect, self._rl = policy, collect, rl
        self._start = copy.deepcopy(model).requires_grad_(False) if rl.kl_weight > 0 else None

    def _first_record(self) -> Record | None:
        scores = self._scores()
        return {"step": 0, **scores} if scores else None

    def _step(self) -> Record:
        try:
            return self._update()
        except (MemoryError, RuntimeError) as error:
            if not is_of_memory(error):
                raise
            rl = self._rl
            raise SfumatoError(
                f"out of memory at update {self.progress.step + 1}: {rl.prompts * rl.answers} answers "
                f"are written at once, and a forward to learn from has {rl.positions} positions; "
                "lower rl.positions, or rl.prompts"
            ) from error

    def _update(self) -> Record:
        started = time.monotonic()
        step, rl = self.progress.step, self._rl
        self.model.eval()
        groups = self._collect(step)
        rollouts = [rollout for group in groups for rollout in group]
        collected_s = time.monotonic() - started
        replays = self._replays(groups)
        num_decisions = sum(len(replay.sampled_N) for replay in replays)
        numbers: dict[str, float] = {"loss": 0.0, "kl": 0.0, "clipped": 0.0, "gradient_norm": 0.0, "replay_error": 0.0}
        scale, refused = self.config.lr_scale(step), False
        starts = [self._of_start(replay) for replay in replays]
        for epoch in range(rl.epochs if replays else 0):
            means = self._backward(replays, starts, num_decisions)
            numbers["gradient_norm"], scale, again = self._apply(finite=math.isfinite(means["loss"]))
            refused = refused or again
            # Divergence and replay error are of the weights that gave the answers, the rest is of the last epoch.
            numbers |= means if epoch == 0 else {name: means[name] for name in ("loss", "clipped")}
        seconds = time.monotonic() - started
        num_positions = sum(replay.num_positions for replay in replays)
        self._count(num_tokens=num_positions * rl.epochs, refused=refused, seconds=seconds)
        return {
            "step": step + 1,
            "reward": _mean([self._worth(rollout) for rollout in rollouts]),
            "solved": _mean([float(rollout.reward > 0) for rollout in rollouts]),
            "mean_steps": _mean([float(rollout.num_steps) for rollout in rollouts]),
            "mixed": _mean([float(len({self._worth(rollout) for rollout in group}) > 1) for group in groups]),
            "log_prob": sum(float(replay.log_prob_N.sum()) for replay in replays) / max(1, num_decisions),
            "decisions": num_decisions,
            **numbers,
            "lr_scale": scale,
            "refused": refused,
            "collect_seconds": round(collected_s, 3),
            "seconds": round(seconds, 3),
        }

    def _worth(self, rollout: Rollout) -> float:
        right = _mean(rollout.parts)
        return rollout.reward + self._rl.part_reward * right - self._rl.step_cost * rollout.num_steps

    def _replays(self, groups: Sequence[Sequence[Rollout]]) -> list[Replay]:
        """The steps to learn from; answers with their group's mean reward are left out."""
        pairs: list[tuple[Rollout, float]] = []
        for group in groups:
            above = advantages([self._worth(rollout) for rollout in group])
            pairs += [pair for pair in zip(group, above, strict=True) if pair[1]]
        return lay_out(pairs, device=self.model.device, positions=self._rl.positions)

    @torch.no_grad()
    def _of_start(self, replay: Replay) -> Tensor | None:
        return None if self._start is None else self._policy.log_probs(self._start, replay)

    def _backward(
        self, replays: Sequence[Replay], starts: Sequence[Tensor | None], num_decisions: int
    ) -> dict[str, float]:
        """Gradients of the mean loss over all decisions.

        Returns:
            Means of the terms, and "replay_error", the largest difference between replayed and original
            log-probabilities.
        """
        sums, error = dict.fromkeys(PolicyTerms._fields, 0.0), 0.0
        for replay, start_N in zip(replays, starts, strict=True):
            log_prob_N = self._policy.log_probs(self.model, replay)
            terms = policy_loss(
                log_prob_N,
                replay.log_prob_N,
                start_N,
                replay.advantage_N,
                ratio_clip=self._rl.ratio_clip,
                kl_weight=self._rl.kl_weight,
            )
            (terms.loss / num_decisions).backward()  # type: ignore[no-untyped-call]
            sums = {name: total + getattr(terms, name).item() for name, total in sums.items()}
            error = max(error, float((log_prob_N.detach() - replay.log_prob_N).abs().max()))
        return {name: total / num_decisions for name, total in sums.items()} | {"replay_error": error}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))
