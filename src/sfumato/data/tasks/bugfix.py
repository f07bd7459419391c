"""Short functions with one wrong line, and the functions as they should be.

A function's name, or the comment above it, says what it is for, so that the code alone betrays the bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task


@dataclass(frozen=True)
class _Family:
    """Templates over {f}, the function's name; {a} {b} {c}, scalars; {xs} and {x}, a list and its element;
    {t}, a result; {k} and {j}, constants that differ by one.
    """

    names: tuple[str, ...]
    """What the function may be called; the name states the intent."""
    code: str
    """The right function."""
    bugs: tuple[tuple[int, str], ...]
    """Line numbers from 0, each with a wrong line to put there."""


def _family(names: str, code: str, *bugs: tuple[int, str]) -> _Family:
    return _Family(tuple(names.split()), code, bugs)


def _returns(names: str, parameters: str, right: str, *wrong: str) -> _Family:
    """A function of one expression; leaving out the return is one more bug."""
    bugs = [(1, f"    return {expression}") for expression in wrong]
    return _family(names, f"def {{f}}({parameters}):\n    return {right}", *bugs, (1, f"    {right}"))


_FAMILIES = (
    _returns(
        "area rectangle_area area_of_rectangle",
        "{a}, {b}",
        "{a} * {b}",
        "{a} + {b}",
        "{a} / {b}",
        "{a} * {a}",
    ),
    _returns("perimeter rectangle_perimeter", "{a}, {b}", "2 * ({a} + {b})", "2 * ({a} * {b})", "2 + ({a} + {b})"),
    _returns("volume box_volume", "{a}, {b}, {c}", "{a} * {b} * {c}", "{a} * {b} + {c}", "{a} + {b} + {c}"),
    _returns("distance gap_between", "{a}, {b}", "abs({a} - {b})", "abs({a} + {b})", "abs({a} - {a})"),
    _returns("remainder", "{a}, {b}", "{a} % {b}", "{a} // {b}", "{b} % {a}"),
    _returns("add_{k} plus_{k} increase_by_{k}", "{a}", "{a} + {k}", "{a} - {k}", "{a} + {j}"),
    _returns("subtract_{k} minus_{k} decrease_by_{k}", "{a}", "{a} - {k}", "{a} + {k}", "{a} - {j}"),
    _returns("times_{k} multiply_by_{k}", "{a}", "{a} * {k}", "{a} + {k}", "{a} * {j}", "{a} ** {k}"),
    _returns("divide_by_{k}", "{a}", "{a} / {k}", "{a} * {k}", "{a} / {j}", "{k} / {a}"),
    _returns("power_{k} to_the_power_{k}", "{a}", "{a} ** {k}", "{a} * {k}", "{a} ** {j}"),
    _returns("is_even", "{a}", "{a} % 2 == 0", "{a} % 2 == 1", "{a} // 2 == 0", "{a} % 2 != 0"),
    _returns("is_odd", "{a}", "{a} % 2 == 1", "{a} % 2 == 0", "{a} // 2 == 1"),
    _returns("is_multiple_of_{k} divisible_by_{k}", "{a}", "{a} % {k} == 0", "{a} % {j} == 0", "{a} // {k} == 0"),
    _returns("is_negative below_zero", "{a}", "{a} < 0", "{a} > 0", "{a} == 0"),
    _returns("at_least_{k}", "{a}", "{a} >= {k}", "{a} <= {k}", "{a} > {k}", "{a} >= {j}"),
    _returns("between", "{a}, low, high", "low <= {a} <= high", "low <= {a} >= high", "high <= {a} <= low"),
    _returns(
        "clamp",
        "{a}, low, high",
        "max(low, min({a}, high))",
        "min(low, min({a}, high))",
        "max(low, {a}, high)",
    ),
    _returns("average mean", "{xs}", "sum({xs}) / len({xs})", "sum({xs}) * len({xs})", "len({xs}) / sum({xs})"),
    _returns("first first_of", "{xs}", "{xs}[0]", "{xs}[1]", "{xs}[-1]"),
    _returns("last last_of", "{xs}", "{xs}[-1]", "{xs}[-2]", "{xs}[0]"),
    _returns("all_but_first", "{xs}", "{xs}[1:]", "{xs}[2:]", "{xs}[:1]"),
    _returns("all_but_last", "{xs}", "{xs}[:-1]", "{xs}[:-2]", "{xs}[-1:]"),
    _returns("first_{k} take_{k}", "{xs}", "{xs}[:{k}]", "{xs}[:{j}]", "{xs}[{k}:]"),
    _returns("reverse backwards", "{xs}", "{xs}[::-1]", "{xs}[::1]", "{xs}[:-1]"),
    _returns("smallest minimum", "{xs}", "min({xs})", "max({xs})", "len({xs})"),
    _returns("swap", "{a}, {b}", "{b}, {a}", "{a}, {b}", "{b}, {b}"),
    _returns("squares square_all", "{xs}", "[{x} * {x} for {x} in {xs}]", "[{x} + {x} for {x} in {xs}]"),
    _returns(
        "keep_even only_even",
        "{xs}",
        "[{x} for {x} in {xs} if {x} % 2 == 0]",
        "[{x} for {x} in {xs} if {x} % 2]",
    ),
    _returns("to_celsius", "f", "(f - 32) * 5 / 9", "(f + 32) * 5 / 9", "(f - 32) * 9 / 5", "f - 32 * 5 / 9"),
    _returns("hours_to_minutes", "{a}", "{a} * 60", "{a} / 60", "{a} * 24", "{a} + 60"),
    _returns("days_to_hours", "{a}", "{a} * 24", "{a} / 24", "{a} * 12", "{a} * 60"),
    _returns("weeks_to_days", "{a}", "{a} * 7", "{a} / 7", "{a} * 5", "{a} + 7"),
    _returns(
        "discount price_after_discount",
        "price, pct",
        "price - price * pct / 100",
        "price + price * pct / 100",
    ),
    _returns("sum_to sum_up_to", "n", "sum(range(1, n + 1))", "sum(range(1, n))", "sum(range(n))"),
    _family(
        "larger larger_of_two",
        "def {f}({a}, {b}):\n    if {a} > {b}:\n        return {a}\n    return {b}",
        (1, "    if {a} < {b}:"),
        (2, "        return {b}"),
        (3, "    return {a}"),
    ),
    _family(
        "smaller smaller_of_two",
        "def {f}({a}, {b}):\n    if {a} < {b}:\n        return {a}\n    return {b}",
        (1, "    if {a} > {b}:"),
        (2, "        return {b}"),
        (3, "    return {a}"),
    ),
    _family(
        "absolute absolute_value",
        "def {f}({a}):\n    if {a} < 0:\n        return -{a}\n    return {a}",
        (1, "    if {a} > 0:"),
        (2, "        return {a}"),
        (3, "    return -{a}"),
    ),
    _family(
        "total sum_of sum_list",
        "def {f}({xs}):\n    {t} = 0\n    for {x} in {xs}:\n        {t} += {x}\n    return {t}",
        (1, "    {t} = 1"),
        (3, "        {t} -= {x}"),
        (3, "        {t} = {x}"),
        (4, "    return {x}"),
    ),
    _family(
        "product product_of multiply_all",
        "def {f}({xs}):\n    {t} = 1\n    for {x} in {xs}:\n        {t} *= {x}\n    return {t}",
        (1, "    {t} = 0"),
        (3, "        {t} += {x}"),
        (3, "        {t} = {x}"),
        (4, "    return {x}"),
    ),
    _family(
        "factorial",
        "def {f}(n):\n    {t} = 1\n    for {x} in range(1, n + 1):\n        {t} *= {x}\n    return {t}",
        (1, "    {t} = 0"),
        (2, "    for {x} in range(1, n):"),
        (3, "        {t} += {x}"),
        (4, "    return n"),
    ),
    _family(
        "count_over_{k} how_many_over_{k}",
        "def {f}({xs}):\n    {t} = 0\n    for {x} in {xs}:\n        {t} += {x} > {k}\n    return {t}",
        (1, "    {t} = 1"),
        (3, "        {t} += {x} < {k}"),
        (3, "        {t} += {x} > {j}"),
        (4, "    return {x}"),
    ),
    _family(
        "contains_{k} has_{k}",
        "def {f}({xs}):\n    for {x} in {xs}:\n        if {x} == {k}:\n            return True\n    return False",
        (2, "        if {x} != {k}:"),
        (2, "        if {x} == {j}:"),
        (3, "            return False"),
        (4, "    return True"),
    ),
    _family(
        "largest maximum",
        "def {f}({xs}):\n    {t} = {xs}[0]\n    for {x} in {xs}:\n        {t} = max({t}, {x})\n    return {t}",
        (1, "    {t} = 99"),
        (3, "        {t} = min({t}, {x})"),
        (3, "        {t} = {x}"),
        (4, "    return {x}"),
    ),
    _family(
        "index_of_{k} position_of_{k}",
        "def {f}({xs}):\n    for i, {x} in enumerate({xs}):\n        if {x} == {k}:\n"
        "            return i\n    return -1",
        (2, "        if {x} != {k}:"),
        (2, "        if i == {k}:"),
        (3, "            return {x}"),
    ),
)

_SCALARS = (("a", "b", "c"), ("x", "y", "z"), ("p", "q", "r"), ("u", "v", "w"), ("left", "right", "depth"))
_LISTS = ("xs", "values", "nums", "data", "row")
_ELEMENTS = ("x", "v", "item", "e")
_RESULTS = ("t", "out", "acc", "result")
_NONDESCRIPT = ("f", "g", "func", "run", "calc")
_COMMENTED_SHARE = 0.3


class Bugfix(Task):
    """Write a function again, without its one bug."""

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
        family = random.choice(_FAMILIES)
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
        fixed = family.code.format(**names).split("\n")
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
            prompt=f"fix the bug:\n{code}",
            response="\n".join(fixed),
            meta={"line": line, "family": family.names[0]},
        )

    def check(self, item: Item, response: str) -> bool:
        """True if the text is the function as it should be, to the letter; whitespace at its end aside."""
        return response.rstrip() == item.response.rstrip()
