"""Token automata: which tokens may follow which, and the distance to an end.

Tokens with the same transitions from every state form one class, and only classes are used in computations: a
vocabulary of 50,000 tokens becomes a few hundred classes. One arc joins two states for all classes that lead from one
to the other, and arcs with the same classes share them.
"""

# S states, C token classes, A arcs, K sets of classes, M transitions of classes or members of sets, V vocab, B bytes

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.constraints.dfa import DEAD, Budget, Language

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Automaton:
    """A deterministic automaton over the tokens of one tokenizer."""

    class_V: Numbers
    """int64; class of each token. Class 0 leads nowhere; the last one is for end tokens, which lead from final states
    to the last state, and from it to itself."""
    final_S: Truths
    """bool; whether a text may end here, with or without an end token."""
    distance_S: Numbers
    """int64; minimum number of tokens to a final state."""
    start: int
    """The start state."""
    from_A: Numbers
    """int64, ascending; source of each arc."""
    to_A: Numbers
    """int64; target of each arc."""
    set_A: Numbers
    """int64; class set of each arc."""
    member_KC: Truths
    """bool [K, C]; members of each set."""
    language: Language
    """The same language over bytes."""
    byte_state_S: Numbers
    """int64; byte state of each state."""

    @cached_property
    def members(self) -> tuple[Numbers, Numbers]:
        """int64 [K + 1], start of each set's classes, and int64_M, the classes."""
        sets, classes = self.member_KC.nonzero()
        return np.searchsorted(sets, np.arange(len(self.member_KC) + 1)), classes

    @cached_property
    def by_class(self) -> tuple[Numbers, Numbers, Numbers]:
        """int64_V, tokens ordered by class; int64 [C + 1], start of each class; int64_V, class of each ordered
        token."""
        order_V = self.class_V.argsort(kind="stable")
        ordered_V = self.class_V[order_V]
        return order_V, np.searchsorted(ordered_V, np.arange(self.num_classes + 1)), ordered_V

    @property
    def num_states(self) -> int:
        return len(self.final_S)

    @property
    def num_classes(self) -> int:
        return int(self.member_KC.shape[1])

    @property
    def end_state(self) -> int:
        """The state after an end token."""
        return self.num_states - 1

    def is_over(self, state: int) -> bool:
        """Whether a text must end here."""
        return bool((self.to_A[self._arcs_of(state)] == self.end_state).all())

    def walk(self, state: int, tokens: Sequence[int]) -> int:
        """The state after some tokens; the number of states if they are not allowed."""
        for token in tokens:
            if state == self.num_states:
                return state
            arcs = self._arcs_of(state)
            targets = self.to_A[arcs][self.member_KC[self.set_A[arcs], self.class_V[token]]]
            state = int(targets[0]) if len(targets) else self.num_states
        return state

    def _arcs_of(self, state: int) -> slice:
        return slice(*np.searchsorted(self.from_A, (state, state + 1)))

    def forced(self, state: int) -> tuple[bytes, bool]:
        """The bytes that follow a state in every text, and whether every text ends after them."""
        language, here = self.language, int(self.byte_state_S[state])
        found = bytearray()
        while not language.final_S[here]:
            [ways] = np.nonzero(language.next_SB[here] != DEAD)
            if len(ways) != 1:
                return bytes(found), False
            found.append(int(ways[0]))
            here = int(language.next_SB[here, ways[0]])
        return bytes(found), not (language.next_SB[here] != DEAD).any()


Maker = Callable[[Budget], Language]


def make_automaton(
    makers: Sequence[Maker], token_bytes: Sequence[bytes | None], eos_ids: Sequence[int]
) -> Automaton | None:
    """The intersection of some languages over tokens, built within one budget.

    Args:
        makers: build the languages; at least one.

    Returns:
        None if no token sequence spells any of the texts.

    Raises:
        RequestError: if a language cannot be built, or takes too much.
    """
    with Budget() as budget:
        languages = [make(budget) for make in makers]
        both = functools.reduce(lambda one, other: one.intersect(other, budget), languages)
        return over_tokens(both, token_bytes, eos_ids, budget)


def over_tokens(
    language: Language, token_bytes: Sequence[bytes | None], eos_ids: Sequence[int], budget: Budget | None = None
) -> Automaton | None:
    """Lift a language to tokens, covering every tokenization of its texts.

    Args:
        token_bytes: per token; None for tokens without text, such as special ones.
        eos_ids: tokens that end a text.

    Returns:
        None if no token sequence spells any of its texts.

    Raises:
        RequestError: if it takes too much.
    """
    budget = budget or Budget()
    class_V, moves = _classes(language, token_bytes, eos_ids, budget)
    # The end class is last, and so is the state after an end.
    end_class, end_state = len(moves), len(language.final_S)
    class_V[[token for token in eos_ids if token < len(class_V)]] = end_class
    final_S = np.append(language.final_S, True)
    ends = final_S.nonzero()[0]
    moves.append((ends, np.full_like(ends, end_state)))
    from_A, to_A, first_A, class_M = _arcs(moves, end_state + 1)
    distance_S = _distances(to_A, from_A, final_S)
    from_start_S = _distances(from_A, to_A, np.arange(end_state + 1) == language.start)
    alive_S = (from_start_S >= 0) & (distance_S >= 0)
    if not alive_S[language.start]:
        return None
    [kept] = alive_S.nonzero()
    number_S = np.cumsum(alive_S) - 1
    [kept_A] = (alive_S[from_A] & alive_S[to_A]).nonzero()
    set_A, member_KC = _sets(first_A, class_M, kept_A, end_class + 1)
    return Automaton(
        class_V=class_V,
        final_S=final_S[kept],
        distance_S=distance_S[kept],
        start=int(number_S[language.start]),
        from_A=number_S[from_A[kept_A]],
        to_A=number_S[to_A[kept_A]],
        set_A=set_A,
        member_KC=member_KC,
        language=language,
        byte_state_S=np.minimum(kept, end_state - 1),
    )


Moves = tuple[Numbers, Numbers]
"""For one token class: states, ascending, and the state each leads to."""


def _classes(
    language: Language, token_bytes: Sequence[bytes | None], eos_ids: Sequence[int], budget: Budget
) -> tuple[Numbers, list[Moves]]:
    """The class of each token, and the transitions of each class; class 0 leads nowhere."""
    next_SB = language.next_SB
    kinds, kind_B = language.byte_kinds
    # A byte string's transitions follow from those of its prefix and its last byte.
    columns = [np.ascontiguousarray(next_SB[:, byte]) for byte in kinds]
    weights_S = np.random.default_rng(0).integers(1, 2**62, len(next_SB), dtype=np.int64)
    states = np.arange(1, len(next_SB), dtype=np.int32)
    found: list[tuple[Any, Any]] = [(states[:0], states[:0]), (states, states)]
    number_of_code, number_behind = {0: 0}, dict[tuple[int, int], int]()
    table = bytes(kind_B.astype(np.uint8).tolist())
    class_V = np.zeros(len(token_bytes), dtype=np.int64)
    classes, moves = {0: 0}, [found[0]]
    ending = frozenset(eos_ids)
    for token, text in enumerate(token_bytes):
        if not text or token in ending:
            continue
        number = 1
        for kind in text.translate(table):
            key = number, kind
            if key not in number_behind:
                budget.check(len(next_SB))
                from_M, to_M = found[number]
                to_M = columns[kind][to_M]
                [goes_on] = to_M.nonzero()
                from_M, to_M = from_M[goes_on], to_M[goes_on]
                # Sums of random weights distinguish transitions; overflow is harmless.
                code = int((weights_S[from_M] * to_M).sum())
                number_behind[key] = number_of_code.setdefault(code, len(found))
                if number_behind[key] == len(found):
                    found.append((from_M, to_M))
            number = number_behind[key]
            if not number:
                break
        class_V[token] = classes.setdefault(number, len(moves))
        if class_V[token] == len(moves):
            moves.append(found[number])
    return class_V, moves


def _arcs(moves: Sequence[Moves], num_states: int) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """from_A and to_A of all transitions, ascending; the start of each arc's classes [A + 1], and the classes."""
    from_M, to_M = (np.concatenate(column).astype(np.int64) for column in zip(*moves, strict=True))
    class_M = np.repeat(np.arange(len(moves)), [len(each) for each, _ in moves])
    key_M = from_M * num_states + to_M
    order_M = key_M.argsort(kind="stable")
    key_M = key_M[order_M]
    first_A = np.append(np.flatnonzero(np.diff(key_M, prepend=-1)), len(key_M))
    return *np.divmod(key_M[first_A[:-1]], num_states), first_A, class_M[order_M]


def _sets(first_A: Numbers, class_M: Numbers, kept_A: Numbers, num_classes: int) -> tuple[Numbers, Truths]:
    """set_A and member_KC of the arcs that are kept."""
    weights_C = np.random.default_rng(0).integers(1, 2**62, num_classes, dtype=np.int64)
    code_A = np.add.reduceat(weights_C[class_M], first_A[:-1])[kept_A]
    _, arc_K, set_A = np.unique(code_A, return_index=True, return_inverse=True)
    member_KC = np.zeros((len(arc_K), num_classes), dtype=bool)
    for members_C, arc in zip(member_KC, kept_A[arc_K], strict=True):
        members_C[class_M[first_A[arc] : first_A[arc + 1]]] = True
    return set_A, member_KC


def _distances(from_A: Numbers, to_A: Numbers, is_source_S: Truths) -> Numbers:
    """int64_S: minimum number of arcs from any source, -1 if unreachable."""
    order_A = from_A.argsort(kind="stable")
    to_A, first_S = to_A[order_A], np.searchsorted(from_A[order_A], np.arange(len(is_source_S) + 1))
    distance_S = np.where(is_source_S, 0, -1)
    [front] = is_source_S.nonzero()
    while len(front):
        steps = distance_S[front[0]] + 1
        sizes = first_S[front + 1] - first_S[front]
        # All arcs of the frontier, state by state.
        within = np.arange(sizes.sum()) - np.repeat(sizes.cumsum() - sizes, sizes)
        front = np.unique(to_A[np.repeat(first_S[front], sizes) + within])
        front = front[distance_S[front] < 0]
        distance_S[front] = steps
    return distance_S
