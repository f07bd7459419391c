"""One answer in the making: its text so far, where it stands, what it cost, and the events it gives.

An answer is a text that grows canvas by canvas. `Answer` knows how its family lays text out for the weights: which
positions are written ahead of a canvas, and which tokens a canvas reads. It holds no tensors and takes no steps.
"""

# R rows, L canvas

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from sfumato.data.tokenizer import Detokenizer
from sfumato.engine.generator import Generator, possible_states
from sfumato.engine.kvcache import CachedText
from sfumato.engine.request import (
    CanvasChanged,
    Committed,
    Event,
    Finished,
    FinishReason,
    Reopened,
    Request,
    Result,
    Start,
    Usage,
)
from sfumato.sampling import CanvasBatch, CanvasRecord, Constraint, StepRecord, StepResult
from sfumato.spec import GenerationSpec

# A confidence that is as good as none.
_LEAST = 1e-30


@dataclass
class _Canvas:
    """One that was committed."""

    index: int
    start: int
    end: int
    """Its tokens of the answer: the first, and the one behind the last."""
    log_confidence: float
    num_decided: int
    """Sum over the positions that its last step decided, and how many they were."""


@dataclass(frozen=True)
class Whole:
    """An answer that came to its end, while canvases of it are denoised again."""

    tokens: tuple[int, ...]
    confidence: tuple[float, ...]
    text: str
    ends: tuple[int, ...]
    """The end token behind it, if it has one."""
    reason: FinishReason
    """Why it ended."""
    again: _Canvas
    """The canvas that is open."""
    left: list[_Canvas]
    """Those that will be; the last goes first."""


@dataclass(eq=False)
class Answer:
    """One answer in the making; a request has n."""

    generator: Generator
    request_id: int
    variation: int
    wanted: Request
    drafts: bool
    """Whether every step is to be told of."""
    text: list[int] = field(init=False)
    """What stands before the canvas: the prompt and what was committed, in whole blocks where the prefix has them."""
    head: list[int] = field(init=False)
    """End of the prompt that shares its block with the first canvas, and stands frozen at its head."""
    cached: CachedText | None = None
    """Its room in the cache, once it has any."""
    start: Start | None = field(init=False)
    """What it starts from: what the request gives, or the whole answer while a canvas of it is open again."""
    tokens: list[int] = field(default_factory=list)
    """Of the answer, without its end token; while a canvas is open again, of what is before it."""
    confidence: list[float] = field(default_factory=list)
    """Of each of them, the probability that the last step gave it."""
    canvas: int = 0
    """Index of the canvas in work."""
    whole: Whole | None = None
    """The answer when it came to its end, while canvases of it are denoised again."""
    service: float = 0.0
    """Positions computed for it so far: what the scheduler goes by."""
    computed: int = 0
    """Positions that its canvas put through the weights in the last step."""
    fitted: int | None = None
    """Length of the first canvas, once the length head has set it."""
    waited: int = 0
    """Steps of the engine in a row that left it out."""
    usage: Usage = field(default_factory=Usage)
    trace: list[CanvasChanged] = field(default_factory=list)
    canvases: list[CanvasRecord] = field(default_factory=list)
    """Those that were committed, where they are to be recorded."""
    steps: list[StepRecord] = field(default_factory=list)
    """Of the canvas in work, likewise."""
    finish_reason: FinishReason | None = None

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.usage.prompt_tokens = len(self.wanted.prompt)
        self._canvases: list[_Canvas] = []
        self._begin(self.wanted.start)
        # Tokens whose text was not told yet.
        self._untold = self._skip()

    def _begin(self, start: Start | None) -> None:
        """Stand behind the prompt, with nothing written."""
        self._detokenizer = Detokenizer(self.generator.tokenizer)
        self._written = ""
        self.text, self.head, self.tokens, self.confidence = [], [], [], []
        self._place(self.wanted.prompt)
        automaton, self.start = self.wanted.automaton, start
        self.state = 0 if automaton is None else automaton.start
        self._possible = None if automaton is None or start is None else possible_states(automaton, start)

    @property
    def spec(self) -> GenerationSpec:
        return self.generator.spec

    @property
    def seed(self) -> int:
        return self.wanted.seed + self.variation

    @property
    def num_ahead(self) -> int:
        """How much of its text is written before a canvas can be read.

        Where every position reads every other, none: each step computes them all. Where logits are shifted, the last
        token is read at the head of the canvas instead.
        """
        if self.spec.prefix_attention == "full":
            return 0
        return len(self.text) - self.spec.logit_shift

    @property
    def wants_length(self) -> bool:
        """Whether a length head is to be asked before the first canvas is opened."""
        may = self.wanted.fit and self.start is None and not self.spec.autoregressive
        return may and self.fitted is None and self.canvas == 0 and self.num_ahead > 0

    @property
    def num_shared(self) -> int:
        """How much of its text others may have written for it; what a length head reads is its own."""
        return self.num_ahead - self.wants_length

    @property
    def num_unwritten(self) -> int:
        """Positions that have to go through the weights before, or together with, the first step of a canvas."""
        assert self.cached is not None
        return self.num_ahead - self.cached.length

    @property
    def canvas_length(self) -> int:
        """Positions of the canvas in work, or of the next; the last is cut to what max_tokens leaves, but a block of a
        block-causal prefix is always whole."""
        if self.spec.prefix_attention == "block":
            return self.spec.canvas_length
        if self.whole is not None:
            # It sees what follows.
            again = self.whole.again
            seen = again.end - again.start + self.wanted.canvas_length
            return min(seen, len(self.whole.tokens) + len(self.whole.ends) - len(self.tokens))
        length = self.wanted.canvas_length if self.canvas or self.fitted is None else self.fitted
        return min(length, self.most - len(self.tokens))

    @property
    def most(self) -> int:
        """Most tokens of the answer."""
        return self.wanted.max_tokens if self.whole is None else len(self.whole.tokens)

    @property
    def step_positions(self) -> int:
        """What a step over its canvas puts through the weights."""
        ahead = len(self.text) if self.spec.prefix_attention == "full" else 0
        return ahead + self.canvas_length

    @property
    def noise_level(self) -> float:
        """Of the first step of a canvas."""
        return 1.0 if self.start is None else self.start.noise_level

    @property
    def may_end(self) -> bool:
        """Whether an end token may be written."""
        return self.start is None or self.start.blanks

    def next_canvas(self) -> tuple[list[int], list[bool]]:
        """The next canvas before noise, and what is frozen on it."""
        tokens, frozen = list(self.head), [True] * len(self.head)
        if self.start is not None:
            part = slice(len(self.tokens), len(self.tokens) + self.canvas_length - len(self.head))
            tokens += self.start.tokens[part]
            frozen += self.start.frozen[part]
        free = self.canvas_length - len(tokens)
        return [*tokens, *[0] * free], [*frozen, *[False] * free]

    def _place(self, tokens: Sequence[int]) -> None:
        """Put tokens behind the text, in whole blocks; the rest of them to the head of the next canvas."""
        head = [*self.head, *tokens]
        whole = len(head) // self.spec.block * self.spec.block
        self.text += head[:whole]
        self.head = head[whole:]

    def constraint(self) -> Constraint | None:
        """What the text of the next canvas must be."""
        automaton = self.wanted.automaton
        if automaton is None:
            return None
        start = self.start
        ahead, most = len(self.head), self.most if start is None else start.num_bound
        if len(self.tokens) >= most:
            return None
        # A block is whole, and the answer ends within it.
        length = min(self.canvas_length, ahead + most - len(self.tokens))
        end = len(self.tokens) + length - ahead
        # Where the rest of the answer can still bring it to an end.
        allowed_S = automaton.distance_S <= most - end
        if self._possible is not None:
            allowed_S = self._possible[end]
        return Constraint(automaton=automaton, state=self.state, allowed_S=allowed_S, length=length, ahead=ahead)

    def _skip(self) -> list[int]:
        """Take over what the start freezes, up to the next free position, or what the language leaves no choice of."""
        start, place = self.start, len(self.tokens)
        if start is not None:
            end = next((i for i in range(place, self.most) if not start.frozen[i]), self.most)
            skipped = list(start.tokens[place:end])
        else:
            skipped = self._forced()
        self._append(skipped, [1.0] * len(skipped))
        self._place(skipped)
        return skipped

    def _append(self, tokens: Sequence[int], confidence: Sequence[float]) -> None:
        """Put tokens behind those of the answer."""
        self.tokens += tokens
        self.confidence += confidence
        if self.wanted.automaton is not None:
            self.state = self.wanted.automaton.walk(self.state, tokens)

    def _forced(self) -> list[int]:
        """Tokens of the text that the language leaves no choice of; not the last, which may take in what follows."""
        automaton = self.wanted.automaton
        if automaton is None or self.state >= automaton.end_state:
            return []
        text, whole = automaton.forced(self.state)
        tokens = self.generator.tokenizer.encode(text.decode(errors="ignore"))
        tokens = tokens if whole else tokens[:-1]
        left = self.most - len(self.tokens)
        if len(tokens) == left:
            tokens = tokens[:-1]
        behind = automaton.walk(self.state, tokens)
        # Cut in other ways than the shortest, it might not fit.
        fits = len(tokens) <= left and behind < automaton.num_states
        return tokens if fits and automaton.distance_S[behind] <= left - len(tokens) else []

    def _until_end(self, tokens: Sequence[int]) -> tuple[list[int], bool]:
        """The tokens before the first that ends the text, and whether there is one; with a start, none does."""
        ends = [i for i, token in enumerate(tokens) if token in self.generator.tokenizer.eos_ids]
        return (list(tokens[: ends[0]]), True) if ends and self.start is None else (list(tokens), False)

    def show(self, batch: CanvasBatch, row: int, result: StepResult | None) -> list[tuple[int, Event]]:
        """Record and tell of a step, or with no result of the noise it starts from, if anybody wants to know."""
        if result is not None and self.wanted.record:
            self.steps.append(result.record(row))
        if not self.drafts and not self.wanted.trace:
            return []
        tokenizer, head, end = self.generator.tokenizer, len(self.head), int(batch.length_R[row])
        draft = batch.draft_RL[row, head:end].tolist()
        shown, _ = self._until_end(draft)
        part, length = slice(head, end), end - head
        none = (False,) * length
        event = CanvasChanged(
            variation=self.variation,
            canvas=self.canvas,
            step=int(batch.step_R[row]),
            steps=int(batch.steps_R[row]),
            tokens=tuple(draft),
            pieces=(*(tokenizer.decode([token]) for token in shown), *[""] * (length - len(shown))),
            text=tokenizer.decode(shown),
            accepted=tuple(batch.accepted_RL[row, part].tolist()) if result else none,
            revised=tuple(result.revised_RL[row, part].tolist()) if result else none,
            confidence=tuple(result.statistics.confidence_RL[row, part].nan_to_num().tolist())
            if result
            else (0.0,) * length,
        )
        if self.wanted.trace:
            self.trace.append(event)
        return [(self.request_id, event)] if self.drafts else []

    def commit(
        self,
        tokens: Sequence[int],
        *,
        steps: int,
        revisions: int,
        confidence: Sequence[float],
        decided: Sequence[int],
        failed: bool,
    ) -> list[tuple[int, Event]]:
        """Take a finished canvas into the answer.

        Args:
            tokens: what stands on it.
            steps, revisions: what it took.
            confidence: of the last step, at each position.
            decided: the positions that it was to decide.
            failed: the logits were broken, and it is not to be shown.
        """
        usage = self.usage
        usage.canvases += 1
        usage.denoising_steps += steps
        usage.revisions += revisions
        usage.time_to_first_commit_s = usage.time_to_first_commit_s or time.perf_counter() - self.started
        if self.wanted.record:
            self.canvases.append(CanvasRecord(text=tuple(self.text), steps=tuple(self.steps)))
            self.steps = []
        left, begun = self.most - len(self.tokens), len(self.tokens)
        written, ended = self._until_end(tokens[len(self.head) :])
        written, ended = written[:left], ended and len(written) <= left
        if failed:
            self.finish_reason, written = "error", []
        elif ended:
            self.finish_reason = "stop"
        ahead = len(self.head)
        self._append(written, confidence[ahead : ahead + len(written)])
        self.head = []
        self.text += tokens
        log_confidence = sum(math.log(max(confidence[place], _LEAST)) for place in decided)
        self._book(_Canvas(self.canvas, begun, begun + len(written), log_confidence, len(decided)))
        if self.finish_reason is None:
            written += self._skip()
        if self.finish_reason is None and self._is_whole():
            self.finish_reason = "stop"
        if self.finish_reason is None and len(self.tokens) >= self.most:
            self.finish_reason = "length"
        piece = self._detokenizer.push([*self._untold, *written])
        self._untold = []
        if self.finish_reason is not None:
            piece += self._detokenizer.finish()
        self._written += piece
        committed = Committed(variation=self.variation, canvas=self.canvas, text=piece)
        self.canvas += 1
        events: list[tuple[int, Event]] = [(self.request_id, committed)]
        if self.finish_reason is None:
            return events
        if (reopened := self._reopen()) is not None:
            return [*events, (self.request_id, reopened)]
        return [*events, self.finish(self.finish_reason)]

    def _book(self, canvas: _Canvas) -> None:
        """Note a committed canvas; one that was open again is noted already."""
        if self.whole is None:
            self._canvases.append(canvas)
            return
        again = self.whole.again
        again.log_confidence, again.num_decided = canvas.log_confidence, canvas.num_decided

    def _reopen(self) -> Reopened | None:
        """Open the next canvas that is to be denoised again, if there is one.

        The later go first, so that each sees what those behind it have become.
        """
        reason = self.finish_reason
        if not self.wanted.revisit or reason not in ("stop", "length"):
            return None
        if self.whole is None:
            followed = [canvas for canvas in self._canvases if canvas.start < canvas.end < len(self.tokens)]
            left = followed[-self.wanted.revisit :]
            ended = reason == "stop" and self.wanted.start is None and len(self.tokens) < self.wanted.max_tokens
            ends = self.generator.tokenizer.eos_ids[: int(ended)]
        else:
            left, reason, ends = self.whole.left, self.whole.reason, self.whole.ends
        if not left:
            return None
        again, given = left[-1], self.wanted.start
        self.whole = Whole(
            tokens=tuple(self.tokens),
            confidence=tuple(self.confidence),
            text=self._written,
            ends=tuple(ends),
            reason=reason,
            again=again,
            left=left[:-1],
        )
        inside = range(again.start, again.end)
        frozen = [place not in inside or (given is not None and given.frozen[place]) for place in range(self.most)]
        start = Start(
            tokens=(*self.whole.tokens, *ends),
            frozen=(*frozen, *[True] * len(ends)),
            noise_level=self.wanted.revisit_level,
            bound=self.most,
        )
        self._begin(start)
        before = list(self.whole.tokens[: again.start])
        self._append(before, self.whole.confidence[: again.start])
        self._place(before)
        self._written = self._detokenizer.push(before)
        self.canvas, self.finish_reason = again.index, None
        self.usage.reopened += 1
        return Reopened(variation=self.variation, canvas=again.index, text=self._written)

    def _is_whole(self) -> bool:
        """Whether it is at an end that no end token has to tell."""
        automaton = self.wanted.automaton
        if self.start is None and automaton is not None:
            return bool(automaton.final_S[self.state]) and (
                len(self.tokens) >= self.most or automaton.is_over(self.state)
            )
        return self.start is not None and len(self.tokens) >= self.most

    def finish(self, reason: FinishReason, error: str = "") -> tuple[int, Event]:
        """End it, with the text it has; a canvas that is open again stays as it was committed before."""
        if self.whole is not None:
            if self.finish_reason is None or reason == "error":
                self.tokens, self.confidence = list(self.whole.tokens), list(self.whole.confidence)
                self._written = self.whole.text
            else:
                reason = self.whole.reason
        self.finish_reason = reason
        self.usage.completion_tokens = len(self.tokens)
        self.usage.total_s = time.perf_counter() - self.started
        result = Result(
            text=self._written,
            tokens=tuple(self.tokens),
            finish_reason=reason,
            seed=self.seed,
            model=self.generator.name,
            usage=self.usage,
            trace=self.trace,
            canvases=tuple(self.canvases),
            confidence=tuple(self.confidence),
            certainty=sum(canvas.log_confidence for canvas in self._canvases)
            / max(1, sum(canvas.num_decided for canvas in self._canvases)),
            error=error,
        )
        return self.request_id, Finished(variation=self.variation, result=result)
