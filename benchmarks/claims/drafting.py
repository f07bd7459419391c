"""A canvas can draft for an autoregressive target: what a perfect drafter that costs nothing could gain.

The target reads k tokens in one forward, and draws at each position. If all are accepted, k tokens took the time of one
such forward instead of k single ones.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from benchmarks.model import BenchModel, seconds
from benchmarks.options import Row
from benchmarks.shapes import build_shape
from benchmarks.simulate import BYTES, reached
from sfumato.cli.options import QuantizationName
from sfumato.costs import step_cost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOKENS = (1, 4, 8, 16, 32)
PREFIX, REPEATS, TURNS = 128, 12, 3
WAYS = {"float32": None, "w8a8": "w8a8"}
HARDWARE = {"h100": "bfloat16", "h200": "bfloat16", "laptop": "int8", "laptop-npu": "int8", "phone": "int8"}
SHAPES = ("smollm2-135m-ar", "llada-8b")
TARGET = 2.0
SIZE = (8.0, 3.8)


def measure(n: int) -> Iterator[Row]:
    """Rows of measurements, then of computed bounds; n is not used."""
    for way, quantize in WAYS.items():
        # A canvas that conditions on nothing of its own is a row of tokens to be read; random weights take as long.
        wide = BenchModel.load("smollm2-135m-verify", quantize=cast("QuantizationName | None", quantize))
        single = BenchModel.load("smollm2-135m-ar", quantize=cast("QuantizationName | None", quantize))
        found: dict[int, list[float]] = {length: [] for length in TOKENS}
        for _ in range(TURNS):
            for length in TOKENS:
                engine = (single if length == 1 else wide).stepping(length, PREFIX, REPEATS)
                found[length] += [seconds(engine.step, time.process_time) for _ in range(REPEATS)]
        taken = {length: statistics.median(all_) for length, all_ in found.items()}
        yield from bounds("this machine", "smollm2-135m", way, taken)
    for shape in SHAPES:
        model, _ = build_shape(shape)
        for hardware, dtype in HARDWARE.items():
            machine = reached(hardware, dtype)
            taken = {length: machine.seconds(step_cost(model, length, PREFIX), BYTES[dtype]) for length in TOKENS}
            yield from bounds(hardware, shape.removesuffix("-ar"), dtype, taken)


def bounds(hardware: str, model: str, dtype: str, taken: dict[int, float]) -> Iterator[Row]:
    """What reading k tokens at once may gain.

    Args:
        taken: seconds of a forward by tokens, 1 among them.
    """
    for length, seconds_ in taken.items():
        bound = length * taken[1] / seconds_
        row: Row = {"hardware": hardware, "model": model, "dtype": dtype, "tokens": length, "seconds": seconds_}
        row |= {"times_one": seconds_ / taken[1], "free_and_perfect": bound}
        # A drafter of the target's size and one step: as long as reading once more.
        row["one_step_and_perfect"] = bound / 2
        yield row | {"acceptance_for_2": acceptance(length, TARGET * seconds_ / taken[1])}


def acceptance(length: int, tokens: float) -> float | None:
    """The probability with which each drafted token must be accepted so that a forward over `length` of them brings so
    many on average, one of its own after the first refusal included; None if it cannot.

    Source: Leviathan et al. 2023, arXiv 2211.17192, equation 1: (1 - a^k) / (1 - a).
    """
    if tokens > length:
        return None
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(middle**i for i in range(length)) < tokens else (low, middle)
    return high


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """The bound here and where memory is all that counts, and the acceptance that twice as fast takes."""
    bound, needed = figure.subplots(1, 2)
    here = [row for row in rows if row["hardware"] == "this machine"]
    for dtype in WAYS:
        points = [row for row in here if row["dtype"] == dtype and row["tokens"] > 1]
        lengths = [row["tokens"] for row in points]
        bound.plot(lengths, [row["free_and_perfect"] for row in points], "o-", markersize=3, label=f"{dtype}, measured")
        needed.plot(
            lengths, [row["acceptance_for_2"] for row in points], "o-", markersize=3, label=f"{dtype}, measured"
        )
    points = [row for row in rows if (row["hardware"], row["model"]) == ("h100", "llada-8b") and row["tokens"] > 1]
    lengths = [row["tokens"] for row in points]
    bound.plot(lengths, [row["free_and_perfect"] for row in points], "k:", label="H100, LLaDA-8B's shape, computed")
    needed.plot(lengths, [row["acceptance_for_2"] for row in points], "k:", label="H100, LLaDA-8B's shape, computed")
    bound.axhline(TARGET, color="black", linewidth=0.6)
    bound.set_title("times as fast, if drafts are free and all right", fontsize=9)
    needed.set_title("share of free drafts to be right for twice as fast", fontsize=9)
    needed.set_ylim(0, 1)
    for axes in (bound, needed):
        axes.set_xlabel("tokens read at once", fontsize=9)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
    bound.legend(fontsize=7, frameon=False)
