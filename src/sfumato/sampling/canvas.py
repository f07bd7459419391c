"""CanvasBatch: the state of all canvases being denoised together.

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
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from sfumato.diffusion.process import Process
from sfumato.errors import RequestError
from sfumato.sampling.config import SamplerConfig
from sfumato.sampling.constraint import Constraint
from sfumato.sampling.rng import Stream, uniform
from sfumato.sampling.samplers.base import Sampler

T = TypeVar("T")

_FLOATS = {field.name for field in dataclasses.fields(SamplerConfig) if field.type == "float"}


@dataclass(frozen=True, kw_only=True)
class RowSettings:
    """The SamplerConfig of each row as tensors, so that rows with different settings share a step."""

    configs: tuple[SamplerConfig, ...]
    """The configs as given, on the host, so that listing the samplers needs no device."""
    steps_R: Tensor
    temperature_start_R: Tensor
    temperature_end_R: Tensor
    top_p_R: Tensor
    top_k_R: Tensor
    greedy_tail_R: Tensor
    block_length_R: Tensor
    commit_sample_R: Tensor
    adaptive_R: Tensor
    stable_steps_R: Tensor
    stop_entropy_R: Tensor
    by_block_R: Tensor
    every_R: Tensor
    stop_probability_R: Tensor
    reverse_R: Tensor
    by_schedule_R: Tensor
    reads_decided_R: Tensor

    @classmethod
    def from_configs(cls, configs: Sequence[SamplerConfig], device: torch.device | str | None = None) -> RowSettings:
        """Turn the configs of R rows into tensors on a device."""
        columns = {}
        for name in _columns():
            field = name.removesuffix("_R")
            owners = configs if hasattr(SamplerConfig, field) else [config.sampler for config in configs]
            # A float field may hold an int; its column must not become integer.
            dtype = torch.float32 if field in _FLOATS else None
            values = [getattr(owner, field) for owner in owners]
            columns[name] = torch.tensor(values, dtype=dtype, device=device)
        return cls(configs=tuple(configs), **columns)

    def select(self, rows: Sequence[int], index_R: Tensor) -> RowSettings:
        """The settings of some rows; index_R holds the same rows on the device."""
        columns = {name: getattr(self, name)[index_R] for name in _columns()}
        return RowSettings(configs=tuple(self.configs[row] for row in rows), **columns)

    @classmethod
    def concatenate(cls, parts: Sequence[RowSettings]) -> RowSettings:
        """Concatenate the settings of several batches."""
        columns = {name: torch.cat([getattr(part, name) for part in parts]) for name in _columns()}
        return cls(configs=tuple(config for part in parts for config in part.configs), **columns)

    @cached_property
    def groups(self) -> list[tuple[Sampler, Tensor | None]]:
        """Each sampler in the batch with its rows as int64 indices; None for all rows."""
        rows: dict[Sampler, list[int]] = {}
        for row, config in enumerate(self.configs):
            rows.setdefault(config.sampler, []).append(row)
        if len(rows) == 1:
            return [(sampler, None) for sampler in rows]
        return [(one, torch.tensor(which, device=self.steps_R.device)) for one, which in rows.items()]

    @cached_property
    def reads_decided(self) -> bool:
        """Whether any row's sampler needs statistics of visible tokens; decided on the host."""
        return any(config.sampler.reads_decided for config in self.configs)

    @cached_property
    def cuts(self) -> bool:
        """Whether any row uses top_k or top_p; decided on the host."""
        return any(config.top_p < 1.0 or config.top_k > 0 for config in self.configs)

    @cached_property
    def reuses(self) -> bool:
        """Whether any row skips positions; decided on the host."""
        return any(config.reuse != "none" for config in self.configs)

    @cached_property
    def adapts(self) -> bool:
        """Whether any row may stop before its last step; decided on the host."""
        return any(config.adaptive for config in self.configs)

    def temperature_at(self, step_R: Tensor, steps_R: Tensor) -> Tensor:
        """Temperature of step n of N, linear in n, as in DiffusionGemma."""
        left_R = (steps_R - step_R) / steps_R
        return self.temperature_end_R + (self.temperature_start_R - self.temperature_end_R) * left_R


def _columns() -> list[str]:
    return [field.name for field in dataclasses.fields(RowSettings) if field.name != "configs"]


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
    """Number of positions that are neither frozen nor padding, on the host."""
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
            canvas: index of the canvas within its request, for all rows or per row.
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
        noised_RL = free_RL & (u_keep_RL >= process.schedule.alpha(t_start_R).unsqueeze(-1))
        noise_RL = process.noise(u_noise_RL, t_start_R)
        tokens_RL = torch.where(noised_RL, noise_RL, given_RL)
        if constraints is not None and not process.has_uniform:
            is_open = noised_RL.cpu().numpy()
            for row, constraint in enumerate(constraints):
                if constraint is not None and not constraint.is_possible(tokens[row], is_open[row]):
                    tokens_RL[row] = torch.where(free_RL[row], noise_RL[row], given_RL[row])
        none_RL = torch.zeros_like(frozen_RL)
        return cls(
            settings=RowSettings.from_configs(configs, device),
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
        return torch.where(self.length_R == 1, 1, self.settings.steps_R)

    @property
    def fixed(self) -> bool:
        """Whether any position is frozen or padding; decided on the host."""
        return not bool(self.host_free_RL.all())

    def noise_level(self, step_R: Tensor) -> Tensor:
        """t_R of a step: linear from t_start at step 0 to 0 after the last."""
        return self.t_start_R * (1.0 - step_R / self.steps_R).clamp_min(0.0)

    def uniforms(self, stream: Stream | Sequence[Stream]) -> Tensor:
        """u_RL: this step's uniforms on one stream, or u_RKL on several."""
        position_L = torch.arange(self.tokens_RL.shape[1], device=self.tokens_RL.device)
        return uniform(self.seed_R, self.canvas_R, self.step_R, position_L, stream)

    def select(self, rows: Sequence[int]) -> CanvasBatch:
        """The batch with only these rows, in this order."""
        index_R = torch.tensor(list(rows), dtype=torch.int64, device=self.tokens_RL.device)
        taken = {
            name: value[index_R] if isinstance(value, Tensor) else value
            for name, value in self._fields().items()
            if name != "settings" and not name.startswith("host_")
        }
        return CanvasBatch(
            settings=self.settings.select(rows, index_R),
            host_free_RL=self.host_free_RL[list(rows)],
            host_length_R=self.host_length_R[list(rows)],
            **taken,
        )

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
        columns: dict[str, list[Tensor]] = {}
        for batch in batches:
            for name, value in batch._fields().items():
                if name == "soft_RLD" and value is None and soft is not None:
                    value = soft.new_zeros(*batch.tokens_RL.shape, soft.shape[-1])
                if isinstance(value, Tensor):
                    columns.setdefault(name, []).append(_pad(value, longest) if "_RL" in name else value)
        joined = {name: torch.cat(values) for name, values in columns.items()}
        settings = RowSettings.concatenate([batch.settings for batch in batches])
        free = [np.pad(b.host_free_RL, ((0, 0), (0, longest - b.host_free_RL.shape[1]))) for b in batches]
        host_length_R = np.concatenate([batch.host_length_R for batch in batches])
        return CanvasBatch(settings=settings, host_free_RL=np.concatenate(free), host_length_R=host_length_R, **joined)

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def _per_row(name: str, value: T | Sequence[T], num_rows: int) -> list[T]:
    values = list(value) if isinstance(value, Sequence) else [value] * num_rows
    if len(values) != num_rows:
        raise RequestError(f"{name} has {len(values)} entries; allowed: one per canvas, here {num_rows}")
    return values


def _pad(value: Tensor, longest: int) -> Tensor:
    missing = longest - value.shape[1]
    return torch.cat([value, value.new_zeros(value.shape[0], missing, *value.shape[2:])], dim=1) if missing else value
