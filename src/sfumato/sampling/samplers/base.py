"""The interface of samplers, their random numbers, and the default sampler.

A sampler decides, in each step, which tokens to accept and what the next step reads. It chooses among the *candidates*
of a row: the free positions that can still be decided. Under noise with a uniform share these are all free positions in
every step, so nothing is final before the commit; under mask noise they are the positions that still hold the mask, so
accepted tokens stay. Samplers are pure functions of a step, batched over the rows that share them, and never branch on
a tensor's value.

Random numbers are counter-based: a draw is a pure function of (seed, canvas, step, position, stream). No generator is
advanced, so a request draws the same numbers alone or in any batch, admitted in any order, on any device. Every key is
absorbed by the finaliser of splitmix64, a bijection of 64 bits in which each input bit flips each output bit with
probability close to one half.
"""

# R rows, L canvas, V vocab, N positions read

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sfumato.config import check_choice, check_number, import_class
from sfumato.diffusion.process import Process
from sfumato.errors import RequestError
from sfumato.kernels.base import Statistics

# Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", variant 13 of Stafford's
# mixers; written as the signed 64-bit integers that torch computes with, modulo 2^64.
_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MULTIPLIER_1 = 0xBF58476D1CE4E5B9 - 2**64
_MULTIPLIER_2 = 0x94D049BB133111EB - 2**64

# float32 has 24 bits of mantissa: more bits would round up to 1.
_MANTISSA_BITS = 24


class Stream(IntEnum):
    """Purpose of a draw; draws of one position and step on different streams are independent."""

    START_KEEP = 0
    """Whether a token of a seed text survives on the first canvas."""
    START_NOISE = 1
    """The noise of the first canvas."""
    SAMPLE = 2
    """The token sampled from the denoiser's prediction."""
    RENOISE = 3
    """The noise that a renoised position gets."""
    MOVE = 4
    """The choice of an ancestral step."""
    CORRECT_SAMPLE = 5
    """The token that a corrector samples."""
    CORRECT_KEEP = 6
    """The choice between that token and noise."""
    CORRECT_NOISE = 7
    """The noise of a corrector."""
    ORDER = 8
    """The order in which positions are decided at random."""
    PATH = 9
    """The path of a sampled string of a language."""
    CLASS = 10
    """The token class on that path."""


class Decision(NamedTuple):
    """The outcome of a step for some rows."""

    accepted_RL: Tensor
    """bool; free positions whose sampled token is kept."""
    next_RL: Tensor
    """int64; tokens the next step reads."""


@dataclass(frozen=True, kw_only=True)
class StepLogits:
    """The logits of a step for all rows of the batch, for samplers that need more than statistics."""

    logits_NV: Tensor
    """Logits at the positions read."""
    index_N: Tensor
    """int64; these positions, as ascending indices into flattened [R, L]."""
    tokens_RL: Tensor
    """int64; tokens the denoiser read."""
    draw: Callable[[Tensor, Stream], Tensor]
    """Sample tokens [R, L] from other logits [N, V] at the same positions."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One step of the rows that share a sampler."""

    process: Process
    statistics: Statistics
    """The denoiser's statistics at each position."""
    tokens_RL: Tensor
    """int64; tokens the denoiser read."""
    free_RL: Tensor
    """bool; positions that are neither frozen nor padding."""
    candidates_RL: Tensor
    """bool; free positions of the current block that can still be decided."""
    count_R: Tensor
    """int64; number of free positions in the current block."""
    step_R: Tensor
    """int64; index of this step within the block."""
    steps_R: Tensor
    """int64; number of steps for the block."""
    t_R: Tensor
    """float32; noise level of the tokens read."""
    s_R: Tensor
    """float32; noise level for the next step."""
    uniforms: Callable[[Stream], Tensor]
    """This step's uniforms [R, L] on a stream, for all rows of the batch."""
    logits: StepLogits
    """The logits, for all rows of the batch."""
    rows: Tensor | None = None
    """int64; indices of these rows in the batch; None for all."""

    def draw(self, stream: Stream = Stream.ORDER) -> Tensor:
        """u_RL: uniforms in [0, 1) for these rows, which depend on seed, position and step; another stream gives
        others."""
        return self.select(self.uniforms(stream))

    @property
    def noise_RL(self) -> Tensor:
        """int64; noise at the level of the next step."""
        return self.process.noise(self.draw(Stream.RENOISE), self.s_R)

    def select(self, values: Tensor) -> Tensor:
        """Select these rows from values for all rows."""
        return values if self.rows is None else values[self.rows]

    def spread(self, values_RL: Tensor, others_RL: Tensor) -> Tensor:
        """Scatter values of these rows into values for all rows."""
        return values_RL if self.rows is None else others_RL.index_copy(0, self.rows, values_RL)

    def of(self, rows: Tensor) -> Turn:
        """The turn of a subset of rows."""
        taken = {
            name: getattr(self, name)[rows]
            for name in ("tokens_RL", "free_RL", "candidates_RL", "count_R", "step_R", "steps_R", "t_R", "s_R")
        }
        statistics = Statistics(*(one[rows] for one in self.statistics))
        return dataclasses.replace(self, statistics=statistics, rows=rows, **taken)


@dataclass(frozen=True, kw_only=True)
class Sampler(ABC):
    """A sampler with its settings. Subclasses are frozen dataclasses whose fields are request settings.

    A subclass implements `accept` or overrides `decide`. It is selected by its registered `name` (`register`), or as
    "package.module:Class".
    """

    name: ClassVar[str]
    """By default the name of the class."""
    reverse: ClassVar[bool] = False
    """Whether it follows the reverse process to t = 0, where its draw is the sample; other samplers commit the
    draft."""
    by_schedule: ClassVar[bool] = False
    """Whether it always ends at its last step, because it decides a fixed share of the canvas per step; other samplers
    should meet their stop rule first."""
    reopens: ClassVar[bool] = False
    """Whether it may change any free position in any step."""
    reads_decided: ClassVar[bool] = False
    """Whether it needs statistics of visible tokens under mask noise."""
    accepts_by_draw: ClassVar[bool] = False
    """Whether acceptance depends on the drawn tokens, rather than only on distributions or chance."""

    def check(self, process: Process) -> None:  # noqa: B027
        """Refuse noise that it does not support.

        Raises:
            RequestError: naming the noise it needs, and an alternative.
        """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "name"):
            cls.name = cls.__name__

    @abstractmethod
    def accept(self, turn: Turn) -> Tensor:
        """accepted_RL: bool, candidates whose sampled token is kept; at least one in every row with a candidate."""

    def decide(self, turn: Turn) -> Decision:
        """Accept, and renoise the other candidates.

        Raises:
            RequestError: if `accept` returns anything but a bool of the canvases' shape.
        """
        accepted_RL = self.accept(turn)
        found = (getattr(accepted_RL, "dtype", None), getattr(accepted_RL, "shape", None))
        if found != (torch.bool, turn.candidates_RL.shape):
            what = f"{found[0]} of shape {tuple(found[1])}" if found[1] is not None else type(accepted_RL).__name__
            raise RequestError(
                f"accept of sampler {self.name!r} returns {what}; allowed: torch.bool of shape "
                f"{tuple(turn.candidates_RL.shape)}, rows and positions"
            )
        next_RL = torch.where(accepted_RL, turn.statistics.sampled_RL, turn.noise_RL)
        return Decision(accepted_RL, torch.where(turn.candidates_RL, next_RL, turn.tokens_RL))

    def is_finished(self, turn: Turn, decision: Decision) -> Tensor:
        """bool_R: rows for which further steps would change nothing; called under mask noise only."""
        return ~has_mask(turn, decision.next_RL)


def has_mask(turn: Turn, tokens_RL: Tensor) -> Tensor:
    """bool_R: rows with a mask at a free position."""
    return (turn.free_RL & (tokens_RL == turn.process.mask_id)).any(-1)


def pick_highest(score_RL: Tensor, candidates_RL: Tensor, count_R: Tensor) -> Tensor:
    """Pick each row's count_R candidates with the highest scores, fewer if it has fewer; ties go to the first."""
    order_RL = score_RL.masked_fill(~candidates_RL, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    rank_L = torch.arange(score_RL.shape[-1], device=score_RL.device)
    within_RL = rank_L < count_R.unsqueeze(-1)
    return torch.zeros_like(candidates_RL).scatter(-1, order_RL, within_RL) & candidates_RL


def even_share(turn: Turn) -> Tensor:
    """share_R: how many of F positions step n of N decides: F // N, plus one in the first F mod N steps (LLaDA)."""
    return turn.count_R // turn.steps_R + (turn.step_R < turn.count_R % turn.steps_R).long()


_REGISTRY: dict[str, type[Sampler]] = {}


def register(cls: type[Sampler]) -> type[Sampler]:
    """Decorator that registers a sampler by its name."""
    _REGISTRY[cls.name] = cls
    return cls


def samplers() -> Mapping[str, type[Sampler]]:
    """All registered samplers by name."""
    return _REGISTRY


def registered_sampler(name: str) -> type[Sampler]:
    """Find a sampler by its name, for names from requests and files, which nothing is imported for.

    Raises:
        RequestError: if there is none.
    """
    check_choice("sampler", name, _REGISTRY)
    return _REGISTRY[name]


def find_sampler(name: str) -> type[Sampler]:
    """Find a sampler by its name, or by "package.module:Class", which is imported, also from the working directory.

    Raises:
        RequestError: if there is none, or the class is not a sampler.
    """
    if ":" in name and name not in _REGISTRY:
        return import_class(name, Sampler, RequestError)  # type: ignore[type-abstract]
    return registered_sampler(name)


@register
@dataclass(frozen=True, kw_only=True)
class Entropy(Sampler):
    """Accept each row's lowest-entropy candidates while (cumulative entropy - own) <= bound, and renoise the rest.

    The left side bounds the mutual information of the accepted tokens, given that they are drawn independently. At
    least one is accepted, because nothing precedes the first.

    Source: Ben-Hamu et al. 2025, arXiv 2505.24857, section 4; DiffusionGemma's sampler.
    """

    name = "entropy"
    entropy_bound: float = 0.1
    """Budget per step in nats, >= 0; infinity accepts everything. 0.1 is DiffusionGemma's."""

    def __post_init__(self) -> None:
        check_number("entropy_bound", self.entropy_bound, 0, math.inf)

    def accept(self, turn: Turn) -> Tensor:
        entropy_RL = turn.statistics.entropy_RL.masked_fill(~turn.candidates_RL, torch.inf)
        sorted_RL, order_RL = entropy_RL.sort(dim=-1, stable=True)
        spent_RL = sorted_RL.masked_fill(sorted_RL == torch.inf, 0.0).cumsum(-1) - sorted_RL
        within_RL = torch.zeros_like(turn.candidates_RL).scatter(-1, order_RL, spent_RL <= self.entropy_bound)
        return within_RL & turn.candidates_RL


def uniform(
    seed_R: Tensor, canvas_R: Tensor, step_R: Tensor, position_RL: Tensor, stream: int | Sequence[int]
) -> Tensor:
    """Draw one uniform per position.

    Args:
        seed_R: int64; the request's seed.
        canvas_R: int64; index of the canvas within the request.
        step_R: int64; index of the step within the canvas.
        position_RL: int64 positions on the canvas, of shape L or RL.
        stream: what the draw is for, one of Stream, or several.

    Returns:
        u_RL: float32, multiples of 2^-24 in [0, 1); for several streams [R, K, L].

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", for the idea of counters as
        keys.
    """
    if seed_R.device.type != "cpu":
        streams = stream if isinstance(stream, int) else torch.tensor(stream, device=seed_R.device)
        bits: Tensor = _top_bits(seed_R, canvas_R, step_R, position_RL, streams)
        return bits.to(torch.float32) * 2.0**-_MANTISSA_BITS
    # The same in numpy: thirty operations on a few dozen integers take a third of the time.
    seed, canvas, step, position = (key.numpy() for key in (seed_R, canvas_R, step_R, position_RL))
    top = _top_bits(seed, canvas, step, position, stream if isinstance(stream, int) else np.array(stream))
    return torch.from_numpy(top.astype(np.float32) * np.float32(2.0**-_MANTISSA_BITS))


def uniform_each(
    seed_R: Tensor, canvas_R: Tensor, step_R: Tensor, position_L: Tensor, stream: int | Sequence[int]
) -> Tensor:
    """Like `uniform`, but position i draws what the only position of canvas canvas_R + i would draw.

    Args:
        position_L: int64; 0, 1, 2, ...
    """
    length = len(position_L)
    seed_M, step_M = (key_R.repeat_interleave(length) for key_R in (seed_R, step_R))
    canvas_M = (canvas_R.unsqueeze(-1) + position_L).flatten()
    drawn_MK = uniform(seed_M, canvas_M, step_M, position_L[:1], stream)
    return drawn_MK.view(len(seed_R), length, -1).transpose(1, 2).contiguous()


def _top_bits(seed_R: Any, canvas_R: Any, step_R: Any, position_RL: Any, stream: Any) -> Any:
    """The bits of each uniform, of arrays of torch or numpy."""
    state = _finalise(seed_R + _GOLDEN)
    for key_R in (canvas_R, step_R):
        state = _finalise(state + _GOLDEN + key_R)
    state = _finalise((state if isinstance(stream, int) else state[..., None]) + (_GOLDEN + stream))
    bits = _finalise(state[..., None] + _GOLDEN + position_RL)
    return _shift_right(bits, 64 - _MANTISSA_BITS)


def _finalise(state: Any) -> Any:
    state = (state ^ _shift_right(state, 30)) * _MULTIPLIER_1
    state = (state ^ _shift_right(state, 27)) * _MULTIPLIER_2
    return state ^ _shift_right(state, 31)


def _shift_right(state: Any, bits: int) -> Any:
    """Logical shift: that of signed integers is arithmetic and would smear the sign bit."""
    return (state >> bits) & ((1 << (64 - bits)) - 1)
