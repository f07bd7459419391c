"""What can be done to a screen: for each intent a program, and what fills the slots of its wordings."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from sfumato.data.apps.domains import Domain, capitalize, coin_name, coin_task, coin_thing
from sfumato.data.apps.references import NOUNS, holder_of, refer, says
from sfumato.data.apps.screens import COLORED, COLORS, enumerate_names, input_type
from sfumato.data.apps.speech import copied, plain
from sfumato.data.apps.wordings import PHRASES, THEMES
from sfumato.ui import Component
from sfumato.ui.tree import kinds

_MAX_TRIES = 60
# A program, what fills the slots of its wordings, and the kind it is done to.
Meaning = tuple[str, dict[str, str], str]


class NothingToDoError(Exception):
    """The page has nothing that an intent could be about."""


class Draft:
    """One command while it is put together."""

    def __init__(self, random: Random, page: Component, domain: Domain) -> None:
        self.random, self.page, self.domain = random, page, domain
        self.slots = list(page.walk())[1:]

    def _pick(self, allowed: Callable[[Component], bool]) -> tuple[Component, str]:
        """A component that can be named, and how."""
        found = [component for component in self.slots if allowed(component)]
        self.random.shuffle(found)
        for component in found:
            phrase = refer(self.page, component, self.random)
            if phrase is not None:
                return component, phrase
        raise NothingToDoError

    def _with(self, *names: str) -> Callable[[Component], bool]:
        return lambda component: all(name in kinds()[component.kind].properties for name in names)

    def _of(self, *names: str) -> Callable[[Component], bool]:
        return lambda component: component.kind in names

    def _only(self, *names: str, least: int = 1) -> Component:
        """The one component of some kinds that has children enough."""
        found = [component for component in self.slots if component.kind in names]
        if len(found) != 1 or len(found[0].children) < least:
            raise NothingToDoError
        return found[0]

    def _new_text(self, kind: str) -> str:
        random = self.random
        own = self.domain.tasks if kind == "checkbox" else self.domain.things
        coin = coin_task if kind == "checkbox" else coin_thing
        known = {says(component).casefold() for component in self.slots}
        for _ in range(_MAX_TRIES):
            text = random.choice(own) if random.random() < 0.4 else coin(random)
            if text.casefold() not in known:
                return text
        raise NothingToDoError

    def _checked(self) -> tuple[Component, str, str]:
        """The list of checkboxes, a selector of some of them and what they are called."""
        holder = self._only("list")
        sign, phrases = self.random.choice((("+", PHRASES["on"]), ("-", PHRASES["off"])))
        boxes = [child for child in holder.children if child.kind == "checkbox"]
        if (
            len(boxes) < len(holder.children)
            or not sum((box.get("on") is not None) == (sign == "+") for box in boxes) > 0
        ):
            raise NothingToDoError
        return holder, f"{holder.id}{sign}on", self.random.choice(phrases)

    def delete(self) -> Meaning:
        component, ref = self._pick(lambda component: component.kind not in ("row", "column", "tabs"))
        return f"del {component.id}", {"ref": ref}, component.kind

    def delete_two(self) -> Meaning:
        one, ref = self._pick(self._of("checkbox", "item", "record"))
        other, other_ref = self._pick(lambda component: component.kind == one.kind and component is not one)
        return f"del {one.id},{other.id}", {"ref": ref, "other": other_ref}, one.kind

    def delete_state(self) -> Meaning:
        _, target, state = self._checked()
        return f"del {target}", {"state": state}, "checkbox"

    def delete_all(self) -> Meaning:
        holder = self._only("list", "table")
        return f"del {holder.id}*", {}, holder.kind

    def check(self) -> Meaning:
        component, ref = self._pick(lambda component: component.kind == "checkbox" and component.get("on") is None)
        return f"set {component.id} on", {"ref": ref}, "checkbox"

    def check_two(self) -> Meaning:
        one, ref = self._pick(lambda component: component.kind == "checkbox" and component.get("on") is None)
        other, other_ref = self._pick(
            lambda each: each.kind == "checkbox" and each.get("on") is None and each is not one
        )
        return f"set {one.id},{other.id} on", {"ref": ref, "other": other_ref}, "checkbox"

    def uncheck(self) -> Meaning:
        component, ref = self._pick(lambda component: component.kind == "checkbox" and component.get("on") is not None)
        return f"clear {component.id} on", {"ref": ref}, "checkbox"

    def check_all(self) -> Meaning:
        holder = self._only("list")
        if any(child.kind != "checkbox" for child in holder.children) or not holder.children:
            raise NothingToDoError
        return f"set {holder.id}* on", {}, "checkbox"

    def uncheck_all(self) -> Meaning:
        program, _, kind = self.check_all()
        return f"clear{program.removeprefix('set')}", {}, kind

    def color(self) -> Meaning:
        component, ref = self._pick(self._of(*COLORED, "item"))
        color = self.random.choice(COLORS)
        return f"set {component.id} {color}", {"ref": ref, "color": color}, component.kind

    def color_state(self) -> Meaning:
        _, target, state = self._checked()
        color = self.random.choice(COLORS)
        return f"set {target} {color}", {"state": state, "color": color}, "checkbox"

    def uncolor(self) -> Meaning:
        component, ref = self._pick(
            lambda component: self._with("color")(component) and component.get("color") is not None
        )
        return f"clear {component.id} color", {"ref": ref}, component.kind

    def size(self) -> Meaning:
        component, ref = self._pick(self._with("size"))
        size = self.random.choice(("small", "large"))
        comparative = self.random.choice(
            {"small": ("smaller", "small", "tiny"), "large": ("bigger", "larger", "big", "huge")}[size]
        )
        return f"set {component.id} {size}", {"ref": ref, "size": comparative}, component.kind

    def align(self) -> Meaning:
        component, ref = self._pick(self._with("align"))
        side = self.random.choice(("center", "right"))
        return (
            f"set {component.id} {side}",
            {"ref": ref, "side": {"center": "in the middle", "right": "on the right"}[side]},
            component.kind,
        )

    def theme(self) -> Meaning:
        theme, names = self.random.choice([*THEMES.items(), ("dark", THEMES["dark"]), ("dark", THEMES["dark"])])
        name = self.random.choice(names)
        return (f"set a {theme}" if theme else "clear a theme"), {"theme": name}, "page"

    def hide(self) -> Meaning:
        component, ref = self._pick(lambda component: component.get("hidden") is None and component.kind != "tab")
        return f"set {component.id} hidden", {"ref": ref}, component.kind

    def show(self) -> Meaning:
        component, ref = self._pick(lambda component: component.get("hidden") is not None)
        return f"clear {component.id} hidden", {"ref": ref}, component.kind

    def hide_state(self) -> Meaning:
        _, target, state = self._checked()
        return f"set {target} hidden", {"state": state}, "checkbox"

    def only_state(self) -> Meaning:
        _, target, state = self._checked()
        return f"only {target}", {"state": state}, "checkbox"

    def show_all(self) -> Meaning:
        holder = self._only("list", "table")
        return f"clear {holder.id}* hidden", {}, holder.kind

    def only_cell(self) -> Meaning:
        table = self._only("table", least=2)
        index = self.random.randrange(1, len(table.cells)) if len(table.cells) > 1 else 0
        cell = self.random.choice(table.children).cells[index]
        if cell == "-":
            raise NothingToDoError
        slots = {"column": copied(lowered(table.cells[index], self.random)), "cell": copied(cell)}
        return f"only {table.id}[{table.cells[index]} | {cell}]", slots, "table"

    def mark(self) -> Meaning:
        component, ref = self._pick(self._with("marked"))
        return f"set {component.id} marked", {"ref": ref}, component.kind

    def mark_state(self) -> Meaning:
        _, target, state = self._checked()
        return f"set {target} marked", {"state": state}, "checkbox"

    def disable(self) -> Meaning:
        component, ref = self._pick(self._with("disabled"))
        return f"set {component.id} disabled", {"ref": ref}, component.kind

    def require(self) -> Meaning:
        component, ref = self._pick(self._with("required"))
        return f"set {component.id} required", {"ref": ref}, component.kind

    def number(self) -> Meaning:
        holder = self._only("list")
        return f"set {holder.id} numbered", {}, "list"

    def value(self) -> Meaning:
        component, ref = self._pick(self._with("value"))
        value = self.random.choice((self.random.randint(0, 100), self.random.randint(1, 20) * 5))
        return f"set {component.id} {value}", {"ref": ref, "value": str(value)}, component.kind

    def chart(self) -> Meaning:
        component, ref = self._pick(self._of("chart"))
        form = self.random.choice(("line", "pie"))
        return f"set {component.id} {form}", {"ref": ref, "form": form}, "chart"

    def rename(self) -> Meaning:
        component, ref = self._pick(lambda component: bool(component.text))
        text = self._new_text(component.kind)
        new = text if self.random.random() < 0.7 else capitalize(text)
        return f"text {component.id}: {capitalize(text)}", {"ref": ref, "text": copied(new)}, component.kind

    def add(self) -> Meaning:
        return self._addition("last")

    def add_first(self) -> Meaning:
        return self._addition("first")

    def _addition(self, place: str) -> Meaning:
        holder = self._only("list", "table")
        kind = holder.children[0].kind if holder.children else "record" if holder.kind == "table" else "item"
        text = self._new_text(kind)
        cells = " | ".join([capitalize(text)[:16].strip(), *("-" for _ in holder.cells[1:])])
        line = f"record: {cells}" if kind == "record" else f"{kind}: {capitalize(text)}"
        return f"add {place} {holder.id} {line}", {"text": copied(text), "noun": self.random.choice(NOUNS[kind])}, kind

    def add_two(self) -> Meaning:
        holder = self._only("list", least=1)
        kind = holder.children[0].kind
        one, other = self._new_text(kind), self._new_text(kind)
        if one == other:
            raise NothingToDoError
        program = "\n".join(f"add last {holder.id} {kind}: {capitalize(text)}" for text in (one, other))
        return program, {"texts": enumerate_names([one, other], self.random)}, kind

    def add_beside(self) -> Meaning:
        beside, ref = self._pick(self._of("checkbox", "item"))
        text, place = self._new_text(beside.kind), self.random.choice(("before", "after"))
        program = f"add {place} {beside.id} {beside.kind}: {capitalize(text)}"
        said = self.random.choice({"before": ("before", "above"), "after": ("after", "below", "behind")}[place])
        return program, {"text": copied(text), "place": said, "ref": ref}, beside.kind

    def add_part(self) -> Meaning:
        kind = self.random.choice(
            ("button", "input", "text", "checkbox", "header", "progress", "slider", "badge", "image")
        )
        text = self._new_text(kind)
        color = self.random.choice(COLORS) if kind in COLORED and self.random.random() < 0.3 else ""
        place = self.random.choice(("last", "last", "first"))
        words = (input_type(text) if kind == "input" else "") + f" {color}" * bool(color)
        noun = self.random.choice(
            {"input": ("text field", "input"), "header": ("heading",), "checkbox": ("checkbox",)}.get(kind, NOUNS[kind])
        )
        where = {"last": ("", "", " at the bottom", " at the end"), "first": (" at the top", " at the very top")}[place]
        named = plain(f"{color} {noun}")
        slots = {
            "noun": f"{'an' if named[0] in 'aeiou' else 'a'} {named}",
            "text": copied(text),
            "where": self.random.choice(where),
        }
        return f"add {place} a {kind}{words}: {capitalize(text)}", slots, kind

    def move(self) -> Meaning:
        component, ref = self._pick(self._of("checkbox", "item", "record"))
        holder = holder_of(self.page, component)
        place = self.random.choice(("first", "last"))
        end = self.random.choice(
            {
                "first": ("to the top", "to the front", "up to the top"),
                "last": ("to the bottom", "to the end", "down to the end"),
            }[place]
        )
        return f"move {component.id} {place} {holder.id}", {"ref": ref, "end": end}, component.kind

    def move_to(self) -> Meaning:
        one, ref = self._pick(self._of("checkbox", "item", "record"))
        other, other_ref = self._pick(lambda each: each.kind == one.kind and each is not one)
        place = self.random.choice(("before", "after"))
        said = self.random.choice({"before": ("before", "above"), "after": ("after", "below", "behind")}[place])
        return f"move {one.id} {place} {other.id}", {"ref": ref, "place": said, "other": other_ref}, one.kind

    def swap(self) -> Meaning:
        one, ref = self._pick(lambda component: component.kind in ("checkbox", "item", "record", "button", "card"))
        holder = holder_of(self.page, one)
        other, other_ref = self._pick(
            lambda each: each.kind == one.kind and each is not one and any(each is child for child in holder.children)
        )
        return f"swap {one.id} {other.id}", {"ref": ref, "other": other_ref}, one.kind

    def copy(self) -> Meaning:
        component, ref = self._pick(self._of("checkbox", "item", "record", "button", "card", "input"))
        return f"copy {component.id}", {"ref": ref}, component.kind

    def sort(self) -> Meaning:
        holder = self._only("list", least=2)
        way = self.random.choice(("up", "up", "down"))
        said = self.random.choice(
            {
                "up": ("", "", " from a to z", " ascending"),
                "down": (" backwards", " from z to a", " descending", " in reverse"),
            }[way]
        )
        return f"sort {holder.id} {way} name", {"way": said}, "list"

    def sort_state(self) -> Meaning:
        holder, _, _ = self._checked()
        way = self.random.choice(("up", "down"))
        first = self.random.choice(PHRASES["off" if way == "up" else "on"])
        return f"sort {holder.id} {way} on", {"state": first}, "list"

    def sort_column(self) -> Meaning:
        table = self._only("table", least=2)
        column = self.random.choice(table.cells)
        way = self.random.choice(("up", "up", "down"))
        said = self.random.choice(
            {"up": ("", "", " ascending", ", lowest first"), "down": (" descending", " backwards", ", highest first")}[
                way
            ]
        )
        return (
            f"sort {table.id} {way} {column}",
            {"column": copied(lowered(column, self.random)), "way": said},
            "table",
        )

    def column(self) -> Meaning:
        table = self._only("table")
        known = [
            name
            for name in (
                "Priority",
                "Owner",
                "Deadline",
                "Color",
                "Notes",
                "Room",
                "Size",
                "Rank",
                coin_name(self.random),
            )
            if name not in table.cells
        ]
        name = self.random.choice(known)
        fill = self.random.choice(("low", "high", "none", "0", "open", "new")) if self.random.random() < 0.4 else ""
        said = (
            self.random.choice((" with the value {}", " filled with {}", ", all {}", " set to {}")).format(copied(fill))
            if fill
            else ""
        )
        if len(table.cells) > 4:
            raise NothingToDoError
        return (
            f"column {table.id} {name} | {fill or '-'}",
            {"column": copied(lowered(name, self.random)), "fill": said},
            "table",
        )

    def drop(self) -> Meaning:
        table = self._only("table")
        if len(table.cells) < 2:
            raise NothingToDoError
        name = self.random.choice(table.cells)
        return f"drop {table.id} {name}", {"column": copied(lowered(name, self.random))}, "table"

    def head(self) -> Meaning:
        table = self._only("table")
        name = self.random.choice(table.cells)
        new = self.random.choice(
            [
                each
                for each in ("Cost", "Person", "Day", "Label", "Title", "Group", coin_name(self.random))
                if each not in table.cells
            ]
        )
        return (
            f"head {table.id} {name} | {new}",
            {"column": copied(lowered(name, self.random)), "text": copied(lowered(new, self.random))},
            "table",
        )

    def cell(self) -> Meaning:
        record, ref = self._pick(self._of("record"))
        table = holder_of(self.page, record)
        if len(table.cells) < 2:
            raise NothingToDoError
        name = self.random.choice(table.cells[1:])
        value = (
            str(self.random.randint(0, 200))
            if self.random.random() < 0.5
            else self.random.choice((*self.domain.states, coin_name(self.random)))
        )
        return (
            f"cell {record.id} {name} | {value}",
            {"ref": ref, "column": copied(lowered(name, self.random)), "value": copied(value)},
            "record",
        )

    def two_things(self) -> Meaning:
        (first, ref), (second, other) = (
            self._pick(self._of(*COLORED, "item")),
            self._pick(self._of("checkbox", "item", "record", "button")),
        )
        color = self.random.choice(COLORS)
        return f"set {first.id} {color}\ndel {second.id}", {"ref": ref, "color": color, "other": other}, first.kind

    def theme_too(self) -> Meaning:
        component, ref = self._pick(self._of(*COLORED, "item"))
        color = self.random.choice(COLORS)
        return f"set {component.id} {color}\nset a dark", {"ref": ref, "color": color}, component.kind

    def missing(self) -> Meaning:
        """What is not there: a name or a kind that the page lacks."""
        there = {component.kind for component in self.slots}
        absent = sorted({"button", "chart", "image", "slider", "table", "badge", "input", "tab", "progress"} - there)
        if self.random.random() < 0.5 and absent:
            ref = f"the {self.random.choice(NOUNS[self.random.choice(absent)])}"
        else:
            ref = copied(self._new_text(self.random.choice(("item", "checkbox"))))
        return "refuse: not on this screen", {"ref": ref, "color": self.random.choice(COLORS)}, ""

    def ambiguous(self) -> Meaning:
        """What several components are called."""
        found = {
            component.kind
            for component in self.slots
            if component.kind in ("button", "image", "card", "input", "slider", "tab", "badge")
        }
        several = sorted(name for name in found if sum(component.kind == name for component in self.slots) > 1)
        if not several:
            raise NothingToDoError
        noun = self.random.choice(NOUNS[self.random.choice(several)])
        return "refuse: more than one fits", {"ref": f"the {noun}", "color": self.random.choice(COLORS)}, ""

    def nonsense(self) -> Meaning:
        return "refuse: a screen cannot do that", {"name": copied(coin_name(self.random))}, ""


def lowered(text: str, random: Random) -> str:
    return text.lower() if random.random() < 0.6 else text
