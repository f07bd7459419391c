"""Measurements of speed, of bits, and of other programs on the same weights.

python -m benchmarks latency tiny --canvas 32,64
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.app import Command, Group, keep_freed_memory
from sfumato.cli.options import Device, DType, DTypeName, QuantizationName, Quantize, Settings, sampler_settings
from sfumato.cli.output import print_table, progress
from sfumato.errors import ConfigError

if TYPE_CHECKING:
    from benchmarks.model import BenchModel

app = typer.Typer(cls=Group, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def common() -> None:
    """Measure speed, ours and of others, on this machine."""
    keep_freed_memory()


Model = Annotated[
    str,
    typer.Argument(
        help="A model by name, or random weights in a shape: smollm2-135m, smollm2-135m-ar, smollm2-135m-full, "
        "llada2-mini, wide."
    ),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of torch; as it chooses if not given.")]
Lines = Annotated[bool, typer.Option("--json", help="Print one JSON line for each measurement.")]
Plot = Annotated[Path | None, typer.Option(help="Also draw a PNG there.", dir_okay=False)]
Vocabulary = Annotated[int | None, typer.Option(min=2, help="Of random weights.")]


def latency(
    model: Model = "tiny",
    prompt: Annotated[str, typer.Option(help="Tokens before the answer, several with commas.")] = "128",
    canvas: Annotated[str, typer.Option(help="Positions denoised together, several with commas.")] = "16,32,64",
    steps: Annotated[str, typer.Option(help="Allowed steps of a canvas, several with commas.")] = "4,8,16",
    tokens: Annotated[int, typer.Option(min=1, help="Of the answer.")] = 64,
    repeats: Annotated[int, typer.Option(min=1, help="Timed runs of each.")] = 5,
    settings: Settings = None,
    dtype: DType = "float32",
    quantize: Quantize = None,
    threads: Threads = None,
    device: Device = "cpu",
    vocabulary: Vocabulary = None,
    as_json: Lines = False,
    plot: Plot = None,
) -> None:
    """How long one answer takes, end to end: all steps forced, and stopping by itself."""
    from benchmarks.latency import latencies

    prompts, canvases, caps = _numbers("prompt", prompt), _numbers("canvas", canvas), _numbers("steps", steps)
    given = cast(dict[str, Any], sampler_settings(settings))
    bench_model = _load(model, dtype, quantize, threads, vocabulary, device)
    found = latencies(
        bench_model, prompts=prompts, canvases=canvases, steps=caps, new_tokens=tokens, repeats=repeats, **given
    )
    total = len(prompts) * (1 if bench_model.model.spec.autoregressive else 2 * len(canvases) * len(caps))
    rows = _collected("latency", bench_model, dtype, quantize, found, as_json, total)
    if not as_json:
        columns = {
            "prompt": lambda row: f"{row['prompt_tokens']}",
            "canvas": lambda row: f"{row['canvas_length']}",
            "steps": lambda row: f"{row['steps']}",
            "taken": lambda row: "all" if row["forced"] else f"{row['denoising_steps']}",
            "first commit": lambda row: f"{row['first_commit_s'] * 1000:.0f} ms",
            "whole": lambda row: f"{row['seconds'] * 1000:.0f} ms",
            "tokens/s": lambda row: f"{row['tokens_per_s']:.1f}",
            "forwards": lambda row: f"{row['forward_passes']}",
            "positions": lambda row: f"{row['positions']:,}",
        }
        _table(f"{model}: {tokens} tokens, end to end", rows, columns)
    if plot is not None:
        _plot(
            plot,
            rows,
            x="steps",
            y="tokens_per_s",
            line=lambda row: (
                f"prompt {row['prompt_tokens']}, canvas {row['canvas_length']}, "
                + ("forced" if row["forced"] else "adaptive")
            ),
            title=f"{model}: {tokens} tokens, end to end",
            x_label="steps a canvas",
            y_label="tokens/s",
        )


def throughput(
    model: Model = "tiny",
    concurrency: Annotated[str, typer.Option(help="Requests in flight, several with commas.")] = "1,2,4,8,16",
    rate: Annotated[float | None, typer.Option(min=0.001, help="Arrivals a second at random times instead.")] = None,
    requests: Annotated[int, typer.Option(min=1, help="To be answered, for each measurement.")] = 32,
    prompt: Annotated[int, typer.Option(min=1, help="Tokens before the answer.")] = 64,
    tokens: Annotated[int, typer.Option(min=1, help="Of the answer.")] = 64,
    canvas: Annotated[int, typer.Option(min=1, help="Positions denoised together.")] = 32,
    steps: Annotated[int, typer.Option(min=1, help="Allowed steps of a canvas.")] = 8,
    dtype: DType = "float32",
    quantize: Quantize = None,
    threads: Threads = None,
    device: Device = "cpu",
    vocabulary: Vocabulary = None,
    as_json: Lines = False,
    plot: Plot = None,
) -> None:
    """How many answers come at once, and how long each waits: all steps forced, and stopping by themselves."""
    from benchmarks.throughput import throughput as measure

    bench_model = _load(model, dtype, quantize, threads, vocabulary, device)
    single = bench_model.model.spec.autoregressive

    def measured() -> Iterable[Any]:
        for forced in [True] if single else [True, False]:
            asked = [
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
            for users in [None] if rate is not None else _numbers("concurrency", concurrency):
                yield measure(bench_model, asked, concurrency=users, rate=rate)

    rows = _collected("throughput", bench_model, dtype, quantize, measured(), as_json)
    if not as_json:
        columns = {
            "in flight": lambda row: f"{row['rate']:g}/s" if row["rate"] else f"{row['concurrency']}",
            "steps": lambda row: f"{row['steps']}, " + ("all" if row["forced"] else "adaptive"),
            "tokens/s": lambda row: f"{row['tokens_per_s']:.1f}",
            "first commit p50": lambda row: f"{row['first_commit_p50_s'] * 1000:.0f} ms",
            "p95": lambda row: f"{row['first_commit_p95_s'] * 1000:.0f} ms",
            "whole p50": lambda row: f"{row['total_p50_s'] * 1000:.0f} ms",
            "p95 ": lambda row: f"{row['total_p95_s'] * 1000:.0f} ms",
            "positions a forward": lambda row: f"{row['positions_per_forward']:.0f}",
        }
        _table(f"{model}: {requests} requests of {tokens} tokens", rows, columns)
    if plot is not None:
        if rate is not None:
            raise ConfigError("--plot draws over --concurrency; with --rate there is one measurement")
        _plot(
            plot,
            rows,
            x="concurrency",
            y="tokens_per_s",
            line=lambda row: f"{row['steps']} steps, " + ("forced" if row["forced"] else "adaptive"),
            title=f"{model}: requests of {tokens} tokens",
            x_label="requests in flight",
            y_label="tokens/s",
        )


def roofline(
    model: Model = "smollm2-135m",
    canvas: Annotated[str, typer.Option(help="Positions of the canvas, several with commas.")] = "64,256",
    prompt: Annotated[int, typer.Option(min=1, help="Tokens before it.")] = 128,
    repeats: Annotated[int, typer.Option(min=1, help="Timed steps of each.")] = 7,
    dtype: DType = "float32",
    threads: Threads = None,
    vocabulary: Vocabulary = None,
    as_json: Lines = False,
) -> None:
    """What share of a step is the matrix products that nobody can leave out."""
    from benchmarks.roofline import step_share

    bench_model = _load(model, dtype, None, threads, vocabulary)
    found = (step_share(bench_model, length, prompt, repeats=repeats) for length in _numbers("canvas", canvas))
    rows = _collected("roofline", bench_model, dtype, None, found, as_json)
    if not as_json:
        columns = {
            "canvas": lambda row: f"{row['canvas_length']}",
            "prefix": lambda row: f"{row['prefix']}",
            "step": lambda row: f"{row['step_s'] * 1000:.1f} ms",
            "products": lambda row: f"{row['products_s'] * 1000:.1f} ms",
            "share": lambda row: f"{row['share']:.0%}",
            "GFLOP/s": lambda row: f"{row['operations_per_s'] / 1e9:.0f}",
        }
        _table(f"{model}: one denoising step", rows, columns)


def join(
    model: Model = "smollm2-135m",
    long: Annotated[int, typer.Option(min=1, help="Long requests in work.")] = 15,
    long_tokens: Annotated[int, typer.Option(min=1, help="Of each of their answers.")] = 256,
    requests: Annotated[int, typer.Option(min=2, help="Short requests measured.")] = 10,
    prompt: Annotated[int, typer.Option(min=1, help="Tokens before each answer.")] = 64,
    canvas: Annotated[int, typer.Option(min=1, help="Positions denoised together, and of a short answer.")] = 32,
    steps: Annotated[int, typer.Option(min=1, help="Of a canvas, all taken.")] = 8,
    dtype: DType = "float32",
    quantize: Quantize = None,
    threads: Threads = None,
    vocabulary: Vocabulary = None,
    as_json: Lines = False,
) -> None:
    """How long a short request takes among long ones, and alone."""
    from benchmarks.sharing import join as measure

    bench_model = _load(model, dtype, quantize, threads, vocabulary)
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
    rows = _collected("join", bench_model, dtype, quantize, [found], as_json)
    if not as_json:
        columns = {
            "among": lambda row: f"{row['num_long']}",
            "alone": lambda row: f"{row['alone_s'] * 1000:.0f} ms",
            "joined p50": lambda row: f"{row['joined_p50_s'] * 1000:.0f} ms",
            "p95": lambda row: f"{row['joined_p95_s'] * 1000:.0f} ms",
            "p95 / alone": lambda row: f"{row['ratio_p95']:.2f}",
        }
        _table(f"{model}: {canvas} tokens among requests of {long_tokens}", rows, columns)


def variations(
    model: Model = "smollm2-135m",
    n: Annotated[int, typer.Option("-n", min=2, help="Answers.")] = 8,
    prompt: Annotated[int, typer.Option(min=1, help="Tokens of the prompt that they share.")] = 1024,
    tokens: Annotated[int, typer.Option(min=1, help="Of each answer.")] = 32,
    canvas: Annotated[int, typer.Option(min=1, help="Positions denoised together.")] = 32,
    steps: Annotated[int, typer.Option(min=1, help="Of a canvas, all taken.")] = 8,
    dtype: DType = "float32",
    quantize: Quantize = None,
    threads: Threads = None,
    vocabulary: Vocabulary = None,
    as_json: Lines = False,
) -> None:
    """What several answers to one prompt take, as one request and one by one on cold caches."""
    from benchmarks.sharing import variations as measure

    bench_model = _load(model, dtype, quantize, threads, vocabulary)
    length = 1 if bench_model.model.spec.autoregressive else canvas
    request = bench_model.request(
        bench_model.random_prompt(prompt), new_tokens=tokens, steps=steps, canvas_length=length
    )
    rows = _collected("variations", bench_model, dtype, quantize, [measure(bench_model, request, n=n)], as_json)
    if not as_json:
        columns = {
            "answers": lambda row: f"{row['n']}",
            "prompt": lambda row: f"{row['prompt_tokens']}",
            "of it written": lambda row: f"{row['prefilled_tokens']}",
            "together": lambda row: f"{row['together_s']:.2f} s",
            "apart": lambda row: f"{row['apart_s']:.2f} s",
            "apart / together": lambda row: f"{row['ratio']:.2f}",
        }
        _table(f"{model}: answers of {tokens} tokens", rows, columns)


def breakeven(
    canvas: Annotated[str, typer.Option(help="Positions denoised together, several with commas.")] = "16,32,64",
    prompt: Annotated[int, typer.Option(min=1, help="Tokens before it.")] = 128,
    weights: Annotated[
        str, typer.Option(help="How ours are held, several with commas: float32, int8, int4, w8a8, fp8.")
    ] = "float32,w8a8",
    gguf: Annotated[
        str, typer.Option(help="SmolLM2-135M for llama.cpp, which is measured as well where xllamacpp is installed.")
    ] = "smollm2-135m-instruct",
    program: Annotated[
        Path | None,
        typer.Option("--llama-bench", help="Measure this llama-bench, of a llama.cpp built for this machine, instead."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Timed canvases of each length, of 14 steps.")] = 5,
    threads: Threads = None,
    plot: Plot = None,
    as_json: Lines = False,
) -> None:
    """From how many tokens a forward a canvas of SmolLM2's shape beats one token after another."""
    from benchmarks.breakeven import break_even
    from sfumato.errors import unknown
    from sfumato.models.quantization.weights import QUANTIZATIONS

    ways = weights.split(",")
    for way in ways:
        if way not in ("float32", *QUANTIZATIONS):
            raise ConfigError(unknown("weights", way, ["float32", *QUANTIZATIONS]))
    rows: list[dict[str, Any]] = []
    for way in ways:
        quantize = None if way == "float32" else cast("QuantizationName", way)
        bench_model, single = (
            _load(name, "float32", quantize, threads, None) for name in ("smollm2-135m", "smollm2-135m-ar")
        )
        peer = _llama_cpp(program, gguf, prompt)
        found = break_even(bench_model, single, _numbers("canvas", canvas), prefix=prompt, peer=peer, repeats=repeats)
        new = _collected("breakeven", bench_model, "float32", quantize, found, as_json)
        rows += [row | {"weights": way} for row in new]
    if not as_json:
        columns = {
            "weights": lambda row: row["weights"],
            "canvas": lambda row: f"{row['canvas_length']}",
            "step": lambda row: f"{row['step_s'] * 1000:.1f} ms",
            "our token": lambda row: f"{row['ours_s'] * 1000:.1f} ms",
            "break-even": lambda row: f"{row['against_ours']:.1f}",
            "llama.cpp token": lambda row: f"{row['peer_s'] * 1000:.1f} ms" if row["peer_s"] else "-",
            "break-even ": lambda row: f"{row['against_peer']:.1f}" if row["against_peer"] else "-",
        }
        _table(f"smollm2-135m after {prompt} tokens", rows, columns)
    if plot is not None:
        kind = Path(rows[0]["peer"] or "").stem.rpartition(".")[2]
        peers = {"our own token": "against_ours", f"a token of llama.cpp ({kind})": "against_peer"}
        _plot(
            plot,
            [
                {"canvas": row["canvas_length"], "tokens": row[key], "line": f"{row['weights']}, against {peer}"}
                for row in rows
                for peer, key in peers.items()
                if row[key] is not None
            ],
            x="canvas",
            y="tokens",
            line=lambda row: row["line"],
            title=f"SmolLM2-135M's shape after {prompt} tokens: from where a canvas is faster",
            x_label="positions of a canvas",
            y_label="tokens a forward",
        )


def _llama_cpp(program: Path | None, gguf: str, prefix: int) -> tuple[str, float] | None:
    """Which llama.cpp is there, with its weights, and the seconds of one of its tokens; None if there is none."""
    from benchmarks.breakeven import llama_bench, llama_cpp, llama_cpp_is_installed
    from sfumato.checkpoints.registry import find_model

    if program is None and not llama_cpp_is_installed():
        return None
    weights = find_model(gguf)
    if program is not None:
        return f"llama-bench {weights.name}", llama_bench(program, weights, prefix)
    return f"xllamacpp {weights.name}", llama_cpp(weights, prefix)


def quality(
    model: Annotated[str, typer.Argument(help="An autoregressive model: a name, a directory, a GGUF file, a hub id.")],
    text: Annotated[
        Path | None,
        typer.Option(help="A text to predict; without one, everyday questions.", exists=True, dir_okay=False),
    ] = None,
    quantize: Annotated[str, typer.Option(help="Several with commas.")] = "int8,int4,w8a8",
    tokens: Annotated[int, typer.Option(min=1, help="Of the text, to predict.")] = 1500,
    as_json: Lines = False,
) -> None:
    """What weights in few bits cost, next to float32: on a text, or by answers to 50 questions, side by side."""
    from benchmarks.quality import compare_answers, qualities
    from sfumato.errors import unknown
    from sfumato.models.quantization.weights import QUANTIZATIONS

    ways = quantize.split(",")
    for way in ways:
        if way not in QUANTIZATIONS:
            raise ConfigError(unknown("quantization", way, QUANTIZATIONS))
    about = {"bench": "quality", "model": model, "text": None if text is None else str(text)}
    rows = []
    columns: dict[str, Any] = {"weights": lambda row: row["quantize"] or "float32"}
    if text is None:
        for answers in compare_answers(model, ways):
            rows.append(asdict(answers))
            if as_json:
                typer.echo(json.dumps(about | rows[-1]))
                continue
            for number, (question, exact, found, place) in enumerate(answers.pairs, start=1):
                differ = "the same" if place is None else f"differs from token {place + 1} on"
                typer.echo(f"{number}. {question} ({differ})\n   float32: {exact!r}\n   {answers.quantize}: {found!r}")
        columns |= {
            "same best token": lambda row: f"{row['agreement']:.1%}",
            "divergence, nats": lambda row: f"{row['divergence']:.4f}",
            "same answers": lambda row: f"{row['same']} of {len(row['pairs'])}",
        }
    else:
        for quality in qualities(model, text, ways, num_tokens=tokens):
            rows.append(asdict(quality))
            if as_json:
                typer.echo(json.dumps(about | rows[-1]))
        columns |= {
            "nats a token": lambda row: f"{row['cross_entropy']:.4f}",
            "change": lambda row: f"{row['change']:+.2%}",
            "same best token": lambda row: f"{row['agreement']:.1%}",
        }
    if not as_json:
        _table(
            f"{model}: {'greedy answers to questions' if text is None else f'{tokens} tokens of {text}'}", rows, columns
        )


def simulate(
    model: Annotated[str, typer.Argument(help="A model; only its config is read.")],
    hardware: Annotated[str, typer.Option(help="Several with commas; a wrong name lists them.")] = "h100,h200",
    dtype: Annotated[str, typer.Option(help="Of weights and products.")] = "bfloat16",
    prompt: Annotated[int, typer.Option(min=1, help="Tokens before the answer.")] = 128,
    tokens: Annotated[int, typer.Option(min=1, help="Of the answer.")] = 256,
    canvas: Annotated[int | None, typer.Option(min=1, help="Positions denoised together; the model's own.")] = None,
    steps: Annotated[str, typer.Option(help="Of every canvas, several with commas.")] = "8,16,24",
    efficiency: Annotated[float, typer.Option(min=0.01, max=1.0, help="Share of the peaks that is reached.")] = 0.75,
    as_json: Lines = False,
) -> None:
    """What an answer would take on other hardware, from published peaks; nothing is run."""
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
        for allowed in _numbers("steps", steps)
    )
    rows = [asdict(one) for one in found]
    if as_json:
        for row in rows:
            typer.echo(json.dumps({"bench": "simulate", "model": model, "efficiency": efficiency} | row))
        return
    columns = {
        "hardware": lambda row: row["hardware"],
        "dtype": lambda row: row["dtype"],
        "canvas": lambda row: f"{row['canvas_length']}",
        "steps": lambda row: f"{row['steps']}",
        "whole": lambda row: f"{row['seconds'] * 1000:.1f} ms",
        "tokens/s": lambda row: f"{row['tokens_per_s']:.0f}",
        "waits for": lambda row: row["bound"],
    }
    _table(f"{model}: {tokens} tokens after {prompt}, computed for {efficiency:.0%} of the peaks", rows, columns)


def soak(
    model: Model = "tiny",
    minutes: Annotated[float, typer.Option(min=0.001, help="How long requests come.")] = 30.0,
    quantize: Quantize = None,
    threads: Threads = None,
    as_json: Lines = False,
) -> None:
    """Random requests, cancels and deadlines: is every one answered, are the books right, does memory grow?"""
    from benchmarks.soak import soak as run

    bench_model = _load(model, "float32", quantize, threads, None)
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
    canvas: Annotated[int, typer.Option(min=1, help="Positions denoised together.")] = 256,
    canvases: Annotated[int, typer.Option(min=1, help="In work at once.")] = 64,
    dtype: DType = "bfloat16",
    quantize: Quantize = None,
    threads: Threads = None,
    vocabulary: Vocabulary = None,
    as_json: Lines = False,
) -> None:
    """What canvases hold from step to step, besides weights and cache."""
    from benchmarks.state import canvas_state

    bench_model = _load(model, dtype, quantize, threads, vocabulary)
    found = canvas_state(bench_model, num_canvases=canvases, canvas=canvas)
    rows = _collected("state", bench_model, dtype, quantize, [found], as_json)
    if not as_json:
        columns = {
            "canvases": lambda row: f"{row['num_canvases']}",
            "positions": lambda row: f"{row['canvas']}",
            "vocabulary": lambda row: f"{row['vocab_size']:,}",
            "width": lambda row: f"{row['width']:,}",
            "bytes a canvas": lambda row: f"{row['bytes_each']:,.0f}",
        }
        _table(f"{model}: canvases in work", rows, columns)


def compare(
    model: Annotated[str, typer.Argument(help="A checkpoint, or random weights: gemma-6-layers.")],
    peer: Annotated[str, typer.Option(help="The program to compare with.")] = "transformers",
    prompt: Annotated[int, typer.Option(min=1, help="Random tokens before the answer.")] = 128,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of the answer.")] = 128,
    steps: Annotated[int, typer.Option(min=1, help="Denoising steps of a canvas, all of them taken.")] = 8,
    repeats: Annotated[int, typer.Option(min=1, help="Timed runs of each side.")] = 5,
    quantize: Quantize = None,
    threads: Threads = None,
    vocabulary: Vocabulary = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """The same work by us and by another program, in turns, on the same weights: end to end, prefill included."""
    import torch

    from benchmarks.compare import Work
    from benchmarks.compare import compare as measure
    from benchmarks.shapes import write_gemma
    from sfumato.checkpoints.registry import find_model

    if threads is not None:
        torch.set_num_threads(threads)
    work = Work(prompt_tokens=prompt, new_tokens=tokens, steps=steps, repeats=repeats, quantize=quantize)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if model == "gemma-6-layers":
            write_gemma(directory, **({} if vocabulary is None else {"vocab_size": vocabulary}))
        else:
            directory = find_model(model)
        found = measure(directory, peer, work)
    if as_json:
        typer.echo(json.dumps(asdict(found) | {"model": model}))
        return
    typer.echo(f"{model}: {tokens} tokens after {prompt}, {steps} steps a canvas, {found.threads} threads")
    ours = "sfumato" if quantize is None else f"our {quantize}"
    typer.echo(f"  {ours:<12}  {found.ours_s:8.3f} s  {tokens / found.ours_s:7.1f} tokens/s")
    typer.echo(f"  {peer:<12}  {found.theirs_s:8.3f} s  {tokens / found.theirs_s:7.1f} tokens/s")
    typer.echo(f"  ratio         {found.ratio:8.2f}")


def curve(
    logs: Annotated[list[Path], typer.Argument(help="log.jsonl of runs that measured a bound while training.")],
    plot: Plot = None,
    as_json: Lines = False,
) -> None:
    """What a run came to, over positions trained: the bound on the likelihood, the exact one read causally, and what a
    judge makes of its answers, whose entropy and variety stand beside."""
    rows = [row for log in logs for row in _bounds(log)]
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row))
    else:
        columns = {
            "run": lambda row: row["run"],
            "what": lambda row: row["what"],
            "positions": lambda row: f"{row['positions']:,}",
            "value": lambda row: f"{row['value']:.3f}",
            "unit": lambda row: row["unit"],
        }
        _table("over positions trained", rows, columns)
    if plot is not None:
        _plot(
            plot,
            # Lengths are of another scale.
            [row for row in rows if row["unit"] != "tokens"],
            x="positions",
            y="value",
            line=lambda row: f"{row['run']}: {row['what']}",
            title="held-out documents and answers, over positions trained",
            x_label="positions trained, canvases included",
            y_label="nats a token; shares",
            logarithmic=False,
        )


def _bounds(log: Path) -> list[dict[str, Any]]:
    """The measurements in a run's log.

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


def size(
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """What a shape would need of this machine, as `sfumato doctor` says it of a checkpoint."""
    from benchmarks.shapes import build_shape
    from sfumato.cli.doctor import model_report, print_model_report

    built, spec = build_shape(model)
    print_model_report(model_report(model, built, spec, "random weights in this shape"), as_json)


def _load(
    model: str,
    dtype: DTypeName,
    quantize: QuantizationName | None,
    threads: int | None,
    vocabulary: int | None,
    device: str = "cpu",
) -> BenchModel:
    import torch

    from benchmarks.model import BenchModel

    if threads is not None:
        torch.set_num_threads(threads)
    changes: dict[str, Any] = {} if vocabulary is None else {"vocab_size": vocabulary}
    with progress(f"loading {model}"):
        return BenchModel.load(model, dtype=dtype, quantize=quantize, device=device, **changes)


def _numbers(name: str, text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise ConfigError(f"{name} is {text!r}; allowed: whole numbers, 1 or more, with commas between them")
    return numbers


def _collected(
    kind: str,
    bench_model: BenchModel,
    dtype: DTypeName,
    quantize: QuantizationName | None,
    found: Iterable[Any],
    as_json: bool,
    total: int | None = None,
) -> list[dict[str, Any]]:
    """The measurements, each printed as a line as soon as it is there; `total` is how many there will be."""
    from benchmarks.model import describe_machine

    about = {"bench": kind, "model": bench_model.name, "dtype": dtype, "quantize": quantize}
    machine, rows = describe_machine(), []
    with progress(f"{kind} of {bench_model.name}", total) as tell:
        for measurement in found:
            rows.append(asdict(measurement))
            tell(len(rows), total or 0)
            if as_json:
                typer.echo(json.dumps(about | rows[-1] | {"machine": machine}))
    return rows


def _table(title: str, rows: list[dict[str, Any]], columns: dict[str, Any]) -> None:
    print_table([{name: show(row) for name, show in columns.items()} for row in rows], title=title)


def _plot(path: Path, rows: list[dict[str, Any]], **settings: Any) -> None:
    from benchmarks.report import plot_lines

    plot_lines(path, rows, **settings)
    typer.echo(f"drawn: {path}", err=True)


_COMMANDS = (latency, throughput, roofline, join, variations, breakeven, quality, simulate, soak, state, compare, curve)
for command in (*_COMMANDS, size):
    app.command(command.__name__, cls=Command)(command)

if __name__ == "__main__":
    app(prog_name="python -m benchmarks")
