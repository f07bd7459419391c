"""GenerationSpec refuses combinations that no family has."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.config import from_table
from sfumato.errors import ConfigError
from sfumato.spec import GenerationSpec


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"noise": "unifrom"}, "unknown noise 'unifrom'; did you mean 'uniform'"),
        ({"prefix_attention": "cusal"}, "unknown prefix_attention 'cusal'; did you mean 'causal'"),
        ({"commit": "inplace"}, "unknown commit 'inplace'; did you mean 'in_place'"),
        ({"canvas_length": 0}, "canvas_length is 0; allowed: 1 or more"),
        ({"canvas_length": 1}, "canvas_length is 1 and logit_shift is False; allowed: logit_shift = true"),
        ({"noise": "mask"}, "noise 'mask' needs mask_id; it is not set"),
        ({"noise": "hybrid", "canvas_length": 2}, "noise 'hybrid' needs mask_id"),
    ],
)
def test_refusals(values: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        GenerationSpec(**values)


@pytest.mark.parametrize(
    "spec",
    [
        GenerationSpec(),
        GenerationSpec(noise="mask", mask_id=0),
        GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place"),
    ],
)
def test_plain_values_round_trip(spec: GenerationSpec):
    assert from_table(GenerationSpec, spec.to_dict()) == spec


def test_a_canvas_of_one_is_autoregressive():
    assert GenerationSpec(canvas_length=1, logit_shift=True).autoregressive
    assert not GenerationSpec(canvas_length=2).autoregressive
