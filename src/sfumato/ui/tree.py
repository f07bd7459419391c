"""The tree of an interface and its text, one line per component.

A line has one space of indentation per level, a slot id, the component's kind, its properties in schema order, and
after a colon its text and cells:

    a page dark: Moving house
     b list
      c checkbox on: Pack the books
     d select: Room | Kitchen | Attic

A property is written as its value alone, because no two properties of a kind share a word. Defaults are not written. So
every tree has exactly one text, and parsing that text gives the tree back.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from sfumato.config import check_choice
from sfumato.errors import RequestError, unknown

MAX_DEPTH = 4
"""Maximum levels below the page."""
MAX_SLOTS = 26 + 26 * 26
MAX_TEXT = 32
"""Maximum characters of a component's text."""
MAX_CELL = 16
"""Maximum characters of a cell."""
# Kind names have at least three letters, so none can be read as a slot id.
_LINE = re.compile(r"( *)(?:([a-z]{1,2}) )?([a-z]{3,})((?: [a-z0-9]+)*)(?:: (.+))?")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The schema of one kind of component."""

    name: str
    words: dict[str, str]
    """Each word and its property; "#" stands for a number."""
    properties: tuple[str, ...]
    """Properties in the order they are written."""
    range: tuple[int, int]
    """Range of the number."""
    has_text: bool
    needs_text: bool
    cells: tuple[int, int]
    """Minimum and maximum number of cells."""
    children: frozenset[str]
    """Kinds allowed as children."""

    def property_of(self, word: str) -> str | None:
        """The property that a word sets; None if it sets none."""
        if _NUMBER.fullmatch(word):
            low, high = self.range
            return self.words.get("#") if low <= int(word) <= high else None
        return self.words.get(word)


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of a page."""
    found: dict[str, Any] = json.loads(resources.files("sfumato.ui").joinpath("schema.json").read_text("utf-8"))
    return found


def _resolve(node: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        node = schema()["$defs"][node["$ref"].rpartition("/")[2]]
    return node


@cache
def kinds() -> dict[str, Kind]:
    """Component kinds by name."""
    found = {}
    for name, definition in schema()["$defs"].items():
        if "component" not in definition.get("properties", {}):
            continue
        fields = {key: _resolve(value) for key, value in definition["properties"].items()}
        words: dict[str, str] = {}
        limits = (0, 0)
        for key, value in fields.items():
            if value.get("type") == "integer":
                words["#"], limits = key, (value["minimum"], value["maximum"])
            elif key != "component" and ("enum" in value or "const" in value):
                words |= dict.fromkeys(value.get("enum", [key]), key)
        cells = fields.get("cells", {"minItems": 0, "maxItems": 0})
        inner = _resolve(fields.get("children", {}).get("items", {})).get("oneOf", [])
        found[name] = Kind(
            name=name,
            words=words,
            properties=tuple(dict.fromkeys(words.values())),
            range=limits,
            has_text="text" in fields,
            needs_text="text" in definition["required"],
            cells=(cells["minItems"], cells["maxItems"]),
            children=frozenset(child["$ref"].rpartition("/")[2] for child in inner),
        )
    return found


@cache
def _string_pattern(name: str) -> re.Pattern[str]:
    return re.compile(schema()["$defs"][name]["pattern"])


@dataclass(frozen=True)
class Component:
    """A slot of a page with its children; immutable.

    Raises:
        RequestError: if it does not satisfy the schema.
    """

    id: str
    kind: str
    words: tuple[str, ...] = ()
    """Words of its properties, in schema order, without defaults."""
    text: str = ""
    cells: tuple[str, ...] = ()
    children: tuple[Component, ...] = ()

    def __post_init__(self) -> None:
        check_choice("component", self.kind, kinds())
        kind, where = kinds()[self.kind], f"{self.kind} {self.id}"
        indices = []
        for word in self.words:
            if (name := kind.property_of(word)) is None:
                raise RequestError(f"{where} has {word!r}; allowed: {_allowed_words(kind)}")
            indices.append(kind.properties.index(name))
        if indices != sorted(set(indices)):
            raise RequestError(f"{where} has {' '.join(self.words)!r}; allowed: one each of {_allowed_words(kind)}")
        if (self.text and not kind.has_text) or (kind.needs_text and not self.text):
            raise RequestError(
                f"{where} has {'a' if self.text else 'no'} text; allowed: {'a' if kind.has_text else 'no'} text"
            )
        low, high = kind.cells
        if not low <= len(self.cells) <= high or (self.cells and kind.has_text and not self.text):
            raise RequestError(
                f"{where} has {len(self.cells)} cells; allowed: {low} to {high}, behind its text if it has one"
            )
        for string, name in [(self.text, "label"), *((cell, "cell") for cell in self.cells)]:
            if (string and not _string_pattern(name).fullmatch(string)) or (name == "cell" and not string):
                longest = MAX_TEXT if name == "label" else MAX_CELL
                raise RequestError(
                    f"{where} has the string {string!r}; allowed: 1 to {longest} characters without |, line ends, "
                    "U+FFFD, and spaces at the ends or side by side"
                )
        for child in self.children:
            if child.kind not in kind.children:
                allowed = ", ".join(sorted(kind.children)) or "nothing"
                raise RequestError(f"{where} holds {child.kind} {child.id}; allowed: {allowed}")
            if child.kind == "record" and len(child.cells) != len(self.cells):
                raise RequestError(
                    f"record {child.id} has {len(child.cells)} cells; allowed: {len(self.cells)}, as its table"
                )

    def get(self, name: str) -> str | None:
        """The word of a property; None for the default."""
        return next((word for word in self.words if kinds()[self.kind].property_of(word) == name), None)

    def with_word(self, name: str, word: str | None) -> tuple[str, ...]:
        """Its words with one property changed or removed."""
        kind = kinds()[self.kind]
        rest = [each for each in self.words if kind.property_of(each) != name]
        return tuple(
            sorted(
                [*rest, *([word] if word else [])], key=lambda each: kind.properties.index(kind.property_of(each) or "")
            )
        )

    def walk(self) -> Iterator[Component]:
        """The component and all its descendants, from top to bottom."""
        yield self
        for child in self.children:
            yield from child.walk()

    def to_dict(self) -> dict[str, Any]:
        """The component as JSON, as in the schema."""
        kind = kinds()[self.kind]
        found: dict[str, Any] = {"component": self.kind, "id": self.id}
        for word in self.words:
            name = kind.property_of(word) or ""
            found[name] = int(word) if kind.words.get("#") == name else True if word == name else word
        texts = {"text": self.text, "cells": list(self.cells), "children": [child.to_dict() for child in self.children]}
        return found | {key: value for key, value in texts.items() if value}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Component:
        """Parse a component from JSON.

        Raises:
            RequestError: if it does not satisfy the schema.
        """
        if not isinstance(given, Mapping):
            raise RequestError(f"a component is {given!r}; allowed: an object, as in schema.json")
        rest = dict(given)
        kind, slot, text = (rest.pop(key, "") for key in ("component", "id", "text"))
        cells, children = (rest.pop(key, []) for key in ("cells", "children"))
        if not all(isinstance(value, str) for value in (kind, slot, text)) or not isinstance(cells, list):
            raise RequestError(
                f"a component is {given!r}; allowed: strings for component, id and text, a list of cells"
            )
        check_choice("component", kind, kinds())
        words, known = [], kinds()[kind]
        for name in known.properties:
            if name not in rest:
                continue
            value = rest.pop(name)
            words.append(name if value is True else str(value))
            takes = int if known.words.get("#") == name else bool if name in known.words else str
            if type(value) is not takes or known.property_of(words[-1]) != name:
                raise RequestError(f"{kind} {slot} has {name} {value!r}; allowed: {_allowed_words(known)}")
        if rest:
            raise RequestError(unknown(f"property of {kind} {slot}", min(rest), kinds()[kind].properties))
        return cls(slot, kind, tuple(words), text, tuple(cells), tuple(cls.from_dict(child) for child in children))


def _allowed_words(kind: Kind) -> str:
    low, high = kind.range
    return ", ".join(f"{low} to {high}" if word == "#" else word for word in kind.words) or "no property"


def slot_ids() -> Iterator[str]:
    """All ids in order: a to z, aa to zz."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    yield from letters
    yield from map("".join, itertools.product(letters, letters))


def check_page(page: Component) -> Component:
    """Check that a component is a complete page, and return it.

    Raises:
        RequestError: if it is not a page, two slots share an id, an id is invalid, or components are nested too deeply.
    """
    if page.kind != "page":
        raise RequestError(f"the first component is a {page.kind}; allowed: page")
    ids = [component.id for component in page.walk()]
    for slot in ids:
        if not re.fullmatch("[a-z]{1,2}", slot):
            raise RequestError(f"a slot id is {slot!r}; allowed: one or two letters from a to z")
    if len(set(ids)) < len(ids):
        raise RequestError(
            f"two slots have the id {next(slot for slot in ids if ids.count(slot) > 1)!r}; allowed: one each"
        )
    level, depth = page.children, 0
    while level:
        level, depth = tuple(child for component in level for child in component.children), depth + 1
    if depth > MAX_DEPTH:
        raise RequestError(f"components stand {depth} levels below the page; allowed: {MAX_DEPTH}")
    return page


def visible(components: Iterable[Component]) -> list[Component]:
    """Those that are not hidden."""
    return [each for each in components if not each.get("hidden")]


def line_of(component: Component, *, ids: bool = True) -> str:
    """The line of a component, without indentation and children."""
    head = " ".join([*([component.id] if ids else []), component.kind, *component.words])
    body = " | ".join([*([component.text] if component.text else []), *component.cells])
    return f"{head}: {body}" if body else head


def to_text(page: Component, *, ids: bool = True, indent: int = 0) -> str:
    """The text of a tree, with or without slot ids."""
    lines = [" " * indent + line_of(page, ids=ids)]
    lines += [to_text(child, ids=ids, indent=indent + 1) for child in page.children]
    return "\n".join(lines)


def read_line(line: str, slot: str) -> tuple[int, bool, Component]:
    """Parse a line: its indentation, whether it has a slot id, and its component, which gets the given id if it has
    none.

    Raises:
        RequestError: if it is not a component.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        raise RequestError("it is not a component; allowed: a slot id, a kind, its properties, a colon and a text")
    indent, own, name, words, body = match.groups()
    parts = tuple(body.split(" | ")) if body else ()
    has_text = bool(parts) and name in kinds() and kinds()[name].has_text
    text, cells = (parts[0], parts[1:]) if has_text else ("", parts)
    return len(indent), own is not None, Component(own or slot, name, tuple(words.split()), text, cells)


def parse(text: str) -> Component:
    """Parse the text of a page. Either all lines have slot ids, or none has and they get ids from top to bottom.

    Raises:
        RequestError: naming the invalid line, or what is wrong with the page.
    """
    lines = text.split("\n")
    if len(lines) > MAX_SLOTS:
        raise RequestError(f"the page has {len(lines)} lines; allowed: {MAX_SLOTS}")
    with_ids = False
    # The path from the page to the last component, each with its complete children.
    path: list[tuple[Component, list[Component]]] = []

    def complete(depth: int) -> None:
        while len(path) > depth:
            component, children = path.pop()
            path[-1][1].append(replace(component, children=tuple(children)) if children else component)

    for number, (line, slot) in enumerate(zip(lines, slot_ids(), strict=False), 1):
        try:
            indent, has_id, component = read_line(line, slot)
            with_ids = has_id if number == 1 else with_ids
            if has_id != with_ids:
                raise RequestError("some lines have slot ids and some do not; allowed: ids on all of them or on none")
            if not min(number - 1, 1) <= indent <= len(path):
                raise RequestError(f"it has {indent} spaces before it; allowed: {min(number - 1, 1)} to {len(path)}")
            if indent < len(path):
                complete(indent)
            path.append((component, []))
        except RequestError as error:
            raise RequestError(f"line {number}, {line!r}: {error}") from None
    complete(1)
    page, children = path[0]
    return check_page(replace(page, children=tuple(children)))
