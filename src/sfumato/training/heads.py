"""Trains a stop head and a length head on a finished model's own answers.

The model itself does not change. The heads' inputs are gathered once by whoever runs the model, and saved; fitting
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

from sfumato.config import check_range
from sfumato.errors import CheckpointError, ConfigError
from sfumato.models.decoder import Decoder
from sfumato.sampling.logits import LearnedStop

_FOLDS = 4
"""Parts of the canvases; a threshold is measured on each with a head that has not seen it."""


@dataclass(frozen=True, kw_only=True)
class HeadsRecipe:
    """Settings of `sfumato heads`."""

    model: str
    """The model: a name or a checkpoint directory."""
    tasks: dict[str, float] = field(default_factory=dict)
    """Weight of each procedural task whose prompts are answered."""
    files: dict[str, float] = field(default_factory=dict)
    """Weight of each .jsonl file whose prompts are answered."""
    n: int = 400
    """Number of answers to learn from."""
    held_out: float = 0.2
    """Share of them held out for measuring."""
    steps: int = 24
    """Denoising steps per canvas, all of which are taken: the final draft is the target."""
    max_tokens: int = 64
    """Maximum tokens of an answer."""
    stop: bool = True
    """Whether to train a stop head."""
    right: float = 0.99
    """Share of canvases that must be the same as with all steps when the head stops them; sets the head's threshold."""
    length_buckets: tuple[int, ...] = ()
    """Buckets of a new length head; empty keeps the model's."""
    epochs: int = 400
    """Passes over all examples."""
    lr: float = 1e-2
    """Learning rate of AdamW."""
    seed: int = 0
    """Random seed for prompts and answers."""

    def __post_init__(self) -> None:
        if not self.tasks and not self.files:
            raise ConfigError("tasks and files are empty; give prompts to answer")
        if not self.stop and not self.length_buckets:
            raise ConfigError("stop is false and length_buckets is empty; choose at least one head to train")
        check_range(self, "n steps max_tokens epochs", 1)
        for name in ("right", "held_out"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigError(f"{name} is {getattr(self, name)}; allowed: between 0 and 1")


@dataclass(frozen=True)
class HeadDataset:
    """Inputs and targets of the heads."""

    features_NF: Tensor
    """float32; inputs of every step, see `stop_features`."""
    settled_N: Tensor
    """bool; whether the draft was already final."""
    states_ND: Tensor
    """float32; the model's last state before each answer."""
    lengths_N: Tensor
    """int64; tokens of each answer, with its end token."""

    @classmethod
    def load(cls, paths: Sequence[Path]) -> HeadDataset:
        """Load and concatenate files.

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
                raise CheckpointError(f"cannot read {path}: {error}; delete it to gather it again") from None
        return cls(**{name: torch.cat(tensors) for name, tensors in parts.items()})


def split(paths: Sequence[Path], held_out: float) -> tuple[HeadDataset, HeadDataset]:
    """Split files into training and held-out ones.

    Raises:
        ConfigError: if there are too few.
    """
    count = max(1, round(held_out * len(paths)))
    if count >= len(paths):
        raise ConfigError(f"there are {len(paths)} files of answers; allowed: 2 or more, raise n")
    return HeadDataset.load(paths[:-count]), HeadDataset.load(paths[-count:])


def fit_stop(dataset: HeadDataset, recipe: HeadsRecipe) -> LearnedStop:
    """Train a stop head with cross-entropy to predict whether a draft is final."""
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
    """Result of a stop head applied step by step to canvases.

    Args:
        dataset: canvases with `steps` steps each.
        threshold: probability from which it stops.

    Returns:
        Share of canvases that end with their final draft, and the mean number of steps.
    """
    says = (prob_N > threshold).view(-1, steps)
    says[:, -1] = True
    first = says.int().argmax(1)
    right = dataset.settled_N.view(-1, steps).gather(1, first[:, None])
    return float(right.float().mean()), float(first.float().mean()) + 1.0


def stop_threshold(dataset: HeadDataset, recipe: HeadsRecipe) -> float:
    """The lowest threshold that keeps the recipe's share of canvases right, with heads trained on other canvases."""
    canvas_N = torch.arange(len(dataset.settled_N)) // recipe.steps
    prob_N = torch.empty(len(dataset.settled_N))
    for fold in range(_FOLDS):
        left_out_N = canvas_N % _FOLDS == fold
        features_NF, settled_N = dataset.features_NF[~left_out_N], dataset.settled_N[~left_out_N]
        others = dataclasses.replace(dataset, features_NF=features_NF, settled_N=settled_N)
        prob_N[left_out_N] = fit_stop(others, recipe).logits(dataset.features_NF[left_out_N]).sigmoid()
    candidates = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998]
    right = (one for one in candidates if first_stops(prob_N, dataset, recipe.steps, one)[0] >= recipe.right)
    return next(right, 0.9999)


def stop_scores(head: LearnedStop, dataset: HeadDataset, recipe: HeadsRecipe, threshold: float) -> dict[str, float]:
    """Scores of a stop head on held-out canvases.

    Returns:
        right: share that end with their final draft; mean_steps: steps taken; settled_steps: steps an oracle would
        take.
    """
    prob_N = head.logits(dataset.features_NF).sigmoid()
    right, mean_steps = first_stops(prob_N, dataset, recipe.steps, threshold)
    _, oracle = first_stops(dataset.settled_N.float(), dataset, recipe.steps, 0.5)
    return {"threshold": threshold, "right": right, "mean_steps": mean_steps, "settled_steps": oracle}


def fit_length(model: Decoder, dataset: HeadDataset, recipe: HeadsRecipe) -> None:
    """Train the model's length head to predict the bucket of an answer's length; nothing else changes."""
    assert model.length_head is not None
    head = model.length_head.float()
    bucket_N = torch.bucketize(dataset.lengths_N, torch.tensor(model.length_buckets))
    _fit(head, lambda: functional.cross_entropy(head(dataset.states_ND), bucket_N), recipe, weight_decay=1e-2)


def length_scores(model: Decoder, dataset: HeadDataset) -> dict[str, float]:
    """Scores of a length head on held-out answers: bucket_right, and its mean confidence in that bucket."""
    bucket_N = torch.bucketize(dataset.lengths_N, torch.tensor(model.length_buckets))
    shares_NB = model.length_logits(dataset.states_ND).softmax(-1)
    best = shares_NB.max(-1)
    return {"bucket_right": float((best.indices == bucket_N).float().mean()), "confidence": float(best.values.mean())}
