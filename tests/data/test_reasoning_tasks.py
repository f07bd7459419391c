"""Arithmetic, sudoku and countdown, each against an independent account of what is right."""

import ast
import operator
import re
from fractions import Fraction
from itertools import permutations, product
from math import isqrt

import pytest

from sfumato.data.tasks import TASKS, Arithmetic, Item, problem_key

FIRST, LAST = TASKS["arithmetic"], TASKS["arithmetic_last"]
SUMS_FIRST, SUMS_LAST = TASKS["terms"], TASKS["terms_last"]
DEMO_PARTS = ("81*(2/3)^2", 36), [("+", ("sqrt(9)", 3))]
DEMO = FIRST.item(*DEMO_PARTS)
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: lambda base, exponent: base ** int(exponent),
}


def value_of(expression: str) -> Fraction:
    """The exact value of an expression, by Python's own grammar."""

    def walk(node: ast.expr) -> Fraction:
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        if isinstance(node, ast.UnaryOp):
            assert isinstance(node.op, ast.USub)
            return -walk(node.operand)
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            assert node.func.id == "sqrt"
            number = walk(node.args[0])
            root = isqrt(int(number))
            assert root * root == number
            return Fraction(root)
        assert isinstance(node, ast.Constant)
        return Fraction(node.value)

    return walk(ast.parse(expression.replace("^", "**"), mode="eval").body)


def test_demo_expression():
    assert DEMO.prompt == "answer, then derive: 81*(2/3)^2+sqrt(9)"
    assert DEMO.response == "answer: 39\n81*(2/3)^2 = 36\nsqrt(9) = 3\n36+3 = 39"
    assert DEMO.answer == "39"
    last = LAST.item(*DEMO_PARTS)
    assert last.prompt == "derive, then answer: 81*(2/3)^2+sqrt(9)"
    assert last.response == "81*(2/3)^2 = 36\nsqrt(9) = 3\n36+3 = 39\nanswer: 39"


@pytest.mark.parametrize("task", [FIRST, LAST, SUMS_FIRST, SUMS_LAST], ids=lambda task: task.name)
def test_every_line_of_arithmetic_is_true(task: Arithmetic):
    for seed in range(500):
        item = task.generate(seed)
        expression = item.prompt.split(": ")[1]
        assert value_of(expression) == int(item.answer)
        lines = item.response.split("\n")
        assert lines.pop(0 if task.answer_first else -1) == f"answer: {item.answer}"
        moves = item.meta["moves"]
        num_terms = 1 + moves.count("+") + moves.count("-")
        assert len(lines) == num_terms + len(moves)
        values = []
        for line in lines:
            left, right = line.split(" = ")
            assert value_of(left) == int(right)
            values.append(int(right))
        assert all(1 <= value <= 99 for value in values[:num_terms])
        assert all(10 <= total <= 99 for total in values[num_terms:])
        if task in (SUMS_FIRST, SUMS_LAST):
            assert not set(moves) & set("*/")


def test_checker_needs_every_sum():
    task = TASKS["sums"]
    for seed in range(300):
        item = task.generate(seed)
        asked = item.prompt.removeprefix("sums: ").split(", ")
        lines = item.response.split("\n")
        assert 3 <= len(asked) == len(lines) <= 6
        for sum_, line in zip(asked, lines, strict=True):
            left, right = line.split(" = ")
            assert left == sum_
            assert 10 <= value_of(left) == int(right) <= 99
        assert task.check(item, item.response)
        assert not task.check(item, "\n".join(lines[:-1]))
        wrong = lines[-1][:-1] + ("1" if lines[-1][-1] != "1" else "2")
        assert not task.check(item, "\n".join([*lines[:-1], wrong]))


def test_plain_answers_are_true_by_another_parser():
    task = TASKS["plain"]
    expressions = []
    for seed in range(2000):
        item = task.generate(seed)
        expression = problem_key(item.prompt)
        value = value_of(expression)
        assert value == item.meta["value"]
        assert -200 <= value <= 200
        assert all(int(number) <= 100 for number in re.findall(r"\d+", item.prompt))
        if ":" in item.prompt:
            lines = item.response.split("\n")
            answer = lines.pop(0 if item.prompt.startswith("answer") else -1)
            assert answer == f"answer: {value}"
            assert lines[-1].endswith(f" = {value}")
            assert all(value_of(left) == int(right) for left, right in (line.split(" = ") for line in lines))
        else:
            assert item.response == str(value)
            assert not task.check(item, f"answer: {value}")
        assert not task.check(item, item.response.replace(str(value), str(value + 1)))
        expressions.append(expression)
    text = " ".join(expressions)
    assert all(piece in text for piece in ("+", "-", "*", "/", ")*"))
    assert any(value < 0 for value in (task.generate(seed).meta["value"] for seed in range(100)))


def test_arithmetic_reaches_its_forms():
    expressions = [FIRST.generate(seed).meta["expression"] for seed in range(5000)]
    text = " ".join(expressions)
    for piece in ("81*(2/3)^2", "sqrt(144)", "sqrt(1)", "9*9", "9^2", "/9", ")*2", ")/5"):
        assert piece in text


@pytest.mark.parametrize(
    ("task", "shares"),
    [(FIRST, {"t": 0.05, "ts": 0.05, "tst": 0.45, "tsts": 0.45}), (SUMS_FIRST, {"t": 0.25, "tt": 0.5, "ttt": 0.25})],
    ids=["arithmetic", "terms"],
)
def test_arithmetic_mixes_its_chains(task: Arithmetic, shares: dict[str, float]):
    chains = [task.generate(seed).meta["moves"].translate(str.maketrans("+-*/", "ttss")) for seed in range(5000)]
    assert set(chains) == set(shares)
    for chain, share in shares.items():
        # Six standard deviations of a half are 0.042.
        assert abs(chains.count(chain) / 5000 - share) < 0.043


@pytest.mark.parametrize(
    ("response", "right"),
    [
        ("answer: 39", True),
        ("  answer: 39 \n36+3 = 39", True),
        ("36+3 = 39\nanswer: 39", True),
        ("answer: 39\nanswer: 39", True),
        ("answer: 60\n36+3 = 39", False),
        ("answer: 40\nanswer: 39", False),
        ("answer: 039", True),
        ("answer: 39.0", False),
        ("the answer: 39", False),
        ("answer: \u0663\u0669", False),
        ("answer: " + "9" * 5000, False),
        ("36+3 = 39", False),
    ],
)
def test_only_the_answer_line_counts(response: str, right: bool):
    assert FIRST.check(DEMO, response) is right


def test_two_answers_count_as_none():
    for other in range(10, 39):
        assert FIRST.answer(f"answer: {other}\nanswer: 39") is None
        assert FIRST.answer(f"answer: 39\n36+3 = 39\nanswer: {other}") is None


def test_a_derivation_alone_states_no_answer():
    assert FIRST.answer(DEMO.response.replace("answer: 39", "answer: 42")) == "42"
    assert FIRST.answer("36+3 = 39") is None


def blocks(side: int) -> list[tuple[int, ...]]:
    box = isqrt(side)
    rows = [tuple(row * side + column for column in range(side)) for row in range(side)]
    columns = list(zip(*rows, strict=True))
    boxes = [
        tuple((top + row) * side + left + column for row in range(box) for column in range(box))
        for top in range(0, side, box)
        for left in range(0, side, box)
    ]
    return rows + columns + boxes


def is_solution(puzzle: str, text: str, side: int) -> bool:
    cells = text.replace("\n", "")
    givens = puzzle.replace("\n", "")
    return all(given in (".", cell) for given, cell in zip(givens, cells, strict=True)) and all(
        len({cells[cell] for cell in block}) == side for block in blocks(side)
    )


def test_sudoku4_has_one_solution():
    rows = ["".join(row) for row in permutations("1234")]
    num_blanks = set()
    for seed in range(60):
        item = TASKS["sudoku4"].generate(seed)
        puzzle = item.prompt.removeprefix("sudoku:\n")
        fitting = [
            [row for row in rows if all(g in (".", c) for g, c in zip(given, row, strict=True))]
            for given in puzzle.split("\n")
        ]
        texts = ("\n".join(grid) for grid in product(*fitting))
        assert [text for text in texts if is_solution(puzzle, text, 4)] == [item.response]
        num_blanks.add(puzzle.count("."))
    assert num_blanks == set(range(6, 12))


def count_solutions(puzzle: str) -> int:
    """Solutions of a grid of side 9, two at most, by exact cover (Knuth 2000, algorithm X)."""
    cells = puzzle.replace("\n", "")
    columns: dict[tuple, set] = {}
    choices = {}
    for cell, digit in product(range(81), "123456789"):
        if cells[cell] in (".", digit):
            row, column = divmod(cell, 9)
            constraints = [
                ("cell", cell), ("row", row, digit), ("column", column, digit),
                ("box", row // 3, column // 3, digit),
            ]  # fmt: skip
            choices[cell, digit] = constraints
            for constraint in constraints:
                columns.setdefault(constraint, set()).add((cell, digit))

    def search(open_columns: dict[tuple, set]) -> int:
        if not open_columns:
            return 1
        best = min(open_columns, key=lambda constraint: len(open_columns[constraint]))
        found = 0
        for choice in open_columns[best]:
            covered = set(choices[choice])
            clashing = set().union(*(open_columns[constraint] for constraint in covered))
            rest = {key: open_columns[key] - clashing for key in open_columns.keys() - covered}
            found += search(rest)
            if found > 1:
                break
        return found

    return search(columns)


def test_counting_solutions():
    item = TASKS["sudoku9"].generate(0)
    assert count_solutions(item.response) == 1
    # With two digits gone everywhere, they can be exchanged.
    assert count_solutions(item.response.replace("1", ".").replace("2", ".")) == 2


def test_sudoku9_has_one_solution():
    for seed in range(8):
        item = TASKS["sudoku9"].generate(seed)
        puzzle = item.prompt.removeprefix("sudoku:\n")
        assert is_solution(puzzle, item.response, 9)
        assert count_solutions(puzzle) == 1
    assert {30 <= TASKS["sudoku9"].generate(seed).meta["num_blanks"] <= 54 for seed in range(50)} == {True}


@pytest.mark.parametrize("name", ["sudoku4", "sudoku9"])
def test_sudoku_check_refuses(name: str):
    task = TASKS[name]
    item = task.generate(0)
    gold = item.response
    assert task.check(item, f"\n{gold}\n")
    renamed = gold.translate(str.maketrans("12", "21"))
    assert is_solution(renamed, renamed, task.side)
    assert not task.check(item, renamed)
    lines = gold.split("\n")
    for wrong in (
        "\n".join(lines[:-1]),
        "\n".join([*lines, lines[0]]),
        gold.replace("\n", ""),
        gold.replace("1", "."),
        gold.replace("1", "0"),
        gold.replace("1", "\u00b9"),
        gold.replace("1", "2"),
    ):
        assert not task.check(item, wrong)


COUNTDOWN = Item(
    prompt="countdown: 3 7 25 = 96", response="25+7 = 32\n32*3 = 96", meta={"numbers": (3, 7, 25), "target": 96}
)


@pytest.mark.parametrize(
    ("response", "right"),
    [
        ("25+7 = 32\n32*3 = 96", True),
        ("7 + 25 = 32\n3 * 32 = 96\n", True),
        ("25*3 = 75\n7*3 = 21\n75+21 = 96", False),  # uses the 3 twice
        ("25+7 = 32\n32*3 = 95", False),
        ("25+7 = 33\n33*3 = 96", False),
        ("32*3 = 96", False),  # 32 is not there yet
        ("25+7 = 32", False),
        ("25+7 = 32\n32*3 = 96\nso 96", False),
        ("25+7 = 32\n\n32*3 = 96", False),
        ("25+71 = 96", False),
        ("(25+7)*3 = 96", False),
        ("", False),
    ],
)
def test_countdown_check(response: str, right: bool):
    assert TASKS["countdown"].check(COUNTDOWN, response) is right


@pytest.mark.parametrize(
    ("numbers", "target", "response", "right"),
    [
        ((2, 3, 4), 10, "3*2 = 6\n6+4 = 10", True),
        ((2, 3, 4), 6, "4-3 = 1\n1/2 = 0\n", False),  # not whole
        ((5, 5, 3), 3, "5-5 = 0\n3/0 = 3", False),
        ((5, 5, 3), 3, "5-5 = 0\n3-0 = 3", True),
        ((5, 5, 3), 3, "5/5 = 1\n3*1 = 3", True),
        ((5, 3, 2), 4, "3-5 = 2\n2+2 = 4", False),  # negative
        ((5, 5), 10, "5+5 = 10", True),
        ((5, 4), 10, "5+5 = 10", False),
        ((3, 4, 5), 12, "3*4 = 12", False),  # 5 is left
        ((1, 2), 3, "1+2 = 000000000000003", False),
    ],
)
def test_countdown_rules(numbers: tuple[int, ...], target: int, response: str, right: bool):
    item = Item(prompt="", response="", meta={"numbers": numbers, "target": target})
    assert TASKS["countdown"].check(item, response) is right


@pytest.mark.parametrize(
    ("response", "rights"),
    [
        ("25+7 = 32\n32*3 = 96", [True, True]),
        ("\n25+7 = 32 \n32*3 = 96\n\n", [True, True]),
        # A step that is wrong leaves the numbers as they were.
        ("25+7 = 33\n7*3 = 21", [False, True]),
        ("25+7 = 32\n32+3 = 35", [True, False]),
        ("25+7 = 32", [True, False]),
        ("25+7 = 32\n32*3 = 96\nso 96", [True, True, False]),
        ("", [False, False]),
    ],
)
def test_countdown_steps_are_checked_separately(response: str, rights: list[bool]):
    assert TASKS["countdown"].parts(COUNTDOWN, response) == rights


def test_countdown_prompts():
    lengths = set()
    for seed in range(300):
        item = TASKS["countdown"].generate(seed)
        left, right = item.prompt.removeprefix("countdown: ").split(" = ")
        numbers = [int(word) for word in left.split()]
        assert (tuple(numbers), int(right)) == (item.meta["numbers"], item.meta["target"])
        assert all(1 <= number <= 25 for number in numbers)
        assert 1 <= int(right) <= 99
        lengths.add(len(numbers))
        for line in item.response.split("\n"):
            expression, result = line.split(" = ")
            assert value_of(expression) == int(result)
    assert lengths == {3, 4}


def test_arithmetic_lines_are_checked_separately():
    task = TASKS["arithmetic"]
    item = task.generate(3)
    _, *lines = item.response.split("\n")
    assert task.parts(item, item.response) == [True] * (len(lines) + 1)
    wrong = "\n".join(["answer: -1", *lines[:-1], "1+1 = 3", "and more"])
    assert task.parts(item, wrong) == [False, *[True] * (len(lines) - 1), False, False]
    assert TASKS["json"].parts(TASKS["json"].generate(0), "[]") == [False]
