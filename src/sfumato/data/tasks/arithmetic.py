"""Arithmetic tasks: expressions with the answer before or after its derivation, and plain sums.

The answer-first order is the interesting task: a model that only moves forward has to guess the answer; a model that
revises can go back once the derivation below is written. Running totals have two digits from the second term on, so an
answer can be replaced without moving any text below it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd
from random import Random

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task

# (text, value) of one term.
Term = tuple[str, int]

# Nine digits hold every value of the task, and keep a hostile response from making int() slow.
_ANSWER = re.compile(r"answer: (-?[0-9]{1,9})")

# Expressions contain only these terms, and in particular no plain numbers.
_TERM = r"(?:\d{1,2}\*\(\d/\d\)\^2|sqrt\(\d{1,3}\)|\d\*\d|\d\^2|\d{1,2}/\d)"

_FRACTIONS = [(p, q) for q in range(2, 10) for p in range(1, q) if gcd(p, q) == 1]
# What follows the first term: "t" adds or subtracts a term, "s" multiplies or divides the running total. Weights in
# twentieths.
_CHAINS = {"t": 1, "ts": 1, "tst": 9, "tsts": 9}
_SUMS = {"t": 1, "tt": 2, "ttt": 1}


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


def apply(total: int, sign: str, value: int) -> int:
    """A move from a total: one of "+-*/", and the operand."""
    return {"+": total + value, "-": total - value, "*": total * value, "/": total // (value or 1)}[sign]


def _solution(first: Term, moves: Sequence[tuple[str, Term]]) -> tuple[str, list[str], int]:
    """The expression, one line per term that is not a plain number and one per running total, and the value."""
    lines = [f"{text} = {value}" for text, value in (first, *(term for _, term in moves)) if text != str(value)]
    expression, total = first
    for index, (sign, (text, value)) in enumerate(moves):
        after = apply(total, sign, value)
        lines.append(f"{total}{sign}{value} = {after}")
        if sign in "*/" and index and moves[index - 1][0] in "+-":
            expression = f"({expression})"
        expression, total = f"{expression}{sign}{text}", after
    return expression, lines, total


def _terms(random: Random, total: int) -> list[tuple[str, Term]]:
    """Some terms that can be added to or subtracted from a total."""
    drawn = [(random.choice("+-"), random.choice(_KINDS)(random)) for _ in range(8)]
    return [(sign, term) for sign, term in drawn if 10 <= apply(total, sign, term[1]) <= 99]


def scales(total: int) -> list[tuple[str, Term]]:
    """Every factor and divisor that leaves a two-digit whole number."""
    times = [("*", (str(n), n)) for n in range(2, 10) if 10 <= total * n <= 99]
    return times + [("/", (str(n), n)) for n in range(2, 10) if total % n == 0 and total // n >= 10]


class Arithmetic(Task):
    """Evaluate an expression, one line per term and one per running total.

    Args:
        answer_first: whether the answer line comes before the derivation or after it.
        scaled: whether running totals are also multiplied and divided, so that they must be computed in order;
            otherwise an expression is a sum of two to four terms.
    """

    def __init__(self, *, answer_first: bool, scaled: bool = True) -> None:
        self.name = ("arithmetic" if scaled else "terms") + ("" if answer_first else "_last")
        self.answer_first = answer_first
        self._asks = "answer, then derive: " if answer_first else "derive, then answer: "
        self.kind = PromptKind(
            name=self.name,
            description="Works out an expression of products, quotients, squares and roots, a line for each part.",
            example=self._asks + ("81*(2/3)^2+sqrt(9)" if scaled else "4*9+sqrt(25)"),
            pattern=rf"{self._asks}\(*{_TERM}(?:[-+]{_TERM}\)?|[*/][2-9]\)?){{1,5}}",
        )
        self._moves = _CHAINS if scaled else _SUMS

    def item(self, first: Term, moves: Sequence[tuple[str, Term]]) -> Item:
        """The item for given moves.

        Args:
            first: text and value of the first term.
            moves: operations on the running total in order: one of "+-*/", and the operand.
        """
        expression, lines, total = _solution(first, moves)
        answer = f"answer: {total}"
        lines = [answer, *lines] if self.answer_first else [*lines, answer]
        meta = {"expression": expression, "moves": "".join(sign for sign, _ in moves)}
        return Item(prompt=self._asks + expression, response="\n".join(lines), answer=str(total), meta=meta)

    def generate(self, seed: int) -> Item:
        """An expression whose running totals, from the second term on, lie in 10..99."""
        random = Random(seed)
        (chain,) = random.choices(list(self._moves), list(self._moves.values()))
        while True:
            first = random.choice(_KINDS)(random)
            moves: list[tuple[str, Term]] = []
            total = first[1]
            for kind in chain:
                allowed = _terms(random, total) if kind == "t" else scales(total)
                if not allowed:
                    break
                moves.append(random.choice(allowed))
                total = apply(total, moves[-1][0], moves[-1][1][1])
            else:
                return self.item(first, moves)

    def answer_last(self, item: Item) -> Item | None:
        """The item with its answer line moved under the derivation."""
        if not self.answer_first:
            return None
        answer, *derivation = item.response.split("\n")
        return replace(
            item, prompt=f"derive, then answer: {item.meta['expression']}", response="\n".join([*derivation, answer])
        )

    def check(self, item: Item, response: str) -> bool:
        """True if the answer line states the true value; the derivation is not judged."""
        stated = self.answer(response)
        return stated is not None and item.answer is not None and int(stated) == int(item.answer)

    def parts(self, item: Item, response: str) -> list[bool]:
        """Line by line: the answer line by its value, other lines by being in the gold response."""
        gold, right = item.response.split("\n"), self.check(item, response)
        lines = [line.strip() for line in response.split("\n")]
        return [
            right if _ANSWER.fullmatch(line) else wanted == line
            for line, wanted in itertools.zip_longest(lines, gold[: len(lines)])
        ]

    def answer(self, response: str) -> str | None:
        """The integer on the only answer line; None if there is none, or if several lines disagree."""
        stated = {match[1] for line in response.split("\n") if (match := _ANSWER.fullmatch(line.strip()))}
        return stated.pop() if len(stated) == 1 else None


_SCALED_SHARE = 0.4


class Sums(Task):
    """Three to six lines of numbers up to 99 with two-digit results; two in five are products or quotients.

    A derivation states each total twice, so a canvas that shows one copy teaches nothing about calculating. Here only
    the operands determine a result.
    """

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
            if random.random() < _SCALED_SHARE:
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
        """True if every sum is there with its result, in order."""
        return [line.strip() for line in response.strip().split("\n")] == item.response.split("\n")


_BOUND = 200
_NUMBER = r"(?<!\d)(?:\d{1,2}|100)(?!\d)"
_NEGATIVE_SHARE = 0.15
# A first term and its operations, n for a number; weights in hundredths.
_SHAPES = {
    "n +n": 24, "n -n": 20, "n *n": 24, "n /n": 12,
    "n +n +n": 5, "n +n -n": 3, "n*n +n": 5, "n +n*n": 4, "n +n *n": 3,
}  # fmt: skip
_DERIVED = {"answer, then derive: {}": 9, "derive, then answer: {}": 3}
_WORDINGS = _DERIVED | {"{}": 3, "{}=": 2, "{} =": 1, "What is {}?": 2}
_SPACED_SHARE = 0.3
_FIRST, _LAST = Arithmetic(answer_first=True), Arithmetic(answer_first=False)


def _number(random: Random) -> int:
    return random.randint(0, random.choice((9, 12, 20, 100)))


def _plain_term(random: Random, shape: str) -> Term:
    if shape == "n":
        number = _number(random)
        return str(number), number
    a, b = _number(random), _number(random)
    return f"{a}*{b}", a * b


def _expression(random: Random, shape: str) -> tuple[Term, list[tuple[str, Term]]]:
    """Draw numbers for a shape until every total is a whole number up to 200; few are negative."""
    start, *rest = shape.split()
    while True:
        first = _plain_term(random, start)
        moves = [(part[0], _plain_term(random, part[1:])) for part in rest]
        totals = [first[1]]
        for sign, (_, value) in moves:
            if sign == "/" and (not value or totals[-1] % value):
                break
            totals.append(apply(totals[-1], sign, value))
        else:
            if max(map(abs, totals)) <= _BOUND and (min(totals) >= 0 or random.random() < _NEGATIVE_SHARE):
                return first, moves


class Plain(Task):
    """One or two operations on plain numbers, phrased as people try first.

    Whole numbers up to 100, totals up to 200; the answer with its derivation, or for one operation also alone.
    """

    name = "plain"
    kind = PromptKind(
        name=name,
        description="Works out one or two operations on whole numbers up to 100, most reliably up to 20.",
        example="12+5=",
        pattern=rf"(?:answer, then derive|derive, then answer): \(?{_NUMBER}(?: ?[-+*/] ?{_NUMBER}\)?){{1,2}}"
        rf"|(?:What is )?{_NUMBER} ?[-+*/] ?{_NUMBER} ?[=?]?",
    )

    def generate(self, seed: int) -> Item:
        """An expression of random shape and wording, some with spaces around operators."""
        random = Random(seed)
        (shape,) = random.choices(list(_SHAPES), list(_SHAPES.values()))
        wordings = _WORDINGS if shape.count("n") == 2 else _DERIVED
        (wording,) = random.choices(list(wordings), list(wordings.values()))
        item = (_LAST if wording.startswith("derive") else _FIRST).item(*_expression(random, shape))
        expression = item.meta["expression"]
        if random.random() < _SPACED_SHARE:
            expression = "".join(f" {c} " if c in "+-*/" else c for c in expression)
        response = item.response if ":" in wording else str(item.answer)
        return Item(prompt=wording.format(expression), response=response, meta={"value": int(str(item.answer))})

    def check(self, item: Item, response: str) -> bool:
        """True if the answer is right, on its line or alone, as asked; the derivation is not judged."""
        stated = _FIRST.answer(response) if ":" in item.prompt else response.strip()
        return stated == str(item.meta["value"])
