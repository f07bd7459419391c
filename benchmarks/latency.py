"""How long one answer takes, end to end, over canvas lengths, steps and prompt lengths."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.model import BenchModel


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Medians over the repeats; prefill, sampling and text included."""

    prompt_tokens: int
    """Random tokens before the answer."""
    new_tokens: int
    """Of the answer."""
    canvas_length: int
    """Positions denoised together."""
    steps: int
    """Allowed steps of a canvas."""
    forced: bool
    """Whether all of them were taken."""
    seconds: float
    """From the request to the end of the answer."""
    first_commit_s: float
    """From the request to the first text that stays."""
    tokens_per_s: float
    """new_tokens / seconds."""
    denoising_steps: int
    """Taken, over all canvases."""
    forward_passes: int
    """Steps, and what had to be written apart from them."""
    positions: int
    """That went through the weights."""
    settings: dict[str, Any]
    """Of the sampler, besides."""


def latencies(
    bench_model: BenchModel,
    *,
    prompts: Sequence[int],
    canvases: Sequence[int],
    steps: Sequence[int],
    new_tokens: int,
    repeats: int,
    **settings: Any,
) -> Iterator[Latency]:
    """Measure every combination, forced and adaptive; the two in turns, so that a noisy machine hits both.

    Args:
        prompts: lengths of the prompt.
        canvases: lengths of the canvas; an autoregressive model has its own.
        steps: allowed steps of a canvas.
        repeats: timed runs, after one that is not.
        **settings: further ones of `TextModel.request`.

    Raises:
        CapacityError: if the model cannot hold prompt and answer.
        RequestError: if a setting is not allowed.
    """
    single = bench_model.model.spec.autoregressive
    for prompt in prompts:
        tokens = bench_model.random_prompt(prompt)
        for canvas in [1] if single else canvases:
            for allowed in [1] if single else steps:
                modes = [True] if single else [True, False]
                yield from _measure(bench_model, tokens, canvas, allowed, new_tokens, repeats, modes, settings)


def _measure(
    bench_model: BenchModel,
    tokens: list[int],
    canvas: int,
    steps: int,
    new_tokens: int,
    repeats: int,
    modes: Sequence[bool],
    settings: dict[str, Any],
) -> Iterator[Latency]:
    requests = {
        forced: bench_model.request(
            tokens, new_tokens=new_tokens, steps=steps, forced=forced, canvas_length=canvas, **settings
        )
        for forced in modes
    }
    runs: dict[bool, list[tuple[float, float]]] = {forced: [] for forced in modes}
    usages = {}
    for repeat in range(1 + repeats):
        for forced, request in requests.items():
            started = time.perf_counter()
            usage = usages[forced] = bench_model.run(request).usage
            if repeat:
                runs[forced].append((time.perf_counter() - started, usage.time_to_first_commit_s))
    for forced in modes:
        seconds, first = (statistics.median(column) for column in zip(*runs[forced], strict=True))
        yield Latency(
            prompt_tokens=len(tokens),
            new_tokens=new_tokens,
            canvas_length=canvas,
            steps=steps,
            forced=forced,
            seconds=seconds,
            first_commit_s=first,
            tokens_per_s=new_tokens / seconds,
            denoising_steps=usages[forced].denoising_steps,
            forward_passes=usages[forced].forward_passes,
            positions=usages[forced].positions_computed,
            settings=settings,
        )
