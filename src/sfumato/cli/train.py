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
from sfumato.interrupts import exit_code

if TYPE_CHECKING:
    from sfumato.training.recipe import Recipe
    from sfumato.training.trainer import Loop

LINE_EVERY_S = 30.0
"""Seconds between progress lines if stderr is not a terminal."""
SCALARS_EVERY = 10
"""Steps between TensorBoard points."""

Record = dict[str, float]
Sink = Callable[[Record], None]


RecipePath = Annotated[Path, typer.Argument(help="TOML file; recipes/README.md lists examples.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the recipe, e.g. train.steps=100. Repeatable."),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue from the saved state; extends a finished run if train.steps was raised."),
]
Directory = Annotated[Path | None, typer.Option("--dir", help="Run directory; default: runs/ plus the recipe's name.")]


def train(
    recipe: Annotated[
        Path,
        typer.Argument(help="TOML file, e.g. recipes/tiny.toml; --plan also takes 1b, 8b, 26b-a4b or a checkpoint."),
    ],
    overrides: Overrides = None,
    resume: Resume = False,
    directory: Directory = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Estimate memory and time on 1 to 64 GPUs, without training.")
    ] = False,
    gpu: Annotated[
        str | None, typer.Option("--gpu", help="With --plan: a100, h100, h200 or b200.", show_default="h100")
    ] = None,
    mfu: Annotated[float | None, typer.Option("--mfu", help="With --plan: share of peak arithmetic reached.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --plan: print one JSON object.")] = False,
) -> None:
    """Train a model from a recipe.

    An interrupt saves the state for --resume. Under torchrun, several processes train together.
    """
    if plan:
        from sfumato.cli.plan import print_plan

        print_plan(recipe, overrides or (), gpu=gpu or "h100", mfu=mfu, as_json=as_json)
        return
    for option, is_given in (("--gpu", gpu is not None), ("--mfu", mfu is not None), ("--json", as_json)):
        if is_given:
            raise ConfigError(f"{option} is given; allowed: only with --plan")
    _run(recipe, overrides or (), resume, directory, command="train")


def adapt(recipe: RecipePath, overrides: Overrides = None, resume: Resume = False, directory: Directory = None) -> None:
    """Adapt an autoregressive checkpoint to canvases: a recipe with a table [adapt]."""
    _run(recipe, overrides or (), resume, directory, command="adapt")


def distil(
    recipe: RecipePath, overrides: Overrides = None, resume: Resume = False, directory: Directory = None
) -> None:
    """Train a model to need fewer steps: a recipe with init_from and a teacher or sharpen weight."""
    _run(recipe, overrides or (), resume, directory, command="distil")


def _check_kind(recipe: Recipe, command: str) -> None:
    """Refuse a recipe meant for another command."""
    objective = recipe.objective
    if command == "adapt" and recipe.adapt is None:
        raise ConfigError("the recipe has no [adapt]; allowed: one that names a base, or `sfumato train`")
    if command == "distil" and not (recipe.init_from and (objective.teacher_weight or objective.sharpen_weight)):
        raise ConfigError(
            "the recipe has no init_from, or neither objective.teacher_weight nor objective.sharpen_weight; allowed: "
            "a model to start from and one of them, or `sfumato train`"
        )


def _run(recipe: Path, overrides: Sequence[str], resume: bool, directory: Path | None, *, command: str) -> None:
    from sfumato import runs
    from sfumato.config import load_recipe
    from sfumato.training.recipe import Recipe

    loaded = load_recipe(Recipe, recipe, overrides)
    _check_kind(loaded, command)
    directory = directory or Path("runs") / recipe.stem
    with Watch(command, recipe, overrides, directory, _describe) as watch:
        result = runs.train(loaded, directory=directory, resume=resume, on_start=watch.start, on_record=watch.record)
    if watch.trainer is not None:
        loss = result.metrics.get("loss", math.nan)
        summary = {
            "steps": result.steps,
            "tokens": result.tokens,
            "seconds": result.seconds,
            "loss": loss if math.isfinite(loss) else None,
            "scores": task_scores(result.metrics),
            "checkpoint": str(result.checkpoint),
        }
        typer.echo(json.dumps(summary))


class Watch(ExitStack):
    """Shows a run on stderr and in TensorBoard; if interrupted, prints how to resume and exits.

    Args:
        describe: formats a record in a few words.
    """

    def __init__(
        self, command: str, recipe: Path, overrides: Sequence[str], directory: Path, describe: Callable[[Record], str]
    ) -> None:
        super().__init__()
        settings = [part for override in overrides for part in ("--set", override)]
        self._again = ["sfumato", command, str(recipe), *settings, "--dir", str(directory), "--resume"]
        self._directory, self._describe = directory, describe
        self._sinks: list[Sink] = []
        self.trainer: Loop | None = None
        """The trainer, in the first process."""

    def start(self, trainer: Loop) -> None:
        """Show a trainer's progress from now on."""
        self.trainer = trainer
        self._sinks = [
            self.enter_context(showing(self._directory.name, trainer, self._describe)),
            self.enter_context(scalars(self._directory / "tensorboard", trainer)),
        ]

    def record(self, record: Record) -> None:
        """Show the numbers of a step."""
        for sink in self._sinks:
            sink(record)

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        error = exception[1]
        if not isinstance(error, KeyboardInterrupt):
            return
        if self.trainer is not None:
            world, step = self.trainer.world, self.trainer.progress.step
            started = ["torchrun", f"--nproc-per-node={world.size}", "-m"] if world.mesh is not None else []
            again = shlex.join([*started, *self._again])
            typer.echo(f"sfumato: saved at step {step}; to continue, run: {again}", err=True)
        raise typer.Exit(exit_code(error)) from None


@contextmanager
def showing(name: str, trainer: Loop, describe: Callable[[Record], str]) -> Iterator[Sink]:
    """A progress bar if stderr is a terminal, otherwise an occasional line."""
    num_steps, done = trainer.config.steps, trainer.progress.step
    if not sys.stderr.isatty():
        shown_at = -math.inf

        def say(record: Record) -> None:
            nonlocal shown_at
            last = record["step"] == num_steps
            if last or evaluated(record) or time.monotonic() - shown_at >= LINE_EVERY_S:
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
            if evaluated(record):
                bar.console.print(f"step {record['step']} · {describe(record)}", markup=False, style="dim")

        yield advance


@contextmanager
def scalars(directory: Path, trainer: Loop) -> Iterator[Sink]:
    """Log to TensorBoard, if installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        yield lambda record: None
        return
    # Drop what an interrupted run logged after its last saved state.
    writer = SummaryWriter(str(directory), purge_step=trainer.progress.step + 1)

    def write(record: Record) -> None:
        if record["step"] % SCALARS_EVERY and not evaluated(record):
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
    return " · ".join(parts + evaluated(record))


def evaluated(record: Record) -> list[str]:
    """What the step's evaluation found, in words; empty if it had none."""
    shares = task_scores(record) | ({"exact": record["sample_exact"]} if "sample_exact" in record else {})
    nats = {"held-out bound": "canvas_nelbo", "held-out loss": "response_nll", "judge": "sample_judge_nll"}
    return [f"{name} {share:.1%}" for name, share in shares.items()] + [
        f"{name} {record[key]:.3f} nats" for name, key in nats.items() if key in record
    ]


def task_scores(record: Record) -> dict[str, float]:
    """The scores in a record, by task."""
    return {key.removeprefix("score/"): value for key, value in record.items() if key.startswith("score/")}
