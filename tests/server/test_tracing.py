"""Spans of requests, where OpenTelemetry is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from serving import EXPRESSION, Served

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@pytest.fixture(scope="module")
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    yield exporter
    provider.shutdown()


@pytest.mark.parametrize("stream", [False, True])
def test_spans_have_costs_but_no_text(served: Served, spans: InMemorySpanExporter, stream: bool):
    spans.clear()
    assert served.chat(stream=stream, seed=5).status_code == 200
    [span] = [span for span in spans.get_finished_spans() if span.name == "generate_content tiny"]
    attributes = dict(span.attributes or {})
    assert attributes["gen_ai.request.seed"] == 5
    assert attributes["gen_ai.usage.input_tokens"]
    assert attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert span.end_time > span.start_time
    assert EXPRESSION not in str(attributes)
