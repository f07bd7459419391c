"""Replayed steps equal computed steps: CUDA graphs on a GPU, for which traced operations stand in here, and recorded
kernels on the same memory on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.request import Finished, Request, Result
from sfumato.kernels.cpu import products, running
from sfumato.kernels.graphs import Record, Replayer
from sfumato.models.decoder import FusedLayers, fuse
from sfumato.models.moe import MoEConfig
from sfumato.models.quantization.apply import quantize_model
from sfumato.models.quantization.weights import QUANTIZATIONS
from sfumato.spec import GenerationSpec

NAMES = ["uniform", "self-conditioned", "mask", "shifted", "full", "full-shifted", "block", "in-place"]


def record(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """The operations of a computation, on the same tensors that it read and wrote."""
    with torch.inference_mode(False), torch.no_grad():
        graph = make_fx(compute)()
    return lambda: graph()


def run_engine(model: TextModel, requests: list[Request], recorder: Record | None) -> tuple[list[Result], int]:
    engine = Engine(model, EngineConfig(max_positions=512))
    engine.runner.replayer = replayer = None if recorder is None else Replayer(recorder)
    done = {
        (index, event.variation): event.result for index, event in engine.run(requests) if isinstance(event, Finished)
    }
    return [done[key] for key in sorted(done)], 0 if replayer is None else replayer.num_replays


def requests_of(model: TextModel) -> list[Request]:
    """Several canvases, one row and two rows."""
    settings: dict[str, Any] = {"max_tokens": model.spec.canvas_length + 8, "steps": 5, "adaptive": False}
    return [model.request("hello", seed=3, **settings), model.request("what else", seed=4, n=2, **settings)]


def assert_same(computed: list[Result], replayed: list[Result]) -> None:
    for one, other in zip(computed, replayed, strict=True):
        assert not one.failed
        assert one.tokens == other.tokens
        assert one.usage.denoising_steps == other.usage.denoising_steps


@pytest.mark.parametrize(
    ("name", "kind", "together"),
    [
        *((name, "plain", True) for name in NAMES),
        ("self-conditioned", "plain", False),
        ("self-conditioned", "experts", True),
        ("block", "experts", False),
    ],
)
def test_replayed_steps_equal_computed_steps(
    make_model: Callable[..., TextModel], specs: dict[str, GenerationSpec], name: str, kind: str, together: bool
):
    mixture = {"moe": MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)}
    model = make_model(specs[name], given_embedding=True, **mixture if kind == "experts" else {})
    requests = requests_of(model) if together else requests_of(model)[:1]
    computed, num_unrecorded = run_engine(model, requests, None)
    replayed, num_replays = run_engine(model, requests, record)
    assert num_unrecorded == 0
    assert num_replays > 4
    assert_same(computed, replayed)


@pytest.fixture(params=["floats", "w8a8", "w4a8"])
def prepare(request: pytest.FixtureRequest) -> Callable[[TextModel], None]:
    """Fuse a model's layers, in floats or quantized."""
    if request.param != "floats" and not products.is_available():
        pytest.skip("this CPU has no compiled integer products that could be recorded")

    def quantize_and_fuse(model: TextModel) -> None:
        if request.param != "floats":
            quantize_model(model.decoder, QUANTIZATIONS[request.param])
        fuse(model.decoder)

    return quantize_and_fuse


def run_fused(model: TextModel, requests: list[Request], *, replay: bool) -> tuple[list[Result], running.Graphs | None]:
    engine = Engine(model, EngineConfig(max_positions=512, replay=replay))
    done = {
        (index, event.variation): event.result for index, event in engine.run(requests) if isinstance(event, Finished)
    }
    graphs = engine.cache.pool.graphs
    assert graphs is None or isinstance(graphs, running.Graphs)
    return [done[key] for key in sorted(done)], graphs


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, {}) for name in NAMES),
        *((name, {"qk_norm": True}) for name in ("self-conditioned", "full-shifted")),
        *((name, {"attention_bias": True}) for name in ("shifted", "block")),
    ],
)
def test_replayed_fused_layers_equal_computed_ones(
    make_model: Callable[..., TextModel],
    specs: dict[str, GenerationSpec],
    name: str,
    changes: dict[str, bool],
    prepare: Callable[[TextModel], None],
):
    model = make_model(specs[name], given_embedding=True, hidden_size=32, head_dim=8, **changes)
    prepare(model)
    assert isinstance(model.decoder.model.layers, FusedLayers)
    for requests in (requests_of(model)[:1], requests_of(model)):
        computed, no_graphs = run_fused(model, requests, replay=False)
        replayed, graphs = run_fused(model, requests, replay=True)
        assert no_graphs is None
        assert graphs is not None
        # All of them were recorded.
        assert graphs._graphs
        assert None not in graphs._graphs.values()
        assert_same(computed, replayed)


def test_one_recording_serves_all_canvases_and_texts(
    make_model: Callable[..., TextModel], specs: dict[str, GenerationSpec], prepare: Callable[[TextModel], None]
):
    """Which texts are read is passed in tensors."""
    model = make_model(specs["self-conditioned"])
    prepare(model)
    # All of one length, so that their forwards are of few kinds.
    requests = [
        model.request(text, max_tokens=24, seed=3, steps=5, adaptive=False) for text in ("hello", "there", "where")
    ]
    engine = Engine(model, EngineConfig(max_positions=512))
    for request in requests:
        list(engine.run([request]))
    assert isinstance(engine.cache.pool.graphs, running.Graphs)
    assert len(engine.cache.pool.graphs._graphs) <= 4
    assert engine.runner.num_forwards > 12


def test_only_repeated_steps_are_recorded():
    recorded = 0

    def counting(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
        nonlocal recorded
        recorded += 1
        return compute

    replayer = Replayer(counting)
    calls: list[tuple[float, float | None]] = []

    def compute(x: Tensor, y: Tensor | None) -> Tensor:
        calls.append((float(x), None if y is None else float(y)))
        return x + (0.0 if y is None else y)

    def call(key: str | None, x: float, y: float | None = None) -> float:
        return float(replayer(key, compute, torch.tensor(x), None if y is None else torch.tensor(y)))

    # The first call of a kind is computed, the second recorded; an additional input makes another kind.
    assert [call("a", 1.0), call("a", 2.0), call("a", 3.0)] == [1.0, 2.0, 3.0]
    assert (recorded, replayer.num_replays) == (1, 2)
    assert [call("a", 4.0, 1.0), call("a", 5.0, 2.0), call("a", 6.0, 3.0)] == [5.0, 7.0, 9.0]
    assert (recorded, replayer.num_replays) == (2, 4)
    assert [call("b", 7.0), call("a", 8.0, 1.0), call(None, 9.0), call(None, 10.0)] == [7.0, 9.0, 9.0, 10.0]
    assert (recorded, replayer.num_replays) == (2, 4)
    assert len(calls) == 10


@pytest.mark.parametrize("length", [1, 3, 6, 7])
def test_fused_layers_take_canvases_of_any_length(
    make_model: Callable[..., TextModel],
    specs: dict[str, GenerationSpec],
    length: int,
    prepare: Callable[[TextModel], None],
):
    """Alone and in a batch, so that the number of positions is not always a multiple of four."""
    model = make_model(specs["self-conditioned"])
    prepare(model)
    settings = {"max_tokens": length, "canvas_length": length, "steps": 3, "adaptive": False}
    alone = [model.generate("hello", seed=seed, **settings) for seed in range(3)]
    together = model.generate_batch(["hello"] * 3, seeds=[0, 1, 2], **settings)
    assert not any(result.failed for result in (*alone, *together)), [result.error for result in (*alone, *together)]
    assert [result.tokens for result in alone] == [result.tokens for result in together]


def test_steps_that_cannot_be_recorded_are_computed(caplog: pytest.LogCaptureFixture):
    def refuse(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
        raise RuntimeError("operation not permitted")

    replayer = Replayer(refuse)
    found = [float(replayer("a", lambda x: x * 2, torch.tensor(float(i)))) for i in range(4)]
    assert found == [0.0, 2.0, 4.0, 6.0]
    assert replayer.num_replays == 0
    assert [line.getMessage() for line in caplog.records] == [
        "steps are not replayed, because they could not be recorded: operation not permitted"
    ]
