"""A server in its own process, and a client that can also send partial and invalid requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_Json = dict[str, Any]
PROMPT = "answer, then derive: 81*(2/3)^2+sqrt(9)"
MESSAGES = [{"role": "user", "content": PROMPT}]
CHAT, TEXT, FIM, CANVAS = "/v1/chat/completions", "/v1/completions", "/v1/fim/completions", "/v1/canvas"
# Constraints whose automata are huge or impossible.
HOSTILE: tuple[_Json, ...] = (
    {"regex": "(a|b)*a(a|b){20}"},
    {"regex": "(((a{1000}){1000}){1000})"},
    {"schema": {"type": "array", "minItems": 10**9}},
    {"schema": {"anyOf": [{"type": "object", "properties": {f"p{i}": {"type": "string"}}} for i in range(1000)]}},
)
_TIMEOUT_S = 600.0
_RAY_PORT = 8000


class Server:
    """Models behind HTTP; stopping it checks the consistency of the first model's engine.

    Args:
        studio: whether it serves the studio.
        speech: whether it transcribes speech.
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
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, directory, models, studio, speech, config))
        self._process.start()
        theirs.close()
        self.port: int = self._pipe.recv()

    @property
    def memory_mb(self) -> float:
        """Resident memory."""
        return resident_mb(str(self._process.pid))

    def get(self, path: str) -> str:
        """The body of a GET."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=_TIMEOUT_S) as response:
            return str(response.read().decode())

    def kill(self) -> None:
        """Kill it, as when the system runs out of memory."""
        self._process.kill()
        self._process.join()

    def stop(self) -> str:
        """Stop it; returns what is inconsistent in its engine, or an empty text."""
        self._pipe.send("stop")
        found: str = self._pipe.recv()
        self._process.join()
        return found


def resident_mb(process: str = "self") -> float:
    """Resident memory of a process, by its id."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _serve(
    pipe: Connection, directory: Path, models: Sequence[str], studio: bool, speech: bool, config: dict[str, Any]
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
    pipe.send(server.servers[0].sockets[0].getsockname()[1])
    with contextlib.suppress(EOFError):
        pipe.recv()
    engine = host.loaded[models[0]].answering.engine
    found = f"{engine.num_running + engine.num_waiting} answers are running" if engine.has_work else ""
    server.should_exit = True
    thread.join()
    try:
        check_engine(engine)
        assert engine.cache.num_used == 0, "pages are still in use"
    except AssertionError as error:
        found = str(error)
    pipe.send(found)


# So that a busy machine is no unhealthy one.
_PATIENT = {
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "300",
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "300",
    "RAY_USAGE_STATS_ENABLED": "0",
    "OMP_NUM_THREADS": "1",
}


@contextlib.contextmanager
def ray_server(directory: Path, replicas: int) -> Iterator[int]:
    """Replicas of the embedded model on Ray Serve, started as somebody would; yields the port.

    Raises:
        RuntimeError: with the end of the log, if they do not get ready.
    """
    programs = Path(sys.executable).parent
    command = [str(programs / "serve"), "run", "sfumato.server.ray_app:build", "models=tiny", f"replicas={replicas}"]
    environment = os.environ | _PATIENT | {"PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    with (directory / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=directory, env=environment, stdout=log, stderr=log)
    try:
        end = time.monotonic() + _TIMEOUT_S
        while not _is_ready(_RAY_PORT):
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the replicas are not ready: {(directory / 'log').read_text()[-5000:]}")
            time.sleep(0.5)
        yield _RAY_PORT
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(_TIMEOUT_S)
        subprocess.run([programs / "ray", "stop", "--force"], capture_output=True, timeout=_TIMEOUT_S)


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=60):
            return True
    except OSError:
        return False


@dataclass
class Answer:
    """A response."""

    status: int
    headers: dict[str, str]
    text: str
    seconds: float = 0.0
    first_s: float = 0.0
    """Seconds to the first event with text."""

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)

    @property
    def events(self) -> list[_Json]:
        """The JSON of server-sent events."""
        lines = (line.removeprefix("data: ") for line in self.text.split("\n") if line.startswith("data: "))
        return [json.loads(line) for line in lines if line != "[DONE]"]


class Client:
    """A client with one connection per request."""

    def __init__(self, port: int) -> None:
        self._port = port

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def ask(self, path: str, body: Any = None, *, method: str | None = None, stall_s: float = 0.0) -> Answer:
        """Send a request and read the response.

        Args:
            body: an object, sent as JSON, or bytes.
            method: default: POST with a body, else GET.
            stall_s: seconds to wait before reading.
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
        """Send a request, read some lines, and disconnect."""
        async with self.connect() as (reader, writer):
            writer.write(request_bytes(path, body))
            for _ in range(after_lines):
                if not await reader.readline():
                    return

    async def send(self, data: bytes) -> bytes:
        """Send any bytes; returns what arrives within a second."""
        async with self.connect() as (reader, writer):
            with contextlib.suppress(OSError):
                writer.write(data)
                await writer.drain()
                async with asyncio.timeout(1.0):
                    return await reader.read(4096)
        return b""


def request_bytes(path: str, body: Any = None, method: str | None = None) -> bytes:
    """A request as bytes."""
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
    """The text of a canvas, maintained from its events alone."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.seq = -1
        self.kinds: list[str] = []

    def take(self, event: _Json) -> None:
        """Apply an event.

        Raises:
            AssertionError: if it contradicts earlier ones.
        """
        self.kinds.append(event["type"])
        is_snapshot = event["type"] == "canvas.snapshot"
        assert event["seq"] > self.seq or (is_snapshot and event["seq"] == self.seq), "events are out of order"
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
            assert self.text == event["text"], "the events do not add up to the text"
