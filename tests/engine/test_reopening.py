"""Reopening of committed canvases, and the events it emits."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from benchmarks.integrity import check_engine

import plain
import sfumato
from schemas import random_schema
from sfumato.engine.engine import Engine
from sfumato.engine.model import TextModel
from sfumato.engine.request import CanvasChanged, Committed, Event, Finished, Reopened, Request, Result, Start
from sfumato.errors import RequestError
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]
NAMES = ["uniform", "self-conditioned", "mask", "hybrid", "shifted", "full", "full-shifted"]


def assemble(events: list[Event]) -> str:
    """The text as a client assembles it from the events."""
    text = ""
    for event in events:
        if isinstance(event, Committed):
            text += event.text
        elif isinstance(event, Reopened):
            text = event.text
    return text


def run(model: TextModel, request: Request) -> tuple[Result, list[Event]]:
    events = [event for _, event in Engine(model).run([request], drafts=True)]
    [result] = [event.result for event in events if isinstance(event, Finished)]
    return result, events


@pytest.mark.parametrize("name", NAMES)
def test_only_reopened_canvases_change(make_model: Make, specs: dict[str, GenerationSpec], name: str):
    model = make_model(specs[name])
    settings: dict[str, Any] = {"max_tokens": 29, "canvas_length": 8, "steps": 3, "adaptive": False}
    once, _ = run(model, model.request("hello", **settings))
    assert once.usage.canvases == 4, "random weights seldom end a text"
    for revisit, opened in ((1, [2]), (2, [2, 1]), (9, [2, 1, 0])):
        result, events = run(model, model.request("hello", revisit=revisit, **settings))
        assert [event.canvas for event in events if isinstance(event, Reopened)] == opened
        assert (result.usage.canvases, result.usage.reopened) == (4 + len(opened), len(opened))
        assert result.usage.denoising_steps == 3 * (4 + len(opened))
        assert result.finish_reason == once.finish_reason == "length"
        assert assemble(events) == result.text == model.tokenizer.decode(list(result.tokens))
        first = 8 * opened[-1]
        assert result.tokens[:first] == once.tokens[:first]
        assert result.tokens[24:] == once.tokens[24:]
        assert result.tokens != once.tokens, "sampled again with more context, yet unchanged"
        # A reopened canvas also sees one canvas length of what follows.
        drafts = [event for event in events if isinstance(event, CanvasChanged)]
        assert [len(event.tokens) for event in drafts[-4 * len(opened) :]] == [
            length for canvas in opened for length in [min(16, 29 - 8 * canvas)] * 4
        ]


@pytest.mark.parametrize("name", NAMES)
def test_reopening_equals_the_plain_loop(make_model: Make, specs: dict[str, GenerationSpec], name: str):
    model = make_model(specs[name])
    random_ = random.Random(name)
    for seed in range(6):
        start = None
        if seed % 3 == 0:
            frozen = (*(random_.random() < 0.4 for _ in range(21)), False)
            start = Start(tokens=tuple(random_.choices(range(20, 100), k=22)), frozen=frozen, noise_level=0.6)
        request = Request(
            prompt=(7, 8, 9),
            sampler=model.request("x", steps=2, temperature=1.0).sampler,
            max_tokens=22,
            canvas_length=random_.choice([5, 7]),
            seed=seed,
            start=start,
            revisit=random_.choice([1, 2, 5]),
            revisit_level=random_.choice([0.3, 0.7, 1.0]),
        )
        result, _ = run(model, request)
        found = (list(result.tokens), result.usage.canvases, result.usage.denoising_steps)
        assert found == plain.answer(model.bundle, request)


@pytest.mark.slow
def test_schemas_hold_after_reopening(make_model: Make, specs: dict[str, GenerationSpec]):
    random_ = random.Random(3)
    models = [make_model(specs[name], max_position_embeddings=700) for name in ("uniform", "mask", "full")]
    opened = 0
    for number in range(12):
        schema, model = random_schema(random_), models[number % 3]
        result, events = run(
            model,
            model.request(
                "?", schema=schema, max_tokens=600, canvas_length=16, steps=2, temperature=1.0, revisit=3, seed=number
            ),
        )
        opened += result.usage.reopened
        assert result.finish_reason in ("stop", "steps")
        assert assemble(events) == result.text
        jsonschema.validate(json.loads(result.text), schema)
    assert opened > 12


def test_answer_before_its_derivation_is_corrected(make_model: Make):
    """A number that was committed before its derivation is corrected by it."""
    model = sfumato.load("tiny")
    prompt = "answer, then derive: 81*(2/3)^2+sqrt(9)"
    before, after = (model.generate(prompt, canvas_length=24, revisit=revisit) for revisit in (0, 1))
    first, *derived = before.text.splitlines()
    correct = derived[-1].rpartition(" ")[2]
    assert first != f"answer: {correct}"
    assert after.text.splitlines() == [f"answer: {correct}", *derived]


@pytest.mark.parametrize("name", ["uniform", "full"])
def test_ending_during_reopening_returns_the_committed_text(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, monkeypatch: pytest.MonkeyPatch
):
    model = make_model(specs[name])
    settings: dict[str, Any] = {"max_tokens": 20, "canvas_length": 8, "steps": 4, "adaptive": False}
    once, _ = run(model, model.request("hello", **settings))
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    for end in ("cancelled", "deadline"):
        now = 0.0
        engine = Engine(model)
        number = engine.submit(model.request("hello", revisit=2, deadline_ms=1000, **settings))
        events: list[tuple[int, Event]] = []
        while not any(isinstance(event, Reopened) for _, event in events):
            engine.step()
            check_engine(engine)
            events += engine.take_all()
        engine.step()
        if end == "cancelled":
            engine.cancel(number)
        now = 2.0
        engine.step()
        events += engine.take_all()
        assert not engine.has_work
        assert engine.cache.num_used == 0
        [result] = [event.result for _, event in events if isinstance(event, Finished)]
        assert (result.finish_reason, result.tokens, result.text) == (end, once.tokens, once.text)


def test_reopening_does_not_rewrite_the_prefix(make_model: Make):
    """Only the reopened part of the cache is dropped; whole pages before it are reused."""
    model = make_model(GenerationSpec(canvas_length=8), max_position_embeddings=200)
    settings: dict[str, Any] = {"max_tokens": 24, "canvas_length": 8, "steps": 2, "adaptive": False}
    prompt = [5] * 128
    once, _ = run(model, model.request(prompt, **settings))
    again, _ = run(model, model.request(prompt, revisit=1, **settings))
    # Two steps of the canvas and the one after it, and at most one page written again.
    assert again.usage.positions_computed - once.usage.positions_computed <= 2 * 16 + 16


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("block", "keeps the keys and values of a canvas's last step"),
        ("in-place", "keeps the keys and values of a canvas's last step"),
        ("ar-reencoded", "is autoregressive"),
    ],
)
def test_revisit_is_refused_by_models_that_cannot_reopen(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, reason: str
):
    with pytest.raises(RequestError, match=f"revisit is 2; allowed: 0, because small {reason}"):
        make_model(specs[name]).request("x", revisit=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"revisit": -1}, "revisit is -1; allowed: a whole number, 0 or more"),
        ({"revisit": 1.5}, "revisit is 1.5; allowed: a whole number"),
        ({"revisit": 1, "strength": 0.0}, "strength is 0.0; allowed: more than 0, at most 1"),
    ],
)
def test_invalid_revisit_options_are_refused(
    make_model: Make, specs: dict[str, GenerationSpec], settings: dict[str, Any], message: str
):
    model = make_model(specs["uniform"])
    with pytest.raises(RequestError, match=message):
        model.request("x", **settings)
    with pytest.raises(RequestError, match="revisit is given for a gap or an edit"):
        model.infill("a", "b", revisit=1)
