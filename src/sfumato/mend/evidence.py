"""Locates a bug: lines executed by failing tests, and lines in their tracebacks."""

from __future__ import annotations

import ast
import bisect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.mend.parsing import parse
from sfumato.mend.sandbox import Outcome, Sandbox
from sfumato.mend.search import Region, Target
from sfumato.text.lexemes import Lexeme, is_level, lex, line_numbers

RAISED_IN, PASSED_BY = 3.0, 2.0
"""Nats added for the function that raised, and for others in the traceback."""
MAX_REGIONS = 64
_TRACER = Path(__file__).with_name("tracing")
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+)|^([^\s:"]+\.py):(\d+):', re.MULTILINE)
_UNKNOWN = re.compile(
    r"""has no attribute '(\w+)'|name '(\w+)' is not defined|unexpected keyword argument '(\w+)'"""
    r"""|cannot import name '(\w+)'|KeyError: ['"]([^'"\n]+)['"]"""
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Evidence:
    """Evidence from a failing run; paths are relative to the project's root."""

    outcome: Outcome
    executed: Mapping[Path, frozenset[int]]
    """Executed lines by path, from 1; empty if the run did not finish."""
    frames: Sequence[tuple[Path, int]]
    """Traceback lines within the project, in order of output."""


def gather(sandbox: Sandbox, command: Sequence[str], changes: Mapping[Path, bytes]) -> Evidence:
    """Run the tests on a project with some files changed, and record executed lines."""
    folder = sandbox.scratch("lines")
    variables = {"SFUMATO_TRACE_ROOT": str(sandbox.root), "SFUMATO_TRACE_FOLDER": str(folder)}
    outcome = sandbox.run(command, changes, variables=variables, first_on_path=[_TRACER])
    executed: dict[Path, set[int]] = {}
    for file in folder.glob("*.json"):
        for path, lines in json.loads(file.read_text()).items():
            executed.setdefault(Path(path).relative_to(sandbox.root), set()).update(lines)
    frames = []
    for match in _FRAME.finditer(outcome.output):
        path = sandbox.root / (match[1] or match[3])
        if path.is_relative_to(sandbox.root) and path.is_file():
            frames.append((path.relative_to(sandbox.root), int(match[2] or match[4])))
    return Evidence(outcome, {path: frozenset(lines) for path, lines in executed.items()}, frames)


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
    found: list[tuple[str, Region]] = []
    lines_of: dict[str, frozenset[int] | None] = {}
    frames = evidence.frames if evidence else []
    all_executed = evidence.executed if evidence else {}
    raised = next((frame for frame in reversed(frames) if frame[0] in sources), None)
    for path, source in sources.items():
        tree = parse(source)
        if isinstance(tree, SyntaxError):
            continue
        executed = all_executed.get(path, frozenset()) if all_executed else None
        if executed is not None:
            executed = _whole_statements(tree, executed)
        named = {line for frame, line in frames if frame == path}
        lines_of[str(path)] = None if executed is None else executed | named
        lexemes = lex(source)
        numbers = line_numbers(source, lexemes)
        for first, last in _units(tree, source, function):
            inside = range(first, last + 1)
            if executed is not None and not any(line in executed or line in named for line in inside):
                continue
            prior = PASSED_BY if any(line in named for line in inside) else 0.0
            if raised is not None and raised[0] == path and raised[1] in inside:
                prior = RAISED_IN
            start, end = bisect.bisect_left(numbers, first), bisect.bisect_right(numbers, last)
            found += [(str(path), Region(*bounds, prior)) for bounds in _windows(lexemes, start, end, length)]
    chosen = sorted(found, key=lambda each: -each[1].prior)[:max_regions]
    told = _UNKNOWN.findall(evidence.outcome.output) if evidence else []
    unknown = frozenset(name for names in told for name in names if name)
    targets = []
    for name, lines in lines_of.items():
        if regions := [region for owner, region in chosen if owner == name]:
            targets.append(Target(sources[Path(name)], regions, name, lines, unknown))
    return targets


def is_test(path: Path) -> bool:
    """Whether a file holds tests, judging by its name."""
    return path.name.startswith("test_") or path.stem.endswith("_test") or path.name == "conftest.py"


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


def _whole_statements(tree: ast.Module, executed: frozenset[int]) -> frozenset[int]:
    """Lines of all statements with an executed line; for a function that ran, also its head."""
    found = set(executed)
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        last = node.end_lineno or node.lineno
        head = range(node.lineno, body[0].lineno if isinstance(body, list) and body else last + 1)
        ran = range(node.lineno, last + 1) if isinstance(node, _FUNCTIONS) else head
        if any(line in executed for line in ran):
            found.update(head)
    return frozenset(found)


def _windows(lexemes: Sequence[Lexeme], start: int, end: int, length: int) -> Iterator[tuple[int, int]]:
    """Split a range of lexemes into parts of whole lines with a maximum length."""
    while end - start > length:
        heads = [at for at in range(start + 1, start + length + 1) if is_level(lexemes[at].text)]
        cut = heads[-1] if heads else start + length
        yield start, cut
        start = cut
    if start < end:
        yield start, end
