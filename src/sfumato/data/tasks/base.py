"""Items, tasks, and the train/test split of a task's items.

A task is an endless generator and a checker. The split is a property of the problem, not of a file: a hash of the
question decides it, so every stream, on any machine and with any seed, holds out the same problems.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from sfumato.config import check_choice
from sfumato.data.kinds import PromptKind
from sfumato.errors import ConfigError, SfumatoError

Split = Literal["train", "test"]

TEST_SHARE = 0.05
# At a test share of 5%, 2,000 draws all miss the test split with probability 3e-45: such a task has none.
_MAX_DRAWS = 2_000
_INSTRUCTION = re.compile(r"[a-z][a-z ,]*:")
# A bare expression, with or without words that make it a question.
_EXPRESSION = re.compile(r"(?:What is )?([-+*/()\d ]+?) ?[=?]?")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One problem with its gold response."""

    prompt: str
    """The user's question, without a chat template."""
    response: str
    """The gold text; if several texts are correct, one of them. `Task.check` accepts all."""
    answer: str | None = None
    """The final answer alone, for tasks whose response has an answer line."""
    meta: dict[str, Any] = field(default_factory=dict)
    """Further data for the checker or for analysis; never shown to a model."""


class Task(ABC):
    """A generator of items, and the judge of responses to them."""

    name: str
    """Name for `find_task`."""
    kind: PromptKind | None = None
    """How its prompts are recognised and described; None if they cannot be recognised."""
    fixed: ClassVar[bool] = False
    """True if train and test are the same by nature, as for reciting one text."""

    @abstractmethod
    def generate(self, seed: int) -> Item:
        """The item of a seed: the same on any machine."""

    @abstractmethod
    def check(self, item: Item, response: str) -> bool:
        """True if a text is a correct response to the item, gold or not."""

    def parts(self, item: Item, response: str) -> list[bool]:
        """Whether each part of a response that is judged separately is correct; by default there is one part."""
        return [self.check(item, response)]

    def answer(self, response: str) -> str | None:
        """The answer stated on a text's answer line; None without one."""
        return None

    def answer_last(self, item: Item) -> Item | None:
        """The same problem with the answer after the derivation; None for a task without that form."""
        return None


def problem_key(prompt: str) -> str:
    """The question in a prompt, ignoring the instruction and word order.

    Prompts with the same key pose the same problem: an expression asked answer first or last, alone, or with spaces;
    countdown numbers in any order. Prompts that merely share their words also collide, which costs nothing.

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
    """The split of a prompt's problem: a hash of `problem_key` sends 5% of problems to test."""
    return "test" if sub_seed(problem_key(prompt)) < TEST_SHARE * 2**64 else "train"


def sub_seed(*parts: int | str) -> int:
    """A seed below 2^64 derived from the parts, the same on any machine."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big")


def judge(task: Task, item: Item, response: str) -> bool:
    """Whether an answer is right.

    Raises:
        ConfigError: if the task's own check fails.
    """
    try:
        return task.check(item, response)
    except SfumatoError:
        raise
    except Exception as error:
        raise ConfigError(
            f"the check of task {task.name!r} failed on the answer {response!r:.80} to {item.prompt!r:.80}: "
            f"{type(error).__name__}: {error}"
        ) from error


def draw(task: Task, split: Split, seed: int) -> Item:
    """The item at one seed of a task's split.

    Args:
        split: "train" or "test"; a fixed task has the same item in both.
        seed: any integer; consecutive ones give unrelated items. Two seeds may give the same item.

    Returns:
        An item of the split; the same for the same arguments.

    Raises:
        ConfigError: if the split is unknown, or no item of it was drawn.
    """
    check_choice("split", split, get_args(Split), ConfigError)
    for attempt in range(_MAX_DRAWS):
        item = task.generate(sub_seed(task.name, split, seed, attempt))
        if not isinstance(item, Item):
            raise ConfigError(f"task {task.name!r} generates {item!r:.80}; allowed: an Item")
        if task.fixed or split_of(item.prompt) == split:
            return item
    raise ConfigError(f"task {task.name!r} gave no item of split {split!r} in {_MAX_DRAWS} draws")


def stream(task: Task, split: Split, seed: int) -> Iterator[Item]:
    """An endless stream of the task's items, with chance repetitions; see `draw`."""
    index = 0
    while True:
        yield draw(task, split, sub_seed("stream", seed, index))
        index += 1


def items(task: Task, split: Split, seed: int, count: int) -> list[Item]:
    """Distinct problems of one split, for an evaluation.

    Returns:
        `count` items with different `problem_key`; a fixed task gives at most what it has.

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
        if misses == _MAX_DRAWS:
            if task.fixed:
                break
            raise ConfigError(
                f"task {task.name!r} has about {len(found)} distinct items in split {split!r}, fewer "
                f"than the {count} requested; ask for fewer"
            )
    return list(found.values())
