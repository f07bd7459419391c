"""Forwards that are taken again, step after step: recorded once, and from then on replayed.

A step of a canvas launches a thousand small kernels, and the host is slower at that than a GPU at running them; a CPU
too spends a part of each step on finding out what to compute. The steps of a canvas differ in nothing but the tensors
that they read, so that a recording of one of them, with tensors that stay where they are, does for all. Where it says
in tensors too which texts are read, it does for any canvas of that size.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

Compute = Callable[..., Tensor]
Record = Callable[[Callable[[], Tensor]], Callable[[], Tensor]]
"""Turns a computation into one that does the same again, on the same tensors, and is called at once for the first
time."""

MOST_REPLAYED = 1024
"""Positions up to which forwards are recorded on a CPU: asking for more is nothing beside computing it."""

_LOG = logging.getLogger(__name__)
# How many replays make up for a recording: as long as nothing is known, and at most.
_PAYS, _MOST_PAYS = 4.0, 64.0
# Share of what was known in what is known then.
_KEPT = 0.5


class UnrepeatableError(RuntimeError):
    """A computation draws numbers, or asks what its tensors hold, so that it may go another way the next time."""


def record_cuda(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """A `Record` of CUDA graphs. The computation must not wait for the device."""
    graph = torch.cuda.CUDAGraph()
    stream, current = torch.cuda.Stream(), torch.cuda.current_stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(current)
    with torch.cuda.stream(stream):
        # Without torch.cuda.graph, which collects garbage and empties the allocator each time.
        graph.capture_begin()
        try:
            out = compute()
        finally:
            graph.capture_end()
    current.wait_stream(stream)

    def replay() -> Tensor:
        graph.replay()
        return out

    return replay


class Left(NamedTuple):
    """How often a computation will come again."""

    at_least: int
    at_most: int


class Patience:
    """When recording pays, of computations that the host waits for.

    Where nobody knows how often a step comes again, who records after as many repetitions as it takes replays to make
    up for recording loses at most as much again, as one who rents skis until they would have been paid for.
    """

    def __init__(self) -> None:
        self.pays = _PAYS
        """How many replays make up for a recording."""

    def is_over(self, repetitions: int, left: Left) -> bool:
        """Whether to record a computation now.

        Args:
            repetitions: how often it has come again, this time included.
            left: how often it will.
        """
        return repetitions > 0 and left.at_most > self.pays and (left.at_least > self.pays or repetitions > self.pays)

    def learn(self, computing_s: float, recording_s: float, replaying_s: float) -> None:
        """Take in what one computation took in each way."""
        saved_s = max(computing_s - replaying_s, 1e-9)
        pays = min(max((recording_s - computing_s) / saved_s, 1.0), _MOST_PAYS)
        self.pays = _KEPT * self.pays + (1.0 - _KEPT) * pays


class Held(Protocol):
    """What a computation reads that changes seldom."""

    @property
    def tensors(self) -> Sequence[Tensor | None]:
        """All of it; always the same ones."""
        ...


class _Nothing:
    tensors = ()


_NOTHING = _Nothing()


class _Known:
    """A computation that may come again."""

    def __init__(self) -> None:
        self.repetitions = -1
        self.replay: Callable[[], Tensor] | None = None
        # Where the recording reads what changes, and what it read there last.
        self.inputs: list[Tensor | None] = []
        self.held_inputs: list[Tensor | None] = []
        self.held: Held | None = None
        # What it took to compute and to record it.
        self.spent_s: list[float] = []

    def take_in(self, inputs: Sequence[Tensor | None], held: Held) -> None:
        """Have the recording read these."""
        pairs = list(zip(self.inputs, inputs, strict=True))
        if held is not self.held:
            pairs += zip(self.held_inputs, held.tensors, strict=True)
            self.held = held
        for own, one in pairs:
            if own is not None and one is not None:
                own.copy_(one)


class Replayer:
    """Computes, and replays what it has computed in the same way before.

    Args:
        record: makes recordings; None computes every time.
        patience: says when to record; None is at the first repetition.
        most: computations that it knows at a time, the last ones. Whatever their keys name by identity has to stay
            while what they hold does.
    """

    def __init__(self, record: Record | None, patience: Patience | None = None, *, most: int = 1) -> None:
        self._record, self._patience, self._most = record, patience, most
        self._known: dict[Hashable, _Known] = {}
        self.num_replays = 0
        """Computations that were replayed so far."""

    def __call__(
        self,
        key: Hashable,
        compute: Compute,
        *inputs: Tensor | None,
        held: Held = _NOTHING,
        left: Callable[[], Left] | None = None,
    ) -> Tensor:
        """What a computation gives of its inputs.

        Args:
            key: equal for computations that differ in the values of their inputs alone, and of what they hold; None for
                one that does not come again.
            compute: reads nothing that changes but its arguments: the inputs, and then what is held.
            inputs: tensors, or None where there is none.
            held: more of them, that are taken in anew only where it is another.
            left: tells how often it will come again; None where nobody knows.

        Returns:
            The result; the next replay overwrites it.
        """
        if self._record is None or key is None:
            return compute(*inputs, *held.tensors)
        shapes = tuple(None if one is None else (one.shape, one.dtype) for one in (*inputs, *held.tensors))
        started = time.perf_counter()
        known = self._look_up((key, shapes))
        known.repetitions += 1
        if known.replay is not None:
            known.take_in(inputs, held)
            out = known.replay()
            self._learn(known, time.perf_counter() - started)
        elif not self._is_time(known.repetitions, left):
            # Taken as it is the first time, which also prepares what must not be prepared in a recording.
            out = compute(*inputs, *held.tensors)
            known.held, known.spent_s = held, [time.perf_counter() - started]
            return out
        else:
            own = [[None if one is None else one.clone() for one in given] for given in (inputs, held.tensors)]
            known.inputs, known.held_inputs, known.held = own[0], own[1], held
            try:
                known.replay = self._record(lambda: compute(*known.inputs, *known.held_inputs))
            except RuntimeError as error:
                level = logging.INFO if isinstance(error, UnrepeatableError) else logging.WARNING
                _LOG.log(level, "steps are not replayed, as they could not be recorded: %s", error)
                self._record = None
                self._known = {}
                return compute(*inputs, *held.tensors)
            out = known.replay()
            known.spent_s.append(time.perf_counter() - started)
        self.num_replays += 1
        return out

    def _look_up(self, key: Hashable) -> _Known:
        """What is known of a computation, which is the last one now; of a new one nothing."""
        known = self._known.pop(key, None) or _Known()
        self._known[key] = known
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return known

    def _is_time(self, repetitions: int, left: Callable[[], Left] | None) -> bool:
        """Whether to record what has come again so often."""
        if self._patience is None or not repetitions:
            return repetitions > 0
        return self._patience.is_over(repetitions, Left(0, sys.maxsize) if left is None else left())

    def _learn(self, known: _Known, replaying_s: float) -> None:
        """Take in what the first replay of a recording took."""
        if self._patience is not None and len(known.spent_s) == 2:
            computing_s, recording_s = known.spent_s
            self._patience.learn(computing_s, recording_s, replaying_s)
        known.spent_s = []
