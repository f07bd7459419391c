"""The engine for `asyncio`: its steps run in a thread of their own, its events arrive in the caller's loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from types import TracebackType

from sfumato.engine.bundle import ModelBundle
from sfumato.engine.engine import Engine, HasBundle
from sfumato.engine.request import Event, Finished, Request, Result


class AsyncEngine:
    """Answers requests for coroutines of one event loop.

    ::

        async with AsyncEngine(engine) as answering:
            async for event in answering.stream(request):
                ...

    Args:
        engine: an engine, which is closed with this, and which other threads may use meanwhile; or what `Engine` takes.
    """

    def __init__(self, engine: Engine | HasBundle | ModelBundle) -> None:
        self.engine = engine if isinstance(engine, Engine) else Engine(engine)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._stopping = False
        self._error: Exception | None = None
        # Set where a step may have given a request events.
        self._news: dict[int, asyncio.Event] = {}

    async def __aenter__(self) -> AsyncEngine:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="sfumato-engine", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def stream(self, request: Request, *, drafts: bool = True, every_draft: bool = False) -> AsyncIterator[Event]:
        """Answer a request and tell of it. A reader who leaves the iteration has cancelled it.

        Args:
            request: what to do.
            drafts: yield `CanvasChanged` events too.
            every_draft: all of them. Else a slow reader misses some: of those that wait one after the other, the newest
                of a canvas is kept.

        Yields:
            Events, and one `Finished` for each answer.

        Raises:
            RequestError, CapacityError: see `Engine.submit`.
        """
        assert self._thread is not None, "use it with `async with`"
        request_id = self.engine.submit(request, drafts=drafts, latest_only=not every_draft)
        news = self._news[request_id] = asyncio.Event()
        self._wake.set()
        num_open = request.n
        try:
            while num_open:
                # Cleared first: what comes after sets it again.
                news.clear()
                events = self.engine.take(request_id)
                for event in events:
                    num_open -= isinstance(event, Finished)
                    yield event
                if self._error is not None:
                    raise self._error
                if not events:
                    await news.wait()
        finally:
            del self._news[request_id]
            if num_open:
                # It is done even where this task is cancelled once more meanwhile.
                await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self._cancel, request_id)))

    async def generate(self, request: Request) -> list[Result]:
        """Answer a request.

        Returns:
            The n answers.
        """
        results: dict[int, Result] = {}
        async for event in self.stream(request, drafts=False):
            if isinstance(event, Finished):
                results[event.variation] = event.result
        return [results[variation] for variation in sorted(results)]

    @property
    def failed(self) -> bool:
        """Whether a bug of ours has ended it: it takes no more requests."""
        return self._error is not None

    async def close(self) -> None:
        """End all requests, which are answered with what they have, and the thread."""
        if self._thread is None:
            return
        if not self.failed:
            await asyncio.to_thread(self.engine.close)
        self._stopping = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join)
        self._thread = None

    def _cancel(self, request_id: int) -> None:
        self.engine.cancel(request_id)
        self.engine.take(request_id)
        self._wake.set()

    def _work(self) -> None:
        assert self._loop is not None
        while not self._stopping:
            # Cleared first: what comes after sets it again.
            self._wake.clear()
            try:
                while self.engine.has_work:
                    self.engine.step()
                    self._loop.call_soon_threadsafe(self._tell)
            except Exception as error:
                # Our own bug: nobody is left waiting for a thread that is gone, whatever state the engine is in.
                self._error, self._stopping = error, True
                with contextlib.suppress(Exception):
                    self.engine.close()
            self._loop.call_soon_threadsafe(self._tell)
            if not self._stopping:
                self._wake.wait()

    def _tell(self) -> None:
        for news in self._news.values():
            news.set()
