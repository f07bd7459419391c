"""What is edited changes, and nothing else does: byte for byte, wherever spans begin and end."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.data.tasks import find_task, items
from sfumato.engine import editing
from sfumato.engine.excerpt import Excerpt
from sfumato.engine.model import TextModel
from sfumato.engine.rewriting import Rewriting
from sfumato.errors import RequestError
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]

# Among them characters of several code points, line ends of both kinds, tabs, and none at the end.
PARTS = ["a", "word ", "\r\n", "\n", "\t", "\u00e9", "e\u0301", "\U0001f469\u200d\U0001f467", "\U0001f1eb\U0001f1f7"]
PARTS += ["\ud55c", "\u200b", "\ufeff", "\ufffd", '"}', "  "]


@st.composite
def jobs(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A text, and spans of whole characters, some of which touch."""
    text = "".join(draw(st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=12)))
    text = text.encode("utf-8", "ignore").decode()
    places = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    chosen = sorted(draw(st.sets(st.sampled_from(places), max_size=6)))
    spans = list(itertools.pairwise(chosen))
    return text, [span for span in spans if draw(st.booleans())]


@pytest.fixture
def model(make_model: Make) -> TextModel:
    return make_model(GenerationSpec(canvas_length=12), num_hidden_layers=1, max_position_embeddings=96)


@pytest.fixture
def blank_model(make_model: Make) -> TextModel:
    return make_model(GenerationSpec(canvas_length=12, blanks=True), num_hidden_layers=1, max_position_embeddings=96)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(job=jobs(), seed=st.integers(0, 3), strength=st.sampled_from([None, 0.3]), blanks=st.booleans())
def test_every_byte_outside_the_spans_stays(
    model: TextModel,
    blank_model: TextModel,
    job: tuple[str, list[tuple[int, int]]],
    seed: int,
    strength: float | None,
    blanks: bool,
):
    text, spans = job
    chosen = blank_model if blanks else model
    result = chosen.edit(text, spans=spans, seed=seed, strength=strength, steps=1, adaptive=False)
    assert result.finish_reason == "stop"
    outside = [
        text[end:start] for (_, end), (start, _) in zip([(0, 0), *spans], [*spans, (len(text),) * 2], strict=True)
    ]
    assert result.text.startswith(outside[0])
    assert result.text.endswith(outside[-1])
    place = 0
    for part in outside:
        place = result.text.index(part, place) + len(part)
    if not spans:
        assert result.text == text
        assert result.usage.forward_passes == 0


def test_pieces_are_the_text_and_free_where_the_spans_are(model: TextModel):
    text = "one two\r\nthree"
    pieces = editing.cut(model.tokenizer, text, [(0, 3), (7, 9)], slack=2)
    assert [(piece.text, piece.free) for piece in pieces] == [
        ("one", True),
        (" two", False),
        ("\r\n", True),
        ("three", False),
    ]
    assert [len(piece.tokens) for piece in pieces] == [5, 4, 4, 5]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(2, 2)], r"spans has \(2, 2\); allowed: 0 <= start < end <= 8"),
        ([(3, 1)], r"spans has \(3, 1\)"),
        ([(0, 9)], r"spans has \(0, 9\)"),
        ([(-1, 2)], r"spans has \(-1, 2\)"),
        ([(2, 5), (0, 3)], r"spans has \(0, 3\) and \(2, 5\), which overlap"),
        ([(0, 6)], r"spans has \(0, 6\), which cuts a character at 6, between U\+0065 and U\+0301"),
        ([(4, 5)], r"spans has \(4, 5\), which cuts a character at 4, between U\+000D and U\+000A"),
    ],
)
def test_spans_that_are_refused(model: TextModel, spans: list[tuple[int, int]], message: str):
    with pytest.raises(RequestError, match=message):
        model.edit("abc\r\ne\u0301x", spans=spans)


def test_half_a_surrogate_pair_is_refused(model: TextModel):
    with pytest.raises(RequestError, match=r"the text has \\ud83d at 2"):
        model.edit("ab\ud83d cd", spans=[(0, 1)])


def test_a_long_text_costs_what_is_edited_of_it(model: TextModel):
    """Four thousand tokens, one a byte, and a model of 96 positions."""
    text = "The quick brown fox. " * 190
    spans = [(2000, 2005), (2010, 2015), (2018, 2020), (3500, 3504), (3506, 3509)]
    result = model.edit(text, spans=spans, steps=2)
    assert result.usage.canvases <= 4
    near = model.edit(text, spans=spans[:2], steps=2)
    assert near.usage.canvases <= 2
    assert near.usage.positions_computed < 200
    assert near.text[:2000] + near.text[-(len(text) - 2015) :] == text[:2000] + text[2015:]
    assert near.text != text


def test_both_sides_of_a_span_are_seen(make_model: Make):
    """Another text behind the span gives another text in it."""
    model = make_model(GenerationSpec(canvas_length=12))
    texts = {
        model.edit(f"start ....{tail}", spans=[(6, 10)], temperature=0.0, steps=4).text[6:-5]
        for tail in ("abcde", "vwxyz", "12345")
    }
    assert len(texts) > 1


def test_a_span_may_be_longer_than_a_canvas_but_not_than_the_model(model: TextModel):
    text = "x" * 60 + "tail"
    result = model.edit(text, spans=[(0, 60)], steps=1)
    # With the token behind it, which it may take in, on canvases of 12.
    assert result.usage.canvases == 6
    assert result.text.endswith("tail")
    with pytest.raises(RequestError, match=r"a span has 121 tokens; allowed: 93"):
        model.edit("y" * 130, spans=[(0, 120)])


def test_what_is_doubted_is_written_anew(make_scripted: Callable[..., TextModel]):
    """A model that always says the same, and finds its own words changed."""
    model = make_scripted(GenerationSpec(canvas_length=16), [*range(40, 60)])
    said = model.tokenizer.decode(model.generate("?", max_tokens=20, steps=2).tokens)
    job = Rewriting(model, tuple(model.tokenizer.encode_chat([{"role": "user", "content": "?"}])), [0], {"steps": 2})

    def edited(text: str, budget: int = 64) -> str:
        [result] = job.read_and_edit(Excerpt.of(text), None, noise_level=1.0, budget=budget, judge=None)
        return result.text

    for place in (0, 7, 14):
        assert edited(f"{said[:place]}~{said[place + 1 :]}")[:16] == said[:16]
    # With two tokens to each side, it is five.
    wrong = f"{said[:7]}~{said[8:]}"
    assert edited(wrong, budget=4)[:16] == wrong[:16]
    assert edited(wrong, budget=5)[:16] == said[:16]


def test_doubts_of_the_embedded_model():
    """Told only to fix the bug, it finds where; and leaves what is right as it is."""
    model, task = sfumato.load("tiny"), find_task("bugfix")
    mended = kept = 0
    for item in items(task, "test", 5, 12):
        instruction, _, code = item.prompt.partition("\n")
        mended += task.check(item, model.edit(code, instruction=instruction).text)
        kept += model.edit(item.response, instruction=instruction).text == item.response
    assert mended >= 9
    assert kept >= 11


def test_an_edit_needs_certainty(make_model: Make):
    """A model of random weights is sure of nothing."""
    model = make_model(GenerationSpec(canvas_length=12), {"min_certainty": -0.5}, max_position_embeddings=128)
    text, spans = "keep this, change THAT and keep the rest", [(18, 22)]
    result = model.edit(text, spans=spans, steps=2)
    assert (result.text, result.finish_reason) == (text, "unsure")
    assert result.error == f"not sure enough: nothing changed (certainty {result.certainty:.2f}, needed -0.5)"
    assert result.to_dict()["certainty"] == round(result.certainty, 4) < -0.5
    assert not result.failed
    changed = model.edit(text, spans=spans, steps=2, min_certainty=-1000.0)
    assert changed.text != text
    assert changed.finish_reason != "unsure"
    found = model.edit(text, spans=spans, steps=2, n=3, min_certainty=-1000.0)
    assert isinstance(found, list)
    between = (found[0].certainty + found[-1].certainty) / 2
    kept = model.edit(text, spans=spans, steps=2, n=3, min_certainty=between)
    assert isinstance(kept, list)
    assert [one.text for one in kept] == [one.text for one in found if one.certainty >= between]
    for wrong in (float("nan"), True, "high"):
        with pytest.raises(RequestError, match=r"min_certainty is .*; allowed: a number of nats"):
            model.edit(text, spans=spans, min_certainty=wrong)


def test_doubts_beyond_a_quarter_of_a_text_count(make_scripted: Callable[..., TextModel]):
    """A model that always says the same is certain of whatever it writes, and doubts any other text."""
    model = make_scripted(GenerationSpec(canvas_length=16), [*range(40, 60)])
    said = model.tokenizer.decode(model.generate("?", max_tokens=20, steps=2).tokens)
    job = Rewriting(model, tuple(model.tokenizer.encode_chat([{"role": "user", "content": "?"}])), [0], {"steps": 2})

    def certainty(text: str) -> float:
        settings = {"noise_level": 1.0, "budget": 64, "judge": None}
        [result] = job.read_and_edit(Excerpt.of(text), [(2, 3)], **settings)  # type: ignore[arg-type]
        assert result.text[2:3] == said[2:3]
        return result.certainty

    few, many = (certainty("~" * count + said[count:20]) for count in (5, 12))
    # Of 20 tokens, the fourth part is five.
    assert few - many >= 12 - 20 / 4 - 1


def test_of_long_texts_the_lines_around_a_span_are_read():
    """Alone, the embedded model knows each of them; together they are like nothing that it was trained on."""
    model, task = sfumato.load("tiny"), find_task("bugfix")
    asked = items(task, "test", 7, 12)
    mended = 0
    for i, item in enumerate(asked[:3]):
        before, behind = ("\n\n".join(each.response for each in some) for some in (asked[:i], asked[i + 1 :]))
        code = item.prompt.partition("\n")[2]
        text = f"{before}\n\n{code}\n\n{behind}\n"
        start = len(before) + 2 + sum(map(len, code.splitlines(keepends=True)[: item.meta["line"]]))
        span = (start, start + len(code.split("\n")[item.meta["line"]]))
        result = model.edit(text, spans=[span], instruction="fix the bug:")
        right = f"{before}\n\n{item.response}\n\n{behind}\n"
        assert result.text in (text, right)
        mended += result.text == right
    assert mended >= 2
    with pytest.raises(
        RequestError, match=r"the text is too long for tiny, which reads about \d+ of \d+ lines at once"
    ):
        model.edit("\n\n".join(item.response for item in asked), instruction="fix the bug:")


@pytest.mark.parametrize("name", ["uniform", "mask", "hybrid", "shifted", "full", "block"])
def test_every_family_doubts(make_model: Make, specs: dict[str, GenerationSpec], name: str):
    model = make_model(specs[name])
    text = "one two\r\nthree \u00e9 four five six"
    result = model.edit(text, budget=9, steps=2, adaptive=False)
    assert result.finish_reason == "stop"
    assert result.usage.denoising_steps >= 3
    if name == "mask":
        # Every fourth place of half a canvas at a time, 30 tokens, as CRLF is read as one, and the end.
        assert (len(model.tokenizer.encode(text)), result.usage.denoising_steps) == (31, 5 * 4 + 1)


def test_infilling_keeps_both_ends(model: TextModel):
    results = model.infill("def f(", "):\r\n\treturn 1", length=4, n=3, steps=2)
    assert isinstance(results, list)
    assert len({result.text for result in results}) == len(results)
    assert [result.certainty for result in results] == sorted((result.certainty for result in results), reverse=True)
    for result in results:
        assert result.usage.canvases == 1


@pytest.mark.parametrize("blanks", [False, True])
def test_lengths_that_are_tried(make_model: Make, blanks: bool):
    steps = {}
    for noise, mask_id in (("mask", 4), ("hybrid", 4)):
        model = make_model(GenerationSpec(canvas_length=12, blanks=blanks, noise=noise, mask_id=mask_id))  # type: ignore[arg-type]
        result = model.infill("ab", "yz", max_tokens=10, steps=1)
        steps[noise] = result.usage.denoising_steps
        assert model.infill("ab", "yz", max_tokens=10, steps=1).text == result.text
    # Slots of 8 and 10; or 1, 2, 3, 4, 6, 8, and those between the neighbours of the best: each judged by another step.
    assert steps["mask"] in ([4] if blanks else range(12, 34, 2))
    # What is around them is read once more by a model that may take it for noise, and no part of it hidden.
    assert steps["hybrid"] >= steps["mask"]


def test_a_filling_is_judged_by_what_follows(make_scripted: Callable[..., TextModel]):
    """A model that says the same from the start of the text on, whatever it reads: where the gap has the right length,
    the text behind it is what it would have written; of other lengths it is as certain."""
    model = make_scripted(GenerationSpec(canvas_length=32), [*range(40, 60)])
    said = model.generate("?", max_tokens=20, steps=2).tokens
    text = [model.tokenizer.decode([token]) for token in said]
    result = model.infill("".join(text[:3]), "".join(text[7:]), prompt="?", max_tokens=16, steps=2)
    assert result.text == "".join(text[3:7])
    assert result.tokens == said[3:7]
    cut = model.infill("".join(text[:3]), "".join(text[7:]), prompt="?", max_tokens=16, steps=2, stop=[text[5]])
    assert cut.text == "".join(text[3:5])
    assert cut.tokens == said[3:5]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"length": 0}, "length is 0; allowed: 'auto' or a whole number"),
        ({"length": "long"}, "length is 'long'"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"stop": ""}, "stop is ''; allowed: a list of texts"),
        ({"stop": [""]}, r"stop is \(''\,\); allowed: a list of non-empty strings"),
        ({"n": 0}, "n is 0; allowed: 1 to 256"),
        ({"length": 100}, "a span has 102 tokens"),
    ],
)
def test_gaps_that_are_refused(model: TextModel, asked: dict[str, object], message: str):
    with pytest.raises(RequestError, match=message):
        model.infill("a", "b", **asked)  # type: ignore[arg-type]


def test_who_cannot_edit_says_so(make_model: Make, specs: dict[str, GenerationSpec], model: TextModel):
    single = make_model(specs["ar"])
    for call in (lambda: single.edit("text"), lambda: single.infill("a", "b")):
        with pytest.raises(RequestError, match="small is autoregressive and cannot see what follows a position"):
            call()
    with pytest.raises(RequestError, match=r"strength is 1\.5; allowed: more than 0, at most 1"):
        model.edit("text", strength=1.5)


@pytest.mark.parametrize(
    "name", ["uniform", "self-conditioned", "mask", "hybrid", "shifted", "full", "block", "in-place"]
)
def test_every_family_edits(make_model: Make, specs: dict[str, GenerationSpec], name: str):
    model = make_model(specs[name], max_position_embeddings=128)
    text, settings = "keep this, change THAT and keep the rest", {"steps": 3, "adaptive": False}
    result = model.edit(text, spans=[(18, 22)], instruction="do it", **settings)
    assert result.finish_reason == "stop"
    assert result.text.startswith("keep this, change ")
    assert result.text.endswith(" and keep the rest")
