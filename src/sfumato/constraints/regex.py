"""Regular expressions in Python's syntax, compiled to automata over bytes.

Python's own parser reads the expression. A state of the automaton is a set of *rests*, each a stack of nodes that may
still follow; a counted repetition is one node, however high it counts. States are created only when reached, characters
stay classes until the very end, and then each state branches into bytes by itself.

Source: Antimirov 1996, "Partial derivatives of regular expressions and finite automaton constructions".
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import numpy as np

from sfumato.constraints.characters import Branch, Encoding, Ranges, category, complement, ignore_case, intersect, join
from sfumato.constraints.dfa import DEAD, Budget, Language, Row, merge_states, row_of
from sfumato.errors import RequestError

REFUSED = {
    sre.ASSERT: ("a lookahead or lookbehind", r"\(\?<?="),
    sre.ASSERT_NOT: ("a negative lookahead or lookbehind", r"\(\?<?!"),
    sre.GROUPREF: ("a backreference", r"\\[1-9]|\(\?P="),
    sre.GROUPREF_EXISTS: ("a conditional group", r"\(\?\("),
    sre.ATOMIC_GROUP: ("an atomic group", r"\(\?>"),
    sre.POSSESSIVE_REPEAT: ("a possessive quantifier", r"[*+?}]\+"),
    sre.AT: ("a word boundary", r"\\[bB]"),
}
"""A construct that is not regular, or not supported here: its name, and how it is written."""
BEGINNINGS = (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
ENDS = (sre.AT_END, sre.AT_END_STRING)
ALLOWED = "characters, classes, groups, alternatives, quantifiers, flags, and ^ and $ at the ends"
MAX_CHARACTERS = 300_000
"""Maximum characters of an expression; its parser takes a second for a million."""


def parse(pattern: str) -> Any:
    """Parse an expression with Python's parser.

    Raises:
        re.error: if it is invalid.
    """
    try:
        with warnings.catch_warnings():
            # Python plans to change the meaning of some patterns; today's counts.
            warnings.simplefilter("ignore", FutureWarning)
            return sre_parser.parse(pattern)
    except RecursionError:
        raise re.error("groups are nested too deeply") from None
    except (OverflowError, ValueError) as error:
        raise re.error(str(error)) from None


def find_refused(pattern: str, operator: Any) -> int:
    """The position of a refused construct in a pattern."""
    _, written = REFUSED[operator]
    # Skip anything escaped or within a class.
    for found in re.finditer(rf"(?P<it>{written})|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", pattern, re.DOTALL):
        if found["it"]:
            return found.start()
    return 0


class Unordered(NamedTuple):
    """Texts separated by a comma and a space, in any order."""

    once: tuple[str, ...]
    """Regular expressions of texts that occur at most once."""
    num_required: int = 0
    """How many of these, from the first, must occur."""
    more: str | None = None
    """Regular expression of texts that may occur any number of times."""

    @staticmethod
    def sign(number: int) -> str:
        """The placeholder for one of several in an expression: a lone surrogate, which is not a character of any
        text."""
        return chr(_FIRST_SIGN + number)


_FIRST_SIGN, MAX_UNORDERED = 0xD800, 2048


def from_regex(pattern: str, budget: Budget | None = None, unordered: Sequence[Unordered] = ()) -> Language:
    """The texts that fully match a regular expression, like `re.fullmatch`, except that $ is the very end.

    Args:
        pattern: in Python's syntax, without constructs that need backtracking: lookaround, backreferences.
        unordered: meaning of its placeholders; each may contain earlier ones.

    Raises:
        RequestError: if it is invalid, or takes too much.
    """
    if not isinstance(pattern, str):
        raise RequestError(f"the regular expression is {pattern!r}; allowed: a string")
    shown = repr(pattern if len(pattern) <= 100 else f"{pattern[:100]}…")
    if len(pattern) > MAX_CHARACTERS:
        raise RequestError(
            f"the regular expression {shown} has {len(pattern):,} characters; allowed: {MAX_CHARACTERS:,}"
        )
    try:
        return _Compiler(budget or Budget(), unordered).compile(parse(pattern))
    except re.error as error:
        raise RequestError(
            f"the regular expression {shown} cannot be read{_place(pattern, error.pos)}: {error.msg}"
        ) from None
    except _RefusedError as error:
        name, _ = REFUSED[error.operator]
        place = _place(pattern, find_refused(pattern, error.operator))
        raise RequestError(f"the regular expression {shown} has {name}{place}; supported: {ALLOWED}") from None


def _place(pattern: str, at: int | None) -> str:
    if at is None:
        return ""
    rest = pattern[at : at + 20]
    return f" at character {at + 1}, {rest!r}" if rest else " at its end"


class _RefusedError(Exception):
    def __init__(self, operator: Any) -> None:
        self.operator = operator


class _Node(NamedTuple):
    """A node of an expression, referring to others by index."""

    kind: str
    """ "characters", "sequence", "alternatives", "repeat", "beginning" or "end"; "unordered", or "rest" of one."""
    parts: tuple[int, ...] = ()
    """For characters, the index of their set."""
    low: int = 0
    """Minimum repetitions; for unordered parts, how many must occur."""
    high: int | None = None
    """Maximum repetitions, None if unlimited; for unordered parts, the one that may repeat."""


class _Compiler:
    """Builds one automaton."""

    def __init__(self, budget: Budget, unordered: Sequence[Unordered]) -> None:
        self.budget, self.unordered = budget, unordered
        self.nodes: dict[_Node, int] = {}
        self.node: list[_Node] = []
        self.sets: dict[Ranges, int] = {}
        self.characters: dict[tuple[Any, ...], int] = {}
        # A rest is a node, the rest after it, and how many parts of a sequence are done. The first is the end.
        self.rest: list[tuple[int, int, int]] = [(-1, -1, 0)]
        self.rests = {self.rest[0]: 0}
        self.moves_of: dict[int, tuple[list[tuple[int, int]], bool]] = {}
        self.mask_of_set: list[int] = []

    def compile(self, parsed: Any) -> Language:
        try:
            root = self.read(parsed, parsed.state.flags)
            self.comma = self.read(parse(", "), 0)
        except RecursionError:
            raise re.error("groups are nested too deeply") from None
        atoms = self.partition()
        return self.spell(*self.determinize(self.push(root, 0)), atoms)

    # From Python's parse tree to nodes.

    def add(self, node: _Node) -> int:
        number = self.nodes.setdefault(node, len(self.node))
        if number == len(self.node):
            self.node.append(node)
        return number

    def read(self, items: Iterable[Any], flags: int) -> int:
        parts = tuple(self.read_item(operator, argument, flags) for operator, argument in items)
        return parts[0] if len(parts) == 1 else self.add(_Node("sequence", parts))

    def read_item(self, operator: Any, argument: Any, flags: int) -> int:
        self.budget.check(len(self.node))
        if operator is sre.LITERAL and 0 <= argument - _FIRST_SIGN < len(self.unordered):
            once, num_required, more = self.unordered[argument - _FIRST_SIGN]
            parts = tuple(self.read(parse(each), flags) for each in once)
            again = None if more is None else self.read(parse(more), flags)
            return self.add(_Node("unordered", parts, num_required, again))
        if operator in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
            key = operator, argument if isinstance(argument, int) else str(argument), flags
            if key not in self.characters:
                ranges = intersect(_members(operator, argument, flags), complement(()))
                self.characters[key] = self.add(_Node("characters", (self.sets.setdefault(ranges, len(self.sets)),)))
            return self.characters[key]
        if operator is sre.SUBPATTERN:
            _, added, removed, inner = argument
            return self.read(inner, (flags | added) & ~removed)
        if operator is sre.BRANCH:
            return self.add(_Node("alternatives", tuple(self.read(inner, flags) for inner in argument[1])))
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            low, high, inner = argument
            part = self.read(inner, flags)
            if self.may_be_empty(part):
                # Counting something that may be empty would lead from each count to all that follow.
                part, low = self.without_empty(part), 0
            return self.add(_Node("repeat", (part,), low, None if high == sre.MAXREPEAT else high))
        if operator is sre.AT and argument in (*BEGINNINGS, *ENDS):
            if flags & re.MULTILINE:
                raise re.error("^ and $ stand for every line (flag m); allowed: for the whole text")
            return self.add(_Node("beginning" if argument in BEGINNINGS else "end"))
        raise _RefusedError(operator)

    def may_be_empty(self, number: int) -> bool:
        node = self.node[number]
        if node.kind == "sequence":
            return all(map(self.may_be_empty, node.parts))
        if node.kind == "alternatives":
            return any(map(self.may_be_empty, node.parts))
        # What is repeated at least once is not empty.
        return node.kind in ("repeat", "unordered") and not node.low

    def without_empty(self, number: int) -> int:
        """A node for the non-empty texts of another one."""
        node = self.node[number]
        if not self.may_be_empty(number):
            return number
        if node.kind == "repeat":
            return self.add(node._replace(low=1))
        parts = [self.without_empty(part) for part in node.parts]
        if node.kind == "sequence":
            # Some first part is not empty; what follows it is shared.
            rest = self.add(_Node("sequence"))
            for i in reversed(range(len(parts))):
                parts[i] = self.add(_Node("sequence", (parts[i], rest)))
                rest = self.add(_Node("sequence", (node.parts[i], rest)))
        return self.add(_Node("alternatives", tuple(parts)))

    def partition(self) -> list[Ranges]:
        """Partition of characters into sets that no part distinguishes, with masks for each set."""
        edges: dict[int, int] = {}
        for ranges, number in self.sets.items():
            for first, last in ranges:
                for at in (first, last + 1):
                    edges[at] = edges.get(at, 0) ^ 1 << number
        atoms: dict[int, list[tuple[int, int]]] = {}
        inside, start = 0, 0
        for at in sorted(edges):
            if inside:
                atoms.setdefault(inside, []).append((start, at - 1))
            inside, start = inside ^ edges[at], at
        self.mask_of_set = [0] * len(self.sets)
        for i, members in enumerate(atoms):
            self.budget.check(0)
            for number in _bits(members):
                self.mask_of_set[number] |= 1 << i
        return [tuple(ranges) for ranges in atoms.values()]

    # From nodes to states.

    def push(self, node: int, following: int, skipped: int = 0) -> int:
        number = self.rests.setdefault((node, following, skipped), len(self.rest))
        if number == len(self.rest):
            self.rest.append((node, following, skipped))
        return number

    def follow(self, node: _Node, part: int, following: int) -> int:
        """A rest after one unordered part, with a comma unless it is the first."""
        following = self.push(part, following)
        return self.push(self.comma, following) if node.kind == "rest" else following

    def moves(self, rest: int, *, at_start: bool) -> tuple[list[tuple[int, int]], bool]:
        """The possible next characters as masks, each with the rest after them; and whether the text may end."""
        moves: dict[tuple[int, int], None] = {}
        waiting, seen, can_end = [(rest, False)], {(rest, False)}, False

        def wait(rest: int) -> None:
            if (rest, ended) not in seen:
                seen.add((rest, ended))
                waiting.append((rest, ended))

        while waiting:
            here, ended = waiting.pop()
            self.budget.check(len(self.moves_of))
            number, following, skipped = self.rest[here]
            if number < 0:
                can_end = True
                continue
            node = self.node[number]
            if node.kind == "characters":
                if not ended and self.mask_of_set[node.parts[0]]:
                    moves[self.mask_of_set[node.parts[0]], following] = None
            elif node.kind == "sequence":
                if skipped + 1 < len(node.parts):
                    following = self.push(number, following, skipped + 1)
                wait(self.push(node.parts[skipped], following) if node.parts else following)
            elif node.kind == "alternatives":
                for part in node.parts:
                    wait(self.push(part, following))
            elif node.kind == "repeat":
                if not node.low:
                    wait(following)
                if node.high is None or node.high > 0:
                    [part] = node.parts
                    high = None if node.high is None else node.high - 1
                    again = self.add(_Node("repeat", node.parts, max(0, node.low - 1), high))
                    wait(self.push(part, self.push(again, following)))
            elif node.kind in ("unordered", "rest"):
                if not node.low:
                    wait(following)
                for i, part in enumerate(node.parts):
                    left = (*node.parts[:i], *node.parts[i + 1 :])
                    after = self.add(_Node("rest", left, node.low - (i < node.low), node.high))
                    wait(self.follow(node, part, self.push(after, following)))
                if node.high is not None:
                    wait(self.follow(node, node.high, self.push(self.add(node._replace(kind="rest")), following)))
            elif node.kind == "end":
                ended = True
                wait(following)
            elif at_start:
                wait(following)
        return list(moves), can_end

    def determinize(self, start: int) -> tuple[list[Row], list[bool]]:
        """For each reachable set of rests, the start's first: its transitions, and whether a text may end."""
        numbers = {frozenset((start,)): 0}
        rows: list[Row] = []
        is_final: list[bool] = []
        waiting = deque(numbers)
        while waiting:
            self.budget.check(len(numbers))
            merged: dict[int, set[int]] = {}
            can_end = False
            for rest in waiting.popleft():
                if rest not in self.moves_of:
                    self.moves_of[rest] = self.moves(rest, at_start=not rows)
                moves, ends = self.moves_of[rest]
                can_end |= ends
                for mask, target in moves:
                    merged.setdefault(mask, set()).add(target)
            if not rows:
                # What may only stand at the start stands nowhere else.
                self.moves_of.clear()
            moves = []
            for mask, targets in _apart(merged):
                key = frozenset(targets)
                if key not in numbers:
                    numbers[key] = len(numbers)
                    waiting.append(key)
                moves.append((mask, numbers[key]))
            rows.append(row_of(moves))
            is_final.append(can_end)
        return rows, is_final

    # From states to bytes.

    def spell(self, rows: Sequence[Row], is_final: Sequence[bool], atoms: Sequence[Ranges]) -> Language:
        """A byte automaton from a minimal character automaton with the same start."""
        number_S, kept = merge_states(rows, is_final, 0, self.budget)
        encoding, branch_of = Encoding(), dict[tuple[int, ...], tuple[Branch, tuple[int, ...]]]()
        num_states = len(kept) + 1
        inner: dict[tuple[Branch, tuple[int, ...]], int] = {}
        # For each branch, the states that use it, and the targets of their slots.
        spelled: dict[Branch, tuple[list[int], list[list[int]]]] = {}
        waiting: list[tuple[int, Branch, Sequence[int]]] = []
        for number, state in enumerate(kept, 1):
            merged = row_of((mask, number_S[target]) for target, mask in rows[state].items() if number_S[target])
            if merged:
                masks = tuple(merged.values())
                if masks not in branch_of:
                    parts = [join(itertools.chain(*(atoms[i] for i in _bits(mask)))) for mask in masks]
                    branch_of[masks] = encoding.encode(parts)
                branch, leaves = branch_of[masks]
                targets = list(merged)
                waiting.append((number, branch, [targets[leaf] for leaf in leaves]))
        for number, branch, into in waiting:  # which grows meanwhile
            self.budget.check(num_states)
            slots = [DEAD]
            for next_branch, behind_parts in branch.slots:
                key = tuple(into[part] for part in behind_parts)
                if next_branch is None:
                    slots.append(key[0])
                    continue
                if (next_branch, key) not in inner:
                    inner[next_branch, key] = num_states
                    waiting.append((num_states, next_branch, key))
                    num_states += 1
                slots.append(inner[next_branch, key])
            numbers, all_slots = spelled.setdefault(branch, ([], []))
            numbers.append(number)
            all_slots.append(slots)
        next_SB = np.zeros((num_states, 256), dtype=np.int32)
        for branch, (numbers, all_slots) in spelled.items():
            next_SB[numbers] = np.array(all_slots, dtype=np.int32)[:, branch.slot_B]
        final_S = np.zeros(num_states, dtype=bool)
        final_S[1 : len(kept) + 1] = [is_final[state] for state in kept]
        return Language(next_SB, final_S, 1)


def _apart(moves: Mapping[int, set[int]]) -> Iterable[tuple[int, set[int]]]:
    """Disjoint transitions."""
    apart: dict[int, set[int]] = {}
    for mask, targets in moves.items():
        left = mask
        for known in list(apart):
            if common := left & known:
                both = apart.pop(known)
                if known != common:
                    apart[known & ~common] = both
                apart[common] = both | targets
                left &= ~common
                if not left:
                    break
        if left:
            apart[left] = targets
    return apart.items()


def _bits(mask: int) -> Iterator[int]:
    """The positions of the bits that are set, from the lowest."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _members(operator: Any, argument: Any, flags: int) -> Ranges:
    """The characters of a class."""
    ascii_only = bool(flags & re.ASCII)

    def cased(ranges: Ranges) -> Ranges:
        return ignore_case(ranges, ascii_only=ascii_only) if flags & re.IGNORECASE else ranges

    if operator is sre.ANY:
        return complement(() if flags & re.DOTALL else ((0x0A, 0x0A),))
    if operator in (sre.LITERAL, sre.NOT_LITERAL):
        ranges = cased(((argument, argument),))
        return ranges if operator is sre.LITERAL else complement(ranges)
    negated = argument[0][0] is sre.NEGATE
    found: list[tuple[int, int]] = []
    for kind, value in argument[negated:]:
        if kind is sre.CATEGORY:
            name = str(value).removeprefix("CATEGORY_")
            members = category(name.removeprefix("NOT_")[0].lower(), ascii_only=ascii_only)
            found += complement(members) if name.startswith("NOT_") else members
        else:
            found += cased(((value, value) if kind is sre.LITERAL else value,))
    return complement(found) if negated else join(found)
