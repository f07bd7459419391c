"""Faults that no repair may add, and programs that must not be blamed for any."""

from __future__ import annotations

import ast
import inspect
import shlex
import textwrap
from types import ModuleType

import pytest

from sfumato.mend import mender, sandbox, search
from sfumato.mend.parsing import find_error, read_meaning
from sfumato.text.lexemes import lex

BEFORE = """
import math
from typing import List

class Stack:
    def push(self, item):
        self.items.append(item)

def mean(numbers: List[float], key, total: int = 0) -> float:
    '''Of numbers.'''
    result = []
    for n in numbers:
        total += n
        result.append(key(n))
    return sum(result) / len(result)
"""


def faults_of(source: str) -> dict[str, int]:
    meaning = read_meaning(source)
    assert meaning is not None
    return meaning.faults


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return sum", "sum"),
        ("total += n", "total"),
        ("result = []", "result"),
        ("    result = []\n", ""),
        ("result.append(key(n))", "append(key(n))"),
        ("for n in numbers", "for n in self.numbers"),
        ("sum(result)", "result(result)"),
        ("sum(result)", "total(result)"),
        ("sum(result)", "1(result)"),
        ("sum(result)", "len(result)"),
        ("total += n", "total = total"),
        ("return sum(result) / len(result)", "return total < total"),
        ("self.items.append(item)", "self.items"),
        ("def mean(numbers: List[float],", "def mean(num: List[float],"),
        ("def mean", "def total"),
        ("sum(result) / len(result)", "sum / len(result)"),
        ("sum(result) / len(result)", "sum() / len(result)"),
        ("len(result)", "len(len(result))"),
        ("in numbers", "in range(range(total))"),
        ("total += n", "total += 0"),
        ("return sum(result) / len(result)", "return total / 1"),
        ("return sum(result) / len(result)", "return total in 0"),
        ("return sum(result) / len(result)", "return total is 0"),
        ("return sum(result) / len(result)", "return ' '.strings(result)"),
        ("return sum(result) / len(result)", "return math(result)"),
        ("result.append(key(n))", "result = result.append"),
    ],
)
def test_edit_that_adds_a_fault(old: str, new: str) -> None:
    before, after = read_meaning(BEFORE), read_meaning(BEFORE.replace(old, new, 1))
    assert before is not None
    assert after is not None
    assert after.is_worse_than(before)
    assert not before.is_worse_than(before)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total += n", "total -= n"),
        ("key(n)", "n"),
        ("sum(result)", "key(result)"),
        ("sum(result)", "math.fsum(result)"),
        ("sum(result)", "Stack(result)"),
        ("total += n", "total = n"),
        ("return sum(result) / len(result)", "return total"),
        ("'''Of numbers.'''", "..."),
        ("sum(result)", "max(result, key=key)"),
        ("sum(result)", "sum(*result)"),
        ("sum(result)", "sorted(result, key=len)[0]"),
        ("sum(result)", "total"),
        ("total += n", "total += 2"),
        ("total += n", "numbers.append(total)"),
        ("    result = []\n", "    global result\n"),
        ("return sum(result) / len(result)", "return (lambda x: x + x)(total)"),
    ],
)
def test_edit_without_a_fault(old: str, new: str) -> None:
    before, after = read_meaning(BEFORE), read_meaning(BEFORE.replace(old, new, 1))
    assert before is not None
    assert after is not None
    assert not after.is_worse_than(before)


@pytest.mark.parametrize("module", [mender, sandbox, search, ast, shlex, textwrap])
def test_real_programs_have_no_faults(module: ModuleType) -> None:
    assert not faults_of(inspect.getsource(module))


def test_names_may_come_with_a_star() -> None:
    assert not faults_of("from math import *\nprint(sin(1))")
    assert faults_of("import math\nprint(sin(1))") == {"name sin": 1}


def test_bindings_of_names() -> None:
    source = """
    import os.path as p, sys
    for (a, *b), c in []: print(a, b, c)
    with open("f") as d, open("g") as (e, f): print(d, e, f)
    try: pass
    except ValueError as g: print(g)
    match sys.argv:
        case [h, *i] | {"k": h, **i} as j: print(h, i, j, p)
    def k(m, /, n, *o, q, **r): print(m, n, o, q, r, __name__)
    class L: pass
    print((s := 1), s, [t for t in b], L, lambda u: u)
    del a
    """
    assert not faults_of(textwrap.dedent(source))


def test_annotations_that_nothing_reads_mean_nothing() -> None:
    def text(source: str) -> str:
        found = read_meaning(source)
        assert found is not None
        return found.text

    assert text("def f(x: int, *a: str) -> float: return x") == text("def f(x: bool, *a) -> None: return x")
    assert text("def f(x: int): return x") != text("def f(y: int): return y")
    # One that cannot be evaluated fails, a decorator may read them, and a class keeps its own.
    for one, other in (
        ("def f(x: Nothing): pass", "def f(x: int): pass"),
        ("@command\ndef f(x: str): pass", "@command\ndef f(x: int): pass"),
        ("class A:\n    x: int", "class A:\n    x: str"),
    ):
        assert text(one) != text(other)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Where Python's message is: here, on an earlier line, and on a later one.
        ("def f(a):\n    return a", ")\n"),
        ("x = [1, 2\n", "y = 3\n"),
        ("x = (1 * 2 ", "= 3)\ny = 1L\n"),
        # Whole statements, blocks that have no body or no handler yet, and operands that are missing.
        ("x = 1\n\n", "  y = 2\n"),
        ("def f():\n", "x = 1\n"),
        ("try:\n    x = 1\n", "y = 2\n"),
        ("x = a +", "* b\n"),
        ("print('How is ', Jim, ", "')\n"),
        ("x = f(", "'a\ny = 1\n"),
        ("f(x for x in y if x in [z] ", "else 3)\n"),
        ("lambda x, f", "): f(x)\n"),
        ("", "] = 1\n"),
    ],
)
def test_error_is_the_first_lexeme_that_no_program_has_there(before: str, after: str) -> None:
    lexemes = lex(before + after)
    error = lexemes[find_error(before + after, lexemes)]
    assert error.start >= len(before)
    assert (before + after)[len(before) : error.start].strip() == ""


@pytest.mark.parametrize("source", ["", "x = 1", "x = (1,\n", "if x:", "def f():\n    return", "x = 'a' # b", "@a\n"])
def test_the_beginning_of_a_program_has_no_error(source: str) -> None:
    lexemes = lex(source)
    assert find_error(source, lexemes) == len(lexemes)
