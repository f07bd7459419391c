"""Regular expressions for the texts of all pages, and for the programs that fit one page.

A model constrained by them writes nothing that cannot be shown or executed. Pages are regular because their depth and
table columns are bounded. Programs are regular if at most the last line deletes, moves, copies or changes columns: then
no line removes what a later one may name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from sfumato.ui.edits import REFUSALS
from sfumato.ui.tree import MAX_DEPTH, Component, Kind, kinds, schema

_PERCENT = r"(?:100|[1-9]?[0-9])"


def _string(name: str) -> str:
    pattern: str = schema()["$defs"][name]["pattern"]
    return pattern.removeprefix("^").removesuffix("$")


def _any_of(texts: Iterable[str]) -> str:
    return f"(?:{'|'.join(dict.fromkeys(texts))})"


def _literals(texts: Iterable[str]) -> str:
    return _any_of(re.escape(text) for text in texts)


def _words(kind: Kind) -> list[str]:
    return [_PERCENT if word == "#" else word for word in kind.words]


def _head(kind: Kind) -> str:
    optional = ""
    for name in kind.properties:
        values = [_PERCENT if word == "#" else word for word, of in kind.words.items() if of == name]
        optional += f"(?: {_any_of(values)})?"
    return kind.name + optional


def _line(kind: Kind, num_cells: int | None = None) -> str:
    """A line of some kind without id and indentation; for tables and records, with a number of cells."""
    if num_cells is not None:
        return f"{_head(kind)}: {' [|] '.join([_string('cell')] * num_cells)}"
    low, high = kind.cells
    cells = f"(?: [|] {_string('cell')}){{{low},{high}}}" if high else ""
    body = f": {_string('label')}{cells}" if kind.has_text else ""
    return _head(kind) + (body if kind.needs_text or not body else f"(?:{body})?")


def _tree(name: str, depth: int) -> str:
    """A component of some kind with its children, indented; inside a page it starts with a line end."""
    kind, start = kinds()[name], ("\n" if depth else "") + " " * depth
    if name == "table":
        rows = f"(?:\n{' ' * (depth + 1)}{{}})*" if depth < MAX_DEPTH else ""
        low, high = kind.cells
        return _any_of(
            start + _line(kind, count) + rows.replace("{}", _line(kinds()["record"], count))
            for count in range(low, high + 1)
        )
    inner = (
        f"{_any_of(_tree(child, depth + 1) for child in sorted(kind.children))}*"
        if kind.children and depth < MAX_DEPTH
        else ""
    )
    return start + _line(kind) + inner


def screen_regex() -> str:
    """Matches every page written without slot ids, and `refuse:` with a reason; nothing else.

    It also matches more than `tree.MAX_SLOTS` lines.
    """
    return f"{_tree('page', 0)}|refuse: {_literals(REFUSALS)}"


def edit_regex(page: Component) -> str:
    """Matches programs that fit a page: its slots, their properties, its tables' columns and cells.

    Each can be executed unless its lines add more slots than there are ids. Programs that name what an earlier line has
    made, moved or removed do not match.
    """
    slots = list(page.walk())
    safe, last = _safe_operations(page, slots), _last_operations(page, slots)
    steps, end = _any_of(safe), _any_of([*safe, *last])
    return f"(?:{steps}\n)*{end}|refuse: {_literals(REFUSALS)}"


def _targets(slots: list[Component]) -> dict[str, list[Component]]:
    """Each target that selects children of one slot by a condition, with those it selects now."""
    found: dict[str, list[Component]] = {}
    for holder in slots:
        children = holder.children
        if not children:
            continue
        found[f"{holder.id}*"] = list(children)
        for name in ("on", "marked", "hidden", "disabled"):
            able = [child for child in children if name in kinds()[child.kind].properties]
            found[f"{holder.id}+{name}"] = [child for child in able if child.get(name)]
            found[f"{holder.id}-{name}"] = [child for child in able if not child.get(name)]
        for index, column in enumerate(holder.cells if holder.kind == "table" else ()):
            for cell in {child.cells[index]: None for child in children}:
                found[f"{holder.id}[{column} | {cell}]"] = [child for child in children if child.cells[index] == cell]
    return {target: chosen for target, chosen in found.items() if chosen}


def _safe_operations(page: Component, slots: list[Component]) -> list[str]:
    by_kind: dict[str, list[str]] = defaultdict(list)
    for component in slots:
        by_kind[component.kind].append(component.id)
    found: list[str] = []
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, ids in by_kind.items():
        one = _literals(ids)
        groups[(name,)].append(f"{one}(?:,{one})*")
    targets = _targets(slots)
    for target in targets:
        # Earlier lines may change which children are selected, so the word must suit all of them.
        holder = next(component for component in slots if component.id == re.split(r"[^a-z]", target)[0])
        groups[tuple(sorted({child.kind for child in holder.children}))].append(re.escape(target))
    for names, forms in groups.items():
        shared = [word for word in _words(kinds()[names[0]]) if all(word in _words(kinds()[name]) for name in names)]
        properties = [
            one for one in kinds()[names[0]].properties if all(one in kinds()[name].properties for name in names)
        ]
        if shared:
            found.append(f"set {_any_of(forms)} {_any_of(shared)}")
            found.append(f"clear {_any_of(forms)} {_any_of(properties)}")
    texts = [component.id for component in slots if kinds()[component.kind].has_text]
    found.append(f"text {_any_of(texts)}: {_string('label')}")
    if targets:
        found.append(f"only {_literals(targets)}")
    for holder in slots:
        if holder.kind == "list" and holder.children:
            able = {
                name for child in holder.children for name in ("on", "marked") if name in kinds()[child.kind].properties
            }
            found.append(f"sort {holder.id} (?:up|down) {_any_of(['name', *sorted(able)])}")
        elif holder.kind == "table":
            found.append(f"sort {holder.id} (?:up|down) {_literals(holder.cells)}")
            if holder.children:
                records = _any_of(child.id for child in holder.children)
                found.append(f"cell {records} {_literals(holder.cells)} [|] {_string('cell')}")
    return [*found, *_additions(slots)]


def _additions(slots: list[Component]) -> list[str]:
    """New components, by position."""
    holders: dict[tuple[str, int | None], list[str]] = defaultdict(list)
    depths = _depths(slots[0])
    for holder in slots:
        if depths[holder.id] == MAX_DEPTH:
            continue
        forms = [f"(?:first|last) {holder.id}", *(f"(?:before|after) {child.id}" for child in holder.children)]
        for name in kinds()[holder.kind].children:
            holders[name, len(holder.cells) if name == "record" else None] += forms
    by_forms: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (name, num_cells), forms in sorted(holders.items(), key=str):
        by_forms[tuple(forms)].append(_any_of(_line(kinds()[name], count) for count in _counts(name, num_cells)))
    return [f"add {_any_of(forms)} {_any_of(lines)}" for forms, lines in by_forms.items()]


def _counts(name: str, num_cells: int | None) -> list[int | None]:
    low, high = kinds()[name].cells
    return [*range(low, high + 1)] if name == "table" else [num_cells]


def _last_operations(page: Component, slots: list[Component]) -> list[str]:
    found: list[str] = []
    below = [component.id for component in slots if component is not page]
    if below:
        one = _literals(below)
        found.append(f"del (?:{one}(?:,{one})*|{_literals(_targets(slots))})")
        found.append(f"copy {one}")
    depths = _depths(page)
    holders: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for component in slots[1:]:
        inside = {each.id for each in component.walk()}
        height = max(depths[slot] for slot in inside) - depths[component.id]
        forms = []
        for holder in slots:
            fits = component.kind in kinds()[holder.kind].children and depths[holder.id] + 1 + height <= MAX_DEPTH
            if component.kind == "record":
                fits = fits and len(holder.cells) == len(component.cells)
            if fits and holder.id not in inside:
                forms += [f"(?:first|last) {holder.id}"]
                forms += [f"(?:before|after) {child.id}" for child in holder.children if child.id not in inside]
        for form in forms:
            holders[(form,)].append(component.id)
    by_movers: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (form,), movers in holders.items():
        by_movers[tuple(movers)].append(form)
    found += [f"move {_any_of(movers)} {_any_of(forms)}" for movers, forms in by_movers.items()]
    for holder in slots:
        ids = [child.id for child in holder.children]
        found += [f"swap {slot} {_any_of(other for other in ids if other != slot)}" for slot in ids if len(ids) > 1]
        if holder.kind != "table":
            continue
        found.append(f"head {holder.id} {_literals(holder.cells)} [|] {_string('cell')}")
        low, high = kinds()["table"].cells
        if len(holder.cells) > low:
            found.append(f"drop {holder.id} {_literals(holder.cells)}")
        if len(holder.cells) < high:
            found.append(f"column {holder.id} {_string('cell')} [|] {_string('cell')}")
    return found


def _depths(page: Component) -> dict[str, int]:
    found: dict[str, int] = {}
    level, depth = [page], 0
    while level:
        found |= {component.id: depth for component in level}
        level, depth = [child for component in level for child in component.children], depth + 1
    return found
