"""`sfumato rl`: fine-tune with rewards."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.cli.train import Directory, Overrides, RecipePath, Record, Resume, Watch, evaluated, task_scores
from sfumato.errors import ConfigError

if TYPE_CHECKING:
    from sfumato.data.tasks import Item, Task
    from sfumato.engine.model import TextModel
    from sfumato.engine.options import GenerateOptions
    from sfumato.engine.request import Request
    from sfumato.models.decoder import Decoder
    from sfumato.training.rl import RLRecipe, RLTrainer
    from sfumato.training.rollout import Rollout

POSITIONS = 1024
"""Maximum positions per engine step: throughput matters here, not latency."""


def rl(recipe: RecipePath, overrides: Overrides = None, resume: Resume = False, directory: Directory = None) -> None:
    """Fine-tune a model with rewards from the tasks' checkers.

    An interrupt saves the state for --resume.
    """
    from sfumato.api import outline
    from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
    from sfumato.checkpoints.registry import find_model
    from sfumato.config import load_recipe
    from sfumato.data.tasks import find_task
    from sfumato.engine.model import TextModel
    from sfumato.runs import check_directory
    from sfumato.sampling.logits import LearnedStop
    from sfumato.storage import claimed, write_json
    from sfumato.training.recipe import check_recipe
    from sfumato.training.rl import RLRecipe

    loaded = load_recipe(RLRecipe, recipe, overrides or ())
    for task in (*loaded.rollout.tasks, *loaded.evaluation.tasks):
        find_task(task)
    directory = directory or Path("runs") / recipe.stem
    check_directory(directory, resume=resume)
    # Not `load`, whose models are for inference only.
    source, described = find_model(loaded.init_from), outline(loaded.init_from)
    stop_head = LearnedStop.read(source)
    model = TextModel(described.name, load_checkpoint(source), described.tokenizer, stop_head=stop_head)
    watch = Watch("rl", recipe, overrides or (), directory, _describe)
    trainer = make_trainer(model, loaded, directory, watch.record)
    left = directory / "recipe.json"
    if resume:
        check_recipe(left, loaded)
        trainer.resume()
    with claimed(directory), watch:
        write_json(left, dataclasses.asdict(loaded))
        watch.start(trainer)
        trainer.run()
    checkpoint = directory / "checkpoint"
    save_checkpoint(checkpoint, trainer.model, model.spec, generation=model.generation, tensors=trainer.averaged())
    model.tokenizer.save(checkpoint)
    if stop_head is not None:
        stop_head.write(checkpoint)
    typer.echo(json.dumps(_summary(trainer, checkpoint)))


def make_trainer(model: TextModel, recipe: RLRecipe, directory: Path, on_record: Callable[[Record], None]) -> RLTrainer:
    """A trainer with answers from the engine, rewards from the tasks' checkers, and scores."""
    from sfumato.checkpoints.load import Checkpoint
    from sfumato.data.tasks import find_task
    from sfumato.engine.model import TextModel
    from sfumato.evaluation.tasks import evaluate_task
    from sfumato.models.decoder import Decoder
    from sfumato.training.rl import RLTrainer
    from sfumato.training.rollout import Policy, check_replayable

    decoder = model.decoder
    if not isinstance(decoder, Decoder):
        raise ConfigError(f"init_from is {recipe.init_from!r}, which is not a model that can be trained here")
    settings = _settings(recipe)
    check_replayable(model.spec, model.request("?", **settings).sampler)
    tasks = {name: find_task(name) for name in recipe.rollout.tasks}

    def collect(step: int) -> list[list[Rollout]]:
        asked = [_draw_item(tasks, recipe, step, index) for index in range(recipe.rl.prompts)]
        answers = recipe.rl.answers
        requests = [
            dataclasses.replace(
                model.request(item.prompt, n=answers, **settings),
                seed=_derive_seed(recipe.train.seed, step, index, "answers"),
            )
            for index, (_, item) in enumerate(asked)
        ]
        return _collect_groups(model, asked, requests, with_parts=recipe.rl.part_reward > 0)

    def evaluate(weights: Decoder, step: int) -> dict[str, float]:
        # An engine that holds no keys and values of other weights.
        now = TextModel(directory.name, Checkpoint(weights, model.spec, dict(model.generation)), model.tokenizer)
        numbers: dict[str, float] = {}
        wanted = recipe.evaluation
        options: GenerateOptions = {**settings, "record": False, "steps": wanted.steps or settings.get("steps")}
        for name in wanted.tasks:
            score = evaluate_task(now, name, n=wanted.n, **options)
            numbers |= {f"score/{name}": score.score, f"mean_steps/{name}": score.mean_steps}
        return numbers

    return RLTrainer(
        decoder,
        Policy(model.spec, model.bundle.process.mask_id, model.bundle.banned),
        collect,
        rl=recipe.rl,
        config=recipe.train,
        directory=directory,
        evaluate=evaluate if recipe.evaluation.wanted else None,
        on_record=on_record,
    )


def _settings(recipe: RLRecipe) -> GenerateOptions:
    """The sampling options for answers."""
    wanted = recipe.rollout
    settings: GenerateOptions = {
        "canvas_length": wanted.canvas_length or None,
        "max_tokens": wanted.max_tokens or None,
        "record": True,
        # Prompts it has yet to learn are allowed.
        "check_prompt": False,
    }
    for name, value in wanted.sampler.items():
        settings["sampler" if name == "name" else name] = value  # type: ignore[literal-required]
    return settings


def _draw_item(tasks: dict[str, Task], recipe: RLRecipe, step: int, index: int) -> tuple[Task, Item]:
    """The item at an index of an update; the same seed gives the same item."""
    from sfumato.data.tasks import draw

    names, weights = zip(*recipe.rollout.tasks.items(), strict=True)
    chosen = random.Random(_derive_seed(recipe.train.seed, step, index, "task")).choices(names, weights)[0]
    return tasks[chosen], draw(tasks[chosen], "train", _derive_seed(recipe.train.seed, step, index, "item"))


def _collect_groups(
    model: TextModel, asked: Sequence[tuple[Task, Item]], requests: Sequence[Request], *, with_parts: bool
) -> list[list[Rollout]]:
    """Groups of answers and their rewards; a failed answer gets zero."""
    from sfumato.data.tasks.base import judge
    from sfumato.engine.engine import Engine, EngineConfig
    from sfumato.engine.request import Finished
    from sfumato.training.rollout import Rollout

    # A new engine per update, because its cache belongs to the current weights.
    engine = Engine(model, EngineConfig(max_positions=POSITIONS))
    groups: list[dict[int, Rollout]] = [{} for _ in requests]
    for index, event in engine.run(requests):
        if isinstance(event, Finished):
            (task, item), result = asked[index], event.result
            groups[index][event.variation] = Rollout(
                canvases=() if result.failed else result.canvases,
                reward=float(not result.failed and judge(task, item, result.text)),
                parts=tuple(map(float, task.parts(item, result.text))) if with_parts and not result.failed else (),
            )
    return [[group[i] for i in sorted(group)] for group in groups]


def _derive_seed(*parts: int | str) -> int:
    """A seed below 2^61 derived from the parts; the answers of a group count up from it."""
    from sfumato.data.tasks.base import sub_seed

    return sub_seed(*parts) >> 3


def _describe(record: Record) -> str:
    parts = []
    if "reward" in record:
        parts = [
            f"reward {record['reward']:.3f}",
            f"right {record['solved']:.1%}",
            f"{record['mean_steps']:.1f} steps",
            f"KL {record['kl']:.4f}",
        ]
    return " · ".join(parts + evaluated(record))


def _summary(trainer: RLTrainer, checkpoint: Path) -> dict[str, object]:
    """The first and the last scores in the log."""
    log = trainer.log.records()
    scored = [record for record in log if task_scores(record)]

    def scores(record: Record) -> Record:
        return {key: value for key, value in record.items() if key.startswith(("score/", "mean_steps/"))}

    return {
        "steps": trainer.progress.step,
        "seconds": round(trainer.progress.seconds, 3),
        "reward": log[-1].get("reward") if log else None,
        "before": scores(scored[0]) if scored else {},
        "after": scores(scored[-1]) if scored else {},
        "checkpoint": str(checkpoint),
    }
