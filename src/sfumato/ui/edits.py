"""Edits of an interface as programs of short lines, each one operation on named slots.

    set d red                   a property; `clear d color` gives it its default back
    text d: Save all            what a slot says
    cell r Price | 12           what a record says under a column, or instead of a cell: `cell r 10 | 12`
    add last c checkbox: Milk   a new component: first or last in a slot, before or after one
    del d,f                     `del c+on`: those in c that are on; `c-on`: that are not
                                `t[open]`: records with such a cell; `t[State | open]`: under that column
                                `c*`: all; `c*2`, `c*-2`: the first two and the last two that are not hidden
    move d first c              swap d e, copy d
    sort c up name              by text, by a property, or a table by a column
    only c-on                   hides all others in c
    column t Priority | low     a new column with a cell for each record; drop t Price, head t Price | Cost
    refuse: not on this screen  changes nothing

A slot that no line names stays the same object, except that moving, hiding or sorting also affects the slot's parent.
New slots get the next free ids.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from sfumato.config import check_choice
from sfumato.errors import RequestError
from sfumato.ui.tree import Component, check_page, kinds, read_line, slot_ids, visible

REFUSALS = ("not on this screen", "a screen cannot do that", "more than one fits")
"""Why a command cannot be carried out: something is not there, not possible, or ambiguous."""
_GROUP = r"[a-z]{1,2}(?:\*(?:-?[1-9])?|[+-][a-z]+|\[.+\])"
_TARGET = rf"[a-z]{{1,2}}(?:,[a-z]{{1,2}})*|{_GROUP}"
Rewrite = Callable[[Component], Iterable[Component]]


def is_refusal(program: str) -> bool:
    """Whether a program is a refusal."""
    return program.removeprefix("refuse: ") in REFUSALS and program.startswith("refuse: ")


def execute(page: Component, program: str) -> Component:
    """Apply a program to a page; a refusal returns the same page.

    Raises:
        RequestError: naming the line that cannot be parsed, or does not fit the page at that point.
    """
    if is_refusal(program):
        return page
    for line in program.split("\n"):
        name, _, rest = line.partition(" ")
        try:
            check_choice("operation", name, OPERATIONS)
            form, operation, example = OPERATIONS[name]
            match = re.fullmatch(form, rest)
            if match is None:
                raise RequestError(f"it is incomplete; allowed, for example: {example}")
            page = check_page(operation(page, *match.groups()))
        except RequestError as error:
            raise RequestError(f"{line!r} does not fit: {error}") from None
    return page


def rewrite(component: Component, changes: Mapping[str, Rewrite]) -> tuple[Component, ...]:
    """A component with some slots replaced by none, one or several; the same object if it contains none of them."""
    children = tuple(itertools.chain.from_iterable(rewrite(child, changes) for child in component.children))
    same = len(children) == len(component.children) and all(map(lambda a, b: a is b, children, component.children))
    result = component if same else replace(component, children=children)
    change = changes.get(component.id)
    return (result,) if change is None else tuple(change(result))


def _apply(page: Component, changes: Mapping[str, Rewrite]) -> Component:
    (result,) = rewrite(page, changes)
    return result


def find(page: Component, slot: str) -> Component:
    """The component of a slot.

    Raises:
        RequestError: if there is none.
    """
    for component in page.walk():
        if component.id == slot:
            return component
    raise RequestError(f"there is no slot {slot!r}; allowed: {', '.join(each.id for each in page.walk())}")


def _find_parent(page: Component, slot: str) -> Component:
    find(page, slot)
    for component in page.walk():
        if any(child.id == slot for child in component.children):
            return component
    raise RequestError("the page itself cannot be moved, copied or deleted; allowed: slots on it")


def _column(table: Component, name: str) -> int:
    if table.kind != "table" or name not in table.cells:
        raise RequestError(
            f"{table.kind} {table.id} has no column {name!r}; allowed: {', '.join(table.cells) or 'a table'}"
        )
    return table.cells.index(name)


def select(page: Component, target: str) -> list[Component]:
    """The components that a target names, in order; a condition may match none."""
    match = re.fullmatch(r"([a-z]{1,2})(?:(\*)(-?)([1-9]?)|([+-])([a-z]+)|\[(?:(.+) \| )?(.+)\])", target)
    if match is None:
        return [find(page, slot) for slot in dict.fromkeys(target.split(","))]
    slot, everything, from_end, number, sign, name, column, cell = match.groups()
    holder = find(page, slot)
    if number:
        shown = visible(holder.children)
        if int(number) > len(shown):
            raise RequestError(f"{holder.kind} {slot} shows no {number}; allowed: up to {len(shown)}")
        return shown[-int(number) :] if from_end else shown[: int(number)]
    if everything:
        return list(holder.children)
    if column:
        index = _column(holder, column)
        return [record for record in holder.children if record.cells[index] == cell]
    if cell:
        if holder.kind != "table":
            raise RequestError(f"{holder.kind} {slot} has no records; allowed: a table")
        return [record for record in holder.children if cell in record.cells]
    able = [child for child in holder.children if name in kinds()[child.kind].properties]
    if not able:
        raise RequestError(f"nothing in {holder.kind} {slot} can be {name!r}; allowed: a property of what is in it")
    return [child for child in able if (child.get(name) is not None) == (sign == "+")]


def _set(page: Component, target: str, word: str) -> Component:
    def change(component: Component) -> list[Component]:
        name = kinds()[component.kind].property_of(word)
        if name is None:
            allowed = ", ".join(kinds()[component.kind].words)
            raise RequestError(f"{component.kind} {component.id} cannot be {word!r}; allowed: {allowed}")
        return [replace(component, words=component.with_word(name, word))]

    return _apply(page, {component.id: change for component in select(page, target)})


def _clear(page: Component, target: str, name: str) -> Component:
    def change(component: Component) -> list[Component]:
        known = kinds()[component.kind].properties
        if name not in known:
            raise RequestError(f"{component.kind} {component.id} has no {name!r}; allowed: {', '.join(known)}")
        return [replace(component, words=component.with_word(name, None))]

    return _apply(page, {component.id: change for component in select(page, target)})


def _text(page: Component, slot: str, text: str) -> Component:
    find(page, slot)
    return _apply(page, {slot: lambda component: [replace(component, text=text)]})


def _cell(page: Component, slot: str, name: str, value: str) -> Component:
    table, cells = _find_parent(page, slot), find(page, slot).cells
    index = _column(table, name) if name in table.cells or cells.count(name) != 1 else cells.index(name)
    return _apply(page, {slot: lambda record: [replace(record, cells=_put(record.cells, index, value))]})


def _put(cells: tuple[str, ...], index: int, *values: str) -> tuple[str, ...]:
    return (*cells[:index], *values, *cells[index + 1 :])


def _place(page: Component, where: str, slot: str, new: Component) -> Component:
    holder = find(page, slot) if where in ("first", "last") else _find_parent(page, slot)
    children = list(holder.children)
    index = next((i for i, child in enumerate(children) if child.id == slot), 0)
    children.insert({"first": 0, "last": len(children), "before": index, "after": index + 1}[where], new)
    return _apply(page, {holder.id: lambda component: [replace(component, children=tuple(children))]})


def _new_ids(page: Component, count: int) -> list[str]:
    known = list(slot_ids())
    start = 1 + max(known.index(component.id) for component in page.walk())
    if start + count > len(known):
        raise RequestError(f"the page has no id left for {count} new slots; allowed: up to {known[-1]!r}")
    return known[start : start + count]


def _add(page: Component, where: str, slot: str, line: str) -> Component:
    _, has_id, new = read_line(line, _new_ids(page, 1)[0])
    if has_id:
        raise RequestError("the new component has an id; allowed: none, it gets one")
    return _place(page, where, slot, new)


def _delete(page: Component, target: str) -> Component:
    slots = [component.id for component in select(page, target)]
    for slot in slots:
        _find_parent(page, slot)
    return _apply(page, dict.fromkeys(slots, lambda component: []))


def _move(page: Component, slot: str, where: str, other: str) -> Component:
    _find_parent(page, slot)
    moved = find(page, slot)
    if any(component.id == other for component in moved.walk()):
        raise RequestError(f"{other} is in {slot} itself; allowed: a slot outside of it")
    find(page, other)
    return _place(_apply(page, {slot: lambda component: []}), where, other, moved)


def _swap(page: Component, one: str, other: str) -> Component:
    first, second = find(page, one), find(page, other)
    if _find_parent(page, one) is not _find_parent(page, other):
        raise RequestError(f"{one} and {other} are not in the same slot; allowed: two side by side")
    return _apply(page, {one: lambda component: [second], other: lambda component: [first]})


def _copy(page: Component, slot: str) -> Component:
    original = find(page, slot)
    ids = iter(_new_ids(page, sum(1 for _ in original.walk())))

    def renamed(component: Component) -> Component:
        new = next(ids)
        return replace(component, id=new, children=tuple(map(renamed, component.children)))

    return _place(page, "after", slot, renamed(original))


def sort_key(text: str) -> tuple[bool, float, str]:
    """Sort key: numbers before texts, by a leading number, otherwise by text without case."""
    match = re.match(r"[^\w-]*(-?\d+(?:\.\d+)?)", text)
    return match is None, float(match[1]) if match else 0.0, text.casefold()


def _sort(page: Component, slot: str, way: str, name: str) -> Component:
    holder = find(page, slot)
    if holder.kind == "table":
        index = _column(holder, name)
        keys = {child.id: sort_key(child.cells[index]) for child in holder.children}
    elif holder.kind != "list":
        raise RequestError(f"{slot} is a {holder.kind}; allowed: a list or a table")
    elif name == "name":
        keys = {child.id: sort_key(child.text) for child in holder.children}
    elif name in ("on", "marked"):
        keys = {child.id: (child.get(name) is not None, 0.0, "") for child in holder.children}
    else:
        raise RequestError(f"a list cannot be sorted by {name!r}; allowed: name, on, marked")
    children = tuple(sorted(holder.children, key=lambda child: keys[child.id], reverse=way == "down"))
    return _apply(page, {slot: lambda component: [replace(component, children=children)]})


def _only(page: Component, target: str) -> Component:
    shown = {component.id for component in select(page, target)}
    slot = re.match("[a-z]+", target)
    assert slot is not None

    def change(component: Component) -> list[Component]:
        word = None if component.id in shown else "hidden"
        return [replace(component, words=component.with_word("hidden", word))]

    return _apply(page, {child.id: change for child in find(page, slot[0]).children})


def _change_cells(page: Component, slot: str, change: Callable[[Component], tuple[str, ...]]) -> Component:
    def rewritten(table: Component) -> list[Component]:
        records = tuple(replace(record, cells=change(record)) for record in table.children)
        return [replace(table, cells=change(table), children=records)]

    return _apply(page, {slot: rewritten})


def _column_add(page: Component, slot: str, name: str, cell: str) -> Component:
    table = find(page, slot)
    if table.kind != "table":
        raise RequestError(f"{slot} is a {table.kind}; allowed: a table")
    return _change_cells(page, slot, lambda part: (*part.cells, name if part.kind == "table" else cell))


def _drop(page: Component, slot: str, name: str) -> Component:
    index = _column(find(page, slot), name)
    return _change_cells(page, slot, lambda part: _put(part.cells, index))


def _head(page: Component, slot: str, name: str, new: str) -> Component:
    index = _column(find(page, slot), name)
    return _apply(page, {slot: lambda part: [replace(part, cells=_put(part.cells, index, new))]})


_ID, _PLACE = "([a-z]{1,2})", "(first|last|before|after)"
OPERATIONS: dict[str, tuple[str, Callable[..., Component], str]] = {
    "set": (rf"({_TARGET}) ([a-z]+|\d+)", _set, "set d red"),
    "clear": (rf"({_TARGET}) ([a-z]+)", _clear, "clear d color"),
    "text": (rf"{_ID}: (.+)", _text, "text d: Save"),
    "cell": (rf"{_ID} (.+) \| (.+)", _cell, "cell r Price | 12"),
    "add": (rf"{_PLACE} {_ID} ([^ ].*)", _add, "add last c checkbox: Milk"),
    "del": (rf"({_TARGET})", _delete, "del d,f"),
    "move": (rf"{_ID} {_PLACE} {_ID}", _move, "move d first c"),
    "swap": (rf"{_ID} {_ID}", _swap, "swap d e"),
    "copy": (_ID, _copy, "copy d"),
    "sort": (rf"{_ID} (up|down) (.+)", _sort, "sort c up name"),
    "only": (f"({_GROUP})", _only, "only c-on"),
    "column": (rf"{_ID} (.+) \| (.+)", _column_add, "column t Priority | low"),
    "drop": (rf"{_ID} (.+)", _drop, "drop t Price"),
    "head": (rf"{_ID} (.+) \| (.+)", _head, "head t Price | Cost"),
}
"""The pattern after each operation's name, its function, and an example."""
