"""The simple intents of commands: programs with the components that they apply to."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.data.apps.references import ENTRIES
from sfumato.ui import Component
from sfumato.ui.tree import kinds

Condition = Callable[[Component], bool]


def is_kind(*names: str) -> Condition:
    return lambda component: component.kind in names


def takes(name: str) -> Condition:
    return lambda component: name in kinds()[component.kind].properties


def has(name: str) -> Condition:
    return lambda component: component.get(name) is not None


def is_ticked(component: Component) -> bool:
    return component.kind == "checkbox" and component.get("on") is not None


def is_open(component: Component) -> bool:
    return component.kind == "checkbox" and not is_ticked(component)


def is_checklist(component: Component) -> bool:
    return component.kind == "list" and all(child.kind == "checkbox" for child in component.children)


ON_ONE: dict[str, tuple[str, Condition]] = {
    "delete": ("del {}", lambda component: component.kind not in ("row", "column", "tabs")),
    "check": ("set {} on", is_open),
    "uncheck": ("clear {} on", is_ticked),
    "uncolor": ("clear {} color", has("color")),
    "hide": ("set {} hidden", lambda component: not component.get("hidden") and component.kind != "tab"),
    "show": ("clear {} hidden", has("hidden")),
    "mark": ("set {} marked", takes("marked")),
    "unmark": ("clear {} marked", has("marked")),
    "disable": ("set {} disabled", takes("disabled")),
    "enable": ("clear {} disabled", has("disabled")),
    "require": ("set {} required", takes("required")),
    "unrequire": ("clear {} required", has("required")),
    "bold": ("set {} bold", takes("bold")),
    "unbold": ("clear {} bold", has("bold")),
    "unsize": ("clear {} size", has("size")),
    "unalign": ("clear {} align", has("align")),
    "bars": ("clear {} type", lambda component: component.kind == "chart" and component.get("type") is not None),
    "copy": ("copy {}", is_kind("checkbox", "item", "record", "button", "card", "input")),
}
"""Intents about one component: their programs, and the kinds they apply to."""
ON_TWO = {
    "delete_two": ("del {},{}", is_kind(*ENTRIES)),
    "check_two": ("set {},{} on", is_open),
    "swap": ("swap {} {}", is_kind(*ENTRIES, "button", "card", "tab", "input")),
}
"""Intents about two components of one kind."""
ON_HOLDER = {
    "delete_all": ("del {}*", is_kind("list", "table")),
    "show_all": ("clear {}* hidden", is_kind("list", "table")),
    "check_all": ("set {}* on", is_checklist),
    "uncheck_all": ("clear {}* on", is_checklist),
    "number": ("set {} numbered", is_kind("list")),
    "unnumber": ("clear {} numbered", is_kind("list")),
}
"""Intents about the only list or table."""
ON_STATE = {
    "delete_state": "del {}",
    "hide_state": "set {} hidden",
    "only_state": "only {}",
    "mark_state": "set {} marked",
}
"""Intents about all ticked or marked entries, or all others."""
ON_CELL = {"only_cell": "only {}", "delete_cell": "del {}", "mark_cell": "set {} marked"}
"""Intents about the records with some cell."""
ON_FLAG = {"only_flag": "only {}", "delete_flag": "del {}"}
"""Intents about the records of which something holds, or not: "those who have paid"."""
ON_TASK: dict[str, tuple[str, Condition]] = {
    "check_did": ("set {} on", is_open),
    "uncheck_did": ("clear {} on", is_ticked),
}
"""Intents that say that a task was done, or was not: "I called the landlord", "the tickets are booked"."""
