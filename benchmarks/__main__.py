"""Benchmarks: speed, cost of quantization, and other programs on the same weights.

python -m benchmarks latency tiny --canvas 32,64
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from benchmarks.claims.command import claims
from benchmarks.comparisons import breakeven, compare, quality
from benchmarks.options import (
    Canvas,
    Canvases,
    Columns,
    Held,
    Lines,
    Model,
    Plot,
    Prompt,
    Repeats,
    Row,
    Threads,
    Tokens,
    Vocabulary,
    collect,
    draw,
    ms,
    numbers,
    show,
)
from benchmarks.serving import serving
from benchmarks.speech import speech
from benchmarks.studio import studio
from benchmarks.tab import tab
from sfumato.cli.app import Command, Group, keep_freed_memory
from sfumato.cli.options import DType, Quantize, Settings, expand, sampler_settings
from sfumato.errors import ConfigError

app = typer.Typer(cls=Group, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def common() -> None:
    """Measure the speed of models, engine, server and other programs on this machine."""
    keep_freed_memory()


def latency(
    model: Model = "tiny",
    prompt: Annotated[str, typer.Option(help="Prompt lengths in tokens, separated by commas.")] = "128",
    canvas: Canvases = "16,32,64",
    steps: Annotated[str, typer.Option(help="Maximum steps per canvas, several with commas.")] = "4,8,16",
    tokens: Tokens = 64,
    repeats: Repeats = 5,
    settings: Settings = None,
    held: Held = Held(),
    as_json: Lines = False,
    plot: Plot = None,
) -> None:
    """Latency of one answer, end to end, with all steps forced and with adaptive stopping."""
    from benchmarks.latency import latencies

    prompts, canvases, caps = numbers("prompt", prompt), numbers("canvas", canvas), numbers("steps", steps)
    given = cast(dict[str, Any], sampler_settings(settings))
    bench_model = held.load(model)
    measured = latencies(
        bench_model, prompts=prompts, canvases=canvases, steps=caps, new_tokens=tokens, repeats=repeats, **given
    )
    total = len(prompts) * (1 if bench_model.model.spec.autoregressive else 2 * len(canvases) * len(caps))
    rows = collect("latency", bench_model, held, measured, as_json, total)
    if not as_json:
        columns: Columns = {
            "prompt": "{prompt_tokens}",
            "canvas": "{canvas_length}",
            "steps": "{steps}",
            "taken": lambda row: "all" if row["forced"] else f"{row['denoising_steps']}",
            "first commit": ms("first_commit_s"),
            "whole": ms("seconds"),
            "tokens/s": "{tokens_per_s:.1f}",
            "forwards": "{forward_passes}",
            "positions": "{positions:,}",
        }
        show(f"{model}: {tokens} tokens, end to end", rows, columns)
    draw(
        plot,
        rows,
        x="steps",
        y="tokens_per_s",
        line=lambda row: (
            f"prompt {row['prompt_tokens']}, canvas {row['canvas_length']}, {'forced' if row['forced'] else 'adaptive'}"
        ),
        title=f"{model}: {tokens} tokens, end to end",
        x_label="steps a canvas",
        y_label="tokens/s",
    )


def throughput(
    model: Model = "tiny",
    concurrency: Annotated[str, typer.Option(help="Requests in flight, separated by commas.")] = "1,2,4,8,16",
    rate: Annotated[
        float | None, typer.Option(min=0.001, help="Instead, Poisson arrivals at this rate per second.")
    ] = None,
    requests: Annotated[int, typer.Option(min=1, help="Number of requests per measurement.")] = 32,
    prompt: Prompt = 64,
    tokens: Tokens = 64,
    canvas: Canvas = 32,
    steps: Annotated[int, typer.Option(min=1, help="Maximum steps per canvas.")] = 8,
    held: Held = Held(),
    as_json: Lines = False,
    plot: Plot = None,
) -> None:
    """Throughput and latency of concurrent requests, with all steps forced and with adaptive stopping."""
    from benchmarks.throughput import throughput as measure

    bench_model = held.load(model)
    single = bench_model.model.spec.autoregressive

    def measured() -> Iterable[Any]:
        for forced in [True] if single else [True, False]:
            batch = [
                bench_model.request(
                    bench_model.random_prompt(prompt, seed=i),
                    new_tokens=tokens,
                    steps=steps,
                    forced=forced,
                    canvas_length=1 if single else canvas,
                    seed=i,
                )
                for i in range(requests)
            ]
            for users in [None] if rate is not None else numbers("concurrency", concurrency):
                yield measure(bench_model, batch, concurrency=users, rate=rate)

    rows = collect("throughput", bench_model, held, measured(), as_json)
    if not as_json:
        columns: Columns = {
            "in flight": lambda row: f"{row['rate']:g}/s" if row["rate"] else f"{row['concurrency']}",
            "steps": lambda row: f"{row['steps']}, {'all' if row['forced'] else 'adaptive'}",
            "tokens/s": "{tokens_per_s:.1f}",
            "first commit p50": ms("first_commit_p50_s"),
            "p95": ms("first_commit_p95_s"),
            "whole p50": ms("total_p50_s"),
            "p95 ": ms("total_p95_s"),
            "positions a forward": "{positions_per_forward:.0f}",
        }
        show(f"{model}: {requests} requests of {tokens} tokens", rows, columns)
    if plot is not None and rate is not None:
        raise ConfigError("--plot draws over --concurrency; with --rate there is one measurement")
    draw(
        plot,
        rows,
        x="concurrency",
        y="tokens_per_s",
        line=lambda row: f"{row['steps']} steps, {'forced' if row['forced'] else 'adaptive'}",
        title=f"{model}: requests of {tokens} tokens",
        x_label="requests in flight",
        y_label="tokens/s",
    )


def roofline(
    model: Model = "smollm2-135m",
    canvas: Annotated[str, typer.Option(help="Canvas lengths, separated by commas.")] = "64,256",
    prompt: Annotated[int, typer.Option(min=1, help="Tokens before the canvas.")] = 128,
    repeats: Annotated[int, typer.Option(min=1, help="Timed steps per canvas length.")] = 7,
    dtype: DType = "float32",
    threads: Threads = None,
    vocabulary: Vocabulary = None,
    as_json: Lines = False,
) -> None:
    """Share of a denoising step spent in matrix products with weights."""
    from benchmarks.roofline import step_share

    held = Held(dtype=dtype, threads=threads, vocabulary=vocabulary)
    bench_model = held.load(model)
    found = (step_share(bench_model, length, prompt, repeats=repeats) for length in numbers("canvas", canvas))
    rows = collect("roofline", bench_model, held, found, as_json)
    if not as_json:
        columns: Columns = {
            "canvas": "{canvas_length}",
            "prefix": "{prefix}",
            "step": ms("step_s", 1),
            "products": ms("products_s", 1),
            "share": "{share:.0%}",
            "GFLOP/s": lambda row: f"{row['operations_per_s'] / 1e9:.0f}",
        }
        show(f"{model}: one denoising step", rows, columns)


def join(
    model: Model = "smollm2-135m",
    long: Annotated[int, typer.Option(min=1, help="Long requests running at any time.")] = 15,
    long_tokens: Annotated[int, typer.Option(min=1, help="Tokens per long answer.")] = 256,
    requests: Annotated[int, typer.Option(min=2, help="Short requests measured.")] = 10,
    prompt: Annotated[int, typer.Option(min=1, help="Prompt length in tokens.")] = 64,
    canvas: Annotated[int, typer.Option(min=1, help="Canvas length, and length of a short answer.")] = 32,
    steps: Annotated[int, typer.Option(min=1, help="Steps per canvas, all taken.")] = 8,
    held: Held = Held(),
    as_json: Lines = False,
) -> None:
    """Latency of a short request alone and among long ones."""
    from benchmarks.sharing import join as measure

    bench_model = held.load(model)
    single = bench_model.model.spec.autoregressive
    short_, long_ = (
        bench_model.request(
            bench_model.random_prompt(prompt, seed=i),
            new_tokens=tokens,
            steps=steps,
            canvas_length=1 if single else canvas,
        )
        for i, tokens in enumerate((canvas, long_tokens))
    )
    found = measure(bench_model, short_, long_, num_long=long, num_short=requests)
    rows = collect("join", bench_model, held, [found], as_json)
    if not as_json:
        columns: Columns = {
            "among": "{num_long}",
            "alone": ms("alone_s"),
            "joined p50": ms("joined_p50_s"),
            "p95": ms("joined_p95_s"),
            "p95 / alone": "{ratio_p95:.2f}",
        }
        show(f"{model}: {canvas} tokens among requests of {long_tokens}", rows, columns)


def variations(
    model: Model = "smollm2-135m",
    n: Annotated[int, typer.Option("-n", min=2, help="Answers.")] = 8,
    prompt: Annotated[int, typer.Option(min=1, help="Tokens of the shared prompt.")] = 1024,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens per answer.")] = 32,
    canvas: Canvas = 32,
    steps: Annotated[int, typer.Option(min=1, help="Steps per canvas, all taken.")] = 8,
    held: Held = Held(),
    as_json: Lines = False,
) -> None:
    """Time of several answers to one prompt: as one request, and one by one on cold caches."""
    from benchmarks.sharing import variations as measure

    bench_model = held.load(model)
    length = 1 if bench_model.model.spec.autoregressive else canvas
    request = bench_model.request(
        bench_model.random_prompt(prompt), new_tokens=tokens, steps=steps, canvas_length=length
    )
    rows = collect("variations", bench_model, held, [measure(bench_model, request, n=n)], as_json)
    if not as_json:
        columns: Columns = {
            "answers": "{n}",
            "prompt": "{prompt_tokens}",
            "prefilled": "{prefilled_tokens}",
            "together": "{together_s:.2f} s",
            "apart": "{apart_s:.2f} s",
            "apart / together": "{ratio:.2f}",
        }
        show(f"{model}: answers of {tokens} tokens", rows, columns)


def simulate(
    model: Annotated[str, typer.Argument(help="A model; only its config is read.")],
    hardware: Annotated[str, typer.Option(help="Separated by commas; an unknown name lists them.")] = "h100,h200",
    dtype: Annotated[str, typer.Option(help="Type of weights and products.")] = "bfloat16",
    prompt: Prompt = 128,
    tokens: Tokens = 256,
    canvas: Annotated[int | None, typer.Option(min=1, help="Canvas length; default: the model's.")] = None,
    steps: Annotated[str, typer.Option(help="Steps per canvas, separated by commas.")] = "8,16,24",
    efficiency: Annotated[float, typer.Option(min=0.01, max=1.0, help="Share of the peaks that is reached.")] = 0.75,
    as_json: Lines = False,
) -> None:
    """Predicted time of an answer on other hardware, from published peaks; runs nothing."""
    from benchmarks.simulate import predict
    from sfumato.checkpoints.load import build
    from sfumato.checkpoints.registry import find_model

    built, spec, _ = build(find_model(model))
    found = (
        predict(
            built,
            name,
            dtype=dtype,
            prompt=prompt,
            new_tokens=tokens,
            canvas_length=canvas or spec.canvas_length,
            steps=allowed,
            soft_embedding=spec.self_conditioning,
            efficiency=efficiency,
        )
        for name in hardware.split(",")
        for allowed in numbers("steps", steps)
    )
    rows = [asdict(one) for one in found]
    if as_json:
        for row in rows:
            typer.echo(json.dumps({"bench": "simulate", "model": model, "efficiency": efficiency} | row))
        return
    columns: Columns = {
        "hardware": "{hardware}",
        "dtype": "{dtype}",
        "canvas": "{canvas_length}",
        "steps": "{steps}",
        "whole": ms("seconds", 1),
        "tokens/s": "{tokens_per_s:.0f}",
        "bound by": "{bound}",
    }
    show(f"{model}: {tokens} tokens after {prompt}, computed for {efficiency:.0%} of the peaks", rows, columns)


def soak(
    model: Model = "tiny",
    minutes: Annotated[float, typer.Option(min=0.001, help="How long to submit requests.")] = 30.0,
    quantize: Quantize = None,
    threads: Threads = None,
    as_json: Lines = False,
) -> None:
    """Random requests, cancellations and deadlines: every answer must end, and memory must not grow."""
    from benchmarks.soak import soak as run

    bench_model = Held(quantize=quantize, threads=threads).load(model)
    for found in run(bench_model, minutes=minutes):
        if as_json:
            about = {"bench": "soak", "model": model, "quantize": quantize}
            typer.echo(json.dumps(about | asdict(found)))
            continue
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(found.reasons.items()))
        typer.echo(
            f"{found.minutes:5.1f} min  {found.answered} of {found.submitted} answers ({reasons}), {found.refused} "
            f"refused, {found.steps} steps, {found.memory_mb:.0f} MB"
        )


def state(
    model: Model = "wide",
    canvas: Canvas = 256,
    canvases: Annotated[int, typer.Option(min=1, help="Canvases at once.")] = 64,
    held: Held = Held(dtype="bfloat16"),
    as_json: Lines = False,
) -> None:
    """Memory of canvases between steps, besides weights and cache."""
    from benchmarks.state import canvas_state

    bench_model = held.load(model)
    found = canvas_state(bench_model, num_canvases=canvases, canvas=canvas)
    rows = collect("state", bench_model, held, [found], as_json)
    if not as_json:
        columns: Columns = {
            "canvases": "{num_canvases}",
            "positions": "{canvas}",
            "vocabulary": "{vocab_size:,}",
            "width": "{width:,}",
            "bytes a canvas": "{bytes_each:,.0f}",
        }
        show(f"{model}: running canvases", rows, columns)


def curve(
    logs: Annotated[
        list[Path], typer.Argument(help="log.jsonl of runs with evaluation.bound_batches or evaluation.prompts.")
    ],
    plot: Plot = None,
    as_json: Lines = False,
) -> None:
    """Evaluations of training runs over positions trained: likelihood bounds, exact likelihoods read causally, and a
    judge's likelihood of answers, with their entropy and diversity."""
    rows = [row for log in logs for row in _bounds(log)]
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row))
    else:
        columns: Columns = {
            "run": "{run}",
            "what": "{what}",
            "positions": "{positions:,}",
            "value": "{value:.3f}",
            "unit": "{unit}",
        }
        show("over positions trained", rows, columns)
    draw(
        plot,
        # Lengths have another scale.
        [row for row in rows if row["unit"] != "tokens"],
        x="positions",
        y="value",
        line=lambda row: f"{row['run']}: {row['what']}",
        title="held-out documents and answers, over positions trained",
        x_label="positions trained, canvases included",
        y_label="nats per token; shares",
        logarithmic=False,
    )


def _bounds(log: Path) -> list[Row]:
    """The evaluations in a run's log.

    Raises:
        ConfigError: if it cannot be read, or has none.
    """
    try:
        records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {log}: {error}; allowed: log.jsonl of a run") from None
    names = {
        "canvas_nelbo": ("canvas (upper bound)", "nats"),
        "response_nll": ("read causally (exact)", "nats"),
        "sample_judge_nll": ("answers, by the judge", "nats"),
        "sample_unigram_entropy": ("answers, entropy of their tokens", "nats"),
        "sample_distinct_2": ("answers, different pairs", "share"),
        "sample_repetition": ("answers, repetition", "share"),
        "sample_tokens": ("answers, length", "tokens"),
    }
    rows = [
        {"run": log.parent.name, "what": what, "positions": record["num_tokens"], "value": record[name], "unit": unit}
        for name, (what, unit) in names.items()
        for record in records
        if name in record
    ]
    if not rows:
        raise ConfigError(f"{log} has no bounds; allowed: a run with evaluation.bound_batches, or evaluation.prompts")
    return rows


def size(model: Model, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Memory and speed of a model shape on this machine, as `sfumato doctor` reports them for a checkpoint."""
    from benchmarks.shapes import build_shape
    from sfumato.cli.doctor import print_model_report

    built, spec = build_shape(model)
    print_model_report(model, built, spec, "random weights in this shape", as_json=as_json)


_COMMANDS = (latency, throughput, roofline, join, variations, breakeven, quality, simulate, soak, state, compare, curve)
for command in (*_COMMANDS, size, serving, speech, studio, tab, claims):
    app.command(command.__name__, cls=Command)(expand(command))

if __name__ == "__main__":
    app(prog_name="python -m benchmarks")
