"""Forwards that are taken again, step after step: recorded once, and from then on replayed.

A step of a canvas launches a thousand small kernels, and the host is slower at that than a GPU at running them; a CPU
too spends a part of each step on finding out what to compute. The steps of a canvas differ in nothing but the tensors
that they read, so that a recording of one of them, with tensors that stay where they are, does for all.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch
from torch import Tensor

Compute = Callable[..., Tensor]
Record = Callable[[Callable[[], Tensor]], Callable[[], Tensor]]
"""Turns a computation into one that does the same again, on the same tensors, and is called at once for the first
time."""

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


class Replayer:
    """Computes, and replays what it has computed in the same way just before.

    Args:
        record: makes recordings; None computes every time.
        patience: says when to record; None is at the first repetition.
    """

    def __init__(self, record: Record | None, patience: Patience | None = None) -> None:
        self._record, self._patience = record, patience
        self._key: Hashable = None
        self._repetitions = 0
        self._inputs: list[Tensor | None] = []
        self._replay: Callable[[], Tensor] | None = None
        # What it took to compute and to record what is repeated.
        self._spent_s: list[float] = []
        self.num_replays = 0
        """Computations that were replayed so far."""

    def __call__(
        self, key: Hashable, compute: Compute, *inputs: Tensor | None, left: Callable[[], Left] | None = None
    ) -> Tensor:
        """What a computation gives of its inputs.

        Args:
            key: equal for computations that differ in the values of their inputs alone; None for one that does not come
                again.
            compute: reads nothing that changes but its inputs.
            inputs: tensors, or None where there is none.
            left: tells how often it will come again; None where nobody knows.

        Returns:
            The result; the next replay overwrites it.
        """
        if self._record is None:
            return compute(*inputs)
        shapes = tuple(None if one is None else (one.shape, one.dtype) for one in inputs)
        started = time.perf_counter()
        if key is None or (key, shapes) != self._key:
            # Taken as it is the first time, which also prepares what must not be prepared in a recording.
            self._key, self._replay, self._inputs, self._repetitions = (key, shapes), None, [], 0
        else:
            self._repetitions += 1
        if self._replay is not None:
            for own, one in zip(self._inputs, inputs, strict=True):
                if own is not None and one is not None:
                    own.copy_(one)
            out = self._replay()
            self._learn(time.perf_counter() - started)
        elif not self._is_time(left):
            out = compute(*inputs)
            self._spent_s = [time.perf_counter() - started]
            return out
        else:
            self._inputs = [None if one is None else one.clone() for one in inputs]
            try:
                self._replay = self._record(lambda: compute(*self._inputs))
            except RuntimeError as error:
                level = logging.INFO if isinstance(error, UnrepeatableError) else logging.WARNING
                _LOG.log(level, "steps are not replayed, as they could not be recorded: %s", error)
                self._record = None
                return compute(*inputs)
            out = self._replay()
            self._spent_s.append(time.perf_counter() - started)
        self.num_replays += 1
        return out

    def _is_time(self, left: Callable[[], Left] | None) -> bool:
        """Whether to record what has come again so often."""
        if self._patience is None or not self._repetitions:
            return self._repetitions > 0
        return self._patience.is_over(self._repetitions, Left(0, sys.maxsize) if left is None else left())

    def _learn(self, replaying_s: float) -> None:
        """Take in what the first replay of a recording took."""
        if self._patience is not None and len(self._spent_s) == 2:
            computing_s, recording_s = self._spent_s
            self._patience.learn(computing_s, recording_s, replaying_s)
        self._spent_s = []
