"""What would be written to files, and whether it may be."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from sfumato.cli.run import CONTROLS
from sfumato.errors import RequestError

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def difference(file: Path, before: str, after: str) -> list[str]:
    """Lines of a unified difference."""
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), str(file), str(file), lineterm=""))


def show_difference(file: Path, before: str, after: str) -> None:
    """Print a unified difference, in colours where the terminal has them."""
    console = Console(highlight=False, markup=False, emoji=False)
    for line in difference(file, before, after):
        console.print(Text(line.translate(CONTROLS), _STYLES.get(line[:1], "")), soft_wrap=True)


def may_write(what: str) -> bool:
    """Ask whether to write something.

    Raises:
        RequestError: if nobody is there to ask.
    """
    if not sys.stdin.isatty():
        raise RequestError("nobody is there to ask; allowed: --yes to write, --dry-run not to")
    return typer.confirm(f"write {what}?", err=True)
