"""What is asked of the engine and what comes back: requests, results, usage, events, and the queue they leave by."""

# L canvas

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from sfumato.engine.stop_strings import check_stop
from sfumato.errors import RequestError
from sfumato.sampling import Automaton, CanvasRecord, SamplerConfig

MAX_TOP_LOGPROBS = 256
FinishReason = Literal["stop", "steps", "length", "deadline", "cancelled", "unsure", "error"]
"""stop: the model ended its text, a stop string was reached, or the start was filled in; steps: as well, but a canvas
had not settled when its steps were up (`Usage.unsettled`), so that the answer may be noise; length: max_tokens was
reached; deadline, cancelled: what was committed until then; unsure: an edit was left out, see `TextModel.edit`; error:
the model gave NaN or infinite logits, or something failed that concerns this answer alone."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """What an answer starts from, instead of noise alone: some tokens stay, the others are decided anew.

    An answer that has a start has exactly as many tokens. Stretches without a free position are written, not denoised.
    """

    tokens: tuple[int, ...]
    """One for each position of the answer. What stands at a free position is lost at noise level 1."""
    frozen: tuple[bool, ...]
    """For each, whether it must not change; at least one is free."""
    noise_level: float = 1.0
    """t from which the free positions are denoised: 1 forgets them, less keeps that much less of them."""
    blanks: bool = False
    """Whether a free position may resolve to nothing, which is what an end token then stands for."""
    bound: int | None = None
    """How many of its leading tokens the request's automaton is about; None is all."""

    @property
    def num_bound(self) -> int:
        """How many of its tokens a language is about."""
        return len(self.tokens) if self.bound is None else self.bound

    @property
    def gives_behind(self) -> bool:
        """Whether a token after a free one is given."""
        return any(self.frozen[self.frozen.index(False) :])

    def __post_init__(self) -> None:
        if not 0 < self.num_bound <= len(self.tokens):
            raise RequestError(f"bound is {self.bound}; allowed: 1 to {len(self.tokens)}")
        if len(self.tokens) != len(self.frozen):
            raise RequestError(f"frozen has {len(self.frozen)} entries for the {len(self.tokens)} tokens of the start")
        if all(self.frozen):
            raise RequestError("the start freezes every position; free at least one")
        if not 0.0 < self.noise_level <= 1.0:
            raise RequestError(f"noise_level is {self.noise_level}; allowed: more than 0, at most 1")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One job: a prompt and how to answer it.

    Raises:
        RequestError: if a field is outside what is allowed; what depends on the model is checked when it is run.
    """

    prompt: tuple[int, ...]
    """Token ids, rendered with the chat template."""
    sampler: SamplerConfig = SamplerConfig()
    """How each canvas is denoised."""
    max_tokens: int = 128
    """Most tokens of the answer."""
    canvas_length: int = 64
    """Positions denoised together; the last canvas of an answer is cut to what max_tokens leaves."""
    auto_length: bool = False
    """Whether a length head, which the model must have, sets the length of the first canvas."""
    seed: int = 0
    """Decides all randomness, whatever else is in the batch; variation i uses seed + i."""
    n: int = 1
    """Number of answers over the same prefilled prompt."""
    trace: bool = False
    """Record every draft."""
    record: bool = False
    """Keep of every step what is needed to take it again, for `Result.canvases`: L x D floats a step where a model
    conditions on its own predictions."""
    priority: int = 0
    """Of those that wait, the highest goes first."""
    deadline_ms: int | None = None
    """Milliseconds from submission after which the answer ends with what was committed by then."""
    min_steps: int | None = None
    """Steps that those of a canvas may be cut to while the engine is busy, see `EngineConfig.load_threshold`; with None
    they are not, so that the answer is the same whoever else is there."""
    start: Start | None = None
    """What the answer starts from; None is noise alone, and an end where the model puts it."""
    stop: tuple[str, ...] = ()
    """Strings that end the answer: its text is what stands before the one that is complete first, and no canvas after
    it is computed."""
    automaton: Automaton | None = None
    """What the answer must be, in the model's tokens; None is anything."""
    logit_bias: tuple[tuple[int, float], ...] = ()
    """(token, what is added to its logit) of some tokens."""
    top_logprobs: int = 0
    """How many of the most probable tokens to keep for each token of the answer."""
    revisit: int = 0
    """How many of the last canvases that something follows are opened again once the answer is whole, the later first:
    each is denoised seeing what follows it, and committed again with as many tokens as it had."""
    revisit_level: float = 1.0
    """t that they are denoised from: 1 forgets what stood there, less keeps more of it."""

    def __post_init__(self) -> None:
        if not self.prompt:
            raise RequestError("the prompt is empty; give at least one token")
        for name in ("max_tokens", "canvas_length", "n", "seed", "priority", "revisit", "top_logprobs"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise RequestError(f"{name} is {value!r}; allowed: a whole number")
        for name, most in (("max_tokens", 2**20), ("canvas_length", 2**20), ("n", 256)):
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise RequestError(f"{name} is {value}; allowed: 1 to {most}")
        if self.automaton is not None and self.sampler.reuse != "none":
            raise RequestError(
                f"reuse is {self.sampler.reuse!r}; allowed where the answer must be of a language: 'none'"
            )
        if self.start is not None and len(self.start.tokens) != self.max_tokens:
            raise RequestError(
                f"max_tokens is {self.max_tokens}; allowed: {len(self.start.tokens)}, the tokens of the start"
            )
        if check_stop(self.stop) and (self.start is not None or self.revisit):
            given = "revisit" if self.revisit else "a draft or a gap, all of whose tokens are filled in"
            raise RequestError(f"stop is for an answer that grows to its end; allowed: without {given}")
        if self.deadline_ms is not None and (not isinstance(self.deadline_ms, int) or self.deadline_ms < 1):
            raise RequestError(f"deadline_ms is {self.deadline_ms!r}; allowed: a whole number, 1 or more")
        if self.min_steps is not None and not 1 <= self.min_steps <= self.sampler.steps:
            raise RequestError(f"min_steps is {self.min_steps}; allowed: 1 to {self.sampler.steps}, its steps")
        for token, value in self.logit_bias:
            if not -100 <= value <= 100:
                raise RequestError(f"logit_bias of token {token} is {value}; allowed: -100 to 100")
        if not 0 <= self.top_logprobs <= MAX_TOP_LOGPROBS:
            raise RequestError(f"top_logprobs is {self.top_logprobs}; allowed: 0 to {MAX_TOP_LOGPROBS}")
        if self.top_logprobs and self.revisit:
            raise RequestError(f"top_logprobs is {self.top_logprobs}; allowed with revisit: 0")
        if self.revisit < 0:
            raise RequestError(f"revisit is {self.revisit}; allowed: 0 or more")
        if not 0.0 < self.revisit_level <= 1.0:
            raise RequestError(f"revisit_level is {self.revisit_level}; allowed: more than 0, at most 1")
        if not 0 <= self.seed < 2**62:
            raise RequestError(f"seed is {self.seed}; allowed: 0 to 2^62 - 1")


@dataclass(kw_only=True)
class Usage:
    """What an answer cost. Tokens alone do not say it for a model that computes canvases."""

    prompt_tokens: int = 0
    """Tokens of the prompt."""
    cached_tokens: int = 0
    """Those of them whose keys and values an earlier text had left in the cache."""
    completion_tokens: int = 0
    """Tokens of the answer, without the end token."""
    canvases: int = 0
    """Canvases denoised."""
    reopened: int = 0
    """Those of them that had been committed before."""
    denoising_steps: int = 0
    """Forward passes over a canvas."""
    unsettled: int = 0
    """Canvases of the answer that ended at the cap on their steps before the stop rule was met. Samplers that decide a
    set number of positions a step, or follow the reverse process, end by their schedule: none of theirs counts, nor
    does any with adaptive off."""
    steps_cut: int = 0
    """Steps that canvases were not allowed because the engine was busy."""
    forward_passes: int = 0
    """Passes through the weights that the answer took part in. What has to be written, prompt or canvas, shares a pass
    with the step that first reads it."""
    positions_computed: int = 0
    """Its positions in those passes."""
    revisions: int = 0
    """How often the draft changed at a position that had been accepted before."""
    time_to_first_commit_s: float = 0.0
    """Seconds from the request to the first committed canvas."""
    total_s: float = 0.0
    """Seconds from the request to the end of the answer."""

    @classmethod
    def together(cls, usages: Sequence[Usage]) -> Usage:
        """What several answers to one job cost, worked on at once: sums, the first commit, and the last end."""
        summed = {field.name: sum(getattr(usage, field.name) for usage in usages) for field in dataclasses.fields(cls)}
        firsts = [usage.time_to_first_commit_s for usage in usages if usage.time_to_first_commit_s]
        return cls(
            **summed
            | {
                "time_to_first_commit_s": min(firsts, default=0.0),
                "total_s": max((usage.total_s for usage in usages), default=0.0),
            }
        )

    def to_dict(self) -> dict[str, object]:
        """The fields as plain values."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class CanvasChanged:
    """A step was taken: the draft may read differently now."""

    variation: int
    """Which of the n answers."""
    canvas: int
    """Index of the canvas within the answer, from 0."""
    step: int
    """Steps taken on this canvas, from 1; 0 is the noise it starts from."""
    steps: int
    """Most steps this canvas may take."""
    tokens: tuple[int, ...]
    """The draft, one id a position."""
    pieces: tuple[str, ...]
    """The text of each position of the draft; end tokens and what follows them are empty."""
    text: str
    """The draft as text, up to its end token."""
    accepted: tuple[bool, ...]
    """Positions whose sampled token this step kept."""
    revised: tuple[bool, ...]
    """Positions accepted in an earlier step whose draft token this step changed."""
    confidence: tuple[float, ...]
    """Probability of the token drawn at each position; 0 where the logits were broken."""
    entropy: tuple[float, ...] = ()
    """Of the distribution it was drawn from, in nats; 0 where nothing was drawn, or the logits were broken."""
    forward_passes: int = field(default=0, compare=False)
    """As in `Usage`, up to this step. How a prompt was cut into passes depends on who else was there."""
    positions_computed: int = field(default=0, compare=False)
    """Likewise."""

    def to_dict(self) -> dict[str, object]:
        """The event as plain values, for a trace."""
        values = dataclasses.asdict(self)
        for name in ("confidence", "entropy"):
            values[name] = [round(value, 4) for value in getattr(self, name)]
        return values


@dataclass(frozen=True, kw_only=True)
class Committed:
    """A canvas is final."""

    variation: int
    """Which of the n answers."""
    canvas: int
    """Index of the canvas within the answer."""
    text: str
    """Text that the canvas adds to the answer. Bytes of a character that the next canvas ends are held back, and what
    may be the beginning of a stop string."""
    tokens: tuple[int, ...] = ()
    """Those that it adds, and those that were written without a canvas."""
    confidence: tuple[float, ...] = ()
    """Of each of them, see `Result`."""
    top_logprobs: tuple[tuple[tuple[int, float], ...], ...] = ()
    """If asked for, of each of them, see `Result`."""


@dataclass(frozen=True, kw_only=True)
class Reopened:
    """A committed canvas is denoised again: the answer reads `text` for now, and the next `Committed` brings the canvas
    and all that follows it."""

    variation: int
    """Which of the n answers."""
    canvas: int
    """Index of the canvas within the answer."""
    text: str
    """The answer up to the canvas."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One answer."""

    text: str
    """The answer, without the end token."""
    tokens: tuple[int, ...]
    """Its token ids. Where a stop string ended it, the last of them may reach past the end of the text."""
    finish_reason: FinishReason
    """Why it ended."""
    seed: int
    """The seed that gives this answer again, with n = 1."""
    model: str
    """Name or path of the model."""
    usage: Usage
    """What it cost."""
    trace: list[CanvasChanged] = field(default_factory=list)
    """Every draft, if asked for."""
    canvases: tuple[CanvasRecord, ...] = ()
    """Every step of every canvas, if asked for; of tensors, and so in no JSON."""
    confidence: tuple[float, ...] = ()
    """Of each token, the probability that the last step gave it; 1 where it was given."""
    top_logprobs: tuple[tuple[tuple[int, float], ...], ...] = ()
    """If asked for, of each token the most probable ones when its position was last in question, among those that its
    language allowed: ids and log-probabilities in nats. Empty where the token was given."""
    certainty: float = 0.0
    """Mean log-probability, in nats, of what the last step of each canvas drew where it decided, all else as it stood:
    a pseudo-likelihood, by which answers to one job can be ranked."""
    error: str = ""
    """What failed, where that is not the model's own logits; or how far an edit was from being made."""

    @property
    def failed(self) -> bool:
        """Whether something went wrong."""
        return self.finish_reason == "error"

    def to_dict(self) -> dict[str, object]:
        """The JSON object that the command line prints: text, finish_reason, certainty, seed, model, usage, a trace
        and an error if any."""
        values: dict[str, object] = {
            "text": self.text,
            "finish_reason": self.finish_reason,
            "certainty": round(self.certainty, 4) + 0.0,
            "seed": self.seed,
            "model": self.model,
            "usage": self.usage.to_dict(),
        }
        if self.error:
            values["error"] = self.error
        if self.trace:
            values["trace"] = [event.to_dict() for event in self.trace]
        return values


@dataclass(frozen=True, kw_only=True)
class Finished:
    """An answer is complete."""

    variation: int
    """Which of the n answers."""
    result: Result
    """The answer."""


Event = CanvasChanged | Committed | Reopened | Finished


class EventQueue:
    """Events of one request, in order, from the thread that steps the engine to whoever reads them.

    Args:
        num_sequences: each ends in one `Finished`.
        drafts: take `CanvasChanged` too.
        latest_only: of drafts of one canvas that wait one after the other, keep the newest.
    """

    def __init__(self, num_sequences: int, *, drafts: bool = False, latest_only: bool = False) -> None:
        self.drafts, self._latest_only = drafts, latest_only
        self._num_open = num_sequences
        self._events: deque[Event] = deque()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._events)

    @property
    def is_over(self) -> bool:
        """Whether all sequences are finished, and their events were taken."""
        return not self._num_open and not self._events

    def put(self, event: Event) -> None:
        """Add an event."""
        self._num_open -= isinstance(event, Finished)
        with self._lock:
            if self._latest_only and self._events and _replaces(event, self._events[-1]):
                self._events.pop()
            self._events.append(event)

    def take(self) -> list[Event]:
        """All events that wait."""
        with self._lock:
            events = list(self._events)
            self._events.clear()
        return events


def _replaces(event: Event, last: Event) -> bool:
    if not isinstance(event, CanvasChanged) or not isinstance(last, CanvasChanged):
        return False
    return (event.variation, event.canvas) == (last.variation, last.canvas)
