"""Who goes next: which sequences take part in a step.

Fair among equals: of those of the highest priority, the one that has had the least computed for it goes first, so that
a short request joins long ones without waiting for them; those that were left out a few times go before all, in turn.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.engine.sequence import Sequence

# A sequence left out this many steps in a row goes first.
_PATIENCE = 32


@dataclass(frozen=True)
class ScheduledSequence:
    """What one sequence does in one step of the engine."""

    sequence: Sequence
    num_written: int
    """Positions of its text that are written."""
    denoises: bool
    """Whether its canvas takes a step."""

    @property
    def num_positions(self) -> int:
        return self.num_written + (self.sequence.num_step if self.denoises else 0)


def enqueue(waiting: list[Sequence], sequence: Sequence, *, first: bool = False) -> None:
    """Put a sequence among those that wait, the highest priority first: after those of its own, or before them."""
    insort = bisect.insort_left if first else bisect.insort_right
    insort(waiting, sequence, key=lambda one: -one.request.priority)


def schedule(running: Iterable[Sequence], *, max_positions: int, chunk: int) -> list[ScheduledSequence]:
    """Choose the work of one step.

    Args:
        running: the sequences that are admitted.
        max_positions: most positions of the step; the first sequence takes part whatever it needs.
        chunk: most positions of a text that are written ahead of its canvas in one step, so that a long prompt keeps
            nobody waiting.

    Returns:
        At least one piece of work if there is any sequence.
    """
    scheduled: list[ScheduledSequence] = []
    total = 0
    for sequence in sorted(running, key=_turn):
        work = _next_work(sequence, chunk)
        if scheduled and total + work.num_positions > max_positions:
            sequence.waited += 1
            continue
        sequence.waited = 0
        total += work.num_positions
        scheduled.append(work)
    return scheduled


def _turn(sequence: Sequence) -> tuple[float, ...]:
    patience = sequence.waited if sequence.waited >= _PATIENCE else 0
    return (-sequence.request.priority, -patience, sequence.service, sequence.started)


def _next_work(sequence: Sequence, chunk: int) -> ScheduledSequence:
    num_unwritten = sequence.num_unwritten
    if num_unwritten <= chunk:
        # What is written tells how long the first canvas will be.
        return ScheduledSequence(sequence, num_unwritten, not sequence.wants_length)
    # Chunks end where they would if the text were alone, on whole blocks.
    assert sequence.cached is not None
    block = sequence.layout.block
    size = max(block, chunk // block * block)
    return ScheduledSequence(sequence, size - sequence.cached.length % size, False)
