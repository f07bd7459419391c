"""Model cards: what a client may ask of a model."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from serving import EXPRESSION, Served
from sfumato.checkpoints.registry import ASSETS
from sfumato.sampling.samplers.base import samplers


def test_listed_samplers_are_accepted_and_the_others_refused(served: Served):
    card = served.http.get("/v1/models/tiny").json()["sfumato"]
    assert card["sampler"] in card["samplers"]
    settings = json.loads((ASSETS / "tiny/generation_config.json").read_text("utf-8"))
    assert card["temperature"] == [settings["temperature_start"], settings["temperature_end"]]
    unlisted = samplers().keys() - set(card["samplers"])
    assert unlisted, "tiny's noise should not support every sampler"
    for name in samplers():
        status = served.ask("/v1/canvas", prompt=EXPRESSION, sampler=name, steps=2).status_code
        assert (name, status == 200) == (name, name in card["samplers"])


@pytest.mark.parametrize("name", ["steps", "temperature", "canvas_length", "max_tokens"])
def test_values_past_the_listed_limits_are_refused(served: Served, name: str):
    low, high = served.http.get("/v1/models/tiny").json()["sfumato"]["limits"][name]
    assert served.ask("/v1/canvas", prompt="12+5=", **{name: low}).status_code == 200
    for value in (low - 1, high + 1):
        assert served.ask("/v1/canvas", prompt="12+5=", **{name: value}).status_code in (400, 422)
