"""Forwards that are taken again, step after step: recorded once on a GPU, and replayed from then on.

A step of a canvas launches a thousand small kernels, and the host is slower at that than a GPU at running them. The
steps of a canvas differ in nothing but the tensors that they read, so that a recording of one of them, with tensors
that stay where they are, does for all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable

import torch
from torch import Tensor

Compute = Callable[..., Tensor]
Record = Callable[[Callable[[], Tensor]], Callable[[], Tensor]]
"""Turns a computation into one that does the same again, on the same tensors, and is called at once for the first
time."""

_LOG = logging.getLogger(__name__)


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


class Replayer:
    """Computes, and replays what it computed last in the same way.

    Args:
        record: makes recordings.
    """

    def __init__(self, record: Record) -> None:
        self._record: Record | None = record
        self._key: Hashable = None
        self._inputs: list[Tensor | None] = []
        self._replay: Callable[[], Tensor] | None = None
        self.num_replays = 0
        """Computations that were replayed so far."""

    def __call__(self, key: Hashable, compute: Compute, *inputs: Tensor | None) -> Tensor:
        """What a computation gives of its inputs; the next replay overwrites it.

        Args:
            key: equal for computations that differ in the values of their inputs alone; None for one that does not come
                again. What it names by identity is kept by `compute`.
            compute: reads nothing that changes but its inputs.
            inputs: tensors, or None where there is none.
        """
        if self._record is None or key is None:
            return compute(*inputs)
        key = (key, tuple(None if one is None else (one.shape, one.dtype) for one in inputs))
        if key != self._key:
            # Taken as it is the first time, which also prepares what must not be prepared in a recording.
            self._key, self._replay = key, None
            return compute(*inputs)
        if self._replay is None:
            self._inputs = [None if one is None else one.clone() for one in inputs]
            try:
                self._replay = self._record(lambda: compute(*self._inputs))
            except RuntimeError as error:
                _LOG.warning("steps are not replayed, as they could not be recorded: %s", error)
                self._record = None
                return compute(*inputs)
        else:
            for own, one in zip(self._inputs, inputs, strict=True):
                if own is not None and one is not None:
                    own.copy_(one)
        self.num_replays += 1
        return self._replay()
