"""Countdown: reach a target with given numbers, each used exactly once."""

from __future__ import annotations

import re
from random import Random

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task

# Nine digits are beyond any result the numbers can reach in a valid response, and keep int() cheap.
_STEP = re.compile(r"([0-9]{1,9}) ?([-+*/]) ?([0-9]{1,9}) ?= ?([0-9]{1,9})")
_MAX_RESULT = 200


def _apply(a: int, operator: str, b: int) -> int | None:
    """The result of one operation; None if it is negative, not whole, or undefined."""
    if operator == "+":
        return a + b
    if operator == "*":
        return a * b
    if operator == "-":
        return a - b if a >= b else None
    return a // b if b and a % b == 0 else None


class Countdown(Task):
    """Three or four numbers 1..25, target 1..99, no negative or fractional results on the way."""

    name = "countdown"
    kind = PromptKind(
        name=name,
        description="Reaches a number of up to 99 with three or four others, each used once.",
        example="countdown: 3 7 12 = 33",
        pattern=r"countdown: \d{1,2}(?: \d{1,2}){2,3} = \d{1,2}",
    )

    def generate(self, seed: int) -> Item:
        """Numbers combined at random until one is left; drawn again until that one is a target."""
        random = Random(seed)
        while True:
            numbers = [random.randint(1, 25) for _ in range(random.choice((3, 4)))]
            steps = self._combine(random, list(numbers))
            if steps and 1 <= steps[-1][1] <= 99:
                break
        target = steps[-1][1]
        return Item(
            prompt=f"countdown: {' '.join(map(str, numbers))} = {target}",
            response="\n".join(text for text, _ in steps),
            meta={"numbers": tuple(numbers), "target": target},
        )

    def _combine(self, random: Random, pool: list[int]) -> list[tuple[str, int]]:
        """Steps that use up the pool, with their results; empty if a step has no allowed result."""
        steps: list[tuple[str, int]] = []
        while len(pool) > 1:
            b, a = sorted(pool.pop(random.randrange(len(pool))) for _ in range(2))
            operator = random.choice("+-*/")
            result = _apply(a, operator, b)
            # By one, multiplication and division only rename a number.
            if not result or result > _MAX_RESULT or (operator in "*/" and b == 1):
                return []
            steps.append((f"{a}{operator}{b} = {result}", result))
            pool.append(result)
        return steps

    def check(self, item: Item, response: str) -> bool:
        """True if all steps are correct, use up the available numbers, and end with the target."""
        return all(self.parts(item, response))

    def parts(self, item: Item, response: str) -> list[bool]:
        """Line by line: a step is correct if it is true and uses available numbers, and the last one makes the target.

        A missing step is a wrong part.
        """
        pool, target = list(item.meta["numbers"]), item.meta["target"]
        num_steps = len(pool) - 1
        parts = [
            self._take(pool, line.strip()) and (len(pool) > 1 or pool == [target])
            for line in response.strip().split("\n")
        ]
        return parts + [False] * (num_steps - len(parts))

    def _take(self, pool: list[int], line: str) -> bool:
        """Do a step: take its numbers from a pool and add its result, if it is valid."""
        match = _STEP.fullmatch(line)
        if match is None:
            return False
        a, b, result = int(match[1]), int(match[3]), int(match[4])
        rest = list(pool)
        for operand in (a, b):
            if operand not in rest:
                return False
            rest.remove(operand)
        if _apply(a, match[2], b) != result:
            return False
        pool[:] = [*rest, result]
        return True
