"""The server under load: are streams what they say, is anything lost, and what does HTTP cost?"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.http_load import MESSAGES, PROMPT, Answer, Client, Follower, Server
from sfumato.errors import ConfigError, unknown

_Json = dict[str, Any]
_CHAT, _TEXT, _FIM, _CANVAS = "/v1/chat/completions", "/v1/completions", "/v1/fim/completions", "/v1/canvas"
# As hostile as what is read: automata of many states, or none at all.
HOSTILE: tuple[_Json, ...] = (
    {"regex": "(a|b)*a(a|b){20}"},
    {"regex": "(((a{1000}){1000}){1000})"},
    {"schema": {"type": "array", "minItems": 10**9}},
    {"schema": {"anyOf": [{"type": "object", "properties": {f"p{i}": {"type": "string"}}} for i in range(1000)]}},
)


# Streams.


@dataclass(frozen=True, kw_only=True)
class Streams:
    """What was streamed."""

    requests: int
    """Of each of which the stream and the whole answer were compared."""
    kinds: dict[str, int]
    """By endpoint."""
    resumed: int
    """Streams of events that were taken up again somewhere."""
    wrong: list[str]
    """What differed."""


def streams(requests: int) -> Streams:
    """Random requests to every endpoint: what their streams add up to, and the answer."""
    kinds: Counter[str] = Counter()
    wrong: list[str] = []
    resumed = 0

    async def compare(client: Client, draw: random.Random, i: int) -> None:
        nonlocal resumed
        kind = draw.choice(["chat", "text", "fim", "canvas", "edit"])
        kinds[kind] += 1
        try:
            if kind in ("canvas", "edit"):
                resumed += await _compare_events(client, draw, kind, i)
            else:
                await _compare_stream(client, draw, kind, i)
        except AssertionError as error:
            wrong.append(f"{kind} {i}: {error}")

    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory))
        asyncio.run(_workers(server, 8, requests, compare))
        if books := server.stop():
            wrong.append(books)
    return Streams(requests=requests, kinds=dict(kinds), resumed=resumed, wrong=wrong)


async def _workers(
    server: Server, num_clients: int, requests: int, act: Callable[[Client, random.Random, int], Awaitable[None]]
) -> None:
    """Have clients do something so many times together."""
    client, numbers = Client(server.port), iter(range(requests))

    async def work() -> None:
        for i in numbers:
            await act(client, random.Random(i), i)

    await asyncio.gather(*(work() for _ in range(num_clients)))


def random_body(draw: random.Random, kind: str, seed: int) -> tuple[str, _Json]:
    """A path and a body without mistakes."""
    diffusion: _Json = {"steps": draw.choice([2, 5, 20])}
    if kind == "fim":
        body = {"prompt": "def area(a, b):\n    return a", "suffix": draw.choice(["", " b\n"])}
        return _FIM, body | {"max_tokens": draw.choice([4, 8]), "seed": seed, "diffusion": diffusion}
    if draw.random() < 0.5:
        diffusion["canvas_length"] = draw.choice([4, 8, 16])
    body = {"seed": seed, "max_tokens": draw.choice([3, 17, 48])}
    if draw.random() < 0.3:
        body["stop"] = draw.choice(["\n", "=", ["36", "x"]])
    elif draw.random() < 0.4:
        diffusion |= {"revisit": 1, "canvas_length": 8}
    elif draw.random() < 0.3:
        diffusion["regex"] = draw.choice(["[ab]{3}", "(yes|no)+"])
    if draw.random() < 0.3:
        body["n"] = draw.choice([2, 3])
    path, asked = (_CHAT, {"messages": MESSAGES}) if kind == "chat" else (_TEXT, {"prompt": "36+3 = 39\n12+1 ="})
    return path, asked | body | {"diffusion": diffusion}


def texts_of(answer: Answer, n: int) -> tuple[list[str], list[str | None]]:
    """What clients that append come to, and how each answer ended."""
    texts, reasons = [""] * n, [None] * n
    for event in answer.events:
        assert "error" not in event, event
        for choice in event["choices"]:
            texts[choice["index"]] += choice.get("text") or choice.get("delta", {}).get("content") or ""
            reasons[choice["index"]] = choice["finish_reason"] or reasons[choice["index"]]
    return texts, reasons


async def _compare_stream(client: Client, draw: random.Random, kind: str, i: int) -> None:
    path, body = random_body(draw, kind, i)
    whole = await client.ask(path, body)
    stream = await client.ask(path, body | {"stream": True, "draft": kind != "fim" and draw.random() < 0.5})
    assert whole.status == stream.status == 200, f"{whole.text[:200]} {body}"
    assert stream.text.endswith("data: [DONE]\n\n"), body
    choices = whole.json["choices"]
    texts = [choice["message"]["content"] if kind == "chat" else choice["text"] for choice in choices]
    expected = texts, [choice["finish_reason"] for choice in choices]
    assert texts_of(stream, len(choices)) == expected, f"{body}: {texts_of(stream, len(choices))} {expected}"


async def _compare_events(client: Client, draw: random.Random, kind: str, i: int) -> int:
    """Events of a canvas, left and taken up again at random places; how often."""
    body: _Json = {"prompt": PROMPT, "seed": i, "steps": draw.choice([3, 12, 60]), "settings": {"adaptive": False}}
    body["canvas_length"] = draw.choice([6, 16, 72])
    if body["canvas_length"] < 72 and draw.random() < 0.5:
        body["revisit"] = 1
    if kind == "edit":
        text = "answer: 39\n81*(2/3)^2 = 36\nsqrt(9) = 3\n36+3 = 38"
        spans = draw.choice([[[len(text) - 2, len(text)]], [[8, 10], [len(text) - 2, len(text)]]])
        body = {"text": text, "spans": spans, "seed": i}
    canvas = (await client.ask(_CANVAS, body | {"background": True})).json
    follower, resumed = Follower(), 0
    while not follower.kinds or follower.kinds[-1] not in ("canvas.done", "canvas.error"):
        after = "" if follower.seq < 0 else f"?after={follower.seq}"
        most = draw.choice([1, 3, 10, 10**6])
        came = 0
        async with client.connect() as (reader, writer):
            writer.write(f"GET {_CANVAS}/{canvas['id']}/events{after} HTTP/1.0\r\n\r\n".encode())
            async for line in reader:
                if line.startswith(b"data: "):
                    follower.take(json.loads(line.removeprefix(b"data: ")))
                    came += 1
                    if came == most:
                        break
        resumed += 1
        if not came:
            break
    final = (await client.ask(f"{_CANVAS}/{canvas['id']}")).json
    assert follower.text == final["text"], f"{body}: {follower.text!r} {final}"
    for event in (await client.ask(f"{_CANVAS}/{canvas['id']}/events?after={max(0, follower.seq - 3)}")).events:
        assert event["type"] != "canvas.snapshot" or follower.seq > 16 or event["seq"] == follower.seq
    return resumed


# Soak.


@dataclass(kw_only=True)
class Soak:
    """So far."""

    minutes: float = 0.0
    clients: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    """By what was done, and what came of it."""
    memory_mb: list[float] = field(default_factory=list)
    """Resident, of the server, at even times."""
    growth: float = 0.0
    """Of the median of the last quarter over that of the second one."""
    wrong: list[str] = field(default_factory=list)
    """Requests that ended in neither a result nor a named error, and what is wrong with the books."""


def soak(clients: int, minutes: float) -> Soak:
    """Clients that stream, cancel, disconnect, stall and send garbage."""
    found, counted = Soak(clients=clients), Counter[str]()
    end = time.perf_counter() + minutes * 60

    async def work(client: Client, draw: random.Random) -> None:
        while time.perf_counter() < end:
            act = draw.choice(_ACTS)
            try:
                came = await act(client, draw)
            except (AssertionError, ValueError, KeyError, TimeoutError) as error:
                came = "wrong"
                found.wrong.append(f"{act.__name__}: {type(error).__name__} {str(error)[:300]}")
            except (OSError, asyncio.IncompleteReadError) as error:
                came = "cut"
                found.wrong.append(f"{act.__name__}: {error!r:.300}")
            counted[f"{act.__name__.lstrip('_')}: {came}"] += 1

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
        # Those that left are gone within a while.
        idle = time.perf_counter() + 60
        while 'sfumato_running{model="tiny"} 0.0' not in server.get("/metrics") and time.perf_counter() < idle:
            time.sleep(0.1)
        found.minutes = (time.perf_counter() - started) / 60
        if books := server.stop():
            found.wrong.append(books)
    found.outcomes = dict(sorted(counted.items()))
    quarter = len(found.memory_mb) // 4
    if quarter:
        before, after = found.memory_mb[quarter : 2 * quarter], found.memory_mb[-quarter:]
        found.growth = statistics.median(after) / statistics.median(before) - 1
    return found


def _named(answer: Answer) -> str:
    """What an answer that is no result is called."""
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
    made = await client.ask(_CANVAS, {"prompt": PROMPT, "seed": draw.randrange(1000), "steps": draw.choice([3, 12])})
    if made.status != 200:
        return _named(made)
    canvas, path = made.json, f"{_CANVAS}/{made.json['id']}"
    assert canvas["status"] == "done", canvas
    edits = [{"replace": [{"start": 0, "end": 1, "text": "A"}]}, {"spans": [[0, 6]], "steps": 4}]
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
    made = await client.ask(_CANVAS, body)
    if made.status != 202:
        return _named(made)
    path = f"{_CANVAS}/{made.json['id']}"
    following = asyncio.ensure_future(client.ask(f"{path}/events"))
    await asyncio.sleep(draw.uniform(0.0, 1.0))
    assert (await client.ask(path, method="DELETE")).status == 200
    events = await following
    if events.status != 200:
        return _named(events)
    assert events.events[-1]["type"] in ("canvas.done", "canvas.error"), events.text[-200:]
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
    came = await client.send(data)
    assert not came or came.startswith(b"HTTP/1.1 4"), came[:100]
    return "refused" if came else "closed"


async def _nonsense(client: Client, draw: random.Random) -> str:
    body = draw.choice(
        [b"{", b"[" * 100_000, b'{"messages": [NaN]}', b"\xff\xfe", b'{"prompt": "\\ud800"}', {"messages": 3}, {"n": 0}]
    )
    return _named(await client.ask(draw.choice([_CHAT, _TEXT, _CANVAS]), body))


async def _hostile(client: Client, draw: random.Random) -> str:
    return _named(await client.ask(_CANVAS, {"prompt": PROMPT} | draw.choice(HOSTILE)))


_ACTS = (*[_whole, _stream, _disconnect, _canvas] * 3, _stall, _cancel, _garbage, _nonsense, _hostile)
