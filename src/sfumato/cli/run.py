"""`sfumato run`: answer a prompt."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sfumato.cli.options import MODEL_HELP, DType, DTypeName, Quantize, Settings, Threads, sampler_settings
from sfumato.errors import RequestError

if TYPE_CHECKING:
    from sfumato.engine.model import TextModel
    from sfumato.engine.request import Result

# Written to a terminal, these would move the cursor or worse; a model may give any byte.
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
CONTROLS |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def run(
    prompt: Annotated[str, typer.Argument(help="What to ask; - reads it from stdin.")],
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "tiny",
    steps: Annotated[int | None, typer.Option(help="Most denoising steps a canvas may take.")] = None,
    sampler: Annotated[
        str | None, typer.Option(help="Rule that accepts and renoises; a wrong name lists them all.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides all randomness.")] = 0,
    n: Annotated[int, typer.Option("--n", help="Answers over one prompt; answer i has seed + i.")] = 1,
    max_tokens: Annotated[int | None, typer.Option(help="Most tokens of an answer.")] = None,
    canvas: Annotated[int | None, typer.Option(help="Positions denoised together.")] = None,
    temperature: Annotated[float | None, typer.Option(help="0 takes the likeliest token.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help='Print one JSON object; {"results": [...]} for --n above 1.')
    ] = False,
    trace: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write every draft as a line of JSON; - puts them into --json."),
    ] = None,
    no_live: Annotated[bool, typer.Option("--no-live", help="Do not show the canvas in the terminal.")] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Continue the prompt as it stands, without the chat template.")
    ] = False,
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON Schema that the answer keeps to; - reads it from stdin.")
    ] = None,
    regex: Annotated[str | None, typer.Option(help="Regular expression that the whole answer matches.")] = None,
    choice: Annotated[list[str] | None, typer.Option(help="Repeatable; the answer is one of them.")] = None,
    ban: Annotated[list[str] | None, typer.Option(help="Repeatable; text that the answer does not hold.")] = None,
    revisit: Annotated[
        int | None,
        typer.Option(metavar="K", help="Open the last K canvases again at the end, and denoise them seeing the rest."),
    ] = None,
    settings: Settings = None,
    dtype: DType = DTypeName.float32,
    quantize: Quantize = None,
    threads: Threads = None,
) -> None:
    """Answer a prompt, and show the canvas while it is denoised."""
    if trace == "-" and not as_json:
        raise RequestError("trace is '-'; allowed with --json only: give a file")
    if prompt == "-" and schema == "-":
        raise RequestError("prompt and schema are both '-'; allowed: one of them from stdin")
    if prompt == "-":
        prompt = _read_stdin("prompt")
    live = sys.stdout.isatty() and not as_json and not no_live
    options: dict[str, Any] = {
        "steps": steps,
        "sampler": sampler,
        "max_tokens": max_tokens,
        "canvas_length": canvas,
        "temperature": temperature,
        "schema": None if schema is None else _read_schema(schema),
        "regex": regex,
        "choices": choice,
        "ban": ban,
        "revisit": revisit,
    }
    given = sampler_settings(settings) | {key: value for key, value in options.items() if value is not None}
    given |= {"seed": seed, "n": n, "trace": trace is not None, "raw": raw}

    with _loading(model) if live else nullcontext():
        from sfumato.engine.model import load

        text_model = load(model, dtype=dtype, quantize=quantize, threads=threads or "auto")
    results = _show(text_model, prompt, given) if live else _answer(text_model, prompt, given)
    if trace not in (None, "-"):
        _write_trace(Path(str(trace)), results)
    if as_json:
        _print_json(results, with_trace=trace == "-")
    else:
        _print_text(results)
        Console(stderr=True, highlight=False).print(
            _figures(results, live), style="dim", markup=False, soft_wrap=not sys.stderr.isatty()
        )
    if any(result.failed for result in results):
        reasons = {result.error or "the model gave NaN or infinite logits" for result in results if result.failed}
        typer.echo(f"sfumato: {'; '.join(sorted(reasons))}; the answer ends there", err=True)
        raise typer.Exit(1)


def _read_stdin(what: str) -> str:
    try:
        return sys.stdin.read().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise RequestError(f"the {what} on stdin is not {error.encoding}: {error.reason}") from None


def _read_schema(path: str) -> Any:
    try:
        return json.loads(_read_stdin("schema") if path == "-" else Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"cannot read the schema {path}: {error.strerror}") from None
    except ValueError as error:
        raise RequestError(f"the schema {path} is not JSON: {error}") from None


def _loading(model: str) -> AbstractContextManager[object]:
    return Console(stderr=True).status(Text(f"loading {model}", style="dim"), spinner="dots", spinner_style="dim")


def _answer(model: TextModel, prompt: str, given: dict[str, Any]) -> list[Result]:
    results = model.generate(prompt, **given)
    return results if isinstance(results, list) else [results]


def _show(model: TextModel, prompt: str, given: dict[str, Any]) -> list[Result]:
    from sfumato.cli.live import play

    console = Console(highlight=False, markup=False, emoji=False)
    return _answer(model, prompt, given) if console.is_dumb_terminal else play(model.stream(prompt, **given), console)


def _write_trace(path: Path, results: Sequence[Result]) -> None:
    from sfumato.storage import write_atomically

    lines = [json.dumps(event.to_dict()) for result in results for event in result.trace]
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode())


def _print_json(results: Sequence[Result], with_trace: bool) -> None:
    objects = [result.to_dict() for result in results]
    if not with_trace:
        for values in objects:
            values.pop("trace", None)
    typer.echo(json.dumps(objects[0] if len(objects) == 1 else {"results": objects}))


def _print_text(results: Sequence[Result]) -> None:
    for result in results:
        if len(results) > 1:
            typer.echo(f"--- seed {result.seed}")
        typer.echo(result.text.translate(CONTROLS) if sys.stdout.isatty() else result.text)


def _figures(results: Sequence[Result], live: bool) -> str:
    """What the answers cost, in one line."""
    usages = [result.usage for result in results]
    tokens = sum(usage.completion_tokens for usage in usages)
    seconds = max(usage.total_s for usage in usages)
    parts = [
        f"{len(results)} answers" if len(results) > 1 else "",
        _count(tokens, "token"),
        f"{reopened} opened again" if (reopened := sum(usage.reopened for usage in usages)) else "",
        _count(sum(usage.denoising_steps for usage in usages), "step"),
        _count(sum(usage.forward_passes for usage in usages), "forward"),
        _count(sum(usage.revisions for usage in usages), "revision"),
        f"{1000 * seconds:.0f} ms{' without display' if live else ''}",
        f"{tokens / seconds:.0f} tokens/s end to end" if seconds > 0 else "",
        "cut at the token limit" if any(result.finish_reason == "length" for result in results) else "",
    ]
    return " · ".join(part for part in parts if part)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
