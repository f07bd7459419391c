"""Figures for Prometheus."""

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
    """What a server has done, and what it is doing.

    Args:
        host: whose engines are looked at.
    """

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, host: Host) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Engines(host))
        own = self._registry
        self._requests = Counter("sfumato_requests", "Requests over HTTP.", ["method", "route", "status"], registry=own)
        self._seconds = Histogram(
            "sfumato_request_seconds", "Seconds of a request.", ["route"], buckets=_SECONDS, registry=own
        )
        self._first = Histogram(
            "sfumato_first_commit_seconds",
            "Seconds to the first committed canvas.",
            ["model"],
            buckets=_SECONDS,
            registry=own,
        )
        self._steps = Histogram(
            "sfumato_steps_per_canvas", "Denoising steps of a canvas, on average of an answer.", ["model"],
            buckets=_STEPS, registry=own,
        )  # fmt: skip
        self._counters = {
            name: Counter(f"sfumato_{name}", text, ["model"], registry=own)
            for name, text in {
                "completion_tokens": "Tokens of answers.",
                "prompt_tokens": "Tokens of prompts.",
                "cached_tokens": "Those of them that were in the cache.",
                "canvases": "Canvases denoised.",
                "denoising_steps": "Steps of canvases.",
                "positions_computed": "Positions that went through the weights.",
                "revisions": "Accepted positions that changed again.",
            }.items()
        }
        self._answers = Counter("sfumato_answers", "Answers.", ["model", "finish_reason"], registry=own)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def count(self, results: Sequence[Result]) -> None:
        """Count answers, and what they cost."""
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
        """All figures as text."""
        return generate_latest(self._registry)


class _Engines(Collector):
    """What engines hold now, asked for when the figures are."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def collect(self) -> Iterator[Metric]:
        """A gauge for each figure."""
        for name, text in {"running": "Answers in work.", "waiting": "Answers that wait."}.items():
            family = GaugeMetricFamily(f"sfumato_{name}", text, labels=["model"])
            for hosted in self._host.loaded.values():
                family.add_metric([hosted.name], getattr(hosted.answering.engine, f"num_{name}"))
            yield family
        loaded = GaugeMetricFamily("sfumato_model_bytes", "Bytes of the weights that are loaded.", labels=["model"])
        for hosted in self._host.loaded.values():
            loaded.add_metric([hosted.name], hosted.size_bytes)
        yield loaded
