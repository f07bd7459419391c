"""OpenTelemetry spans for answers, named by its conventions for generative AI. FastAPI has its own spans for requests.

Without the package nothing is recorded. The destination is set as usual: by the OTEL_* variables under
`opentelemetry-instrument`, or by a tracer provider.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from sfumato.engine.request import Result

try:
    from opentelemetry import trace
except ImportError:
    trace = None


def record(results: Iterable[Result]) -> None:
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
