"""JSON schemas as regular expressions: every text that matches one is JSON that its schema allows.

A place of a schema is read as several parts that a value has to satisfy all at once: what `$ref` points to and what
`allOf` lists are more parts of it, and each branch of `anyOf` is one more part of another reading. Of the values that
the parts allow only one notation is written, that of `json.dumps`, and nothing that the schema does not name. So a
regex may leave out what a schema allows, but holds nothing that it does not; what cannot be made sure of is refused.
"""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any
from urllib.parse import unquote

from sfumato.data.numerals import MOST_DIGITS, Bounds, regex_of_integers, regex_of_numbers
from sfumato.data.pattern import CHARACTER, FORMATS, any_of, escape, regex_of_pattern, repeat
from sfumato.errors import RequestError, unknown

MOST_PARTS = 20_000
"""Parts of a schema that are read, with those that are read again for each reference to them."""
MOST_CHARACTERS = 1_000_000
"""Length of a regex."""
DEPTH = 2
"""How deep arrays and objects nest where any value is allowed."""

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
_WORDS = {type_: frozenset(words.split()) for type_, words in _SPEAKS_OF.items()}
_NEVER = frozenset(("not", "if", "then", "else", "$dynamicRef", "$dynamicAnchor"))
_ANYWHERE = frozenset(("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"))
_ALLOWED = _ANYWHERE.union(*_WORDS.values())
_KNOWN = _ALLOWED.union(_NEVER, _ANNOTATIONS.split())
_SUPPORTED = (
    "type, enum, const, anyOf, allOf, oneOf of branches that differ, $ref within the schema; properties, required, "
    "additionalProperties, patternProperties; items, prefixItems, minItems, maxItems; minLength, maxLength, pattern, "
    "format; minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf powers of ten"
)
# With those that are refused where strings are: no other has a meaning for numbers.
_STRING_FORMATS = (
    "duration idn-email idn-hostname uri uri-reference iri iri-reference uri-template json-pointer "
    "relative-json-pointer regex"
)

# Numbers that are no integers are "fraction"; what JSON Schema calls "number" is both.
_KINDS = ("null", "boolean", "integer", "fraction", "string", "array", "object")
_NUMBER = {"integer", "fraction"}


@dataclass(frozen=True)
class _Part:
    """One of the schemas that a value has to satisfy."""

    schema: Any
    """An object, or a truth value."""
    place: str
    """Where it is, as a JSON pointer."""
    way: tuple[str, ...] = ()
    """The places on the way there, from the root on, also by references."""
    spent: frozenset[str] = frozenset()
    """Those of `anyOf` and `oneOf` that another part stands for."""

    def inner(self, *path: str | int) -> _Part:
        """A schema within this one."""
        schema = self.schema
        for step in path:
            schema = schema[step]
        return _Part(schema, self.at(*path), (*self.way, self.place))

    def at(self, *path: str | int) -> str:
        """The place of something within this schema."""
        return "/".join((self.place, *(str(step).replace("~", "~0").replace("/", "~1") for step in path)))


class _NothingError(RequestError):
    """No value satisfies a place of a schema; what is around it may do without."""


def regex_of_schema(schema: Mapping[str, Any] | bool) -> str:
    """A regex that matches only JSON that a schema allows.

    It has the syntax of Rust's regex crate, and is meant to match whole texts.

    Args:
        schema: of draft 2020-12.

    Returns:
        A regex of values as `json.dumps` writes them with ``ensure_ascii=False``, their properties in the order of the
        schema.

    Raises:
        RequestError: if the schema is invalid, if nothing satisfies it, or if it asks for what cannot be guaranteed.
    """
    try:
        import jsonschema
    except ImportError as error:
        raise RequestError("schemas need more packages: pip install 'sfumato[schema]'") from error
    if not isinstance(schema, (Mapping, bool)):
        raise RequestError(f"a schema is an object or a truth value; got {type(schema).__name__}")
    try:
        plain = json.loads(json.dumps(schema if isinstance(schema, bool) else dict(schema), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestError(f"the schema is not JSON: {error}") from error
    try:
        with warnings.catch_warnings():
            # Python foresees another meaning of some patterns; it is today's that counts.
            warnings.simplefilter("ignore", FutureWarning)
            return _Compiler(plain, jsonschema).compile([_Part(plain, "#")], "#")
    except RecursionError as error:
        raise RequestError("the schema nests too deep, or refers to itself without end") from error


class _Compiler:
    """Turns the places of one schema into regexes."""

    def __init__(self, root: Any, jsonschema: Any):
        if isinstance(root, dict):
            # It would put what refers to the root under the rules of another draft.
            root.pop("$schema", None)
        self.root = root
        self.draft = jsonschema.Draft202012Validator
        self.invalid = jsonschema.SchemaError
        self.checked: set[str] = set()
        self.num_parts = 0
        self.check(_Part(root, "#"))
        self.validator = self.draft(root)

    def check(self, part: _Part) -> None:
        """Make sure that a part is a schema."""
        if part.place in self.checked:
            return
        try:
            # Without formats: a pattern that cannot be read is refused where it is used.
            self.draft.check_schema(part.schema, format_checker=None)
        except self.invalid as error:
            raise RequestError(f"the schema is invalid at {part.at(*error.absolute_path)}: {error.message}") from error
        self.checked.add(part.place)

    def allows(self, part: _Part, value: Any) -> bool:
        """Whether a part on its own allows a value."""
        try:
            return bool(self.validator.evolve(schema=part.schema).is_valid(value))
        except RecursionError:
            raise
        except Exception as error:  # of several libraries: patterns that cannot be read, references that lead nowhere
            raise RequestError(f"the schema at {part.place} cannot be applied to its values: {error}") from error

    def compile(self, parts: Iterable[_Part], place: str) -> str:
        """A regex of the values that satisfy all parts, without alternatives at its top.

        Raises:
            _NothingError: if there are none.
            RequestError: if they cannot be guaranteed.
        """
        flat = self.flatten(parts)
        values = self.values(flat)
        if values is not None:
            where = next(part.at(word) for part in flat for word in ("const", "enum") if word in part.schema)
            if not values:
                raise _nothing(where, "none of its values is allowed by all that is said of them")
            regex = any_of([_literal(value, where) for value in values])
        elif (branches := self.branches(flat)) is not None:
            regex = _any_possible([partial(self.compile, each, place) for each in branches])
        else:
            kinds = _kinds(flat, hints=True)
            if not kinds:
                types = [part.at("type") for part in flat if "type" in part.schema]
                raise _nothing(place, f"there is no type that {' and '.join(types)} allow")
            if kinds >= _NUMBER:
                kinds -= {"integer"}
            wanted = [kind for kind in _KINDS if kind in kinds]
            regex = _any_possible([partial(self.kind, kind, flat, place) for kind in wanted])
        if len(regex) > MOST_CHARACTERS:
            raise RequestError(f"the regex of the schema at {place} is longer than {MOST_CHARACTERS} characters")
        return regex

    def flatten(self, parts: Iterable[_Part]) -> list[_Part]:
        """Parts and those that they name with `$ref` and `allOf`, each of them once, without those that allow all."""
        flat: dict[str, _Part] = {}
        waiting = list(parts)[::-1]
        while waiting:
            part = waiting.pop()
            self.num_parts += 1
            if self.num_parts > MOST_PARTS:
                raise RequestError(f"the schema unfolds to more than {MOST_PARTS} parts, of which one is {part.place}")
            if part.schema is False:
                raise _nothing(part.place, "it is false")
            if part.schema is True:
                continue
            if part.place in flat:
                spent = flat[part.place].spent | part.spent
                flat[part.place] = replace(flat[part.place], spent=spent)
                continue
            flat[part.place] = part
            _check_keywords(part)
            more = [self.resolve(part)] if "$ref" in part.schema else []
            more += [part.inner("allOf", i) for i in range(len(part.schema.get("allOf", ())))]
            waiting += more[::-1]
        return list(flat.values())

    def resolve(self, part: _Part) -> _Part:
        """What a reference names.

        Raises:
            RequestError: if it is not within the schema, or has been read on the way to the reference.
        """
        ref = part.schema["$ref"]
        steps = [step.replace("~1", "/").replace("~0", "~") for step in unquote(ref[1:]).split("/")]
        if not ref.startswith("#") or steps[0]:
            raise _refusal(part, "$ref", "other than to a place of the schema such as '#/$defs/name'")
        target = _Part(self.root, "#")
        try:
            for step in steps[1:]:
                target = target.inner(int(step) if isinstance(target.schema, list) else step)
                _check_base(target)
        except (LookupError, ValueError, TypeError) as error:
            raise RequestError(f"{part.at('$ref')} is {ref!r}, and there is nothing at that place") from error
        self.check(target)
        way = (*part.way, part.place)
        if target.place in way:
            cycle = (*way[way.index(target.place) :], target.place)
            raise _refusal(part, "$ref", f"in a cycle, {' -> '.join(cycle)}")
        return replace(target, way=way)

    def branches(self, parts: list[_Part]) -> list[list[_Part]] | None:
        """What is to be read in turn for the first `anyOf` or `oneOf` there is; None without one."""
        for i, part in enumerate(parts):
            for keyword in ("anyOf", "oneOf"):
                if keyword not in part.schema or keyword in part.spent:
                    continue
                rest = [*parts[:i], replace(part, spent=part.spent | {keyword}), *parts[i + 1 :]]
                branches = [part.inner(keyword, k) for k in range(len(part.schema[keyword]))]
                for j, k in itertools.combinations(range(len(branches)), 2):
                    if keyword == "oneOf" and not self.disjoint([branches[j]], [branches[k]], rest):
                        why = "are not known to differ in type, in values, or in those of a required property"
                        raise _refusal(part, keyword, f"whose branches {j} and {k} {why}")
                return [[*rest, branch] for branch in branches]
        return None

    def disjoint(
        self, one: Iterable[_Part], other: Iterable[_Part], around: Sequence[_Part] = (), depth: int = 4
    ) -> bool:
        """Whether it is certain that no value that satisfies what is around satisfies both."""
        try:
            one, other = self.flatten(one), self.flatten(other)
            for these, those in ((one, other), (other, one)):
                # Not by what is around: that one value cannot satisfy both may be part of it.
                values = self.values(these)
                if values is not None:
                    return not any(all(self.allows(part, value) for part in those) for value in values)
            one, other = self.flatten([*around, *one]), self.flatten([*around, *other])
        except _NothingError:
            return True
        common = _kinds(one) & _kinds(other)
        if common != {"object"} or not depth:
            return not common
        return any(
            self.disjoint(self.member(one, name), self.member(other, name), depth=depth - 1)
            for name in _required([*one, *other])
        )

    def values(self, parts: Sequence[_Part]) -> list[Any] | None:
        """The values that parts list and all of them allow; None if they list none."""
        for part in parts:
            if "const" in part.schema or "enum" in part.schema:
                listed = [part.schema["const"]] if "const" in part.schema else part.schema["enum"]
                return [value for value in listed if all(self.allows(other, value) for other in parts)]
        return None

    def kind(self, kind: str, parts: Sequence[_Part], place: str) -> str:
        """The values of one kind that satisfy parts, by the keywords that speak of that kind."""
        for part in parts:
            of_strings = {*FORMATS, *_STRING_FORMATS.split()}
            if kind != "string" and part.schema.get("format", "date") not in of_strings:
                raise _refusal(part, "format")
        if kind in _NUMBER:
            return _number(kind, parts, place)
        if not any(word in part.schema for part in parts for word in _WORDS.get(kind, ())):
            return _anything(kind, DEPTH)
        if kind == "string":
            return _string(parts, place)
        return self.array(parts, place) if kind == "array" else self.object(parts, place)

    def array(self, parts: Sequence[_Part], place: str) -> str:
        least, most = _range(parts, "minItems", "maxItems", place)
        num_first = max(len(part.schema.get("prefixItems", ())) for part in parts)
        if num_first and not any("items" in part.schema for part in parts):
            most = _smaller(most, max(num_first, least))
        for part in parts:
            if "contains" in part.schema:
                raise _refusal(part, "contains")
            if part.schema.get("unevaluatedItems", True) not in (True, {}) and "items" not in part.schema:
                most = _smaller(most, len(part.schema.get("prefixItems", ())))
                if most < least:
                    raise _refusal(part, "unevaluatedItems", "of items that no 'prefixItems' beside it names")
        items: list[str] = []
        while len(items) <= num_first and (most is None or len(items) < most):
            try:
                items.append(self.compile(_item(parts, len(items)), place))
            except _NothingError as error:
                most = len(items)
                if most < least:
                    raise _nothing(place, f"it has {least} items or more, and {error}") from error
        for part in parts:
            if part.schema.get("uniqueItems") and (most is None or most > 1):
                raise _refusal(part, "uniqueItems", "of more than one item")
        text = ""
        if len(items) > num_first:
            num_first = max(1, num_first)
            text = repeat(f", {items[-1]}", max(0, least - num_first), None if most is None else most - num_first)
        for i in reversed(range(min(len(items), num_first))):
            text = f"{', ' if i else ''}{items[i]}{text}"
            text = text if i < least else f"(?:{text})?"
        return rf"\[{text}\]"

    def member(self, parts: Iterable[_Part], name: str) -> list[_Part]:
        """What the value of a property has to satisfy."""
        found = []
        for part in parts:
            if part.schema is True or part.schema is False:
                continue
            patterns = part.schema.get("patternProperties", {})
            matched = [pattern for pattern in patterns if _search(pattern, name, part)]
            is_named = name in part.schema.get("properties", {})
            if is_named:
                found.append(part.inner("properties", name))
            found += [part.inner("patternProperties", pattern) for pattern in matched]
            # Joined, as jsonschema does it, for which groups may count otherwise than apart.
            is_additional = not is_named and not (patterns and _search("|".join(patterns), name, part))
            if is_additional and "additionalProperties" in part.schema:
                found.append(part.inner("additionalProperties"))
        return found

    def object(self, parts: Sequence[_Part], place: str) -> str:
        required = _required(parts)
        texts: dict[str, str] = {}
        for name in dict.fromkeys([*(name for part in parts for name in part.schema.get("properties", ())), *required]):
            try:
                value = self.compile(self.member(parts, name), f"{place}/properties/{name}")
            except _NothingError as error:
                if name in required:
                    raise _nothing(place, f"it requires {name!r}, and {error}") from error
                continue
            texts[name] = f"{_literal(name, place)}: {value}"
        least, most = _range(parts, "minProperties", "maxProperties", place)
        always = set(required)
        if most is not None and most < len(required):
            raise _nothing(place, f"it requires {len(required)} properties, and has at most {most}")
        if most == len(required):
            texts = {name: text for name, text in texts.items() if name in always}
        elif most is not None and most < len(texts):
            raise _refusal_of_any(parts, "maxProperties", f"between {len(required)} required and {len(texts)} in all")
        if least > len(texts) and any(_is_closed(part) for part in parts):
            raise _nothing(place, f"it has {least} properties or more, of which {len(texts)} can be")
        if least == len(texts):
            always = set(texts)
        elif least > len(always):
            raise _refusal_of_any(parts, "minProperties", f"beside {len(required)} required and {len(texts)} in all")
        for part in parts:
            self.check_names(part, texts, always)
        return rf"\{{{_members(texts, always)}\}}"

    def check_names(self, part: _Part, written: Iterable[str], always: set[str]) -> None:
        """Make sure of what a part says of the names of properties, given those that are written, and those always."""
        for name in written:
            if "propertyNames" in part.schema and not self.allows(part.inner("propertyNames"), name):
                raise _refusal(part, "propertyNames", f"that {name!r} may not satisfy")
            if not always.issuperset(part.schema.get("dependentRequired", {}).get(name, ())):
                raise _refusal(part, "dependentRequired", f"of properties beside {name!r} that may be left out")
            if part.schema.get("dependentSchemas", {}).get(name, True) not in (True, {}):
                raise _refusal(part, "dependentSchemas", f"of {name!r}")
            is_evaluated = "additionalProperties" in part.schema or name in part.schema.get("properties", {})
            if part.schema.get("unevaluatedProperties", True) not in (True, {}) and not is_evaluated:
                raise _refusal(part, "unevaluatedProperties", f"while {name!r} is not of the 'properties' beside it")


def _check_keywords(part: _Part) -> None:
    for keyword in part.schema:
        if keyword in _NEVER:
            raise _refusal(part, keyword)
        if keyword not in _KNOWN:
            raise RequestError(f"at {part.place}: {unknown('keyword', keyword, _ALLOWED)}")
    _check_base(part)


def _check_base(part: _Part) -> None:
    """Refuse what would give references, or all keywords, another meaning from here on."""
    for keyword in ("$id", "$schema"):
        if part.place != "#" and isinstance(part.schema, dict) and isinstance(part.schema.get(keyword), str):
            raise _refusal(part, keyword, "elsewhere than at the root")


def _kinds(parts: Iterable[_Part], *, hints: bool = False) -> set[str]:
    """The kinds of values that parts allow.

    Args:
        parts: what values have to satisfy.
        hints: whether to keep to the kinds that the keywords speak of, where no type is named.
    """
    kinds, spoken_of, is_typed = set(_KINDS), set[str](), False
    for part in parts:
        if "type" in part.schema:
            types = part.schema["type"]
            kinds &= _of_types([types] if isinstance(types, str) else types)
            is_typed = True
        spoken_of |= _of_types(type_ for type_, words in _WORDS.items() if words & part.schema.keys())
    return kinds & spoken_of if hints and spoken_of and not is_typed else kinds


def _of_types(types: Iterable[str]) -> set[str]:
    return set[str]().union(*(_NUMBER if each == "number" else {each} for each in types))


def _required(parts: Iterable[_Part]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part.schema.get("required", ())))


def _is_closed(part: _Part) -> bool:
    return part.schema.get("additionalProperties") is False and not part.schema.get("patternProperties")


def _item(parts: Iterable[_Part], i: int) -> list[_Part]:
    """What the item at a place of an array has to satisfy."""
    found = []
    for part in parts:
        if i < len(part.schema.get("prefixItems", ())):
            found.append(part.inner("prefixItems", i))
        elif "items" in part.schema:
            found.append(part.inner("items"))
    return found


def _members(texts: Mapping[str, str], always: set[str]) -> str:
    """Properties between commas, of which some may be left out."""
    names = list(texts)
    first = next((i for i, name in enumerate(names) if name in always), None)
    if first is None:
        return f"(?:{_some(list(texts.values()))})?" if names else ""
    before = "".join(f"(?:{texts[name]}, )?" for name in names[:first])
    behind = (f", {texts[name]}" if name in always else f"(?:, {texts[name]})?" for name in names[first + 1 :])
    return before + texts[names[first]] + "".join(behind)


def _some(texts: Sequence[str]) -> str:
    """One or more of several texts, in order; the regex has each of them log2(n) + 1 times."""
    if len(texts) == 1:
        return texts[0]
    half = len(texts) // 2
    behind = "".join(f"(?:, {text})?" for text in texts[half:])
    return any_of([_some(texts[:half]) + behind, _some(texts[half:])])


def _string(parts: Sequence[_Part], place: str) -> str:
    least, most = _range(parts, "minLength", "maxLength", place)
    formats = {part.schema["format"]: part for part in parts if "format" in part.schema}
    patterns = {part.schema["pattern"]: part for part in parts if "pattern" in part.schema}
    for (name, part), (other, _) in itertools.pairwise([*formats.items(), *patterns.items()]):
        keyword = "format" if name in formats else "pattern"
        raise _refusal(part, keyword, f"together with {other!r}")
    for name, part in formats.items():
        if name not in FORMATS:
            raise _refusal(part, "format", f"other than {', '.join(FORMATS)}")
        regex, shortest, longest = FORMATS[name]
        if longest < least or (most is not None and most < shortest):
            raise _nothing(place, f"no {name!r} has {least} to {most} characters")
        if least > shortest or (most is not None and most < longest):
            raise _refusal(part, "format", f"with a length of less than {shortest} to {longest} characters")
        return f'"{regex}"'
    for pattern, part in patterns.items():
        found = regex_of_pattern(pattern, part.at("pattern"), least=least, most=most)
        if found is None:
            raise _nothing(place, f"no string of {least} to {most} characters matches the pattern {pattern!r}")
        return f'"{found}"'
    return f'"{repeat(CHARACTER, least, most)}"'


def _number(kind: str, parts: Sequence[_Part], place: str) -> str:
    """Integers, or all numbers where the kind is that of fractions."""
    lower: tuple[Fraction, bool] | None = None
    upper: tuple[Fraction, bool] | None = None
    step = 1
    for part in parts:
        schema = part.schema
        for keyword, is_open in (("minimum", False), ("exclusiveMinimum", True)):
            if keyword in schema:
                bound = Fraction(schema[keyword]), is_open
                lower = bound if lower is None else max(lower, bound)
        for keyword, is_open in (("maximum", False), ("exclusiveMaximum", True)):
            if keyword in schema:
                bound = -Fraction(schema[keyword]), is_open
                upper = bound if upper is None else max(upper, bound)
        if "multipleOf" in schema:
            if schema["multipleOf"] != 1 and not re.fullmatch("10*", str(schema["multipleOf"])):
                raise _refusal(part, "multipleOf", "other than a power of ten, as an integer")
            step = max(step, int(schema["multipleOf"]))
            kind = "integer"
    bounds = Bounds(
        lower=lower and lower[0],
        upper=upper and -upper[0],
        lower_open=lower is not None and lower[1],
        upper_open=upper is not None and upper[1],
    )
    limit = 10**MOST_DIGITS
    if (bounds.lower or 0) > limit or (bounds.upper or 0) < -limit:
        given = " and ".join(part.place for part in parts)
        raise RequestError(f"the bounds at {given} leave only numbers beyond 1e{MOST_DIGITS}; allowed: nearer to zero")
    regex = regex_of_integers(bounds, step) if kind == "integer" else regex_of_numbers(bounds)
    if regex is None:
        words = [
            f"{word} {part.schema[word]}" for part in parts for word in sorted(_WORDS["number"]) if word in part.schema
        ]
        raise _nothing(place, f"no {'integer' if kind == 'integer' else 'number'} has {' and '.join(words)}")
    return regex


def _anything(kind: str, depth: int = DEPTH) -> str:
    """Any value of a kind, with arrays and objects as deep as that."""
    if kind == "null":
        return "null"
    if kind == "boolean":
        return "(?:true|false)"
    if kind in _NUMBER:
        return regex_of_numbers(Bounds()) or ""
    string = f'"{repeat(CHARACTER, 0, None)}"'
    if kind == "string":
        return string
    deep = () if depth == 1 else ("array", "object")
    item = any_of([_anything(each, depth - 1) for each in ("null", "boolean", "fraction", "string", *deep)])
    if kind == "array":
        return rf"\[(?:{item}(?:, {item})*)?\]"
    return rf"\{{(?:{string}: {item}(?:, {string}: {item})*)?\}}"


def _literal(value: Any, place: str) -> str:
    """A regex of one value."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(f"{json.dumps(value)} at {place} has half a surrogate pair; allowed: characters") from error
    return escape(text)


def _any_possible(makers: Iterable[Callable[[], str]]) -> str:
    """Alternatives, without those that nothing satisfies."""
    regexes: dict[str, None] = {}
    errors = []
    for make in makers:
        try:
            regexes[make()] = None
        except _NothingError as error:
            errors.append(error)
    if not regexes:
        raise errors[0]
    return any_of(list(regexes))


def _range(parts: Iterable[_Part], lower: str, upper: str, place: str) -> tuple[int, int | None]:
    """The least and the greatest count that parts allow."""
    least = max((int(part.schema[lower]) for part in parts if lower in part.schema), default=0)
    most = min((int(part.schema[upper]) for part in parts if upper in part.schema), default=None)
    if most is not None and least > most:
        raise _nothing(place, f"{lower} {least} is above {upper} {most}")
    return least, most


def _smaller(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _search(pattern: str, name: str, part: _Part) -> bool:
    try:
        return re.search(pattern, name) is not None
    except (re.error, OverflowError) as error:
        where = part.at("patternProperties")
        raise RequestError(f"the pattern {pattern!r} at {where} cannot be read: {error}") from error


def _nothing(place: str, reason: str) -> _NothingError:
    return _NothingError(f"nothing satisfies the schema at {place}: {reason}")


def _refusal(part: _Part, keyword: str, how: str = "") -> RequestError:
    value = json.dumps(part.schema[keyword], ensure_ascii=False)
    given = f"{keyword!r} ({value})" if len(value) <= 40 else f"{keyword!r}"
    what = f"the schema uses {given} at {part.place}{how and ' '}{how}"
    return RequestError(f"{what}, which cannot be guaranteed; supported: {_SUPPORTED}")


def _refusal_of_any(parts: Iterable[_Part], keyword: str, how: str) -> RequestError:
    return next(_refusal(part, keyword, how) for part in parts if keyword in part.schema)
