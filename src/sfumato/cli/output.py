"""What commands share at the terminal: tables, JSON, progress, diffs, figures, questions, and stdin."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import typer
from rich.console import Console
from rich.text import Text

from sfumato.errors import RequestError
from sfumato.storage import difference, write_atomically

# Written to a terminal, these would move the cursor or worse; a model may produce any byte.
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
CONTROLS |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_DIFFERENCE_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_PIPE_WIDTH, _NARROW = 200, 100
"""Table width without a terminal, and the width below which a terminal counts as narrow."""


def print_table(rows: Sequence[Mapping[str, str | None]], *, title: str | None = None, left: str = "") -> None:
    """Print rows as a table, without columns that are empty in all rows.

    Args:
        rows: cell texts by column heading; the first row has all headings.
        left: the left-aligned column; all others are right-aligned.
    """
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    narrow = console.width < _NARROW
    table = Table(
        title=title, title_justify="left", box=None, pad_edge=False, collapse_padding=narrow, header_style="bold"
    )
    shown = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    for name in shown:
        # In a narrow terminal, headings break into two lines instead of being cut off.
        heading = name.replace("→", "→\n").replace(" ", "\n") if narrow else name
        table.add_column(heading, justify="left" if name == left else "right", no_wrap=name == left)
    for row in rows:
        cells = (row[name] for name in shown)
        table.add_row(*("-" if cell is None else cell for cell in cells))
    console.print(table)


def print_objects(objects: Sequence[Mapping[str, object]], name: str, *, several: bool = False) -> None:
    """Print one JSON object: the only one given, or one that lists all under a name; `several` lists one, too."""
    typer.echo(json.dumps(objects[0] if len(objects) == 1 and not several else {name: objects}))


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Callable[[int, int], None]]:
    """Show progress and elapsed time; without a total, a spinner.

    Yields:
        A function to call with the number done and the total.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False, style="dim")
    counted = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    columns = (SpinnerColumn(), text, TimeElapsedColumn()) if total is None else counted
    console, hidden = Console(stderr=True), not sys.stderr.isatty()
    # Anything printed meanwhile is data and stays on stdout.
    with Progress(*columns, console=console, transient=True, disable=hidden, redirect_stdout=False) as bar:
        task = bar.add_task(description, total=total)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in singular or plural."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def print_figures(*parts: str) -> None:
    """Print figures on one line of stderr, without empty parts."""
    line = " · ".join(part for part in parts if part)
    Console(stderr=True, highlight=False).print(line, style="dim", markup=False, soft_wrap=not sys.stderr.isatty())


def show_difference(file: Path, before: str, after: str, *, err: bool = False, only_changes: bool = False) -> None:
    """Print a unified diff, in colour if the terminal has it.

    Args:
        err: to stderr, because it is not the result.
        only_changes: without the head and the lines around.
    """
    console = Console(stderr=err, highlight=False, markup=False, emoji=False)
    lines = difference(file, before, after)
    for line in [each for each in lines[2:] if each[:1] in "+-"] if only_changes else lines:
        shown = line.translate(CONTROLS) if console.is_terminal else line
        text = Text(shown, _DIFFERENCE_STYLES.get(line[:1], ""))
        console.print(text, soft_wrap=True)


def write_changes(changes: Sequence[tuple[Path, bytes, bytes]], *, yes: bool) -> None:
    """Write files after asking: all of them or none.

    Args:
        changes: per file, its contents when read and its new contents.
        yes: write without asking; otherwise the command asks, and exits with 1 if refused.

    Raises:
        RequestError: if there is no terminal to ask on, or a file was changed meanwhile.
        CheckpointError: if a file cannot be written.
    """
    target = str(changes[0][0]) if len(changes) == 1 else count(len(changes), "file")
    if not yes and not may_write(target):
        typer.echo("nothing written", err=True)
        raise typer.Exit(1)
    for path, before, _ in changes:
        if not path.exists() or path.read_bytes() != before:
            raise RequestError(f"{path} was changed by another program meanwhile; nothing written")
        if not path.stat().st_mode & 0o222:
            raise RequestError(f"{path} is read-only; nothing written")
    for path, _, after in changes:
        write_atomically(path.resolve(), after)


def take_stdin(what: str) -> TextIO:
    """Stdin, to read from; at a terminal, the user is told what is read."""
    if sys.stdin.isatty():
        typer.echo(f"sfumato: reading {what} from the terminal; end with Ctrl-D", err=True)
    if isinstance(sys.stdin, io.TextIOWrapper):
        # In some locales, bytes that are no text would pass as lone surrogates.
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    return sys.stdin


def read_stdin(name: str) -> str:
    """All of stdin, without a line end at its end."""
    try:
        return take_stdin(f"the {name}").read().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise RequestError(f"the {name} on stdin is not {error.encoding}: {error.reason}") from None


def read_file(name: str, path: str) -> str:
    """The contents of a file, or of stdin for "-"."""
    if path == "-":
        return read_stdin(name)
    try:
        # A byte order mark says nothing.
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RequestError(f"cannot read the {name} {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RequestError(f"the {name} {path} is not {error.encoding}: {error.reason}") from None


def check_target(name: str, path: str) -> None:
    """Raise RequestError unless a path names a file in an existing directory."""
    if not path or not Path(path).absolute().parent.is_dir():
        raise RequestError(f"{name} is {path!r}; allowed: a file in an existing directory")


def may_write(target: str) -> bool:
    """Ask whether to write something."""
    if not sys.stdin.isatty():
        raise RequestError("cannot ask: stdin is not a terminal; allowed: --yes to write, --dry-run not to")
    return typer.confirm(f"write {target}?", err=True)
