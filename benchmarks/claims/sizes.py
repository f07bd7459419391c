"""Larger models against fewer steps: models of recipes/evidence-sizes.toml under caps of steps, and left to themselves.

Reads runs/sizes, with a directory for each of `HIDDEN`; docs/evidence/sizes.md has the commands that train them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import sfumato
from benchmarks.claims.asking import Asked
from benchmarks.claims.panels import panels
from benchmarks.intervals import bootstrap
from benchmarks.options import Row
from sfumato.errors import ConfigError
from sfumato.evaluation.statistics import share_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUNS = Path("runs/sizes")
HIDDEN = (128, 192, 256, 384)
TASKS = ("sums", "sudoku4", "bugfix", "json")
CAPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
SIZE = (11.0, 3.2)


def measure(n: int) -> Iterator[Row]:
    """One row per size, task and cap, where a cap of None leaves the model to itself; then a fit per task."""
    found = [RUNS / str(hidden) for hidden in HIDDEN if (RUNS / str(hidden)).exists()]
    if len(found) < 2:
        raise ConfigError(
            f"{RUNS} has {len(found)} models; allowed: two and more, trained as docs/evidence/sizes.md says"
        )
    own: dict[str, dict[int, list[int]]] = {task: {} for task in TASKS}
    for path in found:
        model = sfumato.load(path)
        size = sum(weights.numel() for weights in model.decoder.parameters())
        for task in TASKS:
            for cap in (*CAPS, None):
                asked = Asked(model, task, n, steps=cap)
                yield {
                    **{"hidden_size": int(path.name), "parameters": size, "task": task, "cap": cap, "n": n},
                    **{"right": asked.score, "right_95": list(share_interval(sum(asked.right), n))},
                    "steps": statistics.fmean(asked.steps),
                }
            own[task][size] = asked.steps
    for task, steps_by_size in own.items():
        yield {"task": task, "n": n, **_fit(steps_by_size)}


def _fit(steps_by_size: dict[int, list[int]]) -> Row:
    """What a model of twice the size needs of the steps, by least squares over logarithms; 95% bootstrap interval over
    items."""
    sizes, columns = [math.log(size) for size in steps_by_size], list(zip(*steps_by_size.values(), strict=True))

    def factor(items: Sequence[tuple[int, ...]]) -> float:
        means = [math.log(statistics.fmean(steps)) for steps in zip(*items, strict=True)]
        return float(2.0 ** statistics.linear_regression(sizes, means).slope)

    interval = bootstrap(factor, columns, Random("sizes 0"))
    return {"steps_a_doubling": factor(columns), "steps_a_doubling_95": list(interval)}


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Right answers over caps, a line per size; a star where the model stops by itself."""
    rows = [row for row in rows if "parameters" in row]
    sizes = list(dict.fromkeys(row["parameters"] for row in rows))
    for axes, task in panels(figure, TASKS, sharey=True):
        for number, size in enumerate(sizes):
            shown = [row for row in rows if (row["task"], row["parameters"]) == (task, size)]
            points = [row for row in shown if row["cap"]]
            [own] = [row for row in shown if row["cap"] is None]
            color = f"C{number}"
            label = f"{size / 1e6:.1f} million"
            axes.plot([row["cap"] for row in points], [row["right"] for row in points], ".-", color=color, label=label)
            axes.plot(own["steps"], own["right"], "*", color=color, markersize=10)
        axes.set_xscale("log", base=2)
        axes.set_xticks((1, 2, 4, 8, 16, 32), ("1", "2", "4", "8", "16", "32"))
        axes.set_title(task, fontsize=9)
        axes.set_ylim(0, 1.02)
        axes.grid(alpha=0.25)
    figure.axes[0].legend(fontsize=7, frameon=False)
    figure.supxlabel("most steps of a canvas; a star: left to itself, over the mean of its steps", fontsize=9)
    figure.supylabel("right", fontsize=9)
