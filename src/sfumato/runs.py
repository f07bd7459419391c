"""Runs a recipe from its first step to its checkpoint, with evaluations along the way."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sfumato.api import load
from sfumato.checkpoints.load import Checkpoint
from sfumato.config import load_recipe
from sfumato.data.sources import Chat, make_source
from sfumato.data.tasks import find_task
from sfumato.diffusion.process import make_process
from sfumato.engine.model import TextModel
from sfumato.errors import ConfigError
from sfumato.evaluation.likelihood import canvas_nelbo, response_nll
from sfumato.evaluation.samples import evaluate_samples, read_samples
from sfumato.evaluation.tasks import evaluate_task
from sfumato.layout import PrefixLayout
from sfumato.models.decoder import Decoder
from sfumato.models.model import find_device
from sfumato.storage import claimed
from sfumato.training.distributed import join_world
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run
from sfumato.training.state import STATE, Record, newest_state
from sfumato.training.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """Result of a run."""

    directory: Path
    """Run directory: recipe, state, log and checkpoint."""
    checkpoint: Path
    """Checkpoint directory of the averaged weights, for `sfumato.load`."""
    steps: int
    """Optimizer steps over all sessions of the run."""
    tokens: int
    """Positions seen, including canvases, without padding."""
    seconds: float
    """Training time over all sessions."""
    metrics: Record = field(default_factory=dict)
    """Figures of the last step, as in log.jsonl: the loss, and scores if it was evaluated."""


def train(
    recipe: Recipe | Mapping[str, object] | str | Path,
    *,
    overrides: Sequence[str] | Mapping[str, object] = (),
    directory: str | Path | None = None,
    resume: bool = False,
    on_start: Callable[[Trainer], None] | None = None,
    on_record: Callable[[Record], None] | None = None,
) -> TrainResult:
    """Run a recipe; under torchrun, together with the other processes.

    SIGINT and SIGTERM finish the current step and save the state for `resume`.

    Args:
        recipe: a TOML file, its tables, or a `Recipe`.
        overrides: changed settings, as "train.steps=100" or {"train.steps": 100}.
        directory: run directory; default: runs/ and the recipe's file name.
        resume: continue from the state in the directory. A finished run continues if the number of steps was raised;
            its schedules follow the new number from there on.
        on_start: called with the trainer before the first step, in the first process.
        on_record: called with the figures of every step, in the first process.

    Raises:
        ConfigError: if the recipe, or the state to resume from, is not allowed.
        Interrupted: a KeyboardInterrupt, raised at a signal after the state was saved.
        SfumatoError: if training fails; see `Run.train`.
    """
    if not isinstance(recipe, Recipe):
        if not isinstance(recipe, Mapping):
            recipe = Path(recipe)
            directory = directory or Path("runs") / recipe.stem
        recipe = load_recipe(Recipe, recipe, overrides)
    elif overrides:
        raise ConfigError("overrides are for a file or tables; allowed with a Recipe: none, use dataclasses.replace")
    if directory is None:
        raise ConfigError("directory is missing; it has a default only for a recipe from a file")
    for task in recipe.evaluation.tasks:
        find_task(task)
    if recipe.evaluation.prompts:
        _read_samples(recipe)
    directory = Path(directory)
    check_directory(directory, resume=resume)
    with join_world() as world, claimed(directory) if world.leads else nullcontext():

        def evaluate(decoder: Decoder, step: int) -> dict[str, float]:
            return _score(run, decoder)

        wanted = evaluate if recipe.evaluation.wanted else None
        run = Run(recipe, directory, evaluate=wanted, on_record=on_record, world=world)
        if resume:
            run.resume()
        run.start()
        if on_start is not None and world.leads:
            on_start(run.trainer)
        with warnings.catch_warnings():
            # Under autocast, norms read bfloat16 and keep their weights in float32.
            warnings.filterwarnings("ignore", "Mismatch dtype between input and weight")
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
    """Refuse a directory that already has a state without `resume`, or has none with it.

    Raises:
        ConfigError: saying what to do.
    """
    state = newest_state(directory / STATE)
    if state and not resume:
        raise ConfigError(f"{directory} holds the state of a run: continue with --resume, or use another --dir")
    if resume and not state:
        raise ConfigError(
            f"{directory} holds no state to resume from, which a run saves every train.save_every_s; "
            "leave --resume out to start a new run"
        )


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
        tasks, room = {} if wanted.files else recipe.data.tasks, run.shape.max_position_embeddings
        source = make_source(
            tasks,
            wanted.files,
            run.tokenizer,
            recipe.packing,
            max_tokens=room,
            every_answer=recipe.data.every_answer,
            split="test",
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
        samples, judge = _read_samples(recipe)
        measured = asdict(evaluate_samples(model, samples, n=wanted.n, judge=judge, steps=wanted.steps or None))
        names = ("exact", "judge_nll", "unigram_entropy", "distinct_2", "repetition", "ended", "tokens")
        numbers |= {f"sample_{name}": measured[name] for name in names if measured[name] is not None}
    return numbers


def _read_samples(recipe: Recipe) -> tuple[Sequence[Chat], TextModel | None]:
    """The prompts to answer during training, and the model that judges the answers, on the run's device."""
    wanted = recipe.evaluation
    judge = _load_judge(wanted.judge, find_device(recipe.train.device)) if wanted.judge else None
    if judge is not None and not judge.spec.autoregressive:
        raise ConfigError(f"evaluation.judge is {wanted.judge}; allowed: an autoregressive model")
    return read_samples(Path(wanted.prompts)), judge


@functools.cache
def _load_judge(name: str, device: str) -> TextModel:
    return load(name, device=device)
