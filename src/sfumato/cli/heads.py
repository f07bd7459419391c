"""`sfumato heads`: train the stop head and the length head of a finished model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.cli.train import Directory, Overrides, RecipePath, Resume
from sfumato.errors import ConfigError

if TYPE_CHECKING:
    from sfumato.models.decoder import Decoder
    from sfumato.training.heads import HeadsRecipe

# These do not affect the answers.
_OF_FITTING = ("held_out", "stop", "right", "length_buckets", "epochs", "lr")


def heads(recipe: RecipePath, overrides: Overrides = None, resume: Resume = False, directory: Directory = None) -> None:
    """Train a stop head and a length head on a model's own answers.

    Answers gathered earlier are reused.
    """
    from sfumato.api import load, outline
    from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
    from sfumato.checkpoints.registry import find_model
    from sfumato.checkpoints.tensors import hash_of_weights
    from sfumato.config import load_recipe
    from sfumato.data.tasks import find_task
    from sfumato.evaluation.gathering import PIECE, gather, prompts
    from sfumato.models.decoder import Decoder
    from sfumato.sampling.logits import LearnedStop
    from sfumato.storage import claimed, sha256_of, write_json
    from sfumato.training.heads import (
        HeadsRecipe,
        fit_length,
        fit_stop,
        length_scores,
        split,
        stop_scores,
        stop_threshold,
    )
    from sfumato.training.recipe import check_recipe

    loaded = load_recipe(HeadsRecipe, recipe, overrides or ())
    for task in loaded.tasks:
        find_task(task)
    if loaded.n <= PIECE:
        raise ConfigError(f"n is {loaded.n}; allowed: more than {PIECE}, because whole files of {PIECE} are held out")
    directory = directory or Path("runs") / recipe.stem
    path = directory / "recipe.json"
    if resume and not path.exists():
        raise ConfigError(f"{directory} holds no answers to resume from; leave --resume out to start a new run")
    check_recipe(path, loaded, free=_OF_FITTING, what="answers gathered by", advice="use another --dir")
    outline(loaded.model)
    model = load(loaded.model)
    if not isinstance(model.decoder, Decoder) or model.spec.autoregressive:
        raise ConfigError(f"model is {loaded.model}; allowed: a Sfumato model that refines canvases")
    if loaded.length_buckets and not model.bundle.layout.causal:
        raise ConfigError(
            f"length_buckets is {list(loaded.length_buckets)} and {model.bundle.layout.setting} "
            f"of {loaded.model}; allowed: none, because a length head needs a causal prefix"
        )
    # The weights as they are stored, not as they answer.
    decoder = load_checkpoint(find_model(loaded.model)).model
    assert isinstance(decoder, Decoder)
    asked = prompts(loaded.tasks, loaded.files, loaded.n, loaded.seed)
    settings = {"steps": loaded.steps, "max_tokens": loaded.max_tokens, "seed": loaded.seed}
    # Of weights and prompts: files may have changed since.
    inputs = directory / "inputs.json"
    weights = hash_of_weights(find_model(loaded.model))
    hashes = {"weights": weights, "files": sha256_of(Path(name) for name in loaded.files)}
    if inputs.exists() and json.loads(inputs.read_text(encoding="utf-8")) != hashes:
        raise ConfigError(f"{directory} holds answers gathered with other weights or files; use another --dir")
    with claimed(directory):
        write_json(path, dataclasses.asdict(loaded))
        write_json(inputs, hashes)
        for done in gather(model, asked, directory, **settings):
            typer.echo(f"{directory.name}: {done}/{len(asked)} answers", err=True)
    learned, held_out = split(sorted(directory.glob("features-*.safetensors")), loaded.held_out)
    scores: dict[str, float] = {}
    generation = dict(model.generation)
    checkpoint = directory / "checkpoint"
    if loaded.length_buckets and not (len(learned.lengths_N) and len(held_out.lengths_N)):
        typer.echo(f"{directory.name}: too few answers finished to learn lengths; no length head", err=True)
    elif loaded.length_buckets:
        decoder = _with_length_head(decoder, loaded)
        fit_length(decoder, learned, loaded)
        scores |= length_scores(decoder, held_out)
    head = model.bundle.stop_head
    if loaded.stop:
        head = fit_stop(learned, loaded)
        generation["stop_probability"] = threshold = stop_threshold(learned, loaded)
        scores |= stop_scores(head, held_out, loaded, threshold)
    save_checkpoint(checkpoint, decoder, model.spec, generation=generation)
    if head is not None:
        assert isinstance(head, LearnedStop)
        head.write(checkpoint)
    model.tokenizer.save(checkpoint)
    rounded = {name: round(value, 4) for name, value in scores.items()}
    typer.echo(json.dumps({"steps_seen": len(learned.settled_N), **rounded, "checkpoint": str(checkpoint)}))


def _with_length_head(decoder: Decoder, recipe: HeadsRecipe) -> Decoder:
    """The model with a fresh length head."""
    import torch

    from sfumato.models.decoder import Decoder

    changed = Decoder(dataclasses.replace(decoder.config, length_buckets=recipe.length_buckets))
    state = changed.state_dict()
    kept = {name: tensor for name, tensor in decoder.state_dict().items() if not name.startswith("length_head")}
    # From zero: the problem is convex, so the start does not matter.
    fresh = {name: torch.zeros_like(tensor) for name, tensor in state.items() if name.startswith("length_head")}
    changed.load_state_dict(state | kept | fresh)
    return changed.eval()
