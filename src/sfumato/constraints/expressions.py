"""Expressions over characters, compiled to automata over bytes.

A state of the automaton is a set of *rests*, each a stack of nodes that may still follow; a counted repetition is one
node, however high it counts. States are created only when reached, characters stay classes until the very end, and then
each state branches into bytes by itself.

Source: Antimirov 1996, "Partial derivatives of regular expressions and finite automaton constructions".
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.constraints.characters import Branch, Encoding, Ranges, join
from sfumato.constraints.dfa import DEAD, Budget, Language, Row, merge_states, row_of


class Node(NamedTuple):
    """A node of an expression, referring to others by index."""

    kind: str
    """ "characters", "sequence", "alternatives", "repeat", "beginning", "end", "rule", "unordered" or "rest" of one."""
    parts: tuple[int, ...] = ()
    """For characters, the index of their set; for a rule, its number."""
    low: int = 0
    """Minimum repetitions; for unordered parts, how many must occur; for a rule, how deep it is within itself."""
    high: int | None = None
    """Maximum repetitions, None if unlimited; for unordered parts, the one that may repeat."""


class Compiler:
    """Builds one automaton: nodes first, with `add` and its like, then `compile`."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.nodes: dict[Node, int] = {}
        self.node: list[Node] = []
        self.bodies: dict[Node, int] = {}
        """What a rule stands for."""
        self.comma = -1
        """What separates unordered parts."""
        self.sets: dict[Ranges, int] = {}
        # A rest is a node, the rest after it, and how many parts of a sequence are done. The first is the end.
        self.rest: list[tuple[int, int, int]] = [(-1, -1, 0)]
        self.rests = {self.rest[0]: 0}
        self.moves_of: dict[int, tuple[list[tuple[int, int]], bool]] = {}
        self.mask_of_set: list[int] = []

    def compile(self, root: int) -> Language:
        """The texts of a node."""
        atoms = self.partition()
        return self.spell(*self.determinize(self.push(root, 0)), atoms)

    # Nodes.

    def add(self, node: Node) -> int:
        number = self.nodes.setdefault(node, len(self.node))
        if number == len(self.node):
            self.node.append(node)
        return number

    def characters(self, ranges: Ranges) -> int:
        """A node for one of some characters."""
        return self.add(Node("characters", (self.sets.setdefault(ranges, len(self.sets)),)))

    def sequence(self, parts: Sequence[int]) -> int:
        """A node for some others, one after the other."""
        return parts[0] if len(parts) == 1 else self.add(Node("sequence", tuple(parts)))

    def repeat(self, part: int, low: int, high: int | None) -> int:
        """A node for another one, repeated."""
        if self.may_be_empty(part):
            # Counting something that may be empty would lead from each count to all that follow.
            part, low = self.without_empty(part), 0
        return self.add(Node("repeat", (part,), low, high))

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
            rest = self.add(Node("sequence"))
            for i in reversed(range(len(parts))):
                parts[i] = self.add(Node("sequence", (parts[i], rest)))
                rest = self.add(Node("sequence", (node.parts[i], rest)))
        return self.add(Node("alternatives", tuple(parts)))

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

    def follow(self, node: Node, part: int, following: int) -> int:
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
                if skipped + 2 < len(node.parts):
                    following = self.push(number, following, skipped + 1)
                elif skipped + 1 < len(node.parts):
                    # As the part itself, which may follow elsewhere too.
                    following = self.push(node.parts[-1], following)
                wait(self.push(node.parts[skipped], following) if node.parts else following)
            elif node.kind == "alternatives":
                for part in node.parts:
                    wait(self.push(part, following))
            elif node.kind == "repeat":
                if not node.low:
                    wait(following)
                if node.high is None or node.high > 0:
                    [part] = node.parts
                    if node.high != 1:
                        high = None if node.high is None else node.high - 1
                        again = self.add(Node("repeat", node.parts, max(0, node.low - 1), high))
                        following = self.push(again, following)
                    wait(self.push(part, following))
            elif node.kind in ("unordered", "rest"):
                if not node.low:
                    wait(following)
                for i, part in enumerate(node.parts):
                    left = (*node.parts[:i], *node.parts[i + 1 :])
                    after = self.add(Node("rest", left, node.low - (i < node.low), node.high))
                    wait(self.follow(node, part, self.push(after, following)))
                if node.high is not None:
                    wait(self.follow(node, node.high, self.push(self.add(node._replace(kind="rest")), following)))
            elif node.kind == "rule":
                wait(self.push(self.bodies[node], following))
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
            rests = waiting.popleft()
            self.budget.check(len(numbers), len(rests))
            merged: dict[int, set[int]] = {}
            can_end = False
            for rest in rests:
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
