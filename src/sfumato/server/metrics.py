"""Metrics for Prometheus, and OpenTelemetry spans of answers.

Spans are named by OpenTelemetry's conventions for generative AI; FastAPI has its own spans for requests. Without the
package nothing is recorded. The destination is set as usual: by the OTEL_* variables under `opentelemetry-instrument`,
or by a tracer provider.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sfumato.engine.request import Result
from sfumato.server.hosting import Host, HostedModel

try:
    from opentelemetry import trace
except ImportError:
    trace = None

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_STEPS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters and gauges of a server."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, host: Host) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Engines(host))
        counter = functools.partial(Counter, registry=self._registry)
        histogram = functools.partial(Histogram, registry=self._registry)
        self._requests = counter("sfumato_requests", "HTTP requests.", ["method", "route", "status"])
        self._seconds = histogram(
            "sfumato_request_seconds", "Duration of requests in seconds.", ["route"], buckets=_SECONDS
        )
        self._first = histogram(
            "sfumato_first_commit_seconds", "Seconds to the first committed canvas.", ["model"], buckets=_SECONDS
        )
        self._steps = histogram(
            "sfumato_steps_per_canvas", "Mean denoising steps per canvas of an answer.", ["model"], buckets=_STEPS
        )
        self._counters = {
            name: counter(f"sfumato_{name}", text, ["model"])
            for name, text in {
                "completion_tokens": "Answer tokens.",
                "prompt_tokens": "Prompt tokens.",
                "cached_tokens": "Prompt tokens reused from the cache.",
                "canvases": "Canvases denoised.",
                "denoising_steps": "Denoising steps.",
                "positions_computed": "Positions computed.",
                "revisions": "Accepted positions that changed again.",
            }.items()
        }
        self._answers = counter("sfumato_answers", "Answers.", ["model", "finish_reason"])

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def count(self, results: Sequence[Result]) -> None:
        """Count answers and their cost."""
        for result in results:
            usage = result.usage
            self._answers.labels(result.model, result.finish_reason).inc()
            for name, counter in self._counters.items():
                counter.labels(result.model).inc(getattr(usage, name))
            if usage.time_to_first_commit_s:
                self._first.labels(result.model).observe(usage.time_to_first_commit_s)
            if usage.canvases:
                self._steps.labels(result.model).observe(usage.denoising_steps / usage.canvases)

    def render(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self._registry)


class _Engines(Collector):
    """Current state of the engines, read on collection."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def collect(self) -> Iterator[Metric]:
        """One gauge per figure."""
        figures: dict[str, tuple[str, Callable[[HostedModel], int]]] = {
            "running": ("Running answers.", lambda hosted: hosted.answering.engine.num_running),
            "waiting": ("Waiting answers.", lambda hosted: hosted.answering.engine.num_waiting),
            "model_bytes": ("Bytes of loaded weights.", lambda hosted: hosted.size_bytes),
        }
        for name, (text, read) in figures.items():
            family = GaugeMetricFamily(f"sfumato_{name}", text, labels=["model"])
            for hosted in self._host.loaded.values():
                family.add_metric([hosted.name], read(hosted))
            yield family


def record_spans(results: Sequence[Result]) -> None:
    """Record answers that have just ended, within the current request, without their text."""
    if trace is None:
        return
    tracer, now = trace.get_tracer("sfumato"), time.time_ns()
    for result in results:
        usage = result.usage
        attributes = {
            "gen_ai.operation.name": "generate_content",
            "gen_ai.provider.name": "sfumato",
            "gen_ai.request.model": result.model,
            "gen_ai.request.seed": result.seed,
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
            "gen_ai.response.finish_reasons": [result.finish_reason],
            "gen_ai.response.time_to_first_chunk": usage.time_to_first_commit_s,
            "sfumato.denoising_steps": usage.denoising_steps,
            "sfumato.positions_computed": usage.positions_computed,
            "sfumato.revisions": usage.revisions,
        }
        begun = now - int(usage.total_s * 1e9)
        span = tracer.start_span(f"generate_content {result.model}", attributes=attributes, start_time=begun)
        span.end(now)
