from __future__ import annotations

import bisect
import heapq
import io
import itertools
import textwrap
import tokenize
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.text import lexemes as module
from sfumato.text.lexemes import (
    FIXED,
    LEVELS,
    MAX_STRING,
    MAX_WORDS,
    MISALIGNED,
    Lexicon,
    features,
    is_level,
    kind_of,
    lex,
    relative,
)

SOURCE = '''def f(a, b):
    """Doc."""
    # a comment
    if a not in b and (a is not None
           or b):
        return [x for x in foo(a,
            b) if x == "it's"]

    return -1
'''


def texts(source: str) -> list[str]:
    return [lexeme.text for lexeme in lex(source)]


def test_lines_start_with_their_level_except_in_brackets() -> None:
    assert " ".join(texts(SOURCE)) == (
        '<0> def f ( a , b ) : <1> """Doc.""" <1> if a not in b and ( a is not None or b ) : '
        '<2> return [ x for x in foo ( a , b ) if x == "it\'s" ] <1> return - 1'
    )


@pytest.mark.parametrize("module", [bisect, heapq, textwrap], ids=lambda module: module.__name__)
def test_tokens_match_python(module: ModuleType) -> None:
    """Modules without f-strings, which Python splits up from 3.12 on."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    ignored = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    found = tokenize.generate_tokens(io.StringIO(source).readline)
    tokens = [token.string[:MAX_STRING] for token in found if token.type not in ignored]
    actual = [text for text in texts(source) if not is_level(text)]
    assert " ".join(actual) == " ".join(tokens)


@given(st.text(alphabet="ab \n\t()[]'\"#:=1\\éf.", max_size=60))
def test_lexemes_know_their_positions(source: str) -> None:
    found = lex(source)
    for lexeme in found:
        if not is_level(lexeme.text) and lexeme.text != MISALIGNED and " " not in lexeme.text:
            assert source[lexeme.start : lexeme.end] == lexeme.text
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    shown = "".join(source[lexeme.start : lexeme.end] for lexeme in found)
    assert sum(map(shown.count, "ab1é")) == sum(map(_without_comments(source).count, "ab1é"))


def _without_comments(source: str) -> str:
    return "".join(match.group() for match in module._TOKEN.finditer(source) if match.lastgroup != "comment")


def test_unclosed_bracket_ends_at_a_statement() -> None:
    assert texts("x = (1,\nreturn y\n") == ["<0>", "x", "=", "(", "1", ",", "<0>", "return", "y"]


def test_invalid_dedent_is_marked() -> None:
    assert [text for text in texts("if a:\n        b\n    c\n    d\n") if text[0] == "<"] == [
        "<0>",
        "<1>",
        MISALIGNED,
        "<1>",
    ]


def test_levels_start_at_the_minimum() -> None:
    assert relative(["<2>", "a", "<3>", "b"]) == ["<0>", "a", "<1>", "b"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x", "name"),
        ("if", "fixed"),
        ("not in", "fixed"),
        ("1.5", "number"),
        (".5", "number"),
        ("...", "fixed"),
        ("rb'x'", "string"),
        ('"', "string"),
        ("<1>", "level"),
        ("<pad>", "special"),
        ("<", "fixed"),
        ("+=", "fixed"),
    ],
)
def test_kinds_of_lexemes(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_lexicon_starts_with_fixed_lexemes() -> None:
    lexicon = Lexicon(["if", "name", "<1>", "name"])
    assert lexicon.lexemes == [*FIXED, "name"]
    assert lexicon.encode(["name", "other"]) == [len(FIXED), len(FIXED) + 1]
    assert len(set(FIXED)) == len(FIXED)
    assert set(LEVELS) <= set(FIXED)


def test_features_share_words_between_lexemes() -> None:
    by_name, by_string = features("readFile_name", 64, 4096), features("'file read'", 64, 4096)
    assert len(by_name) == len(by_string) == MAX_WORDS + 2
    assert set(by_name[2:]) & set(by_string[2:]) >= {features("file", 64, 4096)[2], features("read", 64, 4096)[2]}
    assert Lexicon(["a"]).features(64, 4096).shape == (len(FIXED) + 1, MAX_WORDS + 2)
