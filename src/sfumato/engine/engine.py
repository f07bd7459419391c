"""The engine: many requests over one model, each as if it were alone.

An answer is written, denoised and committed, canvas after canvas. Every step of the engine takes those that go next
(`scheduler`), puts the text they have to write and the canvases they denoise through the weights in one pass
(`runner`), and lets the sampler decide; what is finished leaves at once, and what waits joins at once. Committing is
writing: a finished canvas is text that the next step writes, together with the first reading of the canvas behind it.
"""

# R rows, L canvas

from __future__ import annotations

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from sfumato.engine.answer import Answer
from sfumato.engine.generator import Generator
from sfumato.engine.kvcache import KVCache, free_bytes
from sfumato.engine.replay import MOST_REPLAYED, Left, Replayer, record_cuda
from sfumato.engine.request import Event, Finished, FinishReason, Reopened, Request
from sfumato.engine.runner import Part, Passed, Runner
from sfumato.engine.scheduler import Queue, Work, plan
from sfumato.engine.tape import Tapes
from sfumato.errors import CapacityError, ConfigError
from sfumato.models.attention import Numbers, Segment
from sfumato.sampling import Active, CanvasBatch, Constraint, SamplerConfig, StepResult, step

Array = np.ndarray[Any, np.dtype[Any]]

_PAGE = 16
# Kinds of forwards whose recordings are kept, where they are of any texts.
_RECORDINGS = 16
# Of those that wait, so many are looked at for one that fits; after so many steps nobody is let in before the first.
_LOOK_AHEAD = 16
_PATIENCE = 100
_GPU_POSITIONS, _LONE_POSITIONS, _SHARED_POSITIONS = 2048, 512, 128


class HasGenerator(Protocol):
    """What `sfumato.load` gives."""

    @property
    def generator(self) -> Generator:
        """The model with all that does not change from request to request."""
        ...


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """How much an engine takes on."""

    cache_positions: int | None = None
    """Positions that the KV cache holds; None takes what `max_rows` longest texts need, or a quarter of the free
    memory if that is less."""
    max_rows: int = 64
    """Answers in work at once; others wait."""
    max_queue: int = 1024
    """Answers that may wait; further requests are refused."""
    max_positions: int | None = None
    """Most positions of one step, as long as more than one answer is in work. None takes 2,048 on a GPU; on a CPU 512
    for the variations of a single request, and 128 for several requests, as each waits for the whole step."""
    prefill_chunk: int = 256
    """Most positions of a prompt that are written in one step."""
    reuse_prefixes: bool = True
    """Keep what was written for texts that begin alike."""
    replay: bool = True
    """Record the steps of a canvas and replay them. On a GPU, as a CUDA graph: the host launches one thing, not a
    thousand. On a CPU, without the program that decides what is computed (`sfumato.engine.tape`)."""
    busy_from: int = 8
    """Answers in work or waiting up to which nobody's steps are cut. With twice as many a canvas gets half of them, and
    so on, of requests that allow it (`Request.least_steps`)."""

    def __post_init__(self) -> None:
        for name in ("cache_positions", "max_rows", "max_queue", "max_positions", "prefill_chunk", "busy_from"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ConfigError(f"{name} is {value!r}; allowed: a whole number, 1 or more")


class Engine:
    """Answers requests together.

    Every method may be called from any thread.

    Args:
        model: what `sfumato.load` gives, or its generator.
        config: how much to take on.
    """

    def __init__(self, model: HasGenerator | Generator, config: EngineConfig | None = None) -> None:
        self.generator = model if isinstance(model, Generator) else model.generator
        self.config = config or EngineConfig()
        spec = self.generator.spec
        page_size = -(-_PAGE // spec.block) * spec.block
        num_pages = -(-self._cache_positions() // page_size) + 1
        pool = self.generator.model.new_pool(num_pages * page_size)
        # Where every position reads every other, nothing that was written stays as it is.
        reuse = self.config.reuse_prefixes and spec.prefix_attention != "full"
        self.cache = KVCache(pool, page_size, reuse=reuse)
        self.runner = Runner(
            self.generator.model,
            pool,
            autoregressive=spec.autoregressive,
            replayer=self._replayer(pool.device.type),
        )
        self._lock = threading.RLock()
        self._queue = Queue()
        self._running: list[Answer] = []
        # The canvases in work, and whose they are, row by row.
        self._batch: CanvasBatch | None = None
        self._owners: list[Answer] = []
        self._constraints: list[Constraint | None] = []
        self._num_requests = 0
        self._late_events: list[tuple[int, Event]] = []
        self._mailboxes: dict[int, deque[Event]] = {}
        self._closed = False
        self._seconds_each = 0.0

    # What callers do.

    @property
    def state_bytes(self) -> int:
        """Bytes that the canvases in work hold from step to step, besides weights and cache."""
        with self._lock:
            return 0 if self._batch is None else self._batch.nbytes

    def submit(self, request: Request, *, drafts: bool = False) -> int:
        """Queue a request.

        Args:
            request: what to do.
            drafts: give a `CanvasChanged` for every step.

        Returns:
            Its id, under which its events come.

        Raises:
            RequestError: if the model cannot do it.
            CapacityError: if it can never be held, if the queue is full, or if the engine is closed.
        """
        self.check_request(request)
        with self._lock:
            if self._closed:
                raise CapacityError("this engine is closed; submit to another one")
            answers = [Answer(self.generator, self._num_requests, i, request, drafts) for i in range(request.n)]
            if len(self._queue) + request.n > self.config.max_queue:
                raise CapacityError(
                    f"{len(self._queue)} answers wait and {request.n} more are asked for; allowed: "
                    f"{self.config.max_queue} waiting. {self._hint()}"
                )
            self._num_requests += 1
            for answer in answers:
                self._queue.push(answer)
            return answers[0].request_id

    def check_request(self, request: Request) -> None:
        """Refuse what can never be done.

        Raises:
            RequestError: if the model cannot do it.
            CapacityError: if the model or the cache can never hold it.
        """
        self.generator.check(request)
        self.cache.check_fits(self.generator.num_positions(request))
        if request.n > self.config.max_queue:
            raise CapacityError(
                f"n is {request.n}; this engine lets {self.config.max_queue} answers wait: ask for fewer"
            )

    def cancel(self, request_id: int) -> None:
        """End a request now, with what was committed of it; its room is free at once. Of a finished one, nothing."""
        with self._lock:
            own = [answer for answer in self._answers() if answer.request_id == request_id]
            self._late_events += self._end(own, "cancelled")

    def close(self) -> None:
        """End all requests, as if they were cancelled, and take no more."""
        with self._lock:
            self._closed = True
            self._late_events += self._end(self._answers(), "cancelled")

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._running or self._queue or self._late_events)

    def step(self) -> list[tuple[int, Event]]:
        """Take one step: one pass through the weights at most.

        Returns:
            (request id, event) of all that happened since the last one; each answer ends in one `Finished`.
        """
        with self._lock, torch.inference_mode():
            events, self._late_events = self._late_events, []
            events += self._expire()
            self._admit()
            work = plan(self._running, max_positions=self._most_positions(), chunk=self.config.prefill_chunk)
            events += self._open_canvases([piece.answer for piece in work if piece.denoises])
            if work:
                events += self._advance(work)
            self._let_go()
            return events

    def run(self, requests: Sequence[Request], *, drafts: bool = False) -> Iterator[tuple[int, Event]]:
        """Answer requests, beside whatever else the engine does.

        Args:
            requests: any number; they are submitted as the queue has room.
            drafts: yield `CanvasChanged` events too.

        Yields:
            (index of the request, event); each answer ends in one `Finished`. Requests whose events are no longer asked
            for are cancelled.

        Raises:
            CapacityError: see `submit`.
        """
        for request in requests:
            self.check_request(request)
        backlog = deque(enumerate(requests))
        indices: dict[int, int] = {}
        left: dict[int, int] = {}
        try:
            while backlog or left:
                with self._lock:
                    while backlog and len(self._queue) + backlog[0][1].n <= self.config.max_queue:
                        index, request = backlog.popleft()
                        request_id = self.submit(request, drafts=drafts)
                        indices[request_id], left[request_id] = index, request.n
                        self._mailboxes[request_id] = deque()
                    if not any(self._mailboxes[request_id] for request_id in left):
                        self._deliver(self.step())
                    mail = [(request_id, event) for request_id in left for event in self._collect(request_id)]
                for request_id, event in mail:
                    if isinstance(event, Finished):
                        left[request_id] -= 1
                        if not left[request_id]:
                            del left[request_id], self._mailboxes[request_id]
                    yield indices[request_id], event
        finally:
            with self._lock:
                for request_id in left:
                    self.cancel(request_id)
                    del self._mailboxes[request_id]
                self._late_events = [entry for entry in self._late_events if entry[0] not in left]

    def check(self) -> None:
        """Hold the books of the cache against the answers in work.

        Raises:
            AssertionError: at the first thing that is not as it should be.
        """
        with self._lock:
            texts = [answer.cached for answer in self._running]
            assert None not in texts
            self.cache.check([text for text in texts if text is not None])
            assert all(answer.cached is None for answer in self._queue)
            assert all(owner in self._running for owner in self._owners)
            assert len(self._owners) == (0 if self._batch is None else len(self._batch))

    # What a step is made of.

    def _expire(self) -> list[tuple[int, Event]]:
        now = time.perf_counter()
        late = [
            answer
            for answer in self._answers()
            if answer.wanted.deadline_ms is not None and now - answer.started >= answer.wanted.deadline_ms / 1000
        ]
        return self._end(late, "deadline")

    def _admit(self) -> None:
        """Let in those for whom there is room, in their order. Who is too large for now is passed over by smaller ones,
        but not for ever."""
        if len(self._running) >= self.config.max_rows:
            return
        admitted: list[Answer] = []
        passed = 0
        for answer in self._queue:
            cached = self.cache.open(answer.text[: answer.num_shared], self.generator.num_positions(answer.wanted))
            if cached is None:
                passed += 1
                answer.waited += 1
                if passed == _LOOK_AHEAD or answer.waited > _PATIENCE:
                    break
                continue
            answer.cached, answer.waited = cached, 0
            if answer.whole is None:
                answer.usage.cached_tokens = cached.num_reused
            admitted.append(answer)
            self._running.append(answer)
            if len(self._running) == self.config.max_rows:
                break
        if admitted:
            self._queue.remove(admitted)

    def _advance(self, work: Sequence[Work]) -> list[tuple[int, Event]]:
        """Do the work of a step; if it fails, each piece alone, so that only those fail that cannot be done."""
        try:
            return self._do(work)
        except Exception as error:
            if len(work) == 1:
                message = f"{type(error).__name__}: {error}"
                return [work[0].answer.finish("error", message)]
        return [event for piece in work if piece.answer.finish_reason is None for event in self._advance([piece])]

    def _do(self, work: Sequence[Work]) -> list[tuple[int, Event]]:
        writers = [piece.answer for piece in work if piece.num_written]
        writing = [self._writing(piece) for piece in work if piece.num_written]
        # In the order of the batch, so that it need not be put in another.
        rows = sorted(self._owners.index(piece.answer) for piece in work if piece.denoises)
        result, passed = self._denoise(rows, writing) if rows else (None, self.runner.forward(writing))
        for piece in work:
            self._count(piece)
        self._fit(writers, passed)
        return [] if result is None else self._review(rows, result)

    def _fit(self, writers: Sequence[Answer], passed: Passed) -> None:
        """Set the first canvas of those that wait for their length and have written all that is ahead of it."""
        waiting = [i for i, answer in enumerate(writers) if answer.wants_length and not answer.num_unwritten]
        if not waiting:
            return
        place_N = torch.tensor([passed.end_P[i] for i in waiting], device=passed.hidden_ND.device)
        shares = self.runner.length_logits(passed.hidden_ND, place_N).softmax(-1).tolist()
        for i, own in zip(waiting, shares, strict=True):
            writers[i].fitted = self.generator.first_length(own) or writers[i].wanted.canvas_length

    def _writing(self, piece: Work) -> Part:
        text, cached = piece.answer.text, piece.answer.cached
        assert cached is not None
        start, count = cached.length, piece.num_written
        segment = Segment(
            slot_S=cached.slot_S, start=start, end=start + count, block=self.generator.spec.block, run=cached.run
        )
        return Part(segment=segment, tokens=text[start : start + count])

    def _reading(self, answer: Answer, row: int, length: int, active: Numbers | None) -> Part:
        """What a canvas reads of itself; the rest of its text stands in the cache, or before it in the same pass.

        Args:
            answer: whose canvas.
            row: of the batch.
            length: of the canvas.
            active: the canvas positions to decide, if the others are left as they were.
        """
        spec, cached, ahead = self.generator.spec, answer.cached, answer.num_ahead
        assert cached is not None
        full, shift = spec.prefix_attention == "full", int(spec.logit_shift)
        decided = np.arange(length) if active is None else active
        if not full:
            # Where logits are shifted, each position reads the token before the one it decides; so what is behind a
            # token that may have changed is computed as well.
            if active is not None and shift:
                decided = np.union1d(active, active + 1)
                decided = decided[decided < length]
            reads = decided[decided >= shift] - shift
            tokens = answer.text[ahead:] if len(reads) < len(decided) else []
            place, end, logits_before = ahead + decided, ahead + length, 0
        elif active is None:
            reads, tokens = decided, answer.text
            place, end, logits_before = np.arange(len(tokens) + length), len(tokens) + length, shift
        else:
            wanted = np.union1d(decided, decided - shift)
            decided = reads = wanted[wanted >= 0]
            tokens = answer.text[-1:] if len(reads) < len(wanted) else []
            place, end, logits_before = len(answer.text) + wanted, len(answer.text) + length, shift
        segment = Segment(
            slot_S=cached.slot_S,
            start=ahead,
            end=end,
            # A single position reads what is before it, whichever way it is put.
            block=1 if spec.autoregressive else None,
            run=cached.run,
            place_Q=None if len(place) == end - ahead else place,
        )
        return Part(segment=segment, tokens=tokens, row=row, reads=reads, canvas=decided, shift=logits_before)

    def _open_canvases(self, answers: Sequence[Answer]) -> list[tuple[int, Event]]:
        new = [answer for answer in answers if answer not in self._owners]
        if not new:
            return []
        canvases, constraints = [answer.next_canvas() for answer in new], [answer.constraint() for answer in new]
        fresh = CanvasBatch.from_tokens(
            self.generator.process,
            [tokens for tokens, _ in canvases],
            frozen=[frozen for _, frozen in canvases],
            seeds=[answer.seed for answer in new],
            config=[self._sampler(answer) for answer in new],
            noise_level=[answer.noise_level for answer in new],
            # One that is open again draws anew.
            canvas=[answer.usage.canvases for answer in new],
            constraints=constraints,
            device=self.cache.pool.device,
        )
        self._batch = fresh if self._batch is None else CanvasBatch.concatenate([self._batch, fresh])
        first = len(self._owners)
        self._owners += new
        self._constraints += constraints
        events = []
        for i, answer in enumerate(new):
            events += answer.show(self._batch, first + i, None)
        return events

    def _sampler(self, answer: Answer) -> SamplerConfig:
        """How its next canvas is denoised: in fewer steps if many wait, and the request allows it."""
        sampler, least = answer.wanted.sampler, answer.wanted.least_steps
        if least is None:
            return sampler
        crowd = max(1.0, (len(self._running) + len(self._queue)) / self.config.busy_from)
        steps = max(least, round(sampler.steps / crowd))
        answer.usage.steps_cut += sampler.steps - steps
        return dataclasses.replace(sampler, steps=steps)

    def _denoise(self, rows: Sequence[int], writing: Sequence[Part]) -> tuple[StepResult, Passed]:
        """A step of some canvases, with what has to be written in the same pass."""
        assert self._batch is not None
        every = list(rows) == list(range(len(self._batch)))
        batch = self._batch if every else self._batch.select(rows)
        answers = [self._owners[row] for row in rows]

        def reading(active: Active | None) -> list[Part]:
            parts = []
            chosen: list[Numbers | None] = [None] * len(answers)
            if active is not None:
                canvas_RL, whole_R = (one.cpu().numpy() for one in active)
                chosen = [
                    None if whole else canvas_L.nonzero()[0] for canvas_L, whole in zip(canvas_RL, whole_R, strict=True)
                ]
            for i, (answer, length) in enumerate(zip(answers, batch.host_length_R.tolist(), strict=True)):
                parts.append(self._reading(answer, i, length, chosen[i]))
                answer.computed = parts[-1].segment.count
            return parts

        constraints = [self._constraints[row] for row in rows]
        forward = _Pass(self.runner, writing, reading, batch.frozen_RL if batch.fixed else None, lambda: _left(batch))
        result = step(
            batch,
            forward,
            self.generator.process,
            self_conditioning=self.generator.spec.self_conditioning,
            banned=self.generator.banned_for([answer.may_end for answer in answers]),
            constraints=constraints if any(constraints) else None,
            stop_head=self.generator.stop_head,
            operations=self.generator.model.operations,
        )
        self._batch = result.batch if every else self._batch.put(rows, result.batch)
        assert forward.passed is not None
        return result, forward.passed

    def _count(self, piece: Work) -> None:
        """Book what a pass has done for an answer."""
        answer, usage = piece.answer, piece.answer.usage
        usage.forward_passes += 1
        num_positions = piece.num_written + piece.denoises * answer.computed
        usage.positions_computed += num_positions
        answer.service += num_positions
        if piece.num_written:
            assert answer.cached is not None
            start = answer.cached.length
            written = answer.text[start : start + piece.num_written]
            self.cache.commit(answer.cached, written, answer.text[: answer.num_shared])

    def _review(self, rows: Sequence[int], result: StepResult) -> list[tuple[int, Event]]:
        """Tell of a step, and take finished canvases into their answers."""
        batch = result.batch
        events: list[tuple[int, Event]] = []
        done = batch.done_R.tolist()
        # Read at once: a device takes as long to be asked for a number as for all of them.
        outcome = _Outcome.of(result) if any(done) else None
        gone: list[int] = []
        for i, row in enumerate(rows):
            answer = self._owners[row]
            try:
                events += answer.show(batch, i, result)
                if outcome is not None and done[i]:
                    gone.append(row)
                    events += self._commit(answer, outcome, i)
            except Exception as error:
                events.append(answer.finish("error", f"{type(error).__name__}: {error}"))
        self._drop(gone)
        return events

    def _commit(self, answer: Answer, outcome: _Outcome, row: int) -> list[tuple[int, Event]]:
        length, ahead = int(outcome.length_R[row]), answer.num_ahead
        events = answer.commit(
            outcome.tokens_RL[row, :length].tolist(),
            steps=int(outcome.step_R[row]),
            revisions=int(outcome.revisions_R[row]),
            confidence=outcome.confidence_RL[row].tolist(),
            decided=outcome.free_RL[row].nonzero()[0].tolist(),
            failed=bool(outcome.failed_R[row]),
        )
        if any(isinstance(event, Reopened) for _, event in events):
            self._open_again(answer)
        elif self.generator.spec.commit == "in_place" and self.generator.spec.prefix_attention != "full":
            # The keys and values of its last step stay.
            assert answer.cached is not None
            self.cache.commit(answer.cached, answer.text[ahead : ahead + length], exact=length == 1)
        return events

    def _open_again(self, answer: Answer) -> None:
        """Drop what was written from a canvas on; what is before it is found again when the answer is let in, next."""
        assert answer.cached is not None
        self.cache.close(answer.cached)
        answer.cached = None
        self._running.remove(answer)
        self._queue.push(answer, first=True)

    def _most_positions(self) -> int:
        if self.config.max_positions is not None:
            return self.config.max_positions
        if self.generator.model.device.type != "cpu":
            return _GPU_POSITIONS
        alone = len({answer.request_id for answer in self._running}) == 1
        return _LONE_POSITIONS if alone else _SHARED_POSITIONS

    def _cache_positions(self) -> int:
        model, config = self.generator.model, self.config
        if config.cache_positions is not None:
            return config.cache_positions
        most = config.max_rows * model.config.max_position_embeddings
        bytes_each = sum(2 * heads * size for heads, size in model.cache_heads) * model.embedding_VD.element_size()
        return max(1, min(most, free_bytes(model.device) // 4 // bytes_each))

    def _hint(self) -> str:
        if not self._seconds_each:
            return "Try again in a while"
        wait_s = self._seconds_each * len(self._queue) / max(1, len(self._running))
        return f"Try again in about {max(1, round(wait_s))} s"

    def _answers(self) -> list[Answer]:
        return [answer for answer in (*self._running, *self._queue) if answer.finish_reason is None]

    def _end(self, answers: Sequence[Answer], reason: FinishReason) -> list[tuple[int, Event]]:
        """Finish answers with what they have, and free what is theirs."""
        events = [answer.finish(reason) for answer in answers]
        if answers:
            self._let_go()
        return events

    def _let_go(self) -> None:
        """Free what belongs to finished answers."""
        waiting = [answer for answer in self._queue if answer.finish_reason is not None]
        if waiting:
            self._queue.remove(waiting)
        gone = [answer for answer in self._running if answer.finish_reason is not None]
        for answer in gone:
            # Of late answers, the later the more.
            self._seconds_each += (answer.usage.total_s - self._seconds_each) * (0.1 if self._seconds_each else 1.0)
            assert answer.cached is not None
            self.cache.close(answer.cached)
            answer.cached = None
        if gone:
            self._running = [answer for answer in self._running if answer.finish_reason is None]
            self._drop([row for row, owner in enumerate(self._owners) if owner.finish_reason is not None])

    def _replayer(self, device: str) -> Replayer | None:
        if not self.config.replay:
            return None
        if device == "cuda":
            return Replayer(record_cuda)
        # The host waits for what a CPU computes, and so knows what recording costs.
        most = 1 if self.generator.model.operations.segments is None else _RECORDINGS
        return Replayer(Tapes(), self.generator.patience, most=most)

    def _drop(self, rows: Sequence[int]) -> None:
        """Take canvases out of the batch."""
        if not rows:
            return
        assert self._batch is not None
        kept = [row for row in range(len(self._owners)) if row not in rows]
        self._batch = self._batch.select(kept).trimmed() if kept else None
        self._owners = [self._owners[row] for row in kept]
        self._constraints = [self._constraints[row] for row in kept]

    def _deliver(self, events: Sequence[tuple[int, Event]]) -> None:
        for request_id, event in events:
            if request_id in self._mailboxes:
                self._mailboxes[request_id].append(event)
            else:
                self._late_events.append((request_id, event))

    def _collect(self, request_id: int) -> list[Event]:
        mail = list(self._mailboxes[request_id])
        self._mailboxes[request_id].clear()
        return mail


class _Outcome(NamedTuple):
    """What is asked of a step about canvases that are done, on the host; see `CanvasBatch`."""

    tokens_RL: Array
    step_R: Array
    revisions_R: Array
    failed_R: Array
    confidence_RL: Array
    """Of the last step."""
    free_RL: Array
    length_R: Array

    @classmethod
    def of(cls, result: StepResult) -> _Outcome:
        batch = result.batch
        confidence_RL = result.statistics.confidence_RL.nan_to_num()
        asked = (batch.tokens_RL, batch.step_R, batch.revisions_R, batch.failed_R, confidence_RL)
        tokens_RL, step_R, revisions_R, failed_R, sure_RL = (one.cpu().numpy() for one in asked)
        return cls(tokens_RL, step_R, revisions_R, failed_R, sure_RL, batch.host_free_RL, batch.host_length_R)


def _left(batch: CanvasBatch) -> Left:
    """How often these canvases, all of them, will be read again behind the step that is to come; never, if they are so
    many that asking for it is nothing beside computing it, and its memory is better given back."""
    if batch.tokens_RL.numel() > MOST_REPLAYED:
        return Left(0, 0)
    left_R = batch.steps_R - batch.step_R - 1
    return Left(at_least=int(torch.where(batch.settings.adaptive_R, 0, left_R).min()), at_most=int(left_R.min()))


class _Pass:
    """One forward as the sampler sees it: a `sampling.Denoiser`.

    Args:
        runner: runs it.
        writing: parts of texts that are written in the same forward.
        reading: gives the parts that are canvases, of the positions to be computed (None is all).
        given_RL: bool; which tokens of the canvases are given; None for none.
        left: tells how often the canvases will be read again.
    """

    def __init__(
        self,
        runner: Runner,
        writing: Sequence[Part],
        reading: Callable[[Active | None], Sequence[Part]],
        given_RL: Tensor | None,
        left: Callable[[], Left],
    ) -> None:
        self._runner, self._writing, self._reading = runner, writing, reading
        self._given_RL, self._left = given_RL, left
        self.passed: Passed | None = None
        """What the forward gave."""
        self.soft_embedding = runner.soft_embedding
        self.embedding = runner.embedding

    def __call__(
        self,
        tokens_RL: Tensor,
        soft_RLD: Tensor | None,
        rows_R: Tensor,
        valid_RL: Tensor,
        index_N: Tensor,
        active: Active | None,
    ) -> Tensor:
        parts = [*self._writing, *self._reading(active)]
        self.passed = self._runner.forward(parts, tokens_RL, soft_RLD, self._given_RL, self._left)
        return self._runner.logits(self.passed.hidden_ND, self.passed.place_RL.flatten()[index_N])
