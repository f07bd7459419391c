"""Accuracy over the maximum of steps, each compared with half as many on the same items."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import sfumato
from benchmarks.claims.asking import Asked
from benchmarks.claims.panels import panels
from benchmarks.options import Row
from sfumato.evaluation.statistics import share_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS = {
    "tiny": ("arithmetic", "sums", "sudoku4", "bugfix", "middle", "json", "pets", "field", "plain"),
    "ui": ("ui_edit", "ui_screen"),
}
CAPS = (1, 2, 4, 8, 16, 32)
SIZE = (9.0, 7.0)


def measure(n: int) -> Iterator[Row]:
    """One row per task and maximum; the last of a task is the model's own maximum, compared with one step."""
    for name, tasks in TASKS.items():
        model = sfumato.load(name)
        for task in tasks:
            under = {cap: Asked(model, task, n, steps=cap) for cap in (*CAPS, None)}
            for cap, asked in under.items():
                row: Row = {"model": name, "task": task, "cap": cap, "n": n, "right": asked.score}
                row |= {"right_95": list(share_interval(sum(asked.right), n)), "steps": statistics.fmean(asked.steps)}
                row |= {"unsettled": asked.unsettled, "against": 1 if cap is None else cap // 2 or None}
                if row["against"]:
                    row |= asked.gain(under[row["against"]])
                    row["worse"] = row["gain"] < -row["two_errors"]
                yield row


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Right answers over the maximum of steps, one panel per task."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    for axes, task in panels(figure, tasks, sharex=True, sharey=True):
        points = [row for row in rows if row["task"] == task and row["cap"]]
        caps = [row["cap"] for row in points]
        axes.plot(caps, [row["right"] for row in points], "o-", markersize=3)
        lows, highs = zip(*(row["right_95"] for row in points), strict=True)
        axes.fill_between(caps, lows, highs, alpha=0.15)
        for row in points:
            if row.get("worse"):
                axes.plot(row["cap"], row["right"], "rx")
        axes.set_xscale("log", base=2)
        axes.set_xticks(CAPS, [str(cap) for cap in CAPS])
        axes.set_title(task, fontsize=9)
        axes.set_ylim(0, 1.02)
        axes.grid(alpha=0.25)
    figure.supxlabel("most steps of a canvas (red: worse than half as many)", fontsize=9)
    figure.supylabel("right", fontsize=9)
