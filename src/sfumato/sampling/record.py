"""What steps did to canvases: their result, and what is kept of it on the host, enough to take every step again."""

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
    """One step of one row, on the host and without padding."""

    step: int
    """Index of the step, from 0."""
    tokens_L: Tensor
    """int64; what the denoiser read."""
    frozen_L: Tensor
    """bool; positions the caller fixed."""
    soft_LD: Tensor | None
    """The soft embedding that it read; None before the first prediction, and for models without self-conditioning."""
    temperature: float
    """Of the distribution that was drawn from."""
    sampled_L: Tensor
    """int64; what was drawn."""
    draft_L: Tensor
    """int64; the reading after the step."""
    accepted_L: Tensor
    """bool."""
    decisive_L: Tensor
    """bool; where what was drawn had a part in what the step became: what was accepted or, of a sampler that looks at
    its draws before it accepts some, all that was drawn. Of a last step nothing, if the draft was committed, or all."""
    revised_L: Tensor
    """bool."""
    confidence_L: Tensor
    """float32; probability of the drawn token, so its logarithm is what policy gradients need."""


@dataclass(frozen=True, kw_only=True)
class CanvasRecord:
    """One canvas from its first step to its last."""

    text: tuple[int, ...]
    """What stood before it: the prompt and what was committed."""
    steps: tuple[StepRecord, ...]
    """In order."""


class FinishedCanvas(NamedTuple):
    """A canvas whose last step was taken."""

    tokens: list[int]
    confidence: list[float]
    """Of its last step, at each position."""
    decided: list[int]
    """The positions that it was to decide."""
    steps: int
    revisions: int
    failed: bool
    """The logits were broken; it is not to be shown."""
    unsettled: bool
    """See `CanvasBatch`."""


class Reading(NamedTuple):
    """What a step says of each position of a canvas, on the host."""

    accepted: tuple[bool, ...]
    revised: tuple[bool, ...]
    confidence: tuple[float, ...]
    entropy: tuple[float, ...]

    @classmethod
    def nothing(cls, length: int) -> Reading:
        """Before the first step."""
        return cls((False,) * length, (False,) * length, (0.0,) * length, ())


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What one step did. Rows that were done before it are unchanged and have nothing accepted or revised."""

    batch: CanvasBatch
    """The batch after the step; ``done_R``, ``draft_RL`` and ``accepted_RL`` are in it."""
    statistics: Statistics
    """What the denoiser said of the tokens that stood before the step."""
    revised_RL: Tensor
    """bool; positions accepted in an earlier step whose draft token this step changed."""
    before: CanvasBatch
    """The batch before the step: what the denoiser read."""
    drawn_RL: Tensor
    """bool; positions whose token was in question."""
    top: dict[int, TopTokens]
    """Of the rows that asked for them, what else those might have read."""

    def record(self, row: int) -> StepRecord:
        """The step of one row. Waits for the device."""
        before, length = self.before, int(self.before.host_length_R[row])
        temperature_R = before.settings.temperature_at(before.step_R, before.steps_R)
        config = before.settings.configs[row]
        accepted_RL = self.batch.accepted_RL
        decisive_RL = self.drawn_RL if config.sampler.accepts_by_draw else accepted_RL
        if bool(self.batch.done_R[row]):
            decisive_RL = self.drawn_RL if config.commit_sample else torch.zeros_like(accepted_RL)

        def host(values: Tensor) -> Tensor:
            # A view would keep the whole batch's.
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
        """What it says of some positions of a row; 0 where the logits were broken. Waits for the device."""
        statistics = self.statistics
        flags = (self.batch.accepted_RL, self.revised_RL)
        numbers = (statistics.confidence_RL.nan_to_num(), statistics.entropy_RL.nan_to_num())
        return Reading(*(tuple(values_RL[row, inside].tolist()) for values_RL in (*flags, *numbers)))

    def finished(self) -> dict[int, FinishedCanvas]:
        """The canvases that are done, by row. Waits for the device."""
        batch = self.batch
        rows = [row for row, done in enumerate(batch.done_R.tolist()) if done]
        if not rows:
            return {}
        # Read at once: a device takes as long to be asked for a number as for all of them.
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
