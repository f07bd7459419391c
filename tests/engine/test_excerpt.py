"""Excerpts: what a model reads of a text, and how its output is merged back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.editing import check_spans
from sfumato.engine.excerpt import Excerpt

PARTS = st.sampled_from(["\ufeff", "\r\n", "\n", "\r", "\t", " ", "    ", "a", "b = 1", "e\u0301", ""])


@given(parts=st.lists(PARTS, max_size=12), choice=st.tuples(st.integers(0, 60), st.integers(1, 20)))
def test_replacing_with_the_same_text_changes_nothing(parts: list[str], choice: tuple[int, int]):
    text = "".join(parts)
    excerpt = Excerpt.of(text)
    assert "\r\n" not in excerpt.whole or "\r\r\n" in text
    assert not excerpt.whole.startswith("\ufeff") or text.startswith("\ufeff\ufeff")
    start = min(choice[0], len(excerpt.text))
    end = min(start + choice[1], len(excerpt.text))
    if start < end:
        assert excerpt.replaced([(start, end)], [excerpt.text[start:end]]) == text
        located = excerpt.locate([(start, end)])
        check_spans(text, located)
        covered = excerpt.cover(located)
        assert covered[0][0] <= start < end <= covered[-1][1]
        # Nothing before or after the span changes, whatever is written.
        replaced = excerpt.replaced(covered, ["?" for _ in covered])
        assert replaced.startswith(text[: located[0][0]])
        assert replaced.endswith(text[located[-1][1] :])


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        # Line endings and indentation follow the text.
        ("\ufeffif a:\r\n\tb\r\n", "    b", "    c\n    d", "\ufeffif a:\r\n\tc\r\n\td\r\n"),
        ("if a:\n\tb\n", "    b", "        b", "if a:\n\t\tb\n"),
        ("if a:\n\t\tb\n", "        b", "    b", "if a:\n\tb\n"),
        ("if a:\n\tb\n", "    b", "  b", "if a:\n  b\n"),
        ("if a:\n    b\n", "    b", "        b", "if a:\n        b\n"),
        # Unchanged parts of a line are kept byte for byte; tabs after the indentation are read as they are.
        ("\tx = 1\t# one\r\n\ty\n", "x = 1\t# one", "x = 2\t# one", "\tx = 2\t# one\r\n\ty\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\n"),
        ("a\r\nb\r\n", "b", "", "a\r\n\r\n"),
    ],
)
def test_replacement_adopts_line_endings_and_indentation(text: str, old: str, new: str, after: str):
    excerpt = Excerpt.of(text)
    start = excerpt.text.index(old)
    assert excerpt.replaced([(start, start + len(old))], [new]) == after


@pytest.mark.parametrize(
    ("fits", "read"),
    [
        (lambda part: len(part) <= 2, None),
        (lambda part: len(part) <= 3, "def"),
        (lambda part: part.count("\n") < 3, "\ndef\nghi)"),
        (lambda part: part.count("\n") < 4, "(b\n\ndef\nghi)"),
        (lambda part: "" not in part.split("\n"), "def\nghi)"),
        (lambda part: True, "a\n(b\n\ndef\nghi)\n\nj"),
    ],
)
def test_excerpt_grows_around_the_span_while_it_fits(fits: Callable[[str], bool], read: str | None):
    text = "a\r\n(b\r\n\r\ndef\r\nghi)\r\n\r\nj\r\n\r\n"
    narrowed = Excerpt.of(text).narrow([(text.index("def") + 1, text.index("def") + 2)], fits)
    assert (narrowed and narrowed.text) == read
    if narrowed:
        assert narrowed.replaced([(narrowed.text.index("e"), narrowed.text.index("e") + 1)], ["E"]) == text.replace(
            "e", "E"
        )
