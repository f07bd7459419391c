"""A server in a process of its own, and clients that ask it as they like: politely, in halves, or not in HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import time
import urllib.request
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_Json = dict[str, Any]
PROMPT = "answer, then derive: 81*(2/3)^2+sqrt(9)"
MESSAGES = [{"role": "user", "content": PROMPT}]
CHAT, TEXT, FIM, CANVAS = "/v1/chat/completions", "/v1/completions", "/v1/fim/completions", "/v1/canvas"
# As hostile as what is read: automata of many states, or none at all.
HOSTILE: tuple[_Json, ...] = (
    {"regex": "(a|b)*a(a|b){20}"},
    {"regex": "(((a{1000}){1000}){1000})"},
    {"schema": {"type": "array", "minItems": 10**9}},
    {"schema": {"anyOf": [{"type": "object", "properties": {f"p{i}": {"type": "string"}}} for i in range(1000)]}},
)
_TIMEOUT_S = 600.0


class Server:
    """Models behind HTTP. When it is stopped, the books of the first one's engine must be right.

    Args:
        studio: whether it shows the studio.
        speech: whether it hears.
        **config: fields of `EngineConfig`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        models: Sequence[str] = ("tiny",),
        studio: bool = False,
        speech: bool = False,
        **config: Any,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._said, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, directory, models, studio, speech, config))
        self._process.start()
        theirs.close()
        self.port: int = self._said.recv()

    @property
    def memory_mb(self) -> float:
        """Resident."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def get(self, path: str) -> str:
        """What it answers to a plain question."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=_TIMEOUT_S) as response:
            return str(response.read().decode())

    def kill(self) -> None:
        """End it as the system does that has no memory left."""
        self._process.kill()
        self._process.join()

    def stop(self) -> str:
        """End it, once what it does is done: what is wrong with its books, or nothing."""
        self._said.send("stop")
        found: str = self._said.recv()
        self._process.join()
        return found


def _serve(
    said: Connection, directory: Path, models: Sequence[str], studio: bool, speech: bool, config: dict[str, Any]
) -> None:
    import threading

    import uvicorn

    from benchmarks.integrity import check_engine
    from sfumato.cli.app import keep_freed_memory
    from sfumato.engine.engine import EngineConfig
    from sfumato.server.app import create_app
    from sfumato.server.history import History
    from sfumato.server.hosting import Host
    from sfumato.server.speech import find_speech
    from sfumato.server.studio import Studio

    keep_freed_memory()
    host = Host({name: name for name in models}, config=EngineConfig(**config))
    history = History(directory / "canvases.db")
    app = create_app(host, history, studio=Studio() if studio else None, speech=find_speech(None) if speech else None)
    server = uvicorn.Server(uvicorn.Config(app, port=0, http="h11", log_level="error", access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    said.send(server.servers[0].sockets[0].getsockname()[1])
    with contextlib.suppress(EOFError):
        said.recv()
    engine = host.loaded[models[0]].answering.engine
    found = f"{engine.num_running + engine.num_waiting} answers are in work" if engine.has_work else ""
    server.should_exit = True
    thread.join()
    try:
        check_engine(engine)
        assert engine.cache.num_used == 0, "pages are held by nobody"
    except AssertionError as error:
        found = str(error)
    said.send(found)


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str
    seconds: float = 0.0
    first_s: float = 0.0
    """To the first event that holds text."""

    @property
    def json(self) -> Any:
        """The body as an object."""
        return json.loads(self.text)

    @property
    def events(self) -> list[_Json]:
        """Server-sent events that are objects."""
        lines = (line.removeprefix("data: ") for line in self.text.split("\n") if line.startswith("data: "))
        return [json.loads(line) for line in lines if line != "[DONE]"]


class Client:
    """Asks over a connection for each request."""

    def __init__(self, port: int) -> None:
        self._port = port

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A connection, closed behind it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def ask(self, path: str, body: Any = None, *, method: str | None = None, stall_s: float = 0.0) -> Answer:
        """Ask, and read all of the answer.

        Args:
            body: an object, or bytes as they are.
            method: POST with a body, else GET, if not given.
            stall_s: seconds in which nothing is read.
        """
        started = time.perf_counter()
        async with self.connect() as (reader, writer):
            writer.write(request_bytes(path, body, method))
            await asyncio.sleep(stall_s)
            async with asyncio.timeout(_TIMEOUT_S):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                status, *lines = head.rstrip().split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
                answer = Answer(int(status.split()[1]), headers, "")
                parts: list[bytes] = []
                if headers.get("transfer-encoding") == "chunked":
                    async for part in _chunks(reader):
                        parts.append(part)
                        if not answer.first_s and _has_text(part):
                            answer.first_s = time.perf_counter() - started
                else:
                    parts.append(await reader.readexactly(int(headers["content-length"])))
        answer.text, answer.seconds = b"".join(parts).decode(), time.perf_counter() - started
        return answer

    async def leave(self, path: str, body: Any, *, after_lines: int) -> None:
        """Ask, read some lines, and go."""
        async with self.connect() as (reader, writer):
            writer.write(request_bytes(path, body))
            for _ in range(after_lines):
                if not await reader.readline():
                    return

    async def send(self, data: bytes) -> bytes:
        """Send anything; what comes back until the server closes, or says nothing for a while."""
        async with self.connect() as (reader, writer):
            with contextlib.suppress(OSError):
                writer.write(data)
                await writer.drain()
                async with asyncio.timeout(1.0):
                    return await reader.read(4096)
        return b""


def request_bytes(path: str, body: Any = None, method: str | None = None) -> bytes:
    """A request as it is sent."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    method = method or ("GET" if body is None else "POST")
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        await reader.readline()
    await reader.readline()


def _has_text(part: bytes) -> bool:
    for line in part.decode(errors="replace").split("\n"):
        if line.startswith("data: {"):
            [choice] = json.loads(line.removeprefix("data: ")).get("choices") or [{}]
            if choice.get("text") or choice.get("delta", {}).get("content"):
                return True
    return False


class Follower:
    """The text of a canvas, kept by what its events say alone."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.seq = -1
        self.kinds: list[str] = []

    def take(self, event: _Json) -> None:
        """One event.

        Raises:
            AssertionError: if it does not fit what is known.
        """
        self.kinds.append(event["type"])
        is_snapshot = event["type"] == "canvas.snapshot"
        assert event["seq"] > self.seq or (is_snapshot and event["seq"] == self.seq), "events are in order"
        self.seq = event["seq"]
        if is_snapshot or event["type"] == "canvas.error" or event.get("status") == "cancelled":
            self.text = event["text"]
        replaced = event.get("changes", [])
        if event["type"] == "canvas.commit":
            replaced = [{"chars": event["chars"], "text": event["text"]}]
        for change in replaced:
            assert self.text is not None
            start, end = change["chars"]
            assert 0 <= start <= end <= len(self.text)
            self.text = self.text[:start] + change["text"] + self.text[end:]
        if event["type"] == "canvas.done":
            assert self.text == event["text"], "what the events came to is the text"
