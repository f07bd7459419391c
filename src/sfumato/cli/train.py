"""`sfumato train`: run a recipe."""

from __future__ import annotations

import json
import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.errors import ConfigError

if TYPE_CHECKING:
    from sfumato.models.decoder import Decoder
    from sfumato.training.recipe import Run
    from sfumato.training.trainer import Loop

LINE_EVERY_S = 30.0
"""Time between lines of progress where stderr is no terminal."""
SCALARS_EVERY = 10
"""Steps between TensorBoard's points."""

Record = dict[str, Any]
Sink = Callable[[Record], None]


def train(
    recipe: Annotated[Path, typer.Argument(help="A TOML file, such as recipes/tiny.toml.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override the recipe: train.steps=100. Repeatable."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the state in the directory.")] = False,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Of the run; runs/ and the recipe's name by default.")
    ] = None,
) -> None:
    """Run a recipe; an interrupt saves the state, from which --resume goes on."""
    from sfumato.config import load_recipe
    from sfumato.data.tasks import find_task
    from sfumato.training.recipe import Recipe, Run

    loaded = load_recipe(Recipe, recipe, overrides or ())
    for task in loaded.evaluation.tasks:
        find_task(task)
    directory = run_directory(directory, recipe, resume)

    sinks: list[Sink] = []

    def on_record(record: Record) -> None:
        for sink in sinks:
            sink(record)

    def evaluate(decoder: Decoder, step: int) -> dict[str, float]:
        return _scores(run, decoder)

    wanted = evaluate if loaded.evaluation.wanted else None
    run = Run(loaded, directory, evaluate=wanted, on_record=on_record)
    if resume:
        run.resume()
    else:
        run.start()
    try:
        with ExitStack() as stack:
            sinks.append(stack.enter_context(showing(directory.name, run.trainer, _describe)))
            sinks.append(stack.enter_context(scalars(directory / "tensorboard", run.trainer)))
            run.trainer.run()
    except KeyboardInterrupt:
        raise interrupted("train", recipe, overrides or (), directory, run.trainer) from None
    run.save_checkpoint()
    typer.echo(json.dumps(_summary(run)))


def run_directory(given: Path | None, recipe: Path, resume: bool) -> Path:
    """The directory of a run: as given, or named after its recipe.

    Raises:
        ConfigError: if it holds a state and is not to be resumed, or the other way round.
    """
    directory = given or Path("runs") / recipe.stem
    state = directory / "state.safetensors"
    if state.exists() and not resume:
        raise ConfigError(f"{directory} holds the state of a run: go on with --resume, or start in another --dir")
    if resume and not state.exists():
        raise ConfigError(f"{directory} holds no state to resume from; leave --resume out to start there")
    return directory


def interrupted(command: str, recipe: Path, overrides: Sequence[str], directory: Path, trainer: Loop) -> typer.Exit:
    """Say how to go on; the exit to raise."""
    settings = [part for override in overrides for part in ("--set", override)]
    again = shlex.join(["sfumato", command, str(recipe), *settings, "--dir", str(directory), "--resume"])
    typer.echo(f"sfumato: saved at step {trainer.progress.step}; go on with: {again}", err=True)
    return typer.Exit(130)


def _scores(run: Run, decoder: Decoder) -> dict[str, float]:
    from sfumato.data.sources import held_out_source
    from sfumato.diffusion.process import make_process
    from sfumato.engine.model import TextModel
    from sfumato.evaluation.likelihood import canvas_nelbo, response_nll
    from sfumato.evaluation.tasks import evaluate_task
    from sfumato.models.checkpoint import Checkpoint

    recipe, wanted = run.recipe, run.recipe.evaluation
    checkpoint = Checkpoint(decoder, recipe.generation_spec, dict(recipe.generation))
    model = TextModel(run.directory.name, checkpoint, run.tokenizer)
    numbers: dict[str, float] = {}
    for task in wanted.tasks:
        score = evaluate_task(model, task, n=wanted.n, steps=wanted.steps or None)
        numbers |= {f"score/{task}": score.score, f"mean_steps/{task}": score.mean_steps}
    if wanted.bound_batches:
        spec, end_id = recipe.generation_spec, run.tokenizer.eos_ids[0]
        source = held_out_source(recipe.data.tasks, run.tokenizer)
        if recipe.packing.canvas_lengths:
            process = make_process(spec.noise, recipe.model.vocab_size, spec.mask_id)
            bound = canvas_nelbo(
                decoder,
                process,
                source,
                packing=recipe.packing,
                end_id=end_id,
                logit_shift=spec.logit_shift,
                num_batches=wanted.bound_batches,
            )
            numbers["canvas_nelbo"] = bound.nats_per_token
        exact = response_nll(decoder, source, packing=recipe.packing, end_id=end_id, num_batches=wanted.bound_batches)
        numbers["response_nll"] = exact.nats_per_token
    return numbers


@contextmanager
def showing(name: str, trainer: Loop, describe: Callable[[Record], str]) -> Iterator[Sink]:
    """A bar where stderr is a terminal, a line now and then where it is not."""
    num_steps, done = trainer.config.steps, trainer.progress.step
    if not sys.stderr.isatty():
        shown_at = -math.inf

        def say(record: Record) -> None:
            nonlocal shown_at
            last = record["step"] == num_steps
            if last or found(record) or time.monotonic() - shown_at >= LINE_EVERY_S:
                shown_at = time.monotonic()
                typer.echo(f"{name}: step {record['step']}/{num_steps} · {describe(record)}", err=True)

        yield say
        return

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None, style="dim", complete_style="default", finished_style="default"),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, highlight=False), expand=True) as bar:
        task = bar.add_task(name, total=num_steps, completed=done, figures="")

        def advance(record: Record) -> None:
            bar.update(task, completed=record["step"], figures=describe(record))
            if found(record):
                bar.console.print(f"step {record['step']} · {describe(record)}", markup=False, style="dim")

        yield advance


@contextmanager
def scalars(directory: Path, trainer: Loop) -> Iterator[Sink]:
    """TensorBoard's log, where it is installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        yield lambda record: None
        return
    # What an interrupted run logged after its last saved state is dropped.
    writer = SummaryWriter(str(directory), purge_step=trainer.progress.step + 1)

    def write(record: Record) -> None:
        if record["step"] % SCALARS_EVERY and not found(record):
            return
        for key, value in record.items():
            if key != "step":
                writer.add_scalar(key, float(value), record["step"])

    try:
        yield write
    finally:
        writer.close()


def _describe(record: Record) -> str:
    parts = [f"loss {record['loss']:.4f}", f"{record['tokens_per_s']:,.0f} tokens/s"]
    return " · ".join(parts + [f"{task} {score:.1%}" for task, score in found(record).items()])


def found(record: Record) -> dict[str, float]:
    """The scores in a record, by task."""
    return {key.removeprefix("score/"): value for key, value in record.items() if key.startswith("score/")}


def records(log: Path) -> list[Record]:
    """What a run has logged."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [json.loads(line) for line in lines]


def _summary(run: Run) -> Record:
    """The final numbers; those of the last step are read from the log, as a finished run takes none when resumed."""
    progress, log = run.trainer.progress, run.trainer.log_path
    last = (records(log) or [{}])[-1]
    loss = last.get("loss", math.nan)
    return {
        "steps": progress.step,
        "tokens": progress.num_tokens,
        "seconds": round(progress.seconds, 3),
        "loss": loss if math.isfinite(loss) else None,
        "scores": found(last),
        "checkpoint": str(run.checkpoint_directory),
    }
