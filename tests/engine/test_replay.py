"""Steps that are replayed are those that are computed. The recordings are of operations on tensors, without the program
that called them, as a CUDA graph is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.replay import Replayer
from sfumato.engine.request import Finished, Request, Result
from sfumato.models.moe import MoEConfig
from sfumato.spec import GenerationSpec

NAMES = ["uniform", "self-conditioned", "mask", "shifted", "full", "full-shifted", "block", "in-place"]


def record(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """The operations of a computation, on the very tensors that it read and wrote."""
    with torch.inference_mode(False), torch.no_grad():
        graph = make_fx(compute)()
    return lambda: graph()


def answers(model: TextModel, requests: list[Request], *, replaying: bool) -> tuple[list[Result], int]:
    engine = Engine(model, EngineConfig(max_positions=512))
    engine.runner.replayer = replayer = Replayer(record if replaying else None)
    done = {
        (index, event.variation): event.result for index, event in engine.run(requests) if isinstance(event, Finished)
    }
    return [done[key] for key in sorted(done)], replayer.num_replays


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("experts", [False, True], ids=["plain", "experts"])
def test_answers_are_those_of_computed_steps(
    make_model: Callable[..., TextModel], specs: dict[str, GenerationSpec], name: str, experts: bool
):
    """Several canvases, some with given tokens, alone and side by side."""
    mixture = {"moe": MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)} if experts else {}
    model = make_model(specs[name], given_embedding=True, **mixture)
    requests = [
        model.request("hello", max_tokens=20, seed=3, steps=7, adaptive=False),
        model.request("what else", max_tokens=20, seed=4, steps=7, adaptive=False, n=2),
    ]
    for wanted in (requests[:1], requests):
        computed, none = answers(model, wanted, replaying=False)
        replayed, some = answers(model, wanted, replaying=True)
        assert none == 0
        assert some > 4
        for one, other in zip(computed, replayed, strict=True):
            assert not one.failed
            assert one.tokens == other.tokens
            assert one.usage.denoising_steps == other.usage.denoising_steps


def test_it_records_what_comes_again_and_nothing_else():
    recorded = 0

    def counting(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
        nonlocal recorded
        recorded += 1
        return compute

    replayer = Replayer(counting)
    calls: list[tuple[float, float | None]] = []

    def compute(one: Tensor, other: Tensor | None) -> Tensor:
        calls.append((float(one), None if other is None else float(other)))
        return one + (0.0 if other is None else other)

    def given(key: str | None, one: float, other: float | None = None) -> float:
        return float(replayer(key, compute, torch.tensor(one), None if other is None else torch.tensor(other)))

    # The first of a kind is computed, the second recorded; an input more makes another kind.
    assert [given("a", 1.0), given("a", 2.0), given("a", 3.0)] == [1.0, 2.0, 3.0]
    assert (recorded, replayer.num_replays) == (1, 2)
    assert [given("a", 4.0, 1.0), given("a", 5.0, 2.0), given("a", 6.0, 3.0)] == [5.0, 7.0, 9.0]
    assert (recorded, replayer.num_replays) == (2, 4)
    assert [given("b", 7.0), given("a", 8.0, 1.0), given(None, 9.0), given(None, 10.0)] == [7.0, 9.0, 9.0, 10.0]
    assert (recorded, replayer.num_replays) == (2, 4)
    assert len(calls) == 10


def test_what_cannot_be_recorded_is_computed(caplog: pytest.LogCaptureFixture):
    def refuse(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
        raise RuntimeError("operation not permitted")

    replayer = Replayer(refuse)
    found = [float(replayer("a", lambda one: one * 2, torch.tensor(float(i)))) for i in range(4)]
    assert found == [0.0, 2.0, 4.0, 6.0]
    assert replayer.num_replays == 0
    assert [line.getMessage() for line in caplog.records] == [
        "steps are not replayed, as they could not be recorded: operation not permitted"
    ]
