"""Rewrites JSON Schema patterns to match the JSON notation of strings.

A pattern describes a string's value, but a JSON text holds its notation, with some characters escaped. So the pattern
is parsed, and each character or class becomes a regex for the ways JSON writes it. The result is in Python's syntax and
matches no more than the pattern does both in Python and in ECMAScript. Where these differ
(`\\d`, `\\w`, `\\s`, `.`, `$`), it matches what both would.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from re import _constants as sre  # type: ignore[attr-defined]
from typing import Any

from sfumato.constraints.characters import Ranges, category, complement, intersect, join
from sfumato.constraints.regex import BEGINNINGS, ENDS, REFUSED, parse
from sfumato.errors import RequestError

CHARACTER = r'(?:[^"\\\x00-\x1f]|\\["\\bfnrt])'
"""A character of a JSON string as written; below U+0020 only those with a short escape."""

_HOUR = "(?:[01][0-9]|2[0-3])"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?"
_LEAP_YEAR = "(?:[1-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00)"
_DATE = (
    "(?:[1-9][0-9]{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|"
    f"(?:0[13578]|1[02])-31)|{_LEAP_YEAR}-02-29)"
)
_TIME = rf"{_HOUR}:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{{1,6}})?(?:Z|[+-]{_HOUR}:[0-5][0-9])"
_HOURS = "(?:[0-9]{1,2}H(?:[0-9]{1,2}M)?|(?:[0-9]{1,2}M)?[0-9]{1,2}S|[0-9]{1,2}M)"
_BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
_UUID = "[0-9a-f]{{8}}-[0-9a-f]{{4}}-{}[0-9a-f]{{3}}-{}[0-9a-f]{{3}}-[0-9a-f]{{12}}"

FORMATS = {
    "date": (_DATE, 10, 10),
    "time": (_TIME, 9, 21),
    # Of OpenAPI, and as Pydantic calls it.
    **dict.fromkeys(("byte", "base64"), (_BASE64, 0, math.inf)),
    "date-time": (f"{_DATE}T{_TIME}", 20, 32),
    "uuid": (_UUID.format("[0-9a-f]", "[0-9a-f]"), 36, 36),
    # Pydantic's, by version.
    **{f"uuid{version}": (_UUID.format(version, "[89ab]"), 36, 36) for version in (1, 3, 4, 5, 6, 7, 8)},
    "ipv4": (rf"{_BYTE}(?:\.{_BYTE}){{3}}", 7, 15),
    "ipv6": ("[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){7}", 15, 39),
    "hostname": (rf"{_LABEL}(?:\.{_LABEL}){{0,3}}", 1, 131),
    "email": (rf"[A-Za-z0-9_+-]{{1,30}}(?:\.[A-Za-z0-9_+-]{{1,30}})?@{_LABEL}(?:\.{_LABEL}){{1,3}}", 5, 193),
    "uri": (r"https?://(?:[a-z0-9]{1,30}\.){1,3}[a-z]{2,10}(?:/[A-Za-z0-9._~-]{1,30}){0,4}/?", 11, 236),
    "duration": (f"P(?:[0-9]{{1,3}}[DW]|(?:[0-9]{{1,3}}D)?T{_HOURS})", 3, 12),
}
"""For each format, a regex for some strings that have it, and their minimum and maximum length."""

_LITERAL: Ranges = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, sys.maxunicode))
_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_ALLOWED = (
    "characters, classes, groups, alternatives, quantifiers, and ^ and $ at the ends of it or of its alternatives"
)


@dataclass(frozen=True)
class _Piece:
    """A part of a pattern."""

    regex: str
    """A regex that can be part of a sequence."""
    shortest: int
    """Minimum characters of the value."""
    longest: int | None
    """Maximum characters; None if unlimited."""


def escape(text: str) -> str:
    """A regex that matches exactly a text."""
    return re.sub(r"[\\.+*?()|\[\]{}^$#&\-~]", r"\\\g<0>", text)


def repeat(regex: str, minimum: int, maximum: int | None) -> str:
    """A repetition of a regex."""
    if (minimum, maximum) == (1, 1):
        return regex
    if maximum == 0:
        return ""
    count = f"{{{minimum},{'' if maximum is None else maximum}}}" if minimum != maximum else f"{{{minimum}}}"
    return f"(?:{regex}){ {(0, 1): '?', (0, None): '*', (1, None): '+'}.get((minimum, maximum), count) }"


def any_of(regexes: Sequence[str]) -> str:
    """A regex that matches what one of several does."""
    return regexes[0] if len(regexes) == 1 else f"(?:{'|'.join(regexes)})"


def regex_of_pattern(pattern: str, pointer: str, *, minimum: int = 0, maximum: int | None = None) -> str | None:
    """A regex for the inside of a JSON string whose value contains a match of a pattern.

    Args:
        pattern: in the syntax that Python and ECMAScript share.
        pointer: its location, for messages.
        minimum: minimum characters of the value.
        maximum: maximum characters of the value; None if unlimited.

    Returns:
        A regex; None if no value has both the pattern and the length.

    Raises:
        RequestError: if the pattern is invalid, not regular, or combined with lengths that cannot be guaranteed.
    """
    try:
        re.compile(pattern)
        parsed = parse(pattern)
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        raise RequestError(f"the pattern {pattern!r} at {pointer} cannot be read: {error}") from error
    if parsed.state.flags & ~re.UNICODE:
        raise _refusal(pattern, pointer, "flags")
    alternatives = []
    try:
        for sequence in _alternatives(list(parsed)):
            items, opens_left, opens_right = _without_anchors(sequence)
            if not (opens_left or opens_right):
                items = _fit(_without_groups(items), minimum, maximum)
            piece = _sequence(items)
            if piece is not None:
                alternatives.append((piece, opens_left, opens_right))
    except ValueError as error:
        raise _refusal(pattern, pointer, str(error)) from error
    within = [each for each in alternatives if not _out_of_reach(*each, minimum, maximum)]
    regexes = [_with_length(*each, minimum, maximum) for each in within]
    for (piece, _, _), regex in zip(within, regexes, strict=True):
        if regex is None:
            given = f"minLength {minimum}" + ("" if maximum is None else f" and maxLength {maximum}")
            width = f"{piece.shortest} to {'any number of' if piece.longest is None else piece.longest} characters"
            raise RequestError(
                f"the schema uses 'pattern' ({pattern!r}) with {given} at {pointer}, which cannot be guaranteed: a "
                f"match has {width}; supported: lengths that the pattern implies, or that can be made up around a match"
            )
    found = [regex for regex in dict.fromkeys(regexes) if regex is not None]
    return any_of(found) if found else None


def _refusal(pattern: str, pointer: str, what: str) -> RequestError:
    return RequestError(
        f"the schema uses 'pattern' ({pattern!r}) with {what} at {pointer}, which cannot be guaranteed; "
        f"supported: {_ALLOWED}"
    )


def _out_of_reach(piece: _Piece, opens_left: bool, opens_right: bool, minimum: int, maximum: int | None) -> bool:
    """Whether no match of an alternative can have the length."""
    too_long = maximum is not None and piece.shortest > maximum
    too_short = not (opens_left or opens_right) and piece.longest is not None and piece.longest < minimum
    return too_long or too_short


def _with_length(piece: _Piece, opens_left: bool, opens_right: bool, minimum: int, maximum: int | None) -> str | None:
    """A match and its surroundings with a total length; None if that cannot be guaranteed."""
    missing = max(0, minimum - piece.shortest)
    if not (opens_left or opens_right):
        return piece.regex if _is_within(piece.longest, maximum) and not missing else None
    spare = None
    if maximum is not None:
        if piece.longest is None or piece.longest + missing > maximum:
            return None
        spare = maximum - piece.longest
    if opens_left and opens_right:
        before = None if spare is None else min(spare // 2, spare - missing)
        after = None if spare is None or before is None else spare - before
        return repeat(CHARACTER, 0, before) + piece.regex + repeat(CHARACTER, missing, after)
    around = repeat(CHARACTER, missing, spare)
    return around + piece.regex if opens_left else piece.regex + around


def _alternatives(sequence: Sequence[Any]) -> list[list[Any]]:
    """Sequences that together match the same, with the anchors of outermost groups moved to their ends."""
    for i in dict.fromkeys((0, len(sequence) - 1)) if sequence else ():
        operator, argument = sequence[i]
        branches: Sequence[Any] = ()
        if operator is sre.BRANCH:
            branches = argument[1]
        elif operator is sre.SUBPATTERN and not (argument[1] or argument[2]):
            branches = [argument[3]]
        if any(_anchored(branch) for branch in branches):
            wholes = [[*sequence[:i], *branch, *sequence[i + 1 :]] for branch in branches]
            return list(itertools.chain.from_iterable(_alternatives(whole) for whole in wholes))
    return [list(sequence)]


def _anchored(sequence: Iterable[Any]) -> bool:
    for operator, argument in sequence:
        if operator is sre.AT:
            return True
        if operator is sre.BRANCH and any(_anchored(branch) for branch in argument[1]):
            return True
        if operator is sre.SUBPATTERN and _anchored(argument[3]):
            return True
    return False


def _without_anchors(sequence: list[Any]) -> tuple[list[Any], bool, bool]:
    """A sequence without the anchors at its ends, and whether it lacks those on the left and on the right."""
    first, last = 0, len(sequence)
    starts, ends = [(sre.AT, where) for where in BEGINNINGS], [(sre.AT, where) for where in ENDS]
    while first < last and sequence[first] in starts:
        first += 1
    while last > first and sequence[last - 1] in ends:
        last -= 1
    return sequence[first:last], first == 0, last == len(sequence)


def _without_groups(items: Iterable[Any]) -> list[Any]:
    """A sequence without groups that are not repeated; those with flags stay."""
    flat: list[Any] = []
    for operator, argument in items:
        is_plain = operator is sre.SUBPATTERN and not (argument[1] or argument[2])
        flat += _without_groups(argument[3]) if is_plain else [(operator, argument)]
    return flat


def _fit(items: list[Any], minimum: int, maximum: int | None) -> list[Any]:
    """A sequence with one repetition bounded so that all matches have a length; unchanged if none can be."""
    whole = _sequence(items)
    if whole is None or (whole.shortest >= minimum and _is_within(whole.longest, maximum)):
        return items
    for i, (operator, argument) in enumerate(items):
        if operator not in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            continue
        fewest, highest, inner = argument
        one, others = _sequence(inner), _sequence([*items[:i], *items[i + 1 :]])
        if one is None or others is None or not one.shortest or one.shortest != one.longest:
            continue
        fewest = max(fewest, -((others.shortest - minimum) // one.shortest))
        if maximum is not None and others.longest is not None:
            highest = min(highest, (maximum - others.longest) // one.shortest)
        if fewest <= highest and (maximum is None or others.longest is not None):
            return [*items[:i], (operator, (fewest, highest, inner)), *items[i + 1 :]]
    return items


def _is_within(longest: int | None, maximum: int | None) -> bool:
    return maximum is None or (longest is not None and longest <= maximum)


def _sequence(items: Iterable[Any]) -> _Piece | None:
    pieces = []
    for operator, argument in items:
        piece = _piece(operator, argument)
        if piece is None:
            return None
        pieces.append(piece)
    longest = [piece.longest for piece in pieces]
    return _Piece(
        "".join(piece.regex for piece in pieces),
        sum(piece.shortest for piece in pieces),
        None if None in longest else sum(each for each in longest if each is not None),
    )


def _piece(operator: Any, argument: Any) -> _Piece | None:
    """One item of a parsed pattern; None if nothing matches it."""
    if operator in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
        regex = _write_class(_members(operator, argument))
        return None if regex is None else _Piece(regex, 1, 1)
    if operator is sre.SUBPATTERN:
        _, added, removed, inner = argument
        if added or removed:
            raise ValueError("flags")
        return _sequence(inner)
    if operator is sre.BRANCH:
        branches = [piece for piece in map(_sequence, argument[1]) if piece is not None]
        if not branches:
            return None
        longest = [piece.longest for piece in branches]
        return _Piece(
            any_of(list(dict.fromkeys(piece.regex for piece in branches))),
            min(piece.shortest for piece in branches),
            None if None in longest else max(each for each in longest if each is not None),
        )
    if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        minimum, maximum, inner = argument
        maximum = None if maximum == sre.MAXREPEAT else maximum
        piece = _sequence(inner)
        if piece is None or maximum == 0:
            return None if piece is None and minimum else _Piece("", 0, 0)
        longest_of_all = 0 if piece.longest == 0 else None
        if maximum is not None and piece.longest is not None:
            longest_of_all = piece.longest * maximum
        return _Piece(repeat(piece.regex, minimum, maximum), piece.shortest * minimum, longest_of_all)
    if operator is sre.AT:
        raise ValueError("^ or $ inside it" if argument in (*BEGINNINGS, *ENDS) else "a word boundary")
    raise ValueError(REFUSED[operator][0])


def _members(operator: Any, argument: Any) -> Ranges:
    """The characters certain to be in a class, in any dialect."""
    if operator is sre.LITERAL:
        return join([(argument, argument)])
    if operator is sre.NOT_LITERAL:
        return complement(((argument, argument),))
    if operator is sre.ANY:
        return complement(_LINE_ENDS)
    negated = argument[0][0] is sre.NEGATE
    ranges: list[tuple[int, int]] = []
    for kind, value in argument[negated:]:
        if kind is sre.LITERAL:
            ranges.append((value, value))
        elif kind is sre.RANGE:
            ranges.append(value)
        else:
            ranges += _category(str(value), at_most=negated)
    return complement(ranges) if negated else join(ranges)


def _category(name: str, *, at_most: bool) -> Ranges:
    """The characters of a class such as `\\d`: the certain ones, or all possible ones."""
    letter = name.removeprefix("CATEGORY_").removeprefix("NOT_")[0].lower()
    narrow, wide = category(letter, ascii_only=True), category(letter)
    if letter == "s":
        # Additional ones in ECMAScript.
        wide = join([*wide, (0xFEFF, 0xFEFF)])
    if "NOT_" in name:
        return complement(narrow if at_most else wide)
    return wide if at_most else narrow


def _write_class(ranges: Ranges) -> str | None:
    """A regex for the ways JSON writes a class's characters; None if there are none."""
    ways = []
    literal = intersect(ranges, _LITERAL)
    if literal:
        ends = ["-".join(map(_in_class, dict.fromkeys(each))) for each in literal]
        alone = len(literal) == 1 and literal[0][0] == literal[0][1]
        ways.append(escape(chr(literal[0][0])) if alone else f"[{''.join(ends)}]")
    # A class that reaches to the end of Unicode is a complement, and not meant for rare control characters.
    short_only = bool(ranges) and ranges[-1][1] == sys.maxunicode
    for first, last in intersect(ranges, complement(_LITERAL)):
        escapes = (json.dumps(chr(point))[1:-1] for point in range(first, last + 1))
        ways += [escape(each) for each in escapes if not (short_only and each.startswith("\\u"))]
    return any_of(ways) if ways else None


def _in_class(point: int) -> str:
    return chr(point) if point >= 128 or chr(point).isalnum() else f"\\x{point:02x}"
