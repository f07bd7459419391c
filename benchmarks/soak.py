"""Soak test of an engine with random requests, cancellations and deadlines: lost answers, memory leaks."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.http_load import resident_mb
from benchmarks.integrity import check_engine
from benchmarks.model import BenchModel
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.request import Finished
from sfumato.errors import CapacityError, RequestError
from sfumato.layout import PrefixLayout
from sfumato.sampling.samplers.base import samplers


@dataclass(frozen=True, kw_only=True)
class Soak:
    """State of a soak test."""

    minutes: float
    """Minutes since the start."""
    submitted: int
    """Answers requested."""
    answered: int
    """Answers that ended."""
    reasons: dict[str, int]
    """Ended answers by finish reason."""
    refused: int
    """Requests that were too large, or met a full queue."""
    steps: int
    """Engine steps, each followed by a consistency check."""
    memory_mb: float
    """Resident memory of this process."""
    pages_kept: int
    """Idle pages in the cache, kept for reuse."""


def soak(bench_model: BenchModel, *, minutes: float, report_every_s: float = 60.0) -> Iterator[Soak]:
    """Submit random requests, then let the engine finish.

    Args:
        minutes: how long to submit requests.
        report_every_s: seconds between reports.

    Yields:
        A report at each interval, and one at the end.

    Raises:
        AssertionError: if the cache is inconsistent, or an answer is lost, fails or ends twice.
    """
    random_ = random.Random(0)
    engine = Engine(bench_model.model, EngineConfig(cache_positions=4096, max_rows=16, max_queue=32, max_positions=256))
    open_: dict[int, int] = {}
    reasons: dict[str, int] = {}
    submitted = refused = steps = 0
    started = reported = time.perf_counter()

    def report() -> Soak:
        return Soak(
            minutes=(time.perf_counter() - started) / 60,
            submitted=submitted,
            answered=sum(reasons.values()),
            reasons=dict(reasons),
            refused=refused,
            steps=steps,
            memory_mb=resident_mb(),
            pages_kept=engine.cache.num_idle,
        )

    while True:
        submitting = time.perf_counter() - started < minutes * 60
        if not submitting and not engine.has_work:
            break
        if submitting and random_.random() < 0.3:
            try:
                number, count = _submit(bench_model, engine, random_)
                open_[number] = count
                submitted += count
            except (CapacityError, RequestError):
                refused += 1
        if open_ and random_.random() < 0.03:
            engine.cancel(random_.choice(list(open_)))
        engine.step()
        for number, event in engine.take_all():
            if isinstance(event, Finished):
                reasons[event.result.finish_reason] = reasons.get(event.result.finish_reason, 0) + 1
                open_[number] -= 1
                assert event.result.finish_reason != "error", "an answer has failed"
                assert open_[number] >= 0, "an answer has ended twice"
                if not open_[number]:
                    del open_[number]
        check_engine(engine)
        steps += 1
        if time.perf_counter() - reported >= report_every_s:
            reported = time.perf_counter()
            yield report()
    assert not open_, f"{len(open_)} requests were never answered"
    assert engine.cache.num_used == 0, "pages are still in use"
    yield report()


def _submit(bench_model: BenchModel, engine: Engine, random_: random.Random) -> tuple[int, int]:
    spec = bench_model.model.spec
    # Few seeds, so that many prompts share a prefix.
    prompt = bench_model.random_prompt(random_.randint(1, 200), seed=random_.randrange(4))
    fixed = spec.autoregressive or PrefixLayout(spec).fixed_canvas
    request = bench_model.request(
        prompt,
        new_tokens=random_.randint(1, 160),
        steps=random_.randint(1, 12),
        forced=random_.random() < 0.5,
        canvas_length=spec.canvas_length if fixed else random_.randint(1, 96),
        seed=random_.randrange(2**31),
        n=random_.choice([1, 1, 1, 4]),
        priority=random_.choice([0, 0, 1]),
        deadline_ms=random_.choice([None, None, 50, 500, 5000]),
        sampler=random_.choice([name for name in samplers() if name not in ("remdm", "predictor-corrector", "edit")]),
        temperature=random_.choice([0.0, 0.7, 1.0]),
    )
    return engine.submit(request, drafts=random_.random() < 0.2), request.n
