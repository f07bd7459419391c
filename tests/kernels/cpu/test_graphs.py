"""Reusable memory, and recorded passes replayed on it."""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

from sfumato.kernels.base import Rounding
from sfumato.kernels.cpu import running
from sfumato.kernels.cpu.backend import CompiledBackend

# N rows, I inputs


def test_freed_memory_is_reused():
    first = running.empty(2, 2**19)
    place, view = first.data_ptr(), first[1:, 5:]
    del first
    # A view still holds it.
    second = running.empty(2, 2**19)
    assert second.data_ptr() != place
    view.fill_(1.0)
    second.zero_()
    assert view.eq(1.0).all()
    del view
    # Of two that are free, one serves both sizes.
    assert running.empty(1, 2**19).data_ptr() == place
    assert running.empty(4, 2**19, dtype=torch.int8).dtype == torch.int8


def test_small_and_very_large_tensors_are_not_kept():
    before = list(running.recorder.blocks.blocks)
    running.empty(3, 5)
    running.empty(2**10, 2**18)
    assert all(one is other for one, other in zip(before, running.recorder.blocks.blocks, strict=True))


COS, SIN = torch.ones(1, 3, 1, 8), torch.full((1, 3, 1, 8), 0.5)
COMPILED = CompiledBackend()


def turn(x_NI: Tensor) -> Tensor:
    return COMPILED.rotate(x_NI.view(1, 3, 1, 8), COS, SIN).view(3, 8)


def test_replay_equals_computation():
    graphs, generator = running.Graphs(), torch.Generator().manual_seed(0)

    def compute(x_NI: Tensor) -> Tensor:
        return turn(turn(x_NI))

    found = [torch.randn(3, 8, generator=generator) for _ in range(4)]
    played = [graphs.replay("key", compute, [x], lambda: (COS, SIN)).clone() for x in found]
    assert all(torch.equal(one, compute(x)) for one, x in zip(played, found, strict=True))
    [graph] = graphs._graphs.values()
    assert graph is not None
    # What was computed on the way is there for the next one.
    assert sum(not block.free for block in graphs._blocks.blocks) == 2


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("threads", [2 * (os.cpu_count() or 1) + 3], indirect=True)
def test_threads_that_come_late_change_nothing():
    """Of more threads than cores, some always come late."""
    graphs, generator = running.Graphs(), torch.Generator().manual_seed(0)
    weight_I = torch.rand(4096, generator=generator)

    def compute(x_NI: Tensor) -> Tensor:
        for _ in range(40):
            x_NI = COMPILED.rms_norm(x_NI, weight_I, 1e-6)
        return x_NI

    for _ in range(50):
        x_NI = torch.randn(20, 4096, generator=generator)
        assert torch.equal(graphs.replay("key", compute, [x_NI], lambda: (weight_I,)), compute(x_NI))
    [graph] = graphs._graphs.values()
    assert graph is not None


def test_each_shape_and_key_has_its_graph():
    graphs = running.Graphs()
    factor_I = torch.ones(8)
    for num_rows, key in ((3, "a"), (3, "b"), (5, "a"), (3, "a")):
        x = torch.randn(num_rows, 8)
        found = graphs.replay(
            key, lambda x: COMPILED.quantize(x, Rounding(factor_I)).scale_NG, [x], lambda: (factor_I,)
        )
        torch.testing.assert_close(found, x.abs().amax(-1, keepdim=True) / 127)
    assert len(graphs._graphs) == 3


def test_passes_with_torch_operations_are_not_recorded():
    """A graph would read what it was the first time."""
    graphs = running.Graphs()

    def compute(x_NI: Tensor) -> Tensor:
        return turn(2.0 * x_NI)

    for _ in range(3):
        x = torch.randn(3, 8)
        assert torch.equal(graphs.replay("key", compute, [x], lambda: (COS, SIN)), compute(x))
    assert list(graphs._graphs.values()) == [None]


def test_least_recently_used_graph_is_dropped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "_MAX_GRAPHS", 2)
    graphs, x = running.Graphs(), torch.randn(3, 8)
    for key in ("a", "b", "a", "c"):
        graphs.replay(key, turn, [x], lambda: (COS, SIN))
    assert [key[0] for key in graphs._graphs] == ["a", "c"]
