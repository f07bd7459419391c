"""Locations of a JSON Schema to regular expressions.

At each location, several parts apply to a value at once: targets of `$ref` and members of `allOf` are further parts,
and each branch of `anyOf` gives an alternative list. Values are written in one notation, that of `json.dumps`. The
regex may exclude something a schema allows, but never includes anything it forbids.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal
from urllib.parse import unquote

from sfumato.constraints.dfa import Budget
from sfumato.constraints.json_parts import (
    KINDS,
    NUMBER,
    STRING_FORMATS,
    WORDS,
    NothingError,
    Part,
    check_base,
    check_keywords,
    count_range,
    is_closed,
    item_parts,
    kinds_of,
    nothing,
    refusal,
    refusal_of_any,
    required_names,
    search_pattern,
    smaller,
)
from sfumato.constraints.json_values import (
    DEPTH,
    any_of_kind,
    any_possible,
    any_value,
    literal,
    members,
    other_than,
    regex_of_number,
    regex_of_string,
)
from sfumato.constraints.patterns import FORMATS, any_of, repeat
from sfumato.constraints.regex import MAX_CHARACTERS, MAX_UNORDERED, Unordered
from sfumato.errors import RequestError

MAX_PARTS = 20_000
"""Maximum number of parts read, counting repeated reads through references."""
MAX_ARRAYS = 1000
"""Maximum number of arrays of different values that are listed."""
ANY_ORDER_STATES = 30_000
"""Approximate maximum number of states for properties in any order: n properties have 2^n sets of written ones."""
Order = Literal["any", "schema"]
"""Property order: "any", with additional ones where allowed, or "schema", without."""
# Keywords that name properties, including those with conditions on others.
_NAMING = ("properties", "required", "dependentRequired", "dependentSchemas")


class SchemaCompiler:
    """Turns the locations of one schema into regexes."""

    def __init__(self, root: Any, jsonschema: Any, budget: Budget, order: Order, max_depth: int):
        self.order, self.unordered, self.sizes = order, list[Unordered](), list[int]()
        self.max_depth, self.is_cut = max_depth, False
        if isinstance(root, dict):
            # It would put references to the root under the rules of another draft.
            root.pop("$schema", None)
        self.root, self.budget = root, budget
        self.draft = jsonschema.Draft202012Validator
        self.invalid = jsonschema.SchemaError
        self.checked: set[str] = set()
        self.num_parts = 0
        self.check(Part(root, "#"))
        self.validator = self.draft(root)

    def check(self, part: Part) -> None:
        """Check that a part is a valid schema."""
        if part.pointer in self.checked:
            return
        try:
            # Without formats: an invalid pattern is refused where it is used.
            self.draft.check_schema(part.schema, format_checker=None)
        except self.invalid as error:
            where, problem = list(error.absolute_path), error.message
            if where[-1:] == ["items"] and isinstance(error.instance, list):
                problem = "a list of schemas, as before draft 2020-12; allowed: prefixItems"
            raise RequestError(f"the schema is invalid at {part.at(*where)}: {problem}") from error
        self.checked.add(part.pointer)

    def allows(self, part: Part, value: Any) -> bool:
        """Whether a part by itself allows a value."""
        try:
            return bool(self.validator.evolve(schema=part.schema).is_valid(value))
        except RecursionError:
            raise
        except Exception as error:  # from several libraries: invalid patterns, dangling references
            raise RequestError(f"the schema at {part.pointer} cannot be applied to its values: {error}") from error

    def compile(self, parts: Iterable[Part], pointer: str) -> str:
        """A regex for values that satisfy all parts, without alternatives at its top level.

        Raises:
            NothingError: if there are none.
            RequestError: if the parts cannot be guaranteed.
        """
        flat = self.flatten(parts)
        values = self.values(flat)
        if values is not None:
            where = next(part.at(word) for part in flat for word in ("const", "enum") if word in part.schema)
            if not values:
                raise nothing(where, "no listed value satisfies the rest of the schema")
            regex = any_of([literal(value, where) for value in values])
        elif (branches := self.branches(flat)) is not None:
            regex = any_possible([partial(self.compile, each, pointer) for each in branches])
        else:
            kinds = kinds_of(flat, hints=True)
            if not kinds:
                types = [part.at("type") for part in flat if "type" in part.schema]
                raise nothing(pointer, f"no type satisfies {' and '.join(types)}")
            if kinds >= NUMBER:
                kinds -= {"integer"}
            wanted = [kind for kind in KINDS if kind in kinds]
            regex = any_possible([partial(self.kind, kind, flat, pointer) for kind in wanted])
        if len(regex) > MAX_CHARACTERS:
            raise RequestError(f"the regex of the schema at {pointer} is longer than {MAX_CHARACTERS:,} characters")
        return regex

    def flatten(self, parts: Iterable[Part], *, at_any_depth: bool = False) -> list[Part]:
        """Parts with all their `$ref` and `allOf` targets, each once, without trivial ones."""
        flat: dict[str, Part] = {}
        waiting = list(parts)[::-1]
        while waiting:
            part = waiting.pop()
            self.num_parts += 1
            self.budget.check(0)
            if self.num_parts > MAX_PARTS:
                raise RequestError(f"the schema unfolds to more than {MAX_PARTS} parts, of which one is {part.pointer}")
            if part.schema is False:
                raise nothing(part.pointer, "it is false")
            if part.schema is True:
                continue
            if part.pointer in flat:
                spent = flat[part.pointer].spent | part.spent
                flat[part.pointer] = replace(flat[part.pointer], spent=spent)
                continue
            flat[part.pointer] = part
            check_keywords(part)
            more = [self.resolve(part)] if "$ref" in part.schema else []
            if any(part.around.count(each.pointer) == self.max_depth for each in more) and not at_any_depth:
                self.is_cut = True
                raise nothing(part.at("$ref"), f"{more[0].pointer} is nested {self.max_depth} deep already")
            more += [part.inner("allOf", i) for i in range(len(part.schema.get("allOf", ())))]
            waiting += more[::-1]
        return list(flat.values())

    def resolve(self, part: Part) -> Part:
        """The target of a reference.

        Raises:
            RequestError: if it is outside the schema, or part of a cycle.
        """
        ref = part.schema["$ref"]
        steps = [step.replace("~1", "/").replace("~0", "~") for step in unquote(ref[1:]).split("/")]
        if not ref.startswith("#") or steps[0]:
            raise refusal(part, "$ref", "other than to a location in the schema such as '#/$defs/name'")
        target = Part(self.root, "#")
        try:
            for step in steps[1:]:
                target = target.inner(int(step) if isinstance(target.schema, list) else step)
                check_base(target)
        except (LookupError, ValueError, TypeError) as error:
            raise RequestError(f"{part.at('$ref')} is {ref!r}, which does not exist") from error
        self.check(target)
        way = (*part.way, part.pointer)
        if target.pointer in way:
            cycle = (*way[way.index(target.pointer) :], target.pointer)
            raise refusal(part, "$ref", f"in a cycle, {' -> '.join(cycle)}")
        return replace(target, way=way, around=part.around)

    def branches(self, parts: list[Part]) -> list[list[Part]] | None:
        """The alternatives of the first `anyOf` or `oneOf`; None without one."""
        for i, part in enumerate(parts):
            for keyword in ("anyOf", "oneOf"):
                if keyword not in part.schema or keyword in part.spent:
                    continue
                rest = [*parts[:i], replace(part, spent=part.spent | {keyword}), *parts[i + 1 :]]
                branches = [part.inner(keyword, k) for k in range(len(part.schema[keyword]))]
                for j, k in itertools.combinations(range(len(branches)), 2):
                    if keyword == "oneOf" and not self.disjoint([branches[j]], [branches[k]], rest):
                        why = "are not known to differ in type, in values, or in those of a required property"
                        raise refusal(part, keyword, f"whose branches {j} and {k} {why}")
                return [[*rest, branch] for branch in branches]
        return None

    def disjoint(self, one: Iterable[Part], other: Iterable[Part], around: Sequence[Part] = (), depth: int = 4) -> bool:
        """Whether no value that satisfies the context can satisfy both."""
        try:
            one, other = self.flatten(one, at_any_depth=True), self.flatten(other, at_any_depth=True)
            for these, those in ((one, other), (other, one)):
                # Not by the context, which may itself include this condition.
                values = self.values(these)
                if values is not None:
                    return not any(all(self.allows(part, value) for part in those) for value in values)
            one, other = (self.flatten([*around, *each], at_any_depth=True) for each in (one, other))
        except NothingError:
            return True
        common = kinds_of(one) & kinds_of(other)
        if common != {"object"} or not depth:
            return not common
        return any(
            self.disjoint(self.member(one, name), self.member(other, name), depth=depth - 1)
            for name in required_names([*one, *other])
        )

    def values(self, parts: Sequence[Part]) -> list[Any] | None:
        """Listed values that all parts allow; None if none are listed."""
        for part in parts:
            for word in [word for word in ("const", "enum") if word in part.schema]:
                listed = [part.schema[word]] if word == "const" else part.schema[word]
                # They need not be checked against themselves.
                rest = {other: value for other, value in part.schema.items() if other != word}
                others = [replace(part, schema=rest), *(other for other in parts if other is not part)]
                return [value for value in listed if all(self.allows(other, value) for other in others)]
        return None

    def kind(self, kind: str, parts: Sequence[Part], pointer: str) -> str:
        """Values of one type that satisfy parts, by the keywords for that type."""
        for part in parts:
            of_strings = {*FORMATS, *STRING_FORMATS.split()}
            if kind != "string" and part.schema.get("format", "date") not in of_strings:
                raise refusal(part, "format")
        if kind in NUMBER:
            return regex_of_number(kind, parts, pointer)
        if not any(word in part.schema for part in parts for word in WORDS.get(kind, ())):
            return any_of_kind(kind, DEPTH)
        if kind == "string":
            return regex_of_string(parts, pointer)
        return self.array(parts, pointer) if kind == "array" else self.object(parts, pointer)

    def array(self, parts: Sequence[Part], pointer: str) -> str:
        minimum, maximum = count_range(parts, "minItems", "maxItems", pointer)
        num_first = max(len(part.schema.get("prefixItems", ())) for part in parts)
        if num_first and not any("items" in part.schema for part in parts):
            maximum = smaller(maximum, max(num_first, minimum))
        for part in parts:
            if "contains" in part.schema:
                raise refusal(part, "contains")
            if part.schema.get("unevaluatedItems", True) not in (True, {}) and "items" not in part.schema:
                maximum = smaller(maximum, len(part.schema.get("prefixItems", ())))
                if maximum < minimum:
                    raise refusal(part, "unevaluatedItems", "of items that no 'prefixItems' beside it names")
        items: list[str] = []
        while len(items) <= num_first and (maximum is None or len(items) < maximum):
            try:
                items.append(self.compile(item_parts(parts, len(items)), pointer))
            except NothingError as error:
                maximum = len(items)
                if maximum < minimum:
                    raise nothing(pointer, f"it has {minimum} items or more, and {error}") from error
        for part in parts:
            if part.schema.get("uniqueItems") and (maximum is None or maximum > 1):
                listed = None if num_first else self.values(self.flatten(item_parts(parts, 0)))
                text = None if listed is None else self.different(listed, minimum, maximum, pointer)
                if text is None:
                    raise refusal(part, "uniqueItems", "for more than one item of other than a few listed values")
                return rf"\[{text}\]"
        text = ""
        if len(items) > num_first:
            num_first = max(1, num_first)
            text = repeat(
                f", {items[-1]}", max(0, minimum - num_first), None if maximum is None else maximum - num_first
            )
        for i in reversed(range(min(len(items), num_first))):
            text = f"{', ' if i else ''}{items[i]}{text}"
            text = text if i < minimum else f"(?:{text})?"
        return rf"\[{text}\]"

    def different(self, values: Iterable[Any], minimum: int, maximum: int | None, pointer: str) -> str | None:
        """A number of different values, in any order, or in theirs if there are too many orders; None if there are too
        many even so."""
        unique, texts = Part({"uniqueItems": True}, pointer), dict[str, Any]()
        for value in values:
            if all(self.allows(unique, [other, value]) for other in texts.values()):
                texts[literal(value, pointer)] = value
        if minimum > len(texts):
            raise nothing(pointer, f"it has {minimum} different items or more, of {len(texts)} that are allowed")
        counts = range(minimum, min(len(texts), maximum or len(texts)) + 1)
        for number, choose in ((math.perm, itertools.permutations), (math.comb, itertools.combinations)):
            if sum(number(len(texts), count) for count in counts) <= MAX_ARRAYS:
                return any_of([", ".join(chosen) for count in counts for chosen in choose(texts, count)])
        return None

    def member(self, parts: Iterable[Part], name: str) -> list[Part]:
        """The schemas that apply to a property's value."""
        found = []
        for part in parts:
            patterns = part.schema.get("patternProperties", {})
            matched = [pattern for pattern in patterns if search_pattern(pattern, name, part)]
            is_named = name in part.schema.get("properties", {})
            if is_named:
                found.append(part.inner("properties", name))
            found += [part.inner("patternProperties", pattern) for pattern in matched]
            # Joined as in jsonschema, because groups may be numbered differently apart.
            is_additional = not is_named and not (patterns and search_pattern("|".join(patterns), name, part))
            if is_additional and "additionalProperties" in part.schema:
                found.append(part.inner("additionalProperties"))
        return found

    def object(self, parts: Sequence[Part], pointer: str) -> str:
        required = required_names(parts)
        texts: dict[str, str] = {}
        named = [name for part in parts for name in part.schema.get("properties", ())]
        for name in dict.fromkeys([*named, *required, *self.listed_names(parts)]):
            try:
                value = self.compile(self.member(parts, name), f"{pointer}/properties/{name}")
            except NothingError as error:
                if name in required:
                    raise nothing(pointer, f"it requires {name!r}, and {error}") from error
                continue
            texts[name] = f"{literal(name, pointer)}: {value}"
        minimum, maximum = count_range(parts, "minProperties", "maxProperties", pointer)
        if not texts and (pair := self.others(parts, pointer)) is not None and maximum != 0:
            if minimum > 1:
                raise refusal_of_any(parts, "minProperties", "of names that are not given and might be the same")
            more = repeat(f", {pair}", 0, None if maximum is None else maximum - 1)
            return rf"\{{(?:{pair}{more}){'' if minimum else '?'}\}}"
        always = set(required)
        if maximum is not None and maximum < len(required):
            raise nothing(pointer, f"it requires {len(required)} properties, and has at most {maximum}")
        if maximum == len(required):
            texts = {name: text for name, text in texts.items() if name in always}
        elif maximum is not None and maximum < len(texts):
            raise refusal_of_any(parts, "maxProperties", f"between {len(required)} required and {len(texts)} in all")
        if minimum > len(texts) and any(is_closed(part) for part in parts):
            raise nothing(pointer, f"it has {minimum} properties or more, of which {len(texts)} can be")
        if minimum == len(texts):
            always = set(texts)
        elif minimum > len(always):
            raise refusal_of_any(parts, "minProperties", f"beside {len(required)} required and {len(texts)} in all")
        for part in parts:
            self.check_names(part, texts, always)
        return rf"\{{{self.in_any_order(texts, always, self.others(parts, pointer)) or members(texts, always)}\}}"

    def listed_names(self, parts: Sequence[Part]) -> list[str]:
        """The names that `propertyNames` lists."""
        conditions = [part.inner("propertyNames") for part in parts if "propertyNames" in part.schema]
        listed = self.values(self.flatten(conditions)) if conditions else None
        return [name for name in listed or () if isinstance(name, str)]

    def others(self, parts: Sequence[Part], pointer: str) -> str | None:
        """A regex for one additional property; None if none is guaranteed to be allowed, or the schema names some and
        says nothing of others: they are allowed, but not wanted."""
        if any(part.schema.get("unevaluatedProperties", True) not in (True, {}) for part in parts):
            return None
        names_some = any(part.schema.get("properties") for part in parts)
        if names_some and not any("additionalProperties" in part.schema for part in parts):
            return None
        patterns = [
            part.inner("patternProperties", name) for part in parts for name in part.schema.get("patternProperties", ())
        ]
        conditions = [part.inner("propertyNames") for part in parts if "propertyNames" in part.schema]
        is_map = not any(part.schema.get(word) for part in parts for word in _NAMING)
        has_more = patterns or conditions or any("maxProperties" in part.schema for part in parts)
        if not is_map and (self.order == "schema" or has_more):
            return None
        if len(patterns) > 1 or (patterns and conditions):
            raise refusal_of_any(
                parts, "patternProperties", "of several patterns, or with propertyNames, and no property by name"
            )
        values = [
            part.inner("additionalProperties")
            for part in parts
            if "additionalProperties" in part.schema and "patternProperties" not in part.schema
        ]
        values = [value for value in (*patterns, *values) if value.schema not in (True, {})]
        try:
            value = self.compile(values, pointer) if values else any_value(DEPTH - 1)
            if patterns or conditions:
                found = [{"pattern": name} for part in parts for name in part.schema.get("patternProperties", ())]
                of_names = [Part({"type": "string", **each}, pointer) for each in found or [{}]]
                return f"{self.compile([*conditions, *of_names], pointer)}: {value}"
        except NothingError:
            return None
        # Not a set, whose order, and so that of states, would differ between processes.
        names = dict.fromkeys(
            json.dumps(name, ensure_ascii=False)
            for part in parts
            for word in _NAMING
            for name in part.schema.get(word, ())
            # No text has half a surrogate pair.
            if not re.search("[\ud800-\udfff]", name)
        )
        words = (tuple(re.findall(r"\\u....|\\.|.", name[1:-1])) for name in names)
        try:
            return f'"{other_than(words)}": {value}'
        except RecursionError:
            # A name of hundreds of characters.
            return None

    def in_any_order(self, texts: Mapping[str, str], always: set[str], other: str | None) -> str | None:
        """A placeholder for properties in any order; None if that takes too many states, or the order is given."""
        if self.order == "schema" or len(self.unordered) == MAX_UNORDERED or not (texts or other):
            return None
        names = sorted(texts, key=lambda name: name not in always)
        once, sets = tuple(texts[name] for name in names), 2 ** min(len(names), 30)
        named = sets // 2 * (sum(map(len, names)) + sum(map(self.size, once)))
        for more in dict.fromkeys((other, None)):
            size = named + (0 if more is None else sets * self.size(more))
            if size <= ANY_ORDER_STATES and (once or more):
                self.unordered.append(Unordered(once, len(always), more))
                self.sizes.append(size)
                return Unordered.sign(len(self.sizes) - 1)
        return None

    def size(self, regex: str) -> int:
        """Approximate number of states of a regex, including its placeholders."""
        return len(regex) // 4 + sum(size for i, size in enumerate(self.sizes) if Unordered.sign(i) in regex)

    def check_names(self, part: Part, written: Iterable[str], always: set[str]) -> None:
        """Check what a part says about property names, given those that are written, and those always written."""
        for name in written:
            if "propertyNames" in part.schema and not self.allows(part.inner("propertyNames"), name):
                raise refusal(part, "propertyNames", f"that {name!r} may not satisfy")
            if not always.issuperset(part.schema.get("dependentRequired", {}).get(name, ())):
                raise refusal(part, "dependentRequired", f"of properties beside {name!r} that may be left out")
            if part.schema.get("dependentSchemas", {}).get(name, True) not in (True, {}):
                raise refusal(part, "dependentSchemas", f"of {name!r}")
            is_evaluated = "additionalProperties" in part.schema or name in part.schema.get("properties", {})
            if part.schema.get("unevaluatedProperties", True) not in (True, {}) and not is_evaluated:
                raise refusal(part, "unevaluatedProperties", f"while {name!r} is not of the 'properties' beside it")
