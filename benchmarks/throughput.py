"""Throughput of an engine and latency of its requests."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.model import BenchModel
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.request import Committed, Finished, Request


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """Requests of one shape from concurrent users."""

    concurrency: int | None
    """Requests in flight at any time; None with `rate`."""
    rate: float | None
    """Poisson arrivals per second; None with `concurrency`."""
    num_requests: int
    """Answered requests."""
    steps: int
    """Maximum steps per canvas."""
    forced: bool
    """Whether all of them are taken."""
    seconds: float
    """From the first request to the last answer."""
    tokens_per_s: float
    """Tokens of all answers per second."""
    requests_per_s: float
    """Answers per second."""
    first_commit_p50_s: float
    """From a request to its first committed text, median."""
    first_commit_p95_s: float
    """The same, 95th percentile."""
    total_p50_s: float
    """From a request to the end of its answer, median."""
    total_p95_s: float
    """The same, 95th percentile."""
    forward_passes: int
    """Forward passes of the engine."""
    positions_per_forward: float
    """Mean positions per forward pass."""


def throughput(
    bench_model: BenchModel,
    requests: Sequence[Request],
    *,
    concurrency: int | None = None,
    rate: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Throughput:
    """Answer requests at a fixed concurrency, or at their arrivals.

    Args:
        requests: of one shape; the report shows the first one's settings.
        concurrency: number of users; each sends the next request when the last one ends.
        rate: instead, Poisson arrivals per second.
        clock: seconds; without a rate also `time.process_time`, for one thread on a shared core.
    """
    assert (concurrency is None) != (rate is None)
    engine = Engine(bench_model.model, EngineConfig(reuse_prefixes=False, max_queue=len(requests)))
    random_ = random.Random(0)
    arrivals = [0.0] * len(requests)
    if rate is not None:
        for i in range(1, len(requests)):
            arrivals[i] = arrivals[i - 1] + random_.expovariate(rate)
    submitted: dict[int, float] = {}
    first: dict[int, float] = {}
    total: dict[int, float] = {}
    started = clock()
    num_sent = num_tokens = 0
    while len(total) < len(requests):
        now = clock() - started
        while num_sent < len(requests) and (
            len(submitted) - len(total) < concurrency if concurrency is not None else arrivals[num_sent] <= now
        ):
            # Counted from the arrival: the request may have waited for a step.
            arrived = now if rate is None else arrivals[num_sent]
            submitted[engine.submit(requests[num_sent])] = arrived
            num_sent += 1
        if not engine.has_work:
            time.sleep(max(0.0, arrivals[num_sent] - (clock() - started)))
            continue
        engine.step()
        now = clock() - started
        for number, event in engine.take_all():
            if isinstance(event, Committed):
                first.setdefault(number, now - submitted[number])
            elif isinstance(event, Finished):
                total[number] = now - submitted[number]
                num_tokens += len(event.result.tokens)
    seconds = clock() - started
    sampler = requests[0].sampler
    return Throughput(
        concurrency=concurrency,
        rate=rate,
        num_requests=len(requests),
        steps=sampler.steps,
        forced=not sampler.adaptive,
        seconds=seconds,
        tokens_per_s=num_tokens / seconds,
        requests_per_s=len(requests) / seconds,
        first_commit_p50_s=float(np.percentile(list(first.values()), 50)),
        first_commit_p95_s=float(np.percentile(list(first.values()), 95)),
        total_p50_s=float(np.percentile(list(total.values()), 50)),
        total_p95_s=float(np.percentile(list(total.values()), 95)),
        forward_passes=engine.runner.num_forwards,
        positions_per_forward=engine.runner.num_positions / engine.runner.num_forwards,
    )
