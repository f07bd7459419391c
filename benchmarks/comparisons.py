"""Commands that compare: with llama.cpp, with transformers, and quantized weights with float32."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast

import typer

from benchmarks.options import (
    Canvases,
    Columns,
    Held,
    Lines,
    Plot,
    Prompt,
    Row,
    Threads,
    Vocabulary,
    collect,
    draw,
    ms,
    numbers,
    set_threads,
    show,
    ways,
)
from sfumato.cli.options import QuantizationName, Quantize


def breakeven(
    canvas: Canvases = "16,32,64",
    prompt: Prompt = 128,
    weights: Annotated[
        str, typer.Option(help="Our weights, separated by commas: float32, int8, int4, w8a8, w4a8, fp8.")
    ] = "float32,w8a8",
    gguf: Annotated[
        str, typer.Option(help="SmolLM2-135M for llama.cpp, which is measured too if xllamacpp is installed.")
    ] = "smollm2-135m-instruct",
    program: Annotated[
        Path | None,
        typer.Option("--llama-bench", help="Use this llama-bench instead, from a llama.cpp built for this machine."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Timed canvases per length, of 14 steps each.")] = 5,
    threads: Threads = None,
    plot: Plot = None,
    as_json: Lines = False,
) -> None:
    """Tokens per forward from which a canvas of SmolLM2's shape beats autoregressive decoding."""
    from benchmarks.breakeven import break_even
    from sfumato.models.quantization.weights import QUANTIZATIONS

    rows: list[Row] = []
    for way in ways("weights", weights, ["float32", *QUANTIZATIONS]):
        held = Held(quantize=None if way == "float32" else cast("QuantizationName", way), threads=threads)
        bench_model, single = held.load("smollm2-135m"), held.load("smollm2-135m-ar")
        peer = llama_cpp_token(program, gguf, prompt)
        found = break_even(bench_model, single, numbers("canvas", canvas), prefix=prompt, peer=peer, repeats=repeats)
        rows += [row | {"weights": way} for row in collect("breakeven", bench_model, held, found, as_json)]
    columns: Columns = {
        "weights": "{weights}",
        "canvas": "{canvas_length}",
        "step": ms("step_s", 1),
        "our token": ms("ours_s", 1),
        "break-even": "{against_ours:.1f}",
        "llama.cpp token": lambda row: ms("peer_s", 1)(row) if row["peer_s"] else "-",
        "break-even ": lambda row: f"{row['against_peer']:.1f}" if row["against_peer"] else "-",
    }
    if not as_json:
        show(f"smollm2-135m after {prompt} tokens", rows, columns)
    kind = Path(rows[0]["peer"] or "").stem.rpartition(".")[2]
    peers = {"our own token": "against_ours", f"a token of llama.cpp ({kind})": "against_peer"}
    points = [
        {"canvas": row["canvas_length"], "tokens": row[key], "line": f"{row['weights']}, against {peer}"}
        for row in rows
        for peer, key in peers.items()
        if row[key] is not None
    ]
    draw(
        plot,
        points,
        x="canvas",
        y="tokens",
        line=lambda row: row["line"],
        title=f"SmolLM2-135M's shape after {prompt} tokens: from where a canvas is faster",
        x_label="positions of a canvas",
        y_label="tokens a forward",
    )


def llama_cpp_token(program: Path | None, gguf: str, prefix: int) -> tuple[str, float] | None:
    """The name of llama.cpp's program and weights, and its seconds per token; None without llama.cpp."""
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
        Path | None, typer.Option(help="A text to predict; default: everyday questions.", exists=True, dir_okay=False)
    ] = None,
    quantize: Annotated[str, typer.Option(help="Quantizations, separated by commas.")] = "int8,int4,w8a8,w4a8",
    tokens: Annotated[int, typer.Option(min=1, help="Number of tokens to predict.")] = 1500,
    as_json: Lines = False,
) -> None:
    """Quality loss of quantized weights against float32: on a text, or in answers to 50 questions."""
    from benchmarks.quality import compare_answers, qualities
    from sfumato.models.quantization.weights import QUANTIZATIONS

    names = ways("quantization", quantize, QUANTIZATIONS)
    rows: list[Row] = []
    for measurement in (
        compare_answers(model, names) if text is None else qualities(model, text, names, num_tokens=tokens)
    ):
        rows.append(asdict(measurement))
        if as_json:
            about = {"bench": "quality", "model": model, "text": None if text is None else str(text)}
            typer.echo(json.dumps(about | rows[-1]))
        elif text is None:
            for number, (question, exact, found, first) in enumerate(rows[-1]["pairs"], start=1):
                differ = "the same" if first is None else f"differs from token {first + 1} on"
                quantized = rows[-1]["quantize"]
                typer.echo(f"{number}. {question} ({differ})\n   float32: {exact!r}\n   {quantized}: {found!r}")
    columns: Columns = {
        "weights": lambda row: row["quantize"] or "float32",
        "same best token": "{agreement:.1%}",
        "divergence, nats": "{divergence:.4f}",
        "same answers": lambda row: f"{row['same']} of {len(row['pairs'])}",
    }
    if text is not None:
        columns = {
            "weights": lambda row: row["quantize"] or "float32",
            "nats per token": "{cross_entropy:.4f}",
            "change": "{change:+.2%}",
            "same best token": "{agreement:.1%}",
        }
    what = "greedy answers to questions" if text is None else f"{tokens} tokens of {text}"
    if not as_json:
        show(f"{model}: {what}", rows, columns)


def compare(
    model: Annotated[str, typer.Argument(help="A checkpoint, or random weights: gemma-6-layers.")],
    peer: Annotated[str, typer.Option(help="Program to compare with.")] = "transformers",
    prompt: Annotated[int, typer.Option(min=1, help="Random tokens before the answer.")] = 128,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of the answer.")] = 128,
    steps: Annotated[int, typer.Option(min=1, help="Denoising steps per canvas, all taken.")] = 8,
    repeats: Annotated[int, typer.Option(min=1, help="Timed runs per program.")] = 5,
    quantize: Quantize = None,
    threads: Threads = None,
    vocabulary: Vocabulary = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """The same work by Sfumato and another program on the same weights, end to end, in alternation."""
    from benchmarks.compare import Work
    from benchmarks.compare import compare as measure
    from benchmarks.shapes import write_gemma
    from sfumato.checkpoints.registry import find_model

    set_threads(threads)
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
