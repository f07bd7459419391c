"""What people call the components of a screen: by text, kind and position."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from random import Random

from sfumato.data.apps.screens import COLORS, ORDINALS
from sfumato.data.apps.speech import copied, texts
from sfumato.ui import Component
from sfumato.ui.tree import visible

ENTRIES = ("checkbox", "item", "record")
_TERSE_SHARE = 0.15
"""Share of references without an article: "delete button", "title blue"."""


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
    if len(same) == 1 and component.kind not in ENTRIES:
        forms += [f"the {noun}"] * 4
    labels = Counter(says(each).casefold() for each in everything if each.kind != "page")
    of_kind = Counter(says(each).casefold() for each in same)
    if label and labels[label.casefold()] == 1:
        shown = label.lower() if random.random() < 0.4 else label
        forms += [copied(shown)] * 3 + [f'"{copied(label)}"']
    if label and of_kind[label.casefold()] == 1 and component.kind not in ENTRIES:
        forms += [f"the {noun} {copied(label)}", f"the {copied(label)} {noun}", f"{noun} {copied(label)}"] * 2
    forms += _by_position(page, component, same, noun)
    forms += _by_word(everything, component, noun, random)
    if not forms:
        return None
    phrase = random.choice(forms)
    return phrase.removeprefix("the ") if random.random() < _TERSE_SHARE else phrase


def refer_to_cells(page: Component, random: Random) -> list[tuple[str, str]]:
    """Phrases for the records of a table by a cell that only one column has, each with what names them in a program."""
    columns: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for table in page.walk():
        for record in table.children if table.kind == "table" else ():
            for index, cell in enumerate(record.cells):
                columns[cell].add((table.id, index))
    forms = ("the {0} {1}", "{1} with {0}", "the {1} with {0}", "whatever is {0}", "{0}")
    found = []
    for cell, ((holder, index), *others) in columns.items():
        if index and not others and cell != "-":
            form, noun = random.choice(forms), random.choice(("rows", "lines", "entries"))
            found.append((form.format(copied(cell), noun), f"{holder}[{cell}]"))
    return found


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
    if component.kind in ENTRIES:
        return [f"the {word}", f"the {word}", f"the {word} one", f"the one with {word}", f"the {word} {noun}"]
    return [f"the {word} {noun}", f"the {noun} with {word}"]


@cache
def _said() -> frozenset[str]:
    """Words that mean something by themselves, so that they do not tell a component by its text."""
    kinds_said = [name for names in (*texts()["nouns"].values(), *texts()["parts"].values()) for name in names]
    phrases = [phrase for phrases in texts()["phrases"].values() for phrase in phrases]
    small = "and for from the this that with two three some one every all last again today"
    return frozenset(" ".join([*kinds_said, *phrases, *COLORS, *ORDINALS, small]).split())


def _by_position(page: Component, component: Component, same: list[Component], noun: str) -> list[str]:
    inside = component.kind in ENTRIES
    holder = holder_of(page, component)
    # People count what they see.
    group = visible(holder.children if inside and holder.kind in ("list", "table") else same)
    if component.get("hidden"):
        return []
    holders = {holder_of(page, each).id for each in page.walk() if each.kind in ENTRIES}
    if len(group) < 2 or (inside and (len(holders) > 1 or len({each.kind for each in group}) > 1)):
        return []
    index = next(i for i, each in enumerate(group) if each is component)
    forms = [f"number {index + 1}", f"{noun} {index + 1}", f"{noun} number {index + 1}"] if inside else []
    if index < len(ORDINALS):
        ordinal = ORDINALS[index]
        forms += [f"the {ordinal} {noun}"] * 3 + [f"the {ordinal}", f"the {ordinal} one"] * inside
    if index == len(group) - 1:
        forms += [f"the last {noun}"] * 2 + ["the last", "the last one", "the bottom one"] * inside
    if index == len(group) - 2 and inside:
        forms += [f"the second to last {noun}"]
    return forms
