"""Sequence: the state of one answer, from its prompt to its result.

A sequence grows canvas by canvas. It knows its text, its place in the cache, its current canvas and its cost. It holds
no tensors and takes no steps. Its events leave through its request's queue.
"""

# R rows, L canvas

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.engine.bundle import ModelBundle, forced_tokens, possible_states
from sfumato.engine.kvcache import CachedText
from sfumato.engine.request import (
    CanvasChanged,
    Committed,
    EventQueue,
    Finished,
    FinishReason,
    Reopened,
    Request,
    Result,
    Start,
    Usage,
)
from sfumato.engine.stop_strings import TextStream, num_covering
from sfumato.errors import SfumatoError
from sfumato.sampling.canvas import CanvasBatch, CanvasRecord, FinishedCanvas, StepRecord, StepResult
from sfumato.sampling.config import SamplerConfig
from sfumato.sampling.constraint import Constraint

# A draft is about as long as what will probably be kept of it.
_FIRST_DRAFT, _LEAST_DRAFT = 16, 8
_MIN_CONFIDENCE = 1e-30


@dataclass
class _CommittedCanvas:
    index: int
    start: int
    end: int
    """Its range of answer tokens, end exclusive."""
    log_confidence: float
    num_decided: int
    """Sum over the positions its last step decided, and their number."""
    unsettled: bool


@dataclass(frozen=True)
class _Complete:
    """A complete answer while its canvases are reopened."""

    tokens: list[int]
    confidence: list[float]
    text: str
    ends: tuple[int, ...]
    """The end token, if it has one."""
    reason: FinishReason
    left: list[_CommittedCanvas]
    """Canvases still to reopen; the last is open now."""


@dataclass(eq=False)
class Sequence:
    """The state of one answer; a request has n of them."""

    bundle: ModelBundle
    request: Request
    request_id: int
    variation: int
    events: EventQueue
    text: list[int] = field(init=False)
    """Text before the canvas: the prompt and what was committed, in whole blocks if the prefix has blocks."""
    head: list[int] = field(init=False)
    """End of the prompt that shares its block with the first canvas and is frozen at its start."""
    start: Start | None = field(init=False)
    """The request's start, or the whole answer while one of its canvases is reopened."""
    tokens: list[int] = field(init=False)
    """Answer tokens without the end token; while a canvas is reopened, those before it."""
    confidence: list[float] = field(init=False)
    """Probability of each in its last step."""
    cached: CachedText | None = None
    """Its cache pages, while running."""
    row: int = -1
    """Row of its canvas in the engine's batch; -1 without a canvas."""
    constraint: Constraint | None = None
    """Constraint on the current canvas."""
    canvas: int = 0
    """Index of the current canvas."""
    complete: _Complete | None = None
    """The complete answer, while its canvases are reopened."""
    first_length: int | None = None
    """Length of the first canvas, once the length head has set it."""
    service: int = 0
    """Positions computed so far, which the scheduler uses."""
    waited: int = 0
    """Engine steps in a row without a turn."""
    usage: Usage = field(default_factory=Usage)
    trace: list[CanvasChanged] = field(default_factory=list)
    canvases: list[CanvasRecord] = field(default_factory=list)
    """Records of committed canvases, if requested."""
    steps: list[StepRecord] = field(default_factory=list)
    """Records of the current canvas, if requested."""
    top: dict[int, tuple[tuple[int, float], ...]] = field(default_factory=dict)
    """If requested, the most probable tokens at each answer position, with log-probabilities."""
    finish_reason: FinishReason | None = None
    hurried: bool = False
    """Whether the deadline has passed, and the next step on its canvas is the last."""

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.ends_at = self.started + (self.request.deadline_ms or math.inf) / 1000
        self.layout = self.bundle.layout
        # Whether its canvases are drafts, committed as far as the model would write them from left to right.
        self.verifies = self.request.verifies
        self.usage.prompt_tokens = len(self.request.prompt)
        self._committed: list[_CommittedCanvas] = []
        self._begin(self.request.start)
        self._skip()

    def _begin(self, start: Start | None) -> None:
        """Reset to just after the prompt, with nothing written."""
        self.stream = TextStream(self.bundle.tokenizer, self.request.stop)
        self.text, self.head, self.tokens, self.confidence = [], [], [], []
        # Tokens already emitted.
        self._num_told = 0
        self._extend_text(self.request.prompt)
        automaton, self.start = self.request.automaton, start
        self.state = 0 if automaton is None else automaton.start
        self._possible = None if automaton is None or start is None else possible_states(automaton, start)

    @property
    def seed(self) -> int:
        return self.request.seed + self.variation

    @property
    def canvas_key(self) -> int:
        """Key of the current canvas's random numbers; a reopened canvas gets a new one."""
        return len(self.tokens) if self.verifies else self.usage.canvases

    @property
    def max_tokens(self) -> int:
        """Maximum tokens of the answer."""
        return self.request.max_tokens if self.complete is None else len(self.complete.tokens)

    @property
    def num_written(self) -> int:
        """How much of its text must be written before a canvas can be read."""
        return self.layout.num_written(len(self.text))

    @property
    def num_unwritten(self) -> int:
        """How many tokens must be written before, or together with, the first step of a canvas."""
        assert self.cached is not None
        return self.num_written - len(self.cached.tokens)

    @property
    def shared_text(self) -> list[int]:
        """The part of its text that may be shared; what the length head reads must be computed."""
        return self.text[: self.num_written - self.wants_length]

    @property
    def wants_length(self) -> bool:
        """Whether the length head must run before the first canvas is opened."""
        first = self.first_length is None and self.canvas == 0 and self.start is None
        predicts = first and self.request.auto_length and not self.verifies and self.num_written > 0
        return predicts and not self.bundle.spec.autoregressive

    @property
    def canvas_length(self) -> int:
        """Length of the current canvas, or the next."""
        wanted, num_left = self.request.canvas_length, self.max_tokens - len(self.tokens)
        if self.complete is not None:
            # It attends to what follows.
            opened = self.complete.left[-1]
            wanted, num_left = wanted + opened.end - opened.start, num_left + len(self.complete.ends)
        elif self.canvas == 0 and self.first_length is not None:
            wanted = self.first_length
        elif self.verifies:
            kept = [canvas.end - canvas.start for canvas in self._committed[-1:]]
            wanted = min(wanted, max(_LEAST_DRAFT, 2 * kept[0]) if kept else _FIRST_DRAFT)
        return self.layout.canvas_length(wanted, num_left)

    @property
    def noise_level(self) -> float:
        """Noise level of a canvas's first step."""
        return 1.0 if self.start is None else self.start.noise_level

    @property
    def may_end(self) -> bool:
        """Whether an end token may be written."""
        return self.start is None or self.start.blanks

    def hurry(self, batch: CanvasBatch | None) -> bool:
        """After the deadline: whether the next step on its canvas is the last, because that has begun."""
        if batch is not None and self.row >= 0 and self.complete is None and not self.verifies:
            self.hurried = int(batch.step_R[self.row]) > 0
        return self.hurried

    def open_canvas(self) -> tuple[list[int], list[bool]]:
        """Open the next canvas and return its clean tokens and which of them are frozen."""
        self.constraint = self._next_constraint()
        tokens, frozen = list(self.head), [True] * len(self.head)
        if self.start is not None:
            given = slice(len(self.tokens), len(self.tokens) + self.canvas_length - len(self.head))
            tokens += self.start.tokens[given]
            frozen += self.start.frozen[given]
        free = self.canvas_length - len(tokens)
        return [*tokens, *[0] * free], [*frozen, *[False] * free]

    def sampler(self, load: float) -> SamplerConfig:
        """The sampler settings of the next canvas, with fewer steps under load if the request allows it."""
        sampler, min_steps = self.request.sampler, self.request.min_steps
        if sampler.verifies and not self.verifies:
            sampler = replace(sampler, draft_steps=0)
        if min_steps is None:
            return sampler
        steps = max(min_steps, round(sampler.steps / max(1.0, load)))
        self.usage.steps_cut += sampler.steps - steps
        return replace(sampler, steps=steps)

    def _next_constraint(self) -> Constraint | None:
        automaton, start = self.request.automaton, self.start
        bound = self.max_tokens if start is None else start.num_bound
        if automaton is None or len(self.tokens) >= bound:
            return None
        # A block is whole, and the answer ends within it.
        end = min(len(self.tokens) + self.canvas_length - len(self.head), bound)
        return Constraint(
            automaton=automaton,
            state=self.state,
            # States from which the rest of the answer can still end.
            allowed_S=automaton.distance_S <= bound - end if self._possible is None else self._possible[end],
            length=end - len(self.tokens) + len(self.head),
            num_leading=len(self.head),
            weighs_suffix=start is not None and start.gives_suffix,
            num_after=bound - end,
        )

    def _extend_text(self, tokens: Iterable[int]) -> None:
        """Append tokens to the text, in whole blocks; the rest starts the next canvas."""
        head = [*self.head, *tokens]
        whole = self.layout.num_whole(len(head))
        self.text += head[:whole]
        self.head = head[whole:]

    def _append(self, tokens: list[int], confidence: list[float]) -> None:
        """Append tokens to the answer."""
        self.tokens += tokens
        self.confidence += confidence
        self.stream.push(tokens)
        if self.request.automaton is not None:
            self.state = self.request.automaton.walk(self.state, tokens)

    def _skip(self) -> None:
        """Take over the frozen tokens up to the next free position, or those that the constraint forces.

        A start that fits one canvas stays on it as a whole, so that the model knows what is given and that more
        follows. Of drafts nothing is skipped, so that where they end does not matter.
        """
        start, first = self.start, len(self.tokens)
        if self.verifies:
            return
        if start is None:
            num_left = self.max_tokens - first
            skipped = forced_tokens(self.bundle.tokenizer, self.request.automaton, self.state, num_left)
        elif not first and self.max_tokens <= self.request.canvas_length:
            skipped = []
        else:
            end = next((i for i in range(first, self.max_tokens) if not start.frozen[i]), self.max_tokens)
            skipped = list(start.tokens[first:end])
        self._append(skipped, [1.0] * len(skipped))
        self._extend_text(skipped)

    def _until_end(self, tokens: list[int]) -> tuple[list[int], bool]:
        """The tokens before the first end token, and whether there is one; with a start, none counts."""
        ends = [i for i, token in enumerate(tokens) if token in self.bundle.tokenizer.eos_ids]
        return (tokens[: ends[0]], True) if ends and self.start is None else (tokens, False)

    def show(self, batch: CanvasBatch, row: int, result: StepResult | None) -> None:
        """Record and emit a step, or without a result its initial noise, if requested."""
        if result is not None and self.request.record:
            self.steps.append(result.record(row))
        if result is not None and row in result.top:
            first = len(self.tokens) - len(self.head)
            for position, tokens, probabilities in zip(*result.top[row], strict=True):
                logs = (math.log(max(probability, _MIN_CONFIDENCE)) for probability in probabilities)
                self.top[first + position] = tuple(zip(tokens, logs, strict=True))
        if not self.events.drafts and not self.request.trace:
            return
        tokenizer, inside = self.bundle.tokenizer, slice(len(self.head), int(batch.host_length_R[row]))
        draft = batch.draft_RL[row, inside].tolist()
        shown = self._until_end(draft)[0]
        none = (False,) * len(draft)
        noise: dict[str, Any] = {"accepted": none, "revised": none, "confidence": (0.0,) * len(draft)}
        event = CanvasChanged(
            variation=self.variation,
            canvas=self.canvas,
            step=int(batch.step_R[row]),
            steps=int(batch.steps_R[row]) + self.verifies,
            tokens=tuple(draft),
            pieces=(*tokenizer.pieces(shown), *[""] * (len(draft) - len(shown))),
            text=tokenizer.decode(shown),
            forward_passes=self.usage.forward_passes,
            positions_computed=self.usage.positions_computed,
            **(noise if result is None else result.reading(row, inside)),
        )
        if self.request.trace:
            self.trace.append(event)
        if self.events.drafts:
            self.events.put(event)

    def commit(self, canvas: FinishedCanvas) -> None:
        """Commit a finished canvas; at the end of the answer, finish it or reopen an earlier canvas."""
        self.usage.add_canvas(canvas.steps, canvas.revisions, time.perf_counter() - self.started)
        if self.request.record:
            self.canvases.append(CanvasRecord(text=tuple(self.text), steps=tuple(self.steps)))
            self.steps = []
        num_head, num_left, first = len(self.head), self.max_tokens - len(self.tokens), len(self.tokens)
        written, ended = self._until_end(canvas.tokens[num_head:])
        ended, written = ended and len(written) <= num_left, written[:num_left]
        if canvas.failed:
            self.finish_reason, written = "error", []
        elif ended:
            self.finish_reason = "stop"
        self._append(written, canvas.confidence[num_head:][: len(written)])
        self.head = []
        self.text += canvas.tokens
        # What a draft says after the end is not part of the answer.
        num_counted = num_head + len(written) + ended if self.verifies else len(canvas.tokens)
        decided = [i for i in canvas.decided if i < num_counted]
        log_p = sum(math.log(max(canvas.confidence[i], _MIN_CONFIDENCE)) for i in decided)
        committed = _CommittedCanvas(self.canvas, first, len(self.tokens), log_p, len(decided), canvas.unsettled)
        if self.complete is None:
            self._committed.append(committed)
        else:
            self._committed[self.canvas] = replace(committed, end=self.complete.left[-1].end)
        if self.finish_reason is None:
            self._skip()
            if self._is_whole():
                self.finish_reason = "stop"
            elif len(self.tokens) >= self.max_tokens:
                self.finish_reason = "length"
        piece = self.stream.take(last=self.finish_reason is not None)
        if self.stream.stopped:
            self.finish_reason = "stop"
            num_kept = num_covering(self.bundle.tokenizer, self.tokens, self.stream.text)
            del self.tokens[num_kept:], self.confidence[num_kept:]
        told = self.stream.num_shown(self.bundle.tokenizer, self.tokens)
        new = self._answer(self._num_told, told)
        self.events.put(Committed(variation=self.variation, canvas=self.canvas, text=piece, **new))
        self._num_told, self.canvas = told, self.canvas + 1
        is_open = self.finish_reason is None or canvas.unsettled or not self.request.sampler.adaptive
        if self.hurried and is_open and not canvas.failed:
            self.finish("deadline")
        elif self.finish_reason is not None and (self.hurried or not self._reopen()):
            self.finish(self.finish_reason)

    def _reopen(self) -> bool:
        """Reopen the next canvas to be denoised again, if there is one.

        Later ones go first, so that each sees what those after it have become.
        """
        reason, given = self.finish_reason, self.request.start
        if not self.request.revisit or reason not in ("stop", "length"):
            return False
        if self.complete is not None:
            left, reason, ends = self.complete.left[:-1], self.complete.reason, self.complete.ends
        else:
            followed = [canvas for canvas in self._committed if canvas.start < canvas.end < len(self.tokens)]
            left = followed[-self.request.revisit :]
            ended = reason == "stop" and given is None and len(self.tokens) < self.request.max_tokens
            ends = tuple(self.bundle.tokenizer.eos_ids[: int(ended)])
        if not left:
            return False
        tokens, confidence, opened = self.tokens, self.confidence, left[-1]
        self.complete = _Complete(tokens, confidence, self.stream.text, ends, reason, left)
        frozen = [
            not opened.start <= i < opened.end or (given is not None and given.frozen[i]) for i in range(len(tokens))
        ]
        start = Start(
            tokens=(*tokens, *ends),
            frozen=(*frozen, *[True] * len(ends)),
            noise_level=self.request.revisit_level,
            bound=len(tokens),
        )
        self._begin(start)
        self._append(tokens[: opened.start], confidence[: opened.start])
        self._extend_text(self.tokens)
        self._num_told = len(self.tokens)
        self.stream.take()
        self.canvas, self.finish_reason = opened.index, None
        self.usage.reopened += 1
        self.events.put(Reopened(variation=self.variation, canvas=opened.index, text=self.stream.text))
        return True

    def _answer(self, first: int, last: int) -> dict[str, Any]:
        """Result fields about some of its tokens."""
        top = tuple(self.top.get(i, ()) for i in range(first, last if self.top else 0))
        tokens, confidence = tuple(self.tokens[first:last]), tuple(self.confidence[first:last])
        return {"tokens": tokens, "confidence": confidence, "top_logprobs": top}

    def _is_whole(self) -> bool:
        """Whether it ends without an end token."""
        automaton, full = self.request.automaton, len(self.tokens) >= self.max_tokens
        if self.start is None and automaton is not None:
            return bool(automaton.final_S[self.state]) and (full or automaton.is_over(self.state))
        return self.start is not None and full

    def fail(self, error: Exception) -> None:
        """End it because of its own failure."""
        # Another error is a mistake, perhaps in a sampler of the user's own: its traceback says where.
        level = logging.DEBUG if isinstance(error, SfumatoError) else logging.ERROR
        logging.getLogger(__name__).log(level, "an answer failed", exc_info=error)
        self.finish("error", f"{type(error).__name__}: {error}")

    def finish(self, reason: FinishReason, error: str = "") -> None:
        """End it with the text it has; a reopened canvas keeps its committed text."""
        text = self.stream.text
        if self.complete is not None and (self.finish_reason is None or reason == "error"):
            self.tokens, self.confidence, text = self.complete.tokens, self.complete.confidence, self.complete.text
        elif self.complete is not None:
            reason = self.complete.reason
        self.usage.unsettled = sum(canvas.unsettled for canvas in self._committed)
        self.finish_reason = reason = "steps" if reason == "stop" and self.usage.unsettled else reason
        self.usage.completion_tokens = len(self.tokens)
        self.usage.total_s = time.perf_counter() - self.started
        num_decided = sum(canvas.num_decided for canvas in self._committed)
        result = Result(
            text=text,
            finish_reason=reason,
            seed=self.seed,
            model=self.bundle.name,
            usage=self.usage,
            trace=self.trace,
            canvases=tuple(self.canvases),
            certainty=sum(canvas.log_confidence for canvas in self._committed) / max(1, num_decided),
            error=error,
            **self._answer(0, len(self.tokens)),
        )
        self.events.put(Finished(variation=self.variation, result=result))
