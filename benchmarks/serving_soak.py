"""Soak test of the server with clients that stream, cancel, disconnect, stall and send garbage."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.http_load import CANVAS, CHAT, HOSTILE, MESSAGES, PROMPT, TEXT, Answer, Client, Server
from benchmarks.serving import random_body, texts_of

_Json = dict[str, Any]


@dataclass(kw_only=True)
class Soak:
    """Results of a soak test."""

    minutes: float = 0.0
    clients: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    """Number of requests by action and outcome."""
    memory_mb: list[float] = field(default_factory=list)
    """Resident memory of the server, at even intervals."""
    growth: float = 0.0
    """Relative growth of the median memory from the second quarter to the last."""
    wrong: list[str] = field(default_factory=list)
    """Requests without a result or named error, and findings of the engine's consistency check."""


def soak(clients: int, minutes: float) -> Soak:
    """Run the clients for some minutes."""
    found, counted = Soak(clients=clients), Counter[str]()
    end = time.perf_counter() + minutes * 60

    async def work(client: Client, draw: random.Random) -> None:
        while time.perf_counter() < end:
            act = draw.choice(_ACTS)
            try:
                outcome = await act(client, draw)
            except (AssertionError, ValueError, KeyError, TimeoutError) as error:
                outcome = "wrong"
                found.wrong.append(f"{act.__name__}: {type(error).__name__} {str(error)[:300]}")
            except (OSError, asyncio.IncompleteReadError) as error:
                outcome = "cut"
                found.wrong.append(f"{act.__name__}: {error!r:.300}")
            counted[f"{act.__name__.lstrip('_')}: {outcome}"] += 1

    async def watch(server: Server) -> None:
        while time.perf_counter() < end:
            found.memory_mb.append(server.memory_mb)
            await asyncio.sleep(minutes * 60 / 200)

    async def run(server: Server) -> None:
        client = Client(server.port)
        await asyncio.gather(watch(server), *(work(client, random.Random(i)) for i in range(clients)))

    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory), max_rows=32, max_queue=96)
        started = time.perf_counter()
        asyncio.run(run(server))
        # Answers of clients that left end soon.
        idle = time.perf_counter() + 60
        while 'sfumato_running{model="tiny"} 0.0' not in server.get("/metrics") and time.perf_counter() < idle:
            time.sleep(0.1)
        found.minutes = (time.perf_counter() - started) / 60
        if problem := server.stop():
            found.wrong.append(problem)
    found.outcomes = dict(sorted(counted.items()))
    quarter = len(found.memory_mb) // 4
    if quarter:
        before, after = found.memory_mb[quarter : 2 * quarter], found.memory_mb[-quarter:]
        found.growth = statistics.median(after) / statistics.median(before) - 1
    return found


def _named(answer: Answer) -> str:
    """Status and code of a refusal."""
    error = answer.json["error"]
    assert error["message"], "an error without a message"
    assert answer.status in (400, 404, 409, 413, 429, 503), f"{answer.status}: {answer.text[:300]}"
    return f"{answer.status} {error['code']}"


async def _whole(client: Client, draw: random.Random) -> str:
    kind = draw.choice(["chat", "text", "fim"])
    path, body = random_body(draw, kind, draw.randrange(1000))
    answer = await client.ask(path, body)
    if answer.status != 200:
        return _named(answer)
    assert all(choice["finish_reason"] for choice in answer.json["choices"])
    return "result"


async def _stream(client: Client, draw: random.Random, stall_s: float = 0.0) -> str:
    path, body = random_body(draw, draw.choice(["chat", "text"]), draw.randrange(1000))
    answer = await client.ask(path, body | {"stream": True, "draft": draw.random() < 0.5}, stall_s=stall_s)
    if answer.status != 200:
        return _named(answer)
    assert answer.text.endswith("data: [DONE]\n\n"), answer.text[-200:]
    if "error" in answer.events[-1]:
        return f"error {answer.events[-1]['error']['code']}"
    assert all(texts_of(answer, body.get("n", 1))[1]), "an answer has no end"
    return "result"


async def _stall(client: Client, draw: random.Random) -> str:
    return await _stream(client, draw, draw.uniform(0.5, 5.0))


async def _disconnect(client: Client, draw: random.Random) -> str:
    path, body = random_body(draw, draw.choice(["chat", "text"]), draw.randrange(1000))
    slow = {"diffusion": {"steps": 100, "settings": {"adaptive": False}}, "stream": draw.random() < 0.7, "draft": True}
    await client.leave(path, body | slow, after_lines=draw.choice([0, 0, 3, 12, 30]) if slow["stream"] else 0)
    return "left"


async def _canvas(client: Client, draw: random.Random) -> str:
    made = await client.ask(CANVAS, {"prompt": PROMPT, "seed": draw.randrange(1000), "steps": draw.choice([3, 12])})
    if made.status != 200:
        return _named(made)
    canvas, path = made.json, f"{CANVAS}/{made.json['id']}"
    assert canvas["status"] == "done", canvas
    edits: list[_Json] = [{"replace": [{"start": 0, "end": 1, "text": "A"}]}, {"spans": [[0, 6]], "steps": 4}]
    both = await asyncio.gather(*(client.ask(f"{path}/edits", {"base_rev": 1} | edit) for edit in edits))
    failed = [_named(answer) for answer in both if answer.status != 200]
    now = (await client.ask(path)).json
    assert now["rev"] == 3 - len(failed), f"{failed} {now['rev']}"
    rows = (await client.ask(f"{path}/revisions")).json["data"]
    assert [row["rev"] for row in rows] == list(range(1, now["rev"] + 1))
    assert rows[-1]["text"] == now["text"]
    assert (await client.ask(path, method="DELETE")).status == 200
    return f"result, {len(failed)} refused"


async def _cancel(client: Client, draw: random.Random) -> str:
    body = {"prompt": PROMPT, "steps": 200, "settings": {"adaptive": False}, "background": True}
    made = await client.ask(CANVAS, body)
    if made.status != 202:
        return _named(made)
    path = f"{CANVAS}/{made.json['id']}"
    following = asyncio.ensure_future(client.ask(f"{path}/events"))
    await asyncio.sleep(draw.uniform(0.0, 1.0))
    assert (await client.ask(path, method="DELETE")).status == 200
    events = await following
    if events.status != 200:
        return _named(events)
    last = events.events[-1]
    assert last["type"] in ("canvas.done", "canvas.error") or last["status"] == "cancelled", events.text[-200:]
    return "cancelled"


async def _garbage(client: Client, draw: random.Random) -> str:
    body = json.dumps({"messages": MESSAGES}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: "
    data = draw.choice(
        [
            draw.randbytes(200),
            head + b"100000\r\n\r\n" + body,
            head + b"-5\r\n\r\n" + body,
            head[: draw.randrange(len(head))],
            b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000,
            b"BREW /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        ]
    )
    answer = await client.send(data)
    assert not answer or answer.startswith(b"HTTP/1.1 4"), answer[:100]
    return "refused" if answer else "closed"


async def _nonsense(client: Client, draw: random.Random) -> str:
    body = draw.choice(
        [b"{", b"[" * 100_000, b'{"messages": [NaN]}', b"\xff\xfe", b'{"prompt": "\\ud800"}', {"messages": 3}, {"n": 0}]
    )
    return _named(await client.ask(draw.choice([CHAT, TEXT, CANVAS]), body))


async def _hostile(client: Client, draw: random.Random) -> str:
    return _named(await client.ask(CANVAS, {"prompt": PROMPT} | draw.choice(HOSTILE)))


_ACTS = (*[_whole, _stream, _disconnect, _canvas] * 3, _stall, _cancel, _garbage, _nonsense, _hostile)
