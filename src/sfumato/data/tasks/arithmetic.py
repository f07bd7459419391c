"""Expressions whose answer is asked for before, or after, the derivation that shows it.

The answer-first order is the task of interest: a model that only ever moves forward has to guess the answer,
one that revises can go back once the derivation below it stands. Running totals have two digits from the
second term on, so an answer can be replaced without moving a single position of the text under it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import gcd
from random import Random

from sfumato.data.tasks.base import Item, Task

# (text, value) of one term.
Term = tuple[str, int]

# Nine digits hold every value of the task, and keep a hostile response from making int() slow.
_ANSWER = re.compile(r"answer: (-?[0-9]{1,9})")
_RESULT = re.compile(r"[^=]* = (-?[0-9]{1,9})")

_FRACTIONS = [(p, q) for q in range(2, 10) for p in range(1, q) if gcd(p, q) == 1]
_NUM_TERMS = (2, 3, 3, 4)


def _fraction_square(random: Random) -> Term:
    p, q = random.choice(_FRACTIONS)
    times = random.randint(1, 99 // (q * q))
    return f"{times * q * q}*({p}/{q})^2", times * p * p


def _root(random: Random) -> Term:
    n = random.randint(1, 12)
    return f"sqrt({n * n})", n


def _product(random: Random) -> Term:
    a, b = random.randint(2, 9), random.randint(2, 9)
    return f"{a}*{b}", a * b


def _square(random: Random) -> Term:
    n = random.randint(2, 9)
    return f"{n}^2", n * n


def _quotient(random: Random) -> Term:
    b = random.randint(2, 9)
    value = random.randint(1, 99 // b)
    return f"{b * value}/{b}", value


_KINDS: tuple[Callable[[Random], Term], ...] = (_fraction_square, _root, _product, _square, _quotient)


def _solution(terms: list[Term], signs: list[str]) -> tuple[str, list[str], int]:
    lines = [f"{text} = {value}" for text, value in terms]
    expression, total = terms[0]
    for sign, (text, value) in zip(signs, terms[1:], strict=True):
        after = total + value if sign == "+" else total - value
        lines.append(f"{total}{sign}{value} = {after}")
        expression, total = f"{expression}{sign}{text}", after
    return expression, lines, total


class Arithmetic(Task):
    """Evaluate an expression of two to four terms, one line per term and one per running total.

    Args:
        answer_first: whether the answer line stands before the derivation or after it.
    """

    def __init__(self, *, answer_first: bool) -> None:
        self.name = "arithmetic" if answer_first else "arithmetic_last"
        self.answer_first = answer_first

    def item(self, terms: list[Term], signs: list[str]) -> Item:
        """The item of given terms joined by given signs.

        Args:
            terms: text and value of each term.
            signs: "+" or "-" between neighbours; one fewer than terms.
        """
        expression, lines, total = _solution(terms, signs)
        answer = f"answer: {total}"
        if self.answer_first:
            prompt, lines = f"answer, then derive: {expression}", [answer, *lines]
        else:
            prompt, lines = f"derive, then answer: {expression}", [*lines, answer]
        meta = {"expression": expression, "num_terms": len(terms)}
        return Item(prompt=prompt, response="\n".join(lines), answer=str(total), meta=meta)

    def generate(self, seed: int) -> Item:
        """An expression whose running totals, from the second term on, lie in 10..99."""
        random = Random(seed)
        num_terms = random.choice(_NUM_TERMS)
        terms = [random.choice(_KINDS)(random)]
        signs: list[str] = []
        total = terms[0][1]
        while len(terms) < num_terms:
            term = random.choice(_KINDS)(random)
            sign = random.choice("+-")
            after = total + term[1] if sign == "+" else total - term[1]
            if 10 <= after <= 99:
                terms.append(term)
                signs.append(sign)
                total = after
        return self.item(terms, signs)

    def answer_last(self, item: Item) -> Item | None:
        """The item with its answer line moved under the derivation."""
        if not self.answer_first:
            return None
        answer, *derivation = item.response.split("\n")
        return replace(
            item,
            prompt=f"derive, then answer: {item.meta['expression']}",
            response="\n".join([*derivation, answer]),
        )

    def check(self, item: Item, response: str) -> bool:
        """True if the answer line states the true value; the derivation is not judged here."""
        stated = self.answer(response)
        return stated is not None and item.answer is not None and int(stated) == int(item.answer)

    def answer(self, response: str) -> str | None:
        """The integer of the only answer line; None if there is none, or if several lines disagree."""
        stated = {match[1] for line in response.split("\n") if (match := _ANSWER.fullmatch(line.strip()))}
        return stated.pop() if len(stated) == 1 else None

    def derivation_answer(self, response: str) -> str | None:
        """The last result of the derivation: what the answer ought to be by the response's own account."""
        results = [match[1] for line in response.split("\n") if (match := _RESULT.fullmatch(line.strip()))]
        return results[-1] if results else None
