"""Throughput and latency over batch size, canvas against autoregressive decoding.

Measured on one core of this machine in processor time, in alternation in one engine; computed from published peaks for
other hardware. Quality is not compared: both write the number of tokens asked for.
"""

from __future__ import annotations

import functools
import itertools
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from benchmarks.model import BenchModel
from benchmarks.options import Row
from benchmarks.shapes import build_shape
from benchmarks.simulate import BYTES, reached
from benchmarks.throughput import throughput
from sfumato.costs import step_cost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONCURRENCY = (1, 2, 4, 8, 16, 32, 64)
PROMPT, TOKENS = 64, 64
PAIRS = (("tiny", "tiny-twin", None, CONCURRENCY, 3), ("smollm2-135m", "smollm2-135m-ar", "w8a8", (1, 4, 16, 64), 1))
"""Canvas model, autoregressive twin, quantization, users, repeats."""
STEPS = (4, 8)
# Canvas length and steps as published for models of that size, and half as many steps.
SHAPES = {"smollm2-135m": (64, (4, 8)), "llada-8b": (256, (12, 24)), "diffusion-gemma-26b": (256, (12, 24))}
HARDWARE = {"h100": "bfloat16", "h200": "bfloat16", "laptop": "int8", "laptop-npu": "int8", "phone": "int8"}
PREFIX = 192
COMPUTED = (1, 2, 4, 8, 16, 32, 64, 128)
MAX_ROWS = 1024
SIZE = (10.0, 4.4)


def measure(n: int) -> Iterator[Row]:
    """Rows of measurements, then of computed crossings; n is the maximum of requests per measurement."""
    for canvas, twin, quantize, users, repeats in PAIRS:
        yield from _measured(canvas, twin, quantize, users, repeats, n)
    for shape, (length, steps) in SHAPES.items():
        for hardware, allowed in itertools.product(HARDWARE, steps):
            yield from computed(shape, hardware, length, allowed)


def _measured(
    canvas: str, twin: str, quantize: str | None, users: Sequence[int], repeats: int, n: int
) -> Iterator[Row]:
    models = {name: BenchModel.load(name, quantize=quantize) for name in (canvas, twin)}
    ways = [(canvas, TOKENS, steps) for steps in STEPS] + [(twin, 1, 1)]
    for concurrency in users:
        found: dict[tuple[str, int], list[Row]] = {}
        for _, (name, length, steps) in itertools.product(range(repeats), ways):
            model, count = models[name], max(4, min(n, (1 + (repeats > 1)) * concurrency))
            requests = [
                model.request(
                    model.random_prompt(PROMPT, seed=i), new_tokens=TOKENS, steps=steps, canvas_length=length, seed=i
                )
                for i in range(count)
            ]
            run = throughput(model, requests, concurrency=concurrency, clock=time.process_time)
            found.setdefault((name, steps), []).append(asdict(run))
        for (name, steps), runs in found.items():
            row: Row = {
                "kind": "measured",
                "model": name,
                "quantize": quantize,
                "concurrency": concurrency,
                "steps": steps,
            }
            for key in ("tokens_per_s", "first_commit_p50_s", "total_p50_s", "positions_per_forward"):
                row[key] = statistics.median(run[key] for run in runs)
            row["runs"] = [run["tokens_per_s"] for run in runs]
            yield row


def computed(shape: str, hardware: str, length: int, steps: int) -> Iterator[Row]:
    """Tokens per second over concurrency, of canvases and single tokens, and where single tokens become faster."""
    model, spec = build_shape(shape)
    dtype = HARDWARE[hardware]
    machine = reached(hardware, dtype)

    @functools.cache
    def both(rows: int) -> tuple[float, float]:
        # In the middle of an answer: costs grow linearly with the prefix.
        wide = step_cost(model, length, PREFIX, soft_embedding=spec.self_conditioning, rows=rows)
        single = step_cost(model, 1, PREFIX, rows=rows)
        passes = steps * machine.seconds(wide, BYTES[dtype]), length * machine.seconds(single, BYTES[dtype])
        return rows * length / passes[0], rows * length / passes[1]

    row: Row = {"kind": "computed", "model": shape, "hardware": hardware, "dtype": dtype, "canvas": length}
    row |= {"steps": steps, "prefix": PREFIX, "concurrency": list(COMPUTED)}
    row["canvas_tokens_per_s"], row["single_tokens_per_s"] = ([both(rows)[i] for rows in COMPUTED] for i in (0, 1))
    yield row | {"crossing": crossing(both)}


def crossing(both: Any) -> int | None:
    """The minimum number of rows from which single tokens are faster; None if above 1,024.

    Args:
        both: rows -> tokens per second of canvases and of single tokens.
    """
    low, high = 0, MAX_ROWS
    if (at_most := both(high))[0] >= at_most[1]:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        wide, single = both(middle)
        low, high = (middle, high) if wide >= single else (low, middle)
    return high


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Tokens per second over concurrency: measured here, and computed for an H100 and a phone."""
    grid = figure.subplots(1, 3)
    measured = [row for row in rows if row["kind"] == "measured"]
    for axes, (canvas, twin, quantize, _, _) in zip(grid, PAIRS, strict=False):
        for name, steps in [(canvas, steps) for steps in STEPS] + [(twin, 1)]:
            points = [row for row in measured if (row["model"], row["steps"]) == (name, steps)]
            label = "one token after another" if name == twin else f"canvas of {TOKENS}, {steps} steps"
            axes.plot(
                [row["concurrency"] for row in points],
                [row["tokens_per_s"] for row in points],
                "o-",
                markersize=3,
                label=label,
            )
        _finish(axes, f"measured: {canvas}{', ' + quantize if quantize else ''}, one core")
    for hardware, style in (("h100", "-"), ("phone", "--")):
        [row] = [
            row for row in rows if row.get("hardware") == hardware and row["model"] == "llada-8b" and row["steps"] == 24
        ]
        for key, color, label in (
            ("canvas", "C1", "canvas of 256, 24 steps"),
            ("single", "C2", "one token after another"),
        ):
            grid[2].plot(
                row["concurrency"], row[f"{key}_tokens_per_s"], style, color=color, label=f"{hardware}: {label}"
            )
    _finish(grid[2], "computed: LLaDA-8B's shape")
    grid[0].set_ylabel("tokens/s", fontsize=9)


def _finish(axes: Any, title: str) -> None:
    for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        scale("log", base=2)
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("requests at once", fontsize=9)
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, frameon=False)
