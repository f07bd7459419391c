"""Who goes next: which requests are let in, and which answers take part in a step.

Fair among equals: of those of the highest priority, the one that has had the least computed for it goes first, so that
a short request joins long ones without waiting behind them; those that were left out a few times go before
all, in turn.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfumato.engine.answer import Answer

# An answer left out this many steps in a row goes first.
_PATIENCE = 32


@dataclass(frozen=True)
class Work:
    """What one answer does in one step of the engine."""

    answer: Answer
    num_written: int
    """Positions of its text that are written."""
    denoises: bool
    """Whether its canvas takes a step."""

    @property
    def num_positions(self) -> int:
        return self.num_written + self.denoises * self.answer.step_positions


class Queue:
    """Answers that wait to be let in: the highest priority first, then in the order they came."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Answer]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Answer]:
        return (entry[2] for entry in sorted(self._heap, key=lambda entry: entry[:2]))

    def push(self, answer: Answer, *, first: bool = False) -> None:
        """Add one: behind those of its priority, or before them."""
        self._count += 1
        heapq.heappush(self._heap, (-answer.wanted.priority, -self._count if first else self._count, answer))

    def remove(self, gone: Sequence[Answer]) -> None:
        """Take some out, wherever they stand."""
        self._heap = [entry for entry in self._heap if not any(entry[2] is answer for answer in gone)]
        heapq.heapify(self._heap)


def plan(answers: Sequence[Answer], *, max_positions: int, chunk: int) -> list[Work]:
    """Choose the work of one step.

    Args:
        answers: those that are let in.
        max_positions: most positions of the step; the first answer takes part whatever it needs.
        chunk: most positions of a text that are written ahead of its canvas in one step, so that a long prompt keeps
            nobody waiting.

    Returns:
        At least one piece of work if there is any answer.
    """
    order = sorted(answers, key=_turn)
    chosen: list[Work] = []
    total = 0
    for answer in order:
        work = _next(answer, chunk)
        if chosen and total + work.num_positions > max_positions:
            answer.waited += 1
            continue
        answer.waited = 0
        total += work.num_positions
        chosen.append(work)
    return chosen


def _turn(answer: Answer) -> tuple[float, ...]:
    patience = answer.waited if answer.waited >= _PATIENCE else 0
    return (-answer.wanted.priority, -patience, answer.service, answer.started)


def _next(answer: Answer, chunk: int) -> Work:
    unwritten = answer.num_unwritten
    if unwritten <= chunk:
        # What is written tells how long the first canvas will be.
        return Work(answer, unwritten, not answer.wants_length)
    # Chunks end where they would if the text were alone, on whole blocks.
    assert answer.cached is not None
    block = answer.spec.block
    size = max(block, chunk // block * block)
    return Work(answer, size - answer.cached.length % size, False)
