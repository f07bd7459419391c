"""One or two operations on plain numbers, asked for in the ways that people try first."""

from __future__ import annotations

from random import Random

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.arithmetic import Arithmetic, Term, apply
from sfumato.data.tasks.base import Item, Task

_BOUND = 200
_NUMBER = r"(?<!\d)(?:\d{1,2}|100)(?!\d)"
_NEGATIVE_SHARE = 0.15
# A first term and what is done to it, n for a number; weights in hundredths.
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


def _term(random: Random, shape: str) -> Term:
    if shape == "n":
        number = _number(random)
        return str(number), number
    a, b = _number(random), _number(random)
    return f"{a}*{b}", a * b


def _expression(random: Random, shape: str) -> tuple[Term, list[tuple[str, Term]]]:
    """Numbers for a shape, drawn until every total is a whole number of up to 200; few are negative."""
    start, *rest = shape.split()
    while True:
        first = _term(random, start)
        moves = [(part[0], _term(random, part[1:])) for part in rest]
        totals = [first[1]]
        for sign, (_, value) in moves:
            if sign == "/" and (not value or totals[-1] % value):
                break
            totals.append(apply(totals[-1], sign, value))
        else:
            if max(map(abs, totals)) <= _BOUND and (min(totals) >= 0 or random.random() < _NEGATIVE_SHARE):
                return first, moves


class Plain(Task):
    """Whole numbers up to 100, totals up to 200; the answer with its derivation, or of one operation also alone."""

    name = "plain"
    kind = PromptKind(
        name=name,
        description="Works out one or two operations on whole numbers up to 100.",
        example="12+5=",
        pattern=rf"(?:answer, then derive|derive, then answer): \(?{_NUMBER}(?: ?[-+*/] ?{_NUMBER}\)?){{1,2}}"
        rf"|(?:What is )?{_NUMBER} ?[-+*/] ?{_NUMBER} ?[=?]?",
    )

    def generate(self, seed: int) -> Item:
        """An expression of a random shape in a random wording, some with spaces around its signs."""
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
        """True if the answer is right, on its line or alone, as it was asked; the derivation is not judged here."""
        stated = _FIRST.answer(response) if ":" in item.prompt else response.strip()
        return stated == str(item.meta["value"])
