"""The asyncio engine: concurrent requests, cancellation, slow readers and shutdown."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sfumato.engine.async_engine import AsyncEngine
from sfumato.engine.engine import Engine
from sfumato.engine.model import TextModel
from sfumato.engine.request import CanvasChanged, Committed, Finished, Request, Result
from sfumato.errors import CapacityError, RequestError
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]
PLAIN = GenerationSpec(canvas_length=8)
SETTINGS: dict[str, Any] = {"max_tokens": 24, "steps": 4, "adaptive": False}


@pytest.fixture
def model(make_model: Make) -> TextModel:
    return make_model(PLAIN)


def test_concurrent_requests_equal_sequential_ones(model: TextModel):
    requests = [model.request("hello", seed=i, n=1 + i % 3, **SETTINGS) for i in range(8)]
    expected = [
        [model.generate("hello", seed=i + v, **SETTINGS).tokens for v in range(1 + i % 3)] for i in range(len(requests))
    ]

    async def ask() -> list[Any]:
        async with AsyncEngine(Engine(model)) as engine:
            return await asyncio.gather(*(engine.generate(request) for request in requests))

    found = asyncio.run(ask())
    assert [[result.tokens for result in variations] for variations in found] == expected


def test_engine_can_be_made_from_a_model(model: TextModel):
    async def ask() -> list[Any]:
        async with AsyncEngine(model) as engine:
            return await engine.generate(model.request("hello", **SETTINGS))

    assert asyncio.run(ask())[0].tokens == model.generate("hello", **SETTINGS).tokens


def test_events_arrive_in_order(model: TextModel):
    async def ask() -> list[Any]:
        async with AsyncEngine(Engine(model)) as engine:
            return [event async for event in engine.stream(model.request("hello", **SETTINGS))]

    events = asyncio.run(ask())
    assert isinstance(events[-1], Finished)
    commits = [event for event in events if isinstance(event, Committed)]
    assert [event.canvas for event in commits] == list(range(events[-1].result.usage.canvases))
    assert "".join(event.text for event in commits) == events[-1].result.text
    drafts = [(event.canvas, event.step) for event in events if isinstance(event, CanvasChanged)]
    assert drafts == sorted(set(drafts))


def test_readers_without_drafts_wake_for_commits_alone(model: TextModel, monkeypatch: pytest.MonkeyPatch):
    looks, take = list[int](), Engine.take

    def counted(engine: Engine, request_id: int) -> Any:
        looks.append(request_id)
        return take(engine, request_id)

    monkeypatch.setattr(Engine, "take", counted)

    async def ask() -> list[Result]:
        async with AsyncEngine(Engine(model)) as engine:
            return await engine.generate(model.request("hello", max_tokens=24, steps=16, adaptive=False))

    [result] = asyncio.run(ask())
    assert result.usage.denoising_steps == 48
    # One look per event and one that finds nothing, and the first.
    assert len(looks) <= 2 * (result.usage.canvases + 1) + 1


def test_closing_a_stream_cancels_its_request(model: TextModel):
    async def ask() -> Engine:
        async with AsyncEngine(Engine(model)) as engine:
            cancelled: list[Result] = []
            stream = engine.stream(model.request("hello", max_tokens=80, steps=16, n=2), on_left=cancelled.extend)
            await anext(stream)
            await stream.aclose()
            assert [result.finish_reason for result in cancelled] == ["cancelled"] * 2
            assert cancelled[0].usage.positions_computed > 0
            assert engine.engine.cache.num_used == 0
            [other] = await engine.generate(model.request("x", **SETTINGS))
            assert other.finish_reason == "length"
            return engine.engine

    engine = asyncio.run(ask())
    assert not engine.has_work


def test_slow_reader_misses_only_drafts(model: TextModel):
    async def ask() -> list[Any]:
        events = []
        async with AsyncEngine(Engine(model)) as engine:
            async for event in engine.stream(model.request("hello", **SETTINGS)):
                events.append(event)
                while len(events) == 1 and engine.engine.has_work:
                    await asyncio.sleep(0.01)
        return events

    events = asyncio.run(ask())
    drafts = [(event.canvas, event.step) for event in events if isinstance(event, CanvasChanged)]
    commits = [event.canvas for event in events if isinstance(event, Committed)]
    assert commits == list(range(events[-1].result.usage.canvases))
    # The last draft of each canvas, and at most one more that came with the first event.
    assert dict(drafts) == dict.fromkeys(commits, 4)
    assert len(drafts) <= 2 * len(commits)


def test_requests_are_needed_and_a_running_engine(model: TextModel):
    async def ask() -> None:
        engine = AsyncEngine(model)
        with pytest.raises(RequestError, match="the engine is not running; allowed: within `async with"):
            await engine.generate(model.request("hi"))
        async with engine:
            with pytest.raises(
                RequestError, match=r"the request is 'hi'; allowed: what model.request\(prompt\) returns"
            ):
                await engine.generate("hi")  # type: ignore[arg-type]

    asyncio.run(ask())


def test_refusals_are_raised_to_the_caller(model: TextModel):
    async def ask() -> None:
        async with AsyncEngine(Engine(model)) as engine:
            with pytest.raises(CapacityError):
                await engine.generate(Request(prompt=(5,) * 90))
            await engine.generate(model.request("x", **SETTINGS))

    asyncio.run(ask())


def test_closing_cancels_waiting_requests(model: TextModel):
    async def ask() -> list[Any]:
        engine = AsyncEngine(Engine(model))
        async with engine:
            waiting = [
                asyncio.create_task(engine.generate(model.request("hello", max_tokens=80, steps=30, adaptive=False)))
                for _ in range(3)
            ]
            await asyncio.sleep(0.05)
        return await asyncio.gather(*waiting)

    found = asyncio.run(ask())
    assert [variations[0].finish_reason for variations in found] == ["cancelled"] * 3


def test_engine_errors_are_raised_to_the_caller(model: TextModel, monkeypatch: pytest.MonkeyPatch):
    async def ask() -> None:
        engine = Engine(model)
        monkeypatch.setattr(engine, "step", lambda: 1 / 0)
        async with AsyncEngine(engine) as answering:
            with pytest.raises(ZeroDivisionError):
                await answering.generate(model.request("x", **SETTINGS))

    asyncio.run(ask())


def test_an_exit_in_a_step_reaches_the_caller(model: TextModel, monkeypatch: pytest.MonkeyPatch):
    async def ask() -> None:
        engine = Engine(model)
        monkeypatch.setattr(engine, "step", sys.exit)
        async with AsyncEngine(engine) as answering:
            with pytest.raises(RuntimeError, match="SystemExit has stopped the engine"):
                await answering.generate(model.request("x", **SETTINGS))
            assert answering.failed

    asyncio.run(ask())


def test_leaving_does_not_wait_for_other_threads(model: TextModel):
    async def ask() -> None:
        loop, free = asyncio.get_running_loop(), threading.Event()
        loop.set_default_executor(ThreadPoolExecutor(1))
        busy = loop.run_in_executor(None, free.wait)
        async with AsyncEngine(Engine(model)) as engine:
            asked = asyncio.ensure_future(engine.generate(model.request("hello", max_tokens=80, steps=16)))
            while not engine.engine.has_work:
                await asyncio.sleep(0)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            assert not engine.engine.has_work
        free.set()
        await busy

    asyncio.run(ask())


def test_one_run_at_a_time_and_cancellations_stay_cancellations(model: TextModel, caplog: pytest.LogCaptureFixture):
    async def ask() -> None:
        async with AsyncEngine(Engine(model)) as engine:
            with pytest.raises(RequestError, match="the engine is running already"):
                await engine.__aenter__()
            request = model.request("hello", max_tokens=80, steps=16)
            asked = asyncio.ensure_future(engine.generate(request, on_left=lambda results: 1 / 0))
            while not engine.engine.has_work:
                await asyncio.sleep(0)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
        with pytest.raises(RequestError, match="the engine was closed"):
            await engine.__aenter__()

    asyncio.run(ask())
    assert "on_left failed" in caplog.text


def test_calls_share_the_engine_and_end_when_cancelled(model: TextModel):
    async def ask() -> None:
        left: list[Result] = []
        async with AsyncEngine(model) as engine:
            filled, answers = await asyncio.gather(
                engine.call(model, lambda model: model.infill("a", "b", length=3, steps=2)),
                engine.generate(model.request("hello", **SETTINGS)),
            )
            assert isinstance(filled, Result)
            assert filled.text == model.infill("a", "b", length=3, steps=2).text  # type: ignore[union-attr]
            assert answers[0].tokens == model.generate("hello", **SETTINGS).tokens
            long = {"spans": [(0, 9)], "steps": 1000, "adaptive": False}
            asked = asyncio.ensure_future(
                engine.call(model, lambda model: model.edit("a" * 9, **long), on_left=left.extend)
            )
            while not engine.engine.has_work:
                await asyncio.sleep(0)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            while engine.engine.has_work:
                await asyncio.sleep(0)
            with pytest.raises(RequestError, match="spans"):
                await engine.call(model, lambda model: model.edit("a", spans=[(0, 9)]))

    asyncio.run(ask())
