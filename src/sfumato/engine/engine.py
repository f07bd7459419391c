"""The engine: runs many requests over one model, each with the same result as if it were alone.

Every step admits sequences, schedules some of them, runs their text and canvases through the weights in one pass
(`runner`), lets the sampler decide, and updates the sequences. Finished sequences leave at once. A finished
canvas becomes text that the next step writes, together with the first step of the next canvas.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

import torch

from sfumato.config import check_number
from sfumato.engine.bundle import HasBundle, ModelBundle, bundle_of
from sfumato.engine.kvcache import KVCache, num_affordable
from sfumato.engine.request import Event, EventQueue, FinishReason, Request
from sfumato.engine.runner import Runner, ScheduledSequence, StepForward, TurnLock, enqueue, max_positions, schedule
from sfumato.engine.sequence import Sequence
from sfumato.errors import BusyError, ConfigError, RequestError
from sfumato.kernels.cpu.running import shared_cores
from sfumato.kernels.graphs import Replayer, record_cuda
from sfumato.sampling.canvas import CanvasBatch, FinishedCanvas, StepResult
from sfumato.sampling.step import step

_PAGE = 16
# Admission looks at this many waiting sequences for one that fits; after this many steps nothing overtakes the first.
_LOOK_AHEAD = 16
_PATIENCE = 100


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """Capacity of an engine."""

    cache_positions: int | None = None
    """Positions in the KV cache. None takes what `max_rows` texts of maximum length need, or a quarter of the free
    memory if that is less."""
    max_rows: int = 64
    """Maximum running answers; others wait."""
    max_queue: int = 1024
    """Maximum waiting answers; more are refused."""
    max_positions: int | None = None
    """Maximum positions per step while more than one answer is running. None is 2,048 on a GPU; on a CPU 512 for the
    variations of a single request and 128 for several requests, because each waits for the whole step."""
    prefill_chunk: int = 256
    """Maximum prompt positions written per step."""
    reuse_prefixes: bool = True
    """Keep keys and values of shared prefixes."""
    replay: bool = True
    """Record the steps of a canvas and replay them: as a CUDA graph on a GPU, and for layers that multiply integers on
    a CPU."""
    load_threshold: int = 8
    """Load, in running and waiting answers, up to which steps are never cut. At twice the load a canvas gets half of
    its steps, and so on, for requests that allow it (`Request.min_steps`)."""

    def __post_init__(self) -> None:
        for name in ("cache_positions", "max_rows", "max_queue", "max_positions", "prefill_chunk", "load_threshold"):
            if (value := getattr(self, name)) is not None:
                check_number(name, value, 1, whole=True, error=ConfigError)


class Engine:
    """Answers requests together.

    All methods are thread-safe.

    Args:
        model: from `sfumato.load`, or its bundle.
    """

    def __init__(self, model: HasBundle | ModelBundle, config: EngineConfig | None = None) -> None:
        self.bundle = bundle_of(model)
        if config is not None and not isinstance(config, EngineConfig):
            raise RequestError(f"config is {config!r:.100}; allowed: an EngineConfig")
        self.config = config or EngineConfig()
        layout, weights = self.bundle.layout, self.bundle.model
        page_size = layout.num_reserved(_PAGE)
        longest = self.config.max_rows * weights.config.max_position_embeddings
        positions = self.config.cache_positions or max(1, min(longest, num_affordable(weights)))
        pool = weights.new_pool((-(-positions // page_size) + 1) * page_size)
        # If text attends to the canvas after it, cached keys and values do not stay valid.
        self.cache = KVCache(pool, page_size, reuse=self.config.reuse_prefixes and not layout.full)
        pool.replays = self.config.replay
        on_gpu = pool.device.type == "cuda"
        self.runner = Runner(weights, pool, layout, Replayer(record_cuda) if pool.replays and on_gpu else None)
        # Held for a whole step; arrivals have their own lock, so submitting never waits.
        self._lock, self._intake = TurnLock(), threading.Lock()
        self._arrived: deque[Sequence] = deque()
        self._waiting: list[Sequence] = []
        self._running: list[Sequence] = []
        # The open canvases and their sequences; each sequence knows its row.
        self._batch: CanvasBatch | None = None
        self._rows, self._num_requests = list[Sequence](), 0
        self._events: dict[int, EventQueue] = {}
        self._closed, self._seconds_each = False, 0.0

    # Called by users.

    def submit(self, request: Request, *, drafts: bool = False, latest_only: bool = False) -> int:
        """Queue a request.

        Args:
            drafts: emit a `CanvasChanged` for every step.
            latest_only: of several waiting drafts of one canvas, keep only the newest.

        Returns:
            The request id, for `take` and `cancel`.

        Raises:
            RequestError: if the model cannot do it.
            CapacityError: if it can never fit.
            BusyError: see `check_room`.
        """
        self.check_request(request)
        with self._intake:
            self.check_room(request.n)
            request_id, events = self._num_requests, EventQueue(request.n, drafts=drafts, latest_only=latest_only)
            sequences = [Sequence(self.bundle, request, request_id, i, events) for i in range(request.n)]
            self._num_requests += 1
            self._events[request_id] = events
            self._arrived += sequences
            return request_id

    def check_room(self, n: int) -> None:
        """Refuse n answers if the queue is full, or the engine is closed.

        Raises:
            BusyError: with the seconds to wait.
        """
        if self._closed:
            raise BusyError("this engine is closed; submit to another one", None)
        # Those that can start with the next step do not wait.
        allowed = self.config.max_queue + max(0, self.config.max_rows - self.num_running)
        if self.num_waiting + n > allowed:
            wait_s = max(1, round(self._seconds_each * self.num_waiting / max(1, self.num_running)))
            given = f"{self.num_waiting} answers wait and {n} more are requested"
            raise BusyError(f"{given}; allowed: {allowed} waiting. Try again in about {wait_s} s", wait_s)

    def check_request(self, request: Request) -> None:
        """Refuse a request that can never run.

        Raises:
            RequestError: if it is no request, or the model cannot do it.
            CapacityError: if it does not fit the model or the cache.
        """
        self.bundle.check(request)
        self.cache.check_fits(self.bundle.num_reserved(request))
        check_number("n", request.n, 1, self.config.max_queue, whole=True)

    def take(self, request_id: int) -> list[Event]:
        """A request's new events; each of its answers ends with one `Finished`."""
        queue = self._events.get(request_id)
        if queue is None:
            return []
        events = queue.take()
        if queue.is_over:
            self._events.pop(request_id, None)
        return events

    def requests_with_events(self) -> list[int]:
        """Ids of the requests whose events wait to be taken."""
        return [request_id for request_id, queue in list(self._events.items()) if len(queue)]

    def take_all(self) -> list[tuple[int, Event]]:
        """`take` for all requests, as (request id, event)."""
        return [(request_id, event) for request_id in list(self._events) for event in self.take(request_id)]

    def cancel(self, request_id: int) -> None:
        """End a request with what was committed, and free its pages at once. Does nothing if it has finished."""
        with self._lock:
            sequences = self._open_sequences()
            self._end([each for each in sequences if each.request_id == request_id], "cancelled")

    def close(self) -> None:
        """Cancel all requests and take no more."""
        with self._lock:
            with self._intake:
                self._closed = True
            self._end(self._open_sequences(), "cancelled")

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._running or self.num_waiting)

    @property
    def num_running(self) -> int:
        """Number of running answers."""
        return len(self._running)

    @property
    def num_waiting(self) -> int:
        """Number of waiting answers."""
        return len(self._waiting) + len(self._arrived)

    def step(self) -> None:
        """Take one step, with at most one pass through the weights. `take` returns its events."""
        with self._lock, shared_cores, torch.inference_mode():
            self._expire()
            self._admit()
            limit = self.config.max_positions or max_positions(self._running, self.bundle.model.device)
            scheduled = schedule(self._running, max_positions=limit, chunk=self.config.prefill_chunk)
            if scheduled:
                self._run(scheduled)
            self._release()

    def run(
        self, requests: Iterable[Request], *, drafts: bool = False, on_left: Callable[[Event], object] = lambda _: None
    ) -> Generator[tuple[int, Event], None, None]:
        """Answer requests, alongside whatever else the engine does.

        Args:
            requests: any number; submitted as the queue has room.
            drafts: also yield `CanvasChanged` events.
            on_left: called with events that are not yielded because the reader left.

        Yields:
            (index of the request, event); each answer ends with one `Finished`. Requests left early are cancelled.

        Raises:
            RequestError, CapacityError: see `submit`.
            BusyError: if the engine is closed.
        """
        backlog = deque(enumerate(requests))
        for _, request in backlog:
            self.check_request(request)
        index_of, events = dict[int, int](), iter(list[tuple[int, Event]]())
        try:
            while backlog or index_of:
                with self._lock:
                    while backlog:
                        try:
                            request_id = self.submit(backlog[0][1], drafts=drafts)
                        except BusyError as error:
                            if error.retry_after_s is None:
                                raise
                            break
                        index_of[request_id], _ = backlog.popleft()
                    if not any(self._events[request_id] for request_id in index_of):
                        self.step()
                events = iter([(index, event) for key, index in index_of.items() for event in self.take(key)])
                index_of = {request_id: index for request_id, index in index_of.items() if request_id in self._events}
                yield from events
        finally:
            for _, event in events:
                on_left(event)
            for request_id in index_of:
                self.cancel(request_id)
                for event in self.take(request_id):
                    on_left(event)

    # The parts of a step.

    def _expire(self) -> None:
        now = time.perf_counter()
        late = [sequence for sequence in self._open_sequences() if now >= sequence.ends_at and not sequence.hurried]
        if rows := [sequence.row for sequence in late if sequence.hurry(self._batch)]:
            assert self._batch is not None
            self._batch = self._batch.hurried(rows)
        self._end([sequence for sequence in late if not sequence.hurried], "deadline")

    def _admit(self) -> None:
        """Reserve cache pages for waiting sequences, in order. A sequence that does not fit now can be overtaken, but
        not for ever."""
        admitted, passed = list[Sequence](), 0
        for sequence in self._waiting:
            if len(self._running) + len(admitted) == self.config.max_rows:
                break
            cached = self.cache.open(sequence.shared_text, self.bundle.num_reserved(sequence.request))
            if cached is None:
                passed += 1
                sequence.waited += 1
                if passed == _LOOK_AHEAD or sequence.waited > _PATIENCE:
                    break
                continue
            sequence.cached, sequence.waited = cached, 0
            if sequence.complete is None:
                sequence.usage.cached_tokens = cached.num_reused
            admitted.append(sequence)
        self._running += admitted
        left = set(admitted)
        self._waiting = [sequence for sequence in self._waiting if sequence not in left]

    def _open_canvases(self, sequences: list[Sequence]) -> None:
        """Give new sequences a row of the batch."""
        new = [sequence for sequence in sequences if sequence.row < 0]
        if not new:
            return
        load = (len(self._running) + self.num_waiting) / self.config.load_threshold
        canvases = [sequence.open_canvas() for sequence in new]
        fresh = CanvasBatch.from_tokens(
            self.bundle.process,
            [tokens for tokens, _ in canvases],
            frozen=[frozen for _, frozen in canvases],
            seeds=[sequence.seed for sequence in new],
            config=[sequence.sampler(load) for sequence in new],
            noise_level=[sequence.noise_level for sequence in new],
            canvas=[sequence.canvas_key for sequence in new],
            constraints=[sequence.constraint for sequence in new],
            device=self.cache.pool.device,
        )
        self._batch = fresh if self._batch is None else CanvasBatch.concatenate([self._batch, fresh])
        for sequence in new:
            sequence.row = len(self._rows)
            self._rows.append(sequence)
            sequence.show(self._batch, sequence.row, None)

    def _run(self, scheduled: list[ScheduledSequence]) -> None:
        """Run the scheduled sequences; if that fails, run each one alone, so that only those that cause the failure
        fail."""
        try:
            forward, result = self._forward(scheduled)
        except Exception as error:
            if len(scheduled) == 1:
                scheduled[0].sequence.fail(error)
                return
            for work in scheduled:
                self._run([work])
        else:
            self._update(scheduled, forward)
            if result is not None:
                self._update_canvases(forward.sequences, result)

    def _forward(self, scheduled: list[ScheduledSequence]) -> tuple[StepForward, StepResult | None]:
        """One pass through the weights, then the sampler."""
        self._open_canvases([work.sequence for work in scheduled if work.denoises])
        writing = [work for work in scheduled if work.num_written]
        # In batch order, so that rows need no reordering.
        sequences = sorted((work.sequence for work in scheduled if work.denoises), key=lambda sequence: sequence.row)
        bundle, batch, result = self.bundle, self._batch, None
        if batch is not None and len(sequences) < len(batch):
            batch = batch.select([sequence.row for sequence in sequences])
        chunks = [self.runner.text_chunk(work.sequence, work.num_written) for work in writing]
        forward = StepForward(self.runner, chunks, sequences, batch)
        if batch is None or not sequences:
            forward.write()
        else:
            constraints = [sequence.constraint for sequence in sequences]
            may_end = [sequence.may_end for sequence in sequences]
            result = step(
                batch,
                forward,
                bundle.process,
                self_conditioning=bundle.spec.self_conditioning,
                banned=bundle.banned if all(may_end) else bundle.banned_for(may_end),
                constraints=constraints if any(constraints) else None,
                stop_head=bundle.stop_head,
                backend=bundle.model.backend,
                logit_bias={
                    i: dict(one.request.logit_bias) for i, one in enumerate(sequences) if one.request.logit_bias
                },
                num_top={i: one.request.top_logprobs for i, one in enumerate(sequences) if one.request.top_logprobs},
            )
        for i, work in enumerate(writing):
            if work.sequence.wants_length and work.num_written == work.sequence.num_unwritten:
                length = bundle.first_length(forward.length_shares(i))
                work.sequence.first_length = length or work.sequence.request.canvas_length
        return forward, result

    def _update(self, scheduled: list[ScheduledSequence], forward: StepForward) -> None:
        """Record what a pass has done for each sequence."""
        for work in scheduled:
            sequence, usage = work.sequence, work.sequence.usage
            num_positions = work.num_written + forward.num_computed.get(sequence, 0)
            usage.forward_passes += 1
            usage.positions_computed += num_positions
            sequence.service += num_positions
            if work.num_written:
                assert sequence.cached is not None
                start = sequence.cached.length
                written = sequence.text[start : start + work.num_written]
                self.cache.commit(sequence.cached, written, sequence.shared_text)

    def _update_canvases(self, sequences: list[Sequence], result: StepResult) -> None:
        """Apply the sampler's decisions: emit events and commit finished canvases."""
        assert self._batch is not None
        every = len(sequences) == len(self._batch)
        self._batch = result.batch if every else self._batch.put([one.row for one in sequences], result.batch)
        finished = result.finished()
        for i, sequence in enumerate(sequences):
            try:
                sequence.show(result.batch, i, result)
                if i in finished:
                    self._commit(sequence, finished[i])
            except Exception as error:
                sequence.fail(error)
        self._drop([sequences[i] for i in finished])

    def _commit(self, sequence: Sequence, canvas: FinishedCanvas) -> None:
        start = sequence.num_written
        sequence.commit(canvas)
        assert sequence.cached is not None
        if sequence.complete is not None and sequence.finish_reason is None:
            # It reopens another canvas. Admission, which comes next, finds what was written before that one.
            self.cache.close(sequence.cached)
            sequence.cached = None
            self._running.remove(sequence)
            enqueue(self._waiting, sequence, first=True)
        elif self.runner.layout.keeps_canvas or sequence.verifies:
            written = sequence.text[start : start + len(canvas.tokens)]
            self.cache.commit(sequence.cached, written, exact=sequence.verifies or len(written) == 1)

    def _drop(self, sequences: list[Sequence]) -> None:
        """Remove canvases from the batch."""
        for sequence in sequences:
            sequence.row = -1
        kept = [row for row, sequence in enumerate(self._rows) if sequence.row >= 0]
        if len(kept) < len(self._rows):
            assert self._batch is not None
            self._batch = self._batch.select(kept).trim() if kept else None
            self._rows = [self._rows[row] for row in kept]
            for row, sequence in enumerate(self._rows):
                sequence.row = row

    def _end(self, sequences: list[Sequence], reason: FinishReason) -> None:
        """Finish sequences with what they have and free their resources."""
        for sequence in sequences:
            sequence.finish(reason)
        if sequences:
            self._release()

    def _release(self) -> None:
        """Free the resources of finished sequences."""
        self._waiting = [sequence for sequence in self._waiting if sequence.finish_reason is None]
        gone = [sequence for sequence in self._running if sequence.finish_reason is not None]
        for sequence in gone:
            # Weighted towards recent answers.
            self._seconds_each += (sequence.usage.total_s - self._seconds_each) * (0.1 if self._seconds_each else 1.0)
            assert sequence.cached is not None
            self.cache.close(sequence.cached)
            sequence.cached = None
            self._running.remove(sequence)
        self._drop(gone)

    def _open_sequences(self) -> list[Sequence]:
        """All that run or wait, with those that have arrived meanwhile."""
        while self._arrived:
            enqueue(self._waiting, self._arrived.popleft())
        return [sequence for sequence in (*self._running, *self._waiting) if sequence.finish_reason is None]
