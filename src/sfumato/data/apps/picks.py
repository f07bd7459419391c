"""Picks what a command is about: components of a screen, and what they are called."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import NoReturn

from sfumato.data.apps.domains import Domain, coin_task, coin_thing, verbs
from sfumato.data.apps.intents import Condition, is_kind
from sfumato.data.apps.references import ENTRIES, holder_of, refer, says
from sfumato.data.apps.screens import COLORS, NUMBERS
from sfumato.data.apps.speech import conjugate, copied, texts
from sfumato.errors import RequestError
from sfumato.ui import Component
from sfumato.ui.edits import select
from sfumato.ui.tree import kinds, visible

_NAMING = ("list", "tab", "card", "header")
_MAX_TRIES = 60
_SEVERAL_SHARE = 0.2
"""Share of commands about an entry that are about two or three."""


class NothingToDoError(RequestError):
    """The page has nothing that an intent could apply to."""


class Picker:
    """Picks components of a page at random.

    Args:
        it: id of the component that is called "it", the only one that may be meant; without, any may.
    """

    def __init__(self, random: Random, page: Component, domain: Domain, it: str = "") -> None:
        self._random, self._page, self._domain, self._it = random, page, domain, it
        self._slots = list(page.walk())[1:]

    def _pick(self, allowed: Condition) -> tuple[Component, str]:
        """A component that can be named, with its name."""
        found = [component for component in self._slots if allowed(component)]
        if self._it:
            return next(((each, "it") for each in found if each.id == self._it), None) or self._nothing()
        self._random.shuffle(found)
        for component in found:
            phrase = refer(self._page, component, self._random)
            if phrase is not None:
                return component, phrase
        raise NothingToDoError

    def _pick_some(self, allowed: Condition) -> tuple[str, str, str]:
        """Selector, name and kind of a component, or of several of one list or table."""
        random = self._random
        component, ref = self._pick(allowed)
        if component.kind not in ENTRIES or self._it or random.random() > _SEVERAL_SHARE:
            return component.id, ref, component.kind
        holder = self._only(is_kind("list", "table"), min_children=3)
        entries = visible(holder.children)
        if len(entries) < 3:
            raise NothingToDoError
        number = random.randint(2, min(3, len(entries) - 1))
        if random.random() < 0.5:
            sign, ends = random.choice((("", ("first", "top")), ("-", ("last", "bottom"))))
            target = f"{holder.id}*{sign}{number}"
            chosen = select(self._page, target)
            name = f"the {random.choice(ends)} {NUMBERS[number]}"
        else:
            chosen = random.sample(entries, number)
            target = ",".join(each.id for each in chosen)
            phrases = [refer(self._page, each, random) or self._nothing() for each in chosen]
            name = ", ".join(phrases[:-1]) + random.choice((" and ", ", ", " and also ")) + phrases[-1]
        if not all(map(allowed, chosen)):
            raise NothingToDoError
        return target, name, component.kind

    def _nothing(self) -> NoReturn:
        raise NothingToDoError

    def _pair(
        self, allowed: Condition, *, alike: bool = True, side_by_side: bool = False
    ) -> tuple[Component, Component, dict[str, str]]:
        """Two components with their names: of one kind, if alike, and of one parent, if side by side."""
        first, ref = self._pick(allowed)
        holder = holder_of(self._page, first)

        def fits(each: Component) -> bool:
            if (alike and each.kind != first.kind) or (side_by_side and holder_of(self._page, each) is not holder):
                return False
            return each is not first and allowed(each)

        second, other = self._pick(fits)
        return first, second, {"ref": ref, "other": other}

    def _only(self, allowed: Condition, min_children: int = 1) -> Component:
        """The only such component with enough children."""
        found = [component for component in self._slots if allowed(component)]
        if len(found) != 1 or len(found[0].children) < min_children:
            raise NothingToDoError
        return found[0]

    def _phrase(self, name: str) -> str:
        phrases: list[str] = texts()["phrases"][name]
        return self._random.choice(phrases)

    def _color(self) -> str:
        return self._random.choice(COLORS)

    def _copied_name(self, name: str) -> str:
        return copied(name.lower() if self._random.random() < 0.6 else name)

    def _new_text(self, kind: str) -> str:
        random = self._random
        is_task = kind == "checkbox" and random.random() < 0.7
        of_domain, coin = (self._domain.tasks, coin_task) if is_task else (self._domain.things, coin_thing)
        known = {says(component).casefold() for component in self._slots}
        for _ in range(_MAX_TRIES):
            text = random.choice(of_domain) if random.random() < 0.4 else coin(random)
            if text.casefold() not in known:
                return text
        raise NothingToDoError

    def _entries(self) -> tuple[Component, str, str]:
        """A list or table, a condition ("+on") of entries that are ticked or marked, or are not, and their name."""
        holder = self._only(is_kind("list", "table"))
        sign, name = self._random.choice("+-"), self._random.choice(("on", "on", "marked"))
        having = [child.get(name) is not None for child in holder.children]
        able = all(name in kinds()[child.kind].properties for child in holder.children)
        if not able or (sign == "+") not in having or (name == "marked" and not any(having)):
            raise NothingToDoError
        return holder, sign + name, self._phrase(sign + name)

    def _records(self) -> tuple[str, dict[str, str]]:
        """A selector of records by a cell, and what is said of them: the column too, where others have that cell."""
        table = self._only(is_kind("table"), min_children=2)
        index = self._random.randrange(1, len(table.cells)) if len(table.cells) > 1 else 0
        cell = self._random.choice(table.children).cells[index]
        if cell == "-":
            raise NothingToDoError
        column = table.cells[index]
        slots = {"cell": copied(cell)}
        in_others = any(cell in record.cells[:index] + record.cells[index + 1 :] for record in table.children)
        if in_others or self._random.random() < 0.5:
            slots |= {"column": self._copied_name(column), "needs": "{column}"}
            return f"{table.id}[{column} | {cell}]", slots
        return f"{table.id}[{cell}]", slots

    def _task(self, allowed: Condition) -> tuple[Component, dict[str, str]]:
        """A checkbox whose text begins with a verb and is on no other component, and that text in other forms."""
        labels = Counter(says(each).casefold() for each in self._slots)
        found = [
            each
            for each in filter(allowed, self._slots)
            if each.text.split()[0].casefold() in verbs() and " " in each.text and labels[each.text.casefold()] == 1
        ]
        if not found:
            raise NothingToDoError
        box = self._random.choice(found)
        verb, _, rest = box.text.partition(" ")
        verb = verb.casefold()
        if rest.split()[0] not in ("the", "a", "my", "some", "every", "two") and self._random.random() < 0.5:
            rest = f"the {rest}"
        past, participle = conjugate(verb)
        words = {"base": f"{verb} {rest}", "did": f"{past} {rest}", "object": rest, "participle": participle}
        slots = {name: copied(text) for name, text in words.items()}
        return box, slots | {"is": "are" if rest.endswith("s") else "is"}

    def _sections(self) -> list[tuple[Component, str]]:
        """Several lists with their names: their own, that of their tab or card, or of the header above."""
        found = []
        for each in self._slots:
            holder = holder_of(self._page, each)
            above = holder.children[: holder.children.index(each)][-1:]
            names = [one.text for one in (each, holder, *above) if one.text and one.kind in _NAMING]
            if each.kind == "list" and each.children and names:
                found.append((each, names[0]))
        if len({name for _, name in found}) < max(2, len(found)):
            raise NothingToDoError
        return found

    def _flag(self) -> tuple[Component, str, str, str]:
        """A table with a column of yes and no, that column, and how a sentence says one of these."""
        table = self._only(is_kind("table"), min_children=1)
        flags: dict[str, list[str]] = texts()["flags"]
        columns = [name for name in table.cells if name in flags] or self._nothing()
        column, value = self._random.choice(columns), self._random.choice(("yes", "yes", "no"))
        return table, column, flags[column][value == "no"], value
