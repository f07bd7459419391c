"""A list of sums and differences: the running totals of an arithmetic derivation, each on its own.

A derivation states its total twice, so a canvas that shows one copy teaches nothing about adding. Here nothing but the
operands says what a result is.
"""

from __future__ import annotations

from random import Random

from sfumato.data.tasks.base import Item, Task


class Sums(Task):
    """Three to six sums of numbers up to 99 whose results have two digits."""

    name = "sums"

    def generate(self, seed: int) -> Item:
        """Sums drawn with results, operands and signs as in a derivation."""
        random = Random(seed)
        sums: list[str] = []
        lines: list[str] = []
        num_sums = random.randint(3, 6)
        while len(sums) < num_sums:
            total, value, sign = random.randint(1, 99), random.randint(1, 99), random.choice("+-")
            after = total + value if sign == "+" else total - value
            if 10 <= after <= 99:
                sums.append(f"{total}{sign}{value}")
                lines.append(f"{sums[-1]} = {after}")
        return Item(prompt=f"sums: {', '.join(sums)}", response="\n".join(lines))

    def check(self, item: Item, response: str) -> bool:
        """True if every sum stands there with its result, in order."""
        return [line.strip() for line in response.strip().split("\n")] == item.response.split("\n")
