"""SamplerConfig: how a request wants its canvases denoised, validated once when it is created; RowSettings: those of a
batch as tensors."""

# R rows

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from sfumato.config import check_choice, check_number
from sfumato.diffusion.process import Process
from sfumato.errors import RequestError
from sfumato.sampling.samplers.base import Entropy, Sampler, find_sampler, samplers

Reuse = Literal["none", "settled", "block"]

MAX_STEPS = 1000
MAX_TEMPERATURE = 1000.0


@dataclass(frozen=True, kw_only=True)
class SamplerConfig:
    """How one canvas is denoised: the sampler, and the settings shared by all samplers.

    Raises:
        RequestError: if a field is not allowed; names the field, value and range.
    """

    sampler: Sampler = Entropy()
    """The sampler, with its own settings."""
    steps: int = 48
    """Maximum steps per canvas, 1 to 1000; 48 is DiffusionGemma's."""
    temperature_start: float = 1.0
    """Temperature of the first step, 0 to 1000. 0 (and less than 1e-4) takes the argmax; the statistics are then those
    of temperature 1."""
    temperature_end: float = 1.0
    """Temperature that the schedule ends at, linearly, 0 to 1000: step n of N has end + (start - end)(1 - n/N), n from
    0, as in DiffusionGemma (0.8 to 0.4)."""
    top_p: float = 1.0
    """Sample from the smallest set of most probable tokens with this share of the probability, in (0, 1]; 1 is all of
    them."""
    top_k: int = 0
    """Sample from this many most probable tokens, before top_p; 0 is all of them."""
    greedy_tail: int = 0
    """Number of last steps that take the argmax instead of a sample, 0 to 1000 (Duo, arXiv 2506.10892)."""
    commit_sample: bool = False
    """Commit the last step's samples instead of the most probable tokens, so that every answer token is a draw, as
    learning from rewards needs."""
    draft_steps: int = 0
    """0 commits a canvas as it is. Otherwise a canvas of at most this many steps is a draft that the model verifies: it
    reads the draft as text, from left to right, draws the next token at each position, and commits these tokens up to
    and including the first one that differs from the draft. So the answer and its probabilities are those of the
    autoregressive model at `temperature_end`; canvas length and steps affect only the speed. For models that predict
    the next token (`GenerationSpec.next_token`); answers with a start or revisit are not verified.

    Source: Leviathan et al. 2023, arXiv 2211.17192 (speculative decoding); TiDAR, arXiv 2511.08923 (one model drafts by
    diffusion and verifies from left to right)."""
    block_length: int = 0
    """Mask noise: decide the canvas in blocks of this many positions from the left, each with its share of the steps
    (LLaDA's semi-autoregressive decoding); 0 decides it as a whole."""
    adaptive: bool = True
    """Finish before the last step when the stop rule is met; False takes exactly `steps` steps."""
    stable_steps: int = 1
    """Stop rule: steps in a row without a draft change, >= 0; 0 requires only confidence."""
    stop_entropy: float = 0.005
    """Stop rule: the mean entropy over free positions, in nats, must be below this; >= 0, and 0 never stops."""
    reuse: Reuse = "none"
    """What steps after a canvas's first may skip, keeping its tokens, keys and values, and those of the text if it
    reads the canvas. "settled" skips positions accepted twice in a row with the same token, or under mask noise all
    filled ones (dKV-Cache, arXiv 2505.15781). "block", for mask noise, skips all but the current block and starts each
    block with a full step (Fast-dLLM's dual cache, arXiv 2505.22618). An approximation, unlike "none". Not for samplers
    that may reopen any position."""
    refresh: int = 0
    """With reuse: interval of full steps, 1 to 1000, counted within a block under "block"; 0 makes only the first step
    full."""
    stop_probability: float = 0.5
    """Stop rule: a learned stop head, if there is one, must exceed this probability, 0 to 1; 1 turns it
    off."""

    def __post_init__(self) -> None:
        if not isinstance(self.sampler, Sampler):
            raise RequestError(f"sampler is {self.sampler!r}; allowed: a name, or an object of a Sampler class")
        check_choice("reuse", self.reuse, get_args(Reuse))
        for name in ("commit_sample", "adaptive"):
            if not isinstance(getattr(self, name), bool):
                raise RequestError(f"{name} is {getattr(self, name)!r}; allowed: True or False")
        for name, low in (("steps", 1), ("greedy_tail", 0), ("refresh", 0), ("stable_steps", 0), ("draft_steps", 0)):
            check_number(name, getattr(self, name), low, MAX_STEPS, whole=True)
        check_number("top_k", self.top_k, 0, 2**31 - 1, whole=True)
        check_number("block_length", self.block_length, 0, 2**20, whole=True)
        for name in ("temperature_start", "temperature_end"):
            check_number(name, getattr(self, name), 0, MAX_TEMPERATURE)
        check_number("top_p", self.top_p, 0, 1, above=True)
        check_number("stop_entropy", self.stop_entropy, 0, math.inf)
        check_number("stop_probability", self.stop_probability, 0, 1)
        if self.draft_steps and (self.reuse != "none" or self.commit_sample):
            other = "commit_sample" if self.commit_sample else f"reuse {self.reuse!r}"
            raise RequestError(f"draft_steps is {self.draft_steps} with {other}; allowed: one of them")
        if self.refresh and self.reuse == "none":
            raise RequestError(
                f"refresh is {self.refresh} but reuse is 'none'; allowed: with reuse 'settled' or 'block'"
            )

    @classmethod
    def of(cls, settings: Mapping[str, object], base: SamplerConfig | None = None) -> SamplerConfig:
        """Build a config from one flat table of settings, as in requests, recipes and generation_config.json.

        Args:
            settings: the sampler as `name`, and fields of it and of this class.
            base: defaults; a different sampler starts from its own defaults.

        Raises:
            RequestError: naming a setting that is unknown, or that the sampler does not have.
        """
        base = base or cls()
        sampler_settings: dict[str, Any] = dict(settings)
        common: dict[str, Any] = {}
        name = sampler_settings.pop("name", base.sampler.name)
        kind = type(base.sampler) if name == base.sampler.name else find_sampler(str(name))
        for key in _COMMON & sampler_settings.keys():
            common[key] = sampler_settings.pop(key)
        fields = [field.name for field in dataclasses.fields(kind)]
        for key in sampler_settings:
            if key not in fields:
                check_settings([key], kind)
                has = f"its settings are {', '.join(fields)}" if fields else "it has no settings"
                raise RequestError(f"sampler {kind.name!r} has no {key}; {has}, and those that all samplers share")
        try:
            sampler = (
                dataclasses.replace(base.sampler, **sampler_settings)
                if kind is type(base.sampler)
                else kind(**sampler_settings)
            )
        except TypeError as error:
            # From its `__post_init__`, for a value of another type.
            raise RequestError(f"sampler {kind.name!r} with {sampler_settings}: {error}") from error
        if kind.reverse and not base.sampler.reverse:
            # The defaults of a model that writes block by block do not suit it.
            common.setdefault("block_length", 0)
        return dataclasses.replace(base, sampler=sampler, **common)

    @property
    def verifies(self) -> bool:
        """Whether canvases are drafts to verify."""
        return self.draft_steps > 0

    @property
    def max_steps(self) -> int:
        """Maximum steps of a canvas, or of a draft."""
        return min(self.steps, self.draft_steps) if self.verifies else self.steps

    @property
    def by_block(self) -> bool:
        """Whether all but the current block is skipped."""
        return self.reuse == "block"

    @property
    def every(self) -> int:
        """Interval of full steps."""
        return 1 if self.reuse == "none" else self.refresh or MAX_STEPS + 1

    def check(self, process: Process) -> None:
        """Refuse settings that the noise does not support.

        Raises:
            RequestError: naming the setting, the noise it needs and an alternative.
        """
        if self.reuse != "none" and self.sampler.reopens:
            raise RequestError(
                f"reuse is {self.reuse!r} but the sampler {self.sampler.name!r} may reopen any "
                "position in any step; allowed: reuse 'none', or a sampler that keeps what it has "
                "accepted, such as 'entropy'"
            )
        if self.by_block and process.has_uniform:
            raise RequestError(
                "reuse is 'block', which depends on the positions that still hold the mask; allowed: "
                "'none' or 'settled', or a model with mask noise only"
            )
        if self.block_length and process.has_uniform:
            raise RequestError(
                f"block_length {self.block_length} depends on the positions that still hold the mask; "
                "allowed: models with mask noise only. Under uniform noise every sampler revises: "
                "use 'entropy'"
            )
        if self.block_length and self.sampler.reverse:
            raise RequestError(
                f"block_length is {self.block_length} but the sampler {self.sampler.name!r} moves every position in "
                "every step; allowed: block_length 0, or a sampler that decides, such as 'confidence'"
            )
        self.sampler.check(process)


_COMMON = {field.name for field in dataclasses.fields(SamplerConfig)} - {"sampler"}


def usable_samplers(process: Process) -> list[str]:
    """Names of the registered samplers that support the noise."""

    def supports(kind: type[Sampler]) -> bool:
        try:
            kind().check(process)
        except RequestError:
            return False
        return True

    return [name for name, kind in samplers().items() if supports(kind)]


def setting_names() -> set[str]:
    """Setting names allowed in a flat table."""
    return {"name", *_COMMON} | sampler_setting_names()


def sampler_setting_names() -> set[str]:
    """Names of the settings that only some samplers have."""
    return {field.name for kind in samplers().values() for field in dataclasses.fields(kind)}


def check_settings(
    settings: Iterable[str], sampler: type[Sampler] = Entropy, *, options: frozenset[str] = frozenset()
) -> None:
    """Refuse names that are not settings of the sampler or of any registered one.

    Args:
        options: what else the caller could have given; named in the error.

    Raises:
        RequestError: naming the first unknown one, and the nearest known name.
    """
    allowed = (setting_names() - {"name"}) | {field.name for field in dataclasses.fields(sampler)}
    for key in settings:
        check_choice("option" if options else "setting", key, allowed | options)


_FLOATS = {field.name for field in dataclasses.fields(SamplerConfig) if field.type == "float"}


@dataclass(frozen=True, kw_only=True)
class RowSettings:
    """The SamplerConfig of each row as tensors, so that rows with different settings share a step."""

    configs: tuple[SamplerConfig, ...]
    """The configs as given, on the host, so that listing the samplers needs no device."""
    max_steps_R: Tensor
    temperature_start_R: Tensor
    temperature_end_R: Tensor
    top_p_R: Tensor
    top_k_R: Tensor
    greedy_tail_R: Tensor
    block_length_R: Tensor
    commit_sample_R: Tensor
    verifies_R: Tensor
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
        return [(one, torch.tensor(which, device=self.max_steps_R.device)) for one, which in rows.items()]

    @cached_property
    def reads_decided(self) -> bool:
        """Whether any row's sampler needs statistics of visible tokens; decided on the host."""
        return any(config.sampler.reads_decided for config in self.configs)

    @cached_property
    def cuts(self) -> bool:
        """Whether any row uses top_k or top_p; decided on the host."""
        return any(config.top_p < 1.0 or config.top_k > 0 for config in self.configs)

    @cached_property
    def adapts(self) -> bool:
        """Whether any row may stop before its last step; decided on the host."""
        return any(config.adaptive for config in self.configs)

    @cached_property
    def verifies(self) -> bool:
        """Whether any row is verified; decided on the host."""
        return any(config.verifies for config in self.configs)

    @cached_property
    def reuses(self) -> bool:
        """Whether any row skips positions; decided on the host."""
        return any(config.reuse != "none" for config in self.configs)


def _columns() -> list[str]:
    return [field.name for field in dataclasses.fields(RowSettings) if field.name != "configs"]
