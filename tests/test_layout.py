"""What a step computes under each layout, compared with a description in words."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sfumato.errors import ConfigError
from sfumato.layout import PrefixLayout
from sfumato.spec import GenerationSpec

MASK = {"noise": "mask", "mask_id": 4}
SPECS = {
    "causal": GenerationSpec(canvas_length=6),
    "causal, shifted": GenerationSpec(canvas_length=6, logit_shift=True),
    "block": GenerationSpec(**MASK, canvas_length=4, prefix_attention="block"),
    "full": GenerationSpec(**MASK, canvas_length=6, prefix_attention="full"),
    "full, shifted": GenerationSpec(**MASK, canvas_length=6, prefix_attention="full", logit_shift=True),
    "autoregressive": GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place"),
}


@pytest.mark.parametrize("name", SPECS)
def test_a_whole_step_predicts_each_canvas_position_once(name: str):
    layout = PrefixLayout(SPECS[name])
    for num_text, length in ((1, 1), (7, 1), (8, 5)):
        start, end, token_Q, canvas_Q, logits_Q = layout.canvas_positions(num_text, length)
        # A position reads its own token, or the token before the one it decides.
        assert list(token_Q) == list(range(start - num_text, end - num_text))
        predicted = [place for place in logits_Q if 0 <= place < length]
        assert predicted == list(range(length))
        assert [place for place in canvas_Q if 0 <= place < length] == list(range(length))
        assert list(logits_Q - token_Q) == [layout.shift] * len(token_Q)
        # What is not written ahead is computed with the canvas.
        assert start == layout.num_written(num_text)
        assert len(token_Q) == layout.num_step(num_text, length)


@pytest.mark.parametrize("name", SPECS)
def test_read_positions(name: str):
    layout, length = PrefixLayout(SPECS[name]), 3
    token_Q = list(layout.canvas_positions(5, length).token_Q)
    expected = {
        "causal": [0, 1, 2],
        "block": [0, 1, 2],
        # The last token of the text stands at the head of the canvas, whose own last token nobody has to read.
        "causal, shifted": [-1, 0, 1],
        "autoregressive": [-1, 0, 1],
        "full": [-5, -4, -3, -2, -1, 0, 1, 2],
        "full, shifted": [-5, -4, -3, -2, -1, 0, 1, 2],
    }
    assert token_Q == expected[name]


@pytest.mark.parametrize("name", [name for name in SPECS if name != "autoregressive"])
def test_partial_step_computes_needed_positions(name: str):
    layout, random_ = PrefixLayout(SPECS[name]), random.Random(name)
    for _ in range(50):
        num_text, length = random_.randint(1, 9), random_.randint(2, 8)
        decided = sorted(random_.sample(range(length), random_.randint(1, length)))
        whole = layout.canvas_positions(num_text, length)
        start, end, token_Q, canvas_Q, logits_Q = layout.canvas_positions(num_text, length, np.array(decided))
        assert (start, end) == (whole.start, whole.end)
        assert list(token_Q) == sorted(set(token_Q))
        assert set(token_Q) <= set(whole.token_Q)
        assert set(decided) <= set(logits_Q), "they are predicted"
        assert set(decided) & set(whole.token_Q) <= set(token_Q), "where their tokens are read is computed anew"
        assert len(token_Q) <= 2 * len(decided), "and not much else"
        assert list(canvas_Q - token_Q) == [layout.canvas_shift] * len(token_Q)


def test_blocks_are_whole():
    layout = PrefixLayout(SPECS["block"])
    assert [layout.num_whole(num) for num in (0, 3, 4, 11)] == [0, 0, 4, 8]
    assert [layout.num_reserved(num) for num in (0, 3, 4, 11)] == [0, 4, 4, 12]
    assert layout.canvas_length(9, 2) == 4
    assert PrefixLayout(SPECS["causal"]).canvas_length(9, 2) == 2
    with pytest.raises(ConfigError, match="logit_shift is true and prefix_attention is 'block'"):
        PrefixLayout(
            GenerationSpec(**MASK, canvas_length=4, prefix_attention="block", logit_shift=True)
        ).check_trainable()


def test_cached_positions():
    kept = {name: PrefixLayout(spec).keeps_canvas for name, spec in SPECS.items()}
    assert [name for name, value in kept.items() if value] == ["autoregressive"]
    in_place = GenerationSpec(**MASK, canvas_length=6, prefix_attention="full", commit="in_place")
    assert not PrefixLayout(in_place).keeps_canvas, "the next canvas changes all of it"
    assert PrefixLayout(in_place).num_written(9) == 0
    assert [name for name, spec in SPECS.items() if PrefixLayout(spec).reopens] == [
        "causal",
        "causal, shifted",
        "full",
        "full, shifted",
    ]
