"""A recipe from its first step to its checkpoint: training, and the scores that are taken on the way."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sfumato.api import load
from sfumato.checkpoints.load import Checkpoint
from sfumato.config import load_recipe
from sfumato.data.sources import held_out_source, make_source
from sfumato.data.tasks import find_task
from sfumato.diffusion.process import make_process
from sfumato.engine.model import TextModel
from sfumato.errors import ConfigError
from sfumato.evaluation.likelihood import canvas_nelbo, response_nll
from sfumato.evaluation.samples import evaluate_samples, read_prompts
from sfumato.evaluation.tasks import evaluate_task
from sfumato.hardware import find_device
from sfumato.layout import PrefixLayout
from sfumato.models.decoder import Decoder
from sfumato.training.distributed import join_world
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run
from sfumato.training.state import Record, newest_state
from sfumato.training.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What came out of a run."""

    directory: Path
    """Of the run: its recipe, state, log and checkpoint."""
    checkpoint: Path
    """A checkpoint directory of the averaged weights, as `sfumato.load` takes it."""
    steps: int
    """Optimizer steps of all sittings."""
    tokens: int
    """Positions seen in them, canvases included, padding not."""
    seconds: float
    """Time spent in them."""
    metrics: Record = field(default_factory=dict)
    """Of the last step, as log.jsonl has them: the loss, and scores if it was evaluated."""


def train(
    recipe: Recipe | Mapping[str, object] | str | Path,
    *,
    overrides: Sequence[str] | Mapping[str, object] = (),
    directory: str | Path | None = None,
    resume: bool = False,
    on_start: Callable[[Trainer], None] | None = None,
    on_record: Callable[[Record], None] | None = None,
) -> TrainResult:
    """Run a recipe, under torchrun together with the other processes.

    SIGINT and SIGTERM save the state after the step in work, from which `resume` goes on.

    Args:
        recipe: a TOML file, the tables of one, or what they were read into.
        overrides: what to change of them, as "train.steps=100" or {"train.steps": 100}.
        directory: of the run; runs/ and the name of the recipe's file by default.
        resume: go on from the state in the directory. With more steps than before a finished run goes on as well; its
            schedules are those of the new number from there on.
        on_start: called before the first step with what trains, in the first process.
        on_record: called with the numbers of every step, in the first process.

    Raises:
        ConfigError: if the recipe, or what it is to go on from, is not allowed.
        Interrupted: a KeyboardInterrupt, at a signal, with the state saved.
        SfumatoError: if training fails, see `Run.train`.
    """
    if not isinstance(recipe, Recipe):
        if not isinstance(recipe, Mapping):
            recipe = Path(recipe)
            directory = directory or Path("runs") / recipe.stem
        recipe = load_recipe(Recipe, recipe, overrides)
    elif overrides:
        raise ConfigError("overrides change a file or tables; allowed with a Recipe: none, use dataclasses.replace")
    if directory is None:
        raise ConfigError("directory is not given; only a recipe from a file has a name for one")
    for task in recipe.evaluation.tasks:
        find_task(task)
    if recipe.evaluation.prompts:
        _read_prompts(recipe)
    directory = Path(directory)
    check_directory(directory, resume=resume)
    with join_world() as world:

        def evaluate(decoder: Decoder, step: int) -> dict[str, float]:
            return _score(run, decoder)

        wanted = evaluate if recipe.evaluation.wanted else None
        run = Run(recipe, directory, evaluate=wanted, on_record=on_record, world=world)
        if resume:
            run.resume()
        run.start()
        if on_start is not None and world.leads:
            on_start(run.trainer)
        run.train()
        run.save_checkpoint()
        progress = run.trainer.progress
        return TrainResult(
            directory=directory,
            checkpoint=run.checkpoint_directory,
            steps=progress.step,
            tokens=progress.num_tokens,
            seconds=round(progress.seconds, 3),
            # From the log: a finished run that is resumed takes no step.
            metrics=(run.trainer.log.records() or [{}])[-1],
        )


def check_directory(directory: Path, *, resume: bool) -> None:
    """Refuse a run's directory that holds a state and is not to be resumed, or the other way round.

    Raises:
        ConfigError: saying what to do.
    """
    state = newest_state(directory / "state.safetensors")
    if state and not resume:
        raise ConfigError(f"{directory} holds the state of a run: go on with --resume, or start in another --dir")
    if resume and not state:
        raise ConfigError(f"{directory} holds no state to resume from; leave --resume out to start there")


def _score(run: Run, decoder: Decoder) -> dict[str, float]:
    recipe, wanted = run.recipe, run.recipe.evaluation
    checkpoint = Checkpoint(decoder, run.spec, dict(run.generation))
    model = TextModel(run.directory.name, checkpoint, run.tokenizer, stop_head=run.stop_head)
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
            bound = canvas_nelbo(
                decoder,
                make_process(spec.noise, run.shape.vocab_size, spec.mask_id),
                source,
                packing=recipe.packing,
                end_id=end_id,
                spec=spec,
                num_batches=wanted.bound_batches,
            )
            numbers["canvas_nelbo"] = bound.nats_per_token
        if PrefixLayout(spec).causal:
            exact = response_nll(
                decoder, source, packing=recipe.packing, end_id=end_id, num_batches=wanted.bound_batches
            )
            numbers["response_nll"] = exact.nats_per_token
    if wanted.prompts:
        prompts, judge = _read_prompts(recipe)
        samples = evaluate_samples(model, prompts, n=wanted.n, judge=judge, steps=wanted.steps or None)
        measured = asdict(samples)
        names = ("judge_nll", "unigram_entropy", "distinct_2", "repetition", "ended", "tokens")
        numbers |= {f"sample_{name}": measured[name] for name in names if measured[name] is not None}
    return numbers


def _read_prompts(recipe: Recipe) -> tuple[Sequence[Sequence[Mapping[str, object]]], TextModel | None]:
    """The prompts that are answered while training, and the model that judges the answers, on the device of the run.

    Raises:
        SfumatoError: if they cannot be read, or the judge cannot be loaded or reads in both directions.
    """
    wanted = recipe.evaluation
    judge = _load_judge(wanted.judge, find_device(recipe.train.device)) if wanted.judge else None
    if judge is not None and not judge.spec.autoregressive:
        raise ConfigError(f"evaluation.judge is {wanted.judge}; allowed: an autoregressive model")
    return read_prompts(Path(wanted.prompts)), judge


@functools.cache
def _load_judge(name: str, device: str) -> TextModel:
    return load(name, device=device)
