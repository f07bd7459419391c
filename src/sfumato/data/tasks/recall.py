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


def pi_digits(num_digits: int) -> str:
    """The first digits of pi, with the point after the 3.

    Args:
        num_digits: how many, 2 or more, including the 3; truncated, not rounded.

    Returns:
        For example "3.14" for 3.

    Source: Machin 1706, pi = 16 arctan(1/5) - 4 arctan(1/239).
    """
    # Ten guard digits absorb the truncation of each term.
    unit = 10 ** (num_digits + 9)

    def arctan_inverse(n: int) -> int:
        power, total, k = unit // n, 0, 0
        while power:
            total += (-power if k % 2 else power) // (2 * k + 1)
            power //= n * n
            k += 1
        return total

    digits = str((16 * arctan_inverse(5) - 4 * arctan_inverse(239)) // 10**10)
    return f"{digits[0]}.{digits[1:]}"


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


PI = Recall("pi", "first 100 digits of pi", pi_digits(100))
FIZZBUZZ = Recall("fizzbuzz", "fizzbuzz in python", _FIZZBUZZ)
