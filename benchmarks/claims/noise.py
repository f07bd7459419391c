"""Random tokens against masks: the answers of `sfumato report recipes/noise.toml`, counted.

Reads reports/noise, and asks nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.claims.panels import error_bars, panels
from benchmarks.options import Row
from sfumato.errors import ConfigError
from sfumato.evaluation.report import Report
from sfumato.evaluation.suite import read_suite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUITE, DIRECTORY = Path("recipes/noise.toml"), Path("reports/noise")
SIZE = (10.0, 3.2)
_COLORS = {"random": "#d95f0e", "mask": "#31a354", "hybrid": "#756bb1"}
_MARKERS = {"1-step": "x", "confidence": "s", "remdm": "^"}


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
    """For each task, scores against steps: a line over the entropy bounds of each noise, dotted for its second training
    seed, and its other samplers."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    for axes, task in panels(figure, tasks, sharey=True):
        for noise in dict.fromkeys(row["system"].partition("-")[0] for row in rows):
            # A digit says which training seed it is.
            color, first = _COLORS[noise.rstrip("2")], not noise.endswith("2")
            shown = [row for row in rows if row["task"] == task and row["system"].partition("-")[0] == noise]
            bounds = [row for row in shown if row["system"].partition("-")[2] not in _MARKERS]
            for these, marker, line in [
                (bounds, ".", "-" if first else ":"),
                *(([row], _marker(row), "") for row in shown),
            ]:
                if these and marker:
                    axes.errorbar(
                        [row["denoising_steps"] for row in these],
                        [row["score"] for row in these],
                        yerr=error_bars(these, "score"),
                        color=color,
                        marker=marker,
                        linestyle=line,
                        markersize=5,
                        linewidth=1,
                        label=noise if line else None,
                    )
        axes.set_xscale("log", base=2)
        axes.set(title=task, xlabel="steps", ylim=(0, 1.02))
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.grid(alpha=0.2)
    figure.axes[0].set_ylabel("share of right answers")
    figure.axes[-1].legend(fontsize=8, frameon=False, loc="lower right")


def _marker(row: Row) -> str:
    return _MARKERS.get(row["system"].partition("-")[2], "")
