"""The programs that fit a page, as a regular expression, so that a model can write no others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from sfumato.errors import RequestError
from sfumato.ui.edits import REFUSALS
from sfumato.ui.tree import Component, Kind, kinds, parse, slot_ids

_NOTHING = r"[^\w\W]"
_NUMBER = "(?:0|[1-9][0-9]?|100)"
_PLACE = "(?:first|last|before|after)"
_NUM_NEW = 4
"""Number of new slots that later lines may name."""
_NUMERALS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def pattern_for(prompt: str) -> str | None:
    """The programs that answer a prompt: a page and, after "> ", a sentence; None if the page cannot be parsed."""
    page, _, sentence = prompt.rpartition("\n> ")
    try:
        return program_pattern(parse(page), sentence)
    except RequestError:
        return None


def program_pattern(page: Component, sentence: str) -> str:
    """The programs for a sentence about a page: each line fits the page as it is, or a new slot, and changes it; texts
    have only words of the page and of the sentence, with a capital or small first letter.

    A program of several lines may still not fit, where one line takes away what a later one names.
    """
    slots = list(page.walk())
    texts = [sentence, *(text for slot in slots for text in (slot.text, *slot.cells))]
    grammar = _Grammar(slots, _phrase(texts))
    line = _any(itertools.chain(grammar.changes(), grammar.selections(), grammar.tables(), grammar.places()))
    # The pattern of a line is long, so it stands here once.
    return rf"refuse: {_any(REFUSALS)}|(?:(?:^|\n){line})+"


def _any(options: Iterable[str]) -> str:
    found = dict.fromkeys(options)
    return f"(?:{'|'.join(found)})" if found else _NOTHING


def _phrase(texts: Iterable[str]) -> str:
    """Any sequence of words of some texts, of numbers for numerals, and of what stands in cells without being said."""
    words = dict.fromkeys(("yes", "no", "-"))
    for word in " ".join(texts).replace("|", " ").split():
        for each in (word, word.strip(".,;:!?\"'()"), word.strip("\"'(").rstrip(".,;:!?\"')").removesuffix("'s")):
            words |= dict.fromkeys((each, each[:1].upper() + each[1:], each[:1].lower() + each[1:]))
        if word.casefold() in _NUMERALS:
            words[str(_NUMERALS.index(word.casefold()))] = None
    word = _any(map(re.escape, filter(None, words)))
    return f"{word}(?: {word})*"


def _values(kind: Kind, name: str) -> str:
    return _any(_NUMBER if word == "#" else word for word, each in kind.words.items() if each == name)


def _settings(slots: Sequence[Component]) -> Iterator[tuple[str, str, list[str], bool]]:
    """Operations and words that change any of some slots, the ids of those that they change, and whether all slots can
    take them."""
    found: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}

    def note(operation: str, word: str, able: list[Component], changed: Iterable[Component]) -> None:
        if ids := tuple(slot.id for slot in changed):
            found.setdefault((operation, ids, len(able) == len(slots)), []).append(word)

    for word in dict.fromkeys(word for slot in slots for word in kinds()[slot.kind].words):
        able = [slot for slot in slots if word in kinds()[slot.kind].words]
        note("set", _NUMBER if word == "#" else word, able, (slot for slot in able if word not in slot.words))
    for name in dict.fromkeys(name for slot in slots for name in kinds()[slot.kind].properties):
        able = [slot for slot in slots if name in kinds()[slot.kind].properties]
        note("clear", name, able, (slot for slot in able if slot.get(name) is not None))
    for (operation, ids, is_for_all), words in found.items():
        yield operation, _any(words), list(ids), is_for_all


def _conditions(holder: Component) -> dict[str, list[Component]]:
    """Patterns of conditions on what is in a slot, with those that fulfil them."""
    children = list(holder.children)
    found = {r"\*": children}
    for name in dict.fromkeys(name for child in children for name in kinds()[child.kind].properties):
        able = [child for child in children if name in kinds()[child.kind].properties]
        found[rf"\+{name}"] = [child for child in able if child.get(name) is not None]
        found[f"-{name}"] = [child for child in able if child.get(name) is None]
    for i, column in enumerate(holder.cells if holder.kind == "table" else ()):
        for cell in dict.fromkeys(child.cells[i] for child in children):
            condition = rf"\[{re.escape(column)} \| {re.escape(cell)}\]"
            found[condition] = [child for child in children if child.cells[i] == cell]
    return {condition: slots for condition, slots in found.items() if slots}


class _Grammar:
    """Patterns of the lines about one page.

    Args:
        phrase: pattern of texts.
    """

    def __init__(self, slots: list[Component], phrase: str) -> None:
        self.slots, self.phrase = slots, phrase
        known = list(slot_ids())
        first = 1 + max(known.index(slot.id) for slot in slots)
        self.new = _any(known[first : first + _NUM_NEW])

    def ids(self, allowed: Callable[[Component], object]) -> str:
        return _any(slot.id for slot in self.slots if allowed(slot))

    def changes(self) -> Iterator[str]:
        """Lines that set or clear a property, or write a text; of a new slot any."""
        for operation, words, changed, _ in _settings(self.slots):
            ids = _any(changed)
            yield f"{operation} {ids}(?:,{ids})* {words}"
        yield f"text {_any((self.ids(lambda slot: kinds()[slot.kind].has_text), self.new))}: {self.phrase}"
        yield f"set {self.new} {_any(_values(kind, name) for kind in kinds().values() for name in kind.properties)}"

    def selections(self) -> Iterator[str]:
        """Lines about some of what is in a slot."""
        for holder in self.slots:
            for condition, slots in _conditions(holder).items():
                target = f"{holder.id}{condition}"
                yield f"del {target}"
                shown = {slot.id for slot in slots}
                if any((slot.id in shown) == (slot.get("hidden") is not None) for slot in holder.children):
                    yield f"only {target}"
                for operation, words, _, is_for_all in _settings(slots):
                    if is_for_all:
                        yield f"{operation} {target} {words}"

    def tables(self) -> Iterator[str]:
        """Lines about columns, cells and the order of entries."""
        for table in (slot for slot in self.slots if slot.kind == "table"):
            column, records = _any(map(re.escape, table.cells)), _any(child.id for child in table.children)
            yield rf"(?:cell {_any((records, self.new))}|head {table.id}) {column} \| {self.phrase}"
            yield f"(?:sort {table.id} (?:up|down)|drop {table.id}) {column}"
            yield rf"column {table.id} {self.phrase} \| {self.phrase}"
        yield f"sort {self.ids(lambda slot: slot.kind == 'list')} (?:up|down) (?:name|on|marked)"

    def places(self) -> Iterator[str]:
        """Lines that add, move, copy and delete."""
        inside = self.ids(lambda slot: slot.kind != "page")
        yield f"copy {inside}"
        yield f"del {inside}(?:,{inside})*"
        holders: dict[tuple[frozenset[str], int], list[Component]] = {}
        for slot in self.slots:
            if allowed := kinds()[slot.kind].children:
                holders.setdefault((allowed, len(slot.cells)), []).append(slot)
                children = _any(child.id for child in slot.children)
                yield f"swap {children} {children}"
        for (allowed, num_cells), found in holders.items():
            beside = _any(child.id for slot in found for child in slot.children)
            place = f"(?:(?:first|last) {_any(slot.id for slot in found)}|(?:before|after) {beside})"
            yield f"move {_any(slot.id for slot in self.slots if slot.kind in allowed)} {place}"
            yield f"add {place} {self.component(allowed, num_cells)}"
        everything = frozenset(kinds()) - {"page", "record"}
        yield f"add {_PLACE} {self.new} {self.component(everything, 0)}"
        yield f"move (?:{self.new} {_PLACE} {_any((self.ids(bool), self.new))}|{inside} {_PLACE} {self.new})"

    def component(self, allowed: frozenset[str], num_cells: int) -> str:
        """A component of some kinds, as it is added."""
        lines: dict[str, list[str]] = {}
        for kind in (kinds()[name] for name in sorted(allowed)):
            head = kind.name + "".join(f"(?: {_values(kind, name)})?" for name in kind.properties)
            if kind.name == "record":
                lines.setdefault(": " + r" \| ".join([self.phrase] * num_cells), []).append(head)
                continue
            text = f": {self.phrase}" + rf"(?: \| {self.phrase})*" * (kind.cells[1] > 0)
            lines.setdefault(text, []).append(head)
            if not kind.needs_text and not kind.cells[0]:
                lines.setdefault("", []).append(head)
        return _any(_any(heads) + text for text, heads in lines.items())
