"""Plots with one panel per item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
Each = TypeVar("Each")


def panels(figure: Figure, shown: Sequence[Each], **options: Any) -> Iterator[tuple[Axes, Each]]:
    """Give each item axes, in rows of four; unused ones are hidden. Options go to `Figure.subplots`."""
    axes = list(figure.subplots(-(-len(shown) // COLUMNS), COLUMNS, squeeze=False, **options).flat)
    for unused in axes[len(shown) :]:
        unused.set_axis_off()
    yield from zip(axes, shown, strict=False)
