"""Procedural tasks by name."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.config import import_class
from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.arithmetic import Arithmetic, Plain, Sums
from sfumato.data.tasks.base import TEST_SHARE, Item, Split, Task, draw, items, problem_key, split_of, stream
from sfumato.data.tasks.bugfix import Bugfix
from sfumato.data.tasks.countdown import Countdown
from sfumato.data.tasks.gym import PREFIX, Gym
from sfumato.data.tasks.middle import Middle
from sfumato.data.tasks.recall import FIZZBUZZ, PI
from sfumato.data.tasks.records import Field, Json, Pets
from sfumato.data.tasks.sudoku import Sudoku4, Sudoku9
from sfumato.data.tasks.ui import ui_tasks
from sfumato.errors import ConfigError, unknown

__all__ = [
    "TASKS",
    "TEST_SHARE",
    "Arithmetic",
    "Item",
    "Split",
    "Task",
    "draw",
    "find_task",
    "items",
    "kinds_of",
    "problem_key",
    "split_of",
    "stream",
]

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Arithmetic(answer_first=True),
        Arithmetic(answer_first=False),
        Arithmetic(answer_first=True, scaled=False),
        Arithmetic(answer_first=False, scaled=False),
        Plain(),
        Sums(),
        Sudoku4(),
        Sudoku9(),
        Countdown(),
        PI,
        FIZZBUZZ,
        Bugfix(),
        Middle(),
        Json(),
        Pets(),
        Field(),
        *ui_tasks(),
    )
}
"""All of our own tasks, by name."""


def kinds_of(names: Iterable[str]) -> list[PromptKind]:
    """The kinds of prompts of some tasks; empty if a task's prompts cannot be recognised."""
    kinds = dict.fromkeys(find_task(name).kind for name in names)
    return [] if None in kinds else [kind for kind in kinds if kind is not None]


def find_task(name: str) -> Task:
    """Find a task by name.

    Args:
        name: a key of `TASKS`, "gym:" and the name of a reasoning-gym generator, or "package.module:Class", a subclass
            of `Task` that is imported.

    Raises:
        ConfigError: if there is no such task, or reasoning-gym is needed but not installed.
    """
    if name.startswith(PREFIX):
        return Gym(name.removeprefix(PREFIX))
    if name in TASKS:
        return TASKS[name]
    if ":" in name:
        found = import_class(name, Task, ConfigError)  # type: ignore[type-abstract]
        if not isinstance(getattr(found, "name", None), str):
            raise ConfigError(f"task {name!r} has no name; allowed: a class with a text as its `name`")
        return found()
    raise ConfigError(unknown("task", name, [*TASKS, f"{PREFIX}<name>", "package.module:Class"]))
