"""Learning from rewards: several answers to each prompt, and steps towards the better ones (GRPO).

A decision is a token that one step drew at one position, and that was kept (`rollout`). Each carries the advantage of
its answer over the others to the same prompt, and a ratio of its own between the weights now and those that drew it,
which is clipped as in PPO. The sum over all decisions is divided by their number, so that each counts the same, in long
trajectories as in short ones; dividing by answer instead would make the steps of an answer cheaper the more it takes.

Nothing here knows a task, an engine or a terminal: answers and what they are worth come from a callable.

Source: GRPO, Shao et al. 2024, arXiv 2402.03300, section 4.1; the normalisation as in DAPO, Yu et al. 2025, arXiv
2503.14476; advantages without the standard deviation, Liu et al. 2025, arXiv 2503.20783.
"""

# G answers to a prompt, N decided positions

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

from sfumato.errors import ConfigError, SfumatoError, check_range
from sfumato.models.decoder import Decoder
from sfumato.training.distributed import is_of_memory
from sfumato.training.recipe import EvaluationConfig
from sfumato.training.rollout import Credit, Policy, Replay, Rollout, lay_out
from sfumato.training.state import Record
from sfumato.training.trainer import Loop, TrainConfig, mix

Collect = Callable[[int], Sequence[Sequence[Rollout]]]
"""Answers of the weights as they are, for an update: a group for each prompt. The same weights and step give the same
ones."""


@dataclass(frozen=True, kw_only=True)
class RLConfig:
    """What an update learns from, and how far it may go."""

    prompts: int = 8
    """Prompts of an update."""
    answers: int = 8
    """Answers to each, 2 or more."""
    epochs: int = 1
    """Optimizer steps over the answers of an update; from the second on, ratios differ from 1."""
    ratio_clip: float = 0.2
    """How far from 1 the ratio of a decision may go and still gain, more than 0 and less than 1; 0.2 is PPO's."""
    kl_weight: float = 0.02
    """Weight of the divergence from the starting weights, in nats a decision; 0 leaves it out, and its forwards."""
    divide_by_std: bool = False
    """Divide advantages by the standard deviation of their group, as GRPO did first: prompts that are almost always, or
    almost never, answered right then count as much as others, and so does a step where all are right."""
    by_part: bool = False
    """Hold each part of an answer against the same part of the others, where its task judges them by themselves: what
    one part decided then learns nothing from another's mistakes."""
    part_reward: float = 0.0
    """Added to an answer's reward for the share of its parts that are right, where its task judges them by themselves:
    so that answers differ where none of them is right."""
    step_cost: float = 0.0
    """Taken off an answer's reward for each denoising step; at 1/48, of 48 steps all that being right gives."""
    step_share: float = 1.0
    """Probability with which a step is learned from, more than 0; less is faster."""
    positions: int = 4096
    """Most canvas positions of one forward."""

    def __post_init__(self) -> None:
        check_range(self, "prompts epochs positions", 1)
        check_range(self, "answers", 2)
        check_range(self, "kl_weight part_reward step_cost", 0)
        check_range(self, "step_share", 0, 1, above=True)
        if not 0.0 < self.ratio_clip < 1.0:
            raise ConfigError(f"ratio_clip is {self.ratio_clip}; allowed: more than 0, less than 1")


@dataclass(frozen=True, kw_only=True)
class RolloutConfig:
    """What is asked while learning from rewards, and how it is answered."""

    tasks: dict[str, float] = field(default_factory=dict)
    """Weight by procedural task; items of the test split are never drawn."""
    canvas_length: int = 0
    """Positions denoised together; 0 takes the model's own, which a length head may set."""
    max_tokens: int = 0
    """Most tokens of an answer; 0 takes the model's own."""
    sampler: dict[str, object] = field(default_factory=dict)
    """Settings of the sampler, name included, where they are not to be the model's own."""

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ConfigError("tasks is empty; allowed: a weight for each of one or more tasks")
        for name, weight in self.tasks.items():
            if not 0.0 < weight < math.inf:
                raise ConfigError(f"the weight of task {name!r} is {weight}; allowed: more than 0")
        check_range(self, "canvas_length max_tokens", 0)


@dataclass(frozen=True, kw_only=True)
class RLRecipe:
    """Everything about a run that learns from rewards; one table a field."""

    init_from: str
    """The model to start from: a name, directory or hub id."""
    rollout: RolloutConfig
    """What is asked, and how it is answered."""
    train: TrainConfig
    """The loop; a step is an update."""
    rl: RLConfig = RLConfig()
    """Groups, ratios and divergence."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """Scores before, while and after training, by the sampler that answers while training."""

    def __post_init__(self) -> None:
        if self.evaluation.bound_batches:
            raise ConfigError(f"bound_batches is {self.evaluation.bound_batches}; allowed with rewards: 0")
        if self.evaluation.prompts:
            raise ConfigError(f"prompts is {self.evaluation.prompts}; allowed with rewards: none")


class PolicyTerms(NamedTuple):
    """Sums over decisions."""

    loss: Tensor
    """What is minimised."""
    kl: Tensor
    """Divergence from the starting weights, estimated; nats."""
    clipped: Tensor
    """Decisions that gain no more, their ratio being as far as it may go."""


def advantages(rewards: Sequence[float], *, divide_by_std: bool = False) -> list[float]:
    """How much better each answer of a group is than their mean.

    Args:
        rewards: of the answers to one prompt.
        divide_by_std: whether the result has a standard deviation of 1, if not all are equal.
    """
    reward_G = torch.tensor(rewards, dtype=torch.float64)
    above_G = reward_G - reward_G.mean()
    if divide_by_std:
        above_G = above_G / above_G.square().mean().sqrt().clamp_min(1e-6)
    # A mean of equal numbers may differ from them in the last bit.
    return torch.where(above_G.abs() < 1e-9, 0.0, above_G).tolist()


def credit(
    rewards: Sequence[float], parts: Sequence[Sequence[tuple[int, float]]], *, divide_by_std: bool = False
) -> list[Credit]:
    """Advantages of the answers to one prompt, part by part.

    Args:
        rewards: of whole answers; what stands after the parts of one goes by it, as do answers without parts.
        parts: see `Rollout`; the first part of an answer is held against the first of the others, and so on.
        divide_by_std: see `advantages`.
    """
    whole = advantages(rewards, divide_by_std=divide_by_std)
    found: list[list[tuple[float, float]]] = [[] for _ in parts]
    for place in range(max(map(len, parts), default=0)):
        having = [one for one, own in enumerate(parts) if place < len(own)]
        above = advantages([parts[one][place][1] for one in having], divide_by_std=divide_by_std)
        for one, advantage in zip(having, above, strict=True):
            found[one].append((parts[one][place][0], advantage))
    return [[*own, (math.inf, rest)] for own, rest in zip(found, whole, strict=True)]


def policy_loss(
    log_prob_N: Tensor,
    old_N: Tensor,
    start_N: Tensor | None,
    advantage_N: Tensor,
    *,
    ratio_clip: float,
    kl_weight: float,
) -> PolicyTerms:
    """PPO's clipped objective of each decision, less the weighted divergence.

    The divergence is estimated from what was drawn by exp(d) - d - 1 with d = log p_start - log p: never negative, and
    without bias as long as the draws are the weights' own (k3).

    Args:
        log_prob_N: of the weights in training.
        old_N: of those that drew.
        start_N: of the starting weights; None leaves the divergence out.
        advantage_N: of each decision's answer.
        ratio_clip, kl_weight: see `RLConfig`.

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
    """Training by rewards. A step of the loop is an update: answers, and `epochs` optimizer steps over them.

    Args:
        model: the starting weights; trained in place, and what `collect` must answer with.
        policy: what its samplers draw from.
        collect: gives the answers of an update.
        rl, config: see their classes.
        directory, evaluate, on_record: see `Loop`; the starting weights are evaluated too.

    Raises:
        ConfigError: if a field of config is set that has no meaning here.
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
                f"out of memory at update {self.progress.step + 1}: {rl.prompts * rl.answers} answers are written at "
                f"once, and a forward that is learned from has {rl.positions} positions; lower rl.positions, or "
                "rl.prompts"
            ) from error

    def _update(self) -> Record:
        started = time.monotonic()
        step, rl = self.progress.step, self._rl
        self.model.eval()
        groups = self._collect(step)
        rollouts = [rollout for group in groups for rollout in group]
        collected_s = time.monotonic() - started
        replays = self._replays(groups, torch.Generator().manual_seed(mix(self.config.seed, step)))
        num_decisions = sum(len(replay.sampled_N) for replay in replays)
        numbers: dict[str, float] = {"loss": 0.0, "kl": 0.0, "clipped": 0.0, "gradient_norm": 0.0, "replay_error": 0.0}
        scale, refused = self.config.lr_scale(step), False
        starts = [self._of_start(replay) for replay in replays]
        for epoch in range(rl.epochs if replays else 0):
            terms, error = self._backward(replays, starts, num_decisions)
            numbers["gradient_norm"], scale, again = self._apply(finite=math.isfinite(terms["loss"]))
            refused = refused or again
            # Divergence and replays are of the weights that gave the answers, the rest is of the last epoch.
            first = {"kl": terms["kl"], "replay_error": error} if epoch == 0 else {}
            numbers |= {"loss": terms["loss"], "clipped": terms["clipped"]} | first
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
        right = _mean([worth for _, worth in rollout.parts])
        return rollout.reward + self._rl.part_reward * right - self._rl.step_cost * rollout.num_steps

    def _replays(self, groups: Sequence[Sequence[Rollout]], generator: torch.Generator) -> list[Replay]:
        """The steps to learn from; an answer that is as good as its group's mean teaches nothing and is left out."""
        pairs = []
        for group in groups:
            credits = credit(
                [self._worth(rollout) for rollout in group],
                [rollout.parts if self._rl.by_part else () for rollout in group],
                divide_by_std=self._rl.divide_by_std,
            )
            pairs += [pair for pair in zip(group, credits, strict=True) if any(advantage for _, advantage in pair[1])]
        return lay_out(
            pairs,
            device=self.model.device,
            positions=self._rl.positions,
            step_share=self._rl.step_share,
            generator=generator,
        )

    @torch.no_grad()
    def _of_start(self, replay: Replay) -> Tensor | None:
        return None if self._start is None else self._policy.log_probs(self._start, replay)

    def _backward(
        self, replays: Sequence[Replay], starts: Sequence[Tensor | None], num_decisions: int
    ) -> tuple[dict[str, float], float]:
        """Gradients of the mean loss over all decisions.

        Returns:
            Means of the terms, and the largest difference between a log-probability and what it was when drawn.
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
        return {name: total / num_decisions for name, total in sums.items()}, error


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))
