"""`sfumato bench`: measure."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer

bench = typer.Typer(help="Measure speed, ours and of others, on this machine.", no_args_is_help=True)


def compare(
    model: Annotated[str, typer.Argument(help="A checkpoint, or random weights in a shape; a wrong name lists them.")],
    peer: Annotated[str, typer.Option(help="The program to compare with.")] = "transformers",
    prompt: Annotated[int, typer.Option(min=1, help="Random tokens before the answer.")] = 128,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of the answer.")] = 128,
    steps: Annotated[int, typer.Option(min=1, help="Denoising steps of a canvas, all of them taken.")] = 8,
    repeats: Annotated[int, typer.Option(min=1, help="Timed runs of each side.")] = 5,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of both sides.")] = None,
    vocabulary: Annotated[int | None, typer.Option(min=2, help="Of a random checkpoint.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """The same work by us and by another program, in turns, on the same weights: end to end, prefill included."""
    import torch

    from sfumato.bench.compare import Work
    from sfumato.bench.compare import compare as measure
    from sfumato.bench.shapes import SHAPES, write_random
    from sfumato.engine.model import find

    if threads is not None:
        torch.set_num_threads(threads)
    work = Work(prompt_tokens=prompt, new_tokens=tokens, steps=steps, repeats=repeats)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if model in SHAPES:
            write_random(directory, model, **({} if vocabulary is None else {"vocab_size": vocabulary}))
        else:
            directory = find(model)
        found = measure(directory, peer, work)
    if as_json:
        typer.echo(json.dumps(found.to_dict() | {"model": model}))
        return
    typer.echo(f"{model}: {tokens} tokens after {prompt}, {steps} steps a canvas, {found.threads} threads")
    typer.echo(f"  sfumato       {found.ours_s:8.3f} s  {tokens / found.ours_s:7.1f} tokens/s")
    typer.echo(f"  {peer:<12}  {found.theirs_s:8.3f} s  {tokens / found.theirs_s:7.1f} tokens/s")
    typer.echo(f"  ratio         {found.ratio:8.2f}")
