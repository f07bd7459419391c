"""`sfumato train`: run a recipe."""

from __future__ import annotations

import functools
import json
import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.errors import ConfigError

if TYPE_CHECKING:
    from sfumato.engine.model import TextModel
    from sfumato.models.decoder import Decoder
    from sfumato.training.distributed import World
    from sfumato.training.recipe import Recipe, Run
    from sfumato.training.trainer import Loop

LINE_EVERY_S = 30.0
"""Time between lines of progress where stderr is no terminal."""
SCALARS_EVERY = 10
"""Steps between TensorBoard's points."""

Record = dict[str, Any]
Sink = Callable[[Record], None]


RecipePath = Annotated[Path, typer.Argument(help="A TOML file, such as recipes/tiny.toml.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override the recipe: train.steps=100. Repeatable."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the state in the directory.")]
Directory = Annotated[Path | None, typer.Option("--dir", help="Of the run; runs/ and the recipe's name by default.")]


def train(
    recipe: Annotated[
        Path,
        typer.Argument(help="A TOML file, such as recipes/tiny.toml; --plan also takes 1b, 8b, 26b-a4b, a checkpoint."),
    ],
    overrides: Overrides = None,
    resume: Resume = False,
    directory: Directory = None,
    plan: Annotated[bool, typer.Option("--plan", help="Count memory and time on 1 to 64 GPUs; train nothing.")] = False,
    gpu: Annotated[str, typer.Option("--gpu", help="With --plan: a100, h100, h200 or b200.")] = "h100",
    mfu: Annotated[float | None, typer.Option("--mfu", help="With --plan: share of the peak that is reached.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --plan: print one JSON object.")] = False,
) -> None:
    """Run a recipe; an interrupt saves the state, from which --resume goes on. Under torchrun, several processes run it
    together."""
    if plan:
        from sfumato.cli.plan import print_plan

        print_plan(recipe, overrides or (), gpu=gpu, mfu=mfu, as_json=as_json)
        return
    if as_json or mfu is not None:
        raise ConfigError("--json and --mfu say how to plan; allowed: with --plan")
    _run(recipe, overrides or (), resume, directory, command="train")


def adapt(recipe: RecipePath, overrides: Overrides = None, resume: Resume = False, directory: Directory = None) -> None:
    """Teach an autoregressive checkpoint to refine canvases: a recipe with a table [adapt]."""
    _run(recipe, overrides or (), resume, directory, command="adapt")


def distil(
    recipe: RecipePath, overrides: Overrides = None, resume: Resume = False, directory: Directory = None
) -> None:
    """Teach a model to need fewer steps: a recipe with init_from and a teacher or sharpen weight."""
    _run(recipe, overrides or (), resume, directory, command="distil")


def _check_kind(recipe: Recipe, command: str) -> None:
    """Refuse a recipe that is for another command.

    Raises:
        ConfigError: saying what is missing.
    """
    objective = recipe.objective
    if command == "adapt" and recipe.adapt is None:
        raise ConfigError("the recipe has no [adapt]; allowed: one that names a base, or `sfumato train`")
    if command == "distil" and not (recipe.init_from and (objective.teacher_weight or objective.sharpen_weight)):
        raise ConfigError(
            "the recipe has no init_from, or neither objective.teacher_weight nor objective.sharpen_weight; allowed: "
            "a model to start from and one of them, or `sfumato train`"
        )


def _run(recipe: Path, overrides: Sequence[str], resume: bool, directory: Path | None, *, command: str) -> None:
    from sfumato.config import load_recipe
    from sfumato.data.tasks import find_task
    from sfumato.training.distributed import join_world
    from sfumato.training.recipe import Recipe

    loaded = load_recipe(Recipe, recipe, overrides)
    _check_kind(loaded, command)
    for task in loaded.evaluation.tasks:
        find_task(task)
    if loaded.evaluation.prompts:
        _asked(loaded)
    directory = run_directory(directory, recipe, resume)
    again = resuming(command, recipe, overrides, directory)
    with join_world() as world:
        _train(loaded, directory, world, resume=resume, again=again)


def _train(recipe: Recipe, directory: Path, world: World, *, resume: bool, again: Sequence[str]) -> None:
    from sfumato.training.recipe import Run

    sinks: list[Sink] = []

    def on_record(record: Record) -> None:
        for sink in sinks:
            sink(record)

    def evaluate(decoder: Decoder, step: int) -> dict[str, float]:
        return _scores(run, decoder)

    wanted = evaluate if recipe.evaluation.wanted else None
    run = Run(recipe, directory, evaluate=wanted, on_record=on_record, world=world)
    if resume:
        run.resume()
    else:
        run.start()
    try:
        with ExitStack() as stack:
            if world.leads:
                sinks.append(stack.enter_context(showing(directory.name, run.trainer, _describe)))
                sinks.append(stack.enter_context(scalars(directory / "tensorboard", run.trainer)))
            run.train()
    except KeyboardInterrupt:
        raise interrupted(again, run.trainer) from None
    run.save_checkpoint()
    if world.leads:
        typer.echo(json.dumps(_summary(run)))


def run_directory(given: Path | None, recipe: Path, resume: bool) -> Path:
    """The directory of a run: as given, or named after its recipe.

    Raises:
        ConfigError: if it holds a state and is not to be resumed, or the other way round.
    """
    from sfumato.training.state import newest_state

    directory = given or Path("runs") / recipe.stem
    state = newest_state(directory / "state.safetensors")
    if state and not resume:
        raise ConfigError(f"{directory} holds the state of a run: go on with --resume, or start in another --dir")
    if resume and not state:
        raise ConfigError(f"{directory} holds no state to resume from; leave --resume out to start there")
    return directory


def interrupted(again: Sequence[str], trainer: Loop) -> typer.Exit:
    """Say how to go on; the exit to raise.

    Args:
        again: the command that resumes the run in one process.
        trainer: of the run.
    """
    world = trainer.world
    started = ["torchrun", f"--nproc-per-node={world.size}", "-m"] if world.mesh is not None else []
    if world.leads:
        step = trainer.progress.step
        typer.echo(f"sfumato: saved at step {step}; go on with: {shlex.join([*started, *again])}", err=True)
    return typer.Exit(130)


def _scores(run: Run, decoder: Decoder) -> dict[str, float]:
    from sfumato.data.sources import held_out_source, make_source
    from sfumato.diffusion.process import make_process
    from sfumato.engine.model import TextModel
    from sfumato.evaluation.likelihood import canvas_nelbo, response_nll
    from sfumato.evaluation.samples import evaluate_samples
    from sfumato.evaluation.tasks import evaluate_task
    from sfumato.models.checkpoint import Checkpoint

    recipe, wanted = run.recipe, run.recipe.evaluation
    checkpoint = Checkpoint(decoder, run.spec, dict(run.generation))
    model = TextModel(run.directory.name, checkpoint, run.tokenizer)
    numbers: dict[str, float] = {}
    for task in wanted.tasks:
        score = evaluate_task(model, task, n=wanted.n, steps=wanted.steps or None)
        numbers |= {f"score/{task}": score.score, f"mean_steps/{task}": score.mean_steps}
    if wanted.bound_batches:
        spec, end_id = run.spec, run.tokenizer.eos_ids[0]
        window = recipe.packing.row_length // (2 + recipe.packing.canvas_copies)
        source = (
            make_source({}, wanted.files, run.tokenizer, window)
            if wanted.files
            else held_out_source(recipe.data.tasks, run.tokenizer)
        )
        if recipe.packing.canvas_lengths:
            process = make_process(spec.noise, run.shape.vocab_size, spec.mask_id)
            bound = canvas_nelbo(
                decoder,
                process,
                source,
                packing=recipe.packing,
                end_id=end_id,
                spec=spec,
                num_batches=wanted.bound_batches,
            )
            numbers["canvas_nelbo"] = bound.nats_per_token
        if spec.prefix_attention == "causal":
            exact = response_nll(
                decoder, source, packing=recipe.packing, end_id=end_id, num_batches=wanted.bound_batches
            )
            numbers["response_nll"] = exact.nats_per_token
    if wanted.prompts:
        prompts, judge = _asked(recipe)
        steps: dict[str, Any] = {"steps": wanted.steps} if wanted.steps else {}
        samples = evaluate_samples(model, prompts, n=wanted.n, judge=judge, **steps)
        measured = asdict(samples)
        names = ("judge_nll", "unigram_entropy", "distinct_2", "repetition", "ended", "tokens")
        numbers |= {f"sample_{name}": measured[name] for name in names if measured[name] is not None}
    return numbers


def _asked(recipe: Recipe) -> tuple[list[Sequence[Mapping[str, Any]]], TextModel | None]:
    """The prompts that are answered while training, and who reads the answers, on the device that it trains on.

    Raises:
        SfumatoError: if they cannot be read, or who reads them cannot be loaded or reads in both directions.
    """
    from sfumato.evaluation.samples import read_prompts
    from sfumato.hardware import find_device

    wanted = recipe.evaluation
    judge = _judge(wanted.judge, find_device(recipe.train.device)) if wanted.judge else None
    if judge is not None and not judge.spec.autoregressive:
        raise ConfigError(f"evaluation.judge is {wanted.judge}; allowed: an autoregressive model")
    return read_prompts(Path(wanted.prompts)), judge


@functools.cache
def _judge(name: str, device: str) -> TextModel:
    from sfumato.engine.model import load

    return load(name, device=device)


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


def resuming(command: str, recipe: Path, overrides: Sequence[str], directory: Path) -> list[str]:
    settings = [part for override in overrides for part in ("--set", override)]
    return ["sfumato", command, str(recipe), *settings, "--dir", str(directory), "--resume"]


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
