"""The server under load: are its streams what they say, and is what it answered there after it was killed?"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.http_load import CANVAS, CHAT, FIM, MESSAGES, PROMPT, TEXT, Answer, Client, Follower, Server
from benchmarks.options import ways
from sfumato.errors import ConfigError

_Json = dict[str, Any]


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
                more = await _compare_events(client, draw, kind, i)
                resumed += more
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
        body: _Json = {"prompt": "def area(a, b):\n    return a", "suffix": draw.choice(["", " b\n"])}
        return FIM, body | {"max_tokens": draw.choice([4, 8]), "seed": seed, "diffusion": diffusion}
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
    path, asked = (CHAT, {"messages": MESSAGES}) if kind == "chat" else (TEXT, {"prompt": "36+3 = 39\n12+1 ="})
    return path, asked | body | {"diffusion": diffusion}


def texts_of(answer: Answer, n: int) -> tuple[list[str], list[str | None]]:
    """What clients that append come to, and how each answer ended."""
    texts, reasons = [""] * n, list[str | None]([None] * n)
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
    canvas = (await client.ask(CANVAS, body | {"background": True})).json
    follower, resumed = Follower(), 0
    while not follower.kinds or follower.kinds[-1] not in ("canvas.done", "canvas.error"):
        query = "" if follower.seq < 0 else f"?after={follower.seq}"
        most = draw.choice([1, 3, 10, 10**6])
        came = 0
        async with client.connect() as (reader, writer):
            writer.write(f"GET {CANVAS}/{canvas['id']}/events{query} HTTP/1.0\r\n\r\n".encode())
            async for line in reader:
                if line.startswith(b"data: "):
                    follower.take(json.loads(line.removeprefix(b"data: ")))
                    came += 1
                    if came == most:
                        break
        resumed += 1
        if not came:
            break
    final = (await client.ask(f"{CANVAS}/{canvas['id']}")).json
    assert follower.text == final["text"], f"{body}: {follower.text!r} {final}"
    # The last events are remembered still, and they alone are sent.
    after = max(0, follower.seq - 3)
    last = [event["seq"] for event in (await client.ask(f"{CANVAS}/{canvas['id']}/events?after={after}")).events]
    assert last == list(range(after + 1, follower.seq + 1)), f"{body}: {last} after {after} of {follower.seq}"
    return resumed


@dataclass(frozen=True, kw_only=True)
class Kills:
    """What was there after the server was killed."""

    kills: int
    """SIGKILL at random moments, with clients at work."""
    revisions: int
    """That clients had been told of."""
    found: int
    """Of them, with their texts, in the servers that came after."""
    wrong: list[str]
    """What was lost, or half there."""


def kills(times: int, clients: int = 4) -> Kills:
    """Kill a server while clients make and revise canvases; begin it again, and look for all that it had answered."""
    told: dict[tuple[str, int], str] = {}
    wrong: list[str] = []
    num_found = 0

    async def revise(client: Client, draw: random.Random) -> None:
        while True:
            body = {"prompt": PROMPT, "seed": draw.randrange(1000), "steps": 3}
            canvas = (await client.ask(CANVAS, body)).json
            for _ in range(draw.randrange(4)):
                told[canvas["id"], canvas["rev"]] = canvas["text"]
                text = "".join(draw.choices("abc é", k=draw.randrange(200)))
                edits: list[_Json] = [
                    {"spans": [[0, 6]], "steps": 2},
                    {"replace": [{"start": 0, "end": 0, "text": text}]},
                ]
                path = f"{CANVAS}/{canvas['id']}/edits"
                canvas = (await client.ask(path, {"base_rev": canvas["rev"]} | draw.choice(edits))).json
            told[canvas["id"], canvas["rev"]] = canvas["text"]

    async def load(server: Server, draw: random.Random) -> None:
        client = Client(server.port)
        tasks = [asyncio.ensure_future(revise(client, random.Random(draw.random()))) for _ in range(clients)]
        await asyncio.sleep(draw.uniform(0.3, 2.0))
        server.kill()
        await asyncio.wait(tasks)
        for task in tasks:
            if not isinstance(task.exception(), OSError | asyncio.IncompleteReadError):
                wrong.append(f"{task.exception()!r:.300}")

    def check(server: Server) -> int:
        found = 0
        for canvas_id in {canvas_id for canvas_id, _ in told}:
            now = json.loads(server.get(f"{CANVAS}/{canvas_id}"))
            rows = json.loads(server.get(f"{CANVAS}/{canvas_id}/revisions"))["data"]
            if [row["rev"] for row in rows] != list(range(1, now["rev"] + 1)) or rows[-1]["text"] != now["text"]:
                wrong.append(f"{canvas_id}: {now} {rows}")
            found += sum(told.get((canvas_id, row["rev"])) == row["text"] for row in rows)
        return found

    with tempfile.TemporaryDirectory() as directory:
        for i in range(times):
            asyncio.run(load(Server(Path(directory)), random.Random(i)))
        server = Server(Path(directory))
        num_found = check(server)
        if books := server.stop():
            wrong.append(books)
    return Kills(kills=times, revisions=len(told), found=num_found, wrong=wrong)


# Its OpenAPI document.


@dataclass(frozen=True, kw_only=True)
class Fuzz:
    """Requests made up from the OpenAPI document."""

    cases: int
    """Of each operation, at most."""
    said: list[str]
    """The end of what schemathesis says."""
    wrong: list[str]
    """Whether it found anything, and what is wrong with the books."""


def fuzz(cases: int) -> Fuzz:
    """Have schemathesis look for a 500, an answer outside its schema, or one that takes longer than a minute.

    Raises:
        ConfigError: if it is not installed.
    """
    program = shutil.which("schemathesis")
    if program is None:
        raise ConfigError("schemathesis is not there; allowed: with it, pip install schemathesis")
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    options = f"--checks {checks} --max-examples {cases} --phases coverage,fuzzing --seed 1 --no-shrink --no-color"
    options += " --request-timeout 60 --workers 1 --generation-database none --suppress-health-check all"
    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory))
        url = f"http://127.0.0.1:{server.port}/openapi.json"
        done = subprocess.run([program, "run", url, *options.split()], cwd=directory, capture_output=True, text=True)
        wrong = [books] if (books := server.stop()) else []
    wrong += [f"schemathesis says {done.returncode}"] if done.returncode else []
    return Fuzz(cases=cases, said=(done.stdout + done.stderr).splitlines()[-200:], wrong=wrong)


def serving(
    measure: Annotated[str, typer.Argument(help="streams, fuzz, soak, kills, overhead or neighbours.")],
    count: Annotated[int | None, typer.Option(min=1, help="Requests, cases of an operation, kills or rounds.")] = None,
    clients: Annotated[int, typer.Option(min=1, help="Of the soak.")] = 64,
    minutes: Annotated[float, typer.Option(min=0.1, help="Of the soak.")] = 30.0,
) -> None:
    """The embedded model over HTTP: what is wrong, what is lost, what it costs. Prints one line of JSON."""
    from benchmarks.serving_soak import soak
    from benchmarks.serving_speed import neighbours, overhead

    measures: dict[str, Callable[[], Any]] = {
        "streams": lambda: streams(count or 1000),
        "fuzz": lambda: fuzz(count or 600),
        "soak": lambda: soak(clients, minutes),
        "kills": lambda: kills(count or 20),
        "overhead": lambda: overhead(count or 40),
        "neighbours": lambda: neighbours(count or 6),
    }
    [chosen] = ways("measure", measure, measures)
    found = asdict(measures[chosen]())
    typer.echo(json.dumps({"bench": f"serving {chosen}"} | found))
    if found.get("wrong"):
        raise typer.Exit(1)
