"""The schemas that a value has to satisfy at one place, what their keywords speak of, and what is refused of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sfumato.errors import RequestError, unknown

_ANNOTATIONS = (
    "title description default examples deprecated readOnly writeOnly $schema $id $comment $anchor $defs definitions "
    # The last is OpenAPI's, and may not change what is valid.
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
_ANYWHERE = frozenset(("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"))
_ALLOWED = _ANYWHERE.union(*WORDS.values())
_KNOWN = _ALLOWED.union(_NEVER, _ANNOTATIONS.split())
_SUPPORTED = (
    "type, enum, const, anyOf, allOf, oneOf of branches that differ, $ref within the schema; properties, required, "
    "additionalProperties, patternProperties; items, prefixItems, minItems, maxItems; minLength, maxLength, pattern, "
    "format; minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf powers of ten"
)
# With those that are refused where strings are: no other has a meaning for numbers.
STRING_FORMATS = (
    "duration idn-email idn-hostname uri uri-reference iri iri-reference uri-template json-pointer "
    "relative-json-pointer regex"
)
# Numbers that are no integers are "fraction"; what JSON Schema calls "number" is both.
KINDS = ("null", "boolean", "integer", "fraction", "string", "array", "object")
NUMBER = {"integer", "fraction"}


@dataclass(frozen=True)
class Part:
    """One of the schemas that a value has to satisfy."""

    schema: Any
    """An object, or a truth value."""
    pointer: str
    """Where it is, as a JSON pointer."""
    way: tuple[str, ...] = ()
    """The places on the way there, from the root on, also by references."""
    spent: frozenset[str] = frozenset()
    """Those of `anyOf` and `oneOf` that another part stands for."""

    def inner(self, *path: str | int) -> Part:
        """A schema within this one."""
        schema = self.schema
        for step in path:
            schema = schema[step]
        return Part(schema, self.at(*path), (*self.way, self.pointer))

    def at(self, *path: str | int) -> str:
        """The place of something within this schema."""
        return "/".join((self.pointer, *(str(step).replace("~", "~0").replace("/", "~1") for step in path)))


class NothingError(RequestError):
    """No value satisfies a place of a schema; what is around it may do without."""


def check_keywords(part: Part) -> None:
    for keyword in part.schema:
        if keyword in _NEVER:
            raise refusal(part, keyword)
        if keyword not in _KNOWN:
            raise RequestError(f"at {part.pointer}: {unknown('keyword', keyword, _ALLOWED)}")
    check_base(part)


def check_base(part: Part) -> None:
    """Refuse what would give references, or all keywords, another meaning from here on."""
    for keyword in ("$id", "$schema"):
        if part.pointer != "#" and isinstance(part.schema, dict) and isinstance(part.schema.get(keyword), str):
            raise refusal(part, keyword, "elsewhere than at the root")


def kinds_of(parts: Iterable[Part], *, hints: bool = False) -> set[str]:
    """The kinds of values that parts allow.

    Args:
        parts: what values have to satisfy.
        hints: whether to keep to the kinds that the keywords speak of, where no type is named.
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
    """What the item at a place of an array has to satisfy."""
    found = []
    for part in parts:
        if i < len(part.schema.get("prefixItems", ())):
            found.append(part.inner("prefixItems", i))
        elif "items" in part.schema:
            found.append(part.inner("items"))
    return found


def count_range(parts: Iterable[Part], lower: str, upper: str, pointer: str) -> tuple[int, int | None]:
    """The least and the greatest count that parts allow."""
    least = max((int(part.schema[lower]) for part in parts if lower in part.schema), default=0)
    most = min((int(part.schema[upper]) for part in parts if upper in part.schema), default=None)
    if most is not None and least > most:
        raise nothing(pointer, f"{lower} {least} is above {upper} {most}")
    return least, most


def smaller(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def search_pattern(pattern: str, name: str, part: Part) -> bool:
    try:
        return re.search(pattern, name) is not None
    except (re.error, OverflowError) as error:
        where = part.at("patternProperties")
        raise RequestError(f"the pattern {pattern!r} at {where} cannot be read: {error}") from error


def nothing(pointer: str, reason: str) -> NothingError:
    return NothingError(f"nothing satisfies the schema at {pointer}: {reason}")


def refusal(part: Part, keyword: str, how: str = "") -> RequestError:
    value = json.dumps(part.schema[keyword], ensure_ascii=False)
    given = f"{keyword!r} ({value})" if len(value) <= 40 else f"{keyword!r}"
    what = f"the schema uses {given} at {part.pointer}{how and ' '}{how}"
    return RequestError(f"{what}, which cannot be guaranteed; supported: {_SUPPORTED}")


def refusal_of_any(parts: Iterable[Part], keyword: str, how: str) -> RequestError:
    return next(refusal(part, keyword, how) for part in parts if keyword in part.schema)
