"""Plots with one panel per item, and error bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.options import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
Each = TypeVar("Each")


def error_bars(rows: Sequence[Row], name: str) -> list[list[float]]:
    """How far the 95% interval of a value reaches below and above it, for each row."""
    return [[abs(row[f"{name}_95"][end] - row[name]) for row in rows] for end in (0, 1)]


def panels(figure: Figure, shown: Sequence[Each], **options: Any) -> Iterator[tuple[Axes, Each]]:
    """Give each item axes, in rows of four; unused ones are hidden. Options go to `Figure.subplots`."""
    axes = list(figure.subplots(-(-len(shown) // COLUMNS), COLUMNS, squeeze=False, **options).flat)
    for unused in axes[len(shown) :]:
        unused.set_axis_off()
    yield from zip(axes, shown, strict=False)
