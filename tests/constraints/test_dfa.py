"""Languages against Python's own regular expressions, and by hand."""

from __future__ import annotations

import functools
import itertools
import re

import pytest

from sfumato.constraints import dfa
from sfumato.constraints.dfa import Budget, from_choices, without
from sfumato.constraints.regex import from_regex
from sfumato.errors import RequestError

TEXTS = ["".join(letters) for length in range(6) for letters in itertools.product("abc", repeat=length)]


@pytest.mark.parametrize("strings", [["a"], ["ab"], ["aba", "bb"], ["abc", "bc", "ca"], ["aa", "aab"]], ids=str)
def test_without(strings: list[str]):
    found = without(strings)
    for text in TEXTS:
        assert found.accepts(text) == (not any(string in text for string in strings))


def test_of_choices():
    found = from_choices(["ab", "abc", "cé"])
    assert [text for text in [*TEXTS, "cé", "c"] if found.accepts(text)] == ["ab", "abc", "cé"]


@pytest.mark.parametrize(("left", "right"), [("", ""), ("a", ""), ("", "ab"), ("ab", "ba"), ("a", "aab"), ("", "aa")])
def test_framed(left: str, right: str):
    found = dfa.between(left.encode(), right.encode(), dfa.anything, Budget())
    for text in TEXTS:
        whole = len(text) >= len(left + right) and text.startswith(left) and text.endswith(right)
        assert found.accepts(text) == whole


@pytest.mark.parametrize(("left", "right"), [("", ""), ("a", ""), ("", "b"), ("ab", "ba"), ("a", "aab"), ("", "bab")])
@pytest.mark.parametrize("pattern", ["(ab)*", "a|bb", "b*a?", "[ab]{2}"])
def test_between(left: str, right: str, pattern: str):
    found = dfa.between(left.encode(), right.encode(), functools.partial(from_regex, pattern), Budget())
    whole = re.compile(f"{left}(?:{pattern}){right}")
    for text in TEXTS:
        assert found.accepts(text) == bool(whole.fullmatch(text))


def test_minimal_states():
    """Of (aa|ab|ba|bb)* as it is spelled: none, one of two, dead."""
    spelled = from_choices(["aa", "ab", "ba", "bb"])
    assert len(spelled.final_S) == 8
    least = spelled.minimize()
    assert len(least.final_S) == 4
    for text in TEXTS:
        assert least.accepts(text) == spelled.accepts(text)
    assert len(from_regex("(aa|ab|ba|bb)*").final_S) == 3
    nothing = from_choices(["a"]).intersect(from_choices(["b"]))
    assert not any(nothing.accepts(text) for text in TEXTS)


def test_both():
    one, other = from_regex("(a|b)*"), without(["aa"])
    for text in TEXTS:
        assert one.intersect(other).accepts(text) == (one.accepts(text) and other.accepts(text))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_choices([]), r"choices is \[\]; allowed: one or more non-empty strings"),
        (lambda: from_choices(["a", ""]), "choices is .*; allowed"),
        (lambda: without(["a", ""]), "a banned string is empty; allowed: one character or more"),
        (lambda: from_choices(["abc" * 20_000]), "takes more than 50,000 states; allowed: 50,000 .* Lower the bounds"),
    ],
)
def test_refused_languages(make: object, message: str):
    with pytest.raises(RequestError, match=message):
        make()  # type: ignore[operator]


def test_too_large_product_is_refused():
    one, other = from_regex("(a{7})*"), from_regex("(a{11})*")
    assert len(one.intersect(other).final_S) == 78
    with pytest.raises(RequestError, match="takes more than 40 states; allowed: 40 states"):
        one.intersect(other, Budget(max_states=40))
