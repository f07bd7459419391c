"""The schemas that apply to a value at one location, their keywords, and refusals of unsupported ones."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sfumato.errors import RequestError, unknown

_ANNOTATIONS = (
    "title description default examples deprecated readOnly writeOnly $schema $id $comment $anchor $defs definitions "
    # The last one is OpenAPI's and does not affect validity.
    "contentEncoding contentMediaType contentSchema discriminator"
)
_SPEAKS_OF = {
    "string": "minLength maxLength pattern format",
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
    "array": "items prefixItems minItems maxItems uniqueItems contains minContains maxContains unevaluatedItems",
    "object": "properties required additionalProperties patternProperties minProperties maxProperties propertyNames "
    "dependentRequired dependentSchemas unevaluatedProperties",
}
WORDS = {type_: frozenset(words.split()) for type_, words in _SPEAKS_OF.items()}
_NEVER = frozenset(("not", "if", "then", "else", "$dynamicRef", "$dynamicAnchor"))
_SAME_VALUE = frozenset(("allOf", "anyOf", "oneOf"))
_ANYWHERE = frozenset(("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"))
_ALLOWED = _ANYWHERE.union(*WORDS.values())
_KNOWN = _ALLOWED.union(_NEVER, _ANNOTATIONS.split())
# How alike a misspelt keyword and the one that is meant are.
_MISSPELT = 0.8
_SUPPORTED = (
    "type, enum, const, anyOf, allOf, oneOf of branches that differ, $ref within the schema; properties, required, "
    "additionalProperties, patternProperties, propertyNames, minProperties, maxProperties; items, prefixItems, "
    "minItems, maxItems, uniqueItems of a few listed values; minLength, maxLength, pattern, format; minimum, maximum, "
    "exclusiveMinimum, exclusiveMaximum, multipleOf of integers within bounds"
)
# Also those refused for strings: no other format has a meaning for numbers.
STRING_FORMATS = (
    "idn-email idn-hostname uri-reference iri iri-reference uri-template json-pointer relative-json-pointer regex"
)
# Non-integers are "fraction"; JSON Schema's "number" is both.
KINDS = ("null", "boolean", "integer", "fraction", "string", "array", "object")
NUMBER = {"integer", "fraction"}


@dataclass(frozen=True)
class Part:
    """One of the schemas that apply to a value."""

    schema: Any
    """An object, or a boolean."""
    pointer: str
    """Its location, as a JSON pointer."""
    way: tuple[str, ...] = ()
    """Locations on the way to it that apply to the same value, including references."""
    around: tuple[str, ...] = ()
    """Those on the way that apply to the values around it."""
    spent: frozenset[str] = frozenset()
    """Branches of `anyOf` and `oneOf` that another part covers."""

    def inner(self, *path: str | int) -> Part:
        """A schema within this one."""
        schema = self.schema
        for step in path:
            schema = schema[step]
        way = (*self.way, self.pointer)
        if path[0] in _SAME_VALUE:
            return Part(schema, self.at(*path), way, self.around)
        return Part(schema, self.at(*path), around=(*self.around, *way))

    def at(self, *path: str | int) -> str:
        """A location within this schema."""
        return "/".join((self.pointer, *(str(step).replace("~", "~0").replace("/", "~1") for step in path)))


class NothingError(RequestError):
    """No value satisfies a location of a schema; the surroundings may do without it."""


def check_keywords(part: Part) -> None:
    for keyword in part.schema:
        if keyword in _NEVER:
            raise refusal(part, keyword)
        # Others are annotations, as JSON Schema says; but one that is nearly known is misspelt.
        is_fine = keyword in _KNOWN or keyword.startswith("x-")
        if not is_fine and difflib.get_close_matches(keyword, _ALLOWED, n=1, cutoff=_MISSPELT):
            raise RequestError(f"at {part.pointer}: {unknown('keyword', keyword, _ALLOWED)}")
    check_base(part)


def check_base(part: Part) -> None:
    """Refuse keywords that would change the meaning of references or of all keywords from here on."""
    for keyword in ("$id", "$schema"):
        if part.pointer != "#" and isinstance(part.schema, dict) and isinstance(part.schema.get(keyword), str):
            raise refusal(part, keyword, "elsewhere than at the root")


def kinds_of(parts: Iterable[Part], *, hints: bool = False) -> set[str]:
    """The types of values that parts allow.

    Args:
        hints: if no type is named, use only types that the keywords are about.
    """
    kinds, spoken_of, is_typed = set(KINDS), set[str](), False
    for part in parts:
        if "type" in part.schema:
            types = part.schema["type"]
            kinds &= _of_types([types] if isinstance(types, str) else types)
            is_typed = True
        spoken_of |= _of_types(type_ for type_, words in WORDS.items() if words & part.schema.keys())
    return kinds & spoken_of if hints and spoken_of and not is_typed else kinds


def _of_types(types: Iterable[str]) -> set[str]:
    return set[str]().union(*(NUMBER if each == "number" else {each} for each in types))


def required_names(parts: Iterable[Part]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part.schema.get("required", ())))


def is_closed(part: Part) -> bool:
    return part.schema.get("additionalProperties") is False and not part.schema.get("patternProperties")


def item_parts(parts: Iterable[Part], i: int) -> list[Part]:
    """The schemas that apply to an array item."""
    found = []
    for part in parts:
        if i < len(part.schema.get("prefixItems", ())):
            found.append(part.inner("prefixItems", i))
        elif "items" in part.schema:
            found.append(part.inner("items"))
    return found


def count_range(parts: Iterable[Part], lower: str, upper: str, pointer: str) -> tuple[int, int | None]:
    """The minimum and maximum count that parts allow."""
    minimum = max((int(part.schema[lower]) for part in parts if lower in part.schema), default=0)
    maximum = min((int(part.schema[upper]) for part in parts if upper in part.schema), default=None)
    if maximum is not None and minimum > maximum:
        raise nothing(pointer, f"{lower} {minimum} is above {upper} {maximum}")
    return minimum, maximum


def smaller(first: int | None, other: int) -> int:
    return other if first is None else min(first, other)


def search_pattern(pattern: str, name: str, part: Part) -> bool:
    try:
        return re.search(pattern, name) is not None
    except (re.error, OverflowError, ValueError) as error:
        where = part.at("patternProperties")
        raise RequestError(f"the pattern {pattern!r} at {where} cannot be read: {error}") from error


def nothing(pointer: str, reason: str) -> NothingError:
    return NothingError(f"nothing satisfies the schema at {pointer}: {reason}")


def refusal(part: Part, keyword: str, how: str = "", *, supported: str = _SUPPORTED) -> RequestError:
    value = json.dumps(part.schema[keyword], ensure_ascii=False)
    given = f"{keyword!r} ({value})" if len(value) <= 40 else f"{keyword!r}"
    what = f"the schema uses {given} at {part.pointer}{how and ' '}{how}"
    return RequestError(f"{what}, which cannot be guaranteed; supported: {supported}")


def refusal_of_any(parts: Iterable[Part], keyword: str, how: str) -> RequestError:
    return next(refusal(part, keyword, how) for part in parts if keyword in part.schema)
