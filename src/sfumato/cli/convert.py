"""`sfumato convert` and `sfumato export`: write a checkpoint in another layout, or for other runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from sfumato.cli.options import MODEL_HELP, DTypeName
from sfumato.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from sfumato.models.quantization.weights import Bits

Source = Annotated[str, typer.Argument(help=MODEL_HELP)]
Output = Annotated[Path, typer.Argument(help="Output directory; created if missing.")]


def convert(
    source: Source,
    directory: Output,
    to: Annotated[
        Literal["sfumato", "huggingface", "delta"],
        typer.Option(
            help="sfumato: our layout, for any model. huggingface: for transformers, or the layout of "
            "--base. delta: the difference from --base."
        ),
    ] = "sfumato",
    base: Annotated[
        str | None,
        typer.Option(
            help="The checkpoint it was trained from. For delta, a name such as "
            "smollm2-135m-instruct; for huggingface, a directory or hub id, whose files other "
            "than weights are copied."
        ),
    ] = None,
    bits: Annotated[
        Literal["8", "4"] | None, typer.Option(help="Bits per weight, or per difference with --to delta (default 8).")
    ] = None,
    quantize: Annotated[
        Literal["w4a8", "w8a8"] | None,
        typer.Option(
            help="Write weights of any model as a CPU multiplies them, in 4 or 8 bits. Loading maps the files, so "
            "starts take seconds. For int8 and int4, use --bits."
        ),
    ] = None,
    dtype: Annotated[
        DTypeName | None,
        typer.Option(help="Type of the stored weights; default: unchanged, or float32 with --quantize."),
    ] = None,
) -> None:
    """Convert a checkpoint to another layout."""
    from sfumato.api import DTYPES
    from sfumato.api import quantize as write_quantized
    from sfumato.checkpoints.load import export_checkpoint, export_like, load_checkpoint, save_checkpoint
    from sfumato.checkpoints.registry import find_model, open_checkpoint
    from sfumato.models.decoder import Decoder
    from sfumato.sampling.logits import LearnedStop
    from sfumato.text.tokenizer import Tokenizer

    _check_new(directory)
    if to == "delta" and base is None:
        raise ConfigError("--to delta needs --base, the checkpoint that the model was trained from")
    if to == "sfumato" and base is not None:
        raise ConfigError("--base is given; allowed: only with --to delta and --to huggingface")
    if to == "delta" and dtype is not None:
        raise ConfigError("--dtype is for weights, but a delta holds differences; allowed: --bits")
    if bits is not None and (to == "huggingface" or dtype is not None):
        raise ConfigError("--bits is for --to sfumato and --to delta, without --dtype")
    source_path = open_checkpoint(find_model(source))
    if quantize is not None:
        if (to, base, bits) != ("sfumato", None, None):
            raise ConfigError(
                "--quantize keeps the layout, and has its own bits; allowed: without --to, --base, --bits"
            )
        write_quantized(source_path, directory, quantize, dtype=DTYPES[dtype or "float32"])
        typer.echo(str(directory))
        return
    checkpoint = load_checkpoint(source_path)
    tokenizer = None if checkpoint.model.reads_lexemes else Tokenizer.of(source_path)
    stored = None if dtype is None else DTYPES[dtype]
    if to == "huggingface" and base is not None:
        # With the tokenizer of the base.
        export_like(directory, checkpoint, find_model(base), dtype=stored)
        tokenizer = None
    elif to == "huggingface":
        export_checkpoint(directory, checkpoint, tokenizer.eos_ids if tokenizer else (), dtype=stored)
    else:
        if not isinstance(checkpoint.model, Decoder):
            raise CheckpointError(f"{source} is not a Llama-shaped decoder; it can only be kept in its own layout")
        ends = {"eos_token_id": list(tokenizer.eos_ids)} if tokenizer else {}
        save_checkpoint(
            directory,
            checkpoint.model,
            checkpoint.spec,
            generation=checkpoint.generation | ends,
            dtype=stored,
            base=base,
            bits=None if bits is None else cast("Bits", int(bits)),
        )
        stop_head = LearnedStop.read(source_path)
        if stop_head is not None:
            stop_head.write(directory)
    if tokenizer is not None:
        tokenizer.save(directory)
    typer.echo(str(directory))


def export(
    source: Source,
    directory: Output,
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

    _check_new(directory)
    opened = open_checkpoint(find_model(source))
    checkpoint = load_checkpoint(opened)
    check_exportable(source, checkpoint)
    folder = opened if isinstance(opened, Path) else None
    export_onnx(directory, name or Path(source).name, checkpoint, Tokenizer.of(opened), dtype=dtype, source=folder)
    typer.echo(str(directory / MANIFEST))


def _check_new(directory: Path) -> None:
    # Files that the new ones do not replace would become part of the model.
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise CheckpointError(f"{directory} already exists; allowed: a new or empty directory")
