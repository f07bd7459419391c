"""Languages: sets of texts that an answer may be one of, as automata over bytes.

A schema, a regular expression, a list of choices and strings that must not occur all become the same thing, and any of
them can be combined. Nothing here knows tokens.
"""

# S states, B bytes

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import RequestError

Numbers = np.ndarray[Any, np.dtype[np.int32]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]

DEAD = 0
"""The state from which nothing is accepted."""
MOST_STATES = 50_000


@dataclass(frozen=True, eq=False)
class Language:
    """A deterministic automaton over bytes."""

    next_SB: Numbers
    """int32 [S, 256]; where each byte leads. DEAD leads to itself."""
    final_S: Truths
    """bool; whether a text may end here."""
    start: int
    """Where every text begins."""

    def __post_init__(self) -> None:
        if len(self.final_S) > MOST_STATES:
            raise RequestError(
                f"what the answer must be takes {len(self.final_S):,} states; allowed: {MOST_STATES:,}. Lower the "
                "bounds on lengths and numbers of items"
            )

    def accepts(self, text: str | bytes) -> bool:
        """Whether a text belongs to it."""
        state = self.start
        for byte in text.encode() if isinstance(text, str) else text:
            state = int(self.next_SB[state, byte])
        return bool(self.final_S[state])

    def minimized(self) -> Language:
        """The same texts in the fewest states.

        Source: Moore 1956, "Gedanken-experiments on sequential machines": states that no byte has told apart yet are
        one.
        """
        columns_SB, kind_B = np.unique(self.next_SB, axis=1, return_inverse=True)
        # Sums of random weights tell rows apart; that they wrap around does no harm.
        weights = np.random.default_rng(0).integers(1, 2**62, columns_SB.shape[1] + 1)
        block_S, num_blocks = self.final_S.astype(np.int64), 0
        while (found := int(block_S.max()) + 1) > num_blocks:
            num_blocks = found
            code_S = block_S * weights[0]
            for column_S, weight in zip(columns_SB.T, weights[1:], strict=True):
                code_S += block_S[column_S] * weight
            _, first_N, block_S = np.unique(code_S, return_index=True, return_inverse=True)
        # DEAD keeps its number.
        order = np.argsort(first_N)
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        block_S, first_N = number[block_S], first_N[order]
        next_SB = block_S[columns_SB[first_N]][:, kind_B.ravel()].astype(np.int32)
        return Language(next_SB, self.final_S[first_N], int(block_S[self.start]))

    def __and__(self, other: Language) -> Language:
        """The texts that belong to both."""
        numbers = {(DEAD, DEAD): DEAD}
        pairs, rows = deque([(self.start, other.start)]), [np.zeros(256, dtype=np.int32)]
        numbers.setdefault(pairs[0], len(numbers))
        rows.append(rows[0])
        finals = [False, bool(self.final_S[self.start] & other.final_S[other.start])]
        while pairs:
            one, two = pairs.popleft()
            ones, twos = self.next_SB[one], other.next_SB[two]
            dead = (ones == DEAD) | (twos == DEAD)
            codes = np.where(dead, 0, ones.astype(np.int64) * len(other.final_S) + twos)
            row = np.zeros(256, dtype=np.int32)
            for code in np.unique(codes[~dead]).tolist():
                pair = divmod(code, len(other.final_S))
                if pair not in numbers:
                    numbers[pair] = len(numbers)
                    pairs.append(pair)
                    rows.append(row)
                    finals.append(bool(self.final_S[pair[0]] & other.final_S[pair[1]]))
                row[codes == code] = numbers[pair]
            rows[numbers[one, two]] = row
            if len(rows) > MOST_STATES:
                break
        return Language(np.stack(rows), np.array(finals), 1).minimized()


def of_regex(pattern: str) -> Language:
    """The texts without NUL that match a regular expression wholly, in the syntax of Rust's regex crate: no lookaround,
    no backreferences.

    Raises:
        RequestError: if it is not one, or takes too many states.
    """
    try:
        from outlines_core import Index, Vocabulary
    except ImportError:
        raise RequestError("regular expressions need more packages: pip install 'sfumato[schema]'") from None
    end = 256
    # Between bytes that stand in no text. Without the last, the compiler loses ways that lead on from where a text may
    # end; without the first, it follows texts from every place at once, in time and states beyond all bounds.
    closed = rf"\x00(?:{pattern})\x00"
    try:
        index = Index(closed, Vocabulary(end, {bytes([byte]): [byte] for byte in range(256)}))
    except ValueError as error:
        shown = pattern if len(pattern) <= 100 else f"{pattern[:100]}…"
        raise RequestError(f"the regular expression {shown!r} cannot be taken: {_reason(error)}") from None
    transitions: dict[int, dict[int, int]] = index.get_transitions()
    first, over = transitions[index.get_initial_state()][0], index.get_final_states()
    found = {first, *(state for row in transitions.values() for state in row.values())}
    numbers = {state: number for number, state in enumerate(sorted(found - over), 1)}
    next_SB = np.zeros((len(numbers) + 1, 256), dtype=np.int32)
    final_S = np.zeros(len(numbers) + 1, dtype=bool)
    for state, row in transitions.items():
        for byte, target in row.items():
            if state in numbers and target in numbers and byte:
                next_SB[numbers[state], byte] = numbers[target]
            elif state in numbers and byte == 0:
                final_S[numbers[state]] = target in over
    return Language(next_SB, final_S, numbers[first]).minimized()


def of_choices(choices: Sequence[str]) -> Language:
    """Exactly these texts.

    Raises:
        RequestError: if there are none, or one is empty.
    """
    if not choices or not all(choices):
        raise RequestError(f"choices is {list(choices)!r}; allowed: one or more texts that are not empty")
    rows: list[dict[int, int]] = [{}, {}]
    finals = [False, False]
    for choice in choices:
        state = 1
        for byte in choice.encode():
            if byte not in rows[state]:
                rows[state][byte] = len(rows)
                rows.append({})
                finals.append(False)
            state = rows[state][byte]
        finals[state] = True
    next_SB = np.zeros((len(rows), 256), dtype=np.int32)
    for state, row in enumerate(rows):
        for byte, target in row.items():
            next_SB[state, byte] = target
    return Language(next_SB, np.array(finals), 1)


def without(strings: Sequence[str]) -> Language:
    """All texts in which none of these occurs.

    Raises:
        RequestError: if one is empty, which occurs everywhere.

    Source: Aho and Corasick 1975, "Efficient string matching".
    """
    if not all(strings):
        raise RequestError("a banned string is empty; allowed: one character or more")
    trie = of_choices(strings)
    # In a trie 0 is where nothing goes on; here that falls back to the longest end that begins a string.
    next_SB, bad_S = trie.next_SB.copy(), trie.final_S.copy()
    fall = [1] * len(bad_S)
    order = deque([1])
    while order:
        state = order.popleft()
        for byte in range(256):
            target, fallen = int(trie.next_SB[state, byte]), 1 if state == 1 else int(next_SB[fall[state], byte])
            if target:
                fall[target] = fallen
                bad_S[target] |= bad_S[fallen]
                order.append(target)
            else:
                next_SB[state, byte] = fallen
    next_SB[bad_S[next_SB]] = DEAD
    next_SB[DEAD] = DEAD
    final_S = ~bad_S
    final_S[DEAD] = False
    return Language(next_SB, final_S, 1)


def framed(left: bytes, right: bytes) -> Language:
    """All texts that begin and, behind that, end with given bytes."""
    # One state for each byte of the left, then one for each number of bytes of the right that stand at the end.
    first = 1 + len(left)
    next_SB = np.zeros((first + len(right) + 1, 256), dtype=np.int32)
    for place, byte in enumerate(left):
        next_SB[1 + place, byte] = 2 + place
    next_SB[first:] = first
    for place in range(len(right) + 1):
        for byte in set(right):
            ended = right[:place] + bytes([byte])
            kept = next(size for size in range(min(len(ended), len(right)), -1, -1) if ended.endswith(right[:size]))
            next_SB[first + place, byte] = first + kept
    final_S = np.zeros(len(next_SB), dtype=bool)
    final_S[-1] = True
    return Language(next_SB, final_S, 1)


def _reason(error: Exception) -> str:
    """The last line of what the compiler of regular expressions says, without its drawing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix("error: ") if lines else type(error).__name__
