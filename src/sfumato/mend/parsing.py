"""Parses Python text: its tree, its first error, and its meaning, with faults that no repair introduces.

Faults are undefined names, statements without effect, calls of non-callables and pointless operations. Edits that add
one are skipped without running the tests.
"""

from __future__ import annotations

import ast
import bisect
import builtins
import re
import symtable
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.text.lexemes import Lexeme

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__class__"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_EFFECTIVE = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
# Values that cannot be called.
_PLAIN = (
    ast.Constant, ast.JoinedStr, ast.BinOp, ast.UnaryOp, ast.Compare, ast.List, ast.Tuple, ast.Dict, ast.Set,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
_TYPES: dict[str, type] = {kind.__name__: kind for kind in (int, float, str, bool, bytes, list, tuple, dict, set)}
_TYPES |= {name.title(): _TYPES[name] for name in ("list", "tuple", "dict", "set")}
# Pointless with two equal operands.
_DISTINCT = (
    ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot,
)  # fmt: skip
# Operators with a second operand that changes nothing, or leaves nothing.
_IDLE = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1, ast.Div: 1, ast.FloorDiv: 1, ast.Mod: 1, ast.Pow: 1}
# Allowed argument counts of builtin functions.
_ARITY = {
    **dict.fromkeys(("abs", "all", "any", "bin", "callable", "chr", "hash", "hex", "id", "len", "ord", "repr"), (1, 1)),
    **dict.fromkeys(("enumerate", "iter", "next", "reversed", "round", "sorted", "sum"), (1, 2)),
    **dict.fromkeys(("divmod", "filter", "hasattr", "isinstance", "issubclass"), (2, 2)),
    **dict.fromkeys(("max", "min"), (1, 99)),
    **{"getattr": (2, 3), "map": (2, 99), "pow": (2, 3), "range": (1, 3)},
}  # fmt: skip
_ALLOW_INCOMPLETE_INPUT = 0x4000
"""A flag of `compile`, from the standard library's `codeop`: errors at the end have a message of their own."""
OPEN_STRING = re.compile(r"""(?i:[rbfut]{0,2})(['"])(?:(?!\1)[^\\]|\\.)*""")
"""A string without an end."""
_NUMBERS = frozenset({"abs", "float", "int", "isinstance", "len", "ord", "round"})
"""Builtin functions whose results cannot be iterated."""
_ITERATING = frozenset({"all", "any", "dict", "enumerate", "iter", "len", "list", "reversed", "set", "sorted", "tuple"})


def parse(source: str) -> ast.Module | SyntaxError:
    """The syntax tree of a text, or its syntax error."""
    found: ast.Module | SyntaxError = _compile(source, ast.PyCF_ONLY_AST)
    return found


def compile_error(source: str) -> SyntaxError | None:
    """The error of a text that parses and yet does not compile, such as one that returns outside functions."""
    found = _compile(source)
    return found if isinstance(found, SyntaxError) else None


def _compile(source: str, flags: int = 0) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(source, "<text>", "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or type(error).__name__)


def error_line(source: str) -> int | None:
    """Line of the first syntax error, from 1; None if the text parses."""
    error = parse(source)
    return (error.lineno or 1) if isinstance(error, SyntaxError) else None


def find_error(source: str, lexemes: Sequence[Lexeme]) -> int:
    """Index of the first lexeme that cannot follow the text before it in any program; their number if there is none.

    Python's message may name an earlier line, such as that of an open bracket, or a later one.
    """
    return bisect.bisect_left(lexemes, True, key=lambda lexeme: not can_stand(source, lexeme))


def can_stand(source: str, lexeme: Lexeme) -> bool:
    """Whether some program begins like a text up to the end of one of its lexemes."""
    return OPEN_STRING.fullmatch(lexeme.text) is None and is_beginning(source[: lexeme.end])


def is_beginning(source: str) -> bool:
    """Whether a text, or one that begins with it, parses."""
    # A line that goes on may also end within a statement.
    found = _compile(source + "\\\n", ast.PyCF_ONLY_AST | _ALLOW_INCOMPLETE_INPUT)
    return isinstance(found, ast.Module) or found.msg == "incomplete input"


@dataclass(frozen=True)
class Meaning:
    """What a text does, and the properties by which an edited version is compared with it."""

    text: str
    """Equal for texts that do the same: ignores layout, comments and parameter annotations."""
    faults: Counter[str] = field(default_factory=Counter)
    """Count of each fault."""
    definitions: frozenset[str] = frozenset()
    """Functions and classes."""
    callees: frozenset[str] = frozenset()
    """Called names."""
    values: frozenset[str] = frozenset()
    """Names and attributes that are returned, assigned or operated on."""

    def is_worse_than(self, before: Meaning | None) -> bool:
        """Whether an edit added a fault, removed a definition, or dropped a call of something that is only called."""
        if before is None:
            return False
        uncalled = (self.values - before.values) & before.callees
        return bool(self.faults - before.faults or before.definitions - self.definitions or uncalled)


def read_meaning(source: str) -> Meaning | None:
    """The meaning of a text; None if it does not parse."""
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return None
    bindings, nodes = Bindings(tree), list(ast.walk(tree))
    faults = Counter(_faults(tree, bindings))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = symtable.symtable(source, "<text>", "exec")
    except SyntaxError as error:
        faults[f"compile {error.msg}"] += 1
    else:
        if not bindings.binds_anything:
            faults += Counter(_unbound(table, bindings.bound_globally(table)))
    # Before annotations go, because that changes the tree.
    traits = (
        frozenset(node.name for node in nodes if isinstance(node, (ast.ClassDef, *_FUNCTIONS))),
        frozenset(ast.dump(node.func) for node in nodes if isinstance(node, ast.Call)),
        frozenset(ast.dump(value) for node in nodes for value in _values(node)),
    )
    return Meaning(ast.dump(strip_annotations(tree, bindings)), faults, *traits)


def _values(node: ast.AST) -> list[ast.expr]:
    values: list[ast.expr | None] = []
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
        values = [node.value]
    elif isinstance(node, ast.BinOp):
        values = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        values = [node.left, *node.comparators]
    elif isinstance(node, ast.Subscript):
        values = [node.slice]
    return [value for value in values if isinstance(value, ast.Name | ast.Attribute)]


def _unbound(table: symtable.SymbolTable, known: frozenset[str]) -> Iterator[str]:
    """Undefined names that a scope looks up outside all functions."""
    for symbol in table.get_symbols():
        is_outer = symbol.is_global() or table.get_type() == "module"
        if symbol.is_referenced() and is_outer and symbol.get_name() not in known:
            yield f"name {symbol.get_name()}"
    for child in table.get_children():
        yield from _unbound(child, known)


class Bindings(ast.NodeVisitor):
    """What a program's names stand for, in any scope."""

    def __init__(self, tree: ast.Module) -> None:
        self.bound: set[str] = set()
        self.maybe_callable: set[str] = set()
        self.types: dict[str, type] = {}
        """Annotations of names that are only parameters with that annotation."""
        self.binds_anything = False
        """Whether there are star imports."""
        self._declared_global: set[str] = set()
        self.visit(tree)

    def bound_globally(self, table: symtable.SymbolTable) -> frozenset[str]:
        """Names available in any scope of the program."""
        bound = {symbol.get_name() for symbol in table.get_symbols() if symbol.get_name() in self.bound}
        return frozenset(bound | self._declared_global | _BUILTINS)

    def _bind(self, name: str, *, plain: bool = False, kind: type | None = None) -> None:
        if kind is not None and name not in self.bound:
            self.types[name] = kind
        elif self.types.get(name) is not kind:
            self.types.pop(name, None)
        self.bound.add(name)
        if not plain:
            self.maybe_callable.add(name)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._bind(target.id, plain=isinstance(node.value, _PLAIN))
            else:
                self.visit(target)
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        # It needs the name to be bound, and does not bind it.
        if not isinstance(node.target, ast.Name):
            self.visit(node.target)
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id)

    def visit_arg(self, node: ast.arg) -> None:
        annotation = node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
        kind = _TYPES.get(annotation.id) if isinstance(annotation, ast.Name) else None
        self._bind(node.arg, plain=kind is not None, kind=kind)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            # A module cannot be called.
            self._bind((alias.asname or alias.name).partition(".")[0], plain=True)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.binds_anything |= alias.name == "*"
            self._bind(alias.asname or alias.name)

    def visit_Global(self, node: ast.Global) -> None:
        self._declared_global.update(node.names)

    def generic_visit(self, node: ast.AST) -> None:
        # Definitions, handlers, patterns.
        for key in ("name", "rest"):
            name = getattr(node, key, None)
            if isinstance(name, str):
                self._bind(name)
        super().generic_visit(node)


def _faults(tree: ast.Module, bindings: Bindings) -> Iterator[str]:
    # Modules and classes document their fields this way too.
    documented = [node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS))]
    docstrings = {
        id(line) for node in documented for line in (node.body[:1] if isinstance(node, _FUNCTIONS) else node.body)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            value = node.value
            is_text = isinstance(value, ast.Constant) and (
                value.value is ... or (isinstance(value.value, str) and id(node) in docstrings)
            )
            if not isinstance(value, _EFFECTIVE) and not is_text:
                yield f"statement {ast.dump(value)}"
        elif isinstance(node, ast.Assign):
            targets = [ast.dump(target).replace("Store()", "Load()") for target in node.targets]
            if ast.dump(node.value) in targets:
                yield f"statement {ast.dump(node)}"
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name) and node.target.id not in bindings.bound | _BUILTINS:
                yield f"name {node.target.id}"
            if _is_idle(node.op, node.value):
                yield f"idle {ast.dump(node)}"
        elif isinstance(node, ast.BinOp):
            equal = isinstance(node.op, _DISTINCT) and ast.dump(node.left) == ast.dump(node.right)
            if equal or _is_idle(node.op, node.right):
                yield f"idle {ast.dump(node)}"
        elif isinstance(node, ast.Compare):
            yield from _compare_faults(node)
        elif isinstance(node, ast.Call):
            yield from _call_faults(node, bindings)
        elif isinstance(node, ast.Attribute):
            base, kind = node.value, None
            if isinstance(base, ast.Constant):
                kind = type(base.value)
            elif isinstance(base, ast.Name):
                kind = bindings.types.get(base.id)
            if kind is not None and not hasattr(kind, node.attr):
                yield f"attribute {ast.dump(node)}"


def _is_idle(operator: ast.operator, value: ast.expr) -> bool:
    if not isinstance(value, ast.Constant) or type(value.value) not in (int, float):
        return False
    return _IDLE.get(type(operator)) == value.value


def _compare_faults(node: ast.Compare) -> Iterator[str]:
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands[:-1], node.ops, operands[1:], strict=True):
        number = isinstance(right, ast.Constant) and type(right.value) in (int, float)
        text = isinstance(right, ast.Constant) and isinstance(right.value, str)
        if (
            (isinstance(operator, _DISTINCT) and ast.dump(left) == ast.dump(right))
            or (isinstance(operator, ast.In | ast.NotIn) and number)
            or (isinstance(operator, ast.Is | ast.IsNot) and (number or text))
        ):
            yield f"compare {ast.dump(node)}"


def _call_faults(node: ast.Call, bindings: Bindings) -> Iterator[str]:
    callee = node.func
    if isinstance(callee, _PLAIN):
        yield f"call {ast.dump(callee)}"
    if not isinstance(callee, ast.Name):
        return
    if callee.id in bindings.bound:
        if callee.id not in bindings.maybe_callable:
            yield f"call {callee.id}"
        return
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    fewest, maximum = _ARITY.get(callee.id, (0, len(node.args)))
    if not starred and not fewest <= len(node.args) <= maximum and not node.keywords:
        yield f"arguments {ast.dump(node)}"
    if not node.args:
        return
    inner = node.args[0]
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id not in bindings.bound:
        listed = callee.id == "range" and inner.func.id in _ITERATING - {"len"} | {"range"}
        if listed or (callee.id in _ITERATING and inner.func.id in _NUMBERS):
            yield f"arguments {ast.dump(node)}"


class _WithoutAnnotations(ast.NodeTransformer):
    """Removes annotations of parameters and results that are evaluated but never read."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known

    def _leave_out(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        # A decorator may read them.
        if not node.decorator_list:
            node.returns = self._kept(node.returns)
            arguments = node.args
            extra = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra):
                argument.annotation = self._kept(argument.annotation)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _leave_out

    def _kept(self, annotation: ast.expr | None) -> ast.expr | None:
        """An annotation with an undefined name fails where it is."""
        names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)} if annotation else set()
        return annotation if names - self._known else None


def strip_annotations(tree: ast.Module, bindings: Bindings) -> ast.Module:
    """The same program without annotations that change nothing; modifies the tree."""
    stripped: ast.Module = _WithoutAnnotations(frozenset(bindings.bound | _BUILTINS)).visit(tree)
    return stripped
