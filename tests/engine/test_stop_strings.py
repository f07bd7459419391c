"""Stop strings: the same text ends in the same place, whichever way it is cut into canvases and tokens."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from sfumato.engine.model import TextModel
from sfumato.engine.request import Committed, Finished
from sfumato.engine.stop_strings import num_covering, scan
from sfumato.errors import RequestError
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

Make = Callable[..., TextModel]
PLAIN = GenerationSpec(canvas_length=8)
TEXT = "one two three; four five, six and seven"
SETTINGS: dict[str, Any] = {"temperature": 0.0, "steps": 2, "max_tokens": len(TEXT)}


def cut(text: str, stop: list[str]) -> str | None:
    """What stands before the stop string that is complete first, character by character; None if there is none."""
    for end in range(len(text) + 1):
        ending = [one for one in stop if text[:end].endswith(one)]
        if ending:
            return text[: end - max(map(len, ending))]
    return None


def test_any_way_of_cutting_a_text_ends_it_alike():
    draw = random.Random(0)
    seen = set()
    for _ in range(3000):
        text = "".join(draw.choices("ab", k=draw.randrange(12)))
        stop = ["".join(draw.choices("ab", k=draw.randrange(1, 5))) for _ in range(draw.randrange(1, 4))]
        places = sorted(draw.sample(range(len(text) + 1), draw.randrange(len(text) + 1)))
        written, told, stopped = "", "", False
        for start, end in itertools.pairwise([0, *places, len(text)]):
            begin = len(told)
            written, num_held, stopped = scan(written + text[start:end], begin, stop, last=end == len(text))
            told = written[: len(written) - num_held]
            assert told[:begin] == written[:begin]
            if stopped or end == len(text):
                break
        expected = cut(text, stop)
        assert stopped == (expected is not None)
        assert told == (text if expected is None else expected)
        seen.add(stopped)
    assert seen == {True, False}


@pytest.mark.parametrize("canvas", [1, 3, 8, len(TEXT)])
@pytest.mark.parametrize("stop", [["three"], [" four"], ["none", "x", "ree; f"], ["one"], ["seven"], ["never"]])
def test_an_answer_ends_before_the_stop_string(make_scripted: Make, canvas: int, stop: list[str]):
    model = scripted(make_scripted, TEXT)
    result = model.generate("?", canvas_length=canvas, stop=stop, **SETTINGS)
    expected = cut(TEXT, stop)
    assert result.text == (TEXT if expected is None else expected)
    assert result.finish_reason == ("length" if expected is None else "stop")
    # A token is a byte here.
    assert model.tokenizer.decode(result.tokens) == result.text
    assert result.usage.completion_tokens == len(result.tokens) == len(result.confidence)
    needed = len(TEXT) if expected is None else len(expected) + max(len(one) for one in stop if one in TEXT)
    assert result.usage.canvases == -(-needed // canvas)


@pytest.mark.parametrize("canvas", [1, 3, 8])
def test_no_part_of_a_stop_string_is_streamed(make_scripted: Make, canvas: int):
    events = list(scripted(make_scripted, TEXT).stream("?", canvas_length=canvas, stop=["three;"], **SETTINGS))
    told = [event.text for event in events if isinstance(event, Committed)]
    assert "".join(told) == "one two "
    assert isinstance(events[-1], Finished)
    # What only began like one is told in the end.
    text = "a thr"
    settings = SETTINGS | {"max_tokens": len(text)}
    events = list(scripted(make_scripted, text).stream("?", canvas_length=canvas, stop=["three;"], **settings))
    assert "".join(event.text for event in events if isinstance(event, Committed)) == text


def test_a_stop_string_that_begins_within_a_token(byte_tokenizer: Tokenizer):
    class Pieces:
        """Three tokens of several characters."""

        def decode(self, tokens: Any) -> str:
            return "".join(("for ", "each", " one")[token] for token in tokens)

    pieces: Any = Pieces()
    for text, num in (("", 0), ("f", 1), ("for ", 1), ("for e", 2), ("for each", 2), ("for each o", 3)):
        assert num_covering(pieces, [0, 1, 2], text) == num
    # Two bytes are one character; the first alone is none.
    assert num_covering(byte_tokenizer, byte_tokenizer.encode("éa"), "é") == 2


def test_an_autoregressive_model_stops_as_well(make_scripted: Make):
    spec = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
    result = scripted(make_scripted, TEXT, spec).generate("?", stop=["three"], **SETTINGS)
    assert result.text == "one two "
    assert result.usage.canvases == len("one two three")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stop": "abc"}, "stop is 'abc'; allowed: a list of texts"),
        ({"stop": [""]}, r"stop is \(''"),
        ({"stop": [3]}, "stop has 3; allowed: a list of texts"),
        ({"stop": ["a"], "choices": ["b"]}, "stop would cut an answer that must match choices as a whole"),
        ({"stop": ["a"], "revisit": 1}, "allowed: without revisit"),
        ({"stop": ["a"], "seed_text": "abc"}, "allowed: without a draft or a gap"),
    ],
)
def test_what_cannot_be_a_stop(make_model: Make, settings: dict[str, Any], message: str):
    with pytest.raises(RequestError, match=message):
        make_model(PLAIN).generate("hello", **settings)


def scripted(make_scripted: Make, text: str, spec: GenerationSpec = PLAIN) -> TextModel:
    """A model that answers with a text of one byte a token."""
    tokenizer = make_scripted(spec, []).tokenizer
    return make_scripted(spec, tokenizer.encode(text))
