"""How well a model knows beforehand how long its answers will be, and what that saves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Unpack

from sfumato.engine.model import TextModel
from sfumato.engine.options import GenerateOptions
from sfumato.evaluation.tasks import ask, asked_items


@dataclass(frozen=True, kw_only=True)
class LengthScore:
    """One model's length head on one task."""

    task: str
    """Name of the task."""
    n: int
    """Items of the test split."""
    seed: int
    """Of items and of sampling."""
    bucket_right: float
    """Share of items whose gold response falls into the most probable bucket."""
    confidence: float
    """Mean probability of that bucket; calibrated, it is near the share."""
    held: float
    """Share of items whose gold response fits the canvas that the head sets."""
    positions: float
    """Positions computed for an answer, without its prompt, whose first canvas the head sets."""
    positions_without: float
    """Positions computed for one on a canvas of the length that the model was trained with."""
    right: float
    """Share of right answers with the head."""
    right_without: float
    """Share of right answers without it."""


def evaluate_lengths(
    model: TextModel,
    name: str,
    *,
    n: int = 100,
    on_progress: Callable[[int, int], None] | None = None,
    **options: Unpack[GenerateOptions],
) -> LengthScore:
    """Hold the length head against gold responses, and answer n items with it and without it.

    Raises:
        ConfigError: if the task is not known.
        RequestError: if n or a setting is not allowed, or the model has no length head.
    """
    seed = options.get("seed", 0)
    task, asked = asked_items(name, seed, n)
    tokenizer, buckets = model.tokenizer, model.decoder.length_buckets
    bucket_right = held = 0
    confidence = 0.0
    for item in asked:
        shares = model.length_shares(item.prompt)
        best = max(shares, key=shares.__getitem__)
        # The end token is part of an answer.
        size = len(tokenizer.encode(item.response)) + 1
        bucket_right += best == next((edge for edge in buckets if size <= edge), None)
        confidence += shares[best]
        held += size <= (model.bundle.first_length(shares.values()) or model.spec.canvas_length)
    positions: list[float] = []
    right: list[float] = []
    lengths: tuple[Literal["auto"], int] = ("auto", model.spec.canvas_length)
    for length in lengths:
        options["canvas_length"] = length
        results = ask(model, [item.prompt for item in asked], on_progress, **options)
        usages = [result.usage for result in results]
        num_prompt = sum(usage.prompt_tokens - usage.cached_tokens for usage in usages)
        positions.append((sum(usage.positions_computed for usage in usages) - num_prompt) / n)
        right.append(sum(task.check(item, result.text) for item, result in zip(asked, results, strict=True)) / n)
    return LengthScore(
        task=name,
        n=n,
        seed=seed,
        bucket_right=bucket_right / n,
        confidence=confidence / n,
        held=held / n,
        positions=positions[0],
        positions_without=positions[1],
        right=right[0],
        right_without=right[1],
    )
