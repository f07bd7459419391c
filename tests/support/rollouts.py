"""Answers recorded step by step, for replay."""

from __future__ import annotations

from typing import Any

from sfumato.engine.engine import Engine
from sfumato.engine.model import TextModel
from sfumato.engine.request import Finished, Result
from sfumato.spec import GenerationSpec
from sfumato.training.rollout import Policy

VOCAB = 261
MASK = 4
SPECS = {
    "uniform": GenerationSpec(canvas_length=12),
    "shifted": GenerationSpec(canvas_length=12, logit_shift=True),
    "self-conditioned": GenerationSpec(canvas_length=12, self_conditioning=True),
    "self-conditioned, shifted": GenerationSpec(canvas_length=12, self_conditioning=True, logit_shift=True),
    "mask": GenerationSpec(noise="mask", mask_id=MASK, canvas_length=12),
    "mask, self-conditioned": GenerationSpec(noise="mask", mask_id=MASK, canvas_length=12, self_conditioning=True),
    "mask, shifted": GenerationSpec(noise="mask", mask_id=MASK, canvas_length=12, logit_shift=True),
    "hybrid": GenerationSpec(noise="hybrid", mask_id=MASK, canvas_length=12),
    "full": GenerationSpec(noise="mask", mask_id=MASK, canvas_length=12, prefix_attention="full"),
    "full, shifted": GenerationSpec(
        noise="mask", mask_id=MASK, canvas_length=12, prefix_attention="full", logit_shift=True
    ),
    "block": GenerationSpec(noise="mask", mask_id=MASK, canvas_length=4, prefix_attention="block"),
}
SETTINGS: dict[str, Any] = {"steps": 5, "temperature_start": 1.3, "temperature_end": 0.7, "entropy_bound": 9.0}


def answers_of(model: TextModel, prompt: str = "abc", n: int = 3, **settings: Any) -> list[Result]:
    request = model.request(prompt, n=n, record=True, **{"max_tokens": 20, **SETTINGS, **settings})
    # A new engine holds no keys and values of other weights.
    events = [event for _, event in Engine(model).run([request]) if isinstance(event, Finished)]
    return [event.result for event in sorted(events, key=lambda event: event.variation)]


def policy_of(model: TextModel) -> Policy:
    return Policy(model.spec, model.bundle.process.mask_id, model.bundle.banned)
