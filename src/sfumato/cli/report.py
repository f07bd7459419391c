"""`sfumato report`: compare systems on tasks, with their costs."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import count, print_figures, print_table, progress

if TYPE_CHECKING:
    from sfumato.evaluation.records import Record
    from sfumato.evaluation.report import Report

_TRIED = 2
"""Items per system and task used for the time estimate."""
_IN_TERMINALS = ("task", "system", "n", "refused", "failed", "right", "95%", "steps", "whole s", "tokens/s")
"""Columns that are shown in a terminal; report.md has all."""


def report(
    suite: Annotated[Path, typer.Argument(metavar="SUITE.toml", help="Suite file with systems, tasks and settings.")],
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Directory for results and tables; default: reports/ plus the suite's name."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the suite, e.g. n=10. Repeatable."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--system", metavar="NAME", help="Ask only this system; tables still show all known results. Repeatable."
        ),
    ] = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Ask nothing; rewrite the tables from known results.")
    ] = False,
) -> None:
    """Compare systems on tasks: scores, costs and statistics.

    Every answer is saved at once, so an interrupted report continues where it stopped.
    """
    from sfumato.evaluation.report import Report
    from sfumato.evaluation.suite import read_suite
    from sfumato.evaluation.tables import headings_of
    from sfumato.storage import claimed

    read = read_suite(suite, settings or ())
    run = Report(read, directory or Path("reports") / suite.stem)
    with claimed(run.directory):
        if not tables:
            _ask(run, only)
        run.write_tables()
    rows = [cell.row() for cell in run.cells()]
    if rows:
        wide = not sys.stdout.isatty()
        shown = [name for name in headings_of(rows) if wide or name in _IN_TERMINALS]
        print_table([{name: row.get(name) for name in shown} for row in rows], left="task")
    typer.echo(f"{run.directory}/report.html")
    missing = sum(cell.failed for cell in run.cells())
    if not tables:
        # Of a system that was skipped, the other items too.
        missing = max(missing, sum(map(len, run.left(only).values())))
    if missing:
        with run.records() as records:
            reasons = {each.system: each.error for each in records if each.error is not None and not each.refused}
        for name, reason in reasons.items():
            typer.echo(f"{name}: {reason}", err=True)
        typer.echo(f"{count(missing, 'item')} without an answer; run the same command to ask them again", err=True)
        raise typer.Exit(1)


def _ask(run: Report, only: list[str] | None) -> None:
    left = run.left(only)
    if not any(left.values()):
        return
    print_figures(*(f"{name}: {count(len(items), 'item')} to ask" for name, items in left.items() if items))
    if run.estimate(only) is None:
        with progress("asking the first items"):
            run.run(only, try_first=_TRIED)
    total, asked, started = sum(map(len, run.left(only).values())), 0, time.perf_counter()
    if (expected := run.estimate(only)) is not None:
        seconds = expected.seconds
        duration = f"about {seconds / 60:.1f} min" if seconds >= 60 else f"about {seconds:.0f} s"
        print_figures(f"{count(total, 'item')} left", duration, f"{expected.tokens:,} tokens")
    with progress("asking", total) as tell:

        def on_record(record: Record) -> None:
            nonlocal asked
            asked += 1
            tell(asked, total)

        run.run(only, on_record=on_record)
    print_figures(f"{count(asked, 'item')} in {time.perf_counter() - started:.0f} s")
