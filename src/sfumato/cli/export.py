"""`sfumato export`: write a model for other runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfumato.cli.options import MODEL_HELP
from sfumato.errors import CheckpointError


def export(
    source: Annotated[str, typer.Argument(help=MODEL_HELP)],
    directory: Annotated[Path, typer.Argument(help="Output directory; created if missing.")],
    to: Annotated[
        Literal["onnx"],
        typer.Option(help="onnx: one step as a graph, for onnxruntime and similar, including in a browser."),
    ] = "onnx",
    dtype: Annotated[
        Literal["float32", "int8"] | None,
        typer.Option(
            help="Stored type of the matrices, which are multiplied as float32. Default: unchanged if "
            "the graph can read it, otherwise float32."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the model in the output; default: the source's.")] = None,
) -> None:
    """Export a model to ONNX, with weights, tokenizer and sampling defaults."""
    from sfumato.checkpoints.load import load_checkpoint
    from sfumato.checkpoints.onnx import MANIFEST, check_exportable, export_onnx
    from sfumato.checkpoints.registry import find_model, open_checkpoint
    from sfumato.text.tokenizer import Tokenizer

    if (directory / "config.json").exists():
        raise CheckpointError(f"{directory} already holds a checkpoint; give another directory")
    opened = open_checkpoint(find_model(source))
    checkpoint = load_checkpoint(opened)
    check_exportable(source, checkpoint)
    own = opened if isinstance(opened, Path) else None
    export_onnx(directory, name or Path(source).name, checkpoint, Tokenizer.of(opened), dtype=dtype, source=own)
    typer.echo(str(directory / MANIFEST))
