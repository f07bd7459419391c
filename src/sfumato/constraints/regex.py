"""Regular expressions in Python's syntax, compiled to automata over bytes.

Python's own parser reads the expression; `expressions` compiles it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from sfumato.constraints.characters import Ranges, category, complement, ignore_case, intersect, join
from sfumato.constraints.dfa import Budget, Language
from sfumato.constraints.expressions import Compiler, Node
from sfumato.errors import RequestError

REFUSED = {
    sre.ASSERT: ("a lookahead or lookbehind", r"\(\?<?="),
    sre.ASSERT_NOT: ("a negative lookahead or lookbehind", r"\(\?<?!"),
    sre.GROUPREF: ("a backreference", r"\\[1-9]|\(\?P="),
    sre.GROUPREF_EXISTS: ("a conditional group", r"\(\?\("),
    sre.ATOMIC_GROUP: ("an atomic group", r"\(\?>"),
    sre.POSSESSIVE_REPEAT: ("a possessive quantifier", r"[*+?}]\+"),
    sre.AT: ("a word boundary", r"\\[bB]"),
}
"""A construct that is not regular, or not supported here: its name, and how it is written."""
BEGINNINGS = (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
ENDS = (sre.AT_END, sre.AT_END_STRING)
ALLOWED = "characters, classes, groups, alternatives, quantifiers, flags, and ^ and $ at the ends"
MAX_CHARACTERS = 300_000
"""Maximum characters of an expression; its parser takes a second for a million."""


def parse(pattern: str) -> Any:
    """Parse an expression with Python's parser.

    Raises:
        re.error: if it is invalid.
    """
    try:
        with warnings.catch_warnings():
            # Python plans to change the meaning of some patterns; today's counts.
            warnings.simplefilter("ignore", FutureWarning)
            return sre_parser.parse(pattern)
    except RecursionError:
        raise re.error("groups are nested too deeply") from None
    except (OverflowError, ValueError) as error:
        raise re.error(str(error)) from None


def find_refused(pattern: str, operator: Any) -> int:
    """The position of a refused construct in a pattern."""
    _, written = REFUSED[operator]
    # Skip anything escaped or within a class.
    for found in re.finditer(rf"(?P<it>{written})|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", pattern, re.DOTALL):
        if found["it"]:
            return found.start()
    return 0


class Unordered(NamedTuple):
    """Texts separated by a comma and a space, in any order."""

    once: tuple[str, ...]
    """Regular expressions of texts that occur at most once."""
    num_required: int = 0
    """How many of these, from the first, must occur."""
    more: str | None = None
    """Regular expression of texts that may occur any number of times."""

    @staticmethod
    def sign(number: int) -> str:
        """The placeholder for one of several in an expression: a lone surrogate, which is not a character of any
        text."""
        return chr(_FIRST_SIGN + number)


_FIRST_SIGN, MAX_UNORDERED = 0xD800, 2048


def from_regex(pattern: str, budget: Budget | None = None, unordered: Sequence[Unordered] = ()) -> Language:
    """The texts that fully match a regular expression, like `re.fullmatch`, except that $ is the very end.

    Args:
        pattern: in Python's syntax, without constructs that need backtracking: lookaround, backreferences.
        unordered: meaning of its placeholders; each may contain earlier ones.

    Raises:
        RequestError: if it is invalid, or takes too much.
    """
    if not isinstance(pattern, str):
        raise RequestError(f"the regular expression is {pattern!r}; allowed: a string")
    shown = repr(pattern if len(pattern) <= 100 else f"{pattern[:100]}…")
    if len(pattern) > MAX_CHARACTERS:
        raise RequestError(
            f"the regular expression {shown} has {len(pattern):,} characters; allowed: {MAX_CHARACTERS:,}"
        )
    try:
        reader = Reader(budget or Budget(), unordered)
        return reader.compile(reader.read_all(parse(pattern)))
    except re.error as error:
        raise RequestError(
            f"the regular expression {shown} cannot be read{_place(pattern, error.pos)}: {error.msg}"
        ) from None
    except _RefusedError as error:
        name, _ = REFUSED[error.operator]
        place = _place(pattern, find_refused(pattern, error.operator))
        raise RequestError(f"the regular expression {shown} has {name}{place}; supported: {ALLOWED}") from None


def _place(pattern: str, at: int | None) -> str:
    if at is None:
        return ""
    rest = pattern[at : at + 20]
    return f" at character {at + 1}, {rest!r}" if rest else " at its end"


class _RefusedError(Exception):
    def __init__(self, operator: Any) -> None:
        self.operator = operator


class Reader(Compiler):
    """Turns Python's parse tree into nodes."""

    def __init__(self, budget: Budget, unordered: Sequence[Unordered] = ()) -> None:
        super().__init__(budget)
        self.unordered = unordered
        self.known: dict[tuple[Any, ...], int] = {}

    def read_all(self, parsed: Any) -> int:
        try:
            root = self.read(parsed, parsed.state.flags)
            self.comma = self.read(parse(", "), 0)
        except RecursionError:
            raise re.error("groups are nested too deeply") from None
        return root

    def read(self, items: Iterable[Any], flags: int) -> int:
        return self.sequence([self.read_item(operator, argument, flags) for operator, argument in items])

    def read_item(self, operator: Any, argument: Any, flags: int) -> int:
        self.budget.check(len(self.node))
        if operator is sre.LITERAL and 0 <= argument - _FIRST_SIGN < len(self.unordered):
            once, num_required, more = self.unordered[argument - _FIRST_SIGN]
            parts = tuple(self.read(parse(each), flags) for each in once)
            again = None if more is None else self.read(parse(more), flags)
            return self.add(Node("unordered", parts, num_required, again))
        if operator in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
            key = operator, argument if isinstance(argument, int) else str(argument), flags
            if key not in self.known:
                self.known[key] = self.characters(intersect(_members(operator, argument, flags), complement(())))
            return self.known[key]
        if operator is sre.SUBPATTERN:
            _, added, removed, inner = argument
            return self.read(inner, (flags | added) & ~removed)
        if operator is sre.BRANCH:
            return self.add(Node("alternatives", tuple(self.read(inner, flags) for inner in argument[1])))
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            low, high, inner = argument
            return self.repeat(self.read(inner, flags), low, None if high == sre.MAXREPEAT else high)
        if operator is sre.AT and argument in (*BEGINNINGS, *ENDS):
            if flags & re.MULTILINE:
                raise re.error("^ and $ stand for every line (flag m); allowed: for the whole text")
            return self.add(Node("beginning" if argument in BEGINNINGS else "end"))
        raise _RefusedError(operator)


def _members(operator: Any, argument: Any, flags: int) -> Ranges:
    """The characters of a class."""
    ascii_only = bool(flags & re.ASCII)

    def cased(ranges: Ranges) -> Ranges:
        return ignore_case(ranges, ascii_only=ascii_only) if flags & re.IGNORECASE else ranges

    if operator is sre.ANY:
        return complement(() if flags & re.DOTALL else ((0x0A, 0x0A),))
    if operator in (sre.LITERAL, sre.NOT_LITERAL):
        ranges = cased(((argument, argument),))
        return ranges if operator is sre.LITERAL else complement(ranges)
    negated = argument[0][0] is sre.NEGATE
    found: list[tuple[int, int]] = []
    for kind, value in argument[negated:]:
        if kind is sre.CATEGORY:
            name = str(value).removeprefix("CATEGORY_")
            members = category(name.removeprefix("NOT_")[0].lower(), ascii_only=ascii_only)
            found += complement(members) if name.startswith("NOT_") else members
        else:
            found += cased(((value, value) if kind is sre.LITERAL else value,))
    return complement(found) if negated else join(found)
