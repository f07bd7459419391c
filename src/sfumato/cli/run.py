"""`sfumato run`: answer a prompt."""

from __future__ import annotations

import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from sfumato.cli.batch import Job, Json, answer_jobs, answer_on_ray, answer_requests, run_batch
from sfumato.cli.options import Constraints, Model, Sampling, Stop, System, Weights
from sfumato.cli.output import CONTROLS, check_target, count, print_figures, print_objects, read_file, read_stdin
from sfumato.data.kinds import examples
from sfumato.errors import RequestError
from sfumato.interrupts import Signals

if TYPE_CHECKING:
    from sfumato.engine.engine import Engine
    from sfumato.engine.options import GenerateOptions
    from sfumato.engine.request import Event, Result


def run(
    prompt: Annotated[str | None, typer.Argument(help="The prompt; - reads it from stdin.")] = None,
    model: Model = "tiny",
    system: System = None,
    sampling: Sampling = Sampling(),
    n: Annotated[int, typer.Option("--n", help="Number of answers; answer i uses seed + i.")] = 1,
    max_tokens: Annotated[int | None, typer.Option(help="Maximum tokens per answer.")] = None,
    canvas: Annotated[int | None, typer.Option(help="Canvas length in positions.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help='Print one JSON object; {"results": [...]} for --n above 1.')
    ] = False,
    trace: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write every draft as a line of JSON; - includes them in --json.")
    ] = None,
    no_live: Annotated[bool, typer.Option("--no-live", help="Do not animate the canvas in the terminal.")] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Continue the prompt as plain text, without the chat template.")
    ] = False,
    any_prompt: Annotated[
        bool, typer.Option("--any-prompt", help="Allow prompts of kinds the model was not trained on.")
    ] = False,
    constraints: Constraints = Constraints(),
    stop: Stop = None,
    revisit: Annotated[
        int | None,
        typer.Option(metavar="K", help="Reopen the last K canvases at the end and denoise them with the rest in view."),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Answer all lines of a JSON Lines file: objects with prompt and, optionally, id and other options, or "
            "requests in OpenAI's batch format; - reads it from stdin.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --batch: write answers to this file, skip lines it already answers unless "
            "they changed, and sort it in the order of the batch. Default: stdout, as they finish.",
        ),
    ] = None,
    ray: Annotated[
        int | None,
        typer.Option(metavar="WORKERS", min=1, help="With --batch: answer on this many workers of a Ray cluster."),
    ] = None,
    weights: Weights = Weights(),
) -> None:
    """Answer a prompt while showing the canvas, or answer all prompts of a file."""
    if (prompt is None) == (batch is None):
        raise RequestError(
            f"{'nothing to answer' if prompt is None else 'two sources'}; allowed: PROMPT or --batch FILE"
        )
    if batch is not None and trace is not None:
        raise RequestError('trace is for one prompt; allowed in a batch: "trace": true in a line')
    if output is not None and (batch is None or not output.absolute().parent.is_dir()):
        raise RequestError(f"output is {str(output)!r}; allowed with --batch: a file in an existing directory")
    if ray is not None and batch is None:
        raise RequestError(f"ray is {ray}; allowed with --batch only")
    if trace == "-" and not as_json:
        raise RequestError("trace is '-'; allowed with --json only: give a file")
    trace_file = None if trace is None or trace == "-" else Path(trace)
    if trace_file is not None:
        check_target("trace", str(trace))
    constraints.check_stdin(prompt=prompt, batch=batch)
    live = sys.stdout.isatty() and not as_json and not no_live
    options: GenerateOptions = {
        "max_tokens": max_tokens,
        "canvas_length": canvas,
        "revisit": revisit,
        "system": system,
        "stop": stop,
        "trace": trace is not None,
        "raw": raw,
        "check_prompt": not any_prompt,
    }
    sampling.apply_to(options)
    constraints.apply_to(options)
    if batch is not None:
        text = read_file("batch", batch)

        def answer(jobs: list[Job]) -> Iterator[tuple[Job, Json]]:
            requests, prompts = ([job for job in jobs if bool(job.url) is asks] for asks in (True, False))
            if requests and ray is not None:
                raise RequestError(f"ray is {ray}; allowed: only for prompts, and {batch} holds requests")
            if requests:
                yield from answer_requests(requests, model, weights.settings())
            if prompts and ray is not None:
                yield from answer_on_ray(prompts, model, weights.settings(), ray)
            elif prompts:
                yield from answer_jobs(prompts, weights.load(model))

        run_batch(batch, text, output, model=model, n=n, options=options, answer=answer)
        return
    asked = read_stdin("prompt") if prompt == "-" else prompt or ""
    started = time.perf_counter()
    text_model = weights.load(model, check=lambda empty: empty.request(asked, n=n, **options))
    load_s = time.perf_counter() - started
    events = text_model.stream(asked, n=n, **options)
    # Before the first draft there is nothing to keep.
    first = next(events)
    with Signals() as signals:
        whole = itertools.chain((first,), events)
        results = _collect(_until_signal(whole, text_model.engine, signals), signals, live=live)
    if trace_file is not None:
        _write_trace(trace_file, results)
    if as_json:
        _print_json(results, with_trace=trace == "-")
    else:
        from sfumato.engine.options import constraint_options

        print_text(results)
        print_usage(results, live, load_s)
        near = [kind for kind in text_model.kinds if kind.matches(asked)]
        if near and not constraint_options(options) and any(result.usage.unsettled for result in results):
            typer.echo(f"sfumato: {model} was trained on prompts such as\n{examples(near)}", err=True)
    if failures := {result.failure for result in results if result.failed}:
        typer.echo(f"sfumato: {'; '.join(sorted(failures))}; the answer ends there", err=True)
        raise typer.Exit(1)
    if signals.arrived is not None:
        partial = any(result.finish_reason == "cancelled" for result in results)
        typer.echo(f"sfumato: interrupted{': partial text' if partial else ''}", err=True)
        raise typer.Exit(128 + signals.arrived)


def _until_signal(events: Iterator[Event], engine: Engine, signals: Signals) -> Iterator[Event]:
    """Pass on events; at a signal, close the engine and keep the current canvas's draft as the end of the answer."""
    from sfumato.engine.request import CanvasChanged, Finished

    drafts: dict[int, str] = {}
    for event in events:
        if signals.arrived is not None:
            engine.close()
        if isinstance(event, CanvasChanged):
            drafts[event.variation] = event.text if event.step else ""
        elif isinstance(event, Finished):
            result = event.result
            # An answer with a reopened canvas is already complete.
            if result.finish_reason == "cancelled" and not result.usage.reopened:
                text = result.text + drafts.get(event.variation, "")
                event = dataclasses.replace(event, result=dataclasses.replace(result, text=text))
        else:
            drafts[event.variation] = ""
        yield event


def _collect(events: Iterator[Event], signals: Signals, *, live: bool) -> list[Result]:
    """The results at the end of a stream, shown live in a terminal."""
    if live:
        from sfumato.cli.live import play

        console = Console(highlight=False, markup=False, emoji=False)
        if not console.is_dumb_terminal:
            return play(events, console, signals)
    from sfumato.engine.request import results_of

    return results_of(events)


def _write_trace(path: Path, results: Sequence[Result]) -> None:
    from sfumato.storage import write_atomically

    lines = [json.dumps(event.to_dict()) for result in results for event in result.trace]
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode())


def _print_json(results: Sequence[Result], with_trace: bool) -> None:
    objects = [result.to_dict() for result in results]
    if not with_trace:
        for values in objects:
            values.pop("trace", None)
    print_objects(objects, "results")


def print_text(results: Sequence[Result]) -> None:
    """Print answers, several with their seeds; in a terminal, without control characters."""
    for result in results:
        if len(results) > 1:
            typer.echo(f"--- seed {result.seed}")
        typer.echo(result.text.translate(CONTROLS) if sys.stdout.isatty() else result.text)


def print_usage(results: Sequence[Result], live: bool, load_s: float | None = None) -> None:
    """Print the cost of answers on one line of stderr, and warn of unsettled ones.

    Args:
        live: whether they were animated, which took longer.
        load_s: seconds to load the model; None leaves it out.
    """
    usages = [result.usage for result in results]
    tokens = sum(usage.completion_tokens for usage in usages)
    seconds = max(usage.total_s for usage in usages)
    print_figures(
        f"{len(results)} answers" if len(results) > 1 else "",
        count(tokens, "token"),
        f"{reopened} reopened" if (reopened := sum(usage.reopened for usage in usages)) else "",
        count(sum(usage.denoising_steps for usage in usages), "step"),
        count(sum(usage.forward_passes for usage in usages), "forward"),
        count(sum(usage.revisions for usage in usages), "revision"),
        f"{1000 * seconds:.0f} ms{' without display' if live else ''}",
        f"{tokens / seconds:.0f} tokens/s end to end" if seconds > 0 else "",
        "" if load_s is None else f"loaded in {load_s:.1f} s",
        "cut at the token limit" if any(result.finish_reason == "length" for result in results) else "",
    )
    if unsettled := [result for result in results if result.usage.unsettled]:
        which = "the answer" if len(results) == 1 else f"{len(unsettled)} of {len(results)} answers"
        typer.echo(f"sfumato: {which} had not settled when the steps ran out, and may be noise", err=True)
