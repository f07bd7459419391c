"""Repeated forwards on a GPU: recorded once as CUDA graphs, then replayed.

A canvas step launches a thousand small kernels, which takes the host longer than the GPU needs to run them. Steps of a
canvas differ only in the tensors they read, so one recording over fixed tensors serves all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable

import torch
from torch import Tensor

Compute = Callable[..., Tensor]
Record = Callable[[Callable[[], Tensor]], Callable[[], Tensor]]
"""Runs a computation once and returns a function that repeats it on the same tensors."""

_LOG = logging.getLogger(__name__)


def record_cuda(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """A `Record` using CUDA graphs. The computation must not wait for the device."""
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
    """Runs computations, and replays the last one if it is repeated.

    Args:
        record: makes recordings.
    """

    def __init__(self, record: Record) -> None:
        self._record: Record | None = record
        self._key: Hashable = None
        self._inputs: list[Tensor | None] = []
        self._replay: Callable[[], Tensor] | None = None
        self._recorded: Callable[..., Tensor] | None = None
        self.num_replays = 0
        """Number of replays so far."""

    def __call__(self, key: Hashable, compute: Compute, *inputs: Tensor | None) -> Tensor:
        """The result for some inputs; the next replay overwrites it.

        Args:
            key: equal for computations that differ only in the values of their inputs; None for one that does not
                repeat. Objects it identifies by id are kept alive by `compute`, which this keeps.
            compute: reads nothing that changes except its inputs.
            inputs: tensors, or None.
        """
        if self._record is None or key is None:
            return compute(*inputs)
        key = (key, tuple(None if one is None else (one.shape, one.dtype) for one in inputs))
        if key != self._key:
            # The first time it runs normally, which also prepares what must not be prepared during recording.
            self._key, self._replay, self._recorded = key, None, None
            return compute(*inputs)
        if self._replay is None:
            # A recording reads what this one reads by its address.
            self._recorded = compute
            self._inputs = [None if one is None else one.clone() for one in inputs]
            try:
                self._replay = self._record(lambda: compute(*self._inputs))
            except RuntimeError as error:
                _LOG.warning("steps are not replayed, because they could not be recorded: %s", error)
                self._record = None
                return compute(*inputs)
        else:
            for own, one in zip(self._inputs, inputs, strict=True):
                if own is not None and one is not None:
                    own.copy_(one)
        self.num_replays += 1
        return self._replay()
