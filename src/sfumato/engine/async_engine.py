"""The engine for `asyncio`: its steps run in a thread of their own, its events arrive in the caller's loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from types import TracebackType

from sfumato.engine.engine import Engine
from sfumato.engine.request import CanvasChanged, Event, Finished, Request, Result


class AsyncEngine:
    """Answers requests for coroutines of one event loop.

    ::

        async with AsyncEngine(engine) as answering:
            async for event in answering.stream(request):
                ...

    Args:
        engine: nobody else may step it meanwhile. It is closed with this.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._stopping = False
        self._lock = threading.Lock()
        self._mailboxes: dict[int, _Mailbox] = {}

    async def __aenter__(self) -> AsyncEngine:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="sfumato-engine", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def stream(self, request: Request, *, drafts: bool = True) -> AsyncIterator[Event]:
        """Answer a request and tell of it. Who leaves the iteration has cancelled it.

        A reader who is slow misses drafts: of those that wait one after the other, the newest of a canvas is kept.

        Args:
            request: what to do.
            drafts: yield `CanvasChanged` events too.

        Yields:
            Events, and one `Finished` for each answer.

        Raises:
            RequestError, CapacityError: see `Engine.submit`.
        """
        assert self._thread is not None, "use it with `async with`"
        mailbox = _Mailbox()
        with self._lock:
            number = self.engine.submit(request, drafts=drafts)
            self._mailboxes[number] = mailbox
        self._wake.set()
        left = request.n
        try:
            while left:
                event = await mailbox.get()
                left -= isinstance(event, Finished)
                yield event
        finally:
            with self._lock:
                self._mailboxes.pop(number, None)
            if left:
                await asyncio.to_thread(self.engine.cancel, number)
                self._wake.set()

    async def generate(self, request: Request) -> list[Result]:
        """Answer a request.

        Returns:
            The n answers.
        """
        found: dict[int, Result] = {}
        async for event in self.stream(request, drafts=False):
            if isinstance(event, Finished):
                found[event.variation] = event.result
        return [found[variation] for variation in sorted(found)]

    async def close(self) -> None:
        """End all requests, which are answered with what they have, and the thread."""
        if self._thread is None:
            return
        await asyncio.to_thread(self.engine.close)
        self._stopping = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join)
        self._thread = None

    def _work(self) -> None:
        while True:
            # Cleared first: what comes after has set it again.
            self._wake.clear()
            try:
                while self.engine.has_work:
                    self._give(self.engine.step())
            except Exception as error:
                self._fail(error)
                return
            if self._stopping:
                return
            self._wake.wait()

    def _give(self, events: list[tuple[int, Event]]) -> None:
        assert self._loop is not None
        with self._lock:
            for number, event in events:
                if number in self._mailboxes:
                    self._loop.call_soon_threadsafe(self._mailboxes[number].put, event)

    def _fail(self, error: Exception) -> None:
        """Our own bug: nobody is left waiting for a thread that is gone."""
        assert self._loop is not None
        self.engine.close()
        with self._lock:
            for mailbox in self._mailboxes.values():
                self._loop.call_soon_threadsafe(mailbox.put, error)


class _Mailbox:
    """Events for one reader, in order; of drafts of a canvas that wait one after the other, the newest."""

    def __init__(self) -> None:
        self._waiting: deque[Event | Exception] = deque()
        self._arrived = asyncio.Event()

    def put(self, event: Event | Exception) -> None:
        last = self._waiting[-1] if self._waiting else None
        if (
            isinstance(event, CanvasChanged)
            and isinstance(last, CanvasChanged)
            and (event.variation, event.canvas) == (last.variation, last.canvas)
        ):
            self._waiting.pop()
        self._waiting.append(event)
        self._arrived.set()

    async def get(self) -> Event:
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        event = self._waiting.popleft()
        if isinstance(event, Exception):
            raise event
        return event
