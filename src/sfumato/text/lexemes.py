"""Splits Python source into lexemes: one per token of code, and one per logical line for its indentation.

Text that does not parse also has lexemes: unclosed brackets end where a statement begins. Comments, blank lines and
layout inside brackets have none. They stay in the source, which `Lexeme.start` and `end` refer to, so that editing some
lexemes leaves every other character unchanged.

Names, numbers and strings are too many for one vocabulary, so each text gets its own `Lexicon`. A model knows a lexeme
only by the hashes of its spelling and of its words, so embeddings are computed rather than looked up (`models.layers`).
"""

# V lexemes, S words of a lexeme

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

MAX_LEVEL = 15
"""Deepest indentation with its own lexeme; deeper lines share it."""
PAD, BLANK, MASK, END, MISALIGNED = "<pad>", "<blank>", "<mask>", "<end>", "<misaligned>"
LEVELS = tuple(f"<{level}>" for level in range(MAX_LEVEL + 1))
MAX_STRING = 200
"""Maximum characters of a string, number or name kept in its lexeme."""

# Interchangeable lexemes: operators of one kind, keywords in one role, functions of one shape.
FAMILIES: tuple[tuple[str, ...], ...] = (
    ("<", "<=", ">", ">=", "==", "!="),
    ("+", "-", "*", "//", "/", "%", "**"),
    ("+=", "-=", "*=", "//=", "/=", "%=", "**=", "="),
    ("&", "|", "^", "<<", ">>"),
    ("&=", "|=", "^=", "<<=", ">>="),
    ("and", "or"),
    ("break", "continue", "pass"),
    ("return", "yield"),
    ("if", "while", "elif"),
    ("True", "False", "None"),
    ("in", "not in", "==", "is"),
    ("is", "is not", "==", "!="),
    ("min", "max"),
    ("any", "all"),
    ("append", "extend", "add", "update", "insert", "remove", "pop"),
    ("lower", "upper", "title", "capitalize", "swapcase"),
    ("islower", "isupper", "isdigit", "isalpha", "isalnum", "isspace"),
    ("startswith", "endswith"),
    ("strip", "lstrip", "rstrip"),
    ("find", "index", "rfind", "count"),
    ("split", "rsplit", "splitlines", "partition"),
    ("keys", "values", "items"),
    ("sorted", "list", "set", "reversed", "tuple"),
    ("int", "float", "str", "round", "bool"),
    ("ceil", "floor", "round"),
    ("range", "enumerate", "len"),
    ("abs", "sum", "len"),
    ("ord", "chr"),
    ("(", "[", "{"),
    (")", "]", "}"),
    (",", ".", ":", ";"),
)
# Spelled out, because the ids of a lexicon must not depend on the Python version.
KEYWORDS = (
    "False None True and as assert async await break class continue def del elif else except finally for from global "
    "if import in is lambda nonlocal not or pass raise return try while with yield"
)
BUILTINS = (
    "abs all any bin bool bytes callable chr dict dir divmod enumerate eval filter float format frozenset getattr "
    "hasattr hash hex id input int isinstance issubclass iter len list map max min next object oct open ord pow print "
    "property range repr reversed round set setattr slice sorted str sum super tuple type vars zip"
)
NUMBERS = "0 1 2 3 4 5 6 7 8 9 10 16 32 64 100 255 256 1000 0.0 0.5 1.0 2.0"
OTHERS = "- ~ @ -> := ... @= self cls join replace format get sort copy"
# Lexemes that every text may use, whatever its scope: the start of every lexicon.
FIXED = tuple(
    dict.fromkeys(
        [PAD, BLANK, MASK, END, MISALIGNED, *LEVELS]
        + [lexeme for family in FAMILIES for lexeme in family]
        + f"{KEYWORDS} {BUILTINS} {NUMBERS} {OTHERS}".split()
        + ['""', "''"]
    )
)

# Keywords that only begin statements: inside brackets, one means that a bracket is missing.
_STARTS = (
    "assert break class continue def del elif except finally global import nonlocal pass raise return try while with"
)
STATEMENT_WORDS = frozenset(_STARTS.split())
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\f]+|\\\r?\n)
  | (?P<comment>\#[^\r\n]*)
  | (?P<newline>\r?\n|\r)
  | (?P<string>(?i:[rbfut]{0,2})(?:'''(?:[^\\]|\\.)*?(?:'''|\Z)|\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)
      |'(?:[^'\\\r\n]|\\.)*'?|"(?:[^"\\\r\n]|\\.)*"?))
  | (?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+
      |(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?)
  | (?P<name>[^\W\d]\w*)
  | (?P<operator>\*\*=|//=|>>=|<<=|\.\.\.|\*\*|//|>>|<<|<=|>=|==|!=|->|:=|[-+*/%&|^@]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = frozenset(KEYWORDS.split())
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
OPENING, CLOSING = frozenset(CLOSED_BY), frozenset(CLOSED_BY.values())


class Lexeme(NamedTuple):
    text: str
    """As in the source, or `<n>` for the head of a line indented by n levels."""
    start: int
    """Offset of its first character; for a line head, of its indentation."""
    end: int
    """Offset after its last character."""


def lex(source: str) -> list[Lexeme]:
    """Split Python source into lexemes.

    Args:
        source: need not parse. Tabs count to the next multiple of 8.

    Returns:
        Lexemes in order.
    """
    found: list[Lexeme] = []
    columns = [0]
    depth = 0
    line_start: int | None = 0
    for match in _TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        if kind == "newline":
            line_start = match.end()
        if kind in ("space", "comment", "newline"):
            continue
        if line_start is not None:
            if depth and text in STATEMENT_WORDS:
                depth = 0
            if not depth:
                found.append(_line_head(source, line_start, match.start(), columns))
            line_start = None
        depth = max(0, depth + (text in OPENING) - (text in CLOSING))
        last = found[-1].text if found else ""
        if (last, text) in (("not", "in"), ("is", "not")):
            found[-1] = Lexeme(f"{last} {text}", found[-1].start, match.end())
        else:
            found.append(Lexeme(text[:MAX_STRING], match.start(), match.end()))
    return found


def _line_head(source: str, start: int, end: int, columns: list[int]) -> Lexeme:
    """The lexeme of a line's indentation; updates `columns`, the open levels."""
    column, before = len(source[start:end].expandtabs(8)), columns[-1]
    while column < columns[-1]:
        columns.pop()
    if column == columns[-1]:
        return Lexeme(LEVELS[min(len(columns) - 1, MAX_LEVEL)], start, end)
    columns.append(column)
    text = MISALIGNED if column < before else LEVELS[min(len(columns) - 1, MAX_LEVEL)]
    return Lexeme(text, start, end)


def line_numbers(source: str, lexemes: Sequence[Lexeme]) -> list[int]:
    """Line of each lexeme, from 1."""
    numbers, line, at = [], 1, 0
    for lexeme in lexemes:
        line += source.count("\n", at, lexeme.start)
        at = lexeme.start
        numbers.append(line)
    return numbers


def relative(lexemes: Sequence[str]) -> list[str]:
    """Renumber line heads so that the least indented line is level 0."""
    levels = [_LEVEL[text] for text in lexemes if text in _LEVEL]
    lowest = min(levels, default=0)
    if not lowest:
        return list(lexemes)
    return [LEVELS[_LEVEL[text] - lowest] if text in _LEVEL else text for text in lexemes]


_LEVEL = {text: level for level, text in enumerate(LEVELS)}


def is_level(text: str) -> bool:
    """Whether a lexeme is the head of a line."""
    return text in _LEVEL


@functools.lru_cache(maxsize=1 << 16)
def kind_of(text: str) -> str:
    """ "name", "number", "string", "level", "special" for other `<...>`, or "fixed" for keywords and operators."""
    if text in _LEVEL:
        return "level"
    if text in (PAD, BLANK, MASK, END, MISALIGNED):
        return "special"
    if text[0].isalpha() or text[0] == "_":
        if text[-1] in "'\"" or "'" in text or '"' in text:
            return "string"
        return "fixed" if text in _KEYWORDS or " " in text else "name"
    if text[0].isdigit() or (text[0] == "." and text[1:2].isdigit()):
        return "number"
    return "string" if text[0] in "'\"" else "fixed"


MAX_WORDS = 15
"""Words of a lexeme for features; of a long string, the first ones."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


@functools.lru_cache(maxsize=1 << 18)
def features(text: str, num_spellings: int, num_words: int) -> tuple[int, ...]:
    """Features of a lexeme for a model.

    Args:
        num_spellings, num_words: sizes of the tables that the hashes index.

    Returns:
        The hash of the spelling, then `MAX_WORDS + 1` hashes of its kind and words, padded with 0.
    """
    kind = kind_of(text)
    words = [f"kind {kind}"]
    if kind in ("name", "string", "number"):
        words += [match.group().lower() for match in _WORD.finditer(text)][:MAX_WORDS]
    hashes = [1 + zlib.crc32(word.encode()) % (num_words - 1) for word in words]
    return (zlib.crc32(text.encode()) % num_spellings, *hashes, *[0] * (MAX_WORDS + 1 - len(hashes)))


class Lexicon:
    """Lexemes and their ids: `FIXED` first, then added ones in order."""

    def __init__(self, lexemes: Iterable[str] = ()) -> None:
        self._ids = dict(_FIXED_IDS)
        self.encode(lexemes)

    def __len__(self) -> int:
        return len(self._ids)

    def encode(self, lexemes: Iterable[str]) -> list[int]:
        """Ids of lexemes; adds new ones."""
        ids = self._ids
        return [ids.setdefault(text, len(ids)) for text in lexemes]

    @property
    def lexemes(self) -> Sequence[str]:
        return list(self._ids)

    def features(self, num_spellings: int, num_words: int) -> np.ndarray:
        """int64 [V, MAX_WORDS + 2], see `features`."""
        return np.array([features(text, num_spellings, num_words) for text in self._ids], dtype=np.int64)


_FIXED_IDS = {text: index for index, text in enumerate(FIXED)}
