"""`sfumato data`: create and show training data."""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import MODEL_HELP, Weights
from sfumato.cli.output import read_file
from sfumato.cli.train import Overrides, RecipePath
from sfumato.errors import ConfigError
from sfumato.interrupts import Signals, exit_code

if TYPE_CHECKING:
    from sfumato.data.shards import Manifest

_MEASURED = 1000
"""Documents whose lengths are counted."""

data = typer.Typer(no_args_is_help=True, help="Create and show training data.")


def synth(
    model: Annotated[str, typer.Argument(help=f"An autoregressive model. {MODEL_HELP}")],
    directory: Annotated[Path, typer.Argument(help="Directory for the shards; created if missing.")],
    n: Annotated[
        int, typer.Option("--n", help="Conversations to sample, including those of earlier runs; filters drop some.")
    ] = 1000,
    seed: Annotated[int, typer.Option(help="Random seed for all texts.")] = 0,
    system: Annotated[str, typer.Option(help="System message stored in every conversation.")] = "",
    topic: Annotated[
        list[Path] | None,
        typer.Option("--topic", metavar="FILE", help="Topics for the user's messages, one per line. Repeatable."),
    ] = None,
    max_turn: Annotated[int, typer.Option(help="Maximum tokens of a user's message.")] = 128,
    max_answer: Annotated[int, typer.Option(help="Maximum tokens of an answer; longer ones are dropped.")] = 512,
    top_k: Annotated[
        int, typer.Option(help="Store the log-probabilities of the K likeliest tokens at each answer token.")
    ] = 0,
    rows: Annotated[int, typer.Option(help="Conversations generated at once; does not affect the texts.")] = 64,
    weights: Weights = Weights(),
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A generation setting, e.g. filters.min_distinct=0.6 or top_p=0.9. Repeatable.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue after the last complete shard.")] = False,
) -> None:
    """Let an autoregressive model write the conversations for its own adaptation."""
    from sfumato.config import from_table, parse_settings
    from sfumato.data.shards import MANIFEST
    from sfumato.synthesis.conversations import SynthesisConfig
    from sfumato.synthesis.run import Synthesis

    table = parse_settings(settings or ())
    given = table.pop("filters", {})
    if not isinstance(given, dict):
        raise ConfigError(f"filters is {given!r}; allowed: a table, e.g. filters.min_distinct=0.6")
    filters = {"max_turn_tokens": max_turn, "max_answer_tokens": max_answer, **given}
    table = {"seed": seed, "system": system, "topics": _topics(topic or ()), "top_k": top_k, **table}
    config = from_table(SynthesisConfig, table | {"filters": filters})
    if n < 1:
        raise ConfigError(f"n is {n}; allowed: 1 or more")
    if resume and not (directory / MANIFEST).exists():
        raise ConfigError(f"{directory} holds no {MANIFEST} to resume from; leave --resume out to start a new run")
    about = {"name": Path(model).name, "dtype": weights.dtype, "quantize": weights.quantize}
    synthesis = Synthesis(weights.load(model), config, directory, about=about, rows=rows)
    if resume:
        synthesis.resume()
    else:
        synthesis.start()
    started, before = time.perf_counter(), synthesis.manifest

    def say(manifest: Manifest) -> None:
        seconds = time.perf_counter() - started
        minutes = (manifest.sampled - before.sampled) / seconds * 60
        typer.echo(
            f"{directory.name}: {manifest.sampled}/{n} sampled · {manifest.kept} kept · {minutes:,.0f} per minute",
            err=True,
        )

    try:
        with Signals() as signals, signals.raised():
            manifest = synthesis.run(n, say)
    except KeyboardInterrupt as error:
        typer.echo(
            f"sfumato: {synthesis.manifest.sampled} of {n} conversations sampled; run the same "
            "command with --resume to continue",
            err=True,
        )
        raise typer.Exit(exit_code(error)) from None
    summary = {key: manifest.to_dict()[key] for key in ("model", "counts", "tokens")}
    seconds = round(time.perf_counter() - started, 3)
    typer.echo(json.dumps({**summary, "seconds": seconds, "directory": str(directory)}))


def show_documents(
    recipe: RecipePath,
    overrides: Overrides = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Documents to print.")] = 3,
    seed: Annotated[int, typer.Option(help="Random seed for the choice of documents.")] = 0,
) -> None:
    """Print documents of a recipe as the model reads and learns them, and how long they are."""
    from sfumato.config import load_recipe
    from sfumato.training.recipe import Recipe
    from sfumato.training.run import Run

    loaded = load_recipe(Recipe, recipe, overrides or ())
    if loaded.code is not None:
        raise ConfigError(f"{recipe} has [code], which has no documents; allowed: a recipe with [data]")
    with tempfile.TemporaryDirectory() as directory:
        run = Run(loaded, Path(directory))
    assert run.source is not None
    rng, decode = random.Random(seed), run.tokenizer.decode
    documents = [run.source.document(rng.getrandbits(62)) for _ in range(max(n, _MEASURED))]
    for number, document in enumerate(documents[:n], 1):
        for verb, ids in (("reads", document.prompt), ("learns", document.response)):
            typer.secho(f"document {number} {verb} ({len(ids):,} tokens)", bold=True)
            typer.echo(decode(ids, skip_special=False))
    typer.secho(f"{len(documents):,} documents", bold=True)
    for verb, lengths in (
        ("read", [len(document.prompt) for document in documents]),
        ("learn", [len(document.response) for document in documents]),
    ):
        median = statistics.median_low(lengths)
        typer.echo(f"{verb} {min(lengths):,} to {max(lengths):,} tokens, {median:,} in the median")


def _topics(files: Sequence[Path]) -> list[str]:
    """The non-blank lines of some files."""
    topics: list[str] = []
    for path in files:
        found = [line.strip() for line in read_file("topics", str(path)).splitlines() if line.strip()]
        if not found:
            raise ConfigError(f"{path} holds no topics; write one per line")
        topics += found
    return topics
