"""Languages: sets of allowed texts, as deterministic automata over bytes.

Schemas, regular expressions, choices, banned strings and custom constraints all become the same kind of automaton and
can be combined. Nothing here knows tokens.
"""

# S states, B bytes

from __future__ import annotations

import gc
import math
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Never, Protocol, runtime_checkable

import numpy as np

from sfumato.errors import RequestError

Numbers = np.ndarray[Any, np.dtype[np.int32]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]

DEAD = 0
"""The dead state, from which nothing is accepted."""
MAX_STATES = 50_000
MAX_SECONDS = 1.7
"""Work between two checks of the clock is short enough for a refusal within two seconds."""
NESTED_STATES = 8_000
"""Approximate number of states up to which schemas and grammars that refer to themselves are nested deeper."""
PART_CHECKS = 250_000
"""Work of an attempt at more than is needed, such as deeper nesting: about half a second."""
_NEVER = 2**31 - 1


UNNAMED = "the constraint"
"""Placeholder in messages for the constraint's name."""


class Budget:
    """Limits on building one language. Inside `with`, garbage collection of old objects is off: states have no cycles,
    and a collection over so many of them takes longer than an interrupt may wait.

    Args:
        max_states: for any intermediate automaton.
        max_seconds: CPU time of this thread, so the machine's load does not matter. None is `MAX_SECONDS`.
        max_checks: how often `check` may be called, which does not depend on the machine.
    """

    def __init__(
        self, max_states: int = MAX_STATES, max_seconds: float | None = None, max_checks: float = math.inf
    ) -> None:
        self.max_states, self.max_seconds = max_states, MAX_SECONDS if max_seconds is None else max_seconds
        self.max_checks = max_checks
        self._end = time.thread_time() + self.max_seconds
        self._num_checks = self._num_since_clock = 0

    def __enter__(self) -> Budget:
        self._thresholds = gc.get_threshold()
        gc.set_threshold(*self._thresholds[:2], _NEVER)
        return self

    def __exit__(self, *_: object) -> None:
        # If another thread started meanwhile and ends later, leave the objects alone.
        if self._thresholds[2] != _NEVER:
            gc.set_threshold(*self._thresholds)

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._end - time.thread_time())

    def _is_over(self) -> bool:
        self._num_since_clock = 0
        return time.thread_time() > self._end

    def part(self, max_states: int, max_checks: int) -> Budget:
        """A smaller budget for a first attempt; its use also counts here. Every machine gives up at the same point."""
        return Budget(max_states, self.seconds_left, max_checks)

    def check(self, num_states: int, work: int = 1) -> None:
        """Refuse an automaton with too many states, or that took too long.

        Args:
            work: number of steps until the next check, each about a microsecond.

        Raises:
            RequestError: if a limit is exceeded.
        """
        self._num_checks += 1
        self._num_since_clock += work
        if num_states > self.max_states:
            taken = f"more than {self.max_states:,} states"
        elif self._num_checks > self.max_checks:
            taken = f"more than {self.max_checks:,} checks"
        # Checked only sometimes, because reading the clock is slower than the work.
        elif self._num_since_clock >= 1024 and self._is_over():
            taken = f"more than {self.max_seconds:g} s, which came to {num_states:,} states"
        else:
            return
        raise RequestError(
            f"{UNNAMED} takes {taken}; allowed: {self.max_states:,} states and {self.max_seconds:g} s. "
            "Lower the bounds on lengths and numbers of items"
        )


@dataclass(frozen=True, eq=False)
class Language:
    """A deterministic automaton over bytes."""

    next_SB: Numbers
    """int32 [S, 256]; transition for each byte. DEAD leads to itself."""
    final_S: Truths
    """bool; whether a text may end here."""
    start: int
    """The start state."""

    def accepts(self, text: str | bytes) -> bool:
        """Whether it accepts a text."""
        state = self.start
        for byte in text.encode() if isinstance(text, str) else text:
            state = int(self.next_SB[state, byte])
        return bool(self.final_S[state])

    @cached_property
    def byte_kinds(self) -> tuple[list[int], Numbers]:
        """Representatives of bytes with different transitions, and each byte's class."""
        weights_S = np.random.default_rng(0).integers(1, 2**62, len(self.next_SB), dtype=np.int64)
        # Sums of random weights distinguish columns; overflow is harmless.
        code_B = np.einsum("s,sb->b", weights_S, self.next_SB)
        _, kinds, kind_B = np.unique(code_B, return_index=True, return_inverse=True)
        return kinds.tolist(), kind_B.astype(np.int32)

    def minimize(self, budget: Budget | None = None) -> Language:
        """The minimal automaton for the same language."""
        kinds, kind_B = self.byte_kinds
        columns_SB = self.next_SB[:, kinds]
        rows = [row_of((1 << i, target) for i, target in enumerate(row) if target) for row in columns_SB.tolist()]
        number_S, kept = merge_states(rows, self.final_S.tolist(), self.start, budget or Budget())
        next_SB = np.zeros((len(kept) + 1, 256), dtype=np.int32)
        next_SB[1:] = np.array(number_S)[columns_SB[kept]][:, kind_B]
        return Language(next_SB, np.append(False, self.final_S[kept]), 1)

    def intersect(self, other: Language, budget: Budget | None = None) -> Language:
        """The intersection of two languages.

        Raises:
            RequestError: if it takes too much.
        """
        budget = budget or Budget()
        numbers = {(DEAD, DEAD): DEAD, (self.start, other.start): 1}
        pairs, rows, finals = deque([(self.start, other.start)]), [np.zeros(256, dtype=np.int32)], [False]
        while pairs:
            left, right = pairs.popleft()
            finals.append(bool(self.final_S[left] & other.final_S[right]))
            left_moves, right_moves = self.next_SB[left], other.next_SB[right]
            dead = (left_moves == DEAD) | (right_moves == DEAD)
            codes, place_B = np.unique(
                np.where(dead, 0, left_moves.astype(np.int64) * len(other.final_S) + right_moves), return_inverse=True
            )
            targets = []
            for pair in zip(*(each.tolist() for each in np.divmod(codes, len(other.final_S))), strict=True):
                if pair not in numbers:
                    numbers[pair] = len(numbers)
                    pairs.append(pair)
                targets.append(numbers[pair])
            rows.append(np.array(targets, dtype=np.int32)[place_B])
            budget.check(len(numbers))
        return Language(np.stack(rows), np.array(finals), 1).minimize(budget)


Row = Mapping[int, int]
"""Transitions of a state: for each target its symbols, as the bits of a number; others lead nowhere."""


def row_of(moves: Iterable[tuple[int, int]]) -> Row:
    """The row of transitions, each given as symbols and their target."""
    row: dict[int, int] = {}
    for mask, target in moves:
        row[target] = row.get(target, 0) | mask
    return row


def merge_states(
    rows: Sequence[Row], is_final: Sequence[bool], start: int, budget: Budget
) -> tuple[list[int], list[int]]:
    """The number of states of the minimal automaton.

    Returns:
        For each state, the number of its merged state, in order of reachability, from 1 for the start; 0 if nothing is
        accepted. And a representative for each number from 1.

    Source: Hopcroft 1971, "An n log n algorithm for minimizing states in a finite automaton": when a set of states
        splits, all parts but the largest are propagated.
    """
    before: list[list[int]] = [[] for _ in rows]
    for state, row in enumerate(rows):
        for target in row:
            before[target].append(state)
    alive = {state for state, final in enumerate(is_final) if final}
    waiting = list(alive)
    while waiting:
        new = [state for state in before[waiting.pop()] if state not in alive]
        alive.update(new)
        waiting += new
    # DEAD is a block of its own; whatever leads to it leads nowhere.
    block = [int(is_final[state]) if state in alive else -1 for state in range(len(rows))]
    members = [{state for state in alive if block[state] == number} for number in (0, 1)]
    changed = {number: set(states) for number, states in enumerate(members) if states}

    def signature(state: int) -> frozenset[tuple[int, int]]:
        moves = [(mask, block[target]) for target, mask in rows[state].items() if block[target] >= 0]
        return frozenset(row_of(moves).items())

    while changed:
        budget.check(len(rows))
        number, states = changed.popitem()
        groups: dict[Any, set[int]] = {}
        for state in states:
            groups.setdefault(signature(state), set()).add(state)
        # Blocks that did not change are still equivalent.
        rest = len(members[number]) - len(states)
        alike = signature(next(each for each in members[number] if each not in states)) if rest else None
        largest = max(groups, key=lambda each: len(groups[each]) + (rest if each == alike else 0))
        if rest and alike not in groups and rest > len(groups[largest]):
            largest = alike
        if rest and alike != largest:
            groups.setdefault(alike, set()).update(members[number] - states)
        affected: list[int] = []
        for each, group in groups.items():
            if each == largest:
                continue
            members[number] -= group
            for state in group:
                block[state] = len(members)
                affected += before[state]
            members.append(group)
        for state in affected:
            if block[state] >= 0:
                changed.setdefault(block[state], set()).add(state)
    if start not in alive:
        return [0] * len(rows), [start]
    kept, number_of = [start], {block[start]: 1}
    for state in kept:
        for target in rows[state]:
            if block[target] >= 0 and block[target] not in number_of:
                kept.append(target)
                number_of[block[target]] = len(kept)
    return [number_of.get(each, 0) for each in block], kept


def from_choices(choices: Sequence[str], budget: Budget | None = None) -> Language:
    """Exactly these texts.

    Raises:
        RequestError: if there are none, one is empty, or they take too much.
    """
    if not choices or not all(choices):
        raise RequestError(f"choices is {list(choices)!r}; allowed: one or more non-empty strings")
    budget = budget or Budget()
    rows: list[dict[int, int]] = [{}, {}]
    finals = [False, False]
    for choice in choices:
        if any("\ud800" <= character <= "\udfff" for character in choice):
            raise RequestError(f"{choice!r:.100} has half a surrogate pair; allowed: characters")
        state = 1
        for byte in choice.encode():
            if byte not in rows[state]:
                rows[state][byte] = len(rows)
                rows.append({})
                finals.append(False)
            state = rows[state][byte]
        finals[state] = True
        budget.check(len(rows))
    next_SB = np.zeros((len(rows), 256), dtype=np.int32)
    for state, row in enumerate(rows):
        next_SB[state, list(row)] = list(row.values())
    return Language(next_SB, np.array(finals), 1)


def without(strings: Sequence[str], budget: Budget | None = None) -> Language:
    """All texts without any of these strings.

    Raises:
        RequestError: if a string is empty, or they take too much.

    Source: Aho and Corasick 1975, "Efficient string matching".
    """
    if not all(strings):
        raise RequestError("a banned string is empty; allowed: one character or more")
    trie = from_choices(strings, budget)
    # In the trie 0 means no transition; here it falls back to the longest suffix that begins a string.
    next_SB, bad_S = trie.next_SB.copy(), trie.final_S.copy()
    fall = [0] * len(bad_S)
    next_SB[DEAD] = 1
    order = deque([1])
    while order:
        state = order.popleft()
        [ways] = trie.next_SB[state].nonzero()
        next_SB[state] = next_SB[fall[state]]
        for byte in ways.tolist():
            target = int(trie.next_SB[state, byte])
            fall[target] = int(next_SB[state, byte])
            bad_S[target] |= bad_S[fall[target]]
            order.append(target)
        next_SB[state, ways] = trie.next_SB[state, ways]
    next_SB[bad_S[next_SB]] = DEAD
    next_SB[DEAD] = DEAD
    final_S = ~bad_S
    final_S[DEAD] = False
    return Language(next_SB, final_S, 1)


def anything(_: Budget | None = None) -> Language:
    """All texts."""
    return Language(np.repeat(np.array([[DEAD], [1]], dtype=np.int32), 256, axis=1), np.array([False, True]), 1)


def between(left: bytes, right: bytes, make: Callable[[Budget], Language], budget: Budget) -> Language:
    """The texts of a language, each between two given ones.

    Raises:
        RequestError: if it takes too much.
    """
    inner = make(budget)
    if not left and not right:
        return inner
    rows = list(np.zeros((1 + len(left), 256), dtype=np.int32))
    for offset, byte in enumerate(left):
        rows[1 + offset][byte] = 2 + offset
    finals = [False] * len(rows)
    # A state of the language, and how many bytes of the right may have been read since it ended.
    states = [(inner.start, frozenset({0} if inner.final_S[inner.start] else ()))]
    number = {(DEAD, frozenset[int]()): DEAD, states[0]: len(rows)}

    def reach(state: int, offsets: frozenset[int]) -> int:
        pair = state, offsets | {0} if inner.final_S[state] else offsets
        if pair not in number:
            number[pair] = len(left) + len(number)
            states.append(pair)
        return number[pair]

    for state, offsets in states:
        budget.check(len(rows))
        targets, kind_B = np.unique(inner.next_SB[state], return_inverse=True)
        row = np.array([reach(target, frozenset()) for target in targets.tolist()], dtype=np.int32)[kind_B]
        for byte in {right[offset] for offset in offsets if offset < len(right)}:
            read = frozenset(offset + 1 for offset in offsets if right[offset : offset + 1] == bytes([byte]))
            row[byte] = reach(int(inner.next_SB[state, byte]), read)
        rows.append(row)
        finals.append(len(right) in offsets)
    return Language(np.array(rows), np.array(finals), 1).minimize(budget)


@runtime_checkable
class TextConstraint(Protocol):
    """A custom constraint on the answer.

    States are hashable values, and there must be finitely many: everything about a text's beginning that affects how it
    may continue. The object is asked for every byte in every reachable state, once, and its answers are cached, so they
    must be consistent. Text is UTF-8. ::

        class Balanced:
            "Round brackets that match, up to nine deep."
            start = 0

            def advance(self, depth, byte):
                depth += {ord("("): 1, ord(")"): -1}.get(byte, 0)
                return depth if 0 <= depth <= 9 else None

            def accepts(self, depth):
                return depth == 0

        model.generate(prompt, constraint=Balanced())
    """

    @property
    def start(self) -> Hashable:
        """The state before the first byte."""

    # States are up to the object: it is given only its own states, and may annotate them precisely.
    def advance(self, state: Never, byte: int) -> Hashable:
        """The state after one more byte, 0 to 255; None if it is not allowed."""

    def accepts(self, state: Never) -> bool:
        """Whether a text may end here."""


def from_constraint(constraint: TextConstraint, budget: Budget | None = None) -> Language:
    """The texts that a constraint accepts.

    Raises:
        RequestError: if it is not a constraint, its states cannot be hashed, or there are too many.
    """
    if not isinstance(constraint, TextConstraint):
        raise RequestError(
            f"constraint is {constraint!r:.100}; allowed: an object with start, advance and accepts, as "
            "sfumato.TextConstraint describes them"
        )
    budget = budget or Budget()
    if constraint.start is None:
        raise RequestError(
            f"constraint {constraint!r:.100} starts with None, which forbids a text; allowed: another state"
        )
    number: dict[Hashable, int] = {None: DEAD}
    rows, finals = [[DEAD] * 256], [False]
    try:
        number[constraint.start] = 1
        states: list[Any] = [constraint.start]
        for state in states:
            row = []
            for byte in range(256):
                target = constraint.advance(state, byte)
                if target not in number:
                    number[target] = len(number)
                    states.append(target)
                row.append(number[target])
            rows.append(row)
            finals.append(bool(constraint.accepts(state)))
            budget.check(len(number))
    except TypeError as error:
        raise RequestError(f"constraint {constraint!r:.100} failed: {error}") from error
    return Language(np.array(rows, dtype=np.int32), np.array(finals), 1).minimize(budget)
