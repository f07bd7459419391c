"""Steps that are replayed are those that are computed. The recordings are of operations on tensors, without the program
that called them, as a CUDA graph is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from sfumato.engine import engine as engine_module
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.replay import Left, Patience, Record, Replayer, UnrepeatableError
from sfumato.engine.request import Finished, Request, Result
from sfumato.engine.tape import Tapes
from sfumato.models.moe import MoEConfig
from sfumato.models.quantize import quantize_model
from sfumato.models.quantized import QUANTIZATIONS
from sfumato.spec import GenerationSpec

NAMES = ["uniform", "self-conditioned", "mask", "shifted", "full", "full-shifted", "block", "in-place"]


def record(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """The operations of a computation, on the very tensors that it read and wrote."""
    with torch.inference_mode(False), torch.no_grad():
        graph = make_fx(compute)()
    return lambda: graph()


def answers(model: TextModel, requests: list[Request], recorder: Record | None) -> tuple[list[Result], int]:
    engine = Engine(model, EngineConfig(max_positions=512))
    engine.runner.replayer = replayer = Replayer(recorder)
    done = {
        (index, event.variation): event.result for index, event in engine.run(requests) if isinstance(event, Finished)
    }
    return [done[key] for key in sorted(done)], replayer.num_replays


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["plain", "experts", "integers", "experts of integers"])
@pytest.mark.parametrize("way", ["graph", "tape"])
def test_answers_are_those_of_computed_steps(
    make_model: Callable[..., TextModel], specs: dict[str, GenerationSpec], name: str, kind: str, way: str
):
    """Several canvases, some with given tokens, alone and side by side."""
    mixture = {"moe": MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)}
    model = make_model(specs[name], given_embedding=True, **mixture if "experts" in kind else {})
    if "integers" in kind:
        if way == "graph":
            pytest.skip("loops are no operations of torch")
        quantize_model(model.decoder, QUANTIZATIONS["w8a8"])
    requests = [
        model.request("hello", max_tokens=20, seed=3, steps=7, adaptive=False),
        model.request("what else", max_tokens=20, seed=4, steps=7, adaptive=False, n=2),
    ]
    for wanted in (requests[:1], requests):
        computed, none = answers(model, wanted, None)
        replayed, some = answers(model, wanted, Tapes() if way == "tape" else record)
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


class Places:
    """What a computation holds."""

    def __init__(self, value: float) -> None:
        self.tensors = (torch.tensor(value), None)


def test_a_recording_reads_what_is_held_anew_where_it_is_another():
    replayer = Replayer(lambda compute: compute)
    first, second = Places(10.0), Places(20.0)

    def compute(one: Tensor, held: Tensor | None, nothing: Tensor | None) -> Tensor:
        assert held is not None
        assert nothing is None
        return one + held

    def given(held: Places, one: float) -> float:
        return float(replayer("a", compute, torch.tensor(one), held=held))

    assert [given(first, 1.0), given(first, 2.0), given(second, 3.0)] == [11.0, 12.0, 23.0]
    assert [given(second, 4.0), given(first, 5.0)] == [24.0, 15.0]
    assert replayer.num_replays == 4
    # It is looked at where it is another one, and not before.
    first.tensors[0].fill_(30.0)
    assert [given(first, 1.0), given(second, 1.0), given(first, 1.0)] == [11.0, 21.0, 31.0]


@pytest.mark.parametrize(
    ("most", "keys", "replayed"),
    [(1, "abab", "----"), (1, "abba", "--b-"), (2, "ababa", "--aba"), (2, "ababacaba", "--aba-a-a")],
)
def test_of_several_computations_the_last_ones_are_known(most: int, keys: str, replayed: str):
    replayer, found = Replayer(lambda compute: compute, most=most), ""
    for key in keys:
        before = replayer.num_replays
        assert float(replayer(key, lambda one: one + 1.0, torch.tensor(2.0))) == 3.0
        found += key if replayer.num_replays > before else "-"
    assert found == replayed


def test_one_recording_does_for_all_canvases_and_texts(
    make_model: Callable[..., TextModel], specs: dict[str, GenerationSpec]
):
    """Where it is told in tensors what is read, as it is in loops."""
    answers = []
    for replay in (True, False):
        model = make_model(specs["self-conditioned"])
        quantize_model(model.decoder, QUANTIZATIONS["w8a8"])
        if model.decoder.operations.segments is None:
            pytest.skip("this CPU multiplies no integers")
        recorded = 0

        def count(compute: Callable[[], Tensor], tapes: Tapes) -> Callable[[], Tensor]:
            nonlocal recorded
            recorded += 1
            return tapes(compute)

        engine = Engine(model, EngineConfig(max_positions=512))
        if replay:
            engine.runner.replayer = Replayer(partial(count, tapes=Tapes()), most=16)
        else:
            engine.runner.replayer = Replayer(None)
        # Of one length each, so that all of their forwards are of a few kinds.
        texts = ["hello", "there", "where", "world"]
        requests = [model.request(text, max_tokens=24, seed=3, steps=5, adaptive=False) for text in texts]
        done = [event.result for one in requests for _, event in engine.run([one]) if isinstance(event, Finished)]
        answers.append([one.tokens for one in done])
        if replay:
            forwards, replays = engine.runner.num_forwards, engine.runner.replayer.num_replays
            assert recorded <= 4
            assert replays >= forwards - 2 * recorded - 4
    assert answers[0] == answers[1]


@pytest.mark.parametrize("length", [1, 3, 6, 7])
def test_canvases_of_any_length_in_integers(
    make_model: Callable[..., TextModel], specs: dict[str, GenerationSpec], length: int
):
    """Alone, and beside others, so that positions in question come to numbers that are no whole fours."""
    model = make_model(specs["self-conditioned"])
    quantize_model(model.decoder, QUANTIZATIONS["w8a8"])
    settings = {"max_tokens": length, "canvas_length": length, "steps": 3, "adaptive": False}
    alone = [model.generate("hello", seed=seed, **settings) for seed in range(3)]
    together = model.generate_batch(["hello"] * 3, seeds=[0, 1, 2], **settings)
    assert not any(one.failed for one in (*alone, *together)), [one.error for one in (*alone, *together)]
    assert [one.tokens for one in alone] == [one.tokens for one in together]


def test_what_recording_takes_is_made_up_for_by_so_many_replays():
    patience = Patience()
    for _ in range(30):
        patience.learn(computing_s=1.0, recording_s=3.0, replaying_s=0.6)
    assert patience.pays == pytest.approx(5.0, rel=1e-3)
    for _ in range(30):
        patience.learn(computing_s=1.0, recording_s=1.1, replaying_s=0.2)
    assert patience.pays == pytest.approx(1.0, rel=1e-3)
    # Replays that save nothing, and so would never make up for it.
    patience.learn(computing_s=1.0, recording_s=1.1, replaying_s=2.0)
    assert patience.pays == pytest.approx(0.5 + 0.5 * 64.0, rel=1e-3)


@pytest.mark.parametrize(
    ("repetitions", "left", "is_over"),
    [
        (0, (100, 100), False),
        # Steps that will all be taken: at once, if there are enough.
        (1, (5, 5), True),
        (1, (4, 4), False),
        (9, (4, 4), False),
        # Steps that may be taken: after as many.
        (4, (0, 40), False),
        (5, (0, 40), True),
        (5, (0, 4), False),
    ],
)
def test_when_it_is_time_to_record(repetitions: int, left: tuple[int, int], is_over: bool):
    assert Patience().is_over(repetitions, Left(*left)) is is_over


def test_it_waits_as_long_as_it_has_patience():
    patience, recorded = Patience(), []

    def counting(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
        recorded.append(sum(taken.values()))
        return compute

    replayer, taken = Replayer(counting, patience), {"a": 0, "b": 0}

    def take(key: str, times: int) -> None:
        for _ in range(times):
            assert float(replayer(key, lambda one: one + 1.0, torch.tensor(2.0), left=lambda: Left(0, 50))) == 3.0
            taken[key] += 1

    take("a", 5)
    assert recorded == []
    take("a", 1)
    assert recorded == [5]
    before = patience.pays
    # What recording took there is known by the first replay.
    take("a", 1)
    assert patience.pays != before
    patience.pays = 2.0
    take("b", 3)
    assert recorded == [5]
    take("b", 1)
    assert recorded == [5, 10]


def test_canvases_that_are_too_many_for_it_are_not_replayed(
    make_model: Callable[..., TextModel], specs: dict[str, GenerationSpec], monkeypatch: pytest.MonkeyPatch
):
    model, replays = make_model(specs["uniform"]), []
    request = model.request("hi", max_tokens=8, steps=20, seed=3, adaptive=False)
    for most in (8, 7):
        monkeypatch.setattr(engine_module, "MOST_REPLAYED", most)
        engine = Engine(model, EngineConfig())
        list(engine.run([request]))
        replays.append(engine.runner.replayer.num_replays)
    assert replays[0] > 15
    assert replays[1] == 0


@pytest.mark.parametrize("adaptive", [False, True])
def test_an_engine_on_a_cpu_records_canvases_that_will_come_again(
    make_model: Callable[..., TextModel], specs: dict[str, GenerationSpec], adaptive: bool
):
    model = make_model(specs["uniform"])
    # A stop that never comes, where steps may be left out.
    settings = {"max_tokens": 8, "seed": 3, "adaptive": adaptive, "stable_steps": 100}
    replays = []
    for steps in (4, 20):
        engine = Engine(model, EngineConfig())
        [_] = [
            event
            for _, event in engine.run([model.request("hi", steps=steps, **settings)])
            if isinstance(event, Finished)
        ]
        replays.append(engine.runner.replayer.num_replays)
    assert replays[0] == 0
    assert replays[1] > (8 if adaptive else 15)


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


def test_what_goes_another_way_each_time_is_computed_without_a_word(caplog: pytest.LogCaptureFixture):
    replayer = Replayer(Tapes())
    found = [float(replayer("a", lambda one: one * int(one), torch.tensor(float(i)))) for i in range(4)]
    assert found == [0.0, 1.0, 4.0, 9.0]
    assert replayer.num_replays == 0
    assert not caplog.records


def test_experts_whose_rows_the_host_counts_are_computed(
    make_model: Callable[..., TextModel], specs: dict[str, GenerationSpec]
):
    mixture = MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)
    model = make_model(specs["uniform"], moe=mixture)
    quantize_model(model.decoder, QUANTIZATIONS["int8"])
    requests = [model.request("hello", max_tokens=20, seed=3, steps=7, adaptive=False)]
    [computed], _ = answers(model, requests, None)
    [found], replays = answers(model, requests, Tapes())
    assert replays == 0
    assert found.tokens == computed.tokens


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: x + torch.rand(3),
        lambda x: torch.bernoulli(x.abs()),
        lambda x: x * x.sum().item(),
        lambda x: x * x.tolist()[0],
        lambda x: x * float(x.numpy()[0]),
        lambda x: x * float(np.asarray(x)[0]),
        lambda x: x if torch.equal(x, x) else -x,
    ],
)
def test_what_a_tape_cannot_know_beforehand(compute: Callable[[Tensor], Tensor]):
    x = torch.tensor([0.25, -0.5, 1.0])
    with torch.inference_mode(), pytest.raises(UnrepeatableError):
        Tapes()(lambda: compute(x))


def several(x: Tensor, held: Tensor) -> Tensor:
    """Views, copies, what is written in place, several results, lists, and memory that is left and taken again."""
    for i in range(3):
        high, order = x.sort(dim=0)
        parts = torch.split(torch.cat((high, x)), 4)
        x = parts[0].mT.reshape(5, 4).mT.contiguous() + parts[1].flatten().view(4, 5) * order
        held[i : i + 1].copy_(x[:1])
        x = torch.nn.functional.linear(x, held[:5, :5]).double().float().unsqueeze(0).expand(2, 4, 5)[1]
        x = torch.nn.functional.rms_norm(x.clamp(-3.0, 3.0), (5,)) + torch.zeros(5).add_(x[0])
    return x[1:].T


def test_a_tape_does_the_same_with_what_stands_there_now():
    generator = torch.Generator().manual_seed(0)
    draws = [torch.randn(4, 5, generator=generator) for _ in range(4)]
    tapes, x, held = Tapes(), torch.empty(4, 5), torch.ones(6, 5)
    with torch.inference_mode():
        x.copy_(draws[0])
        play = tapes(lambda: several(x, held))
        for i, draw in enumerate([draws[0], *draws]):
            # The first time it is what was computed while it was recorded.
            x.copy_(draw)
            own = torch.ones(6, 5) if i < 2 else held.clone()
            if i == 1:
                held.fill_(1.0)
            expected = several(draw.clone(), own)
            found = play()
            assert torch.equal(found, expected)
            assert found.shape == (5, 3)
            assert torch.equal(held, own)


def test_tapes_share_memory_and_take_it_again():
    tapes, x = Tapes(), torch.ones(1000)

    def chain(length: int) -> Tensor:
        y = x
        for _ in range(length):
            y = y * 2.0
        return y

    with torch.inference_mode():
        short = tapes(lambda: chain(3))
        few = tapes.num_bytes
        long = tapes(lambda: chain(40))
        assert few == tapes.num_bytes <= 3 * 4096
        for _ in range(2):
            assert float(short()[0]) == 2.0**3
            assert float(long()[0]) == 2.0**40
