"""Regular expressions against Python's own, and what they may take."""

from __future__ import annotations

import contextlib
import gc
import re
import signal
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.constraints.dfa import Budget
from sfumato.constraints.regex import MAX_CHARACTERS, from_regex
from sfumato.errors import RequestError

CHARACTERS = ["a", "b", "é", "A", "k", "ß", "_", "1", "İ", "😀", r"\.", r"\n"]
SETS = [
    ".",
    r"\w",
    r"\W",
    r"\d",
    r"\D",
    r"\s",
    r"\S",
    "[ab]",
    "[^a]",
    "[a-zé]",
    r"[^\w]",
    r"[^\s1]",
    r"[\d_]",
    "[^Ѐ-𐀀]",
]
TIMES = ["*", "+", "?", "{2}", "{0,3}", "{1,2}", "{2,}", "{0}", "*?", "??", "{3,7}"]


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(TIMES)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        st.tuples(st.sampled_from(["", "?:", "?i:", "?s:", "?a:", "?ai:", "?#it)("]), inner).map(
            lambda pair: f"({pair[0]}{pair[1]})"
        ),
    )


EXPRESSIONS = st.recursive(st.sampled_from([*CHARACTERS, *SETS]), larger, max_leaves=8)
TEXTS = st.lists(st.text("abAéÉkK\u017fß_1 \n.İ😀€Ж\u212a\u3000\x00", max_size=7), min_size=5, max_size=12)


@settings(deadline=None, max_examples=150)
@given(EXPRESSIONS, st.sampled_from(["{}", "^{}", "{}$", r"\A{}\Z", "(?:^{}$)"]), TEXTS)
@example("(?:a?|b*){2,5}", "{}", ["", "abab", "bbbbbb", "aaaaaa"])
@example("(?i:\u017f[^k])+", "^{}$", ["Sa", "sK", "s\u212a"])
@example("(?:a|^|b|$){2}", "{}", ["", "a", "b", "ab", "ba"])
def test_matches_as_python(expression: str, around: str, texts: list[str]):
    pattern = around.replace("{}", f"(?:{expression})")
    found = from_regex(pattern)
    for text in texts:
        if not text.endswith("\n"):  # $ is the very end here
            assert found.accepts(text) == (re.fullmatch(pattern, text) is not None), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (".{20}", "é" * 20, "é" * 19),
        (".{1000}", "日" * 1000, "日" * 1001),
        (r"(\w+\s?){1,50}", "a few words", " a"),
        (r"(\w*\s?){0,100}", "a few words", "!"),
        ("(a|aa){0,500}", "a" * 1000, "a" * 1001),
        ("(?:a?){200}a{200}", "a" * 300, "a" * 401),
        ('"[^"]{0,2000}"', '"' + "x" * 2000 + '"', '"' + "x" * 2001 + '"'),
    ],
)
def test_states_are_linear_in_repetitions(pattern: str, right: str, wrong: str):
    """One for each count, and for each way into a character: not one for each set of counts."""
    found = from_regex(pattern, Budget(max_states=50_000, max_seconds=600))
    assert len(found.final_S) < 12 * len(right) + 60_000 * ("w" in pattern)
    assert found.accepts(right)
    assert not found.accepts(wrong)


def test_invalid_utf8_is_rejected():
    found = from_regex("(?s).*")
    assert found.accepts("é\U0010ffff\x00")
    for wrong in (b"\xff", b"\xc3", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"):
        assert not found.accepts(wrong)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("ab(c", r"'ab\(c' cannot be read at character 3, '\(c': missing \), unterminated subpattern"),
        ("ab**", r"cannot be read at character 4, '\*': multiple repeat"),
        ("x[a-", r"cannot be read at character 2, '\[a-': unterminated character set"),
        (r"a\p{L}", r"cannot be read at character 2, '\\\\p\{L\}': bad escape"),
        ("a" * 200 + "(", "'a{100}…' cannot be read at character 201"),
        ("(" * 100_000 + ")" * 100_000, "groups are nested too deeply"),
        (r"[(?=]\(?=(?=a)b", r"has a lookahead or lookbehind at character 10, '\(\?=a\)b'; supported: characters"),
        ("a(?<!b)c", r"has a negative lookahead or lookbehind at character 2, '\(\?<!b\)c'"),
        (r"(a)\\\1", r"has a backreference at character 6, '\\\\1'"),
        ("(?P<x>a)(?P=x)", r"has a backreference at character 9, '\(\?P=x\)'"),
        (r"a\b", r"has a word boundary at character 2"),
        ("a++", r"has a possessive quantifier at character 2"),
        ("(?>a)", r"has an atomic group at character 1"),
        ("(a)?(?(1)b|c)", r"has a conditional group at character 5"),
        ("a" * (MAX_CHARACTERS + 1), f"has {MAX_CHARACTERS + 1:,} characters; allowed: {MAX_CHARACTERS:,}"),
        (5, "the regular expression is 5; allowed: a string"),
        ("a{" + "9" * 5000 + "}", "cannot be read: Exceeds the limit"),
        ("(?m)a$", r"\^ and \$ stand for every line \(flag m\); allowed: for the whole text"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_error_names_the_position(pattern: str, message: str):
    with pytest.raises(RequestError, match=message):
        from_regex(pattern)


def test_too_many_states_or_seconds_are_refused_with_the_number():
    for pattern in (".*a.{20}", "(a{1000}){1000}", "[ab]{60000}"):
        with pytest.raises(RequestError, match="takes more than 50,000 states; allowed: 50,000 states and 600 s"):
            from_regex(pattern, Budget(max_seconds=600))
    with pytest.raises(RequestError, match=r"takes more than 0 s, which came to \d+ states"):
        from_regex("[ab]{4000}", Budget(max_seconds=0))


def test_memory_is_linear_in_optional_parts():
    """Each of n parts may be the first that is there, and what follows it is not written n times."""
    tracemalloc.start()
    with pytest.raises(RequestError, match="takes more than"):
        from_regex("(?:" + "a?" * 10_000 + ")*", Budget(max_states=10, max_seconds=600))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000_000
    language = from_regex("(?:a?b?c?)*d")
    assert language.accepts("acbd")
    assert not language.accepts("ac")


def test_interrupt_ends_compilation(monkeypatch: pytest.MonkeyPatch):
    """Wherever it is: a signal's handler runs between any two checks of the budget."""
    checks, at = 0, 0

    def check(budget: Budget, num_states: int, work: int = 1) -> None:
        nonlocal checks
        checks += 1
        if checks == at:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Budget, "check", check)
    from_regex("(.{50},){20}")
    total = checks
    assert total > 2000
    for share in (0.1, 0.5, 0.9):
        checks, at = 0, int(share * total)
        with pytest.raises(KeyboardInterrupt):
            from_regex("(.{50},){20}")
        assert checks == at


def test_automata_have_no_reference_cycles():
    """It is gone at once, whatever the collector is told: of one that is refused there may be a hundred megabytes."""
    with contextlib.suppress(RequestError):
        from_regex("a*")  # and what is imported on the way
    gc.collect()
    from_regex("(é|[ab]){3,50}x*")
    with pytest.raises(RequestError):
        from_regex("(é|[ab]){3,50}x*", Budget(max_states=100))
    assert gc.collect() < 50


def test_the_clock_is_read_as_often_as_there_is_work(monkeypatch: pytest.MonkeyPatch):
    """Few states may stand for many rests each."""
    readings: list[int] = []

    def read(budget: Budget) -> bool:
        readings.append(budget._num_since_clock)
        budget._num_since_clock = 0
        return False

    monkeypatch.setattr(Budget, "_is_over", read)
    budget = Budget()
    from_regex("((a{1,12}){1,12}){1,12}", budget)
    assert len(readings) > 2 * budget._num_checks / 1024
    assert max(readings) < 10_000
