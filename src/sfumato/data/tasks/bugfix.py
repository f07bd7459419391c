"""Bug fixing: short functions with one wrong line, and the correct functions.

A function's name, or the comment above it, states its purpose, so that the code itself reveals the bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from random import Random

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task


@dataclass(frozen=True)
class _Family:
    names: list[str]
    """Possible names of the function, which state its intent."""
    code: list[str]
    """The lines of the correct function."""
    bugs: list[tuple[int, str]]
    """Line numbers from 0, each with a wrong line to put there."""


@cache
def _families() -> list[_Family]:
    text = resources.files(__package__).joinpath("bugs.txt").read_text("utf-8")
    found = []
    for paragraph in text.rstrip("\n").split("\n\n")[1:]:
        names, *lines = paragraph.split("\n")
        code, bugs = [], []
        for number, line in enumerate(lines):
            right, *wrong = line.split("  # ")
            indent = right[: len(right) - len(right.lstrip())]
            code.append(right)
            bugs += [(number, indent + bug) for bug in wrong]
        found.append(_Family(names.split(), code, bugs))
    return found


_SCALARS = (("a", "b", "c"), ("x", "y", "z"), ("p", "q", "r"), ("u", "v", "w"), ("left", "right", "depth"))
_LISTS = ("xs", "values", "nums", "data", "row")
_ELEMENTS = ("x", "v", "item", "e")
_RESULTS = ("t", "out", "acc", "result")
_NONDESCRIPT = ("f", "g", "func", "run", "calc")
_COMMENTED_SHARE = 0.3


class Bugfix(Task):
    """Rewrite a function without its one bug."""

    name = "bugfix"
    kind = PromptKind(
        name=name,
        description="Writes a short Python function again, without its one bug.",
        example="fix the bug:\ndef area(a, b):\n    return a + b",
        pattern=r"fix the bug:\n.+",
        instruction="fix the bug:",
    )

    def generate(self, seed: int) -> Item:
        """A function of a random family, with random names and constants and one of the family's bugs."""
        random = Random(seed)
        family = random.choice(_families())
        k = random.randint(2, 12)
        a, b, c = random.choice(_SCALARS)
        intent = random.choice(family.names).format(k=k)
        commented = random.random() < _COMMENTED_SHARE
        names = {
            "f": random.choice(_NONDESCRIPT) if commented else intent,
            "k": k,
            "j": k + random.choice((-1, 1)),
            "a": a,
            "b": b,
            "c": c,
            "xs": random.choice(_LISTS),
            "x": random.choice(_ELEMENTS),
            "t": random.choice(_RESULTS),
        }
        fixed = [line.format(**names) for line in family.code]
        line, bug = random.choice(family.bugs)
        buggy = list(fixed)
        buggy[line] = bug.format(**names)
        if commented:
            comment = f"# {intent.replace('_', ' ')}"
            fixed.insert(0, comment)
            buggy.insert(0, comment)
            line += 1
        code = "\n".join(buggy)
        return Item(
            prompt=f"fix the bug:\n{code}", response="\n".join(fixed), meta={"line": line, "family": family.names[0]}
        )

    def check(self, item: Item, response: str) -> bool:
        """True if the text is exactly the correct function, ignoring trailing whitespace."""
        return response.rstrip() == item.response.rstrip()
