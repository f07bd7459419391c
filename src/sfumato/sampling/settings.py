"""How rows are to be denoised: SamplerConfig as a request states it, RowSettings as a batch carries it.

A config is validated once, when the request is made; from then on its numbers live on the device, one entry
per row.
"""

# R rows

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import torch
from torch import Tensor

from sfumato.diffusion.process import Process
from sfumato.errors import RequestError, unknown

Sampler = Literal[
    "entropy",
    "threshold",
    "confidence",
    "margin",
    "certainty",
    "random",
    "edit",
    "ancestral",
    "remdm",
    "predictor-corrector",
]
RemaskSchedule = Literal["cap", "rescale"]
Budget = Literal["even", "truncated"]
Reuse = Literal["none", "settled", "block"]

SAMPLERS: tuple[str, ...] = get_args(Sampler)
# These follow the reverse process down to t = 0, where its draw is the sample; the others commit the draft.
REVERSE_SAMPLERS = ("ancestral", "remdm", "predictor-corrector")
# These accept a set number of positions each step, those with the highest score.
RANKING_SAMPLERS = ("confidence", "margin", "certainty", "random")
# What these accept depends on the tokens that were drawn; of the others, on the distributions or on chance alone.
LOOKING_SAMPLERS = ("confidence", "threshold", "edit")

MAX_STEPS = 1000


@dataclass(frozen=True, kw_only=True)
class SamplerConfig:
    """How one canvas is denoised.

    Raises:
        RequestError: if a field is outside what is allowed; the message names field, value and range.
    """

    name: Sampler = "entropy"
    """entropy and threshold accept what is sure enough and renoise the rest; confidence, margin, certainty (low
    entropy) and random accept a set number a step, in that order; edit fills masks like threshold and goes on changing
    what was filled; ancestral, remdm and predictor-corrector simulate the reverse process."""
    steps: int = 48
    """Most steps a canvas may take, 1 to 1000; 48 is DiffusionGemma's."""
    temperature_start: float = 1.0
    """Temperature of the first step, >= 0. 0 (and less than 1e-4) takes the argmax; the statistics are then
    those of temperature 1."""
    temperature_end: float = 1.0
    """Where the temperature heads, linearly, >= 0: step n of N has end + (start - end)(1 - n/N), n from 0, as
    in DiffusionGemma (0.8 to 0.4)."""
    top_p: float = 1.0
    """Sample from the smallest set of most probable tokens that holds this share, in (0, 1]; 1 is all of
    them."""
    top_k: int = 0
    """Sample from this many most probable tokens, before top_p; 0 is all of them."""
    greedy_tail: int = 0
    """Number of last steps that take the argmax in place of a sample, 0 to 1000 (Duo, arXiv 2506.10892)."""
    commit_sample: bool = False
    """Commit what the last step drew in place of the most probable tokens; so that every token of an answer is a draw,
    where rewards are learned from."""
    entropy_bound: float = 0.1
    """entropy: budget per step in nats, >= 0; infinity accepts everything. 0.1 is DiffusionGemma's."""
    threshold: float = 0.9
    """threshold, edit: accept tokens more probable than this, 0 to 1, and no fewer than an even share of the steps
    asks for; 0.9 is Fast-dLLM's."""
    edit_threshold: float = 0.9
    """edit: replace a token that was filled in by another one more probable than this, 0 to 1; 0.9 is LLaDA2.1's."""
    post_steps: int = 16
    """edit: most steps after the last mask is filled, 0 or more; 16 is LLaDA2.1's."""
    block_length: int = 0
    """Mask noise: decide the canvas in blocks of this many positions, from the left, each with its share of the steps
    (LLaDA's semi-autoregressive decoding); 0 decides it as one."""
    budget: Budget = "even"
    """How many positions confidence, margin, certainty and random accept: an even share a step (LLaDA, SDAR), or the
    share that the reverse process would decide, rounded down (Dream)."""
    remask: float = 0.008
    """remdm: eta, the strength of remasking, 0 to 1; 0 is the ancestral sampler. 0.008 is ReMDM's for its
    cap."""
    remask_schedule: RemaskSchedule = "cap"
    """remdm: with m = min(1, (1 - alpha_s) / alpha_t), cap remasks with probability min(eta, m), rescale with
    eta m."""
    corrector_k: int = 1
    """predictor-corrector: positions drawn again each step, 0 or more. It sharpens: keep k small against the
    canvas."""
    adaptive: bool = True
    """Finish before the last step when the stop rule says so; False takes exactly `steps` steps."""
    stable_steps: int = 1
    """Stop rule: steps for which the draft must not have changed, >= 0; 0 asks for confidence alone."""
    stop_entropy: float = 0.005
    """Stop rule: mean entropy over the free positions, in nats, must be below this; >= 0, and 0 never
    stops."""
    reuse: Reuse = "none"
    """What steps behind the first of a canvas leave out: keys, values and tokens stay as they were, and so does the
    text ahead, where it reads the canvas. "settled" leaves out positions that were accepted twice in a row with the
    same token, or under mask noise hold one (dKV-Cache, arXiv 2505.15781); "block", for mask noise, all but the block
    that is being decided, and begins each block with a step that computes everything (Fast-dLLM's dual cache, arXiv
    2505.22618). An approximation, unlike "none". Not for samplers that may open any position again."""
    refresh: int = 0
    """reuse: compute everything in every such step, 1 to 1000, counted within a block if it goes by blocks; 0 does so
    in the first step alone."""
    stop_probability: float = 0.5
    """Stop rule: a learned stop head, where there is one, must give more than this, 0 to 1."""

    def __post_init__(self) -> None:
        if self.name not in SAMPLERS:
            raise RequestError(unknown("sampler", str(self.name), SAMPLERS))
        if self.remask_schedule not in get_args(RemaskSchedule):
            raise RequestError(unknown("remask_schedule", str(self.remask_schedule), get_args(RemaskSchedule)))
        for field, values in (("budget", get_args(Budget)), ("reuse", get_args(Reuse))):
            if getattr(self, field) not in values:
                raise RequestError(unknown(field, str(getattr(self, field)), values))
        infinity = float("inf")
        for field, low, high in (
            ("steps", 1, MAX_STEPS),
            ("greedy_tail", 0, MAX_STEPS),
            ("refresh", 0, MAX_STEPS),
            ("corrector_k", 0, 2**31 - 1),
            ("top_k", 0, 2**31 - 1),
            ("post_steps", 0, MAX_STEPS),
            ("block_length", 0, 2**20),
            ("stable_steps", 0, MAX_STEPS),
        ):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise RequestError(f"{field} is {value!r}; allowed: a whole number, {low} to {high}")
        for field, upper in (
            ("temperature_start", infinity),
            ("temperature_end", infinity),
            ("entropy_bound", infinity),
            ("threshold", 1.0),
            ("edit_threshold", 1.0),
            ("remask", 1.0),
            ("stop_entropy", infinity),
            ("stop_probability", 1.0),
        ):
            value = getattr(self, field)
            if (
                not _is_number(value)
                or not 0.0 <= value <= upper
                or (value == infinity and field.startswith("temperature"))
            ):
                raise RequestError(f"{field} is {value!r}; allowed: 0 {'or more' if upper == infinity else 'to 1'}")
        if self.refresh and self.reuse == "none":
            raise RequestError(f"refresh is {self.refresh} and reuse 'none'; allowed: with reuse 'settled' or 'block'")
        if not _is_number(self.top_p) or not 0.0 < self.top_p <= 1.0:
            raise RequestError(f"top_p is {self.top_p!r}; allowed: more than 0, at most 1")

    @property
    def rule(self) -> int:
        """Index of the sampler in SAMPLERS."""
        return SAMPLERS.index(self.name)

    @property
    def truncated(self) -> bool:
        """True for Dream's budget."""
        return self.budget == "truncated"

    @property
    def rescale(self) -> bool:
        """True for the rescaled schedule of remdm."""
        return self.remask_schedule == "rescale"

    @property
    def by_block(self) -> bool:
        """True if all but a block is left out."""
        return self.reuse == "block"

    @property
    def every(self) -> int:
        """One step in so many computes everything."""
        return 1 if self.reuse == "none" else self.refresh or MAX_STEPS + 1

    def check(self, process: Process) -> None:
        """Refuse a sampler that the noise cannot carry.

        Raises:
            RequestError: naming the sampler, the noise it needs and what to use instead.
        """
        if self.reuse != "none" and self.name in (*REVERSE_SAMPLERS, "edit"):
            raise RequestError(
                f"reuse is {self.reuse!r} and the sampler {self.name!r} may open any position in any step; allowed: "
                "reuse 'none', or a sampler that keeps what it has accepted, such as 'entropy'"
            )
        if self.by_block and process.has_uniform:
            raise RequestError(
                "reuse is 'block', which goes by what still holds the mask; allowed: 'none' or 'settled', or a model "
                "with mask noise only"
            )
        if self.name == "remdm" and (process.mask_id is None or process.has_uniform):
            raise RequestError(
                "sampler 'remdm' puts tokens back to the mask; allowed: models with mask noise only. Under "
                "uniform noise every sampler revises: use 'entropy' or 'ancestral'"
            )
        if process.has_uniform and (self.name == "edit" or self.block_length):
            given = "sampler 'edit'" if self.name == "edit" else f"block_length {self.block_length}"
            raise RequestError(
                f"{given} goes by which positions still hold the mask; allowed: models with mask noise only. Under "
                "uniform noise every sampler revises: use 'entropy'"
            )
        if self.name == "predictor-corrector" and process.mask_id is not None:
            raise RequestError(
                "sampler 'predictor-corrector' draws from uniform noise; allowed: models with uniform noise "
                "only. Under mask noise use 'remdm' or 'ancestral'"
            )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_FLOATS = {field.name for field in dataclasses.fields(SamplerConfig) if field.type == "float"}


@dataclass(frozen=True, kw_only=True)
class RowSettings:
    """The SamplerConfig of each row, as tensors, so that rows with different settings share a step."""

    configs: tuple[SamplerConfig, ...]
    """The settings as they were given; on the host, so that asking which rules occur needs no device."""
    rule_R: Tensor
    steps_R: Tensor
    temperature_start_R: Tensor
    temperature_end_R: Tensor
    top_p_R: Tensor
    top_k_R: Tensor
    greedy_tail_R: Tensor
    entropy_bound_R: Tensor
    threshold_R: Tensor
    edit_threshold_R: Tensor
    post_steps_R: Tensor
    block_length_R: Tensor
    truncated_R: Tensor
    remask_R: Tensor
    rescale_R: Tensor
    corrector_k_R: Tensor
    commit_sample_R: Tensor
    adaptive_R: Tensor
    stable_steps_R: Tensor
    stop_entropy_R: Tensor
    by_block_R: Tensor
    every_R: Tensor
    stop_probability_R: Tensor

    @classmethod
    def from_configs(cls, configs: Sequence[SamplerConfig], device: torch.device | str | None = None) -> RowSettings:
        """Lay the configs of R rows out as tensors on a device."""
        columns = {}
        for name in _columns():
            values = [getattr(config, name.removesuffix("_R")) for config in configs]
            # A float field may hold a whole number; its column must not become integer.
            dtype = torch.float32 if name.removesuffix("_R") in _FLOATS else None
            columns[name] = torch.tensor(values, dtype=dtype, device=device)
        return cls(configs=tuple(configs), **columns)

    def select(self, rows: Sequence[int], index_R: Tensor) -> RowSettings:
        """The settings of some rows; index_R holds the same rows, on the device."""
        columns = {name: getattr(self, name)[index_R] for name in _columns()}
        return RowSettings(configs=tuple(self.configs[row] for row in rows), **columns)

    @classmethod
    def concatenate(cls, parts: Sequence[RowSettings]) -> RowSettings:
        """The settings of several batches, one after the other."""
        columns = {name: torch.cat([getattr(part, name) for part in parts]) for name in _columns()}
        return cls(configs=tuple(config for part in parts for config in part.configs), **columns)

    def has(self, *names: str) -> bool:
        """True if any row uses one of these samplers; decided on the host."""
        return not self._names.isdisjoint(names)

    def uses(self, *names: str) -> Tensor:
        """bool_R: which rows use one of these samplers."""
        used_R = torch.zeros_like(self.adaptive_R)
        for name in names:
            used_R = used_R | (self.rule_R == SAMPLERS.index(name))
        return used_R

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(config.name for config in self.configs)

    @cached_property
    def cuts(self) -> bool:
        """True if any row cuts the distribution by top_k or top_p; decided on the host."""
        return any(config.top_p < 1.0 or config.top_k > 0 for config in self.configs)

    @cached_property
    def reuses(self) -> bool:
        """True if any row leaves positions out; decided on the host."""
        return any(config.reuse != "none" for config in self.configs)

    def temperature_at(self, step_R: Tensor, steps_R: Tensor) -> Tensor:
        """Temperature of step n of N, linear in n, as in DiffusionGemma."""
        left_R = (steps_R - step_R) / steps_R
        return self.temperature_end_R + (self.temperature_start_R - self.temperature_end_R) * left_R


def _columns() -> list[str]:
    return [field.name for field in dataclasses.fields(RowSettings) if field.name != "configs"]
