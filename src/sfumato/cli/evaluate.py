"""`sfumato eval`: score a model on tasks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sfumato.cli.options import (
    ModelName,
    SamplerName,
    Sampling,
    Settings,
    Stop,
    System,
    Temperature,
    Weights,
    complete_task,
)
from sfumato.cli.output import check_target, print_objects, print_table, progress
from sfumato.errors import RequestError
from sfumato.storage import write_atomically

if TYPE_CHECKING:
    from sfumato.engine.model import TextModel
    from sfumato.engine.options import GenerateOptions, InfillOptions
    from sfumato.evaluation.tasks import Answered, GapScore, LengthScore, TaskScore, TwinScore

Score = TypeVar("Score", "TaskScore", "GapScore", "LengthScore")


def evaluate(
    model: ModelName,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="A task to run. Repeatable. Default: all tasks the model was made for.",
            autocompletion=complete_task,
        ),
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="Items per task; default: 100, or all of --samples.", show_default=False)
    ] = None,
    steps: Annotated[
        str | None, typer.Option(help="Maximum denoising steps per canvas; a list such as 4,8,16 compares several.")
    ] = None,
    sampler: SamplerName = None,
    temperature: Temperature = None,
    seed: Annotated[int, typer.Option(help="Random seed for items and sampling.")] = 0,
    twin: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR|none",
            help="Autoregressive model to compare with; default: the model's name plus -twin, if it exists.",
        ),
    ] = None,
    gaps: Annotated[
        bool, typer.Option("--gaps", help="Cut pieces out of correct answers and score how the model restores them.")
    ] = False,
    lengths: Annotated[bool, typer.Option("--lengths", help="Score the length head and what it saves.")] = False,
    samples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Answer the prompts of a .jsonl file; count answers that equal its responses, end, and repeat.",
        ),
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="With --samples: maximum tokens per answer.")] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="NAME|DIR", help="With --samples: an autoregressive model that judges the answers."),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            "--likelihood",
            metavar="DRAWS",
            help="With --samples: estimate the likelihood of the file's responses, from this many noise draws each.",
        ),
    ] = 0,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all prompts and answers, and which are right, to a .jsonl file."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help='Print one JSON object; {"tasks": [...]} for more than one score.')
    ] = False,
    system: System = None,
    stop: Stop = None,
    settings: Settings = None,
    weights: Weights = Weights(),
) -> None:
    """Score a model on tasks that check their answers."""
    caps = _caps(steps)
    from sfumato.data.tasks import find_task
    from sfumato.evaluation.tasks import evaluate_task

    for task in tasks or ():
        find_task(task)
    options: GenerateOptions = {"system": system, "stop": stop}
    sampling = Sampling(sampler=sampler, temperature=temperature, seed=seed, settings=settings)
    sampling.apply_to(options)
    if (cap := options.get("steps")) is not None:
        if steps is not None:
            raise RequestError(f"--set steps={cap} is given with --steps; allowed: one of them")
        caps = [cap]
    if answers is not None:
        check_target("--answers", str(answers))
    if samples is not None and answers is not None and samples.absolute() == answers.absolute():
        raise RequestError(f"--answers is {str(answers)!r}, the samples themselves; allowed: another file")
    if samples is None and (judge is not None or max_tokens is not None or draws):
        raise RequestError("--judge, --max-tokens or --likelihood is given; allowed: only with --samples")
    if samples is not None and (tasks or gaps or lengths or twin not in (None, "none")):
        raise RequestError("--samples cannot be combined with --task, --gaps, --lengths or --twin; leave them out")
    if gaps and lengths:
        raise RequestError("--gaps and --lengths are both given; allowed: one of them")
    if answers is not None and (gaps or lengths):
        raise RequestError("--answers is given; allowed: only without --gaps and --lengths")
    if gaps and stop is not None:
        raise RequestError("stop does not apply to gaps; leave it out")
    text_model = weights.load(model)
    asked = list(tasks or text_model.tasks)
    if samples is not None:
        options["max_tokens"] = max_tokens
        with _written(answers) as write:
            _evaluate_samples(text_model, samples, judge, draws, caps, as_json, n, write, options)
        return
    n = 100 if n is None else n
    if not asked:
        raise RequestError(f"{text_model.name} does not say what tasks it was made for; give --task, or --samples")
    if gaps:
        from sfumato.evaluation.tasks import evaluate_gaps

        of_gaps: InfillOptions = {"system": system}
        sampling.apply_to(of_gaps)
        _print_each(partial(evaluate_gaps, text_model, **of_gaps), _gap_cells, asked, caps, n, as_json, "gaps")
        return
    if lengths:
        from sfumato.evaluation.tasks import evaluate_lengths

        _print_each(partial(evaluate_lengths, text_model, **options), _length_cells, asked, caps, n, as_json, "lengths")
        return
    twin_model = _load_twin(model, twin)
    # The twin takes no steps to cap: it is asked once per task.
    twins: dict[str, TwinScore | None] = {}

    def measure(task: str, **given: Any) -> TaskScore:
        asked_twin = None if task in twins else twin_model
        keep = partial(write, task, given["steps"])
        score = evaluate_task(text_model, task, twin=asked_twin, on_answers=keep, **{**options, **given})
        return dataclasses.replace(score, twin=twins.setdefault(task, score.twin))

    with _written(answers) as write:
        _print_each(measure, _task_cells, asked, caps, n, as_json)


@contextmanager
def _written(path: Path | None) -> Iterator[Callable[[str, int | None, Sequence[Answered]], None]]:
    """Takes the answers to a task under a step limit, and writes all of them to a file at the end."""
    lines: list[str] = []

    def keep(task: str, steps: int | None, answers: Sequence[Answered]) -> None:
        lines.extend(
            json.dumps({"task": task, "steps": steps} | each._asdict(), ensure_ascii=False) + "\n" for each in answers
        )

    try:
        yield keep
    finally:
        # After an interrupt too, with what is whole.
        if path is not None and lines:
            write_atomically(path, "".join(lines).encode("utf-8", "replace"))


def _evaluate_samples(
    model: TextModel,
    path: Path,
    judge: str | None,
    draws: int,
    caps: Sequence[int | None],
    as_json: bool,
    n: int | None,
    write: Callable[[str, int | None, Sequence[Answered]], None],
    options: GenerateOptions,
) -> None:
    from sfumato.api import load
    from sfumato.evaluation.samples import evaluate_samples, read_samples

    samples, reader = read_samples(path), load(judge) if judge else None
    n = len(samples) if n is None else n
    scores: list[dict[str, object]] = []
    for cap in caps:
        with progress(path.name if cap is None else f"{path.name}, {cap} steps", n) as tell:
            options["steps"] = cap
            keep = partial(write, path.name, cap)
            score = evaluate_samples(
                model, samples, n=n, judge=reader, draws=draws, on_progress=tell, on_answers=keep, **options
            )
        scores.append(({} if cap is None else {"cap": cap}) | dataclasses.asdict(score))
    if as_json:
        print_objects(scores, "samples")
        return
    for values in scores:
        for name, value in values.items():
            if value is not None:
                typer.echo(f"{name:20}{value:.3f}" if isinstance(value, float) else f"{name:20}{value}")


def _print_each(
    measure: Callable[..., Score],
    cells: Callable[[Score], dict[str, str | None]],
    tasks: Sequence[str],
    caps: Sequence[int | None],
    n: int,
    as_json: bool,
    kind: str = "",
) -> None:
    """Score each task under each step limit, and print the results."""
    scores: list[Score] = []
    for task in tasks:
        for cap in caps:
            title = ", ".join(part for part in (task, kind, "" if cap is None else f"{cap} steps") if part)
            with progress(title, n) as tell:
                scores.append(measure(task, n=n, steps=cap, on_progress=tell))
    if as_json:
        print_objects([dataclasses.asdict(score) for score in scores], "tasks")
    else:
        print_table([{"task": score.task} | cells(score) for score in scores], left="task")


def _task_cells(score: TaskScore) -> dict[str, str | None]:
    from sfumato.evaluation.statistics import share_interval

    low, high = share_interval(round(score.score * score.n), score.n)
    return {
        "n": str(score.n),
        "cap": str(score.steps),
        "right": f"{score.score:.1%}",
        "95%": f"{low:.0%} to {high:.0%}",
        "steps": f"{score.mean_steps:.1f}",
        "forwards": f"{score.mean_forward_passes:.1f}",
        "unsettled": str(score.unsettled) if score.unsettled else None,
        "revised": None if score.revised is None else str(score.revised),
        "wrong→right": None if score.wrong_to_right is None else str(score.wrong_to_right),
        "right→wrong": None if score.right_to_wrong is None else str(score.right_to_wrong),
        "twin": None if score.twin is None or score.twin.answer_first is None else f"{score.twin.answer_first:.1%}",
        "twin last": None if score.twin is None or score.twin.answer_last is None else f"{score.twin.answer_last:.1%}",
    }


def _gap_cells(score: GapScore) -> dict[str, str | None]:
    return {
        "n": str(score.n),
        "cap": str(score.steps),
        "restored": f"{score.restored:.1%}",
        "right": f"{score.right:.1%}",
        "length ±1": f"{score.length_near:.1%}",
        "steps": f"{score.mean_steps:.1f}",
    }


def _length_cells(score: LengthScore) -> dict[str, str | None]:
    return {
        "n": str(score.n),
        "bucket": f"{score.bucket_right:.1%}",
        "sure": f"{score.confidence:.1%}",
        "held": f"{score.held:.1%}",
        "positions": f"{score.positions:.0f}",
        "without": f"{score.positions_without:.0f}",
        "right": f"{score.right:.1%}",
        "without ": f"{score.right_without:.1%}",
    }


def _caps(steps: str | None) -> list[int | None]:
    if steps is None:
        return [None]
    try:
        return [int(part) for part in steps.split(",")]
    except ValueError:
        raise RequestError(f"steps is {steps!r}; allowed: whole numbers, such as 8 or 4,8,16") from None


def _load_twin(model: str, twin: str | None) -> TextModel | None:
    from sfumato.api import load
    from sfumato.checkpoints.registry import ASSETS

    if twin is None:
        name = f"{model.rstrip('/')}-twin"
        twin = name if (ASSETS / name).is_dir() or Path(name).is_dir() else "none"
    return None if twin == "none" else load(twin)
