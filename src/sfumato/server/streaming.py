"""Work and streams while their client is connected; server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable
from typing import Any, TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from sfumato.server.failures import ApiError

PING_S = 15.0
"""Seconds of silence after which a stream sends a comment."""
Answer = TypeVar("Answer")


async def run_while_connected(request: Request, work: Awaitable[Answer]) -> Answer:
    """The result of some work, cancelled with ClientDisconnect when the client disconnects."""
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        await end_tasks([working, watching])


async def run_to_end(work: Awaitable[Answer]) -> Answer:
    """The result of some work, which ends even if this is cancelled, before the cancellation is passed on."""
    working = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise


async def end_tasks(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait until they have ended."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def sse(data: dict[str, Any], name: str | None = None, number: int | None = None) -> str:
    """A server-sent event."""
    head = ("" if name is None else f"event: {name}\n") + ("" if number is None else f"id: {number}\n")
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n"


DONE = "data: [DONE]\n\n"
"""The end of a stream in OpenAI's format."""


class Events(StreamingResponse):
    """A response of server-sent events, see `keep_alive`."""

    def __init__(self, parts: AsyncGenerator[str, None], *, end: str = DONE) -> None:
        media_type = "text/event-stream; charset=utf-8"
        super().__init__(keep_alive(parts, end), media_type=media_type, headers={"Cache-Control": "no-cache"})


async def keep_alive(parts: AsyncGenerator[str, None], end: str) -> AsyncIterator[str]:
    """A stream that reports its own failure, marks its end, and sends a comment after `PING_S` of silence."""
    following: asyncio.Future[str | None] | None = None
    try:
        while True:
            following = asyncio.ensure_future(anext(parts, None))
            while not (await asyncio.wait({following}, timeout=PING_S))[0]:
                yield ": ping\n\n"
            part = following.result()
            if part is None:
                break
            yield part
    except Exception as error:
        yield sse(ApiError.of(error).to_dict())
    finally:
        if following is not None:
            await end_tasks([following])
        await parts.aclose()
    if end:
        yield end
