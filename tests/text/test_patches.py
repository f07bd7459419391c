from __future__ import annotations

import ast
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.text.lexemes import lex
from sfumato.text.patches import Patch, apply

SOURCE = """def f(a, b):
    # keep
    if a not in b and (a is not None
           or b):  # why
        return [x for x in foo(a + 1,
            b) if x == "it's"]

    return -1
"""


def edit(source: str, *found: tuple[str, tuple[str, ...], tuple[str, ...]]) -> str:
    """Edit the first run of lexemes that reads like the middle of each triple's first string, split at blanks."""
    lexemes = lex(source)
    patches = []
    for anchor, goes, comes in found:
        words = anchor.split(" | ")
        start = next(i for i in range(len(lexemes)) if [one.text for one in lexemes[i : i + len(words)]] == words)
        offset = words.index(goes[0]) if goes else len(words)
        patches.append(Patch(start + offset, start + offset + len(goes), comes))
    return apply(source, lexemes, patches)


@pytest.mark.parametrize(
    ("anchor", "goes", "comes", "before", "after"),
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
    anchor: str, goes: tuple[str, ...], comes: tuple[str, ...], before: str, after: str
) -> None:
    start = SOURCE.index(before)
    assert edit(SOURCE, (anchor, goes, comes)) == SOURCE[:start] + after + SOURCE[start + len(before) :]


def test_a_new_line_is_indented_like_its_level() -> None:
    lexemes = lex(SOURCE)
    head = len(lexemes) - 4
    edited = apply(SOURCE, lexemes, [Patch(head, head, ("<1>", "x", "=", "a", "[", "1", ":", "]"))])
    assert "\n    x = a[1:]\n\n    return -1\n" in edited


def test_several_patches() -> None:
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
    """As long as brackets and lines stay as they are."""
    lexemes = lex(SOURCE)
    words = st.sampled_from(["x", "1", "+", "and", "'s'", "-", "==", "."])
    start = data.draw(st.integers(5, len(lexemes)))
    comes = tuple(data.draw(st.lists(words, min_size=1, max_size=3)))
    edited = apply(SOURCE, lexemes, [Patch(start, start, comes)])
    wanted = [one.text for one in lexemes[:start]] + list(comes) + [one.text for one in lexemes[start:]]
    if not set(itertools.pairwise(wanted)) & {("1", "."), (".", "1"), ("-", "1")} and ". ." not in " ".join(wanted):
        assert [one.text for one in lex(edited)] == wanted
    assert ast.dump(ast.parse(SOURCE))


def test_new_levels_are_four_spaces_deeper() -> None:
    source = "if a:\n\tb\n"
    lexemes = lex(source)
    edited = apply(source, lexemes, [Patch(len(lexemes), len(lexemes), ("<1>", "c", "<2>", "d"))])
    assert edited == "if a:\n\tb\n\tc\n\t    d\n"
