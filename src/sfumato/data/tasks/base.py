"""Items, tasks, and the split of a task's items into train and test.

A task is a generator without end and a checker. The split is a property of the problem, not of a file: a hash
of what is asked decides it, so every stream, on any machine and with any seed, agrees on what was held out.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from sfumato.data.kinds import PromptKind
from sfumato.errors import ConfigError, unknown

Split = Literal["train", "test"]

TEST_SHARE = 0.05
# At a test share of 5%, 2,000 draws all miss the test split with probability 3e-45: such a task has none.
_MAX_DRAWS = 2_000
_INSTRUCTION = re.compile(r"[a-z][a-z ,]*:")
# An expression alone, with or without what turns it into a question.
_EXPRESSION = re.compile(r"(?:What is )?([-+*/()\d ]+?) ?[=?]?")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One problem with its gold response."""

    prompt: str
    """What the user asks; no chat template."""
    response: str
    """The gold text. Where several texts are right it is one of them; `Task.check` accepts all."""
    answer: str | None = None
    """The final answer alone, for tasks whose response has an answer line."""
    meta: dict[str, Any] = field(default_factory=dict)
    """What the checker or an analysis needs besides the texts; never shown to a model."""


class Task(ABC):
    """A generator of items and the judge of responses to them."""

    name: str
    """The name that `find_task` knows it by."""
    kind: PromptKind | None = None
    """How its prompts are recognised and shown; None for a task of prompts that nothing tells apart."""
    fixed: ClassVar[bool] = False
    """True if train = test by nature, as for the recall of one text."""

    @abstractmethod
    def generate(self, seed: int) -> Item:
        """The item of a seed: the same seed gives the same item, on any machine."""

    @abstractmethod
    def check(self, item: Item, response: str) -> bool:
        """True if the text is a right response to the item, whether or not it is the gold one."""

    def parts(self, item: Item, response: str) -> list[tuple[int, bool]]:
        """Stretches of a response that are right or wrong by themselves: where each ends, and whether it is right.

        For a task that judges nothing but the whole, that is one.
        """
        return [(len(response), self.check(item, response))]

    def answer(self, response: str) -> str | None:
        """The answer that a text states on its answer line; None without one, or for a task that has none."""
        return None

    def answer_last(self, item: Item) -> Item | None:
        """The same problem asked for its answer after the derivation; None for a task without that form."""
        return None


def problem_key(prompt: str) -> str:
    """What a prompt asks, less the instruction and the order of its words.

    Prompts with one key pose the same problem: an expression asked answer first or last, alone, or with spaces in it;
    countdown numbers in any order. Prompts that merely share their words fall together too; that costs nothing.

    Args:
        prompt: an item's prompt; an instruction is lower-case words up to a first colon.

    Returns:
        The words after the instruction, sorted, joined with one space.
    """
    match = _INSTRUCTION.match(prompt)
    asked = prompt[match.end() if match else 0 :].strip()
    if expression := _EXPRESSION.fullmatch(asked):
        return expression[1].replace(" ", "")
    return " ".join(sorted(asked.split()))


def split_of(prompt: str) -> Split:
    """The split that a prompt's problem belongs to: a hash of `problem_key` sends 5% of problems to test."""
    digest = hashlib.sha256(problem_key(prompt).encode()).digest()
    return "test" if int.from_bytes(digest[:8], "big") < TEST_SHARE * 2**64 else "train"


def sub_seed(*parts: int | str) -> int:
    """A seed below 2^64, the same for the same parts, on any machine."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big")


def draw(task: Task, split: Split, seed: int) -> Item:
    """The item that a stream of the task's split holds at one seed.

    Args:
        task: the task to draw from.
        split: "train" or "test"; a fixed task has the same item in both.
        seed: any integer; consecutive ones give unrelated items. Two seeds may give one item.

    Returns:
        An item of the split; the same for the same arguments.

    Raises:
        ConfigError: if the split is unknown, or the task shows no item of it.
    """
    if split not in get_args(Split):
        raise ConfigError(unknown("split", str(split), get_args(Split)))
    for attempt in range(_MAX_DRAWS):
        item = task.generate(sub_seed(task.name, split, seed, attempt))
        if task.fixed or split_of(item.prompt) == split:
            return item
    raise ConfigError(f"task {task.name!r} gave no item of split {split!r} in {_MAX_DRAWS} draws")


def stream(task: Task, split: Split, seed: int) -> Iterator[Item]:
    """An endless stream of the task's items, with the repetitions that chance brings; see `draw`."""
    index = 0
    while True:
        yield draw(task, split, sub_seed("stream", seed, index))
        index += 1


def items(task: Task, split: Split, seed: int, count: int) -> list[Item]:
    """Distinct problems of one split, for an evaluation.

    Returns:
        `count` items, no two with one `problem_key`; from a fixed task what it has, and no more than `count`.

    Raises:
        ConfigError: if count is negative, the split is unknown, or the task has too few distinct items.
    """
    if count < 0:
        raise ConfigError(f"count is {count}; allowed: 0 or more")
    found: dict[str, Item] = {}
    misses = 0
    for item in stream(task, split, seed):
        if len(found) == count:
            break
        key = problem_key(item.prompt)
        misses = misses + 1 if key in found else 0
        found.setdefault(key, item)
        if task.fixed and misses:
            break
        if misses == _MAX_DRAWS:
            raise ConfigError(
                f"task {task.name!r} has about {len(found)} distinct items in split {split!r}; "
                f"{count} were asked for, ask for fewer"
            )
    return list(found.values())
