"""`sfumato eval`: score a model on tasks."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sfumato.cli.options import MODEL_HELP, DType, DTypeName, Quantize, Settings, Threads, sampler_settings
from sfumato.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.engine.model import TextModel
    from sfumato.evaluation.gaps import GapScore
    from sfumato.evaluation.lengths import LengthScore
    from sfumato.evaluation.tasks import TaskScore

S = TypeVar("S", "GapScore", "LengthScore")

_PIPE_WIDTH, _NARROW = 200, 100
"""Columns of a table that goes to no terminal, which has no width; and below which a terminal is narrow."""


def evaluate(
    model: Annotated[str, typer.Argument(help=MODEL_HELP)],
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", help="Repeatable; without it, all tasks that the model was made for."),
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Items of each task.")] = 100,
    steps: Annotated[
        str | None, typer.Option(help="Most denoising steps a canvas may take; several as 4,8,16.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of items and of sampling.")] = 0,
    twin: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR|none",
            help="An autoregressive model asked the same; the model's name and -twin by default, if there is one.",
        ),
    ] = None,
    gaps: Annotated[
        bool, typer.Option("--gaps", help="Cut pieces out of right answers instead, and have them written again.")
    ] = False,
    lengths: Annotated[
        bool, typer.Option("--lengths", help="Score the length head instead, and what it saves.")
    ] = False,
    samples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Answer the prompts of a .jsonl file instead, and count how answers end and repeat."
        ),
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="With --samples: most tokens of an answer.")] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="NAME|DIR", help="With --samples: an autoregressive model that reads them.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help='Print one JSON object; {"tasks": [...]} for more than one score.')
    ] = False,
    settings: Settings = None,
    dtype: DType = DTypeName.float32,
    quantize: Quantize = None,
    threads: Threads = None,
) -> None:
    """Score a model on tasks that check their answers."""
    caps = _caps(steps)
    from sfumato.data.tasks import TASKS, find_task
    from sfumato.engine.model import load
    from sfumato.evaluation.tasks import evaluate_task

    for task in tasks or ():
        find_task(task)
    text_model = load(model, dtype=dtype, quantize=quantize, threads=threads or "auto")
    asked = tasks or [str(task) for task in text_model.generation.get("tasks", TASKS)]
    if samples is None and (judge is not None or max_tokens is not None):
        raise RequestError("--judge and --max-tokens are for samples; allowed: with --samples")
    if samples is not None:
        if tasks or gaps or lengths:
            raise RequestError("--samples stands alone; leave --task, --gaps and --lengths out")
        own: dict[str, Any] = sampler_settings(settings) | ({} if max_tokens is None else {"max_tokens": max_tokens})
        _evaluate_samples(text_model, samples, judge, caps, as_json, n=n, seed=seed, **own)
        return
    if gaps and lengths:
        raise RequestError("--gaps and --lengths are both given; allowed: one of them")
    if gaps or lengths:
        measure = _evaluate_gaps if gaps else _evaluate_lengths
        measure(text_model, asked, caps, as_json, n=n, seed=seed, **sampler_settings(settings))
        return
    twin_model = _load_twin(model, twin)
    scores: list[TaskScore] = []
    for task in asked:
        first: TaskScore | None = None
        for cap in caps:
            with _progress(task if cap is None else f"{task}, {cap} steps") as tell:
                score = evaluate_task(
                    text_model,
                    task,
                    n=n,
                    seed=seed,
                    steps=cap,
                    twin=None if first else twin_model,
                    on_progress=tell,
                    **sampler_settings(settings),
                )
            # The twin takes no steps to cap: it is asked once.
            first = first or score
            scores.append(dataclasses.replace(score, twin=first.twin))
    if as_json:
        _print_json(scores)
    else:
        _print_table(scores)


def _evaluate_samples(
    model: TextModel, path: Path, judge: str | None, caps: Sequence[int | None], as_json: bool, **settings: Any
) -> None:
    from sfumato.engine.model import load
    from sfumato.evaluation.samples import SampleScore, evaluate_samples, read_prompts

    prompts, reader = read_prompts(path), load(judge) if judge else None
    scores: list[SampleScore] = []
    for cap in caps:
        own = settings if cap is None else settings | {"steps": cap}
        with _progress(path.name if cap is None else f"{path.name}, {cap} steps") as tell:
            scores.append(evaluate_samples(model, prompts, judge=reader, on_progress=tell, **own))
    if as_json:
        objects = [score.to_dict() for score in scores]
        typer.echo(json.dumps(objects[0] if len(objects) == 1 else {"samples": objects}))
        return
    for score in scores:
        for name, value in score.to_dict().items():
            if value is not None:
                typer.echo(f"{name:20}{value:.3f}" if isinstance(value, float) else f"{name:20}{value}")


def _evaluate_gaps(
    model: TextModel, tasks: Sequence[str], caps: Sequence[int | None], as_json: bool, **settings: Any
) -> None:
    from sfumato.evaluation.gaps import evaluate_gaps

    def cells(score: GapScore) -> list[str]:
        shares = [f"{share:.1%}" for share in (score.restored, score.right, score.length_near)]
        return [str(score.n), str(score.steps), *shares, f"{score.mean_steps:.1f}"]

    headings = ["n", "cap", "restored", "right", "length ±1", "steps"]
    _evaluate_each(evaluate_gaps, "gaps", headings, cells, model, tasks, caps, as_json, **settings)


def _evaluate_lengths(
    model: TextModel, tasks: Sequence[str], caps: Sequence[int | None], as_json: bool, **settings: Any
) -> None:
    from sfumato.evaluation.lengths import evaluate_lengths

    def cells(score: LengthScore) -> list[str]:
        known = [f"{share:.1%}" for share in (score.bucket_right, score.confidence, score.held)]
        computed = [f"{count:.0f}" for count in (score.positions, score.positions_without)]
        return [str(score.n), *known, *computed, f"{score.right:.1%}", f"{score.right_without:.1%}"]

    headings = ["n", "bucket", "sure", "held", "positions", "without", "right", "without"]
    _evaluate_each(evaluate_lengths, "lengths", headings, cells, model, tasks, caps, as_json, **settings)


def _evaluate_each(
    measure: Callable[..., S],
    what: str,
    headings: Sequence[str],
    cells: Callable[[S], list[str]],
    model: TextModel,
    tasks: Sequence[str],
    caps: Sequence[int | None],
    as_json: bool,
    **settings: Any,
) -> None:
    """Measure each task under each cap on steps, and print what comes of it."""
    scores = []
    for task in tasks:
        for cap in caps:
            with _progress(f"{task}, {what}") as tell:
                scores.append(measure(model, task, steps=cap, on_progress=tell, **settings))
    if as_json:
        _print_json(scores)
    else:
        _print(headings, tasks_of=scores, rows=[cells(score) for score in scores])


def _caps(steps: str | None) -> list[int | None]:
    if steps is None:
        return [None]
    try:
        return [int(part) for part in steps.split(",")]
    except ValueError:
        raise RequestError(f"steps is {steps!r}; allowed: whole numbers, such as 8 or 4,8,16") from None


def _load_twin(model: str, twin: str | None) -> TextModel | None:
    from sfumato.engine.model import load
    from sfumato.models.places import ASSETS

    if twin is None:
        name = f"{model.rstrip('/')}-twin"
        twin = name if (ASSETS / name).is_dir() or Path(name).is_dir() else "none"
    return None if twin == "none" else load(twin)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    hidden = not sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print_json(scores: Sequence[TaskScore | GapScore | LengthScore]) -> None:
    objects = [score.to_dict() for score in scores]
    typer.echo(json.dumps(objects[0] if len(objects) == 1 else {"tasks": objects}))


def _print_table(scores: Sequence[TaskScore]) -> None:
    has_answers = any(score.revised is not None for score in scores)
    has_twin = any(score.twin is not None for score in scores)
    headings = ["n", "cap", "right", "steps", "forwards"]
    headings += ["revised", "wrong→right", "right→wrong"] if has_answers else []
    headings += ["twin", "twin last"] if has_twin else []
    rows = []
    for score in scores:
        cells = [str(score.n), str(score.steps), f"{score.score:.1%}", f"{score.mean_steps:.1f}"]
        cells.append(f"{score.mean_forward_passes:.1f}")
        if has_answers:
            counts = (score.revised, score.wrong_to_right, score.right_to_wrong)
            cells += ["-" if count is None else str(count) for count in counts]
        if has_twin:
            shares = (score.twin.answer_first, score.twin.answer_last) if score.twin else (None, None)
            cells += ["-" if share is None else f"{share:.1%}" for share in shares]
        rows.append(cells)
    _print(headings, tasks_of=scores, rows=rows)


def _print(
    headings: Sequence[str],
    *,
    tasks_of: Sequence[TaskScore | GapScore | LengthScore],
    rows: Sequence[Sequence[str]],
) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    narrow = console.width < _NARROW
    table = Table(box=None, pad_edge=False, collapse_padding=narrow, header_style="bold")
    table.add_column("task", no_wrap=True)
    for heading in headings:
        # In a narrow terminal a heading stands in two lines, and nothing is cut off.
        table.add_column(heading.replace("→", "→\n").replace(" ", "\n") if narrow else heading, justify="right")
    for score, cells in zip(tasks_of, rows, strict=True):
        table.add_row(score.task, *cells)
    console.print(table)
