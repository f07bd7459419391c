"""Texts to recite: how few steps a canvas needs when nothing has to be computed."""

from __future__ import annotations

import re
from typing import ClassVar

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task

_FIZZBUZZ = """\
for i in range(1, 101):
    if i % 15 == 0:
        print("FizzBuzz")
    elif i % 3 == 0:
        print("Fizz")
    elif i % 5 == 0:
        print("Buzz")
    else:
        print(i)"""


_PI = "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067"


class Recall(Task):
    """One prompt, one text.

    Args:
        prompt: asks for the text.
        text: compared without surrounding whitespace.
    """

    fixed: ClassVar[bool] = True

    def __init__(self, name: str, prompt: str, text: str) -> None:
        self.name = name
        self.kind = PromptKind(
            name=name, description="Recites a text that it knows by heart.", example=prompt, pattern=re.escape(prompt)
        )
        self._item = Item(prompt=prompt, response=text)

    def generate(self, seed: int) -> Item:
        """The one item, whatever the seed."""
        return self._item

    def check(self, item: Item, response: str) -> bool:
        """True for the gold text, ignoring surrounding whitespace."""
        return response.strip() == item.response.strip()


PI = Recall("pi", "first 100 digits of pi", _PI)
FIZZBUZZ = Recall("fizzbuzz", "fizzbuzz in python", _FIZZBUZZ)
