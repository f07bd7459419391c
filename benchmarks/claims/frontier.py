"""Quality against time: a model that refines canvases, under several caps on its steps and under its own, and its twin.

The answers are those of `sfumato report recipes/frontier.toml`, kept in reports/frontier and not asked for again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.options import Row
from sfumato.evaluation.report import Report
from sfumato.evaluation.statistics import share_interval
from sfumato.evaluation.suite import read_suite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUITE = Path("recipes/frontier.toml")
DIRECTORY = Path("reports/frontier")
SIZE = (9.0, 5.0)


def measure(n: int) -> Iterator[Row]:
    """One row for each task and system."""
    report = Report(read_suite(SUITE, [f"n={n}"]), DIRECTORY)
    report.run()
    for cell in report.cells():
        right = round(cell.score * len(cell.records))
        row: Row = {"task": cell.task, "system": cell.system, "n": len(cell.records), "right": cell.score}
        row |= {"right_95": list(share_interval(right, len(cell.records))), "cpu_s": cell.median_cpu_s}
        yield row | {"seconds": cell.median_s, "forwards": cell.usage("forward_passes")}


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Right answers over processor time, a panel for each task."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    grid = figure.subplots(-(-len(tasks) // 4), 4, sharex=True, sharey=True, squeeze=False)
    for axes, task in itertools.zip_longest(grid.flat, tasks):
        if task is None:
            axes.set_axis_off()
            continue
        found = [row for row in rows if row["task"] == task]
        for label, style, points in (
            ("canvas, at most 1, 2, 4, 8 steps", "o-", [row for row in found if "step" in row["system"]]),
            ("canvas, as many as it takes", "D", [row for row in found if row["system"] == "tiny"]),
            ("one token after another", "s", [row for row in found if row["system"].endswith("twin")]),
        ):
            ends = [[abs(row["right"] - row["right_95"][side]) for row in points] for side in (0, 1)]
            times = [1000 * row["cpu_s"] for row in points]
            axes.errorbar(
                times,
                [row["right"] for row in points],
                ends,
                fmt=style,
                markersize=4,
                capsize=2,
                linewidth=0.8,
                label=label,
            )
        axes.set_title(task, fontsize=9)
        axes.set_xscale("log")
        axes.set_ylim(-0.02, 1.04)
        axes.grid(alpha=0.25)
    figure.supxlabel("milliseconds of one core for an answer", fontsize=9)
    figure.supylabel("right", fontsize=9)
    figure.legend(
        *grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8, frameon=False
    )
