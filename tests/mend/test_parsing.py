"""Faults that no repair may add, and programs that must not be blamed for any."""

from __future__ import annotations

import ast
import inspect
import shlex
import textwrap
from types import ModuleType

import pytest

from sfumato.mend import mender, sandbox, search
from sfumato.mend.parsing import Bindings, read_meaning, read_traits

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
    tree = ast.parse(source)
    return read_traits(source, tree, Bindings(tree)).faults


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
def test_an_edit_that_brings_a_fault(old: str, new: str) -> None:
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
def test_an_edit_that_brings_none(old: str, new: str) -> None:
    before, after = read_meaning(BEFORE), read_meaning(BEFORE.replace(old, new, 1))
    assert before is not None
    assert after is not None
    assert not after.is_worse_than(before)


@pytest.mark.parametrize("module", [mender, sandbox, search, ast, shlex, textwrap])
def test_real_programs_have_none(module: ModuleType) -> None:
    assert not faults_of(inspect.getsource(module))


def test_names_may_come_with_a_star() -> None:
    assert not faults_of("from math import *\nprint(sin(1))")
    assert faults_of("import math\nprint(sin(1))") == {"name sin": 1}


def test_what_a_name_is_bound_by() -> None:
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
