"""Changes to a screen: a program for each intent, and the words that fill its templates."""

from __future__ import annotations

from collections import Counter

from sfumato.data.apps.domains import capitalize, coin_name, draw_value
from sfumato.data.apps.intents import ON_CELL, ON_FLAG, ON_HOLDER, ON_ONE, ON_STATE, ON_TASK, ON_TWO, is_kind, takes
from sfumato.data.apps.picks import NothingToDoError, Picker
from sfumato.data.apps.references import ENTRIES, holder_of, nouns
from sfumato.data.apps.screens import COLORED, enumerate_names, input_type
from sfumato.data.apps.speech import copied, indefinite, plain, texts
from sfumato.ui import Component
from sfumato.ui.tree import kinds

_PARTS = ("button", "input", "text", "checkbox", "header", "progress", "slider", "badge", "image", "chart", "select")
# A program, the words that fill its templates, and the component kind.
Meaning = tuple[str, dict[str, str], str]


class Draft(Picker):
    """A command under construction, with a method for each intent that is in no table."""

    def __call__(self, intent: str) -> Meaning:
        """A program for an intent, one of the commands in texts.toml.

        Raises:
            NothingToDoError: if the intent does not apply to the page.
        """
        if intent in ON_ONE:
            program, allowed = ON_ONE[intent]
            ids, ref, kind = self._pick_some(allowed)
            return program.format(ids), {"ref": ref}, kind
        if intent in ON_TWO:
            program, allowed = ON_TWO[intent]
            first, second, slots = self._pair(allowed, side_by_side=intent == "swap")
            return program.format(first.id, second.id), slots, first.kind
        if intent in ON_HOLDER:
            program, allowed = ON_HOLDER[intent]
            holder = self._only(allowed)
            return program.format(holder.id), {}, holder.kind
        if intent in ON_STATE:
            holder, which, state = self._entries()
            return ON_STATE[intent].format(holder.id + which), {"state": state}, holder.children[0].kind
        if intent in ON_CELL:
            target, slots = self._records()
            return ON_CELL[intent].format(target), slots, "table"
        if intent in ON_FLAG:
            table, column, told, value = self._flag()
            return ON_FLAG[intent].format(f"{table.id}[{column} | {value}]"), {"flag": told}, "table"
        if intent in ON_TASK:
            program, allowed = ON_TASK[intent]
            box, slots = self._task(allowed)
            return program.format(box.id), slots, "checkbox"
        meaning: Meaning = getattr(self, intent)()
        return meaning

    def color(self) -> Meaning:
        ids, ref, kind = self._pick_some(is_kind(*COLORED, "item"))
        color = self._color()
        return f"set {ids} {color}", {"ref": ref, "color": color}, kind

    def color_state(self) -> Meaning:
        holder, which, state = self._entries()
        color = self._color()
        if color not in kinds()[holder.children[0].kind].words:
            raise NothingToDoError
        return f"set {holder.id}{which} {color}", {"state": state, "color": color}, holder.children[0].kind

    def size(self) -> Meaning:
        component, ref = self._pick(takes("size"))
        size = self._random.choice(("small", "large"))
        return f"set {component.id} {size}", {"ref": ref, "size": self._phrase(size), "which": size}, component.kind

    def align(self) -> Meaning:
        component, ref = self._pick(takes("align"))
        side, phrase = self._random.choice((("center", "in the middle"), ("right", "on the right")))
        return f"set {component.id} {side}", {"ref": ref, "side": phrase}, component.kind

    def theme(self) -> Meaning:
        themes = texts()["themes"]
        theme, names = self._random.choice([*themes.items(), *[("dark", themes["dark"])] * 2])
        return (
            f"set a {theme}" if theme else "clear a theme",
            {"theme": self._random.choice(names), "which": theme},
            "page",
        )

    def input_type(self) -> Meaning:
        component, ref = self._pick(is_kind("input"))
        found = self._random.choice([word for word, name in kinds()["input"].words.items() if name == "type"])
        slots = {"ref": ref, "type": found, "a": indefinite(found)}
        return f"set {component.id} {found}", slots, "input"

    def open_tab(self) -> Meaning:
        tab, ref = self._pick(lambda component: component.kind == "tab" and not component.get("on"))
        opened = [f"clear {each.id} on\n" for each in holder_of(self._page, tab).children if each.get("on")]
        return f"{''.join(opened)}set {tab.id} on", {"ref": ref}, "tab"

    def value(self) -> Meaning:
        component, ref = self._pick(takes("value"))
        value = self._random.choice((self._random.randint(0, 100), self._random.randint(1, 20) * 5))
        return f"set {component.id} {value}", {"ref": ref, "value": str(value)}, component.kind

    def chart(self) -> Meaning:
        component, ref = self._pick(is_kind("chart"))
        form = self._random.choice(("line", "pie"))
        return f"set {component.id} {form}", {"ref": ref, "form": form}, "chart"

    def rename(self) -> Meaning:
        component, ref = self._pick(lambda component: bool(component.text))
        text = self._new_text(component.kind)
        new = text if self._random.random() < 0.7 else capitalize(text)
        return f"text {component.id}: {capitalize(text)}", {"ref": ref, "text": copied(new)}, component.kind

    def add(self, end: str = "last") -> Meaning:
        holder = self._only(is_kind("list", "table"))
        kind = holder.children[0].kind
        text = self._new_text(kind)
        cells = " | ".join([capitalize(text), *("-" for _ in holder.cells[1:])])
        line = f"record: {cells}" if kind == "record" else f"{kind}: {capitalize(text)}"
        slots = {"text": copied(text), "noun": self._random.choice(nouns(kind))}
        return f"add {end} {holder.id} {line}", slots, kind

    def add_first(self) -> Meaning:
        return self.add("first")

    def add_two(self) -> Meaning:
        holder = self._only(is_kind("list"))
        kind = holder.children[0].kind
        new = [self._new_text(kind), self._new_text(kind)]
        if new[0] == new[1]:
            raise NothingToDoError
        program = "\n".join(f"add last {holder.id} {kind}: {capitalize(text)}" for text in new)
        return program, {"texts": enumerate_names(new, self._random)}, kind

    def add_beside(self) -> Meaning:
        beside, ref = self._pick(is_kind("checkbox", "item"))
        text, side = self._new_text(beside.kind), self._random.choice(("before", "after"))
        program = f"add {side} {beside.id} {beside.kind}: {capitalize(text)}"
        return program, {"text": copied(text), "place": self._phrase(side), "ref": ref}, beside.kind

    def _part(self, kind: str) -> tuple[str, dict[str, str]]:
        """The line of a new component, and what is said of it."""
        noun = self._random.choice(texts()["added"].get(kind) or nouns(kind))
        if kind == "divider":
            return kind, {"noun": f"a {noun}", "text": ""}
        text = self._new_text(kind)
        color = self._color() if kind in COLORED and self._random.random() < 0.3 else ""
        words = (input_type(text) if kind == "input" else "") + f" {color}" * bool(color)
        named = plain(f"{color} {noun}")
        slots = {"noun": f"{indefinite(named)} {named}", "text": copied(text)}
        return f"{kind}{words}: {capitalize(text)}", slots

    def add_part(self) -> Meaning:
        holders = [each for each in self._slots if any(map(is_kind("tab", "card"), each.children))]
        if len(holders) == 1 and self._random.random() < 0.5:
            holder, end, where = holders[0].id, "last", ""
            kind = holders[0].children[0].kind
        else:
            holder, kind = "a", self._random.choice(_PARTS)
            end = self._random.choice(("last", "last", "first"))
            where = self._phrase(f"add {end}")
        line, slots = self._part(kind)
        return f"add {end} {holder} {line}", slots | {"where": where}, kind

    def add_part_beside(self) -> Meaning:
        kind, side = self._random.choice((*_PARTS, "divider")), self._random.choice(("before", "after"))
        beside, ref = self._pick(
            lambda each: each.kind not in ENTRIES and kind in kinds()[holder_of(self._page, each).kind].children
        )
        line, slots = self._part(kind)
        return f"add {side} {beside.id} {line}", slots | {"place": self._phrase(side), "ref": ref}, kind

    def add_to(self) -> Meaning:
        """To add to one of several lists."""
        holder, name = self._random.choice(self._sections())
        kind = holder.children[0].kind
        text = self._new_text(kind)
        slots = {"text": copied(text), "section": self._copied_name(name)}
        return f"add last {holder.id} {kind}: {capitalize(text)}", slots, kind

    def move_section(self) -> Meaning:
        """To move an entry to another list."""
        holder, name = self._random.choice(self._sections())
        entry, ref = self._pick(lambda each: each.kind == holder.children[0].kind and each not in holder.children)
        slots = {"ref": ref, "section": self._copied_name(name)}
        return f"move {entry.id} last {holder.id}", slots, entry.kind

    def flag(self) -> Meaning:
        """To say that something of a record holds, or not: "Tom has paid"."""
        table, column, told, value = self._flag()
        record, ref = self._pick(lambda each: each in table.children and each.cells[table.cells.index(column)] != value)
        return f"cell {record.id} {column} | {value}", {"ref": ref, "flag": told}, "record"

    def add_row(self) -> Meaning:
        table = self._only(is_kind("table"))
        if len(table.cells) < 2:
            raise NothingToDoError
        first, values = self._new_text("record"), [draw_value(self._domain, self._random) for _ in table.cells[1:]]
        pairs = [
            f"{self._copied_name(name)} {copied(value)}" for name, value in zip(table.cells[1:], values, strict=True)
        ]
        slots = {"cells": ", ".join(map(copied, (first, *values))), "text": copied(first), "pairs": ", ".join(pairs)}
        return f"add last {table.id} record: {' | '.join([capitalize(first), *values])}", slots, "record"

    def move(self) -> Meaning:
        component, ref = self._pick(is_kind(*ENTRIES, "tab", "card"))
        end = self._random.choice(("first", "last"))
        program = f"move {component.id} {end} {holder_of(self._page, component).id}"
        return program, {"ref": ref, "end": self._phrase(end), "which": end}, component.kind

    def move_to(self) -> Meaning:
        first, second, slots = self._pair(lambda component: True, alike=False, side_by_side=True)
        side = self._random.choice(("before", "after"))
        return f"move {first.id} {side} {second.id}", slots | {"place": self._phrase(side)}, first.kind

    def sort(self) -> Meaning:
        holder = self._only(is_kind("list"), min_children=2)
        way = self._random.choice(("up", "up", "down"))
        return f"sort {holder.id} {way} name", {"way": self._phrase(way), "which": way}, "list"

    def sort_state(self) -> Meaning:
        holder, which, state = self._entries()
        way = "down" if which.startswith("+") else "up"
        return f"sort {holder.id} {way} {which[1:]}", {"state": state}, holder.kind

    def sort_column(self) -> Meaning:
        table = self._only(is_kind("table"), min_children=2)
        column = self._random.choice(table.cells)
        way = self._random.choice(("up", "up", "down"))
        phrase = self._phrase(f"column {way}")
        slots = {"column": self._copied_name(column), "way": phrase, "which": way}
        return f"sort {table.id} {way} {column}", slots, "table"

    def column(self) -> Meaning:
        random, table = self._random, self._only(is_kind("table"))
        name = self._other_column(table, "columns")
        fill = random.choice(("low", "high", "none", "0", "open", "new")) if random.random() < 0.4 else ""
        phrase = self._phrase("fill").format(copied(fill)) if fill else ""
        if len(table.cells) > 4:
            raise NothingToDoError
        slots = {"column": self._copied_name(name), "fill": phrase}
        return f"column {table.id} {name} | {fill or '-'}", slots, "table"

    def drop(self) -> Meaning:
        table = self._only(is_kind("table"))
        if len(table.cells) < 2:
            raise NothingToDoError
        name = self._random.choice(table.cells)
        return f"drop {table.id} {name}", {"column": self._copied_name(name)}, "table"

    def head(self) -> Meaning:
        table = self._only(is_kind("table"))
        name = self._random.choice(table.cells)
        new = self._other_column(table, "heads")
        slots = {"column": self._copied_name(name), "text": self._copied_name(new)}
        return f"head {table.id} {name} | {new}", slots, "table"

    def _other_column(self, table: Component, phrases: str) -> str:
        names: list[str] = [*texts()["phrases"][phrases], coin_name(self._random)]
        return self._random.choice([name for name in names if name not in table.cells])

    def cell(self) -> Meaning:
        random = self._random
        record, ref = self._pick(is_kind("record"))
        table = holder_of(self._page, record)
        if len(table.cells) < 2:
            raise NothingToDoError
        name, value = random.choice(table.cells[1:]), draw_value(self._domain, random)
        slots = {"ref": ref, "column": self._copied_name(name), "value": copied(value)}
        return f"cell {record.id} {name} | {value}", slots, "record"

    def recell(self) -> Meaning:
        """To name a cell by what is in it."""
        cells = [(record, i) for record in self._slots if record.kind == "record" for i in range(len(record.cells))]
        counts = Counter(record.cells[i] for record, i in cells)
        found = [(record, i) for record, i in cells if counts[record.cells[i]] == 1 and record.cells[i] != "-"]
        if not found:
            raise NothingToDoError
        record, index = self._random.choice(found)
        value = draw_value(self._domain, self._random) if index else capitalize(self._new_text("record"))
        old = record.cells[index]
        return f"cell {record.id} {old} | {value}", {"old": copied(old), "value": copied(value)}, "record"

    def two_things(self) -> Meaning:
        first, ref = self._pick(is_kind(*COLORED, "item"))
        second, other = self._pick(is_kind(*ENTRIES, "button"))
        color = self._color()
        return f"set {first.id} {color}\ndel {second.id}", {"ref": ref, "color": color, "other": other}, first.kind

    def theme_too(self) -> Meaning:
        program, slots, kind = self.color()
        return f"{program}\nset a dark", slots, kind

    def missing(self) -> Meaning:
        """Something missing: a name or kind that the page lacks."""
        present = {component.kind for component in self._slots}
        absent = sorted({"button", "chart", "image", "slider", "table", "badge", "input", "tab", "progress"} - present)
        if self._random.random() < 0.5 and absent:
            ref = f"the {self._random.choice(nouns(self._random.choice(absent)))}"
        else:
            kind = self._random.choice(("item", "item", "checkbox"))
            ref = "the " * (kind == "item" and self._random.random() < 0.5) + copied(self._new_text(kind))
        return "refuse: not on this screen", {"ref": ref, "color": self._color()}, ""

    def ambiguous(self) -> Meaning:
        """A name shared by several components."""
        counts = Counter(component.kind for component in self._slots)
        named = ("badge", "button", "card", "image", "input", "slider", "tab")
        several = [kind for kind in named if counts[kind] > 1]
        if not several:
            raise NothingToDoError
        noun = self._random.choice(nouns(self._random.choice(several)))
        return "refuse: more than one fits", {"ref": f"the {noun}", "color": self._color()}, ""

    def nonsense(self) -> Meaning:
        return "refuse: a screen cannot do that", {"name": copied(coin_name(self._random))}, ""
