"""Metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sfumato.engine.request import Result
from sfumato.server.hosting import Host

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_STEPS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters and gauges of a server."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, host: Host) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Engines(host))
        registry = self._registry
        self._requests = Counter("sfumato_requests", "HTTP requests.", ["method", "route", "status"], registry=registry)
        self._seconds = Histogram(
            "sfumato_request_seconds",
            "Duration of requests in seconds.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._first = Histogram(
            "sfumato_first_commit_seconds",
            "Seconds to the first committed canvas.",
            ["model"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._steps = Histogram(
            "sfumato_steps_per_canvas", "Mean denoising steps per canvas of an answer.", ["model"],
            buckets=_STEPS, registry=registry,
        )  # fmt: skip
        self._counters = {
            name: Counter(f"sfumato_{name}", text, ["model"], registry=registry)
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
        self._answers = Counter("sfumato_answers", "Answers.", ["model", "finish_reason"], registry=registry)

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
        for name, text in {"running": "Running answers.", "waiting": "Waiting answers."}.items():
            family = GaugeMetricFamily(f"sfumato_{name}", text, labels=["model"])
            for hosted in self._host.loaded.values():
                family.add_metric([hosted.name], getattr(hosted.answering.engine, f"num_{name}"))
            yield family
        loaded = GaugeMetricFamily("sfumato_model_bytes", "Bytes of loaded weights.", labels=["model"])
        for hosted in self._host.loaded.values():
            loaded.add_metric([hosted.name], hosted.size_bytes)
        yield loaded
