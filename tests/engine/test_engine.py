"""Engine results equal those of each request alone, whatever joins, leaves or fails; every request gets a result."""

from __future__ import annotations

import dataclasses
import itertools
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from benchmarks.integrity import check_engine

import plain
import sfumato
from settings import sampler_config
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.request import CanvasChanged, Committed, Event, Finished, Request, Result, Start
from sfumato.errors import BusyError, CapacityError, ConfigError, RequestError
from sfumato.models.quantization.apply import quantize_model
from sfumato.models.quantization.weights import QUANTIZATIONS
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]
PLAIN = GenerationSpec(canvas_length=8)
NAMES = ["uniform", "self-conditioned", "mask", "hybrid", "shifted", "full", "full-shifted", "block", "in-place", "ar"]


def drain(engine: Engine) -> list[tuple[int, Event]]:
    """Pending events, and those of all further steps."""
    events = engine.take_all()
    while engine.has_work:
        engine.step()
        check_engine(engine)
        events += engine.take_all()
    return events


def step(engine: Engine) -> list[tuple[int, Event]]:
    engine.step()
    return engine.take_all()


def results(events: list[tuple[int, Event]]) -> dict[int, list[Result]]:
    found: dict[int, dict[int, Result]] = {}
    for request_id, event in events:
        if isinstance(event, Finished):
            variations = found.setdefault(request_id, {})
            assert event.variation not in variations, "a variation finished twice"
            variations[event.variation] = event.result
    return {request_id: [variations[i] for i in sorted(variations)] for request_id, variations in found.items()}


def random_request(model: TextModel, random_: random.Random) -> Request:
    spec, process = model.spec, model.bundle.process
    sampler: dict[str, Any] = {"steps": random_.randint(1, 6), "adaptive": random_.random() < 0.7}
    names = ["entropy", "threshold", "ancestral", "margin", "predictor-corrector", "remdm"]
    while True:
        sampler["name"] = random_.choice(names)
        sampler["temperature_start"] = sampler["temperature_end"] = random_.choice([0.0, 0.5, 1.0])
        sampler["reuse"] = random_.choice(["none", "none", "settled", "block"])
        sampler["refresh"] = 0 if sampler["reuse"] == "none" else random_.choice([0, 2])
        sampler["block_length"] = 0 if process.has_uniform else random_.choice([0, 0, 4])
        sampler["top_p"] = random_.choice([1.0, 1.0, 0.8])
        sampler["entropy_bound"] = random_.choice([0.1, 2.0, 20.0])
        try:
            sampler_config(**sampler).check(process)
            break
        except RequestError:
            continue
    prompts = [[7], [9] * 20, [*range(10, 50)], [*range(10, 42), 8, 9], [*range(100, 113)]]
    fixed = spec.autoregressive or spec.prefix_attention == "block"
    max_tokens, start = random_.randint(1, 30), None
    if random_.random() < 0.3:
        start = Start(
            tokens=tuple(random_.randrange(20, 100) for _ in range(max_tokens)),
            # Runs of both kinds, some of them longer than a canvas.
            frozen=tuple((position // random_.choice([2, 5, 11])) % 2 == 1 for position in range(max_tokens)),
            noise_level=random_.choice([0.2, 0.7, 1.0]),
            blanks=random_.random() < 0.5,
        )
    return Request(
        prompt=tuple(random_.choice(prompts)),
        sampler=sampler_config(**sampler),
        start=start,
        max_tokens=max_tokens,
        canvas_length=spec.canvas_length if fixed else random_.choice([3, 8, 12]),
        seed=random_.randrange(1000),
        priority=random_.choice([0, 0, 1, 5]),
        auto_length=random_.random() < 0.5,
        trace=True,
        revisit=0 if fixed or spec.commit == "in_place" else random_.choice([0, 0, 1, 3]),
        revisit_level=random_.choice([0.3, 1.0]),
    )


def assert_same(one: Result, other: Result) -> None:
    """Equal down to the last bit of every confidence of every step."""
    assert one.tokens == other.tokens
    assert (one.text, one.finish_reason, one.seed) == (other.text, other.finish_reason, other.seed)
    assert one.trace == other.trace
    for name in ("canvases", "denoising_steps", "revisions"):
        assert getattr(one.usage, name) == getattr(other.usage, name)


@pytest.mark.parametrize(
    ("name", "quantize"),
    [*((name, None) for name in NAMES), ("self-conditioned", "w8a8"), ("mask", "w8a8"), ("mask", "w4a8")],
)
def test_mixed_batches_equal_single_requests(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, quantize: str | None
):
    """Eight batches of random lengths, seeds, samplers and priorities, with cancellations, in random engines."""
    model = make_model(specs[name], given_embedding=True, length_buckets=(2, 5, 9, 30))
    if quantize is not None:
        quantize_model(model.decoder, QUANTIZATIONS[quantize])
    random_ = random.Random(name)
    pool = [random_request(model, random_) for _ in range(12)]
    alone = []
    for request in pool:
        solo = Engine(model, EngineConfig(reuse_prefixes=False))
        number = solo.submit(request)
        alone.append(results(drain(solo))[number][0])
    for _ in range(8):
        reuse = random_.random() < 0.5
        engine = Engine(
            model,
            EngineConfig(
                cache_positions=random_.choice([96, 200, 1000]),
                max_rows=random_.choice([2, 5, 64]),
                max_positions=random_.choice([1, 20, 512]),
                prefill_chunk=random_.choice([16, 256]),
                reuse_prefixes=reuse,
            ),
        )
        submitted: dict[int, int] = {}
        cancelled: set[int] = set()
        events: list[tuple[int, Event]] = []
        for _ in range(random_.randint(2, 7)):
            index = random_.randrange(len(pool))
            submitted[engine.submit(pool[index])] = index
            for _ in range(random_.randint(0, 4)):
                engine.step()
                check_engine(engine)
            if random_.random() < 0.2:
                number = random_.choice(list(submitted))
                cancelled.add(number)
                engine.cancel(number)
                check_engine(engine)
        events += drain(engine)
        found = results(events)
        assert set(found) == set(submitted)
        for number, index in submitted.items():
            [result] = found[number]
            if result.finish_reason == "cancelled":
                assert number in cancelled
                expected = alone[index].tokens[: len(result.tokens)]
                assert result.tokens == expected or pool[index].revisit
            elif reuse or name == "ar" or engine.config.prefill_chunk == 16:
                # Prefilled in other chunks or alone in its forward, a prompt may differ in the last bits; an input that
                # is rounded may then become the next integer.
                assert result.tokens == alone[index].tokens or (quantize is not None and not result.failed)
            else:
                assert_same(result, alone[index])
        assert engine.cache.num_used == 0
        assert reuse or engine.cache.num_idle == 0


MASKED = ("mask", "shifted", "full", "full-shifted", "block")


@pytest.mark.parametrize(
    ("name", "reuse"),
    [*((name, "settled") for name in ("uniform", "hybrid", *MASKED)), *((name, "block") for name in MASKED)],
)
def test_reuse_equals_the_plain_loop_with_one_layer(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, reuse: str
):
    """With one layer, keys and values depend on a position's own token alone, so reusing them is exact. Only what is
    decided differs, as it does in the plain loop, which computes every position."""
    model = make_model(specs[name], num_hidden_layers=1)
    settings: dict[str, Any] = {"max_tokens": 29, "steps": 8, "adaptive": False, "entropy_bound": 4.0}
    if model.bundle.process.has_uniform:
        # Random weights seldom predict the same twice: accept anything, over many steps, and always the argmax.
        settings |= {"temperature": 0.0, "entropy_bound": 1e9, "steps": 16}
    elif reuse == "block":
        del settings["entropy_bound"]
        settings |= {"block_length": 2 if name == "block" else 6, "sampler": "confidence", "steps": 12}
    positions = {}
    for refresh in (1, 3, 0):
        request = model.request("hello there", reuse=reuse, refresh=refresh, seed=3, **settings)
        [result] = [event.result for _, event in Engine(model).run([request]) if isinstance(event, Finished)]
        assert (list(result.tokens), result.usage.canvases, result.usage.denoising_steps) == plain.answer(
            model.bundle, request
        )
        positions[refresh] = result.usage.positions_computed
    assert positions[0] < positions[1]
    assert positions[0] <= positions[3] < positions[1]


def test_block_reuse_computes_only_the_active_block(make_model: Make, specs: dict[str, GenerationSpec]):
    """A canvas of 12 after a prefix of P that reads it: three blocks of 4, one token per step. The first step of a
    block computes P + 12 positions, the other three 4. Without blocks, the first P + 12 and the rest 12."""
    model = make_model(specs["full"])
    settings: dict[str, Any] = {"sampler": "confidence", "steps": 12, "max_tokens": 12, "temperature": 0.0}
    for block_length, expected in ((4, lambda text: 3 * (text + 12) + 9 * 4), (0, lambda text: text + 12 + 11 * 12)):
        request = model.request("hello there", reuse="block", block_length=block_length, **settings)
        [result] = [event.result for _, event in Engine(model).run([request]) if isinstance(event, Finished)]
        assert result.usage.denoising_steps == 12
        assert result.usage.positions_computed == expected(len(request.prompt))


@pytest.mark.parametrize(
    ("spec", "settings", "message"),
    [
        (PLAIN, {"sampler": "ancestral", "reuse": "settled"}, "reuse is 'settled' but the sampler 'ancestral'"),
        (PLAIN, {"reuse": "block"}, "reuse is 'block', which depends on the positions"),
        (PLAIN, {"reuse": "all"}, "unknown reuse 'all'"),
        (PLAIN, {"refresh": 4}, "refresh is 4 but reuse is 'none'; allowed: with reuse 'settled' or 'block'"),
        (PLAIN, {"reuse": "settled", "refresh": -1}, "refresh is -1; allowed: a whole number, 0 to 1000"),
    ],
)
def test_invalid_reuse_options_are_refused(
    make_model: Make, spec: GenerationSpec, settings: dict[str, Any], message: str
):
    with pytest.raises(RequestError, match=message):
        make_model(spec).request("x", **settings)


def test_short_request_overtakes_long_ones(make_model: Make):
    model = make_model(PLAIN)
    engine = Engine(model, EngineConfig(max_positions=16))
    settings: dict[str, Any] = {"steps": 4, "adaptive": False}
    long = [engine.submit(model.request("hello", max_tokens=32, seed=i, **settings)) for i in range(4)]
    for _ in range(6):
        engine.step()
    short = engine.submit(model.request("x", max_tokens=8, **settings))
    steps = 0
    while short not in results(step(engine)):
        steps += 1
    assert steps < 4 + 2
    assert set(results(drain(engine))) == set(long)


def test_long_request_is_not_starved(make_model: Make):
    """The long request progresses however many short ones arrive."""
    model = make_model(PLAIN)
    engine = Engine(model, EngineConfig(max_positions=8))
    settings: dict[str, Any] = {"steps": 2, "adaptive": False}
    long = engine.submit(model.request("hello", max_tokens=24, **settings))
    for _ in range(200):
        engine.submit(model.request("x", max_tokens=4, **settings))
        if long in results(step(engine)):
            return
    raise AssertionError("the long request is not finished after 200 steps")


def test_priority_precedes_arrival_order(make_model: Make):
    model = make_model(PLAIN)
    engine = Engine(model, EngineConfig(max_rows=1))
    low, high = (engine.submit(model.request("x", max_tokens=8, steps=2, priority=p)) for p in (0, 3))
    assert list(results(drain(engine))) == [high, low]


def test_long_prompt_is_prefilled_in_chunks_without_blocking_others(make_model: Make):
    model = make_model(PLAIN, max_position_embeddings=600)
    engine = Engine(model, EngineConfig(prefill_chunk=64, max_positions=100))
    long = engine.submit(model.request([5] * 400, max_tokens=8, steps=2, adaptive=False))
    engine.step()
    short = engine.submit(model.request("x", max_tokens=8, steps=2, adaptive=False))
    finished = list(results(drain(engine)))
    assert finished == [short, long]
    # Six chunks and two steps of the long request; the two steps of the short one share forwards with the chunks.
    assert engine.runner.num_forwards == 6 + 2


def test_steps_are_cut_under_load_when_allowed(make_model: Make):
    model = make_model(PLAIN)
    settings: dict[str, Any] = {"max_tokens": 8, "steps": 8, "adaptive": False}
    strict, lenient = (model.request("abc", **settings, min_steps=min_steps) for min_steps in (None, 3))
    alone = model.generate("abc", **settings)
    engine = Engine(model, EngineConfig(load_threshold=2))
    numbers = [engine.submit(request) for request in (strict, lenient, lenient, lenient)]
    found = results(drain(engine))
    usages = [found[number][0].usage for number in numbers]
    # Four requests at a load threshold of two: half of the steps.
    assert [usage.denoising_steps for usage in usages] == [8, 4, 4, 4]
    assert [usage.steps_cut for usage in usages] == [0, 4, 4, 4]
    assert found[numbers[0]][0].tokens == alone.tokens
    by_itself = Engine(model, EngineConfig(load_threshold=2))
    number = by_itself.submit(lenient)
    (only,) = results(drain(by_itself))[number]
    assert (only.tokens, only.usage.steps_cut) == (alone.tokens, 0)
    with pytest.raises(RequestError, match="min_steps is 9; allowed: a whole number, 1 to 8"):
        model.request("abc", **settings, min_steps=9)


def test_cancelling_returns_committed_text_and_frees_pages(make_model: Make):
    """Committed text is returned, pages are free in the same step, and cancelling again does nothing."""
    model = make_model(PLAIN)
    engine = Engine(model)
    request = model.request("hello", max_tokens=40, steps=3, adaptive=False)
    number = engine.submit(request)
    for _ in range(4):
        engine.step()
    before = engine.runner.num_forwards
    engine.cancel(number)
    engine.cancel(12345)
    assert engine.cache.num_used == 0
    events = drain(engine)
    [result] = results(events)[number]
    assert (result.finish_reason, len(result.tokens)) == ("cancelled", 8)
    assert result.usage.completion_tokens == 8
    assert engine.runner.num_forwards == before
    engine.cancel(number)
    assert not engine.has_work


def test_deadline_returns_the_text_so_far(make_model: Make, monkeypatch: pytest.MonkeyPatch):
    model = make_model(PLAIN)
    engine = Engine(model)
    now = 64.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    settings: dict[str, Any] = {"max_tokens": 40, "steps": 4, "adaptive": False}
    hurried = engine.submit(model.request("hello", deadline_ms=1250, **settings))
    waiting = engine.submit(model.request("hello", deadline_ms=1000, priority=-1, **settings))
    calm = engine.submit(model.request("hello", **settings))
    for _ in range(4):
        assert not results(step(engine))
        now += 0.25
    assert set(results(step(engine))) == {waiting}
    now += 0.25
    found = results(drain(engine))
    [late], [complete] = found[hurried], found[calm]
    assert (late.finish_reason, complete.finish_reason) == ("deadline", "stop")
    # A canvas of eight tokens was committed; the draft of the next one takes a last step.
    assert late.tokens[:8] == complete.tokens[:8]
    assert (len(late.tokens), late.usage.denoising_steps, late.usage.canvases) == (16, 4 + 2, 2)
    assert late.usage.total_s == pytest.approx(1.25)


def test_what_has_settled_by_the_deadline_is_whole(monkeypatch: pytest.MonkeyPatch):
    model, now = sfumato.load("tiny"), 64.0
    prompt = "answer, then derive: 2*6+1^2"
    engine, whole = Engine(model), model.generate(prompt)
    monkeypatch.setattr("time.perf_counter", lambda: now)
    number = engine.submit(model.request(prompt, steps=1000, adaptive=False, deadline_ms=1000))
    for _ in range(9):
        assert not results(step(engine))
    now += 2
    [late] = results(drain(engine))[number]
    assert (late.finish_reason, late.text, late.usage.denoising_steps) == ("deadline", whole.text, 9)


def test_oversized_requests_are_refused_at_submission(make_model: Make):
    model = make_model(PLAIN)
    engine = Engine(model, EngineConfig(cache_positions=32))
    with pytest.raises(CapacityError, match=r"may take 43 positions; the cache holds 32"):
        engine.submit(model.request([5] * 3, max_tokens=40))
    with pytest.raises(CapacityError, match="96 positions"):
        engine.submit(Request(prompt=(5,) * 60, max_tokens=40))
    with pytest.raises(RequestError, match="holds token 300; allowed: 0 to 260"):
        engine.submit(Request(prompt=(300,)))
    with pytest.raises(RequestError, match="remdm"):
        engine.submit(Request(prompt=(5,), sampler=sampler_config(name="remdm")))
    assert not engine.has_work


def test_full_queue_refuses_with_a_retry_hint(make_model: Make):
    model = make_model(PLAIN)
    engine = Engine(model, EngineConfig(max_queue=3, max_rows=2))
    request = model.request("x", max_tokens=8, steps=2)
    # Two of them can start at once.
    for _ in range(5):
        engine.submit(request)
    with pytest.raises(CapacityError, match=r"5 answers wait and 1 more are requested; allowed: 5.*Try again"):
        engine.submit(request)
    engine.step()
    with pytest.raises(CapacityError, match=r"3 answers wait and 1 more are requested; allowed: 3.*Try again"):
        engine.submit(request)
    assert len(results(drain(engine))) == 5
    for _ in range(5):
        engine.submit(request)
    with pytest.raises(CapacityError, match=r"Try again in about \d+ s"):
        engine.submit(request)


def test_large_request_is_delayed_but_not_starved(make_model: Make):
    model = make_model(PLAIN)
    engine = Engine(model, EngineConfig(cache_positions=96, reuse_prefixes=False))
    settings: dict[str, Any] = {"steps": 2, "adaptive": False}
    small = model.request([5] * 8, max_tokens=8, **settings)
    for _ in range(3):
        engine.submit(small)
    large = engine.submit(model.request([5] * 16, max_tokens=80, **settings))
    done: list[int] = []
    for _ in range(400):
        engine.submit(small)
        done += results(step(engine))
        check_engine(engine)
        if large in done:
            break
    assert large in done
    assert len(done) > 20, "smaller requests went first"


def test_more_variations_than_the_queue_holds_are_refused(make_model: Make):
    model = make_model(PLAIN)
    engine = Engine(model, EngineConfig(max_queue=3))
    with pytest.raises(RequestError, match="n is 4; allowed: a whole number, 1 to 3"):
        list(engine.run([model.request("x", n=4)]))


def test_run_accepts_more_requests_than_the_queue_holds(make_model: Make):
    model = make_model(PLAIN)
    engine = Engine(model, EngineConfig(max_queue=2, max_rows=2))
    requests = [model.request("x", max_tokens=8, steps=2, seed=i) for i in range(9)]
    found = [(index, event.result.seed) for index, event in engine.run(requests) if isinstance(event, Finished)]
    assert sorted(found) == [(i, i) for i in range(9)]
    assert engine._events == {}


@pytest.mark.parametrize("num_read", range(1, 12))
def test_every_answer_ends_though_the_reader_leaves(make_model: Make, num_read: int):
    """Also one that ended in the step of the last event that was read."""
    model = make_model(PLAIN)
    left: list[Event] = []
    requests = [model.request("x", max_tokens=8, steps=2, seed=seed) for seed in range(2)]
    events = Engine(model).run(requests, drafts=True, on_left=left.append)
    read = [event for _, event in itertools.islice(events, num_read)]
    events.close()
    assert len([event for event in (*read, *left) if isinstance(event, Finished)]) == 2


def test_run_waits_if_others_fill_the_queue_meanwhile(make_model: Make):
    class Contested(Engine):
        """An engine whose queue another thread fills before every second submission."""

        num_submitted = 0

        def submit(self, request: Request, **options: Any) -> int:
            self.num_submitted += 1
            if self.num_submitted % 2:
                raise BusyError("2 answers wait", 1)
            return super().submit(request, **options)

    model = make_model(PLAIN)
    requests = [model.request("x", max_tokens=8, steps=2, seed=i) for i in range(3)]
    engine = Contested(model)
    found = [event.result.seed for _, event in engine.run(requests) if isinstance(event, Finished)]
    assert sorted(found) == [0, 1, 2]
    engine.close()
    with pytest.raises(BusyError, match="closed"):
        list(engine.run([*requests, *requests]))


def test_closing_cancels_every_request(make_model: Make):
    model = make_model(PLAIN)
    engine = Engine(model, EngineConfig(max_rows=2))
    numbers = [engine.submit(model.request("x", max_tokens=20, steps=2)) for _ in range(4)]
    engine.step()
    engine.close()
    found = results(drain(engine))
    assert set(found) == set(numbers)
    assert {variations[0].finish_reason for variations in found.values()} == {"cancelled"}
    assert engine.cache.num_used == 0
    with pytest.raises(CapacityError, match="closed"):
        engine.submit(model.request("x"))


class TooManyError(Exception):
    pass


def test_failing_forward_fails_only_its_request(make_model: Make, monkeypatch: pytest.MonkeyPatch):
    """When one sequence makes a batched forward fail, the others still get theirs."""
    model = make_model(PLAIN)
    settings: dict[str, Any] = {"max_tokens": 16, "steps": 3, "adaptive": False}
    good = [model.request("hello", seed=i, **settings) for i in range(2)]
    expected = [model.generate("hello", seed=i, **settings).tokens for i in range(2)]
    engine = Engine(model)
    forward = model.decoder.forward

    def fails(tokens: torch.Tensor, *rest: Any, **options: Any) -> torch.Tensor:
        if (tokens == 200).sum() > 20:
            raise TooManyError("too many of them")
        return forward(tokens, *rest, **options)

    monkeypatch.setattr(model.decoder, "forward", fails)
    numbers = [engine.submit(good[0]), engine.submit(Request(prompt=(200,) * 30, max_tokens=8)), engine.submit(good[1])]
    found = results(drain(engine))
    assert [found[number][0].finish_reason for number in numbers] == ["length", "error", "length"]
    assert found[numbers[1]][0].error == "TooManyError: too many of them"
    assert found[numbers[1]][0].to_dict()["error"] == "TooManyError: too many of them"
    assert [found[numbers[0]][0].tokens, found[numbers[2]][0].tokens] == expected


def test_failing_tokenizer_fails_only_its_request(make_model: Make, monkeypatch: pytest.MonkeyPatch):
    model = make_model(PLAIN)
    engine = Engine(model)
    numbers = [engine.submit(model.request("hello", seed=i, max_tokens=8, steps=2)) for i in range(3)]
    engine.step()
    monkeypatch.setattr(engine._rows[1].stream, "push", lambda tokens: 1 / 0)
    found = results(drain(engine))
    assert [found[number][0].finish_reason for number in numbers] == ["length", "error", "length"]
    assert "ZeroDivisionError" in found[numbers[1]][0].error


def test_drafts_are_emitted_only_on_request(make_model: Make):
    model = make_model(PLAIN)
    engine = Engine(model)
    loud = engine.submit(model.request("x", max_tokens=8, steps=2, adaptive=False), drafts=True)
    quiet = engine.submit(model.request("x", max_tokens=8, steps=2, adaptive=False))
    events = drain(engine)
    kinds = {number: [type(event) for request_id, event in events if request_id == number] for number in (loud, quiet)}
    assert kinds == {loud: [CanvasChanged] * 3 + [Committed, Finished], quiet: [Committed, Finished]}


def test_closing_a_stream_cancels_its_request(make_model: Make):
    model = make_model(PLAIN)
    stream = model.stream("hello", max_tokens=40, steps=4)
    next(stream)
    assert model.engine.cache.num_used > 0
    stream.close()
    assert model.engine.cache.num_used == 0
    assert not model.engine.has_work


def test_threads_share_the_engine(make_model: Make):
    model = make_model(PLAIN)
    settings: dict[str, Any] = {"max_tokens": 24, "steps": 4}
    expected = [model.generate("hello", seed=i, **settings).tokens for i in range(6)]
    found: list[Any] = [None] * 6

    def ask(i: int) -> None:
        found[i] = model.generate("hello", seed=i, **settings).tokens

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected
    check_engine(model.engine)


def test_chat_reuses_the_cached_prefix_of_earlier_turns(make_model: Make):
    model = make_model(PLAIN, max_position_embeddings=400)
    first = model.request([*range(5, 45)], max_tokens=40, steps=2)
    answer = model.generate(list(first.prompt), max_tokens=40, steps=2)
    longer = [*first.prompt, *answer.tokens, 7, 8]
    again = model.generate(longer, max_tokens=16, steps=2, seed=1)
    # Whole pages of all but the last canvas, whose keys and values were never written.
    assert again.usage.cached_tokens == (40 + 32) // 16 * 16
    fresh = Engine(model, EngineConfig(reuse_prefixes=False))
    number = fresh.submit(model.request(longer, max_tokens=16, steps=2, seed=1))
    assert results(drain(fresh))[number][0].tokens == again.tokens


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(EngineConfig) if field.type != "bool"])
@pytest.mark.parametrize("value", [0, -1, True, 2.5])
def test_sizes_must_be_positive_whole_numbers(field: str, value: Any):
    with pytest.raises(ConfigError, match=field):
        EngineConfig(**{field: value})


def test_an_engine_needs_a_model():
    with pytest.raises(ConfigError, match=r"model is 'tiny'; allowed: what sfumato\.load returns"):
        Engine("tiny")  # type: ignore[arg-type]
