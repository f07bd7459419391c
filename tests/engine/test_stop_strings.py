"""Stop strings end the same text at the same place, however it is split into canvases and tokens."""

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


def text_before_stop(text: str, stop: list[str]) -> str | None:
    """The text before the stop string that is completed first; None if there is none."""
    for end in range(len(text) + 1):
        ending = [string for string in stop if text[:end].endswith(string)]
        if ending:
            return text[: end - max(map(len, ending))]
    return None


def test_stop_position_does_not_depend_on_chunking():
    draw = random.Random(0)
    seen = set()
    for _ in range(3000):
        text = "".join(draw.choices("ab", k=draw.randrange(12)))
        stop = ["".join(draw.choices("ab", k=draw.randrange(1, 5))) for _ in range(draw.randrange(1, 4))]
        cuts = sorted(draw.sample(range(len(text) + 1), draw.randrange(len(text) + 1)))
        written, emitted, stopped = "", "", False
        for start, end in itertools.pairwise([0, *cuts, len(text)]):
            begin = len(emitted)
            written, num_withheld, stopped = scan(written + text[start:end], begin, stop, last=end == len(text))
            emitted = written[: len(written) - num_withheld]
            assert emitted[:begin] == written[:begin]
            if stopped or end == len(text):
                break
        expected = text_before_stop(text, stop)
        assert stopped == (expected is not None)
        assert emitted == (text if expected is None else expected)
        seen.add(stopped)
    assert seen == {True, False}


@pytest.mark.parametrize("canvas", [1, 3, 8, len(TEXT)])
@pytest.mark.parametrize("stop", [["three"], [" four"], ["none", "x", "ree; f"], ["one"], ["seven"], ["never"]])
def test_output_ends_before_the_stop_string(make_scripted: Make, canvas: int, stop: list[str]):
    model = scripted(make_scripted, TEXT)
    result = model.generate("?", canvas_length=canvas, stop=stop, **SETTINGS)
    expected = text_before_stop(TEXT, stop)
    assert result.text == (TEXT if expected is None else expected)
    assert result.finish_reason == ("length" if expected is None else "stop")
    # One token per byte here.
    assert model.tokenizer.decode(result.tokens) == result.text
    assert result.usage.completion_tokens == len(result.tokens) == len(result.confidence)
    needed = len(TEXT) if expected is None else len(expected) + max(len(string) for string in stop if string in TEXT)
    assert result.usage.canvases == -(-needed // canvas)


@pytest.mark.parametrize("canvas", [1, 3, 8])
def test_no_part_of_a_stop_string_is_streamed(make_scripted: Make, canvas: int):
    events = list(scripted(make_scripted, TEXT).stream("?", canvas_length=canvas, stop=["three;"], **SETTINGS))
    commits = [event for event in events if isinstance(event, Committed)]
    assert "".join(event.text for event in commits) == "one two "
    assert isinstance(events[-1], Finished)
    assert sum((event.tokens for event in commits), ()) == events[-1].result.tokens
    # What only begins like a stop string is emitted in the end.
    text = "a thr"
    settings = SETTINGS | {"max_tokens": len(text)}
    events = list(scripted(make_scripted, text).stream("?", canvas_length=canvas, stop=["three;"], **settings))
    assert "".join(event.text for event in events if isinstance(event, Committed)) == text


def test_tokens_covering_a_text_are_counted(byte_tokenizer: Tokenizer):
    class Pieces:
        """Three tokens of several characters."""

        def decode(self, tokens: Any) -> str:
            return "".join(("for ", "each", " one")[token] for token in tokens)

    pieces: Any = Pieces()
    for text, num in (("", 0), ("f", 1), ("for ", 1), ("for e", 2), ("for each", 2), ("for each o", 3)):
        assert num_covering(pieces, [0, 1, 2], text) == num
    # Two bytes are one character; the first alone is none.
    assert num_covering(byte_tokenizer, byte_tokenizer.encode("éa"), "é") == 2


def test_stop_strings_with_an_autoregressive_model(make_scripted: Make):
    spec = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
    result = scripted(make_scripted, TEXT, spec).generate("?", stop=["three"], **SETTINGS)
    assert result.text == "one two "
    assert result.usage.canvases == len("one two three")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stop": "abc"}, "stop is 'abc'; allowed: a list of texts"),
        ({"stop": [""]}, r"stop is \[''"),
        ({"stop": [3]}, "stop has 3; allowed: a list of texts"),
        ({"stop": ["a"], "choices": ["b"]}, "stop would cut a text that must match choices as a whole"),
        ({"stop": ["a"], "revisit": 1}, "allowed: only without revisit"),
        ({"stop": ["a"], "seed_text": "abc"}, "allowed: only without a draft or a gap"),
    ],
)
def test_invalid_stop_strings_are_refused(make_model: Make, settings: dict[str, Any], message: str):
    with pytest.raises(RequestError, match=message):
        make_model(PLAIN).generate("hello", **settings)


def scripted(make_scripted: Make, text: str, spec: GenerationSpec = PLAIN) -> TextModel:
    """A model that generates a text, one token per byte."""
    tokenizer = make_scripted(spec, []).tokenizer
    return make_scripted(spec, tokenizer.encode(text))
