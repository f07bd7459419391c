"""`python -m benchmarks claims NAME`: measurements behind docs/evidence, each a file of JSON lines and a plot."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.options import Row, make_figure, set_threads
from sfumato.cli.output import progress
from sfumato.errors import ConfigError, unknown
from sfumato.storage import write_atomically

CLAIMS = (
    "frontier",
    "answer-first",
    "steps",
    "difficulty",
    "iteration",
    "learned-stop",
    "batch",
    "drafting",
    "self-drafting",
    "epochs",
    "noise",
    "sizes",
    "sudoku9",
)


def claims(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(CLAIMS)}.")],
    n: Annotated[int, typer.Option(min=1, help="Items per task, or requests.")] = 200,
    directory: Annotated[Path, typer.Option("--dir", help="Directory of NAME.jsonl and NAME.png.")] = Path(
        "docs/evidence"
    ),
    threads: Annotated[int, typer.Option(min=1, help="Threads of torch.")] = 1,
    redraw: Annotated[bool, typer.Option("--redraw", help="Only draw NAME.jsonl again.")] = False,
) -> None:
    """Measure and draw a page of docs/evidence."""
    if name not in CLAIMS:
        raise ConfigError(unknown("claim", name, CLAIMS))
    claim = importlib.import_module(f"benchmarks.claims.{name.replace('-', '_')}")
    path = directory / f"{name}.jsonl"
    if redraw:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    else:
        set_threads(threads)
        rows = _measure(name, claim.measure(n), path)
    figure = make_figure(claim.SIZE)
    claim.plot(rows, figure)
    figure.savefig(path.with_suffix(".png"), dpi=100)
    typer.echo(f"drawn: {path.with_suffix('.png')}", err=True)


def _measure(name: str, found: object, path: Path) -> list[Row]:
    from benchmarks.model import describe_machine

    rows: list[Row] = []
    machine = describe_machine()
    with progress(name) as _:
        for row in found:  # type: ignore[attr-defined]
            rows.append({"claim": name} | row | {"machine": machine})
            typer.echo(json.dumps(rows[-1]))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows).encode())
    return rows
