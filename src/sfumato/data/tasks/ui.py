"""User interface tasks: a sentence to a screen, and a command about a screen to a program that changes it.

`ui_screen` and `ui_edit` have three variants each for evaluation, with something held out: wordings, five domains, and
combinations such as a table in dark mode or a coloured badge. Training uses the other tasks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import resources
from random import Random
from typing import Literal, TypeVar, get_args

from sfumato.data.apps.commands import (
    Command,
    draw_command,
    draw_commands,
    draw_filtered_command,
    draw_missing_command,
    draw_references,
)
from sfumato.data.apps.examples import draw_edit_example, draw_screen_example
from sfumato.data.apps.screens import Screen as DrawnScreen
from sfumato.data.apps.screens import draw_screen
from sfumato.data.apps.speech import distort
from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task
from sfumato.errors import RequestError
from sfumato.ui import Component, execute, is_refusal, parse, to_text

Unseen = Literal["", "wordings", "domains", "combinations"]
Drawn = TypeVar("Drawn", Command, DrawnScreen)
MARK = "\n> "
"""Separates a screen from the command about it; the screen comes first, so it can be read before the command is
known."""


def _outline(component: Component, choices: frozenset[str]) -> object:
    """A tree for comparison: without ids; freely chosen texts are equal, in any order."""
    children = [_outline(child, choices) for child in component.children]
    free = component.kind in ("item", "checkbox", "record") and (component.text or component.cells[0]) in choices
    if choices and component.kind in ("list", "table"):
        children.sort(key=repr)
    text, cells = ("", component.cells[1:]) if free else (component.text, component.cells)
    return component.kind, component.words, text, cells, children


class _Interface(Task):
    """A task variant whose items hold something unseen."""

    kind: PromptKind

    def __init__(self, unseen: Unseen = "", *, suffix: str = "") -> None:
        self.unseen = unseen
        self.name = "_".join(filter(None, (self.kind.name, suffix, unseen)))

    def _draw(self, draw: Callable[..., Drawn], random: Random, **more: bool) -> Drawn:
        """Draw until a held-out combination is present, or absent, as required."""
        unseen_combination = self.unseen == "combinations"
        while True:
            drawn = draw(
                random, unseen_wording=self.unseen == "wordings", unseen_domain=self.unseen == "domains", **more
            )
            if drawn.combination == unseen_combination:
                return drawn


class Screen(_Interface):
    """Write the screen that a sentence asks for."""

    kind = PromptKind(
        name="ui_screen",
        description="Writes the screen that a sentence asks for.",
        example="screen: a to-do list about moving house with ten items, four done",
        pattern=r"screen: .+",
    )

    def generate(self, seed: int) -> Item:
        """A sentence with its screen."""
        random = Random(seed)
        screen = self._draw(draw_screen, random)
        return Item(
            prompt=f"screen: {distort(screen.sentence, random)}",
            response="\n".join(screen.lines),
            meta={"choices": screen.choices},
        )

    def check(self, item: Item, response: str) -> bool:
        """True for the same tree; where the sentence leaves items open, for the same number of others from the
        domain."""
        if is_refusal(item.response) or is_refusal(response):
            return response == item.response
        try:
            page = parse(response)
        except RequestError:
            return False
        choices = frozenset(item.meta["choices"])
        texts = [each.text or each.cells[0] for each in page.walk() if each.kind in ("item", "checkbox", "record")]
        if choices and len(set(texts)) < len(texts):
            return False
        return _outline(page, choices) == _outline(parse(item.response), choices)


class Edit(_Interface):
    """Write the program for a command about a screen.

    Args:
        draw: draws the commands of a variant for training.
    """

    kind = PromptKind(
        name="ui_edit",
        description="Changes a screen as a sentence says: writes the program that does it.",
        example="a page\n b header: Moving house\n c list\n  d checkbox: Pack the books\n> tick off the first one",
        pattern=r"a page.*\n> [^\n]+",
    )

    def __init__(
        self, unseen: Unseen = "", *, suffix: str = "", draw: Callable[[Random], Command] | None = None
    ) -> None:
        super().__init__(unseen, suffix=suffix)
        self._draw_command = draw or self._draw_seen

    def generate(self, seed: int) -> Item:
        """A screen with a command about it."""
        random = Random(seed)
        command = self._draw_command(random)
        return Item(
            prompt=to_text(command.page) + MARK + distort(command.sentence, random),
            response=command.program,
            meta={"intent": command.intent},
        )

    def _draw_seen(self, random: Random) -> Command:
        return self._draw(draw_command, random, unseen_intent=self.unseen == "combinations")

    def check(self, item: Item, response: str) -> bool:
        """True for a program that makes the same tree, ignoring ids; a refusal must give the same reason."""
        if is_refusal(item.response) or is_refusal(response):
            return response == item.response
        page = parse(item.prompt.rpartition(MARK)[0])
        try:
            result = execute(page, response)
        except RequestError:
            return False
        return to_text(result, ids=False) == to_text(execute(page, item.response), ids=False)


class ScreenExamples(Screen):
    """Screens that were written one by one, varied; for training."""

    def generate(self, seed: int) -> Item:
        """A variation of an example."""
        random = Random(seed)
        example = draw_screen_example(random)
        return Item(
            prompt=f"screen: {distort(example.sentence, random)}", response=example.response, meta={"choices": ()}
        )


class EditExamples(Edit):
    """Commands that were written one by one, varied; for training."""

    def generate(self, seed: int) -> Item:
        """A variation of an example."""
        random = Random(seed)
        example = draw_edit_example(random)
        return Item(prompt=example.page + MARK + distort(example.sentence, random), response=example.response)


class Find(Task):
    """Name the components that some phrases refer to.

    For training: which component is meant is what a model learns last, as it is one token in a hundred of `Edit`, and
    one in four here.
    """

    kind = PromptKind(
        name="ui_find",
        description="Finds components of a screen by what people call them, and gives their ids.",
        example="a page\n b header: Moving house\n c list\n  d checkbox: Pack the books\n? pack the books, the list",
        pattern=r"a page.*\n\? [^\n]+",
    )
    name = kind.name

    def generate(self, seed: int) -> Item:
        """A screen with phrases, and each phrase with an id."""
        page, references = draw_references(Random(seed))
        return Item(
            prompt=f"{to_text(page)}\n? {', '.join(phrase for phrase, _ in references)}",
            response="\n".join(f"{phrase} {slot}" for phrase, slot in references),
        )

    def check(self, item: Item, response: str) -> bool:
        """True for the same phrases with the same ids."""
        return response == item.response


class Written(Task):
    """Items written without knowledge of the generator, and checked as another task's."""

    fixed = True

    def __init__(self, task: _Interface) -> None:
        self._task = task
        self.name, self.kind = f"{task.name}_written", task.kind

    @cached_property
    def _items(self) -> list[Item]:
        lines = resources.files("sfumato.data.apps").joinpath("written.jsonl").read_text("utf-8").splitlines()
        found = [Item(**json.loads(line), meta={"choices": ()}) for line in lines]
        return [item for item in found if self._task.kind.matches(item.prompt)]

    def generate(self, seed: int) -> Item:
        """One of the items."""
        return self._items[seed % len(self._items)]

    def check(self, item: Item, response: str) -> bool:
        """As the other task does."""
        return self._task.check(item, response)


def ui_tasks() -> Iterator[Task]:
    """All tasks, with the held-out variants of screens and edits."""
    yield Edit(suffix="several", draw=draw_commands)
    yield Edit(suffix="filtered", draw=draw_filtered_command)
    yield Edit(suffix="missing", draw=draw_missing_command)
    yield ScreenExamples(suffix="examples")
    yield EditExamples(suffix="examples")
    yield Find()
    for unseen in get_args(Unseen):
        yield Screen(unseen)
        yield Edit(unseen)
    yield Written(Screen())
    yield Written(Edit())
