"""Locates a bug: lines executed by failing tests, and lines in their tracebacks."""

from __future__ import annotations

import ast
import bisect
import builtins
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sfumato.mend.parsing import parse
from sfumato.mend.sandbox import Outcome, Sandbox
from sfumato.mend.search import Region, Target
from sfumato.text.lexemes import Lexeme, is_level, lex, line_numbers

RAISED_IN, PASSED_BY = 3.0, 2.0
"""Nats added for the function that raised, and for others in the traceback."""
PASSING = 1.0
"""Nats against a line that failing tests execute, times the logarithm of how many passing ones do (plus one)."""
UNTESTED = 100.0
"""Nats against a line that ran only outside of tests, as a module's own lines do."""
MAX_REGIONS = 64
_EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
) - {"AssertionError", "Exception"}
_TESTS = frozenset(("test", "tests", "testing"))
_TRACER, _NARROWER = Path(__file__).with_name("tracing"), Path(__file__).with_name("narrowing")
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+)|^([^\s:"]+\.py):(\d+):', re.MULTILINE)
_UNKNOWN = re.compile(
    r"""has no attribute '(\w+)'|name '(\w+)' is not defined|unexpected keyword argument '(\w+)'"""
    r"""|cannot import name '(\w+)'|KeyError: ['"]([^'"\n]+)['"]"""
)
_RAISED = re.compile(r"^(?:E +)?(\w+)(?::|$)", re.MULTILINE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Counts(NamedTuple):
    """How often a line was executed."""

    failed: int
    """Failing tests that execute it; 0 if the tests are not pytest's."""
    passed: int
    """Passing ones."""
    outside: int
    """Times outside of tests; 1 if the tests are not pytest's."""


@dataclass(frozen=True)
class Evidence:
    """Evidence from a failing run; paths are relative to the project's root."""

    outcome: Outcome
    executed: Mapping[Path, Mapping[int, Counts]]
    """Executed lines by path, from 1; empty if the run did not finish."""
    frames: Sequence[tuple[Path, int]]
    """Traceback lines within the project, in order of output."""
    failing: Path | None = None
    """A file with the names of pytest's tests that fail, one per line, if others pass."""


def gather(sandbox: Sandbox, command: Sequence[str], changes: Mapping[Path, bytes]) -> Evidence:
    """Run the tests on a project with some files changed, and record executed lines."""
    folder = sandbox.scratch("lines")
    variables = {"SFUMATO_TRACE_ROOT": str(sandbox.root), "SFUMATO_TRACE_FOLDER": str(folder)}
    outcome = sandbox.run(command, changes, variables=variables, first_on_path=[_TRACER])
    executed: dict[Path, dict[int, Counts]] = {}
    for file in folder.glob("*.json"):
        for path, lines in json.loads(file.read_text()).items():
            known = executed.setdefault(Path(path).relative_to(sandbox.root), {})
            for line, counts in lines.items():
                known[int(line)] = Counts(*map(sum, zip(known.get(int(line), (0, 0, 0)), counts, strict=True)))
    frames = []
    for match in _FRAME.finditer(outcome.output):
        path = sandbox.root / (match[1] or match[3])
        if path.is_relative_to(sandbox.root) and path.is_file():
            frames.append((path.relative_to(sandbox.root), int(match[2] or match[4])))
    failing = folder / "failing"
    return Evidence(outcome, executed, frames, failing if failing.exists() and outcome.num_passed else None)


def run_failing(sandbox: Sandbox, command: Sequence[str], changes: Mapping[Path, bytes], failing: Path) -> Outcome:
    """Run only the tests that failed, with some files changed.

    Args:
        failing: of the evidence.
    """
    variables = {"PYTEST_PLUGINS": "sfumato_failing", "SFUMATO_FAILING": str(failing)}
    return sandbox.run(command, changes, variables=variables, first_on_path=[_NARROWER])


def find_targets(
    sources: Mapping[Path, str],
    evidence: Evidence | None = None,
    *,
    function: str | None = None,
    length: int = 255,
    max_regions: int = MAX_REGIONS,
) -> list[Target]:
    """What may be edited: executed functions, those of the traceback first.

    Args:
        sources: text by path; files that do not parse are left out.
        evidence: without any, or if it names no line, every function may be edited.
        function: name of the only function to edit, with its class if needed.
        length: maximum lexemes that a model reads at once.
        max_regions: maximum ranges, over all files.
    """
    found: list[tuple[float, str, Region]] = []
    lines_of: dict[str, dict[int, float] | None] = {}
    frames = evidence.frames if evidence else []
    all_executed = evidence.executed if evidence else {}
    is_known = any(each.failed for lines in all_executed.values() for each in lines.values())
    raised = next((frame for frame in reversed(frames) if frame[0] in sources), None)
    for path, source in sources.items():
        tree = parse(source)
        if isinstance(tree, SyntaxError):
            continue
        named = {line for frame, line in frames if frame == path}
        prices = _prices(tree, all_executed.get(path, {}), is_known) if all_executed else None
        if prices is not None:
            prices |= dict.fromkeys(named, 0.0)
        lines_of[str(path)] = prices
        lexemes = lex(source)
        numbers = line_numbers(source, lexemes)
        for first, last in _units(tree, source, function):
            inside = range(first, last + 1)
            if prices is not None and not any(line in prices for line in inside):
                continue
            prior = PASSED_BY if any(line in named for line in inside) else 0.0
            if raised is not None and raised[0] == path and raised[1] in inside:
                prior = RAISED_IN
            start, end = bisect.bisect_left(numbers, first), bisect.bisect_right(numbers, last)
            least = 0.0 if prices is None else min(prices.get(line, math.inf) for line in inside)
            found += [
                (least - prior, str(path), Region(*bounds, prior)) for bounds in _windows(lexemes, start, end, length)
            ]
    chosen = sorted(found, key=lambda each: each[0])[:max_regions]
    told = _UNKNOWN.findall(evidence.outcome.output) if evidence else []
    unknown = frozenset(name for names in told for name in names if name)
    raised_names = frozenset(_RAISED.findall(evidence.outcome.output) if evidence else []) & _EXCEPTIONS
    targets = []
    for name, lines in lines_of.items():
        if regions := [region for _, owner, region in chosen if owner == name]:
            targets.append(Target(sources[Path(name)], regions, name, lines, unknown, raised_names))
    return targets


def is_test(path: Path) -> bool:
    """Whether a file of a project holds tests, judging by its name and directories; its path is relative."""
    is_named_so = path.name.startswith("test_") or path.stem.endswith(("_test", "_tests"))
    return is_named_so or path.stem in _TESTS or path.name == "conftest.py" or not _TESTS.isdisjoint(path.parts[:-1])


def _units(tree: ast.Module, source: str, function: str | None) -> Iterator[tuple[int, int]]:
    """First and last lines of top-level functions, and of the code between them."""
    functions: list[tuple[int, int]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = f"{prefix}{getattr(child, 'name', '')}"
            if isinstance(child, _FUNCTIONS):
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                if function is None or name == function or name.endswith(f".{function}"):
                    functions.append((first, child.end_lineno or first))
                elif function is not None:
                    visit(child, f"{name}.")
            else:
                visit(child, f"{name}." if isinstance(child, ast.ClassDef) else prefix)

    visit(tree, "")
    yield from functions
    if function is not None:
        return
    line = 1
    for first, last in [*sorted(functions), (source.count("\n") + 2, 0)]:
        if line < first:
            yield line, first - 1
        line = max(line, last + 1)


def _prices(tree: ast.Module, counts: Mapping[int, Counts], is_known: bool) -> dict[int, float]:
    """Lines that may be edited, with the nats against a mistake there: those of all statements with a line that failing
    tests executed or that ran outside of tests; for a function that ran, also its head.

    Args:
        is_known: whether it is known which lines failing tests execute.
    """
    prices = dict.fromkeys(counts, 0.0)
    if is_known:
        prices = {
            line: PASSING * math.log1p(each.passed) if each.failed else UNTESTED
            for line, each in counts.items()
            if each.failed or each.outside
        }
    found = dict(prices)
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        last = node.end_lineno or node.lineno
        head = range(node.lineno, body[0].lineno if isinstance(body, list) and body else last + 1)
        ran = range(node.body[0].lineno, last + 1) if isinstance(node, _FUNCTIONS) else head
        price = min((prices[line] for line in ran if line in prices), default=math.inf)
        for line in head:
            if price < math.inf:
                found[line] = min(price, found.get(line, math.inf))
            elif isinstance(node, _FUNCTIONS):
                found.pop(line, None)
    return found


def _windows(lexemes: Sequence[Lexeme], start: int, end: int, length: int) -> Iterator[tuple[int, int]]:
    """Split a range of lexemes into parts of whole lines with a maximum length."""
    while end - start > length:
        heads = [at for at in range(start + 1, start + length + 1) if is_level(lexemes[at].text)]
        cut = heads[-1] if heads else start + length
        yield start, cut
        start = cut
    if start < end:
        yield start, end
