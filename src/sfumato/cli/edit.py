"""`sfumato edit` and `sfumato infill`: rewrite parts of a text and keep the rest."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from sfumato.cli.options import Constraints, DryRun, JsonOnly, Model, Sampling, Stop, System, Weights, Yes
from sfumato.cli.output import CONTROLS, count, print_figures, print_objects, show_difference, take_stdin, write_changes
from sfumato.errors import ConfigError, RequestError

if TYPE_CHECKING:
    from sfumato.engine.options import EditOptions, InfillOptions
    from sfumato.engine.request import Result

_POSITION = re.compile(r"(\d+)(?::(\d+))?")
_LINES = re.compile(r"(\d+)(?:-(\d+))?")
_PARSERS: dict[str, Callable[[str], object]] = {
    ".py": ast.parse,
    ".pyi": ast.parse,
    ".json": json.loads,
    ".toml": tomllib.loads,
}


def edit(
    file: Annotated[Path, typer.Argument(help="A UTF-8 text file.")],
    instruction: Annotated[str | None, typer.Argument(help="What to do, for models that take instructions.")] = None,
    span: Annotated[
        list[str] | None,
        typer.Option(metavar="L1-L2", help="Lines to rewrite. Repeatable. Default: whatever the model doubts."),
    ] = None,
    strength: Annotated[
        float | None,
        typer.Option(help="How much of the rewritten text to forget first, 0 to 1. Default: 1, all of it."),
    ] = None,
    prompt: Annotated[str | None, typer.Option(help="The prompt that the whole text answers.")] = None,
    constraints: Constraints = Constraints(),
    budget: Annotated[int, typer.Option(help="Without --span: maximum number of tokens to rewrite.")] = 64,
    min_certainty: Annotated[
        float | None, typer.Option(metavar="NATS", help="Skip edits the model is less certain of; -inf allows any.")
    ] = None,
    n: Annotated[
        int,
        typer.Option("--n", help="Number of attempts; the most certain one is shown, --json prints those that differ."),
    ] = 1,
    dry_run: DryRun = False,
    yes: Yes = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write even if a line becomes empty or the file no longer parses.")
    ] = False,
    model: Model = "tiny",
    system: System = None,
    sampling: Sampling = Sampling(),
    as_json: JsonOnly = False,
    weights: Weights = Weights(),
) -> None:
    """Edit a file in place: show the diff and ask before writing."""
    if str(file) == "-":
        raise RequestError("- stands for stdin, which cannot be edited in place; allowed: a file")
    if as_json and yes:
        raise RequestError("--json is given with --yes; allowed: one of them, because --json writes nothing")
    content = _read(file)
    text = _decode(str(file), content)
    writes = not (dry_run or as_json)
    if writes and not (file.stat().st_mode & 0o222 and os.access(file, os.W_OK)):
        raise RequestError(f"{file} is read-only; allowed: a writable file, or --dry-run")
    spans = [_line_range(text, one) for one in span] if span else None
    options: EditOptions = {
        "spans": spans,
        "prompt": prompt,
        "instruction": instruction,
        "system": system,
        "strength": strength,
        "budget": budget,
        "min_certainty": min_certainty,
    }
    sampling.apply_to(options)
    constraints.apply_to(options)
    results = weights.load(model).edit(text, n=n, **options)
    results = results if isinstance(results, list) else [results]
    result = results[0]
    if as_json:
        print_objects([one.to_dict() for one in results], "results", several=n > 1)
        _exit_on_failure(result)
        return
    changed = result.text != text
    if changed:
        show_difference(file, text, result.text)
    certainty = f"certainty {result.certainty:z.2f}"
    _print_figures(result, certainty, "" if changed or result.finish_reason != "stop" else "nothing changed")
    _exit_on_failure(result)
    if not changed:
        return
    if not force:
        _check_harmless(file, text, result.text)
    if not dry_run:
        write_changes([(file, content, result.text.encode())], yes=yes)


def infill(
    file: Annotated[Path | None, typer.Argument(help="A UTF-8 text file; default, or -: stdin.")] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="LINE[:COLUMN]", help="Where to insert, counted from 1; default column: the end of the line."
        ),
    ] = None,
    marker: Annotated[str, typer.Option(help="Text that marks the gap, if --at is not given.")] = "<FILL>",
    prompt: Annotated[str | None, typer.Option(help="The prompt that the whole text answers.")] = None,
    length: Annotated[
        int | None, typer.Option(help="Tokens to write, whatever --max-tokens says; default: chosen by the model.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="Maximum tokens to write.")] = 32,
    constraints: Constraints = Constraints(),
    only: Annotated[bool, typer.Option("--only", help="Print only the new text, without its surroundings.")] = False,
    model: Model = "tiny",
    system: System = None,
    stop: Stop = None,
    sampling: Sampling = Sampling(),
    as_json: JsonOnly = False,
    weights: Weights = Weights(),
) -> None:
    """Fill a gap in a text and print the result."""
    if file is None or str(file) == "-":
        constraints.check_stdin(text="-")
        gap = "the text" if at is not None else f"a text with {marker}"
        name, content = "stdin", take_stdin(gap).buffer.read()
    else:
        name, content = str(file), _read(file)
    prefix, suffix = _split_at_gap(name, _decode(name, content), at, marker)
    options: InfillOptions = {
        "prompt": prompt,
        "system": system,
        "length": "auto" if length is None else length,
        "max_tokens": max_tokens,
        "stop": stop,
    }
    sampling.apply_to(options)
    constraints.apply_to(options)
    result = weights.load(model).infill(prefix, suffix, **options)
    before, after = ("", "") if only else (prefix, suffix)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    elif sys.stdout.isatty():
        parts = (before, "dim"), (result.text, "bold green"), (after, "dim")
        shown = Text.assemble(*((part.translate(CONTROLS), style) for part, style in parts))
        Console(highlight=False).print(shown, soft_wrap=True)
    else:
        typer.echo(f"{before}{result.text}{after}", nl=only)
    if not as_json:
        _print_figures(result, "" if result.text else "nothing written")
    _exit_on_failure(result)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise RequestError(f"cannot read {file}: {error.strerror}") from None


def _decode(name: str, content: bytes) -> str:
    if b"\0" in content:
        raise RequestError(f"{name} is binary: it holds a zero byte; allowed: text in UTF-8")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"{name} is not UTF-8 at byte {error.start}: {error.reason}") from None


def _line_range(text: str, given: str) -> tuple[int, int]:
    """The character range of some lines, without the last line end."""
    from sfumato.text.patches import line_span, line_starts

    match, starts = _LINES.fullmatch(given), line_starts(text)
    first = int(match[1]) if match else 0
    span = line_span(starts, text, first, int(match[2] or first) if match else 0)
    if span is None:
        raise RequestError(f"span is {given!r}; allowed: L1 or L1-L2, lines from 1 to {len(starts) - 1}")
    if span[0] == span[1]:
        raise RequestError(f"span {given!r} is an empty line; `sfumato infill --at {first}` writes into one")
    return span


def _split_at_gap(name: str, text: str, at: str | None, marker: str) -> tuple[str, str]:
    """The text before and after the gap."""
    from sfumato.text.patches import line_starts

    if at is None:
        if not marker or text.count(marker) != 1:
            count = text.count(marker) if marker else 0
            raise RequestError(f"{name} holds the marker {marker!r} {count} times; allowed: once, or give --at")
        prefix, _, suffix = text.partition(marker)
        return prefix, suffix
    match, starts = _POSITION.fullmatch(at), line_starts(text)
    line = int(match[1]) if match else 0
    if not 1 <= line < max(2, len(starts)):
        raise RequestError(f"at is {at!r}; allowed: LINE or LINE:COLUMN, lines from 1 to {max(1, len(starts) - 1)}")
    start, end = starts[line - 1], starts[min(line, len(starts) - 1)]
    line_text = text[start:end].rstrip("\r\n")
    column = len(line_text) + 1 if match is None or match[2] is None else int(match[2])
    if not 1 <= column <= len(line_text) + 1:
        raise ConfigError(f"at is {at!r}; allowed: columns 1 to {len(line_text) + 1} of line {line}")
    return text[: start + column - 1], text[start + column - 1 :]


def _check_harmless(file: Path, before: str, after: str) -> None:
    """Refuse to write a text in which a line was emptied, or that no longer parses although it did before."""
    lines = [[bool(line.strip()) for line in text.splitlines()] for text in (before, after)]
    # A line that is deleted on purpose takes its line end along.
    harm = "have an emptied line" if len(lines[0]) == len(lines[1]) and sum(lines[1]) < sum(lines[0]) else ""
    parse = _PARSERS.get(file.suffix)
    if parse is not None and not _find_parse_error(parse, before) and (error := _find_parse_error(parse, after)):
        harm = f"no longer parse ({error})"
    if harm:
        typer.echo(f"sfumato: {file} would {harm}: nothing written; use --force to write it", err=True)
        raise typer.Exit(1)


def _find_parse_error(parse: Callable[[str], object], text: str) -> str:
    """Why a text does not parse; empty if it does."""
    try:
        with warnings.catch_warnings(action="ignore"):
            parse(text.removeprefix("\ufeff"))
    # The parsers' own errors are ValueErrors, except Python's.
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""


def _print_figures(result: Result, *more: str) -> None:
    usage = result.usage
    steps = count(usage.denoising_steps, "step")
    print_figures(count(usage.canvases, "canvas", "canvases"), steps, f"{1000 * usage.total_s:.0f} ms", *more)


def _exit_on_failure(result: Result) -> None:
    """Report a failed edit and exit."""
    if result.failed or result.finish_reason == "unsure":
        message = f"{result.failure}; the text is unchanged there" if result.failed else result.error
        typer.echo(f"sfumato: {message}", err=True)
        raise typer.Exit(1)
