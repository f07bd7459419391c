"""What a sampler is: a rule that says, of one step, what is accepted and what the next step reads; and the default.

A rule chooses among the *candidates* of a row: the free positions that can still be decided. Under noise with a uniform
share those are all free positions, at every step, so nothing is final before the commit; under mask noise they are the
positions that still hold the mask, so accepted tokens stay. Rules are pure functions of a step, batched over the rows
that share them, with no branch on a tensor's value.
"""

# R rows, L canvas, V vocab, N positions that were read

from __future__ import annotations

import dataclasses
import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from sfumato.diffusion.process import Process
from sfumato.errors import RequestError, unknown
from sfumato.sampling.logits import Statistics
from sfumato.sampling.rng import Stream


class Decision(NamedTuple):
    """What a step does to the canvases of some rows."""

    accepted_RL: Tensor
    """bool; free positions whose sampled token is kept."""
    next_RL: Tensor
    """int64; what the next step reads."""


@dataclass(frozen=True, kw_only=True)
class StepLogits:
    """The logits of a step, of all rows of the batch, for samplers that need more than their statistics."""

    logits_NV: Tensor
    """At the positions in question."""
    index_N: Tensor
    """int64; which these are, as indices into [R, L] laid flat, ascending."""
    tokens_RL: Tensor
    """int64; what the denoiser read."""
    draw: Callable[[Tensor, Stream], Tensor]
    """Sample tokens [R, L] from other logits [N, V] at the same positions."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One step of the rows that share a sampler."""

    process: Process
    """The noise."""
    statistics: Statistics
    """What the denoiser says of each position."""
    tokens_RL: Tensor
    """int64; what it read."""
    free_RL: Tensor
    """bool; positions that are neither frozen nor padding."""
    candidates_RL: Tensor
    """bool; free positions of the block in work that can still be decided."""
    count_R: Tensor
    """int64; free positions of the block in work."""
    step_R: Tensor
    """int64; index of this step within the block."""
    steps_R: Tensor
    """int64; steps that the block has."""
    t_R: Tensor
    """float32; noise level of what was read."""
    s_R: Tensor
    """float32; noise level of what the next step reads."""
    uniforms: Callable[[Stream], Tensor]
    """This step's uniforms [R, L] on a stream, for all rows of the batch."""
    logits: StepLogits
    """Of all rows of the batch."""
    rows: Tensor | None = None
    """int64; which rows of the batch these are; None for all."""

    def draw(self, stream: Stream) -> Tensor:
        """u_RL: uniforms of these rows."""
        return self.select(self.uniforms(stream))

    @property
    def noise_RL(self) -> Tensor:
        """int64; noise of the level that the next step reads."""
        return self.process.noise(self.draw(Stream.RENOISE), self.s_R)

    def select(self, values: Tensor) -> Tensor:
        """These rows of what is known of all rows."""
        return values if self.rows is None else values[self.rows]

    def spread(self, values_RL: Tensor, others_RL: Tensor) -> Tensor:
        """What is known of these rows, with other values in all other rows."""
        return values_RL if self.rows is None else others_RL.index_copy(0, self.rows, values_RL)

    def of(self, rows: Tensor) -> Turn:
        """The turn of some of all rows."""
        taken = {
            name: getattr(self, name)[rows]
            for name in ("tokens_RL", "free_RL", "candidates_RL", "count_R", "step_R", "steps_R", "t_R", "s_R")
        }
        statistics = Statistics(*(one[rows] for one in self.statistics))
        return dataclasses.replace(self, statistics=statistics, rows=rows, **taken)


@dataclass(frozen=True, kw_only=True)
class Sampler(ABC):
    """A rule and its settings; subclasses are frozen dataclasses, whose fields are settings of a request.

    A subclass gives `accept`, or overrides `decide`. It is used by its `name` once it is registered (`register`), or as
    "package.module:Class".
    """

    name: ClassVar[str]
    reverse: ClassVar[bool] = False
    """Whether it follows the reverse process down to t = 0, where its draw is the sample; other samplers commit the
    draft."""
    by_schedule: ClassVar[bool] = False
    """Whether the last of its steps is the end as it should be, as it decides a set share of the canvas in each; other
    samplers ought to meet their stop rule first."""
    reopens: ClassVar[bool] = False
    """Whether it may change any free position in any step."""
    reads_decided: ClassVar[bool] = False
    """Whether it wants to know, under mask noise, what the denoiser makes of tokens that stand."""
    accepts_by_draw: ClassVar[bool] = False
    """Whether what it accepts depends on the tokens that were drawn, and not on the distributions or on chance
    alone."""

    def check(self, process: Process) -> None:  # noqa: B027
        """Refuse noise that it cannot carry.

        Raises:
            RequestError: naming the noise it needs, and what to use instead.
        """

    @abstractmethod
    def accept(self, turn: Turn) -> Tensor:
        """accepted_RL: bool, candidates whose sampled token is kept; at least one where there is a candidate."""

    def decide(self, turn: Turn) -> Decision:
        """Accept, and put the other candidates back to noise."""
        accepted_RL = self.accept(turn)
        next_RL = torch.where(accepted_RL, turn.statistics.sampled_RL, turn.noise_RL)
        return Decision(accepted_RL, torch.where(turn.candidates_RL, next_RL, turn.tokens_RL))

    def is_finished(self, turn: Turn, decision: Decision) -> Tensor:
        """bool_R: rows for which further steps would change nothing; asked under mask noise alone."""
        return ~has_mask(turn, decision.next_RL)


def has_mask(turn: Turn, tokens_RL: Tensor) -> Tensor:
    """bool_R: rows with a mask at a free position."""
    return (turn.free_RL & (tokens_RL == turn.process.mask_id)).any(-1)


def pick_highest(score_RL: Tensor, candidates_RL: Tensor, count_R: Tensor) -> Tensor:
    """Pick each row's count_R candidates with the highest score, fewer if it has fewer; the first of equals wins."""
    order_RL = score_RL.masked_fill(~candidates_RL, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    rank_L = torch.arange(score_RL.shape[-1], device=score_RL.device)
    within_RL = rank_L < count_R.unsqueeze(-1)
    return torch.zeros_like(candidates_RL).scatter(-1, order_RL, within_RL) & candidates_RL


def even_share(turn: Turn) -> Tensor:
    """share_R: how many of F positions step n of N decides: F // N, and one more in the first F mod N steps (LLaDA)."""
    return turn.count_R // turn.steps_R + (turn.step_R < turn.count_R % turn.steps_R).long()


def check_number(name: str, value: object, low: float, high: float, *, whole: bool = False) -> None:
    """Refuse a setting that is no number within its range.

    Raises:
        RequestError: naming the setting, its value and the range.
    """
    number = not isinstance(value, bool) and isinstance(value, int if whole else (int, float))
    if number and low <= value <= high:  # type: ignore[operator]
        return
    if whole:
        raise RequestError(f"{name} is {value!r}; allowed: a whole number, {low} to {high}")
    raise RequestError(f"{name} is {value!r}; allowed: {low:g} {'or more' if high == math.inf else f'to {high:g}'}")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a setting that is none of some words.

    Raises:
        RequestError: naming the nearest.
    """
    if value not in allowed:
        raise RequestError(unknown(name, str(value), allowed))


_REGISTRY: dict[str, type[Sampler]] = {}


def register(cls: type[Sampler]) -> type[Sampler]:
    """Make a sampler known by its name; a decorator."""
    _REGISTRY[cls.name] = cls
    return cls


def samplers() -> Mapping[str, type[Sampler]]:
    """All that are registered, by name."""
    return _REGISTRY


def find_sampler(name: str) -> type[Sampler]:
    """A sampler by its name, or by "package.module:Class".

    Raises:
        RequestError: if there is none of that name, or the class is no sampler.
    """
    if name in _REGISTRY:
        return _REGISTRY[name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise RequestError(unknown("sampler", name, tuple(_REGISTRY)))
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError(f"sampler {name!r} cannot be imported: {error}") from None
    if not (isinstance(found, type) and issubclass(found, Sampler)):
        raise RequestError(f"sampler {name!r} is no subclass of sfumato.Sampler")
    return found


@register
@dataclass(frozen=True, kw_only=True)
class Entropy(Sampler):
    """Accept each row's lowest-entropy candidates while (cumulative entropy - own) <= bound, and renoise the rest.

    The left side bounds the mutual information of the accepted tokens, given that they are drawn independently.

    Source: Ben-Hamu et al. 2025, arXiv 2505.24857, section 4; DiffusionGemma's sampler.
    """

    name = "entropy"
    entropy_bound: float = 0.1
    """Budget per step in nats, >= 0; infinity accepts everything. 0.1 is DiffusionGemma's."""

    def __post_init__(self) -> None:
        check_number("entropy_bound", self.entropy_bound, 0, math.inf)

    def accept(self, turn: Turn) -> Tensor:
        return accept_by_entropy(turn.statistics.entropy_RL, turn.candidates_RL, self.entropy_bound)


def accept_by_entropy(entropy_RL: Tensor, candidates_RL: Tensor, bound: float) -> Tensor:
    """accepted_RL: bool; at least one True in every row with a candidate, for nothing precedes the first.

    Args:
        entropy_RL: float32 nats, >= 0.
        candidates_RL: bool.
        bound: nats, >= 0.
    """
    sorted_RL, order_RL = entropy_RL.masked_fill(~candidates_RL, torch.inf).sort(dim=-1, stable=True)
    spent_RL = sorted_RL.masked_fill(sorted_RL == torch.inf, 0.0).cumsum(-1) - sorted_RL
    within_RL = torch.zeros_like(candidates_RL).scatter(-1, order_RL, spent_RL <= bound)
    return within_RL & candidates_RL
