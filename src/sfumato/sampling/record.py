"""Results of steps, and records of them on the host, complete enough to replay every step."""

# R rows, L canvas, D model

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sfumato.sampling.canvas import CanvasBatch
from sfumato.sampling.logits import Statistics, TopTokens


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One step of one row, on the host, without padding."""

    step: int
    """Index of the step, from 0."""
    tokens_L: Tensor
    """int64; tokens the denoiser read."""
    frozen_L: Tensor
    """bool; positions the caller fixed."""
    soft_LD: Tensor | None
    """Soft embedding it read; None before the first prediction, and without self-conditioning."""
    temperature: float
    """Temperature of the distribution drawn from."""
    sampled_L: Tensor
    """int64; drawn tokens."""
    draft_L: Tensor
    """int64; draft after the step."""
    accepted_L: Tensor
    """bool."""
    decisive_L: Tensor
    """bool; positions whose draw affected the result: the accepted ones or, for a sampler that looks at its draws
    before accepting, all drawn ones. For a last step, none if the draft was committed, otherwise all."""
    revised_L: Tensor
    """bool."""
    confidence_L: Tensor
    """float32; probability of the drawn token, whose logarithm policy gradients need."""


@dataclass(frozen=True, kw_only=True)
class CanvasRecord:
    """One canvas from its first step to its last."""

    text: tuple[int, ...]
    """Tokens before it: the prompt and what was committed."""
    steps: tuple[StepRecord, ...]
    """In order of steps."""


class FinishedCanvas(NamedTuple):
    """A canvas after its last step."""

    tokens: list[int]
    confidence: list[float]
    """Probability of the token at each position in the last step."""
    decided: list[int]
    """Positions it had to decide."""
    steps: int
    revisions: int
    failed: bool
    """Whether the logits were invalid; it must not be shown."""
    unsettled: bool
    """See `CanvasBatch`."""


class Reading(NamedTuple):
    """Statistics of a step at each canvas position, on the host."""

    accepted: tuple[bool, ...]
    revised: tuple[bool, ...]
    confidence: tuple[float, ...]
    entropy: tuple[float, ...]

    @classmethod
    def nothing(cls, length: int) -> Reading:
        """Statistics before the first step."""
        return cls((False,) * length, (False,) * length, (0.0,) * length, ())


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """Result of a step. Rows finished before it are unchanged, with nothing accepted or revised."""

    batch: CanvasBatch
    """The batch after the step, including ``done_R``, ``draft_RL`` and ``accepted_RL``."""
    statistics: Statistics
    """The denoiser's statistics, of the tokens before the step."""
    revised_RL: Tensor
    """bool; positions accepted in an earlier step whose draft token this step changed."""
    before: CanvasBatch
    """The batch before the step, as the denoiser read it."""
    drawn_RL: Tensor
    """bool; positions to decide."""
    top: dict[int, TopTokens]
    """Most probable tokens, for rows that asked for them."""

    def record(self, row: int) -> StepRecord:
        """The record of one row's step. Waits for the device."""
        before, length = self.before, int(self.before.host_length_R[row])
        temperature_R = before.settings.temperature_at(before.step_R, before.steps_R)
        config = before.settings.configs[row]
        accepted_RL = self.batch.accepted_RL
        decisive_RL = self.drawn_RL if config.sampler.accepts_by_draw else accepted_RL
        if bool(self.batch.done_R[row]):
            decisive_RL = self.drawn_RL if config.commit_sample else torch.zeros_like(accepted_RL)

        def host(values: Tensor) -> Tensor:
            # A view would keep the whole batch alive.
            return values[row, :length].to("cpu", copy=True)

        return StepRecord(
            step=int(before.step_R[row]),
            tokens_L=host(before.tokens_RL),
            frozen_L=host(before.frozen_RL),
            soft_LD=None if before.soft_RLD is None else host(before.soft_RLD),
            temperature=float(temperature_R[row]),
            sampled_L=host(self.statistics.sampled_RL),
            draft_L=host(self.batch.draft_RL),
            accepted_L=host(accepted_RL),
            decisive_L=host(decisive_RL),
            revised_L=host(self.revised_RL),
            confidence_L=host(self.statistics.confidence_RL),
        )

    def reading(self, row: int, inside: slice) -> Reading:
        """Statistics at some positions of a row; 0 if the logits were invalid. Waits for the device."""
        statistics = self.statistics
        flags = (self.batch.accepted_RL, self.revised_RL)
        numbers = (statistics.confidence_RL.nan_to_num(), statistics.entropy_RL.nan_to_num())
        return Reading(*(tuple(values_RL[row, inside].tolist()) for values_RL in (*flags, *numbers)))

    def finished(self) -> dict[int, FinishedCanvas]:
        """Finished canvases by row. Waits for the device."""
        batch = self.batch
        rows = [row for row, done in enumerate(batch.done_R.tolist()) if done]
        if not rows:
            return {}
        # Read together: one number takes a device as long as all of them.
        numbers_R = (batch.step_R, batch.revisions_R, batch.failed_R, batch.unsettled_R)
        confidence_RL = self.statistics.confidence_RL.nan_to_num()
        tokens, confidence, *numbers = [column.tolist() for column in (batch.tokens_RL, confidence_RL, *numbers_R)]
        return {
            row: FinishedCanvas(
                tokens[row][: batch.host_length_R[row]],
                confidence[row],
                batch.host_free_RL[row].nonzero()[0].tolist(),
                *(column[row] for column in numbers),
            )
            for row in rows
        }
