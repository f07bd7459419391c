"""How well a model fills gaps: pieces cut out of gold responses, to be written again with both ends in sight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Unpack

from sfumato.engine.model import TextModel
from sfumato.engine.options import InfillOptions
from sfumato.evaluation.tasks import asked_items

_LONGEST = 12


@dataclass(frozen=True, kw_only=True)
class GapScore:
    """One model on the gaps of one task."""

    task: str
    """Name of the task."""
    n: int
    """Items of the test split, each with one gap of 1 to 12 tokens."""
    seed: int
    """Of items, gaps and sampling."""
    steps: int
    """Most steps a canvas was allowed."""
    restored: float
    """Share of gaps that hold, to the letter, what was cut out."""
    right: float
    """Share of whole responses that the task's checker accepts."""
    length_near: float
    """Share of gaps whose number of tokens is that of what was cut out, give or take one."""
    mean_steps: float
    """Denoising steps of an answer, over all that was tried for it."""


def evaluate_gaps(
    model: TextModel,
    name: str,
    *,
    n: int = 100,
    on_progress: Callable[[int, int], None] | None = None,
    **options: Unpack[InfillOptions],
) -> GapScore:
    """Cut a random piece out of n gold responses and have it written again; its length is not told.

    Raises:
        ConfigError: if the task is not known.
        RequestError: if n or a setting is not allowed, or the model sees nothing after a position.
    """
    seed = options.get("seed", 0)
    task, asked = asked_items(name, seed, n)
    tokenizer = model.tokenizer
    restored = right = near = num_steps = 0
    for i, item in enumerate(asked):
        random = Random(f"gap {seed} {i}")
        tokens = tokenizer.encode(item.response)
        size = random.randint(1, min(_LONGEST, len(tokens)))
        first = random.randint(0, len(tokens) - size)
        prefix, cut, suffix = (
            tokenizer.decode(part) for part in (tokens[:first], tokens[first : first + size], tokens[first + size :])
        )
        options["prompt"], options["seed"] = item.prompt, seed + i
        result = model.infill(prefix, suffix, **options)
        restored += result.text == cut
        right += task.check(item, f"{prefix}{result.text}{suffix}")
        near += abs(len(tokenizer.encode(result.text)) - size) <= 1
        num_steps += result.usage.denoising_steps
        if on_progress:
            on_progress(i + 1, n)
    return GapScore(
        task=name,
        n=n,
        seed=seed,
        steps=options.get("steps") or model.sampler_defaults.steps,
        restored=restored / n,
        right=right / n,
        length_near=near / n,
        mean_steps=num_steps / n,
    )
