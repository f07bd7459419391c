"""The learned stop: the embedded model with and without it on the same items."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import sfumato
from benchmarks.claims.asking import Asked
from benchmarks.claims.steps import TASKS
from benchmarks.intervals import bootstrap_interval
from benchmarks.options import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEVER = 1.0
SIZE = (8.0, 3.6)


def measure(n: int) -> Iterator[Row]:
    """One row per task."""
    model = sfumato.load("tiny")
    for task in TASKS["tiny"]:
        without, with_head = Asked(model, task, n, stop_probability=NEVER), Asked(model, task, n)
        saved = [before - after for before, after in zip(without.steps, with_head.steps, strict=True)]
        row: Row = {"task": task, "n": n, "without": without.score, "with": with_head.score}
        row |= {"steps_without": statistics.fmean(without.steps), "steps_with": statistics.fmean(with_head.steps)}
        yield row | {"saved_95": list(bootstrap_interval(saved))} | with_head.gain(without)


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Steps with and without."""
    axes = figure.subplots()
    for group, (key, color) in enumerate((("without", "#fdae6b"), ("with", "#a63603"))):
        where = [i + 0.38 * (group - 0.5) for i in range(len(rows))]
        bars = axes.bar(
            where, [row[f"steps_{key}"] for row in rows], 0.36, label=f"{key} the learned stop", color=color
        )
        axes.bar_label(bars, [f"{row[key]:.0%}" for row in rows], fontsize=6)
    axes.set_xticks(range(len(rows)), [row["task"] for row in rows], fontsize=8)
    axes.set(ylabel="steps of an answer", title="Steps, and above them the share of right answers")
    axes.title.set_fontsize(10)
    axes.legend(fontsize=8, frameon=False)
