"""Requests are checked once, when they are made; results are written as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sfumato.engine.request import CanvasChanged, Request, Result, Start, Usage
from sfumato.errors import RequestError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": ()}, "the prompt is empty; give at least one token"),
        ({"max_tokens": 0}, "max_tokens is 0; allowed: a whole number, 1 to 1048576"),
        ({"max_tokens": 2**21}, "max_tokens is 2097152; allowed: a whole number, 1 to 1048576"),
        ({"max_tokens": None}, "max_tokens is None; allowed: a whole number"),
        ({"max_tokens": "8"}, "max_tokens is '8'; allowed: a whole number"),
        ({"max_tokens": 8.5}, "max_tokens is 8.5; allowed: a whole number"),
        ({"canvas_length": 0}, "canvas_length is 0; allowed: a whole number, 1 to 1048576"),
        ({"n": 0}, "n is 0; allowed: a whole number, 1 to 256"),
        ({"n": 257}, "n is 257; allowed: a whole number, 1 to 256"),
        ({"n": True}, "n is True; allowed: a whole number"),
        ({"seed": -1}, "seed is -1; allowed: a whole number, 0 to 4611686018427387903"),
        ({"seed": 2**62}, "seed is 4611686018427387904; allowed: a whole number, 0 to 4611686018427387903"),
        ({"seed": 1.5}, "seed is 1.5; allowed: a whole number"),
        ({"min_steps": 0}, "min_steps is 0; allowed: a whole number, 1 to 48"),
        ({"min_steps": 49}, "min_steps is 49; allowed: a whole number, 1 to 48"),
        ({"min_steps": 2.5}, "min_steps is 2.5; allowed: a whole number"),
        ({"revisit_level": "high"}, "revisit_level is 'high'; allowed: more than 0, at most 1"),
        ({"logit_bias": ((5, "much"),)}, "logit_bias of token 5 is 'much'; allowed: -100 to 100"),
        ({"priority": "high"}, "priority is 'high'; allowed: a whole number"),
    ],
)
def test_invalid_fields_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(RequestError, match=message):
        Request(**{"prompt": (1,)} | changes)


@pytest.mark.parametrize("level", [0.0, 1.5, True, "high"])
def test_invalid_noise_levels_of_a_start_are_refused(level: Any):
    with pytest.raises(RequestError, match=f"noise_level is {level!r}; allowed: more than 0, at most 1"):
        Start(tokens=(5,), frozen=(False,), noise_level=level)


def test_largest_seed_leaves_room_for_every_variation():
    """Variation i uses seed + i, which a canvas takes up to 2^63 - 1."""
    request = Request(prompt=(1,), seed=2**62 - 1, n=256)
    assert request.seed + request.n - 1 < 2**63


def test_result_as_json():
    event = CanvasChanged(
        variation=0,
        canvas=0,
        step=1,
        steps=2,
        tokens=(5,),
        pieces=("a",),
        text="a",
        accepted=(True,),
        revised=(False,),
        confidence=(1 / 3,),
        entropy=(2 / 3,),
        forward_passes=1,
        positions_computed=4,
    )
    usage = Usage(prompt_tokens=3)
    values: dict[str, Any] = {"text": "a", "tokens": (5,), "finish_reason": "stop", "seed": 4, "model": "m"}
    plain = json.loads(json.dumps(Result(**values, usage=usage).to_dict()))
    assert list(plain) == ["text", "finish_reason", "certainty", "seed", "model", "usage"]
    assert list(plain["usage"]) == [
        "prompt_tokens",
        "cached_tokens",
        "completion_tokens",
        "canvases",
        "reopened",
        "denoising_steps",
        "unsettled",
        "steps_cut",
        "forward_passes",
        "positions_computed",
        "revisions",
        "time_to_first_commit_s",
        "total_s",
    ]
    traced = json.loads(json.dumps(Result(**values, usage=usage, trace=[event]).to_dict()))
    assert traced["trace"] == [
        {
            "variation": 0,
            "canvas": 0,
            "step": 1,
            "steps": 2,
            "tokens": [5],
            "pieces": ["a"],
            "text": "a",
            "accepted": [True],
            "revised": [False],
            "confidence": [0.3333],
            "entropy": [0.6667],
            "forward_passes": 1,
            "positions_computed": 4,
        }
    ]
