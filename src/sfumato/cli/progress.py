"""What a terminal shows while something takes its time: on stderr, and nothing where that is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int, int], None]]:
    """Show how much of something is done, and how long it has taken; without a total, that it is being done.

    Yields:
        To be called with what is done, and of how much.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False, style="dim")
    counted = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    columns = (SpinnerColumn(), text, TimeElapsedColumn()) if total is None else counted
    console, hidden = Console(stderr=True), not sys.stderr.isatty()
    # What is printed meanwhile is data, and stays on stdout.
    with Progress(*columns, console=console, transient=True, disable=hidden, redirect_stdout=False) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, total: bar.update(task, completed=done, total=total)
