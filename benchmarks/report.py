"""Measurements as plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import ConfigError

Row = Mapping[str, Any]

# Lines among which there is room for their names.
_MOST_AMONG = 4


def plot_lines(
    path: Path,
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    line: Callable[[Row], str],
    title: str,
    x_label: str,
    y_label: str,
    logarithmic: bool = True,
) -> None:
    """Draw y over x, one line for each label that `line` gives, as a PNG.

    Raises:
        ConfigError: if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError("plots need matplotlib, which is not installed: pip install 'sfumato[bench]'") from None
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(line(row), []).append(row)
    for label, own in lines.items():
        own = sorted(own, key=lambda row: row[x])
        axes.plot([row[x] for row in own], [row[y] for row in own], marker="o", markersize=4, label=label)
    if logarithmic:
        axes.set_xscale("log", base=2)
        ticks = sorted({row[x] for row in rows})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(bottom=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.25)
    if len(lines) > _MOST_AMONG:
        figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    else:
        axes.legend(fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
