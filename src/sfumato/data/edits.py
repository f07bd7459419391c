"""Realistic noise for code: mistakes that people and programs make, instead of random tokens.

A clean text becomes *cells*, each with the lexeme shown and the lexeme that belongs there. A cell that shows nothing is
missing from the text; a cell to which nothing belongs is superfluous. From this the model learns, at every position,
which lexeme belongs there (`BLANK` for none), and how many are missing before it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from sfumato.config import check_range
from sfumato.errors import ConfigError
from sfumato.text.lexemes import (
    BLANK,
    CLOSING,
    END,
    FAMILIES,
    FIXED,
    LEVELS,
    MASK,
    OPENING,
    STATEMENT_WORDS,
    is_level,
    kind_of,
)


@dataclass(frozen=True, kw_only=True)
class EditNoiseConfig:
    """Shares of texts by kind of noise."""

    plausible: float = 0.6
    """A few names, operators, literals, calls or lines are replaced, missing or superfluous."""
    structural: float = 0.25
    """Brackets, colons, indentation, doubled, missing or mistyped lexemes."""
    uniform: float = 0.15
    """Random lexemes at random positions, at a level drawn from 0 to 1."""
    masked: float = 0.0
    """Masks at random positions, at a level whose square root is drawn from 0 to 1: few masks are as common as many."""
    clean: float = 0.1
    """Share of the first two kinds without any noise."""
    opened: float = 0.5
    """Share of gaps shown as slots to fill, instead of only being counted at the lexeme after them."""
    spare: float = 0.15
    """Share of texts with slots where nothing is missing."""

    def __post_init__(self) -> None:
        check_range(self, "plausible structural uniform masked clean opened spare", 0, 1)
        if not self.plausible + self.structural + self.uniform + self.masked > 0.0:
            raise ConfigError(
                "edits: plausible, structural, uniform and masked are all 0; allowed: one of them above 0"
            )


class Cell(NamedTuple):
    """A position of a noisy text."""

    seen: str
    """The lexeme shown."""
    target: str
    """The lexeme that belongs there; `BLANK` for none."""
    missing: int
    """Number of lexemes missing right before it; -1 if it is not to be learned."""


class _NothingFitsError(Exception):
    """The text offers nothing that the edit could apply to."""


class _Draft:
    """A text and its noise, position by position."""

    def __init__(self, lexemes: Sequence[str], rng: random.Random) -> None:
        self.clean = [*lexemes, END]
        self.rng = rng
        self.changed: dict[int, str] = {}
        self.missing: set[int] = set()
        self.added: dict[int, list[str]] = {}
        self.names = [text for text in lexemes if kind_of(text) == "name"]
        self.numbers = [text for text in lexemes if kind_of(text) == "number"]
        self.strings = [text for text in lexemes if kind_of(text) == "string"]

    def free(self, start: int, end: int) -> bool:
        """Whether a range lies in the text, after its first two lexemes, and is still clean."""
        return 2 <= start < end < len(self.clean) and not any(
            index in self.changed or index in self.missing or index in self.added for index in range(start, end)
        )

    def change(self, index: int, text: str) -> bool:
        """Show another lexeme; False if impossible."""
        if text == self.clean[index] or not self.free(index, index + 1):
            return False
        self.changed[index] = text
        return True

    def drop(self, start: int, end: int) -> bool:
        """Remove a range; False if impossible."""
        if not self.free(start, end) or end - start > 12:
            return False
        self.missing.update(range(start, end))
        return True

    def add(self, index: int, texts: Sequence[str]) -> bool:
        """Insert superfluous lexemes before a position; False if impossible."""
        if not texts or not (self.free(index, index + 1) or self.clean[index] == END):
            return False
        self.added[index] = list(texts)
        return True

    def position(self, suits: Callable[[str], bool] = lambda text: True) -> int:
        """A random position whose lexeme fits."""
        suitable = [index for index in range(2, len(self.clean) - 1) if suits(self.clean[index])]
        if not suitable:
            raise _NothingFitsError
        return self.rng.choice(suitable)

    def operand_end(self, index: int) -> int:
        """End of the operand that begins at a position: a name, literal or bracket with calls and subscripts."""
        clean = self.clean
        if index < len(clean) and clean[index] in OPENING:
            end = self.bracket_end(index)
        elif index < len(clean) and kind_of(clean[index]) in ("name", "number", "string"):
            end = index + 1
        else:
            raise _NothingFitsError
        while end < len(clean):
            if clean[end] == "." and end + 1 < len(clean):
                end += 2
            elif clean[end] in ("(", "["):
                end = self.bracket_end(end)
            else:
                break
        return end

    def bracket_end(self, index: int) -> int:
        """Index after the bracket that closes the one at a position."""
        depth = 0
        for end in range(index, min(len(self.clean), index + 40)):
            depth += (self.clean[end] in OPENING) - (self.clean[end] in CLOSING)
            if not depth:
                return end + 1
        raise _NothingFitsError

    def line(self, index: int) -> tuple[int, int]:
        """Start and end of a position's line."""
        start = index
        while start and not is_level(self.clean[start]):
            start -= 1
        end = index + 1
        while end < len(self.clean) and not is_level(self.clean[end]):
            end += 1
        return start, end

    def operand(self) -> str:
        """A name or number of the text, or a small number."""
        return self.rng.choice([*self.names[-40:], *self.numbers, "0", "1", "2"])

    def cells(self, config: EditNoiseConfig) -> list[Cell]:
        """The lexemes shown, with slots for opened gaps."""
        rng, cells, gap = self.rng, [], 0
        ignored = self._swallowed()
        spare = rng.randrange(2, len(self.clean)) if len(self.clean) > 3 and rng.random() < config.spare else -1
        run = 0
        for index, text in enumerate(self.clean):
            if index in self.missing:
                run += 1
                if index + 1 in self.missing:
                    continue
                if rng.random() >= config.opened:
                    gap = run
                else:
                    cells += [Cell(self._slot(), target, 0) for target in self.clean[index + 1 - run : index + 1]]
                    cells += [Cell(self._slot(), BLANK, 0) for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))]
                run = 0
                continue
            if index in ignored:
                gap = -1
                continue
            superfluous = [MASK] * rng.randint(1, 3) if index == spare else []
            for seen in (*superfluous, *self.added.get(index, ())):
                cells.append(Cell(seen, BLANK, gap))
                gap = 0
            cells.append(Cell(self.changed.get(index, text), text, gap))
            gap = 0
        return cells

    def _slot(self) -> str:
        if self.rng.random() < 0.7 or not self.names:
            return MASK
        return self.rng.choice(self.names) if self.rng.random() < 0.5 else self.rng.choice(FIXED[len(LEVELS) + 5 :])

    def _swallowed(self) -> set[int]:
        """Line heads that disappear because a bracket before them is no longer closed."""
        swallowed: set[int] = set()
        depth = before = 0
        for index, text in enumerate(self.clean):
            seen = "" if index in self.missing else self.changed.get(index, text)
            following = self.clean[index + 1] if index + 1 < len(self.clean) else ""
            for one in (*self.added.get(index, ()), seen):
                depth = max(0, depth + (one in OPENING) - (one in CLOSING))
            before = max(0, before + (text in OPENING) - (text in CLOSING))
            if is_level(text) and seen and depth > before:
                if following in STATEMENT_WORDS:
                    depth = before = 0
                else:
                    swallowed.add(index)
        return swallowed


def corrupt(lexemes: Sequence[str], config: EditNoiseConfig, rng: random.Random) -> list[Cell]:
    """Add noise to a text.

    Args:
        lexemes: of a clean text; the first two stay unchanged.

    Returns:
        The cells, the last one of `END`.
    """
    draft = _Draft(lexemes, rng)
    kinds = ("plausible", "structural", "uniform", "masked")
    [kind] = rng.choices(kinds, [getattr(config, kind) for kind in kinds])
    if kind == "masked":
        level = rng.random() ** 2
        seen = [MASK if index >= 2 and rng.random() < level else text for index, text in enumerate(lexemes)]
        return [Cell(*pair, 0) for pair in zip([*seen, END], draft.clean, strict=True)]
    if kind == "uniform":
        level = rng.random()
        scope = [text for text in lexemes if kind_of(text) in ("name", "number", "string")] or ["0"]
        for index in range(2, len(lexemes)):
            if rng.random() < level:
                draft.change(index, rng.choice(scope) if rng.random() < 0.5 else rng.choice(FIXED[5:]))
    elif rng.random() >= config.clean:
        draw = rng.random()
        wanted = (
            1 if draw < 0.6 else 2 if draw < 0.8 else 3 if draw < 0.9 else rng.randint(4, max(4, len(lexemes) // 16))
        )
        edits, weights = _PLAUSIBLE if kind == "plausible" else _STRUCTURAL
        for _ in range(4 * wanted):
            with suppress(_NothingFitsError):
                wanted -= rng.choices(edits, weights)[0](draft)
            if not wanted:
                break
    return draft.cells(config)


def _other_name(draft: _Draft) -> bool:
    index = draft.position(lambda text: kind_of(text) == "name")
    clean, rng = draft.clean, draft.rng

    def role(where: int) -> tuple[bool, bool]:
        return clean[where - 1] == ".", where + 1 < len(clean) and clean[where + 1] == "("

    if rng.random() < 0.15:
        return draft.change(index, rng.choice(_COMMON))
    alike = [text for where, text in enumerate(clean) if kind_of(text) == "name" and role(where) == role(index)]
    return draft.change(index, rng.choice(alike if rng.random() < 0.75 else draft.names))


def _other_of_family(draft: _Draft) -> bool:
    index = draft.position(lambda text: text in _ALTERNATIVES)
    return draft.change(index, draft.rng.choice(_ALTERNATIVES[draft.clean[index]]))


def _other_number(draft: _Draft) -> bool:
    index = draft.position(lambda text: kind_of(text) == "number")
    text, rng = draft.clean[index], draft.rng
    near: list[str] = []
    if text.isdecimal():
        value = int(text)
        near = [str(value + 1), str(abs(value - 1)), str(value * 10), str(value // 2)]
    return draft.change(index, rng.choice(near * 2 + draft.numbers + ["0", "1", "2", "10"]))


def _other_string(draft: _Draft) -> bool:
    index = draft.position(lambda text: kind_of(text) == "string")
    return draft.change(index, draft.rng.choice([*draft.strings, "''"]))


def _missing_unit(draft: _Draft) -> bool:
    """Removes a negation, an operator with its operand, an attribute, a call, a subscript or an argument."""
    # By kind first: brackets and dots far outnumber operators, and people forget operators.
    [heads] = draft.rng.choices(*_UNIT_HEADS)
    index = draft.position(lambda text: text in heads)
    clean, text = draft.clean, draft.clean[index]
    if text in ("not", "-"):
        return draft.drop(index, index + 1)
    if text == ".":
        called = index + 2 < len(clean) and clean[index + 2] == "("
        return draft.drop(index, draft.bracket_end(index + 2) if called else index + 2)
    if text == "[":
        return draft.drop(index, draft.bracket_end(index))
    if text == "(":
        # A call loses its function: `abs(x)` becomes `x`.
        end = draft.bracket_end(index)
        if kind_of(clean[index - 1]) != "name" or not draft.free(index - 1, end):
            return False
        return draft.drop(index - 1, index + 1) and draft.drop(end - 1, end)
    end = draft.operand_end(index + 1)
    if draft.rng.random() < 0.3:
        # Remove the operand before the operator rather than the one after it.
        return kind_of(clean[index - 1]) in ("name", "number") and draft.drop(index - 1, index + 1)
    return draft.drop(index, end)


def _excess_unit(draft: _Draft) -> bool:
    """Adds a negation, an operator with an operand, a call or a subscript."""
    rng, clean = draft.rng, draft.clean
    index = draft.position(lambda text: kind_of(text) in ("name", "number") or text in (")", "]"))
    draw = rng.random()
    if draw < 0.45:
        operator = rng.choice(("+", "-", "*", "//", "%", "and", "or", "+", "-"))
        return draft.add(index + 1, [operator, rng.choice(("1", "1", draft.operand()))])
    if draw < 0.6:
        start, _ = draft.line(index)
        heads = [where for where in range(start, index) if clean[where] in ("if", "return", "and", "or", "while", "(")]
        return bool(heads) and draft.add(heads[-1] + 1, ["not" if rng.random() < 0.7 else "-"])
    if draw < 0.75:
        inside = rng.choice((["1", ":"], [":", "-", "1"], ["0"], ["-", "1"], [":", ":", "-", "1"], [draft.operand()]))
        return draft.add(index + 1, ["[", *inside, "]"])
    if draw < 0.87:
        method = rng.choice(("lower", "upper", "strip", "copy", "split", "items", "keys"))
        return draft.add(index + 1, [".", method, "(", ")"])
    end = draft.operand_end(index)
    if end >= len(clean) or kind_of(clean[index]) == "fixed" or not draft.free(index, end + 1):
        return False
    function = rng.choice(("abs", "len", "int", "str", "sorted", "list", "set", "sum", "max", "min", "round"))
    return draft.add(index, [function, "("]) and draft.add(end, [")"])


def _swapped(draft: _Draft) -> bool:
    """Swaps two arguments or operands."""
    index = draft.position(lambda text: text in SWAPPED_AROUND)
    left, right = draft.clean[index - 1], draft.clean[index + 1]
    kinds = {kind_of(left), kind_of(right)}
    if left == right or not kinds <= {"name", "number", "string"} or not draft.free(index - 1, index + 2):
        return False
    return draft.change(index - 1, right) and draft.change(index + 1, left)


def _whole_line(draft: _Draft) -> bool:
    """Removes, doubles or moves a short line."""
    start, end = draft.line(draft.position())
    if not 2 <= end - start <= 10:
        return False
    if draft.rng.random() < 0.6:
        return draft.drop(start, end)
    return draft.add(draft.position(is_level), draft.clean[start:end])


def _missing_mark(draft: _Draft) -> bool:
    index = draft.position(lambda text: text in _MARKS)
    return draft.drop(index, index + 1)


def _excess_mark(draft: _Draft) -> bool:
    index = draft.position()
    doubled = draft.clean[index - 1] if draft.rng.random() < 0.4 else draft.rng.choice(_MARKS)
    return draft.add(index, [doubled])


def _other_bracket(draft: _Draft) -> bool:
    index = draft.position(lambda text: text in OPENING or text in CLOSING)
    alike = OPENING if draft.clean[index] in OPENING else CLOSING
    return draft.change(index, draft.rng.choice(sorted(alike)))


def _other_level(draft: _Draft) -> bool:
    """Changes the indentation of a line, sometimes with those below it."""
    index = draft.position(is_level)
    by = draft.rng.choice((-1, 1))
    lines = [where for where in range(index, len(draft.clean)) if is_level(draft.clean[where])]
    many = draft.rng.randint(2, 5) if draft.rng.random() < 0.25 else 1
    done = False
    for where in lines[:many]:
        level = LEVELS.index(draft.clean[where]) + by
        if 0 <= level < len(LEVELS):
            done |= draft.change(where, LEVELS[level])
    return done


def _mistyped(draft: _Draft) -> bool:
    """A keyword or name with a letter missing, doubled or moved."""
    index = draft.position(lambda text: text[0].isalpha() and len(text) > 2 and kind_of(text) in ("name", "fixed"))
    text, rng = draft.clean[index], draft.rng
    where = rng.randrange(len(text) - 1)
    variants = (
        text[:where] + text[where + 1 :],
        text[:where] + text[where] + text[where:],
        text[:where] + text[where + 1] + text[where] + text[where + 2 :],
    )
    typed = rng.choice(variants)
    return typed.isidentifier() and draft.change(index, typed)


def _missing_any(draft: _Draft) -> bool:
    index = draft.position()
    return draft.drop(index, index + draft.rng.choice((1, 1, 1, 2)))


def _cut_off(draft: _Draft) -> bool:
    return draft.drop(len(draft.clean) - 1 - draft.rng.randint(1, 4), len(draft.clean) - 1)


_COMMON = tuple(text for text in FIXED if kind_of(text) == "name")
_MARKS = (*tuple("()[]{}:,.="), "(", ")", ":", "in")
_UNIT_HEADS = (
    (("+", "-"), ("*", "/", "//", "%", "**"), ("not", "and", "or"), (".",), ("[",), ("(",), (",",)),
    (0.3, 0.15, 0.15, 0.1, 0.1, 0.1, 0.1),
)
SWAPPED_AROUND = frozenset({",", "-", "/", "<", ">", "<=", ">=", "//", "%", "**", "in", "and", "or", "+"})
_ALTERNATIVES: dict[str, list[str]] = {}
for _family in FAMILIES:
    for _text in _family:
        if _text not in CLOSING and _text not in OPENING and _text not in (",", ".", ":", ";"):
            _ALTERNATIVES.setdefault(_text, []).extend(other for other in _family if other != _text)
_PLAUSIBLE = (
    (_other_name, _other_of_family, _other_number, _other_string, _missing_unit, _excess_unit, _swapped, _whole_line),
    (0.27, 0.23, 0.13, 0.02, 0.17, 0.1, 0.04, 0.04),
)
_STRUCTURAL = (
    (_missing_mark, _excess_mark, _other_bracket, _other_level, _mistyped, _missing_any, _cut_off, _other_of_family),
    (0.31, 0.17, 0.06, 0.19, 0.11, 0.1, 0.03, 0.03),
)
