"""Constraints of one's own: which texts an answer may be, said as an automaton over bytes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Never, Protocol, runtime_checkable

import numpy as np

from sfumato.constraints.dfa import DEAD, Budget, Language
from sfumato.errors import RequestError


@runtime_checkable
class TextConstraint(Protocol):
    """Which texts an answer may be.

    States are any values that can be hashed, and there are finitely many of them: what has to be remembered of a text's
    beginning to say how it may go on. It is asked of every byte in every state that can be reached, once, and
    remembered by the object itself, so an object always has to say the same. Text is UTF-8. ::

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

    # A state is whatever the object makes of it: it is given its own states alone, and may annotate them as they are.
    def advance(self, state: Never, byte: int) -> Hashable:
        """The state after one more byte, 0 to 255; None if no text of these goes on so."""

    def accepts(self, state: Never) -> bool:
        """Whether a text may end here."""


def of_constraint(constraint: TextConstraint, budget: Budget | None = None) -> Language:
    """The texts that a constraint accepts.

    Raises:
        RequestError: if it is none, its states cannot be hashed, or there are too many.
    """
    if not isinstance(constraint, TextConstraint):
        raise RequestError(
            f"constraint is {constraint!r:.100}; allowed: an object with start, advance and accepts, as "
            "sfumato.TextConstraint describes them"
        )
    budget = budget or Budget()
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
        raise RequestError(f"constraint {constraint!r:.100} cannot be followed: {error}") from error
    return Language(np.array(rows, dtype=np.int32), np.array(finals), 1).minimized(budget)
