"""Requests, results, usage and events of the engine, and the event queue of a request."""

# L canvas

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sfumato.config import check_number
from sfumato.constraints.automaton import Automaton
from sfumato.engine.stop_strings import check_stop
from sfumato.errors import RequestError
from sfumato.sampling.canvas import CanvasRecord
from sfumato.sampling.config import SamplerConfig

MAX_TOP_LOGPROBS = 256
MAX_POSITIONS = 2**20
MAX_VARIATIONS = 256
RANGES: dict[str, tuple[int, int | None]] = {
    "max_tokens": (1, MAX_POSITIONS),
    "canvas_length": (1, MAX_POSITIONS),
    # Variation i uses seed + i, and draws take seeds up to 2^63 - 1.
    "seed": (0, 2**62 - 1),
    "n": (1, MAX_VARIATIONS),
    "priority": (-MAX_POSITIONS, MAX_POSITIONS),
    "top_logprobs": (0, MAX_TOP_LOGPROBS),
    "revisit": (0, None),
}
FinishReason = Literal["stop", "steps", "length", "deadline", "cancelled", "unsure", "error"]
"""stop: the model ended its text, a stop string was reached, or the start was filled in; steps: the same, but a canvas
had not settled when its steps ran out (`Usage.unsettled`), so the answer may be noise; length: max_tokens was reached;
deadline: the text at that time, whose last canvas may be noise; cancelled: only what was committed until then; unsure:
an edit was rejected, see `TextModel.edit`; error: the model gave NaN or infinite logits, or this answer failed."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """What an answer starts from instead of pure noise: some tokens stay, the others are decided again.

    An answer with a start has exactly as many tokens. Stretches without a free position are written, not denoised.
    """

    tokens: tuple[int, ...]
    """One token per position of the answer. At noise level 1, tokens at free positions are ignored."""
    frozen: tuple[bool, ...]
    """Whether each token is fixed; at least one is free."""
    noise_level: float = 1.0
    """Noise level t of the free positions: 1 forgets them, less keeps more of them."""
    blanks: bool = False
    """Whether a free position may stay empty, which an end token then means."""
    bound: int | None = None
    """Number of leading tokens that the request's automaton covers; None is all."""

    @property
    def num_bound(self) -> int:
        """Number of tokens that the automaton covers."""
        return len(self.tokens) if self.bound is None else self.bound

    @property
    def gives_suffix(self) -> bool:
        """Whether a given token follows a free one."""
        return any(self.frozen[self.frozen.index(False) :])

    def __post_init__(self) -> None:
        check_number("bound", self.num_bound, 1, len(self.tokens), whole=True)
        if len(self.tokens) != len(self.frozen):
            raise RequestError(f"frozen has {len(self.frozen)} entries for the {len(self.tokens)} tokens of the start")
        if all(self.frozen):
            raise RequestError("the start freezes every position; free at least one")
        check_number("noise_level", self.noise_level, 0, 1, above=True)


@dataclass(frozen=True, kw_only=True)
class Request:
    """One job: a prompt and how to answer it.

    Raises:
        RequestError: if a field is not allowed; what depends on the model is checked by the engine.
    """

    prompt: tuple[int, ...]
    """Token ids, with the chat template applied."""
    sampler: SamplerConfig = SamplerConfig()
    """How each canvas is denoised."""
    max_tokens: int = 128
    """Maximum tokens of the answer."""
    canvas_length: int = 64
    """Positions denoised together; the last canvas of an answer is cut to the tokens left."""
    auto_length: bool = False
    """Whether the model's length head sets the length of the first canvas."""
    seed: int = 0
    """Random seed, independent of the batch; variation i uses seed + i."""
    n: int = 1
    """Number of answers over the same prefilled prompt."""
    trace: bool = False
    """Record every draft."""
    record: bool = False
    """Record what is needed to replay every step, for `Result.canvases`: L x D floats per step with
    self-conditioning."""
    priority: int = 0
    """Requests with higher priority go first, in every step: others wait while those fill it."""
    deadline_ms: int | None = None
    """Milliseconds from submission after which the answer ends with what is committed."""
    min_steps: int | None = None
    """Lower limit for a canvas's steps when the engine is busy, see `EngineConfig.load_threshold`. None never cuts
    steps, so the answer does not depend on the load."""
    start: Start | None = None
    """What the answer starts from; None is pure noise, and the model decides where it ends."""
    stop: tuple[str, ...] = ()
    """Strings that end the answer before the first complete one; no canvas after it is computed."""
    automaton: Automaton | None = None
    """Constraint on the answer over the model's tokens; None allows anything."""
    logit_bias: tuple[tuple[int, float], ...] = ()
    """(token, value added to its logit) for some tokens."""
    top_logprobs: int = 0
    """Number of most probable tokens to keep for each answer token."""
    revisit: int = 0
    """Number of last canvases to reopen once the answer is complete, the later first: each is denoised with what
    follows in view, and committed again with the same number of tokens."""
    revisit_level: float = 1.0
    """Noise level t they restart from: 1 forgets the old text, less keeps more of it."""

    def __post_init__(self) -> None:
        if not self.prompt:
            raise RequestError("the prompt is empty; give at least one token")
        for name, (low, high) in RANGES.items():
            check_number(name, getattr(self, name), low, high, whole=True)
        if self.deadline_ms is not None:
            check_number("deadline_ms", self.deadline_ms, 1, whole=True)
        if self.min_steps is not None:
            check_number("min_steps", self.min_steps, 1, self.sampler.steps, whole=True)
        for token, value in self.logit_bias:
            check_number(f"logit_bias of token {token}", value, -100, 100)
        check_number("revisit_level", self.revisit_level, 0, 1, above=True)
        if self.automaton is not None and self.sampler.reuse != "none":
            raise RequestError(f"reuse is {self.sampler.reuse!r}; allowed with a constraint on the answer: 'none'")
        if self.start is not None and len(self.start.tokens) != self.max_tokens:
            raise RequestError(
                f"max_tokens is {self.max_tokens}; allowed: {len(self.start.tokens)}, the tokens of the start"
            )
        if check_stop(self.stop) and (self.start is not None or self.revisit):
            given = "revisit" if self.revisit else "a draft or a gap, whose tokens are all filled in"
            raise RequestError(f"stop is given; allowed: only without {given}")
        if self.top_logprobs and self.revisit:
            raise RequestError(f"top_logprobs is {self.top_logprobs}; allowed with revisit: 0")

    @property
    def verifies(self) -> bool:
        """Whether its canvases are drafts to verify; with a start or revisit they are committed whole."""
        return self.sampler.verifies and self.start is None and not self.revisit


@dataclass(kw_only=True)
class Usage:
    """Cost of an answer. Tokens alone do not measure it for a model that computes canvases."""

    prompt_tokens: int = 0
    """Tokens of the prompt."""
    cached_tokens: int = 0
    """Prompt tokens whose keys and values were reused from the cache."""
    completion_tokens: int = 0
    """Answer tokens, without the end token."""
    canvases: int = 0
    """Canvases denoised."""
    reopened: int = 0
    """Canvases that were reopened after they were committed."""
    denoising_steps: int = 0
    """Forward passes over a canvas."""
    unsettled: int = 0
    """Canvases that used all their steps before the stop rule was met. Samplers that decide a set number of positions
    per step, or follow the reverse process, end by schedule and never count; neither does adaptive off."""
    steps_cut: int = 0
    """Steps cut because the engine was busy."""
    forward_passes: int = 0
    """Passes through the weights that this answer took part in. Writing a prompt or canvas shares a pass with the first
    step that reads it."""
    positions_computed: int = 0
    """Positions of this answer in those passes."""
    revisions: int = 0
    """How often the draft changed at a position that was accepted before."""
    time_to_first_commit_s: float = 0.0
    """Seconds from the request to the first committed canvas."""
    total_s: float = 0.0
    """Seconds from the request to the end of the answer."""

    @classmethod
    def together(cls, usages: Sequence[Usage]) -> Usage:
        """Total cost of several answers computed together: sums, the first commit and the last end."""
        summed = {field.name: sum(getattr(usage, field.name) for usage in usages) for field in dataclasses.fields(cls)}
        firsts = [usage.time_to_first_commit_s for usage in usages if usage.time_to_first_commit_s]
        return cls(
            **summed
            | {
                "time_to_first_commit_s": min(firsts, default=0.0),
                "total_s": max((usage.total_s for usage in usages), default=0.0),
            }
        )

    def add_canvas(self, steps: int, revisions: int, seconds: float) -> None:
        """Count a committed canvas, some seconds after the request."""
        self.canvases += 1
        self.denoising_steps += steps
        self.revisions += revisions
        self.time_to_first_commit_s = self.time_to_first_commit_s or seconds

    def plus_work(self, others: Sequence[Usage]) -> Usage:
        """This cost with the work of other passes for the same answer, whose tokens are not its own."""
        tokens = {name: getattr(self, name) for name in ("prompt_tokens", "cached_tokens", "completion_tokens")}
        return dataclasses.replace(Usage.together([self, *others]), **tokens)

    def to_dict(self) -> dict[str, object]:
        """The fields as plain values."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class CanvasChanged:
    """A step was taken; the draft may have changed."""

    variation: int
    """Index among the n answers."""
    canvas: int
    """Index of the canvas within the answer, from 0."""
    step: int
    """Steps taken on this canvas; 0 is the noise it starts from."""
    steps: int
    """Maximum steps of this canvas."""
    tokens: tuple[int, ...]
    """Draft token ids, one per position."""
    pieces: tuple[str, ...]
    """Text of each draft position; empty from the end token on."""
    text: str
    """The draft as text, up to its end token."""
    accepted: tuple[bool, ...]
    """Positions whose sampled token this step kept."""
    revised: tuple[bool, ...]
    """Positions accepted earlier whose draft token this step changed."""
    confidence: tuple[float, ...]
    """Probability of the token drawn at each position; 0 if the logits were invalid."""
    entropy: tuple[float, ...] = ()
    """Entropy in nats of the distribution it was drawn from; 0 if nothing was drawn or the logits were invalid."""
    forward_passes: int = field(default=0, compare=False)
    """As in `Usage`, up to this step. How a prompt was split into passes depends on the load."""
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
    """Index among the n answers."""
    canvas: int
    """Index of the canvas within the answer."""
    text: str
    """Text that the canvas adds to the answer, without an incomplete last character and without what may begin a stop
    string."""
    tokens: tuple[int, ...] = ()
    """Tokens that it adds, including those written without a canvas."""
    confidence: tuple[float, ...] = ()
    """Probability of each, see `Result`."""
    top_logprobs: tuple[tuple[tuple[int, float], ...], ...] = ()
    """If requested, the alternatives for each, see `Result`."""


@dataclass(frozen=True, kw_only=True)
class Reopened:
    """A committed canvas is denoised again: the answer reads `text` for now, and the next `Committed` brings the canvas
    and everything after it."""

    variation: int
    """Index among the n answers."""
    canvas: int
    """Index of the canvas within the answer."""
    text: str
    """The answer up to the canvas."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One answer."""

    text: str
    """The answer's text, without the end token."""
    tokens: tuple[int, ...]
    """Its token ids. After a stop string, the last token may reach past the end of the text."""
    finish_reason: FinishReason
    """Why it ended."""
    seed: int
    """The seed that reproduces this answer with n = 1."""
    model: str
    """Name or path of the model."""
    usage: Usage
    """What it cost."""
    trace: list[CanvasChanged] = field(default_factory=list)
    """Every draft, if requested."""
    canvases: tuple[CanvasRecord, ...] = ()
    """Every step of every canvas, if requested. Holds tensors, so it is not in the JSON."""
    confidence: tuple[float, ...] = ()
    """For each token, its probability in the last step; 1 if it was given."""
    top_logprobs: tuple[tuple[tuple[int, float], ...], ...] = ()
    """If requested, for each token the most probable alternatives allowed by the constraint when its position was last
    decided, as ids and log-probabilities in nats. Empty for given tokens."""
    certainty: float = 0.0
    """Mean log-probability, in nats, of the last step's draws on each canvas, given everything else: a
    pseudo-likelihood for ranking answers to one job."""
    error: str = ""
    """What failed, if it is known; or how far an edit was below the required certainty."""

    @property
    def failed(self) -> bool:
        """Whether something went wrong."""
        return self.finish_reason == "error"

    @property
    def failure(self) -> str:
        """What failed, in words; empty if nothing did."""
        return (self.error or "the model gave NaN or infinite logits") if self.failed else ""

    def to_dict(self) -> dict[str, object]:
        """The JSON object that the command line prints: text, finish_reason, certainty, seed, model, usage, and trace
        and error if present."""
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
    """Index among the n answers."""
    result: Result


Event = CanvasChanged | Committed | Reopened | Finished


def results_of(events: Iterable[Event]) -> list[Result]:
    """The results among the events of one request, in order of their variations."""
    finished = (event for event in events if isinstance(event, Finished))
    return [event.result for event in sorted(finished, key=lambda event: event.variation)]


class EventQueue:
    """Events of one request in order, from the engine's thread to the reader.

    Args:
        num_sequences: number of `Finished` events to expect.
        drafts: accept `CanvasChanged` too.
        latest_only: of several waiting drafts of one canvas, keep only the newest.
    """

    def __init__(self, num_sequences: int, *, drafts: bool = False, latest_only: bool = False) -> None:
        self.drafts, self._latest_only = drafts, latest_only
        self._num_open, self._num_put = num_sequences, 0
        self._events: dict[int, Event] = {}
        self._draft_of: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._events)

    @property
    def is_over(self) -> bool:
        """Whether all sequences have finished and all events were taken."""
        return not self._num_open and not self._events

    def put(self, event: Event) -> None:
        with self._lock:
            if self._latest_only and isinstance(event, CanvasChanged):
                of = event.variation, event.canvas
                self._events.pop(self._draft_of.get(of, -1), None)
                self._draft_of[of] = self._num_put
            self._events[self._num_put] = event
            self._num_put += 1
            # Last, so that `is_over` cannot be true before it was taken.
            self._num_open -= isinstance(event, Finished)

    def take(self) -> list[Event]:
        with self._lock:
            events = list(self._events.values())
            self._events.clear()
            self._draft_of.clear()
        return events
