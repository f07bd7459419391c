"""Functions of installed packages, each with one planted bug; the same for the same seed and packages."""

from __future__ import annotations

import ast
import importlib.util
import io
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

SWAPS = {
    "<": ">", ">": "<", "<=": "<", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*",
    "//": "/", "%": "//", "+=": "-=", "-=": "+=", "and": "or", "or": "and", "True": "False", "False": "True",
    "not": "", "min": "max", "max": "min", "any": "all", "all": "any", "return": "", "[0]": "[1]",
}  # fmt: skip
"""Replacements of tokens; a number becomes the next one."""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """One function with a bug, alone and in its module."""

    name: str
    """Package, module and function."""
    right: str
    """The original function, dedented."""
    buggy: str
    """The same with one wrong line."""
    line: int
    """Number of the wrong line, from 1."""
    module: str
    """The whole module with the bug in it."""
    module_right: str
    """The original module."""
    module_line: int
    """Number of the module's wrong line, from 1."""


def plant(package: str, count: int, seed: int, max_lines: int) -> list[Planted]:
    """Plant bugs in random functions of a package with at most `max_lines` lines."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"package {package!r} is not installed; give others with --packages")
    root = Path(next(iter(spec.submodule_search_locations)))
    functions = [
        (path, node)
        for path in sorted(root.rglob("*.py"))
        for node in _functions(path)
        if 2 <= (node.end_lineno or 0) - node.lineno + 1 <= max_lines
    ]
    random = Random(f"{package} {seed}")
    random.shuffle(functions)
    planted: list[Planted] = []
    for path, node in functions:
        if len(planted) == count:
            break
        if (found := _with_bug(f"{package}/{path.relative_to(root)}:{node.name}", path, node, random)) is not None:
            planted.append(found)
    return planted


def _functions(path: Path) -> Iterator[ast.FunctionDef]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            yield node


def _with_bug(name: str, path: Path, node: ast.FunctionDef, random: Random) -> Planted | None:
    lines = path.read_text(encoding="utf-8").splitlines()
    body = lines[node.lineno - 1 : node.end_lineno]
    bugs = []
    for number in range(1, len(body)):
        bugs += [(number, start, end, new) for start, end, new in _bugs(body[number])]
    random.shuffle(bugs)
    for number, start, end, new in bugs:
        changed = list(body)
        changed[number] = (body[number][:start] + new + body[number][end:]).rstrip()
        right, buggy = (textwrap.dedent("\n".join(each)) + "\n" for each in (body, changed))
        if parses(right) and parses(buggy) and not same_program(right, buggy):
            whole = list(lines)
            whole[node.lineno - 1 : node.end_lineno] = changed
            return Planted(
                name=name,
                right=right,
                buggy=buggy,
                line=number + 1,
                module="\n".join(whole) + "\n",
                module_right="\n".join(lines) + "\n",
                module_line=node.lineno + number,
            )
    return None


def _bugs(line: str) -> Iterator[tuple[int, int, str]]:
    """Possible bugs of a line: (start column, end column, replacement)."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(line.strip()).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return
    indent = len(line) - len(line.lstrip())
    for token in tokens:
        start, end = indent + token.start[1], indent + token.end[1]
        if token.string in SWAPS and token.type in (tokenize.OP, tokenize.NAME):
            new = SWAPS[token.string]
            yield start, end + (not new and line[end : end + 1] == " "), new
        elif token.type == tokenize.NUMBER and token.string.isdecimal():
            yield start, end, str(int(token.string) + 1)


def parses(text: str) -> bool:
    """Whether a text parses as Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def same_program(text: str, other: str) -> bool:
    """Whether two texts parse to the same program."""
    return parses(text) and parses(other) and ast.dump(ast.parse(text)) == ast.dump(ast.parse(other))


def plant_all(packages: Sequence[str], count: int, seed: int, max_lines: int) -> list[Planted]:
    """Plant `count` bugs, evenly over the packages."""
    shares = [count // len(packages) + (i < count % len(packages)) for i in range(len(packages))]
    return [one for name, share in zip(packages, shares, strict=True) for one in plant(name, share, seed, max_lines)]
