"""What company costs and saves: a short request among long ones, and variations that share a prompt."""

from __future__ import annotations

import dataclasses
import statistics
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.model import BenchModel
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.request import Finished, Request


@dataclass(frozen=True, kw_only=True)
class Join:
    """Short requests, one after the other, each alone and each among long ones."""

    num_long: int
    """Long requests in work all the time."""
    num_short: int
    """Short requests measured."""
    alone_s: float
    """Seconds of a short request by itself; median."""
    joined_p50_s: float
    """Seconds among the long ones; median."""
    joined_p95_s: float
    """The same, of the slowest twentieth."""
    ratio_p95: float
    """joined_p95_s / alone_s."""


@dataclass(frozen=True, kw_only=True)
class Variations:
    """Answers to one prompt, as one request and one by one on cold caches."""

    n: int
    """Answers."""
    prompt_tokens: int
    """Of the prompt."""
    prefilled_tokens: int
    """Positions of the prompt that went through the weights for all of them together."""
    together_s: float
    """Seconds as one request."""
    apart_s: float
    """Seconds one after the other, each on a cold cache."""
    ratio: float
    """apart_s / together_s."""


def join(bench_model: BenchModel, short: Request, long: Request, *, num_long: int, num_short: int) -> Join:
    """Measure short requests that join long ones, and between them the same ones alone.

    Args:
        short, long: what they ask for; a long one that ends is followed by another.
        num_long: in work at any time.
        num_short: measured.
    """
    config = EngineConfig(reuse_prefixes=False, max_rows=num_long + 1)
    busy, idle = Engine(bench_model.model, config), Engine(bench_model.model, config)

    def seconds(engine: Engine) -> float:
        started = time.perf_counter()
        number = engine.submit(short)
        while True:
            engine.step()
            ended = {other for other, event in engine.take_all() if isinstance(event, Finished)}
            for other in ended - {number}:
                running.remove(other)
                running.add(busy.submit(long))
            if number in ended:
                return time.perf_counter() - started

    running = {busy.submit(long) for _ in range(num_long)}
    # Until all of them denoise.
    for _ in range(2 * num_long):
        busy.step()
    pairs = [(seconds(idle), seconds(busy)) for _ in range(num_short + 1)][1:]
    busy.close()
    alone, joined = zip(*pairs, strict=True)
    p95 = float(np.percentile(joined, 95))
    return Join(
        num_long=num_long,
        num_short=num_short,
        alone_s=statistics.median(alone),
        joined_p50_s=statistics.median(joined),
        joined_p95_s=p95,
        ratio_p95=p95 / statistics.median(alone),
    )


def variations(bench_model: BenchModel, request: Request, *, n: int) -> Variations:
    """Measure n answers to one prompt, together and apart.

    Args:
        request: of one of them.
    """
    together = dataclasses.replace(request, n=n)
    engine = Engine(bench_model.model, EngineConfig())
    started = time.perf_counter()
    results = [event.result for _, event in engine.run([together]) if isinstance(event, Finished)]
    together_s = time.perf_counter() - started
    started = time.perf_counter()
    for i in range(n):
        bench_model.run(dataclasses.replace(request, seed=request.seed + i))
    apart_s = time.perf_counter() - started
    return Variations(
        n=n,
        prompt_tokens=len(request.prompt),
        prefilled_tokens=sum(len(request.prompt) - result.usage.cached_tokens for result in results),
        together_s=together_s,
        apart_s=apart_s,
        ratio=apart_s / together_s,
    )
