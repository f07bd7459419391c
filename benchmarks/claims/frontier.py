"""Quality against time: a canvas model with several maximums of steps and its own stop, and its autoregressive twin.

The answers are those of `sfumato report recipes/frontier.toml`, reused from reports/frontier. The first items of each
task are timed again, all systems in alternation.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.claims.panels import COLUMNS, error_bars, panels
from benchmarks.options import Row
from sfumato.evaluation.report import Report
from sfumato.evaluation.suite import read_suite
from sfumato.evaluation.systems import open_system
from sfumato.evaluation.tasks import asked_items

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUITE = Path("recipes/frontier.toml")
DIRECTORY = Path("reports/frontier")
TIMED = 15
SIZE = (9.0, 5.0)


def measure(n: int) -> Iterator[Row]:
    """One row per task and system."""
    suite = read_suite(SUITE, [f"n={n}"])
    report = Report(suite, DIRECTORY)
    report.run()
    cells = {(cell.task, cell.system): cell for cell in report.cells()}
    systems = {name: open_system(config) for name, config in suite.systems.items()}
    for name in suite.tasks:
        task, asked = asked_items(name, suite.seed, min(n, TIMED))
        taken: dict[str, list[float]] = {system: [] for system in systems}
        for seed, item in enumerate(asked):
            # In alternation: other load also lengthens processor time.
            for system, opened in systems.items():
                answer = opened.answer(task, item, seed=seed, max_tokens=None)
                taken[system].append(answer.usage["cpu_s"])
        for system, seconds in taken.items():
            cell = cells[name, system]
            row: Row = {"task": name, "system": system, "n": len(cell.records), "right": cell.score}
            row["right_95"] = list(cell.interval)
            yield row | {"cpu_s": statistics.median(seconds), "forwards": cell.usage("forward_passes")}


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Right answers over processor time, one panel per task."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    for axes, task in panels(figure, tasks, sharex=True, sharey=True):
        found = [row for row in rows if row["task"] == task]
        for label, style, points in (
            ("canvas, at most 1, 2, 4, 8 steps", "o-", [row for row in found if "step" in row["system"]]),
            ("canvas, as many as it takes", "D", [row for row in found if row["system"] == "tiny"]),
            ("one token after another", "s", [row for row in found if row["system"].endswith("twin")]),
        ):
            ends = error_bars(points, "right")
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
    for axes in figure.axes[-COLUMNS:]:
        axes.set_xlabel("ms of one core for an answer", fontsize=8)
    for axes in figure.axes[::COLUMNS]:
        axes.set_ylabel("right", fontsize=8)
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8, frameon=False
    )
