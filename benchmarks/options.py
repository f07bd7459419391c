"""Shared options of the benchmarks, and printing and plotting of their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import Device, DType, Quantize
from sfumato.cli.output import print_table, progress
from sfumato.errors import ConfigError, unknown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from benchmarks.model import BenchModel

# Maximum lines of a plot with the legend inside.
_MAX_INSIDE = 4
Row = dict[str, Any]
Columns = Mapping[str, str | Callable[[Row], str]]
"""By heading: a format string over a row's fields, or a function of the row."""

Model = Annotated[
    str,
    typer.Argument(
        help="A model by name, or random weights in a shape: smollm2-135m, smollm2-135m-ar, smollm2-135m-full, "
        "llada2-mini, wide."
    ),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of torch; default: its own choice.")]
Lines = Annotated[bool, typer.Option("--json", help="Print one JSON line for each measurement.")]
Plot = Annotated[Path | None, typer.Option(help="Also draw a plot to this PNG.", dir_okay=False)]
Vocabulary = Annotated[int | None, typer.Option(min=2, help="Vocabulary size of random weights.")]
Prompt = Annotated[int, typer.Option(min=1, help="Prompt length in tokens.")]
Tokens = Annotated[int, typer.Option(min=1, help="Tokens of the answer.")]
Canvas = Annotated[int, typer.Option(min=1, help="Canvas length.")]
Canvases = Annotated[str, typer.Option(help="Canvas lengths, separated by commas.")]
Repeats = Annotated[int, typer.Option(min=1, help="Timed runs per measurement.")]


@dataclass(frozen=True, kw_only=True)
class Held:
    """How to load the measured model."""

    dtype: DType = "float32"
    quantize: Quantize = None
    threads: Threads = None
    device: Device = "cpu"
    vocabulary: Vocabulary = None

    def load(self, model: str) -> BenchModel:
        """Load a model and set the number of threads."""
        from benchmarks.model import BenchModel

        set_threads(self.threads)
        changes = {} if self.vocabulary is None else {"vocab_size": self.vocabulary}
        with progress(f"loading {model}"):
            return BenchModel.load(model, dtype=self.dtype, quantize=self.quantize, device=self.device, **changes)


def set_threads(threads: int | None) -> None:
    """Set torch's number of threads, unless None."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)


def numbers(name: str, text: str) -> list[int]:
    """Parse an option of numbers separated by commas.

    Raises:
        ConfigError: if one is not a whole number, or below 1.
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise ConfigError(f"{name} is {text!r}; allowed: whole numbers, 1 or more, with commas between them")
    return found


def ways(kind: str, text: str, allowed: Iterable[str]) -> list[str]:
    """Parse an option of names separated by commas.

    Raises:
        ConfigError: if one is not allowed.
    """
    names = text.split(",")
    for name in names:
        if name not in allowed:
            raise ConfigError(unknown(kind, name, allowed))
    return names


def collect(
    kind: str, bench_model: BenchModel, held: Held, found: Iterable[Any], as_json: bool, total: int | None = None
) -> list[Row]:
    """Take measurements as rows, and print each as a line of JSON if asked.

    Args:
        found: dataclasses, one per measurement.
        total: number of measurements, if known.
    """
    from benchmarks.model import describe_machine

    about = {"bench": kind, "model": bench_model.name, "dtype": held.dtype, "quantize": held.quantize}
    machine, rows = describe_machine(), []
    with progress(f"{kind} of {bench_model.name}", total) as tell:
        for measurement in found:
            rows.append(asdict(measurement))
            tell(len(rows), total or 0)
            if as_json:
                typer.echo(json.dumps(about | rows[-1] | {"machine": machine}))
    return rows


def show(title: str, rows: list[Row], columns: Columns) -> None:
    """Print measurements as a table."""
    texts = [
        {name: text.format_map(row) if isinstance(text, str) else text(row) for name, text in columns.items()}
        for row in rows
    ]
    print_table(texts, title=title)


def ms(field: str, digits: int = 0) -> Callable[[Row], str]:
    """A column of seconds shown as milliseconds."""
    return lambda row: f"{row[field] * 1000:.{digits}f} ms"


def make_figure(size: tuple[float, float]) -> Figure:
    """An empty figure.

    Args:
        size: width and height in inches.

    Raises:
        ConfigError: if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError("plots need matplotlib, which is not installed: pip install 'sfumato[bench]'") from None
    return Figure(figsize=size, layout="constrained")


def draw(
    path: Path | None,
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
    """Plot y over x as a PNG, one line per label from `line`; nothing without a path.

    Raises:
        ConfigError: if matplotlib is not installed.
    """
    if path is None:
        return
    figure = make_figure((7, 4.2))
    axes = figure.subplots()
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(line(row), []).append(row)
    for label, points in lines.items():
        points = sorted(points, key=lambda row: row[x])
        axes.plot([row[x] for row in points], [row[y] for row in points], marker="o", markersize=4, label=label)
    if logarithmic:
        axes.set_xscale("log", base=2)
        ticks = sorted({row[x] for row in rows})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(bottom=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.25)
    if len(lines) > _MAX_INSIDE:
        figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    else:
        axes.legend(fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    typer.echo(f"drawn: {path}", err=True)
