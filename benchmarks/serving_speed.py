"""Overhead of HTTP over the engine in process, effects of concurrent requests on each other, throughput of replicas."""

from __future__ import annotations

import asyncio
import functools
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.http_load import CANVAS, CHAT, HOSTILE, MESSAGES, PROMPT, Client, Server, ray_server, request_bytes
from sfumato.errors import ConfigError

_Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Overhead:
    """One request over HTTP and in process, in alternation."""

    requests: int
    """Number of pairs."""
    first_s: float
    """Median seconds to the first committed canvas over HTTP."""
    first_more_s: float
    """Median seconds that HTTP adds to that."""
    whole_s: float
    """Median seconds of the whole answer over HTTP."""
    whole_ratio: float
    """Median ratio of whole answers, HTTP to in process."""
    tokens_per_s: float
    """Tokens per second of one client."""
    clients_ratio: float
    """Tokens per second of 16 clients over those of one."""


def _body(tokens: int, seed: int, steps: int = 16, *, by_token: bool = False) -> _Json:
    """A request whose canvases take all steps; by_token for an autoregressive model."""
    diffusion = {"steps": steps, "settings": {"adaptive": False}} | ({} if by_token else {"canvas_length": 32})
    return {"messages": MESSAGES, "max_tokens": tokens, "seed": seed, "diffusion": diffusion}


def _long(seed: int) -> _Json:
    """A request without an end token."""
    return _body(256, seed, 8) | {"logit_bias": {str(_end_token()): -100.0}}


@functools.cache
def _end_token() -> int:
    from sfumato.api import outline

    return outline("tiny").tokenizer.eos_ids[0]


def overhead(requests: int, name: str = "tiny") -> Overhead:
    """Compare requests over HTTP and in process, and 16 clients with one."""
    import sfumato
    from sfumato.engine.request import Committed

    model = sfumato.load(name)
    by_token = model.spec.autoregressive
    pairs: list[tuple[float, float, float, float]] = []

    def in_process(seed: int) -> tuple[float, float]:
        started, first = time.perf_counter(), 0.0
        options: Any = {"steps": 16, "canvas_length": 1 if by_token else 32, "adaptive": False, "max_tokens": 64}
        options["seed"] = seed
        for _, event in model.engine.run([model.request(MESSAGES, **options)]):
            if isinstance(event, Committed) and event.text:
                first = first or time.perf_counter() - started
        return first, time.perf_counter() - started

    async def run(server: Server) -> tuple[float, float]:
        client = Client(server.port)
        for i in range(requests + 3):
            answer = await client.ask(CHAT, _body(64, i, by_token=by_token) | {"stream": True})
            first, whole = in_process(i)
            if i >= 3:
                pairs.append((answer.first_s, answer.seconds, first, whole))
        rates = [
            (
                await _tokens_per_s(client, 1, _bodies(16, by_token=by_token)),
                await _tokens_per_s(client, 16, _bodies(48, by_token=by_token)),
            )
            for _ in range(3)
        ]
        return statistics.median(one for one, _ in rates), statistics.median(many / one for one, many in rates)

    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory), models=[name])
        alone, ratio = asyncio.run(run(server))
        server.stop()
    return Overhead(
        requests=requests,
        first_s=statistics.median(pair[0] for pair in pairs),
        first_more_s=statistics.median(pair[0] - pair[2] for pair in pairs),
        whole_s=statistics.median(pair[1] for pair in pairs),
        whole_ratio=statistics.median(pair[1] / pair[3] for pair in pairs),
        tokens_per_s=alone,
        clients_ratio=ratio,
    )


def _bodies(total: int, *, by_token: bool = False) -> Iterator[_Json]:
    return (_body(64, 1000 + i, by_token=by_token) for i in range(total))


async def _tokens_per_s(client: Client, num_clients: int, bodies: Iterator[_Json]) -> float:
    counts: list[int] = []

    async def work() -> None:
        for body in bodies:
            answer = await client.ask(CHAT, body)
            counts.append(answer.json["usage"]["completion_tokens"])

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(num_clients)))
    return sum(counts) / (time.perf_counter() - started)


@dataclass(frozen=True, kw_only=True)
class Servers:
    """Servers that take turns at the same requests; each value is a median over the rounds."""

    rounds: int
    """Rounds, each with every server."""
    first_s: dict[str, float]
    """Seconds to the first text of one client's answer, by model."""
    tokens_per_s: dict[str, float]
    """Tokens per second of one client."""
    clients_tokens_per_s: dict[str, float]
    """Tokens per second of 16 clients."""


def servers(ports: Sequence[int], rounds: int, tokens: int = 64) -> Servers:
    """Compare OpenAI-compatible servers on this machine, each by its first model's greedy answers to new prompts."""
    found: dict[str, list[tuple[float, float, float]]] = {}

    def body(model: str, number: int) -> _Json:
        text = f"Write a long story about a ship with {number} sailors."
        messages = [{"role": "user", "content": text}]
        return {"model": model, "messages": messages, "max_tokens": tokens, "temperature": 0.0}

    async def measure(client: Client, model: str, start: int) -> tuple[float, float, float]:
        streaming = {"stream": True, "stream_options": {"include_usage": True}}
        streams = [await client.ask(CHAT, body(model, start + i) | streaming) for i in range(3)]
        one = sum(stream.events[-1]["usage"]["completion_tokens"] for stream in streams)
        many = await _tokens_per_s(client, 16, (body(model, start + i) for i in range(3, 19)))
        first = statistics.median(stream.first_s for stream in streams)
        return first, one / sum(stream.seconds for stream in streams), many

    async def run() -> None:
        clients = [Client(port) for port in ports]
        models = [(await client.ask("/v1/models")).json["data"][0]["id"] for client in clients]
        if len(set(models)) < len(models):
            raise ConfigError(f"the servers call their models {', '.join(models)}; allowed: different names")
        for i in range(rounds + 1):
            for client, model in zip(clients, models, strict=True):
                measured = await measure(client, model, 100 * i)
                if i > 0:
                    found.setdefault(model, []).append(measured)

    asyncio.run(run())
    first, one, many = (
        {model: statistics.median(row[i] for row in rows) for model, rows in found.items()} for i in range(3)
    )
    return Servers(rounds=rounds, first_s=first, tokens_per_s=one, clients_tokens_per_s=many)


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Throughput of replicas on Ray Serve, each with one compute thread."""

    tokens_per_s: dict[int, list[float]]
    """Tokens per second of 16 clients, by number of replicas; one value a round."""
    ratio: float
    """Two replicas over one; median of the rounds."""


def replicas(rounds: int, requests: int = 160) -> Replicas:
    """Start one replica and two in turn and measure their throughput."""
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for number, rates in found.items():
            with tempfile.TemporaryDirectory() as directory, ray_server(Path(directory), number) as port:
                client = Client(port)
                asyncio.run(_tokens_per_s(client, 16, _bodies(32)))
                rates.append(asyncio.run(_tokens_per_s(client, 16, _bodies(requests))))
    ratios = [two / one for one, two in zip(found[1], found[2], strict=True)]
    return Replicas(tokens_per_s=found, ratio=statistics.median(ratios))


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """A request of 32 tokens among others."""

    rounds: int
    """Rounds, each with every kind of company."""
    p95_s: dict[str, float]
    """95th percentile of seconds, by company; median of the rounds."""
    ratio: float
    """p95 among 15 long ones over alone; median of the rounds."""
    changed: dict[str, float]
    """p95 with one more neighbour over that among the long ones; median of the rounds."""


def neighbours(rounds: int, requests: int = 40) -> Neighbours:
    """Measure a short request alone, among 15 long ones, and with a stalled or hostile client as well."""
    found: dict[str, list[float]] = {"alone": [], "long": [], "stalled": [], "schema": []}

    async def long(client: Client, i: int) -> None:
        while True:
            await client.ask(CHAT, _long(i))

    async def stalled(client: Client) -> None:
        body = _long(7) | {"stream": True, "draft": True}
        async with client.connect() as (_, writer):
            writer.write(request_bytes(CHAT, body))
            await asyncio.sleep(3600)

    async def schemas(client: Client) -> None:
        while True:
            for each in HOSTILE:
                await client.ask(CANVAS, {"prompt": PROMPT} | each)

    async def measure(client: Client, company: str) -> None:
        tasks = [asyncio.ensure_future(long(client, i)) for i in range(15 * (company != "alone"))]
        if company == "stalled":
            tasks.append(asyncio.ensure_future(stalled(client)))
        if company == "schema":
            tasks.append(asyncio.ensure_future(schemas(client)))
        await asyncio.sleep(1.0)
        taken = [(await client.ask(CHAT, _body(32, 100 + i, 8))).seconds for i in range(requests)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        found[company].append(statistics.quantiles(taken, n=20)[-1])
        await asyncio.sleep(0.5)

    async def run(server: Server) -> None:
        client = Client(server.port)
        await asyncio.gather(client.ask(CHAT, _body(32, 0, 8)), client.ask(CHAT, _long(0)))
        for i in range(rounds):
            # Rotate the order, because other load on the machine varies.
            order = list(found)
            for company in order[i % 4 :] + order[: i % 4]:
                await measure(client, company)

    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory))
        asyncio.run(run(server))
        server.stop()

    def ratio(one: str, other: str) -> float:
        return statistics.median(a / b for a, b in zip(found[one], found[other], strict=True))

    return Neighbours(
        rounds=rounds,
        p95_s={name: statistics.median(values) for name, values in found.items()},
        ratio=ratio("long", "alone"),
        changed={name: ratio(name, "long") for name in ("stalled", "schema")},
    )
