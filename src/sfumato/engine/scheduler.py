"""Scheduling: chooses which sequences take part in a step.

Among sequences of the highest priority, the one with the least computation so far goes first, so short requests join
long ones without waiting for them. Sequences that were left out several times in a row go before all others, in turn.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.engine.sequence import Sequence

# Steps in a row without a turn after which a sequence goes first.
_PATIENCE = 32


@dataclass(frozen=True)
class ScheduledSequence:
    """The work of one sequence in one engine step."""

    sequence: Sequence
    num_written: int
    """Text positions to write."""
    denoises: bool
    """Whether its canvas takes a step."""

    @property
    def num_positions(self) -> int:
        return self.num_written + (self.sequence.num_step if self.denoises else 0)


def enqueue(waiting: list[Sequence], sequence: Sequence, *, first: bool = False) -> None:
    """Insert a waiting sequence by priority, after its equals or before them."""
    insort = bisect.insort_left if first else bisect.insort_right
    insort(waiting, sequence, key=lambda one: -one.request.priority)


def schedule(running: Iterable[Sequence], *, max_positions: int, chunk: int) -> list[ScheduledSequence]:
    """Choose the work of one step.

    Args:
        running: the admitted sequences.
        max_positions: maximum positions of the step; the first sequence takes part in any case.
        chunk: maximum text positions written per step, so that a long prompt delays nobody.

    Returns:
        At least one entry if there is any sequence.
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
