"""A list of sums, differences, products and quotients: the running totals of arithmetic, each on its own.

A derivation states its total twice, so a canvas that shows one copy teaches nothing about calculating. Here nothing
but the operands says what a result is.
"""

from __future__ import annotations

from random import Random

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.arithmetic import apply, scales
from sfumato.data.tasks.base import Item, Task

_SCALED = 0.4


class Sums(Task):
    """Three to six lines of numbers up to 99 whose results have two digits; two in five are products or quotients."""

    name = "sums"
    kind = PromptKind(
        name=name,
        description="Works out several sums, products and quotients of numbers up to 99, a line each.",
        example="sums: 12+35, 81/3, 40-17",
        pattern=r"sums: \d{1,2}[-+*/]\d{1,2}(?:, \d{1,2}[-+*/]\d{1,2})*",
    )

    def generate(self, seed: int) -> Item:
        """Lines with results, operands and signs as in a derivation."""
        random = Random(seed)
        sums: list[str] = []
        lines: list[str] = []
        num_sums = random.randint(3, 6)
        while len(sums) < num_sums:
            total, value, sign = random.randint(1, 99), random.randint(1, 99), random.choice("+-")
            if random.random() < _SCALED:
                options = scales(total)
                if not options:
                    continue
                sign, (_, value) = random.choice(options)
            after = apply(total, sign, value)
            if 10 <= after <= 99:
                sums.append(f"{total}{sign}{value}")
                lines.append(f"{sums[-1]} = {after}")
        return Item(prompt=f"sums: {', '.join(sums)}", response="\n".join(lines))

    def check(self, item: Item, response: str) -> bool:
        """True if every sum stands there with its result, in order."""
        return [line.strip() for line in response.strip().split("\n")] == item.response.split("\n")
