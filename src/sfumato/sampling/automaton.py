"""A language over tokens: which tokens may follow which, and how far it still is to an end.

Tokens that lead every state to the same place are one class, and only classes are reckoned with: a vocabulary of 50,000
tokens comes down to some hundreds. Between two states there is one arc for all classes that lead from one to the other,
and arcs whose classes are the same share them.
"""

# S states, C classes of tokens, A arcs, K sets of classes, V vocab, B bytes

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.data.language import DEAD, Language

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

# States times token kinds that are worked on at a time.
_AT_ONCE = 2**22


@dataclass(frozen=True, kw_only=True, eq=False)
class Automaton:
    """A deterministic automaton over the tokens of one tokenizer."""

    next_SC: Numbers
    """int64 [S, C]; where each class of tokens leads, S where nothing does."""
    class_V: Numbers
    """int64; the class of each token. Class 0 leads nowhere, `end_class` is that of end tokens."""
    end_class: int
    """Of tokens that end a text; they lead from final states to the last state, and from it to itself."""
    final_S: Truths
    """bool; whether a text may be at its end here, ended or not."""
    distance_S: Numbers
    """int64; the fewest tokens to a final state."""
    start: int
    """Where every text begins."""
    from_A: Numbers
    """int64, ascending; where each arc begins."""
    to_A: Numbers
    """int64; where it ends."""
    set_A: Numbers
    """int64; which set of classes it takes."""
    member_KC: Truths
    """bool [K, C]; the classes of each set."""
    language: Language
    """Over bytes."""
    byte_state_S: Numbers
    """int64; the state of the language that each state is."""

    @cached_property
    def members(self) -> tuple[Numbers, Numbers]:
        """int64 [K + 1], where the classes of each set begin and the last end, and int64_M, the classes."""
        sets, classes = self.member_KC.nonzero()
        return np.searchsorted(sets, np.arange(len(self.member_KC) + 1)), classes

    @cached_property
    def by_class(self) -> tuple[Numbers, Numbers, Numbers]:
        """int64_V, the tokens class by class; int64 [C + 1], where among them classes begin and the last ends; int64_V,
        the class of each of them."""
        order_V = self.class_V.argsort(kind="stable")
        ordered_V = self.class_V[order_V]
        return order_V, np.searchsorted(ordered_V, np.arange(self.next_SC.shape[1] + 1)), ordered_V

    @property
    def num_states(self) -> int:
        return len(self.final_S)

    @property
    def end_state(self) -> int:
        """Where a text stands behind an end token."""
        return self.num_states - 1

    def is_over(self, state: int) -> bool:
        """Whether a text can only end here."""
        return bool((self.next_SC[state, : self.end_class] == self.num_states).all())

    def walk(self, state: int, tokens: Sequence[int]) -> int:
        """The state after some tokens; the number of states if they lead nowhere."""
        for token in tokens:
            if state == self.num_states:
                return state
            state = int(self.next_SC[state, self.class_V[token]])
        return state

    def forced(self, state: int) -> tuple[bytes, bool]:
        """The bytes that every text has behind a state, and whether every text ends behind them."""
        language, here = self.language, int(self.byte_state_S[state])
        found = bytearray()
        while not language.final_S[here]:
            [ways] = np.nonzero(language.next_SB[here] != DEAD)
            if len(ways) != 1:
                return bytes(found), False
            found.append(int(ways[0]))
            here = int(language.next_SB[here, ways[0]])
        return bytes(found), not (language.next_SB[here] != DEAD).any()


def over_tokens(language: Language, token_bytes: Sequence[bytes | None], eos_ids: Sequence[int]) -> Automaton | None:
    """The texts of a language as tokens, in any of the ways that they can be cut.

    Args:
        language: over bytes.
        token_bytes: by token; None for one that stands for no text, such as a special one.
        eos_ids: tokens that end a text.

    Returns:
        None if no token sequence gives any of its texts.
    """
    # Bytes that no state tells apart are one.
    columns, kind_B = np.unique(language.next_SB, axis=1, return_inverse=True)
    table = bytes(kind_B.astype(np.uint8).ravel().tolist())
    numbers: dict[bytes, int] = {}
    kind_V = np.array(
        [
            -1 if not own or token in eos_ids else numbers.setdefault(own.translate(table), len(numbers))
            for token, own in enumerate(token_bytes)
        ]
    )
    states_SC, class_of_kind = _classes(columns, list(numbers))
    num_states = len(language.final_S)
    # Class 0 leads nowhere; the end class comes last, and so does the state behind an end.
    end_class = states_SC.shape[1]
    next_SC = np.zeros((num_states + 1, end_class + 1), dtype=np.int64)
    next_SC[:num_states, :end_class] = states_SC
    final_S = np.append(language.final_S, True)
    next_SC[final_S, end_class] = num_states
    class_V = np.where(kind_V < 0, 0, class_of_kind[kind_V])
    class_V[[token for token in eos_ids if token < len(class_V)]] = end_class
    distance_S = _distances(next_SC[:, :end_class], final_S)
    alive_S = _reached(next_SC, language.start) & (distance_S >= 0)
    alive_S[DEAD] = False
    if not alive_S[language.start]:
        return None
    kept = alive_S.nonzero()[0]
    number_S = np.full(num_states + 1, len(kept))
    number_S[kept] = np.arange(len(kept))
    next_SC = number_S[next_SC[kept]]
    from_A, to_A, set_A, member_KC = _arcs(next_SC)
    return Automaton(
        next_SC=next_SC,
        class_V=class_V,
        end_class=end_class,
        final_S=final_S[kept],
        distance_S=distance_S[kept],
        start=int(number_S[language.start]),
        from_A=from_A,
        to_A=to_A,
        set_A=set_A,
        member_KC=member_KC,
        language=language,
        byte_state_S=np.minimum(kept, num_states - 1),
    )


def _classes(columns_SB: np.ndarray[Any, Any], kinds: Sequence[bytes]) -> tuple[Numbers, Numbers]:
    """Where each class of tokens leads [S, C], and the class of each kind; class 0 leads nowhere."""
    num_states = len(columns_SB)
    weights_S = np.random.default_rng(0).integers(1, 2**62, num_states, dtype=np.int64)
    classes, found = {0: 0}, [np.zeros(num_states, dtype=columns_SB.dtype)]
    class_of_kind = np.zeros(len(kinds) + 1, dtype=np.int64)
    by_length: dict[int, list[int]] = {}
    for i, kind in enumerate(kinds):
        by_length.setdefault(len(kind), []).append(i)
    chunk = max(1, _AT_ONCE // num_states)
    for length, members in by_length.items():
        for first in range(0, len(members), chunk):
            part = members[first : first + chunk]
            bytes_KB = np.frombuffer(b"".join(kinds[i] for i in part), dtype=np.uint8).reshape(-1, length)
            states_SK = np.repeat(np.arange(num_states, dtype=columns_SB.dtype)[:, None], len(part), axis=1)
            for place in range(length):
                states_SK = columns_SB[states_SK, bytes_KB[:, place]]
            # Sums of random weights tell columns apart; that they wrap around does no harm.
            code_K = (states_SK * weights_S[:, None]).sum(0)
            for k, code in enumerate(code_K.tolist()):
                if code not in classes:
                    classes[code] = len(found)
                    found.append(states_SK[:, k].copy())
                class_of_kind[part[k]] = classes[code]
    return np.stack(found, axis=1).astype(np.int64), class_of_kind


def _reached(next_SC: Numbers, start: int) -> Truths:
    """bool_S: what can be reached."""
    reached_S = np.zeros(len(next_SC), dtype=bool)
    reached_S[start] = True
    front = np.array([start])
    while len(front):
        found = np.unique(next_SC[front])
        front = found[~reached_S[found]]
        reached_S[front] = True
    return reached_S


def _distances(next_SC: Numbers, final_S: Truths) -> Numbers:
    """int64_S: the fewest steps to a final state, -1 if there is no way."""
    num_states = len(final_S)
    from_A, to_A = np.divmod(np.unique(np.arange(num_states)[:, None] * num_states + next_SC), num_states)
    distance_S, new_S = np.where(final_S, 0, -1), final_S
    for steps in range(1, num_states + 1):
        near_S = np.zeros(num_states, dtype=bool)
        near_S[from_A[new_S[to_A]]] = True
        new_S = near_S & (distance_S < 0)
        if not new_S.any():
            break
        distance_S[new_S] = steps
    return distance_S


def _arcs(next_SC: Numbers) -> tuple[Numbers, Numbers, Numbers, Truths]:
    """from_A, to_A, set_A and member_KC of an automaton."""
    num_states = len(next_SC)
    sets: dict[bytes, int] = {}
    members: list[Truths] = []
    arcs: list[tuple[int, int, int]] = []
    for state in range(num_states):
        row = next_SC[state]
        for target in np.unique(row[row < num_states]).tolist():
            member_C = row == target
            key = np.packbits(member_C).tobytes()
            if key not in sets:
                sets[key] = len(members)
                members.append(member_C)
            arcs.append((state, target, sets[key]))
    from_A, to_A, set_A = (np.array(column, dtype=np.int64) for column in zip(*arcs, strict=True))
    return from_A, to_A, set_A, np.stack(members)
