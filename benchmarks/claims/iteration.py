"""Bidirectional or diffusion: gaps of a few tokens, filled in one step per canvas and in as many as needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import sfumato
from benchmarks.claims.panels import error_bars
from benchmarks.options import Row
from sfumato.evaluation.statistics import share_interval
from sfumato.evaluation.tasks import evaluate_gaps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS = ("bugfix", "middle", "json", "pets", "plain")
SIZE = (6.0, 3.4)


def measure(n: int) -> Iterator[Row]:
    """One row per task."""
    model = sfumato.load("tiny")
    for task in TASKS:
        one, many = (evaluate_gaps(model, task, n=n, steps=cap) for cap in (1, None))
        row: Row = {"task": task, "n": n}
        for key, score in (("one", one), ("many", many)):
            row |= {key: score.right, f"{key}_restored": score.restored, f"{key}_steps": score.mean_steps}
            row[f"{key}_95"] = list(share_interval(round(score.right * n), n))
        yield row


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Right after one step and after many."""
    axes = figure.subplots()
    for bar, (key, label, color) in enumerate(
        (("one", "one step", "#c6dbef"), ("many", "as many as it takes", "#08519c"))
    ):
        where = [i + 0.38 * (bar - 0.5) for i in range(len(rows))]
        axes.bar(
            where, [row[key] for row in rows], 0.36, yerr=error_bars(rows, key), capsize=2, label=label, color=color
        )
    axes.set_xticks(range(len(rows)), [row["task"] for row in rows], fontsize=8)
    axes.set(ylim=(0, 1.02), ylabel="right")
    axes.legend(fontsize=8, frameon=False, loc="upper right", ncols=2, bbox_to_anchor=(1, 1.14))
