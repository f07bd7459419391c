"""Steps that the model takes against difficulty, within and between tasks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import sfumato
from benchmarks.claims.asking import Asked
from benchmarks.claims.panels import panels
from benchmarks.intervals import bootstrap_interval, spearman, spearman_interval
from benchmarks.options import Row
from sfumato.data.tasks import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAP = 128
SIZE = (9.0, 5.6)


def _lines(item: Item) -> int:
    return item.response.count("\n") + 1


MEASURES: dict[str, tuple[str, str, Callable[[Item], int]]] = {
    "arithmetic": ("tiny", "operations", lambda item: len(item.meta["moves"])),
    "terms": ("tiny", "operations", lambda item: len(item.meta["moves"])),
    "plain": ("tiny", "digits", lambda item: sum(map(str.isdigit, item.prompt))),
    "sums": ("tiny", "sums", _lines),
    "sudoku4": ("tiny", "empty cells", lambda item: item.meta["num_blanks"]),
    "json": ("tiny", "values", lambda item: len(item.meta["record"])),
    "bugfix": ("tiny", "lines", _lines),
    "ui_edit": ("ui", "lines of the screen", lambda item: item.prompt.count("\n")),
}
"""By task: model, unit and measure of difficulty."""


def measure(n: int) -> Iterator[Row]:
    """One row per task, with the mean steps of each level of difficulty."""
    loaded = {name: sfumato.load(name) for name in ("tiny", "ui")}
    for task, (model, unit, level_of) in MEASURES.items():
        asked = Asked(loaded[model], task, n, steps=CAP)
        levels = [level_of(item) for item in asked.items]
        sizes = [len(loaded[model].tokenizer.encode(item.response)) for item in asked.items]
        judged = list(zip(levels, asked.steps, asked.right, strict=True))
        right = [steps for _, steps, is_right in judged if is_right]
        wrong = [steps for _, steps, is_right in judged if not is_right]
        of_right = [level for level, _, is_right in judged if is_right], right
        means = []
        for level in sorted(set(levels)):
            steps = [count for count, other in zip(asked.steps, levels, strict=True) if other == level]
            means.append([level, len(steps), statistics.fmean(steps), *bootstrap_interval(steps)])
        yield {
            "model": model,
            "task": task,
            "unit": unit,
            "n": n,
            "right": asked.score,
            "cap": CAP,
            "max_steps": max(asked.steps),
            "at_cap": asked.unsettled,
            "spearman": spearman(levels, asked.steps),
            "spearman_95": list(spearman_interval(levels, asked.steps)),
            "spearman_length": spearman(sizes, asked.steps),
            "spearman_right": spearman(*of_right) if right else None,
            "spearman_right_95": list(spearman_interval(*of_right)) if right else None,
            "steps": statistics.fmean(asked.steps),
            "steps_right": statistics.fmean(right) if right else None,
            "steps_wrong": statistics.fmean(wrong) if wrong else None,
            "levels": means,
        }


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Mean steps of each level, one panel per task."""
    for axes, row in panels(figure, rows):
        # The mean of few items is too noisy.
        shown = [level for level in row["levels"] if level[1] >= 5]
        means = [level[2] for level in shown]
        ends = [[level[2] - level[3] for level in shown], [level[4] - level[2] for level in shown]]
        axes.errorbar([level[0] for level in shown], means, yerr=ends, fmt="o-", markersize=3, capsize=2)
        low, high = row["spearman_95"]
        axes.set_title(f"{row['task']}: {row['spearman']:.2f} ({low:.2f} to {high:.2f})", fontsize=8)
        axes.set_xlabel(row["unit"], fontsize=8)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
    figure.supylabel("steps, chosen by the model", fontsize=9)
