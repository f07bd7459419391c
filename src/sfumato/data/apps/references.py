"""How people name what is on a screen: by what it says, what it is, where it stands."""

from __future__ import annotations

from collections import Counter
from random import Random

from sfumato.data.apps.screens import PART_NOUNS
from sfumato.data.apps.speech import copied
from sfumato.ui import Component

ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
NOUNS = PART_NOUNS | {
    "header": ("title", "heading", "header"), "item": ("item", "entry"), "record": ("row", "line", "entry"),
    "tab": ("tab",), "list": ("list",), "table": ("table",), "tabs": ("tabs",), "row": ("row",), "column": ("column",),
}  # fmt: skip
NOUNS["checkbox"] = ("item", "task", "entry", "checkbox")
_CHILDREN = ("checkbox", "item", "record")


def holder_of(page: Component, component: Component) -> Component:
    """What a component stands in; the page stands in itself."""
    return next((each for each in page.walk() if any(child is component for child in each.children)), page)


def says(component: Component) -> str:
    """What a component is known by: its text, or the first cell of a record."""
    return component.text or (component.cells[0] if component.kind == "record" else "")


def refer(page: Component, component: Component, random: Random) -> str | None:
    """A phrase that names one component and no other, with what is copied marked; None if none does."""
    everything = list(page.walk())
    same = [each for each in everything if each.kind == component.kind]
    noun = random.choice(NOUNS.get(component.kind, (component.kind,)))
    label = says(component)
    forms: list[str] = []
    if len(same) == 1 and component.kind not in _CHILDREN:
        forms += [f"the {noun}"] * 4
    texts = Counter(says(each).casefold() for each in everything if each.kind != "page")
    of_kind = Counter(says(each).casefold() for each in same)
    if label and texts[label.casefold()] == 1:
        shown = label.lower() if random.random() < 0.4 else label
        forms += [copied(shown)] * 3 + [f'"{copied(label)}"']
    if label and of_kind[label.casefold()] == 1 and component.kind not in _CHILDREN:
        forms += [f"the {noun} {copied(label)}", f"the {copied(label)} {noun}", f"{noun} {copied(label)}"] * 2
    forms += _by_position(page, component, same, noun)
    return random.choice(forms) if forms else None


def _by_position(page: Component, component: Component, same: list[Component], noun: str) -> list[str]:
    inside = component.kind in _CHILDREN
    holder = holder_of(page, component)
    group = list(holder.children) if inside and holder.kind in ("list", "table") else same
    holders = {holder_of(page, each).id for each in page.walk() if each.kind in _CHILDREN}
    if len(group) < 2 or (inside and (len(holders) > 1 or len({each.kind for each in group}) > 1)):
        return []
    index = next(i for i, each in enumerate(group) if each is component)
    forms = [f"number {index + 1}", f"{noun} {index + 1}", f"{noun} number {index + 1}"] if inside else []
    if index < len(ORDINALS):
        forms += [f"the {ORDINALS[index]} {noun}"] * 3 + [
            f"the {ORDINALS[index]}",
            f"the {ORDINALS[index]} one",
        ] * inside
    if index == len(group) - 1:
        forms += [f"the last {noun}"] * 2 + ["the last", "the last one", "the bottom one"] * inside
    if index == len(group) - 2 and inside:
        forms += [f"the second to last {noun}"]
    return forms
