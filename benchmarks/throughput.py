"""How many answers an engine gives at once, and how long each of them waits."""

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
    """Requests of one shape, from several users at once."""

    concurrency: int | None
    """Requests in flight at any time; None if they arrive by themselves."""
    rate: float | None
    """Arrivals a second, at random times (Poisson); None if each follows another's end."""
    num_requests: int
    """Answered."""
    steps: int
    """Allowed steps of a canvas."""
    forced: bool
    """Whether all of them were taken."""
    seconds: float
    """From the first request to the last answer."""
    tokens_per_s: float
    """Tokens of all answers, over that time."""
    requests_per_s: float
    """Answers over that time."""
    first_commit_p50_s: float
    """From a request to its first text that stays."""
    first_commit_p95_s: float
    """The same, of the slowest twentieth."""
    total_p50_s: float
    """From a request to the end of its answer."""
    total_p95_s: float
    """The same, of the slowest twentieth."""
    forward_passes: int
    """Of the engine."""
    positions_per_forward: float
    """Mean: how full the passes were."""


def throughput(
    bench_model: BenchModel,
    requests: Sequence[Request],
    *,
    concurrency: int | None = None,
    rate: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Throughput:
    """Answer requests, as many at a time as are asked for or as they come.

    Args:
        requests: of one shape, for the report.
        concurrency: a user's next request follows the end of his last.
        rate: arrivals a second instead, whatever is in flight.
        clock: seconds; without a rate also `time.process_time`, for one thread on a core that others use as well.
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
            # Counted from the arrival, which a step may have made wait.
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
