"""Custom constraints: the automaton matches the object, and invalid objects are refused."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from sfumato.constraints.dfa import Budget, TextConstraint, from_constraint
from sfumato.errors import RequestError


class Balanced:
    """Round brackets that match, up to three deep, and nothing else but letters."""

    start = 0

    def advance(self, depth: int, byte: int) -> int | None:
        if not (chr(byte).isascii() and (chr(byte).isalpha() or chr(byte) in "()")):
            return None
        depth += {ord("("): 1, ord(")"): -1}.get(byte, 0)
        return depth if 0 <= depth <= 3 else None

    def accepts(self, depth: int) -> bool:
        return depth == 0


def follows(constraint: TextConstraint, text: str) -> bool:
    state = constraint.start
    for byte in text.encode():
        state = constraint.advance(state, byte)
        if state is None:
            return False
    return constraint.accepts(state)


def test_automaton_accepts_the_constraints_language():
    language = from_constraint(Balanced())
    texts = ["".join(text) for length in range(7) for text in itertools.product("a()é", repeat=length)]
    accepted = [text for text in texts if language.accepts(text)]
    assert accepted == [text for text in texts if follows(Balanced(), text)]
    assert "(a)((a))" not in accepted
    assert "((a))" in accepted
    # A state for each depth, and the one from which nothing is accepted.
    assert len(language.final_S) == 4 + 1


def test_none_is_no_state():
    constraint = Balanced()
    constraint.start = None
    with pytest.raises(RequestError, match="starts with None, which forbids a text; allowed: another state"):
        from_constraint(constraint)


class Endless:
    """A state for every number of bytes."""

    start = 0

    def advance(self, size: int, byte: int) -> int:
        return size + 1

    def accepts(self, size: int) -> bool:
        return True


class Unhashable(Endless):
    """States that cannot be told apart."""

    def advance(self, size: Any, byte: int) -> Any:
        return [size]


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (Endless(), "the constraint takes more than 20 states"),
        (Unhashable(), "failed: unhashable type: 'list'"),
        (object(), "allowed: an object with start, advance and accepts"),
        (None, "constraint is None; allowed: an object with"),
    ],
)
def test_unsupported_constraints(constraint: Any, message: str):
    with pytest.raises(RequestError, match=message):
        from_constraint(constraint, Budget(max_states=20))
