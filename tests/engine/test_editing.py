"""Editing and infilling: only the spans change, every byte outside them stays, wherever they begin and end."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Callable
from typing import Any

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
from sfumato.text.tokenizer import Tokenizer

Make = Callable[..., TextModel]

# Includes characters of several code points, both kinds of line endings, and tabs.
PARTS = ["a", "word ", "\r\n", "\n", "\t", "\u00e9", "e\u0301", "\U0001f469\u200d\U0001f467", "\U0001f1eb\U0001f1f7"]
PARTS += ["\ud55c", "\u200b", "\ufeff", "\ufffd", '"}', "  "]


@st.composite
def texts_with_spans(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A text, and spans of whole characters, some of them adjacent."""
    text = "".join(draw(st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=12)))
    text = text.encode("utf-8", "ignore").decode()
    boundaries = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    chosen = sorted(draw(st.sets(st.sampled_from(boundaries), max_size=6)))
    spans = list(itertools.pairwise(chosen))
    return text, [span for span in spans if draw(st.booleans())]


@pytest.fixture
def model(make_model: Make) -> TextModel:
    return make_model(GenerationSpec(canvas_length=12), num_hidden_layers=1, max_position_embeddings=96)


@pytest.fixture
def blank_model(make_model: Make) -> TextModel:
    return make_model(GenerationSpec(canvas_length=12, blanks=True), num_hidden_layers=1, max_position_embeddings=96)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=texts_with_spans(), seed=st.integers(0, 3), strength=st.sampled_from([None, 0.3]), blanks=st.booleans())
def test_bytes_outside_the_spans_never_change(
    model: TextModel,
    blank_model: TextModel,
    case: tuple[str, list[tuple[int, int]]],
    seed: int,
    strength: float | None,
    blanks: bool,
):
    text, spans = case
    chosen = blank_model if blanks else model
    result = chosen.edit(text, spans=spans, seed=seed, strength=strength, steps=1, adaptive=False)
    assert result.finish_reason == "stop"
    outside = [
        text[end:start] for (_, end), (start, _) in zip([(0, 0), *spans], [*spans, (len(text),) * 2], strict=True)
    ]
    assert result.text.startswith(outside[0])
    assert result.text.endswith(outside[-1])
    position = 0
    for part in outside:
        position = result.text.index(part, position) + len(part)
    if not spans:
        assert result.text == text
        assert result.usage.forward_passes == 0


def test_cut_marks_exactly_the_spans_as_free(model: TextModel):
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
def test_invalid_spans_are_refused(model: TextModel, spans: list[tuple[int, int]], message: str):
    with pytest.raises(RequestError, match=message):
        model.edit("abc\r\ne\u0301x", spans=spans)


def test_far_text_stays_and_is_not_read(model: TextModel, monkeypatch: pytest.MonkeyPatch):
    read: list[int] = []
    for name in ("encode", "encode_with_offsets"):
        encode = getattr(Tokenizer, name)
        monkeypatch.setattr(
            Tokenizer, name, lambda self, text, encode=encode: (read.append(len(text)), encode(self, text))[1]
        )
    line = "def area(a, b):\n    return a + b\n"
    text = line * 3
    start = len(line) + line.index("a +")
    far = "# one\r\n\u00e9\t" * 20_000
    drafts: list[str] = []
    among = model.edit(
        f"{far}\n{text}\n{far}",
        spans=[(len(far) + start + 1, len(far) + start + 6)],
        seed=3,
        min_certainty=float("-inf"),
        on_draft=drafts.append,
    )
    assert among.text.startswith(far)
    assert among.text.endswith(far)
    assert 0 < max(read) < len(far) // 4
    assert all(draft.startswith(far) and draft.endswith(far) for draft in drafts)
    assert drafts


def test_what_is_out_of_reach_changes_no_infill(model: TextModel):
    line, far = "# a line of text\n", "x = 1\n" * 50_000
    prefix, suffix = line * 500 + "def area(a, b):\n    return ", "\n" + line * 500
    near = model.infill(prefix, suffix, length=3, seed=1)
    assert model.infill(far + prefix, suffix + far, length=3, seed=1).tokens == near.tokens


def test_none_takes_the_default_of_every_option(model: TextModel):
    nothing = dict.fromkeys(("seed", "budget", "steps", "top_logprobs", "strength", "min_certainty", "spans"))
    assert model.edit("a = 1", **nothing).tokens == model.edit("a = 1").tokens
    nothing = dict.fromkeys(("seed", "length", "max_tokens", "stop", "prompt", "sampler"))
    assert model.infill("a = ", **nothing).tokens == model.infill("a = ").tokens


def test_lone_surrogates_are_refused(model: TextModel):
    with pytest.raises(RequestError, match=r"the text has \\ud83d at 2"):
        model.edit("ab\ud83d cd", spans=[(0, 1)])


def test_cost_grows_with_the_spans_not_the_text(model: TextModel):
    """Four thousand tokens, one per byte, for a model of 96 positions."""
    text = "The quick brown fox. " * 190
    spans = [(2000, 2005), (2010, 2015), (2018, 2020), (3500, 3504), (3506, 3509)]
    result = model.edit(text, spans=spans, steps=2)
    assert result.usage.canvases <= 4
    near = model.edit(text, spans=spans[:2], steps=2)
    assert near.usage.canvases <= 2
    assert near.usage.positions_computed < 200
    assert near.text[:2000] + near.text[-(len(text) - 2015) :] == text[:2000] + text[2015:]
    assert near.text != text


def test_drafts_have_what_lies_between_canvases(model: TextModel):
    text = "0123456789" * 3 + " a part that nobody changes " + "98 the end"
    drafts: list[str] = []
    result = model.edit(text, spans=[(0, 30), (58, 60)], steps=2, judge=False, on_draft=drafts.append)
    assert result.usage.canvases > 3
    assert drafts[-1] == result.text
    assert all(" a part that nobody changes " in draft and draft.endswith(" the end") for draft in drafts)


def test_edit_depends_on_the_text_after_the_span(make_model: Make):
    """Another suffix gives another edit."""
    model = make_model(GenerationSpec(canvas_length=12))
    texts = {
        model.edit(f"start ....{tail}", spans=[(6, 10)], temperature=0.0, steps=4).text[6:-5]
        for tail in ("abcde", "vwxyz", "12345")
    }
    assert len(texts) > 1


def test_span_may_exceed_a_canvas_but_not_the_model(model: TextModel):
    text = "x" * 60 + "tail"
    result = model.edit(text, spans=[(0, 60)], steps=1)
    # The span and the token after it, which it may absorb, on canvases of 12.
    assert result.usage.canvases == 6
    assert result.text.endswith("tail")
    with pytest.raises(RequestError, match=r"a span or gap has 121 tokens; allowed: 93"):
        model.edit("y" * 130, spans=[(0, 120)])


def test_doubted_tokens_are_rewritten(make_scripted: Callable[..., TextModel]):
    """A model that always predicts the same text finds where it was changed."""
    model = make_scripted(GenerationSpec(canvas_length=16), [*range(40, 60)])
    predicted = model.tokenizer.decode(model.generate("?", max_tokens=20, steps=2).tokens)
    job = Rewriting(
        model, tuple(model.tokenizer.encode_chat([{"role": "user", "content": "?"}])), [0], {"steps": 2}, {}
    )

    def edited(text: str, budget: int = 64) -> str:
        [result] = job.read_and_edit(Excerpt.of(text), None, noise_level=1.0, budget=budget, judge=None)
        return result.text

    for position in (0, 7, 14):
        assert edited(f"{predicted[:position]}~{predicted[position + 1 :]}")[:16] == predicted[:16]
    # The token and two on each side make five.
    wrong = f"{predicted[:7]}~{predicted[8:]}"
    assert edited(wrong, budget=4)[:16] == wrong[:16]
    assert edited(wrong, budget=5)[:16] == predicted[:16]


def test_embedded_model_finds_and_fixes_bugs():
    """Given only the instruction to fix the bug, it finds the place, and leaves correct code as it is."""
    model, task = sfumato.load("tiny"), find_task("bugfix")
    fixed = kept = 0
    for item in items(task, "test", 5, 12):
        instruction, _, code = item.prompt.partition("\n")
        fixed += task.check(item, model.edit(code, instruction=instruction).text)
        kept += model.edit(item.response, instruction=instruction).text == item.response
    assert fixed >= 9
    assert kept >= 11


def test_spans_are_rewritten_with_the_prompt_in_view():
    """What stands in an answer may be known from its prompt alone."""
    model, task = sfumato.load("tiny"), find_task("json")
    restored = {True: 0, False: 0}
    for item in items(task, "test", 5, 12):
        value = next(value for value in json.loads(item.response).values() if isinstance(value, str))
        start = item.response.index(f": {json.dumps(value, ensure_ascii=False)}") + 3
        span = (start, start + len(value))
        for reads in restored:
            found = model.edit(
                item.response, spans=[span], prompt=item.prompt if reads else None, min_certainty=-math.inf
            )
            restored[reads] += found.text == item.response
    assert restored[True] >= 9
    assert restored[False] <= 2
    with pytest.raises(RequestError, match="prompt and instruction are given; allowed: one of them"):
        model.edit("x = 1", prompt="12+5=", instruction="fix the bug")


def test_uncertain_edits_leave_the_text_unchanged(make_model: Make):
    """A model with random weights is certain of nothing."""
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
    assert [result.text for result in kept] == [result.text for result in found if result.certainty >= between]
    for wrong in (float("nan"), True, "high", 0.5):
        with pytest.raises(RequestError, match=r"min_certainty is .*; allowed: nats up to 0"):
            model.edit(text, spans=spans, min_certainty=wrong)


def test_certainty_counts_doubts_beyond_a_quarter_of_the_text(make_scripted: Callable[..., TextModel]):
    """A model that always predicts the same text is certain of what it writes and doubts any other."""
    model = make_scripted(GenerationSpec(canvas_length=16), [*range(40, 60)])
    predicted = model.tokenizer.decode(model.generate("?", max_tokens=20, steps=2).tokens)
    job = Rewriting(
        model, tuple(model.tokenizer.encode_chat([{"role": "user", "content": "?"}])), [0], {"steps": 2}, {}
    )

    def certainty(text: str) -> float:
        settings = {"noise_level": 1.0, "budget": 64, "judge": None}
        [result] = job.read_and_edit(Excerpt.of(text), [(2, 3)], **settings)  # type: ignore[arg-type]
        assert result.text[2:3] == predicted[2:3]
        return result.certainty

    few, many = (certainty("~" * count + predicted[count:20]) for count in (5, 12))
    # A quarter of 20 tokens is five.
    assert few - many >= 12 - 20 / 4 - 1


def test_long_text_is_read_as_an_excerpt_around_the_span():
    """The embedded model can fix each function alone; together they are unlike anything it was trained on."""
    model, task = sfumato.load("tiny"), find_task("bugfix")
    functions = items(task, "test", 7, 12)
    fixed = 0
    for i, item in enumerate(functions[:3]):
        before, after = ("\n\n".join(other.response for other in part) for part in (functions[:i], functions[i + 1 :]))
        code = item.prompt.partition("\n")[2]
        text = f"{before}\n\n{code}\n\n{after}\n"
        start = len(before) + 2 + sum(map(len, code.splitlines(keepends=True)[: item.meta["line"]]))
        span = (start, start + len(code.split("\n")[item.meta["line"]]))
        result = model.edit(text, spans=[span], instruction="fix the bug:")
        expected = f"{before}\n\n{item.response}\n\n{after}\n"
        assert result.text in (text, expected)
        fixed += result.text == expected
    assert fixed >= 2
    with pytest.raises(
        RequestError, match=r"the text is too long for tiny, which reads about \d+ of \d+ lines at once"
    ):
        model.edit("\n\n".join(item.response for item in functions), instruction="fix the bug:")


@pytest.mark.parametrize("name", ["uniform", "mask", "hybrid", "shifted", "full", "block"])
def test_every_family_locates_edits(make_model: Make, specs: dict[str, GenerationSpec], name: str):
    model = make_model(specs[name])
    text = "one two\r\nthree \u00e9 four five six"
    result = model.edit(text, budget=9, steps=2, adaptive=False)
    assert result.finish_reason == "stop"
    assert result.usage.denoising_steps >= 3
    if name == "mask":
        # Every fourth position of half a canvas at a time: 30 tokens, as CRLF is read as one, and the end.
        assert (len(model.tokenizer.encode(text)), result.usage.denoising_steps) == (31, 5 * 4 + 1)


def test_infill_candidates_are_distinct_and_sorted_by_certainty(model: TextModel):
    results = model.infill("def f(", "):\r\n\treturn 1", length=4, n=3, steps=2)
    assert isinstance(results, list)
    assert len({result.text for result in results}) == len(results)
    assert [result.certainty for result in results] == sorted((result.certainty for result in results), reverse=True)
    for result in results:
        assert result.usage.canvases == 1


@pytest.mark.parametrize("blanks", [False, True])
def test_infill_tries_several_lengths(make_model: Make, blanks: bool):
    steps = {}
    for noise, mask_id in (("mask", 4), ("hybrid", 4)):
        model = make_model(GenerationSpec(canvas_length=12, blanks=blanks, noise=noise, mask_id=mask_id))  # type: ignore[arg-type]
        result = model.infill("ab", "yz", max_tokens=10, steps=1)
        steps[noise] = result.usage.denoising_steps
        assert result.usage.completion_tokens == len(result.tokens)
        assert model.infill("ab", "yz", max_tokens=10, steps=1).text == result.text
    # Blanks of 8 and 10; or lengths 1, 2, 3, 4, 6, 8 and those around the best: each is judged by another step.
    assert steps["mask"] in ([4] if blanks else range(12, 34, 2))
    # A hybrid model may take the context for noise, so it is read once more, with nothing hidden.
    assert steps["hybrid"] >= steps["mask"]


LIMITS: list[tuple[dict[str, Any], Callable[[str], object]]] = [
    ({"choices": ["ab", "cde", "é", "2026-11"]}, lambda text: text in ("ab", "cde", "é", "2026-11")),
    ({"regex": r"\d{2,5}(;[a-z]+)?"}, re.compile(r"\d{2,5}(;[a-z]+)?").fullmatch),
    (
        {"schema": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}},
        lambda text: type(json.loads(text)) is list,
    ),
    ({"regex": "[a-z]*", "ban": ["a", "e"]}, re.compile("[b-df-z]*").fullmatch),
]


@pytest.mark.parametrize(
    "name", ["uniform", "self-conditioned", "mask", "hybrid", "shifted", "full", "block", "in-place"]
)
@pytest.mark.parametrize("blanks", [False, True])
def test_constraints_hold_in_gaps_of_every_family(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, blanks: bool
):
    model = make_model(dataclasses.replace(specs[name], blanks=blanks))
    before, old, after = "x = [1, ", "old text", "]\n# né\n"
    for options, allows in LIMITS:
        for seed in (1, 2):
            filled = model.infill(before, after, seed=seed, steps=2, max_tokens=12, **options)
            assert allows(filled.text), (options, filled.text)
            result = model.edit(before + old + after, spans=[(8, 16)], seed=seed, steps=2, **options)
            assert result.text.startswith(before)
            assert result.text.endswith(after)
            assert allows(result.text[len(before) : -len(after)]), (options, result.text)


def test_constraints_of_gaps_choose_possible_lengths(model: TextModel):
    assert len(model.infill("a", "b", regex="[xyz]{30}", max_tokens=60, steps=1).text) == 30
    exact = model.infill("a", "b", regex="[xyz]{3}|[xyz]{6}", length=3, steps=1)
    assert re.fullmatch("[xyz]{3}|[xyz]{6}", exact.text)
    for options, message in (
        ({"regex": "[xyz]{30}", "max_tokens": 4}, "satisfies regex is longer than 4 tokens, the shortest about 30;"),
        (
            {"choices": ["a"], "length": 9},
            "satisfies choices is shorter or longer than 9 tokens, the shortest about 1;",
        ),
        ({"regex": "a", "stop": ["b"]}, "stop would cut a text that must match regex"),
        ({"regex": "("}, r"the regular expression '\(' cannot be read"),
        ({"regex": "a", "choices": ["b"]}, "no text satisfies regex and choices together"),
    ):
        with pytest.raises(RequestError, match=message):
            model.infill("a", "b", **options)  # type: ignore[arg-type]


def test_constrained_edits_have_one_span_and_are_made_however_unsure(make_model: Make, model: TextModel):
    for options, named in (
        ({}, "no spans"),
        ({"spans": [(0, 1), (2, 3)]}, r"2 span\(s\) and strength 1"),
        ({"spans": [(0, 1)], "strength": 0.5}, r"1 span\(s\) and strength 0.5"),
    ):
        with pytest.raises(RequestError, match=f"regex is given with {named}; allowed: with one span and strength 1"):
            model.edit("a b c", regex="x", **options)  # type: ignore[arg-type]
    usually_unsure = make_model(
        GenerationSpec(canvas_length=12), {"min_certainty": -0.001}, max_position_embeddings=128
    )
    assert usually_unsure.edit("a b c", spans=[(2, 3)]).finish_reason == "unsure"
    assert usually_unsure.edit("a b c", spans=[(2, 3)], choices=["xyz"]).text == "a xyz c"
    asked = usually_unsure.edit("a b c", spans=[(2, 3)], regex="[a-z]{3}", min_certainty=-0.001)
    assert asked.finish_reason == "unsure"


def test_infill_length_is_chosen_by_the_suffix(make_scripted: Callable[..., TextModel]):
    """A model that predicts the same text from its start, whatever it reads: with the right gap length, the suffix is
    what it would have written itself; it is as certain of other lengths."""
    model = make_scripted(GenerationSpec(canvas_length=32), [*range(40, 60)])
    predicted = model.generate("?", max_tokens=20, steps=2).tokens
    text = [model.tokenizer.decode([token]) for token in predicted]
    result = model.infill("".join(text[:3]), "".join(text[7:]), prompt="?", max_tokens=16, steps=2)
    assert result.text == "".join(text[3:7])
    assert result.tokens == predicted[3:7]
    stopped = model.infill("".join(text[:3]), "".join(text[7:]), prompt="?", max_tokens=16, steps=2, stop=[text[5]])
    assert stopped.text == "".join(text[3:5])
    assert stopped.tokens == predicted[3:5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 0}, "length is 0; allowed: 'auto' or a whole number"),
        ({"length": "long"}, "length is 'long'"),
        ({"length": 2.5}, "length is 2.5"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": 2.5}, "max_tokens is 2.5; allowed: a whole number, 1 to 1048576"),
        ({"seed": "x"}, "seed is 'x'; allowed: a whole number"),
        ({"stop": ""}, "stop is ''; allowed: a list of texts"),
        ({"stop": [""]}, r"stop is \[''\]; allowed: a list of non-empty strings"),
        ({"n": 0}, "n is 0; allowed: a whole number, 1 to 256"),
        ({"length": 100}, "a span or gap has 102 tokens"),
        ({"regex": re.compile("a")}, r"regex is re.compile\('a'\); allowed: a string"),
        ({"constraint": {}}, r"constraint is {}, which has no hash"),
        ({"foo": 1}, "unknown option 'foo'; allowed: adaptive, ban, .*length, .*prompt,"),
    ],
)
def test_invalid_infill_options_are_refused(model: TextModel, options: dict[str, object], message: str):
    with pytest.raises(RequestError, match=message):
        model.infill("a", "b", **options)  # type: ignore[arg-type]


def test_unsupported_edits_are_refused(make_model: Make, specs: dict[str, GenerationSpec], model: TextModel):
    single = make_model(specs["ar"])
    for call in (lambda: single.edit("text"), lambda: single.infill("a", "b")):
        with pytest.raises(RequestError, match="small is autoregressive and cannot see what follows a position"):
            call()
    for name, value, allowed in (
        ("strength", 1.5, "more than 0, at most 1"),
        ("strength", "much", "more than 0, at most 1"),
        ("seed", 1.5, "a whole number"),
    ):
        with pytest.raises(RequestError, match=f"{name} is {value!r}; allowed: {allowed}"):
            model.edit("text", **{name: value})  # type: ignore[arg-type]


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
