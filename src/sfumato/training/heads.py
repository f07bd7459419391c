"""Heads on a finished model, learned from what it did: when to stop, and how long an answer will be.

The model itself stays as it is. What the heads see is gathered once, by whoever runs the model, and saved; to fit them
takes seconds.
"""

# N examples, F features, D model

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn import functional

from sfumato.errors import CheckpointError, ConfigError, check_range
from sfumato.models.decoder import Decoder
from sfumato.sampling.stopping import LearnedStop


@dataclass(frozen=True, kw_only=True)
class HeadsRecipe:
    """What heads are learned from."""

    model: str
    """The model: a name or a checkpoint directory."""
    tasks: dict[str, float] = field(default_factory=dict)
    """Weight by procedural task, whose prompts are answered."""
    files: dict[str, float] = field(default_factory=dict)
    """Weight by path of a .jsonl file, whose prompts are answered."""
    n: int = 400
    """Answers to learn from."""
    held_out: float = 0.2
    """Share of them to measure on instead."""
    steps: int = 24
    """Denoising steps of each canvas, all of them taken: what a draft is at the end is what it should have been."""
    max_tokens: int = 64
    """Most tokens of an answer."""
    stop: bool = True
    """Whether to learn when to stop."""
    right: float = 0.99
    """Share of canvases that have to be what more steps would have made of them, where the head stops them; it decides
    how sure the head has to be."""
    length_buckets: tuple[int, ...] = ()
    """Lengths of a new length head; empty keeps what the model has."""
    epochs: int = 400
    """Passes over all examples."""
    lr: float = 1e-2
    """Learning rate of AdamW."""
    seed: int = 0
    """Of prompts and answers."""

    def __post_init__(self) -> None:
        if not self.tasks and not self.files:
            raise ConfigError("tasks and files are empty; give prompts to answer")
        if not self.stop and not self.length_buckets:
            raise ConfigError("stop is false and length_buckets is empty; ask for a head to learn")
        check_range(self, "n steps max_tokens epochs", 1)
        if not 0.0 < self.right < 1.0:
            raise ConfigError(f"right is {self.right}; allowed: between 0 and 1")
        if not 0.0 < self.held_out < 1.0:
            raise ConfigError(f"held_out is {self.held_out}; allowed: between 0 and 1")


@dataclass(frozen=True)
class HeadDataset:
    """What heads see, and what they should have said."""

    features_NF: Tensor
    """float32; see `stop_features`; of every step."""
    settled_N: Tensor
    """bool; whether the draft was already what it was at the end."""
    states_ND: Tensor
    """float32; the model's last state before each answer."""
    lengths_N: Tensor
    """int64; tokens of the answer, its end included."""

    @classmethod
    def load(cls, paths: Sequence[Path]) -> HeadDataset:
        """What some files hold, as one.

        Raises:
            CheckpointError: if a file is damaged.
        """
        parts: dict[str, list[Tensor]] = {field.name: [] for field in dataclasses.fields(cls)}
        for path in paths:
            try:
                with safe_open(path, framework="pt") as file:
                    for name, tensors in parts.items():
                        tensors.append(file.get_tensor(name))
            except (SafetensorError, OSError) as error:
                raise CheckpointError(f"cannot read {path}: {error}; remove it, and it is made again") from None
        return cls(**{name: torch.cat(tensors) for name, tensors in parts.items()})


def split(paths: Sequence[Path], held_out: float) -> tuple[HeadDataset, HeadDataset]:
    """Files to learn from, and to measure on.

    Raises:
        ConfigError: if there is nothing left to learn from.
    """
    count = max(1, round(held_out * len(paths)))
    if count >= len(paths):
        raise ConfigError(f"{len(paths)} pieces of answers are there; allowed: 2 or more, raise n")
    return HeadDataset.load(paths[:-count]), HeadDataset.load(paths[-count:])


def fit_stop(dataset: HeadDataset, recipe: HeadsRecipe) -> LearnedStop:
    """Learn when a draft is what it will be at the end, by cross-entropy."""
    torch.manual_seed(recipe.seed)
    head, targets_N = LearnedStop(), dataset.settled_N.float()

    def loss() -> Tensor:
        return functional.binary_cross_entropy_with_logits(head.logits(dataset.features_NF), targets_N)

    _fit(head, loss, recipe, weight_decay=1e-3)
    return head.eval()


def _fit(head: nn.Module, loss: Callable[[], Tensor], recipe: HeadsRecipe, *, weight_decay: float) -> None:
    head.requires_grad_(True)
    optimizer = torch.optim.AdamW(head.parameters(), lr=recipe.lr, weight_decay=weight_decay)
    for _ in range(recipe.epochs):
        optimizer.zero_grad()
        loss().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    head.requires_grad_(False)


def first_stops(prob_N: Tensor, dataset: HeadDataset, steps: int, threshold: float) -> tuple[float, float]:
    """What a stop head makes of canvases that it looks at step by step.

    Args:
        prob_N: what it says.
        dataset: of canvases with `steps` steps each.
        steps: their number.
        threshold: of the probability that it stops at.

    Returns:
        Share of canvases that end as they would have, and mean steps that they take.
    """
    says = (prob_N > threshold).view(-1, steps)
    says[:, -1] = True
    first = says.int().argmax(1)
    right = dataset.settled_N.view(-1, steps).gather(1, first[:, None])
    return float(right.float().mean()), float(first.float().mean()) + 1.0


def stop_threshold(head: LearnedStop, dataset: HeadDataset, recipe: HeadsRecipe) -> float:
    """The lowest probability to stop at that leaves as many canvases right as the recipe wants."""
    prob_N = head.logits(dataset.features_NF).sigmoid()
    candidates = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998]
    right = (one for one in candidates if first_stops(prob_N, dataset, recipe.steps, one)[0] >= recipe.right)
    return next(right, 0.9999)


def stop_scores(head: LearnedStop, dataset: HeadDataset, recipe: HeadsRecipe, threshold: float) -> dict[str, float]:
    """How a stop head does on canvases that it has not seen.

    Returns:
        right: share that end as more steps would have had them; mean_steps: that they take; settled_steps: that an
        oracle would have needed.
    """
    prob_N = head.logits(dataset.features_NF).sigmoid()
    right, mean_steps = first_stops(prob_N, dataset, recipe.steps, threshold)
    _, oracle = first_stops(dataset.settled_N.float(), dataset, recipe.steps, 0.5)
    return {"threshold": threshold, "right": right, "mean_steps": mean_steps, "settled_steps": oracle}


def fit_length(model: Decoder, dataset: HeadDataset, recipe: HeadsRecipe) -> None:
    """Learn the bucket of an answer's length, on the model's own length head; nothing else of it changes."""
    assert model.length_head is not None
    head = model.length_head.float()
    bucket_N = torch.bucketize(dataset.lengths_N, torch.tensor(model.length_buckets))
    _fit(head, lambda: functional.cross_entropy(head(dataset.states_ND), bucket_N), recipe, weight_decay=1e-2)


def length_scores(model: Decoder, dataset: HeadDataset) -> dict[str, float]:
    """How a length head does on answers that it has not seen: bucket_right, and its mean confidence in that bucket."""
    bucket_N = torch.bucketize(dataset.lengths_N, torch.tensor(model.length_buckets))
    shares_NB = model.length_logits(dataset.states_ND).softmax(-1)
    best = shares_NB.max(-1)
    return {"bucket_right": float((best.indices == bucket_N).float().mean()), "confidence": float(best.values.mean())}
