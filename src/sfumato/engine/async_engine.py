"""The engine for `asyncio`: steps run in a thread, events arrive in the caller's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from sfumato.engine.bundle import HasBundle, ModelBundle
from sfumato.engine.editing import merge_results
from sfumato.engine.engine import Engine
from sfumato.engine.model import TextModel
from sfumato.engine.request import Event, Finished, Request, Result, results_of
from sfumato.errors import BusyError, RequestError, SfumatoError

Answer = TypeVar("Answer")
# Maximum calls at a time; more wait, as many as answers may.
_MAX_CALLS = 64


class _AbandonedError(SfumatoError):
    """The client no longer waits for a thread's work."""


class _Watched:
    """An engine for calls that run requests of their own; they end with the step in which they are abandoned."""

    def __init__(self, engine: Engine, abandoned: threading.Event) -> None:
        self._engine, self._abandoned = engine, abandoned
        self.results: list[Result] = []
        """Results of all requests so far."""

    def run(self, requests: Iterable[Request], *, drafts: bool = False) -> Iterator[tuple[int, Event]]:
        # Closed here: a traceback would keep the run alive, and its requests would be cancelled late.
        with contextlib.closing(self._engine.run(requests, drafts=True, on_left=self._keep)) as events:
            for index, event in events:
                self._keep(event)
                if self._abandoned.is_set():
                    raise _AbandonedError
                yield index, event

    def _keep(self, event: Event) -> None:
        if isinstance(event, Finished):
            self.results.append(event.result)


class AsyncEngine:
    """Answers requests for coroutines of one event loop.

    ::

        async with AsyncEngine(engine) as answering:
            async for event in answering.stream(request):
                ...

    Args:
        engine: an engine, which is closed with this object and may run requests of other threads meanwhile, but no
            `take_all`; or what `Engine` takes.
    """

    def __init__(self, engine: Engine | HasBundle | ModelBundle) -> None:
        self.engine = engine if isinstance(engine, Engine) else Engine(engine)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._stopping = False
        self._error: BaseException | None = None
        # The default executor may be busy for long, and a cancellation must not wait for it.
        self._executor = ThreadPoolExecutor(1, "sfumato-cancel")
        self._calls, self._num_calls = ThreadPoolExecutor(_MAX_CALLS, "sfumato-call"), 0
        # Set when a step may have produced events for a request.
        self._news: dict[int, asyncio.Event] = {}

    async def __aenter__(self) -> AsyncEngine:
        if self._thread is not None:
            raise RequestError("the engine is running already; allowed: one `async with` at a time")
        if self._stopping:
            raise RequestError("the engine was closed at the end of an `async with`; allowed: a new one")
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="sfumato-engine", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def stream(
        self,
        request: Request,
        *,
        drafts: bool = True,
        every_draft: bool = False,
        on_left: Callable[[list[Result]], object] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer a request and yield its events. Leaving the iteration cancels the request.

        Args:
            drafts: yield `CanvasChanged` events too.
            every_draft: yield all drafts. Otherwise a slow reader gets only the newest of several waiting drafts of a
                canvas.
            on_left: if the reader leaves early, called with the results that were not yielded.

        Yields:
            Events, with one `Finished` per answer.

        Raises:
            RequestError, CapacityError: see `Engine.submit`; also if the engine is not running.
        """
        if self._thread is None:
            raise RequestError("the engine is not running; allowed: within `async with AsyncEngine(model) as engine`")
        request_id = self.engine.submit(request, drafts=drafts, latest_only=not every_draft)
        news = self._news[request_id] = asyncio.Event()
        self._wake.set()
        num_open, events = request.n, deque[Event]()
        try:
            while num_open:
                # Cleared before reading: later events set it again.
                news.clear()
                events = deque(self.engine.take(request_id))
                has_none = not events
                while events:
                    event = events.popleft()
                    num_open -= isinstance(event, Finished)
                    yield event
                if isinstance(self._error, Exception):
                    raise self._error
                if self._error is not None:
                    raise RuntimeError(f"{type(self._error).__name__} has stopped the engine") from self._error
                if has_none:
                    await news.wait()
        finally:
            del self._news[request_id]
            if num_open:
                # Finish the cleanup even if this task is cancelled again meanwhile.
                await asyncio.shield(asyncio.ensure_future(self._leave(request_id, events, on_left)))

    async def generate(
        self, request: Request, *, on_left: Callable[[list[Result]], object] | None = None
    ) -> list[Result]:
        """Answer a request.

        Args:
            on_left: if this is cancelled, called with the results so far.

        Returns:
            The n answers.
        """
        events: list[Event] = []

        def left(remaining: list[Result]) -> None:
            if on_left is not None:
                on_left([*results_of(events), *remaining])

        async for event in self.stream(request, drafts=False, on_left=left):
            events.append(event)
        return results_of(events)

    async def call(
        self,
        model: TextModel,
        function: Callable[[TextModel], Answer],
        *,
        on_left: Callable[[list[Result]], object] | None = None,
    ) -> Answer:
        """Run a function of a model in a thread, whose requests this engine answers: infills and edits, which are
        several requests. If this is cancelled, the function stops after the current step. ::

            edited = await answering.call(model, lambda model: model.edit(text, spans=[(4, 9)]))

        Args:
            model: of this engine.
            function: called with the model.
            on_left: if this is cancelled, called with a result that has the cost so far.

        Returns:
            What the function returns.

        Raises:
            BusyError: if too many are waiting.
        """
        most = _MAX_CALLS + self.engine.config.max_queue
        if self._num_calls >= most:
            raise BusyError(f"{self._num_calls} edits and gaps run or wait; allowed: {most}. Try again in about 5 s", 5)
        abandoned = threading.Event()
        model = copy.copy(model)
        watched = model.__dict__["engine"] = _Watched(self.engine, abandoned)
        working = asyncio.get_running_loop().run_in_executor(self._calls, function, model)
        self._num_calls += 1

        def ended(_: asyncio.Future[Answer]) -> None:
            self._num_calls -= 1

        working.add_done_callback(ended)

        def left(_: asyncio.Future[Answer]) -> None:
            if not working.cancelled():
                working.exception()
            if on_left is not None and watched.results:
                on_left([replace(merge_results(watched.results, 0, model.name), finish_reason="cancelled")])

        try:
            await asyncio.wait({working})
            return working.result()
        except asyncio.CancelledError:
            working.add_done_callback(left)
            raise
        finally:
            abandoned.set()

    @property
    def failed(self) -> bool:
        """Whether an internal error has stopped the engine; it then takes no more requests."""
        return self._error is not None

    async def close(self) -> None:
        """End all requests with what they have, and stop the thread."""
        if self._thread is None:
            return
        loop = asyncio.get_running_loop()
        if not self.failed:
            await loop.run_in_executor(self._executor, self.engine.close)
        self._stopping = True
        self._wake.set()
        await loop.run_in_executor(self._executor, self._thread.join)
        self._thread = None
        self._calls.shutdown(wait=False, cancel_futures=True)

    async def _leave(
        self, request_id: int, events: Iterable[Event], on_left: Callable[[list[Result]], object] | None
    ) -> None:
        cancelled = asyncio.get_running_loop().run_in_executor(self._executor, self._cancel, request_id)
        events = [*events, *await cancelled]
        if on_left is not None:
            try:
                on_left(results_of(events))
            except Exception:
                # Raised, it would take the place of the cancellation.
                logging.getLogger(__name__).exception("on_left failed")

    def _cancel(self, request_id: int) -> list[Event]:
        self.engine.cancel(request_id)
        events = self.engine.take(request_id)
        self._wake.set()
        return events

    def _work(self) -> None:
        assert self._loop is not None
        while not self._stopping:
            # Cleared before reading: later events set it again.
            self._wake.clear()
            try:
                while self.engine.has_work:
                    self.engine.step()
                    # Most steps have no news for most readers, who would take turns with the next step for nothing.
                    if ready := self.engine.requests_with_events():
                        self._loop.call_soon_threadsafe(self._tell, ready)
            except BaseException as error:
                # An internal error, or an exit: never leave callers waiting for a thread that has died.
                self._error, self._stopping = error, True
                with contextlib.suppress(Exception):
                    self.engine.close()
            self._loop.call_soon_threadsafe(self._tell, list(self._news))
            if not self._stopping:
                self._wake.wait()

    def _tell(self, request_ids: Iterable[int]) -> None:
        for request_id in request_ids:
            if request_id in self._news:
                self._news[request_id].set()
