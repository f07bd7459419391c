"""The server under load: streams against whole answers, and stored canvases after a kill."""

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
from benchmarks.options import numbers, ways
from sfumato.errors import ConfigError

_Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Streams:
    """Streams compared with whole answers."""

    requests: int
    """Requests whose stream and whole answer were compared."""
    kinds: dict[str, int]
    """Requests by endpoint."""
    resumed: int
    """Event streams that were resumed."""
    wrong: list[str]
    """Differences."""


def streams(requests: int) -> Streams:
    """Compare streams and whole answers of random requests to every endpoint."""
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
        asyncio.run(_work(server, requests, compare))
        if problem := server.stop():
            wrong.append(problem)
    return Streams(requests=requests, kinds=dict(kinds), resumed=resumed, wrong=wrong)


async def _work(server: Server, requests: int, act: Callable[[Client, random.Random, int], Awaitable[None]]) -> None:
    """Call `act` for each request, by eight clients at once."""
    client, numbers = Client(server.port), iter(range(requests))

    async def work() -> None:
        for i in numbers:
            await act(client, random.Random(i), i)

    await asyncio.gather(*(work() for _ in range(8)))


def random_body(draw: random.Random, kind: str, seed: int) -> tuple[str, _Json]:
    """A valid path and body."""
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
    """The text of a stream's answers, joined, and their finish reasons."""
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
    """Follow a canvas's events with disconnects at random; returns the number of connections."""
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
        limit = draw.choice([1, 3, 10, 10**6])
        num_events = 0
        async with client.connect() as (reader, writer):
            writer.write(f"GET {CANVAS}/{canvas['id']}/events{query} HTTP/1.0\r\n\r\n".encode())
            async for line in reader:
                if line.startswith(b"data: "):
                    follower.take(json.loads(line.removeprefix(b"data: ")))
                    num_events += 1
                    if num_events == limit:
                        break
        resumed += 1
        if not num_events:
            break
    final = (await client.ask(f"{CANVAS}/{canvas['id']}")).json
    assert follower.text == final["text"], f"{body}: {follower.text!r} {final}"
    # The server still has the last events, and sends only those.
    after = max(0, follower.seq - 3)
    last = [event["seq"] for event in (await client.ask(f"{CANVAS}/{canvas['id']}/events?after={after}")).events]
    assert last == list(range(after + 1, follower.seq + 1)), f"{body}: {last} after {after} of {follower.seq}"
    return resumed


@dataclass(frozen=True, kw_only=True)
class Kills:
    """Revisions found after kills of the server."""

    kills: int
    """SIGKILLs at random moments, with active clients."""
    revisions: int
    """Revisions that clients had received."""
    found: int
    """Revisions found with their texts after restarts."""
    wrong: list[str]
    """Lost or incomplete revisions."""


def kills(times: int, clients: int = 4) -> Kills:
    """Kill a server while clients make and revise canvases; restart it and check all received revisions."""
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
            texts = {(canvas_id, row["rev"]): row["text"] for row in rows}
            lost = [key for key, text in told.items() if key[0] == canvas_id and texts.get(key) != text]
            wrong.extend(f"{key} was told, and is lost" for key in lost)
            found += sum(key[0] == canvas_id for key in told) - len(lost)
        return found

    with tempfile.TemporaryDirectory() as directory:
        for i in range(times):
            asyncio.run(load(Server(Path(directory)), random.Random(i)))
        server = Server(Path(directory))
        num_found = check(server)
        if problem := server.stop():
            wrong.append(problem)
    return Kills(kills=times, revisions=len(told), found=num_found, wrong=wrong)


@dataclass(frozen=True, kw_only=True)
class Fuzz:
    """Requests generated from the OpenAPI document."""

    cases: int
    """Maximum requests per operation."""
    said: list[str]
    """The last lines of schemathesis's output."""
    wrong: list[str]
    """Findings of schemathesis and of the engine's consistency check."""


def fuzz(cases: int) -> Fuzz:
    """Run schemathesis: no status 500, no answer outside its schema, none that takes longer than a minute.

    Raises:
        ConfigError: if it is not installed.
    """
    program = shutil.which("schemathesis")
    if program is None:
        raise ConfigError("schemathesis is not installed: pip install schemathesis")
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    options = f"--checks {checks} --max-examples {cases} --phases coverage,fuzzing --seed 1 --no-shrink --no-color"
    options += " --request-timeout 60 --workers 1 --generation-database none --suppress-health-check all"
    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory))
        url = f"http://127.0.0.1:{server.port}/openapi.json"
        done = subprocess.run([program, "run", url, *options.split()], cwd=directory, capture_output=True, text=True)
        wrong = [problem] if (problem := server.stop()) else []
    wrong += [f"schemathesis exits with {done.returncode}"] if done.returncode else []
    return Fuzz(cases=cases, said=(done.stdout + done.stderr).splitlines()[-200:], wrong=wrong)


def serving(
    measure: Annotated[
        str, typer.Argument(help="streams, fuzz, soak, kills, overhead, neighbours, replicas or servers.")
    ],
    count: Annotated[int | None, typer.Option(min=1, help="Requests, cases per operation, kills or rounds.")] = None,
    clients: Annotated[int, typer.Option(min=1, help="For the soak.")] = 64,
    minutes: Annotated[float, typer.Option(min=0.1, help="For the soak.")] = 30.0,
    model: Annotated[str, typer.Option(help="For the overhead.")] = "tiny",
    ports: Annotated[
        str, typer.Option(help="For servers: ports on this machine of running ones, separated by commas.")
    ] = "8000",
) -> None:
    """The embedded model over HTTP: errors, losses and cost. Prints one line of JSON."""
    from benchmarks.serving_soak import soak
    from benchmarks.serving_speed import neighbours, overhead, replicas, servers

    measures: dict[str, Callable[[], Any]] = {
        "streams": lambda: streams(count or 1000),
        "fuzz": lambda: fuzz(count or 600),
        "soak": lambda: soak(clients, minutes),
        "kills": lambda: kills(count or 20),
        "overhead": lambda: overhead(count or 40, model),
        "neighbours": lambda: neighbours(count or 6),
        "replicas": lambda: replicas(count or 3),
        "servers": lambda: servers(numbers("ports", ports), count or 5),
    }
    [chosen] = ways("measure", measure, measures)
    found = asdict(measures[chosen]())
    typer.echo(json.dumps({"bench": f"serving {chosen}"} | found))
    if found.get("wrong"):
        raise typer.Exit(1)
