"""CanvasBatch: the state of all canvases being denoised together; StepResult: what a step made of it, and records that
can replay it.

Everything is a canvas. Generating starts from pure noise; infilling from noise between frozen ends; editing from a
partly noised text; autoregression is a canvas of one position. They differ only in the arguments of ``from_tokens``.

A batch is a value: a step returns a new one. Rows are independent; they may differ in length, step and settings, and
can be removed or combined at any step.
"""

# R rows, L canvas (the longest row's length), D model

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from sfumato.diffusion.process import Process
from sfumato.errors import RequestError
from sfumato.kernels.base import Statistics
from sfumato.sampling.config import RowSettings, SamplerConfig
from sfumato.sampling.constraint import Constraint
from sfumato.sampling.logits import TopTokens
from sfumato.sampling.samplers.base import Stream, uniform, uniform_each

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CanvasBatch:
    """R partly denoised canvases."""

    settings: RowSettings
    """Settings of each row."""
    tokens_RL: Tensor
    """int64; tokens the denoiser reads next. A finished row holds its committed tokens, here and in the draft."""
    frozen_RL: Tensor
    """bool; positions the caller fixed."""
    host_free_RL: np.ndarray[Any, np.dtype[np.bool_]]
    """`free_RL`, on the host."""
    host_length_R: np.ndarray[Any, np.dtype[np.int64]]
    """The lengths, on the host."""
    draft_RL: Tensor
    """int64; the current draft: the argmax, or a token that stays."""
    accepted_RL: Tensor
    """bool; positions whose sampled token the last step kept."""
    ever_accepted_RL: Tensor
    """bool; positions accepted in any step."""
    settled_RL: Tensor
    """bool; positions that a step may skip, if ``reuse`` is "settled"."""
    length_R: Tensor
    """int64; positions past a row's length are padding: never counted, never changed."""
    seed_R: Tensor
    """int64; the request's seed."""
    canvas_R: Tensor
    """int64; index of the canvas within the request."""
    step_R: Tensor
    """int64; steps taken."""
    block_step_R: Tensor
    """int64; steps taken since the current block began, or since no mask was left."""
    t_start_R: Tensor
    """float32 in (0, 1]; noise level of the first step."""
    stable_R: Tensor
    """int64; steps in a row that left the draft unchanged."""
    revisions_R: Tensor
    """int64; number of times the draft changed at a position accepted earlier."""
    done_R: Tensor
    """bool; the row is finished, and further steps leave it unchanged."""
    failed_R: Tensor
    """bool; the row got NaN or infinite logits; it is finished, with the tokens from before that step."""
    unsettled_R: Tensor
    """bool; the row used all its steps before its stop rule was met (`Sampler.by_schedule`)."""
    verifying_R: Tensor
    """bool; the row's next step verifies its draft (`SamplerConfig.draft_steps`)."""
    kept_R: Tensor
    """int64; number of leading positions that a finished row commits: all, unless it was verified."""
    soft_RLD: Tensor | None = None
    """Soft embedding of the last prediction; zero before a row's first step, None before the first step of all."""

    @classmethod
    def from_tokens(
        cls,
        process: Process,
        tokens: Sequence[Sequence[int]],
        *,
        seeds: Sequence[int],
        config: SamplerConfig | Sequence[SamplerConfig],
        frozen: Sequence[Sequence[bool]] | None = None,
        noise_level: float | Sequence[float] = 1.0,
        canvas: int | Sequence[int] = 0,
        constraints: Sequence[Constraint | None] | None = None,
        device: torch.device | str | None = None,
    ) -> CanvasBatch:
        """Create canvases from given tokens: frozen ones stay, the others are noised to a level.

        Requests are validated when they are made, not here.

        Args:
            process: the noise the denoiser was trained on.
            tokens: one canvas per row, of any length >= 1. Tokens at free positions are ignored at noise level 1.
            seeds: one per row, 0 to 2^63 - 1.
            config: one for all rows, or one per row.
            frozen: per row and position, whether the token is fixed; None freezes nothing.
            noise_level: t of the first step, in (0, 1], for all rows or per row: 1 generates, less edits.
            canvas: index of the canvas within its request, for all rows or per row; for verified rows, index of its
                first token within the answer.
            constraints: constraint on each row, or None. Under mask noise, kept seed tokens stay for good; if no string
                of the language has all of them, the row keeps none.
            device: where the batch lives.

        Returns:
            The batch; rows without a free position are done.

        Raises:
            RequestError: if an argument does not have one entry per row.
        """
        num_rows = len(tokens)
        configs = _per_row("config", config, num_rows)
        levels = _per_row("noise_level", noise_level, num_rows)
        indices = _per_row("canvas", canvas, num_rows)
        seeds = _per_row("seeds", seeds, num_rows)
        frozen = [[False] * len(row) for row in tokens] if frozen is None else _per_row("frozen", frozen, num_rows)
        host_length_R = np.array([len(row) for row in tokens], dtype=np.int64)
        longest = int(host_length_R.max(initial=0))
        valid_RL = np.arange(longest) < host_length_R[:, None]
        host_given_RL, host_frozen_RL = np.zeros(valid_RL.shape, np.int64), np.zeros(valid_RL.shape, np.bool_)
        host_given_RL[valid_RL] = list(itertools.chain(*tokens))
        host_frozen_RL[valid_RL] = list(itertools.chain(*frozen))
        host_free_RL = valid_RL & ~host_frozen_RL
        columns = (host_length_R, host_given_RL, host_frozen_RL, host_free_RL)
        length_R, given_RL, frozen_RL, free_RL = (torch.tensor(column, device=device) for column in columns)
        seed_R = torch.tensor(seeds, dtype=torch.int64, device=device)
        canvas_R = torch.tensor(indices, dtype=torch.int64, device=device)
        t_start_R = torch.tensor(levels, dtype=torch.float32, device=device)

        position_L = torch.arange(longest, device=device)
        zero_R = torch.zeros_like(length_R)
        u_keep_RL = uniform(seed_R, canvas_R, zero_R, position_L, Stream.START_KEEP)
        u_noise_RL = uniform(seed_R, canvas_R, zero_R, position_L, Stream.START_NOISE)
        noised_RL = free_RL & (u_keep_RL >= process.alpha(t_start_R).unsqueeze(-1))
        noise_RL = process.noise(u_noise_RL, t_start_R)
        tokens_RL = torch.where(noised_RL, noise_RL, given_RL)
        if constraints is not None and not process.has_uniform:
            is_open = noised_RL.cpu().numpy()
            for row, constraint in enumerate(constraints):
                if constraint is not None and not constraint.is_possible(tokens[row], is_open[row]):
                    tokens_RL[row] = torch.where(free_RL[row], noise_RL[row], given_RL[row])
        none_RL = torch.zeros_like(frozen_RL)
        settings = RowSettings.from_configs(configs, device)
        return cls(
            settings=settings,
            tokens_RL=tokens_RL,
            frozen_RL=frozen_RL,
            host_free_RL=host_free_RL,
            host_length_R=host_length_R,
            draft_RL=tokens_RL,
            accepted_RL=none_RL,
            ever_accepted_RL=none_RL,
            settled_RL=none_RL,
            length_R=length_R,
            seed_R=seed_R,
            canvas_R=canvas_R,
            step_R=zero_R,
            block_step_R=zero_R,
            t_start_R=t_start_R,
            stable_R=zero_R,
            revisions_R=zero_R,
            done_R=~free_RL.any(-1),
            failed_R=torch.zeros_like(length_R, dtype=torch.bool),
            unsettled_R=torch.zeros_like(length_R, dtype=torch.bool),
            # A draft of one token saves nothing.
            verifying_R=settings.verifies_R.logical_and(length_R == 1),
            kept_R=length_R,
        )

    def __len__(self) -> int:
        """Number of rows."""
        return self.tokens_RL.shape[0]

    @cached_property
    def valid_RL(self) -> Tensor:
        """bool; positions that are not padding."""
        position_L = torch.arange(self.tokens_RL.shape[1], device=self.tokens_RL.device)
        return position_L < self.length_R.unsqueeze(-1)

    @cached_property
    def free_RL(self) -> Tensor:
        """bool; positions that are neither frozen nor padding."""
        return self.valid_RL & ~self.frozen_RL

    @cached_property
    def steps_R(self) -> Tensor:
        """int64; maximum steps of each row. A canvas of one position takes one step, because its noise carries no
        information."""
        return torch.where(self.length_R == 1, 1, self.settings.max_steps_R)

    @property
    def fixed(self) -> bool:
        """Whether any position is frozen or padding; decided on the host."""
        return not bool(self.host_free_RL.all())

    def hurried(self, rows: Sequence[int]) -> CanvasBatch:
        """The batch with the next step as the last one of some rows."""
        max_steps_R = self.settings.max_steps_R.clone()
        max_steps_R[rows] = self.step_R[rows] + 1
        settings = dataclasses.replace(self.settings, max_steps_R=max_steps_R)
        return dataclasses.replace(self, settings=settings)

    def noise_level(self, step_R: Tensor) -> Tensor:
        """t_R of a step: linear from t_start at step 0 to 0 after the last."""
        return self.t_start_R * (1.0 - step_R / self.steps_R).clamp_min(0.0)

    @property
    def temperature_R(self) -> Tensor:
        """Temperature of step n of N, linear in n, as in DiffusionGemma."""
        settings, left_R = self.settings, (self.steps_R - self.step_R) / self.steps_R
        left_R = torch.where(self.verifying_R, 0.0, left_R)
        return settings.temperature_end_R + (settings.temperature_start_R - settings.temperature_end_R) * left_R

    @property
    def greedy_R(self) -> Tensor:
        """bool; rows that take the argmax in this step."""
        tail_R = self.settings.greedy_tail_R
        return torch.where(self.verifying_R, tail_R > 0, self.step_R >= self.steps_R - tail_R)

    def uniforms(self, stream: Stream | Sequence[Stream]) -> Tensor:
        """u_RL: this step's uniforms on one stream, or u_RKL on several."""
        position_L = torch.arange(self.tokens_RL.shape[1], device=self.tokens_RL.device)
        drawn = uniform(self.seed_R, self.canvas_R, self.step_R, position_L, stream)
        if not self.settings.verifies:
            return drawn
        # The first step draws the same numbers as the one that verifies, so that more of its draft is kept.
        step_R = torch.where(self.verifying_R, 0, self.step_R)
        own = uniform_each(self.seed_R, self.canvas_R, step_R, position_L, stream).view_as(drawn)
        return torch.where(self.settings.verifies_R.view(-1, *[1] * (drawn.ndim - 1)), own, drawn)

    def select(self, rows: Sequence[int]) -> CanvasBatch:
        """The batch with only these rows, in this order."""
        index_R = torch.tensor(list(rows), dtype=torch.int64, device=self.tokens_RL.device)
        taken: dict[str, Any] = {
            name: value if value is None else value[index_R if isinstance(value, Tensor) else list(rows)]
            for name, value in self._fields().items()
            if name != "settings"
        }
        return CanvasBatch(settings=self.settings.select(rows, index_R), **taken)

    def trim(self) -> CanvasBatch:
        """The batch without padding that no row needs."""
        longest = int(self.host_length_R.max(initial=0))
        if longest == self.tokens_RL.shape[1]:
            return self
        cut = {
            name: value[:, :longest] for name, value in self._fields().items() if "_RL" in name and value is not None
        }
        return dataclasses.replace(self, **cut)

    def put(self, rows: Sequence[int], selected: CanvasBatch) -> CanvasBatch:
        """The batch with these rows replaced, in the same order."""
        index_R = torch.tensor(list(rows), dtype=torch.int64, device=self.tokens_RL.device)
        changed: dict[str, Any] = {}
        for name, value in selected._fields().items():
            if isinstance(value, Tensor):
                mine = getattr(self, name)
                mine = value.new_zeros(len(self), *value.shape[1:]) if mine is None else mine
                changed[name] = mine.index_copy(0, index_R, value)
        return dataclasses.replace(self, **changed)

    @staticmethod
    def concatenate(batches: Sequence[CanvasBatch]) -> CanvasBatch:
        """Concatenate batches on one device, padded to the longest canvas."""
        longest = max(batch.tokens_RL.shape[1] for batch in batches)
        soft = next((batch.soft_RLD for batch in batches if batch.soft_RLD is not None), None)
        columns: dict[str, list[Any]] = {}
        for batch in batches:
            for name, value in batch._fields().items():
                if name == "soft_RLD" and value is None and soft is not None:
                    value = soft.new_zeros(*batch.tokens_RL.shape, soft.shape[-1])
                if name != "settings" and value is not None:
                    columns.setdefault(name, []).append(_pad(value, longest) if "_RL" in name else value)
        joined: dict[str, Any] = {
            name: torch.cat(values) if isinstance(values[0], Tensor) else np.concatenate(values)
            for name, values in columns.items()
        }
        return CanvasBatch(settings=RowSettings.concatenate([batch.settings for batch in batches]), **joined)

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


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
    """The tokens to commit."""
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
            temperature=float(before.temperature_R[row]),
            sampled_L=host(self.statistics.sampled_RL),
            draft_L=host(self.batch.draft_RL),
            accepted_L=host(accepted_RL),
            decisive_L=host(decisive_RL),
            revised_L=host(self.revised_RL),
            confidence_L=host(self.statistics.confidence_RL),
        )

    def reading(self, row: int, inside: slice) -> dict[str, tuple[Any, ...]]:
        """What the step accepted and revised at some positions of a row, with confidence and entropy; 0 if the logits
        were invalid. Waits for the device."""
        columns = {
            "accepted": self.batch.accepted_RL,
            "revised": self.revised_RL,
            "confidence": self.statistics.confidence_RL.nan_to_num(),
            "entropy": self.statistics.entropy_RL.nan_to_num(),
        }
        return {name: tuple(values_RL[row, inside].tolist()) for name, values_RL in columns.items()}

    def finished(self) -> dict[int, FinishedCanvas]:
        """Finished canvases by row. Waits for the device."""
        batch = self.batch
        rows = [row for row, done in enumerate(batch.done_R.tolist()) if done]
        if not rows:
            return {}
        # Read together: one number takes a device as long as all of them.
        numbers_R = (batch.step_R, batch.revisions_R, batch.failed_R, batch.unsettled_R)
        columns = (batch.tokens_RL, self.statistics.confidence_RL.nan_to_num(), batch.kept_R, *numbers_R)
        tokens, confidence, kept, *numbers = [column.tolist() for column in columns]
        return {
            row: FinishedCanvas(
                tokens[row][: kept[row]],
                confidence[row],
                batch.host_free_RL[row, : kept[row]].nonzero()[0].tolist(),
                *(column[row] for column in numbers),
            )
            for row in rows
        }


def _per_row(name: str, value: T | Sequence[T], num_rows: int) -> list[T]:
    values = list(value) if isinstance(value, Sequence) else [value] * num_rows
    if len(values) != num_rows:
        raise RequestError(f"{name} has {len(values)} entries; allowed: one per canvas, here {num_rows}")
    return values


def _pad(value: Any, longest: int) -> Any:
    missing = longest - value.shape[1]
    if isinstance(value, np.ndarray):
        return np.pad(value, ((0, 0), (0, missing)))
    return torch.cat([value, value.new_zeros(value.shape[0], missing, *value.shape[2:])], dim=1) if missing else value
