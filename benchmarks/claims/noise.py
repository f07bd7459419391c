"""Random tokens against masks: the answers of `sfumato report recipes/noise.toml`, counted.

Reads reports/noise, and asks nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.claims.panels import error_bars
from benchmarks.options import Row
from sfumato.errors import ConfigError
from sfumato.evaluation.report import Report
from sfumato.evaluation.suite import read_suite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUITE, DIRECTORY = Path("recipes/noise.toml"), Path("reports/noise")
SIZE = (8.0, 3.4)
_COLORS = {
    **{"random": "#d95f0e", "random-1-step": "#fdbe85", "hybrid": "#756bb1", "mask-confidence": "#006d2c"},
    **{"mask-entropy": "#31a354", "mask-remdm": "#74c476", "mask-1-step": "#c7e9c0"},
}


def measure(n: int) -> Iterator[Row]:
    """One row per task and system, from the first n items."""
    if not (DIRECTORY / "results.jsonl").exists():
        raise ConfigError(f"{DIRECTORY} has no results; ask first: sfumato report {SUITE}")
    for whole in Report(read_suite(SUITE), DIRECTORY).cells():
        cell = replace(whole, records=[record for record in whole.records if record.index < n])
        changed = [(each.first_right, bool(each.right)) for each in cell.records if each.first_right is not None]
        yield {
            **{"task": cell.task, "system": cell.system, "n": len(cell.records), "score": cell.score},
            "score_95": list(cell.interval),
            **{name: cell.usage(name) for name in ("denoising_steps", "revisions")},
            **{"right_to_wrong": changed.count((True, False)), "wrong_to_right": changed.count((False, True))},
        }


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Scores by task, and the steps above them."""
    axes = figure.subplots()
    tasks, systems = (list(dict.fromkeys(row[key] for row in rows)) for key in ("task", "system"))
    width = 0.8 / len(systems)
    for number, system in enumerate(systems):
        shown = [row for row in rows if row["system"] == system]
        where = [tasks.index(row["task"]) + width * (number - (len(systems) - 1) / 2) for row in shown]
        errors = error_bars(shown, "score")
        bars = axes.bar(
            where, [row["score"] for row in shown], 0.95 * width, yerr=errors, color=_COLORS.get(system), label=system
        )
        axes.bar_label(bars, [f"{row['denoising_steps']:.0f}" for row in shown], fontsize=6)
    axes.set_xticks(range(len(tasks)), tasks, fontsize=8)
    axes.set(ylabel="share of right answers", ylim=(0, 1), title="Right answers, and above them the steps taken")
    axes.title.set_fontsize(10)
    axes.legend(fontsize=7, frameon=False, ncols=2)
