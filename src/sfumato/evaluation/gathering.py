"""Gathers training data for heads: a model's own answers, step by step."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import save

from sfumato.data.sources import check_weights, read_records
from sfumato.data.tasks import draw, find_task
from sfumato.engine.model import TextModel
from sfumato.engine.prompts import Prompt
from sfumato.engine.request import Result
from sfumato.errors import ConfigError
from sfumato.sampling.logits import stop_features
from sfumato.storage import write_atomically

PIECE = 32
"""Answers per file; an interruption loses at most this many."""


def prompts(tasks: Mapping[str, float], files: Mapping[str, float], n: int, seed: int) -> list[Prompt]:
    """Prompts of tasks and of chat files, by weight.

    Raises:
        ConfigError: if a task or a file does not exist, a file has no prompts, or the weights are not allowed.
    """
    rng = random.Random(f"heads {seed}")
    names, weights = [*tasks, *files], [*tasks.values(), *files.values()]
    check_weights("the weights of tasks and files", weights)
    turns = {path: [record.turns for record in read_records(Path(path)) if record.turns] for path in files}
    for path, found in turns.items():
        if not found:
            raise ConfigError(f"{path} holds no prompts; allowed: messages, or prompt and response")
    drawn: list[Prompt] = []
    for name in rng.choices(names, weights, k=n):
        if name in turns:
            drawn.append(rng.choice(turns[name]))
        else:
            drawn.append(draw(find_task(name), "train", rng.getrandbits(62)).prompt)
    return drawn


def gather(
    model: TextModel, asked: Sequence[Prompt], directory: Path, *, steps: int, max_tokens: int, seed: int
) -> Iterator[int]:
    """Answer prompts and save the heads' inputs in files, under the names `training.heads` reads; existing files are
    kept.

    Args:
        model: answers with all steps of each canvas.
        max_tokens: maximum tokens of an answer.

    Yields:
        The number of prompts done.
    """
    for first in range(0, len(asked), PIECE):
        path = directory / f"features-{first:06d}.safetensors"
        if not path.exists():
            piece = _piece(model, asked[first : first + PIECE], steps, max_tokens, seed + first)
            write_atomically(path, save({name: tensor.contiguous() for name, tensor in piece.items()}))
        yield min(first + PIECE, len(asked))


def _piece(
    model: TextModel, asked: Sequence[Prompt], steps: int, max_tokens: int, seed: int
) -> dict[str, torch.Tensor]:
    results = model.generate_batch(
        asked,
        seeds=[seed + i for i in range(len(asked))],
        trace=True,
        canvas_length=model.spec.canvas_length,
        steps=steps,
        adaptive=False,
        max_tokens=max_tokens,
        check_prompt=False,
    )
    seen = [_steps(result) for result in results]
    whole = [i for i, result in enumerate(results) if result.finish_reason == "stop"]
    states = [model.bundle.last_state(model.request(asked[i], check_prompt=False).prompt).float().cpu() for i in whole]
    return {
        "features_NF": torch.cat([features for features, _ in seen]),
        "settled_N": torch.cat([settled for _, settled in seen]),
        "states_ND": torch.stack(states) if states else torch.zeros(0, model.decoder.embedding_VD.shape[1]),
        "lengths_N": torch.tensor([results[i].usage.completion_tokens + 1 for i in whole], dtype=torch.int64),
    }


def _steps(result: Result) -> tuple[torch.Tensor, torch.Tensor]:
    """Features of every step of an answer, and whether the draft was already final."""
    features, settled = [], []
    events = [event for event in result.trace if event.step > 0]
    last = {event.canvas: event.tokens for event in events}
    stable, before = 0, (-1, tuple[int, ...]())
    for event in events:
        stable = stable + 1 if before == (event.canvas, event.tokens) else 0
        before = (event.canvas, event.tokens)
        confidence = torch.tensor([event.confidence])
        features.append(
            stop_features(confidence, torch.ones_like(confidence, dtype=torch.bool), torch.tensor([stable]))
        )
        settled.append(event.tokens == last[event.canvas])
    return torch.cat(features), torch.tensor(settled)
