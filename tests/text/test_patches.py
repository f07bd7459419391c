from __future__ import annotations

import ast
import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.text import patches
from sfumato.text.lexemes import is_level, lex
from sfumato.text.patches import Patch, apply, line_span, line_starts

SOURCE = """def f(a, b):
    # keep
    if a not in b and (a is not None
           or b):  # why
        return [x for x in foo(a + 1,
            b) if x == "it's"]

    return -1
"""


def edit(source: str, *edits: tuple[str, tuple[str, ...], tuple[str, ...]]) -> str:
    """Replace lexemes in the first match of each anchor, a sequence of lexemes separated by " | "."""
    lexemes = lex(source)
    chosen = []
    for anchor, old, new in edits:
        words = anchor.split(" | ")
        start = next(i for i in range(len(lexemes)) if [lexeme.text for lexeme in lexemes[i : i + len(words)]] == words)
        offset = words.index(old[0]) if old else len(words)
        chosen.append(Patch(start + offset, start + offset + len(old), new))
    return apply(source, lexemes, chosen)


@pytest.mark.parametrize(
    ("anchor", "old", "new", "before", "after"),
    [
        ("a | not in | b", ("not in",), ("in",), "a not in b", "a in b"),
        ("if", (), ("not",), "if a", "if not a"),
        ("a | + | 1", ("+", "1"), (), "foo(a + 1,", "foo(a,"),
        ("<2>", ("<2>",), ("<1>",), "        return [x", "    return [x"),
        ("- | 1", (), ("-", "x"), "-1", "-1 - x"),
        ("return", (), ("abs", "("), "return [x", "return abs([x"),
        ("] | <1>", ("<1>",), ("<2>",), "    return -1", "        return -1"),
    ],
)
def test_only_patched_text_changes(
    anchor: str, old: tuple[str, ...], new: tuple[str, ...], before: str, after: str
) -> None:
    start = SOURCE.index(before)
    assert edit(SOURCE, (anchor, old, new)) == SOURCE[:start] + after + SOURCE[start + len(before) :]


def test_new_lines_are_indented_like_their_level() -> None:
    lexemes = lex(SOURCE)
    head = len(lexemes) - 4
    edited = apply(SOURCE, lexemes, [Patch(head, head, ("<1>", "x", "=", "a", "[", "1", ":", "]"))])
    assert "\n    x = a[1:]\n\n    return -1\n" in edited


def test_several_patches_apply_together() -> None:
    edited = edit(SOURCE, ("<2>", ("<2>",), ("<1>",)), ("- | 1", ("1",), ("2",)))
    assert edited.endswith("return -2\n")
    assert "\n    return [x" in edited


@given(st.data())
def test_only_the_replaced_lexeme_differs(data: st.DataObject) -> None:
    lexemes = lex(SOURCE)
    names = [index for index, lexeme in enumerate(lexemes) if lexeme.text.isidentifier()]
    index = data.draw(st.sampled_from(names))
    edited = apply(SOURCE, lexemes, [Patch(index, index + 1, ("other",))])
    assert edited == SOURCE[: lexemes[index].start] + "other" + SOURCE[lexemes[index].end :]


@given(st.data())
def test_lexemes_of_the_edited_text_are_the_edited_lexemes(data: st.DataObject) -> None:
    """As long as brackets and lines do not change."""
    lexemes = lex(SOURCE)
    words = st.sampled_from(["x", "1", "+", "and", "'s'", "-", "==", "."])
    start = data.draw(st.integers(5, len(lexemes)))
    new = tuple(data.draw(st.lists(words, min_size=1, max_size=3)))
    edited = apply(SOURCE, lexemes, [Patch(start, start, new)])
    expected = [lexeme.text for lexeme in lexemes[:start]] + list(new) + [lexeme.text for lexeme in lexemes[start:]]
    if not set(itertools.pairwise(expected)) & {("1", "."), (".", "1"), ("-", "1")} and ". ." not in " ".join(expected):
        assert [lexeme.text for lexeme in lex(edited)] == expected
    assert ast.dump(ast.parse(SOURCE))


def test_new_levels_are_indented_by_four_spaces() -> None:
    source = "if a:\n\tb\n"
    lexemes = lex(source)
    edited = apply(source, lexemes, [Patch(len(lexemes), len(lexemes), ("<1>", "c", "<2>", "d"))])
    assert edited == "if a:\n\tb\n\tc\n\t    d\n"


@pytest.mark.parametrize(
    ("source", "start", "end", "after"),
    [
        ("x = f(1)\n", 1, 3, "f(1)\n"),
        ("if a:\n    x = f(1)\n", 5, 7, "if a:\n    f(1)\n"),
        ("x = y  # why\n", 2, 4, "x  # why\n"),
        ("f(a,  # why\n  b)\n", 3, 5, "f(  # why\n  b)\n"),
        ("x = 1, a.real\n", 4, 6, "x = 1 .real\n"),
    ],
)
def test_deleted_lexemes_leave_no_blanks_behind(source: str, start: int, end: int, after: str) -> None:
    assert apply(source, lex(source), [Patch(start, end, ())]) == after


@pytest.mark.parametrize(
    ("source", "patch", "after"),
    [
        ("f(a ,  b)  # why\n", Patch(2, 5, ("b", ",", "a")), "f(b ,  a)  # why\n"),
        ("x = (a  *\n     b)\n", Patch(2, 7, ("a", "*", "b")), "x = a  *\n     b\n"),
        ("x = a  *b\n", Patch(2, 5, ("f", "(", "a", "*", "b", ")")), "x = f(a  *b)\n"),
        ("x = a<b\n", Patch(3, 4, ("in",)), "x = a in b\n"),
    ],
)
def test_lexemes_that_stay_keep_what_stands_between_them(source: str, patch: Patch, after: str) -> None:
    lexemes = lex(source)
    start = [lexeme.text for lexeme in lexemes].index(source[0])
    assert apply(source, lexemes, [patch.moved(start)]) == after


def test_deletions_leave_the_other_lexemes() -> None:
    """As long as brackets and lines do not change."""
    source, random_ = Path(patches.__file__).read_text(encoding="utf-8"), random.Random(0)
    lexemes = lex(source)
    words = [lexeme.text for lexeme in lexemes]
    num_deleted = 0
    while num_deleted < 200:
        start = random_.randrange(1, len(words) - 4)
        end = start + random_.randint(1, 3)
        line_goes = is_level(words[start - 1]) and is_level(words[end])
        if line_goes or any(is_level(word) or word in "()[]{}" for word in words[start:end]):
            continue
        edited = apply(source, lexemes, [Patch(start, end, ())])
        assert [lexeme.text for lexeme in lex(edited)] == words[:start] + words[end:], words[start - 3 : end + 3]
        num_deleted += 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_spans_end_before_the_last_line_end(end: str) -> None:
    text = end.join(["a", "", "b", "", ""])
    starts = line_starts(text)
    found = [line_span(starts, text, first, last) for first, last in ((1, 1), (1, 2), (1, 3), (2, 2), (3, 4), (4, 5))]
    assert [None if span is None else text[slice(*span)] for span in found] == [
        "a",
        f"a{end}",
        f"a{end}{end}b",
        "",
        f"b{end}",
        None,
    ]
