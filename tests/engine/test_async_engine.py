"""The engine from coroutines: many at once, leaving early, slow readers, and the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sfumato.engine.async_engine import AsyncEngine
from sfumato.engine.engine import Engine
from sfumato.engine.model import TextModel
from sfumato.engine.request import CanvasChanged, Committed, Finished, Request, Result
from sfumato.errors import CapacityError
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]
PLAIN = GenerationSpec(canvas_length=8)
SETTINGS: dict[str, Any] = {"max_tokens": 24, "steps": 4, "adaptive": False}


@pytest.fixture
def model(make_model: Make) -> TextModel:
    return make_model(PLAIN)


def test_many_at_once_are_answered_as_each_alone(model: TextModel):
    requests = [model.request("hello", seed=i, n=1 + i % 3, **SETTINGS) for i in range(8)]
    expected = [
        [model.generate("hello", seed=i + v, **SETTINGS).tokens for v in range(1 + i % 3)] for i in range(len(requests))
    ]

    async def ask() -> list[Any]:
        async with AsyncEngine(Engine(model)) as engine:
            return await asyncio.gather(*(engine.generate(request) for request in requests))

    found = asyncio.run(ask())
    assert [[result.tokens for result in own] for own in found] == expected


def test_a_model_brings_an_engine(model: TextModel):
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


def test_who_leaves_has_cancelled(model: TextModel):
    async def ask() -> Engine:
        async with AsyncEngine(Engine(model)) as engine:
            left: list[Result] = []
            stream = engine.stream(model.request("hello", max_tokens=80, steps=16, n=2), on_left=left.extend)
            await anext(stream)
            await stream.aclose()
            assert [result.finish_reason for result in left] == ["cancelled"] * 2
            assert left[0].usage.positions_computed > 0
            assert engine.engine.cache.num_used == 0
            [other] = await engine.generate(model.request("x", **SETTINGS))
            assert other.finish_reason == "length"
            return engine.engine

    engine = asyncio.run(ask())
    assert not engine.has_work


def test_a_slow_reader_misses_drafts_and_nothing_else(model: TextModel):
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
    # The last draft of each canvas, and at most one more that was taken with the first event.
    assert dict(drafts) == dict.fromkeys(commits, 4)
    assert len(drafts) <= 2 * len(commits)


def test_refusals_are_raised_where_they_are_asked_for(model: TextModel):
    async def ask() -> None:
        async with AsyncEngine(Engine(model)) as engine:
            with pytest.raises(CapacityError):
                await engine.generate(Request(prompt=(5,) * 90))
            await engine.generate(model.request("x", **SETTINGS))

    asyncio.run(ask())


def test_closing_answers_who_is_waiting(model: TextModel):
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
    assert [own[0].finish_reason for own in found] == ["cancelled"] * 3


def test_a_bug_reaches_who_is_waiting(model: TextModel, monkeypatch: pytest.MonkeyPatch):
    async def ask() -> None:
        engine = Engine(model)
        monkeypatch.setattr(engine, "step", lambda: 1 / 0)
        async with AsyncEngine(engine) as answering:
            with pytest.raises(ZeroDivisionError):
                await answering.generate(model.request("x", **SETTINGS))

    asyncio.run(ask())
