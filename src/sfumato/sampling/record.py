"""What a canvas went through, step by step, on the host: enough to take every step again with other weights."""

# L canvas, D model

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One step of one row, on the host and without padding."""

    step: int
    """Index of the step, from 0."""
    tokens_L: Tensor
    """int64; what the denoiser read."""
    frozen_L: Tensor
    """bool; positions the caller fixed."""
    soft_LD: Tensor | None
    """The soft embedding that it read; None before the first prediction, and for models without self-conditioning."""
    temperature: float
    """Of the distribution that was drawn from."""
    sampled_L: Tensor
    """int64; what was drawn."""
    draft_L: Tensor
    """int64; the reading after the step."""
    accepted_L: Tensor
    """bool."""
    decisive_L: Tensor
    """bool; where what was drawn had a part in what the step became: what was accepted or, of a sampler that looks at
    its draws before it accepts some, all that was drawn. Of a last step nothing, if the draft was committed, or all."""
    revised_L: Tensor
    """bool."""
    confidence_L: Tensor
    """float32; probability of the drawn token, so its logarithm is what policy gradients need."""


@dataclass(frozen=True, kw_only=True)
class CanvasRecord:
    """One canvas from its first step to its last."""

    text: tuple[int, ...]
    """What stood before it: the prompt and what was committed."""
    steps: tuple[StepRecord, ...]
    """In order."""
