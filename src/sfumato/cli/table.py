"""Tables on stdout."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

_PIPE_WIDTH, _NARROW = 200, 100
"""Columns of a table that goes to no terminal, which has no width; and below which a terminal is narrow."""


def print_table(rows: Sequence[Mapping[str, str | None]], *, title: str | None = None, left: str = "") -> None:
    """Print rows; of their columns, those in which any row has something.

    Args:
        rows: texts by the heading of their column; the first row has all headings.
        title: above the table.
        left: the column whose texts begin on the left; others end on the right.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    narrow = console.width < _NARROW
    table = Table(
        title=title,
        title_justify="left",
        box=None,
        pad_edge=False,
        collapse_padding=narrow,
        header_style="bold",
    )
    shown = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    for name in shown:
        # In a narrow terminal a heading stands in two lines, and nothing is cut off.
        heading = name.replace("→", "→\n").replace(" ", "\n") if narrow else name
        table.add_column(heading, justify="left" if name == left else "right", no_wrap=name == left)
    for row in rows:
        cells = (row[name] for name in shown)
        table.add_row(*("-" if cell is None else cell for cell in cells))
    console.print(table)
