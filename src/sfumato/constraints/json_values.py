"""JSON values of each type as regular expressions, in the notation of `json.dumps`."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from sfumato.constraints.json_parts import NUMBER, WORDS, NothingError, Part, count_range, nothing, refusal
from sfumato.constraints.patterns import CHARACTER, FORMATS, any_of, escape, regex_of_pattern, repeat
from sfumato.constraints.ranges import MAX_DIGITS, Bounds, regex_of_integers, regex_of_numbers
from sfumato.errors import RequestError

_ANY_TEXT = ("binary", "password", "path")
"""Formats of OpenAPI and Pydantic that say how a text is meant, and allow any."""
_MAX_MULTIPLES = 1000
DEPTH = 2
"""Nesting depth of arrays and objects where any value is allowed; one less in additional properties."""


def members(texts: Mapping[str, str], always: set[str]) -> str:
    """Comma-separated properties, some of them optional."""
    names = list(texts)
    first = next((i for i, name in enumerate(names) if name in always), None)
    if first is None:
        return f"(?:{_some(list(texts.values()))})?" if names else ""
    before = "".join(f"(?:{texts[name]}, )?" for name in names[:first])
    after = (f", {texts[name]}" if name in always else f"(?:, {texts[name]})?" for name in names[first + 1 :])
    return before + texts[names[first]] + "".join(after)


def _some(texts: Sequence[str]) -> str:
    """One or more of several texts, in order; each appears log2(n) + 1 times in the regex."""
    if len(texts) == 1:
        return texts[0]
    half = len(texts) // 2
    rest = "".join(f"(?:, {text})?" for text in texts[half:])
    return any_of([_some(texts[:half]) + rest, _some(texts[half:])])


def other_than(words: Iterable[tuple[str, ...]]) -> str:
    """A regex for all strings except some, given character by character."""
    tails: dict[str, list[tuple[str, ...]]] = {}
    for word in words:
        tails.setdefault("".join(word[:1]), []).append(word[1:])
    can_end = "" not in tails
    # Control characters have a notation that given names use too.
    signs = [sign for sign in tails if len(sign) in (1, 2)]
    plain = "".join(f"\\x{ord(sign):02x}" if ord(sign) < 128 else sign for sign in signs if len(sign) == 1)
    short = "".join(sign for sign in '"\\bfnrt' if f"\\{sign}" not in signs)
    other = rf'(?:[^"\\\x00-\x1f{plain}]|\\[{escape(short)}]){repeat(CHARACTER, 0, None)}'
    ways = [other, *(escape(sign) + other_than(tails[sign]) for sign in signs)]
    return f"(?:{'|'.join(ways)}){'?' if can_end else ''}"


def regex_of_string(parts: Sequence[Part], pointer: str) -> str:
    minimum, maximum = count_range(parts, "minLength", "maxLength", pointer)
    formats = {part.schema["format"]: part for part in parts if part.schema.get("format", "path") not in _ANY_TEXT}
    patterns = {part.schema["pattern"]: part for part in parts if "pattern" in part.schema}
    for (name, part), (other, _) in itertools.pairwise([*formats.items(), *patterns.items()]):
        keyword = "format" if name in formats else "pattern"
        raise refusal(part, keyword, f"together with {other!r}")
    for name, part in formats.items():
        if name not in FORMATS:
            raise refusal(part, "format", supported=", ".join((*FORMATS, *_ANY_TEXT)))
        regex, shortest, longest = FORMATS[name]
        if longest < minimum or (maximum is not None and maximum < shortest):
            raise nothing(pointer, f"no {name!r} has {minimum} to {maximum} characters")
        if minimum > shortest or (maximum is not None and maximum < longest):
            raise refusal(part, "format", f"with a length of less than {shortest} to {longest} characters")
        return f'"{regex}"'
    for pattern, part in patterns.items():
        found = regex_of_pattern(pattern, part.at("pattern"), minimum=minimum, maximum=maximum)
        if found is None:
            raise nothing(pointer, f"no string of {minimum} to {maximum} characters matches the pattern {pattern!r}")
        return f'"{found}"'
    return f'"{repeat(CHARACTER, minimum, maximum)}"'


def regex_of_number(kind: str, parts: Sequence[Part], pointer: str) -> str:
    """Integers, or all numbers if fractions are allowed."""
    lower, lower_open = max(_given(parts, "minimum", "exclusiveMinimum"), default=(None, False))
    # Of equal bounds, the exclusive one is tighter.
    uppers = ((-bound, is_open) for bound, is_open in _given(parts, "maximum", "exclusiveMaximum"))
    negated_upper, upper_open = max(uppers, default=(None, False))
    upper = None if negated_upper is None else -negated_upper
    bounds = Bounds(lower=lower, upper=upper, lower_open=lower_open, upper_open=upper_open)
    stepped = [part for part in parts if "multipleOf" in part.schema]
    for part in stepped:
        if part.schema["multipleOf"] != int(part.schema["multipleOf"]):
            raise refusal(part, "multipleOf", "that is no integer")
    kind = "integer" if stepped else kind
    step = math.lcm(*(int(part.schema["multipleOf"]) for part in stepped))
    limit = 10**MAX_DIGITS
    if (bounds.lower or 0) > limit or (bounds.upper or 0) < -limit:
        given = " and ".join(part.pointer for part in parts)
        raise RequestError(f"the bounds at {given} leave only numbers beyond 1e{MAX_DIGITS}; allowed: nearer to zero")
    if kind != "integer":
        regex = regex_of_numbers(bounds)
    elif re.fullmatch("10*", str(step)):
        regex = regex_of_integers(bounds, step)
    elif (multiples := _multiples(bounds, step)) is not None:
        regex = any_of([str(number) for number in multiples]) if multiples else None
    else:
        how = f"other than a power of ten, without bounds that leave at most {_MAX_MULTIPLES}"
        raise refusal(stepped[-1], "multipleOf", how)
    if regex is None:
        words = [
            f"{word} {part.schema[word]}" for part in parts for word in sorted(WORDS["number"]) if word in part.schema
        ]
        raise nothing(pointer, f"no {'integer' if kind == 'integer' else 'number'} has {' and '.join(words)}")
    return regex


def _multiples(bounds: Bounds, step: int) -> list[int] | None:
    """The multiples of a number within bounds; None if there are too many to list."""
    if bounds.lower is None or bounds.upper is None or bounds.upper - bounds.lower > step * _MAX_MULTIPLES:
        return None
    first, last = math.ceil(bounds.lower / step), math.floor(bounds.upper / step)
    first += bounds.lower_open and first * step == bounds.lower
    last -= bounds.upper_open and last * step == bounds.upper
    return [number * step for number in range(first, last + 1)]


def _given(parts: Sequence[Part], inclusive: str, exclusive: str) -> Iterator[tuple[Fraction, bool]]:
    """The bounds that parts give by two keywords, each with whether it is exclusive."""
    for part in parts:
        for keyword in (inclusive, exclusive):
            if keyword in part.schema:
                yield Fraction(part.schema[keyword]), keyword == exclusive


def any_of_kind(kind: str, depth: int = DEPTH) -> str:
    """Any value of a type, with arrays and objects up to a depth."""
    if kind == "null":
        return "null"
    if kind == "boolean":
        return "(?:true|false)"
    if kind in NUMBER:
        return regex_of_numbers(Bounds()) or ""
    string = f'"{repeat(CHARACTER, 0, None)}"'
    if kind == "string":
        return string
    item = any_value(depth - 1)
    if kind == "array":
        return rf"\[(?:{item}(?:, {item})*)?\]"
    return rf"\{{(?:{string}: {item}(?:, {string}: {item})*)?\}}"


def any_value(depth: int) -> str:
    """Any value, with arrays and objects up to a depth."""
    deep = ("array", "object") if depth else ()
    return any_of([any_of_kind(each, depth) for each in ("null", "boolean", "fraction", "string", *deep)])


def literal(value: Any, pointer: str) -> str:
    """A regex of one value."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(
            f"{json.dumps(value)} at {pointer} has half a surrogate pair; allowed: characters"
        ) from error
    return escape(text)


def any_possible(makers: Iterable[Callable[[], str]]) -> str:
    """Alternatives, without impossible ones."""
    regexes: dict[str, None] = {}
    errors = []
    for make in makers:
        try:
            regexes[make()] = None
        except NothingError as error:
            errors.append(error)
    if not regexes:
        raise errors[0]
    return any_of(list(regexes))
