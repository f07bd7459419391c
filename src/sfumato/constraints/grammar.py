r"""Context-free grammars in GBNF, the notation of llama.cpp and xgrammar.

    root ::= sum "\n"
    sum  ::= term ("+" term)*
    term ::= [0-9]+ | "(" sum ")"

A rule may refer to itself. At its own end that is exact; elsewhere a finite automaton cannot count, so rules are nested
up to some depth: each text is one of the grammar, but not each text of the grammar is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.config import check_choice
from sfumato.constraints.dfa import NESTED_STATES, PART_CHECKS, Budget, Language
from sfumato.constraints.expressions import Node
from sfumato.constraints.regex import Reader, parse
from sfumato.errors import RequestError

ROOT = "root"
"""The rule of whole texts."""
DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""How many rules of a recursion may be within one another: as many as fit, and at least the first."""
MAX_CHARACTERS, MAX_RULES, MAX_GROUPS = 100_000, 1000, 100
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*) | (?P<rule>[\w-]+)\s*::= | (?P<name>[\w-]+) | (?P<text>"(?:\\.|[^"\\\n])*")
      | (?P<set>\[(?:\\.|[^\]\\\n])*\]|\.) | (?P<counts>[*+?]|\{\s*\d{0,9}\s*(?:,\s*\d{0,9}\s*)?\})
      | (?P<sign>[|()])""",
    re.VERBOSE | re.DOTALL,
)
_CHARACTER = re.compile(r"\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\.|.", re.DOTALL)
_ESCAPES = r"\n, \r, \t, \", \\, \[, \], \xHH, \uHHHH and \UHHHHHHHH"
_ESCAPE = re.compile(r'\\(?:[nrt"\\\[\]]|[xuU].+)')


@dataclass(frozen=True)
class Rule:
    """A reference to a rule."""

    name: str


@dataclass(frozen=True)
class Parts:
    """Expressions one after the other, or alternatives."""

    parts: tuple[Expression, ...]
    is_sequence: bool


@dataclass(frozen=True)
class Repeat:
    """A repeated expression."""

    part: Expression
    low: int
    high: int | None


Expression = str | Rule | Parts | Repeat
"""A string is a regular expression of characters."""


def from_grammar(text: str, budget: Budget | None = None) -> Language:
    """The texts of a grammar's rule `root`, with rules within themselves as deep as a few thousand states allow.

    Raises:
        RequestError: if it is invalid, has a rule that begins with itself, or takes too much.
    """
    if len(text) > MAX_CHARACTERS:
        raise RequestError(f"the grammar has {len(text):,} characters; allowed: {MAX_CHARACTERS:,}")
    budget = budget or Budget()
    grammar, found = _Grammar(_Parser(text).rules), None
    for depth in DEPTHS:
        limits = budget if found is None else budget.part(NESTED_STATES, PART_CHECKS)
        try:
            unroller = _Unroller(grammar, limits, depth)
            language = unroller.compile(unroller.root)
        except RequestError:
            # A faster machine might have had the time.
            if found is None or budget.seconds_left == 0:
                raise
            break
        if language.final_S.any() or not unroller.is_cut:
            found = language
        if not unroller.is_cut:
            break
    if found is None:
        raise RequestError(f"the grammar's rules are more than {DEPTHS[-1]} deep within one another in all its texts")
    return found


class _Parser:
    """Reads rules; each ends where the next begins."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, Expression] = {}
        self._text, self._tokens, self._num_open = text, self._read(text), 0
        self._next()
        while self._kind:
            name = self._said.removesuffix("::=").strip()
            if self._kind != "rule":
                raise self._error(f"{self._said!r} is in no rule; allowed: NAME ::= ...")
            if name in self.rules:
                raise self._error(f"the rule {name} is defined twice")
            self._next()
            self.rules[name] = self._alternatives()
            if self._kind not in ("rule", ""):
                raise self._error(f"{self._said!r} ends nothing")

    def _read(self, text: str) -> Iterator[tuple[str, str, int]]:
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                self._at, shown = at, text[at : at + 20].partition("\n")[0]
                allowed = 'NAME ::=, "texts", [sets], ., groups, |, *, +, ? and {m,n}'
                raise self._error(f"{shown!r} is unknown; allowed: {allowed}")
            if found.lastgroup != "space":
                yield str(found.lastgroup), found[0], at
            at = found.end()

    def _next(self) -> None:
        self._kind, self._said, self._at = next(self._tokens, ("", "", len(self._text)))

    def _error(self, said: str) -> RequestError:
        line = self._text.count("\n", 0, self._at) + 1
        return RequestError(f"the grammar cannot be read at line {line}: {said}")

    def _alternatives(self) -> Expression:
        parts = [self._sequence()]
        while self._said == "|":
            self._next()
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Parts(tuple(parts), is_sequence=False)

    def _sequence(self) -> Expression:
        parts: list[Expression] = []
        while self._kind in ("name", "text", "set", "counts") or self._said == "(":
            if self._kind == "counts":
                if not parts:
                    raise self._error(f"{self._said!r} repeats nothing")
                parts[-1] = self._repeat(parts[-1])
            elif self._said == "(":
                self._num_open += 1
                if self._num_open > MAX_GROUPS:
                    raise self._error(f"more than {MAX_GROUPS} groups are within one another")
                self._next()
                parts.append(self._alternatives())
                if self._said != ")":
                    raise self._error("a group is not closed")
                self._num_open -= 1
            else:
                parts.append(Rule(self._said) if self._kind == "name" else self._characters())
            self._next()
        return parts[0] if len(parts) == 1 else Parts(tuple(parts), is_sequence=True)

    def _repeat(self, part: Expression) -> Repeat:
        if (signs := {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._said)) is not None:
            return Repeat(part, *signs)
        low, comma, high = self._said.strip("{}").replace(" ", "").partition(",")
        if not low and not high:
            raise self._error(f"{self._said!r} says no number; allowed: {{m}}, {{m,}}, {{,n}}, {{m,n}}")
        repeat = Repeat(part, int(low or 0), int(high) if high else None if comma else int(low))
        if repeat.high is not None and repeat.high < repeat.low:
            raise self._error(f"{self._said!r} counts downwards")
        return repeat

    def _characters(self) -> str:
        """The regular expression of a quoted text or a set."""
        said = self._said
        if self._kind == "text":
            characters = _CHARACTER.findall(said[1:-1])
            for each in characters:
                if each[0] == "\\" and not _ESCAPE.fullmatch(each):
                    raise self._error(f"{each!r} is no escape; allowed: {_ESCAPES}")
            said = "".join(each if each[0] == "\\" else re.escape(each) for each in characters)
        regex = "(?s:.)" if said == "." else said
        try:
            parse(regex)
        except re.error as error:
            raise self._error(f"{self._said!r} cannot be read: {error.msg}") from None
        return regex


class _Grammar:
    """Rules, and what follows from them."""

    def __init__(self, rules: dict[str, Expression]) -> None:
        self.rules = rules
        self.number = {name: number for number, name in enumerate(rules)}
        if len(rules) > MAX_RULES:
            raise RequestError(f"the grammar has {len(rules):,} rules; allowed: {MAX_RULES:,}")
        if ROOT not in rules:
            raise RequestError(f"the grammar has no rule {ROOT}; it has {', '.join(rules) or 'none'}")
        names_in = {name: set(_references(body)) for name, body in rules.items()}
        for name, inner in names_in.items():
            for each in sorted(inner):
                check_choice(f"rule in the grammar's rule {name}:", each, rules)
        self.within = _closure(names_in)
        """The rules that each rule leads to."""
        self.empty = set[int]()
        """The numbers of the rules that may be empty."""
        while (found := {self.number[name] for name, body in rules.items() if self._is_empty(body)}) != self.empty:
            self.empty = found
        starts = _closure({name: set(self._starts(body)) for name, body in rules.items()})
        if left := next((name for name in rules if name in starts[name]), None):
            raise RequestError(
                f"the grammar's rule {left} begins with itself; allowed: itself at the end, or a repetition with * or +"
            )

    def _is_empty(self, expression: Expression) -> bool:
        if isinstance(expression, str):
            return not expression
        if isinstance(expression, Rule):
            return self.number[expression.name] in self.empty
        if isinstance(expression, Repeat):
            return not expression.low or self._is_empty(expression.part)
        return (all if expression.is_sequence else any)(map(self._is_empty, expression.parts))

    def _starts(self, expression: Expression) -> Iterator[str]:
        """The rules that a text of an expression may begin with."""
        if isinstance(expression, Rule):
            yield expression.name
        elif isinstance(expression, Repeat):
            yield from self._starts(expression.part)
        elif isinstance(expression, Parts):
            for part in expression.parts:
                yield from self._starts(part)
                if expression.is_sequence and not self._is_empty(part):
                    break


class _Unroller(Reader):
    """Turns rules into nodes, each rule once for every depth."""

    def __init__(self, grammar: _Grammar, budget: Budget, max_depth: int) -> None:
        super().__init__(budget)
        self.grammar, self.max_depth = grammar, max_depth
        self.is_cut = False
        """Whether a rule would be deeper within itself."""
        self.waiting = list[tuple[str, int]]()
        self.root = self.rule(ROOT, 0)
        while self.waiting:
            name, depth = self.waiting.pop()
            self.bodies[self.node_of(name, depth)] = self.build(grammar.rules[name], name, depth, is_end=True)

    def node_of(self, name: str, depth: int) -> Node:
        return Node("rule", (self.grammar.number[name],), depth)

    def rule(self, name: str, depth: int) -> int:
        """The node of a rule."""
        if depth > self.max_depth:
            self.is_cut = True
            return self.add(Node("alternatives"))
        node = self.node_of(name, depth)
        if node not in self.nodes:
            self.waiting.append((name, depth))
        return self.add(node)

    def build(self, expression: Expression, name: str, depth: int, *, is_end: bool) -> int:
        """The node of an expression in a rule; at the rule's end, the rule itself is no deeper."""
        self.budget.check(len(self.node))
        if isinstance(expression, str):
            return self.read(parse(expression), 0)
        if isinstance(expression, Rule):
            is_within = name in self.grammar.within[expression.name]
            return self.rule(expression.name, depth + (not is_end) if is_within else 0)
        if isinstance(expression, Repeat):
            part = self.build(expression.part, name, depth, is_end=is_end and expression.high == 1)
            return self.repeat(part, expression.low, expression.high)
        last = len(expression.parts) - 1
        parts = [
            self.build(part, name, depth, is_end=is_end and (index == last or not expression.is_sequence))
            for index, part in enumerate(expression.parts)
        ]
        return self.sequence(parts) if expression.is_sequence else self.add(Node("alternatives", tuple(parts)))

    def may_be_empty(self, number: int) -> bool:
        node = self.node[number]
        return node.parts[0] in self.grammar.empty if node.kind == "rule" else super().may_be_empty(number)

    def without_empty(self, number: int) -> int:
        return number if self.node[number].kind == "rule" else super().without_empty(number)


def _references(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Rule):
        yield expression.name
    for part in [expression.part] if isinstance(expression, Repeat) else getattr(expression, "parts", ()):
        yield from _references(part)


def _closure(leads: dict[str, set[str]]) -> dict[str, set[str]]:
    """All that each name leads to, directly or not."""
    found = dict[str, set[str]]()
    for name, first in leads.items():
        waiting, reached = list(first), set(first)
        while waiting:
            new = leads[waiting.pop()] - reached
            reached |= new
            waiting += new
        found[name] = reached
    return found
