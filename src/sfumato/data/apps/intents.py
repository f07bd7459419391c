"""Changes to a screen: a program for each intent, and the words that fill its templates.

People refer to components by text, kind and position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from random import Random

from sfumato.data.apps.domains import Domain, capitalize, coin_name, coin_task, coin_thing
from sfumato.data.apps.screens import COLORED, COLORS, enumerate_names, input_type
from sfumato.data.apps.speech import copied, plain, texts
from sfumato.errors import RequestError
from sfumato.ui import Component
from sfumato.ui.tree import kinds

_MAX_TRIES = 60
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ENTRIES = ("checkbox", "item", "record")
# A program, the words that fill its templates, and the component kind.
Meaning = tuple[str, dict[str, str], str]
Condition = Callable[[Component], bool]


class NothingToDoError(RequestError):
    """The page has nothing that an intent could apply to."""


def holder_of(page: Component, component: Component) -> Component:
    """A component's parent; the page is its own."""
    return next((each for each in page.walk() if any(child is component for child in each.children)), page)


def says(component: Component) -> str:
    """A component's identifying text: its text, or a record's first cell."""
    return component.text or (component.cells[0] if component.kind == "record" else "")


def nouns(kind: str) -> list[str]:
    """Names of a component kind."""
    found: list[str] = texts()["nouns"].get(kind) or texts()["parts"].get(kind, [kind])
    return found


def refer(page: Component, component: Component, random: Random) -> str | None:
    """A phrase that identifies exactly one component, with copied words marked; None if there is none."""
    everything = list(page.walk())
    same = [each for each in everything if each.kind == component.kind]
    noun = random.choice(nouns(component.kind))
    label = says(component)
    forms: list[str] = []
    if len(same) == 1 and component.kind not in _ENTRIES:
        forms += [f"the {noun}"] * 4
    labels = Counter(says(each).casefold() for each in everything if each.kind != "page")
    of_kind = Counter(says(each).casefold() for each in same)
    if label and labels[label.casefold()] == 1:
        shown = label.lower() if random.random() < 0.4 else label
        forms += [copied(shown)] * 3 + [f'"{copied(label)}"']
    if label and of_kind[label.casefold()] == 1 and component.kind not in _ENTRIES:
        forms += [f"the {noun} {copied(label)}", f"the {copied(label)} {noun}", f"{noun} {copied(label)}"] * 2
    forms += _by_position(page, component, same, noun)
    forms += _by_word(everything, component, noun, random)
    return random.choice(forms) if forms else None


def _by_word(everything: list[Component], component: Component, noun: str, random: Random) -> list[str]:
    """References by a word that no other component has: "the books" for "Pack the books"."""
    used = Counter(word for each in everything for word in set(says(each).casefold().split()))
    words = says(component).casefold().split()
    if component.kind == "checkbox":
        words = words[1:] or words
    found = [word for word in words if used[word] == 1 and len(word) > 2 and word.isalpha() and word not in _said()]
    if not found:
        return []
    word = copied(random.choice(found))
    if component.kind in _ENTRIES:
        return [f"the {word}", f"the {word}", f"the {word} one", f"the one with {word}", f"the {word} {noun}"]
    return [f"the {word} {noun}", f"the {noun} with {word}"]


@cache
def _said() -> frozenset[str]:
    """Words that mean something by themselves, so that they do not tell a component by its text."""
    kinds_said = [name for names in (*texts()["nouns"].values(), *texts()["parts"].values()) for name in names]
    phrases = [phrase for phrases in texts()["phrases"].values() for phrase in phrases]
    small = "and for from the this that with two three some one every all last again today"
    return frozenset(" ".join([*kinds_said, *phrases, *COLORS, *_ORDINALS, small]).split())


def _by_position(page: Component, component: Component, same: list[Component], noun: str) -> list[str]:
    inside = component.kind in _ENTRIES
    holder = holder_of(page, component)
    group = list(holder.children) if inside and holder.kind in ("list", "table") else same
    holders = {holder_of(page, each).id for each in page.walk() if each.kind in _ENTRIES}
    if len(group) < 2 or (inside and (len(holders) > 1 or len({each.kind for each in group}) > 1)):
        return []
    index = next(i for i, each in enumerate(group) if each is component)
    forms = [f"number {index + 1}", f"{noun} {index + 1}", f"{noun} number {index + 1}"] if inside else []
    if index < len(_ORDINALS):
        ordinal = _ORDINALS[index]
        forms += [f"the {ordinal} {noun}"] * 3 + [f"the {ordinal}", f"the {ordinal} one"] * inside
    if index == len(group) - 1:
        forms += [f"the last {noun}"] * 2 + ["the last", "the last one", "the bottom one"] * inside
    if index == len(group) - 2 and inside:
        forms += [f"the second to last {noun}"]
    return forms


def _is(*names: str) -> Condition:
    return lambda component: component.kind in names


def _takes(name: str) -> Condition:
    return lambda component: name in kinds()[component.kind].properties


def _has(name: str) -> Condition:
    return lambda component: component.get(name) is not None


def _is_open(component: Component) -> bool:
    return component.kind == "checkbox" and not component.get("on")


ON_ONE: dict[str, tuple[str, Condition]] = {
    "delete": ("del {}", lambda component: component.kind not in ("row", "column", "tabs")),
    "check": ("set {} on", _is_open),
    "uncheck": ("clear {} on", lambda component: component.kind == "checkbox" and not _is_open(component)),
    "uncolor": ("clear {} color", _has("color")),
    "hide": ("set {} hidden", lambda component: not component.get("hidden") and component.kind != "tab"),
    "show": ("clear {} hidden", _has("hidden")),
    "mark": ("set {} marked", _takes("marked")),
    "disable": ("set {} disabled", _takes("disabled")),
    "require": ("set {} required", _takes("required")),
    "copy": ("copy {}", _is("checkbox", "item", "record", "button", "card", "input")),
}
"""Intents about one component: their programs, and the kinds they apply to."""
ON_STATE = {
    "delete_state": "del {}",
    "hide_state": "set {} hidden",
    "only_state": "only {}",
    "mark_state": "set {} marked",
}
"""Intents about all ticked, or all unticked, checkboxes."""


class Draft:
    """A command under construction, with a method for each intent that is in no table above."""

    def __init__(self, random: Random, page: Component, domain: Domain) -> None:
        self._random, self._page, self._domain = random, page, domain
        self._slots = list(page.walk())[1:]

    def __call__(self, intent: str) -> Meaning:
        """A program for an intent, one of the commands in texts.toml.

        Raises:
            NothingToDoError: if the intent does not apply to the page.
        """
        if intent in ON_ONE:
            program, allowed = ON_ONE[intent]
            component, ref = self._pick(allowed)
            return program.format(component.id), {"ref": ref}, component.kind
        if intent in ON_STATE:
            _, target, state = self._checked()
            return ON_STATE[intent].format(target), {"state": state}, "checkbox"
        meaning: Meaning = getattr(self, intent)()
        return meaning

    def _pick(self, allowed: Condition) -> tuple[Component, str]:
        """A component that can be named, with its name."""
        found = [component for component in self._slots if allowed(component)]
        self._random.shuffle(found)
        for component in found:
            phrase = refer(self._page, component, self._random)
            if phrase is not None:
                return component, phrase
        raise NothingToDoError

    def _pair(self, allowed: Condition, *, side_by_side: bool = False) -> tuple[Component, Component, dict[str, str]]:
        """Two components of one kind, with their names."""
        first, ref = self._pick(allowed)
        holder = holder_of(self._page, first)

        def fits(each: Component) -> bool:
            apart = side_by_side and holder_of(self._page, each) is not holder
            return each.kind == first.kind and each is not first and allowed(each) and not apart

        second, other = self._pick(fits)
        return first, second, {"ref": ref, "other": other}

    def _only(self, *names: str, min_children: int = 1) -> Component:
        """The only component of some kinds with enough children."""
        found = [component for component in self._slots if component.kind in names]
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
        of_domain = self._domain.tasks if kind == "checkbox" else self._domain.things
        coin = coin_task if kind == "checkbox" else coin_thing
        known = {says(component).casefold() for component in self._slots}
        for _ in range(_MAX_TRIES):
            text = random.choice(of_domain) if random.random() < 0.4 else coin(random)
            if text.casefold() not in known:
                return text
        raise NothingToDoError

    def _checked(self) -> tuple[Component, str, str]:
        """The list of checkboxes, a selector of some of them, and their name."""
        holder = self._only("list")
        sign, state = self._random.choice((("+", "on"), ("-", "off")))
        if not all(map(_is("checkbox"), holder.children)) or all(
            _is_open(box) == (sign == "+") for box in holder.children
        ):
            raise NothingToDoError
        return holder, f"{holder.id}{sign}on", self._phrase(state)

    def delete_two(self) -> Meaning:
        first, second, slots = self._pair(_is(*_ENTRIES))
        return f"del {first.id},{second.id}", slots, first.kind

    def delete_all(self) -> Meaning:
        holder = self._only("list", "table")
        return f"del {holder.id}*", {}, holder.kind

    def check_two(self) -> Meaning:
        first, second, slots = self._pair(_is_open)
        return f"set {first.id},{second.id} on", slots, "checkbox"

    def check_all(self) -> Meaning:
        holder = self._only("list")
        if not all(map(_is("checkbox"), holder.children)):
            raise NothingToDoError
        return f"set {holder.id}* on", {}, "checkbox"

    def uncheck_all(self) -> Meaning:
        program, _, kind = self.check_all()
        return f"clear{program.removeprefix('set')}", {}, kind

    def color(self) -> Meaning:
        component, ref = self._pick(_is(*COLORED, "item"))
        color = self._color()
        return f"set {component.id} {color}", {"ref": ref, "color": color}, component.kind

    def color_state(self) -> Meaning:
        _, target, state = self._checked()
        color = self._color()
        return f"set {target} {color}", {"state": state, "color": color}, "checkbox"

    def size(self) -> Meaning:
        component, ref = self._pick(_takes("size"))
        size = self._random.choice(("small", "large"))
        return f"set {component.id} {size}", {"ref": ref, "size": self._phrase(size)}, component.kind

    def align(self) -> Meaning:
        component, ref = self._pick(_takes("align"))
        side, phrase = self._random.choice((("center", "in the middle"), ("right", "on the right")))
        return f"set {component.id} {side}", {"ref": ref, "side": phrase}, component.kind

    def theme(self) -> Meaning:
        themes = texts()["themes"]
        theme, names = self._random.choice([*themes.items(), *[("dark", themes["dark"])] * 2])
        return f"set a {theme}" if theme else "clear a theme", {"theme": self._random.choice(names)}, "page"

    def show_all(self) -> Meaning:
        holder = self._only("list", "table")
        return f"clear {holder.id}* hidden", {}, holder.kind

    def only_cell(self) -> Meaning:
        table = self._only("table", min_children=2)
        index = self._random.randrange(1, len(table.cells)) if len(table.cells) > 1 else 0
        cell = self._random.choice(table.children).cells[index]
        if cell == "-":
            raise NothingToDoError
        column = table.cells[index]
        slots = {"column": self._copied_name(column), "cell": copied(cell)}
        return f"only {table.id}[{column} | {cell}]", slots, "table"

    def number(self) -> Meaning:
        return f"set {self._only('list').id} numbered", {}, "list"

    def value(self) -> Meaning:
        component, ref = self._pick(_takes("value"))
        value = self._random.choice((self._random.randint(0, 100), self._random.randint(1, 20) * 5))
        return f"set {component.id} {value}", {"ref": ref, "value": str(value)}, component.kind

    def chart(self) -> Meaning:
        component, ref = self._pick(_is("chart"))
        form = self._random.choice(("line", "pie"))
        return f"set {component.id} {form}", {"ref": ref, "form": form}, "chart"

    def rename(self) -> Meaning:
        component, ref = self._pick(lambda component: bool(component.text))
        text = self._new_text(component.kind)
        new = text if self._random.random() < 0.7 else capitalize(text)
        return f"text {component.id}: {capitalize(text)}", {"ref": ref, "text": copied(new)}, component.kind

    def add(self, end: str = "last") -> Meaning:
        holder = self._only("list", "table")
        kind = holder.children[0].kind
        text = self._new_text(kind)
        cells = " | ".join([capitalize(text), *("-" for _ in holder.cells[1:])])
        line = f"record: {cells}" if kind == "record" else f"{kind}: {capitalize(text)}"
        slots = {"text": copied(text), "noun": self._random.choice(nouns(kind))}
        return f"add {end} {holder.id} {line}", slots, kind

    def add_first(self) -> Meaning:
        return self.add("first")

    def add_two(self) -> Meaning:
        holder = self._only("list")
        kind = holder.children[0].kind
        new = [self._new_text(kind), self._new_text(kind)]
        if new[0] == new[1]:
            raise NothingToDoError
        program = "\n".join(f"add last {holder.id} {kind}: {capitalize(text)}" for text in new)
        return program, {"texts": enumerate_names(new, self._random)}, kind

    def add_beside(self) -> Meaning:
        beside, ref = self._pick(_is("checkbox", "item"))
        text, side = self._new_text(beside.kind), self._random.choice(("before", "after"))
        program = f"add {side} {beside.id} {beside.kind}: {capitalize(text)}"
        return program, {"text": copied(text), "place": self._phrase(side), "ref": ref}, beside.kind

    def add_part(self) -> Meaning:
        random = self._random
        kind = random.choice(("button", "input", "text", "checkbox", "header", "progress", "slider", "badge", "image"))
        text = self._new_text(kind)
        color = self._color() if kind in COLORED and random.random() < 0.3 else ""
        end = random.choice(("last", "last", "first"))
        words = (input_type(text) if kind == "input" else "") + f" {color}" * bool(color)
        noun = random.choice(texts()["added"].get(kind) or nouns(kind))
        named = plain(f"{color} {noun}")
        slots = {
            "noun": f"{'an' if named[0] in 'aeiou' else 'a'} {named}",
            "text": copied(text),
            "where": self._phrase(f"add {end}"),
        }
        return f"add {end} a {kind}{words}: {capitalize(text)}", slots, kind

    def move(self) -> Meaning:
        component, ref = self._pick(_is(*_ENTRIES))
        end = self._random.choice(("first", "last"))
        program = f"move {component.id} {end} {holder_of(self._page, component).id}"
        return program, {"ref": ref, "end": self._phrase(end)}, component.kind

    def move_to(self) -> Meaning:
        first, second, slots = self._pair(_is(*_ENTRIES))
        side = self._random.choice(("before", "after"))
        return f"move {first.id} {side} {second.id}", slots | {"place": self._phrase(side)}, first.kind

    def swap(self) -> Meaning:
        first, second, slots = self._pair(_is(*_ENTRIES, "button", "card"), side_by_side=True)
        return f"swap {first.id} {second.id}", slots, first.kind

    def sort(self) -> Meaning:
        holder = self._only("list", min_children=2)
        way = self._random.choice(("up", "up", "down"))
        return f"sort {holder.id} {way} name", {"way": self._phrase(way)}, "list"

    def sort_state(self) -> Meaning:
        holder, _, _ = self._checked()
        way, state = self._random.choice((("up", "off"), ("down", "on")))
        return f"sort {holder.id} {way} on", {"state": self._phrase(state)}, "list"

    def sort_column(self) -> Meaning:
        table = self._only("table", min_children=2)
        column = self._random.choice(table.cells)
        way = self._random.choice(("up", "up", "down"))
        phrase = self._phrase(f"column {way}")
        return f"sort {table.id} {way} {column}", {"column": self._copied_name(column), "way": phrase}, "table"

    def column(self) -> Meaning:
        random, table = self._random, self._only("table")
        name = self._other_column(table, "columns")
        fill = random.choice(("low", "high", "none", "0", "open", "new")) if random.random() < 0.4 else ""
        phrase = self._phrase("fill").format(copied(fill)) if fill else ""
        if len(table.cells) > 4:
            raise NothingToDoError
        slots = {"column": self._copied_name(name), "fill": phrase}
        return f"column {table.id} {name} | {fill or '-'}", slots, "table"

    def drop(self) -> Meaning:
        table = self._only("table")
        if len(table.cells) < 2:
            raise NothingToDoError
        name = self._random.choice(table.cells)
        return f"drop {table.id} {name}", {"column": self._copied_name(name)}, "table"

    def head(self) -> Meaning:
        table = self._only("table")
        name = self._random.choice(table.cells)
        new = self._other_column(table, "heads")
        slots = {"column": self._copied_name(name), "text": self._copied_name(new)}
        return f"head {table.id} {name} | {new}", slots, "table"

    def _other_column(self, table: Component, phrases: str) -> str:
        names: list[str] = [*texts()["phrases"][phrases], coin_name(self._random)]
        return self._random.choice([name for name in names if name not in table.cells])

    def cell(self) -> Meaning:
        random = self._random
        record, ref = self._pick(_is("record"))
        table = holder_of(self._page, record)
        if len(table.cells) < 2:
            raise NothingToDoError
        name = random.choice(table.cells[1:])
        if random.random() < 0.5:
            value = str(random.randint(0, 200))
        else:
            value = random.choice((*self._domain.states, coin_name(random)))
        slots = {"ref": ref, "column": self._copied_name(name), "value": copied(value)}
        return f"cell {record.id} {name} | {value}", slots, "record"

    def two_things(self) -> Meaning:
        first, ref = self._pick(_is(*COLORED, "item"))
        second, other = self._pick(_is(*_ENTRIES, "button"))
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
