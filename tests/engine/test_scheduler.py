"""Scheduling: by priority, then least computation so far; no starvation, and long prompts in chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sfumato.engine.kvcache import KVCache
from sfumato.engine.model import TextModel
from sfumato.engine.request import EventQueue, Request
from sfumato.engine.runner import enqueue, schedule
from sfumato.engine.sequence import Sequence
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]


@pytest.fixture
def make_sequence(make_model: Make) -> Callable[..., Sequence]:
    """An admitted sequence: make_sequence(prompt tokens, tokens already written, **fields of its request)."""
    models: dict[GenerationSpec, tuple[TextModel, KVCache]] = {}

    def made(num_prompt: int, written: int = 0, spec: GenerationSpec | None = None, **fields: Any) -> Sequence:
        spec = spec or GenerationSpec(canvas_length=8)
        if spec not in models:
            model = make_model(spec)
            models[spec] = model, KVCache(model.decoder.new_pool(4096), reuse=False)
        model, cache = models[spec]
        request = Request(prompt=(5,) * num_prompt, max_tokens=8, canvas_length=spec.canvas_length, **fields)
        sequence = Sequence(model.bundle, request, 0, 0, EventQueue(1))
        sequence.cached = cache.open([], num_prompt + 8)
        assert sequence.cached is not None
        cache.commit(sequence.cached, [5] * written)
        return sequence

    return made


def test_queue_is_ordered_by_priority_then_arrival(make_sequence: Callable[..., Sequence]):
    queue: list[Sequence] = []
    low, other, high = make_sequence(3), make_sequence(3), make_sequence(3, priority=2)
    for sequence in (low, other, high):
        enqueue(queue, sequence)
    assert queue == [high, low, other]
    again = make_sequence(3)
    enqueue(queue, again, first=True)
    assert queue == [high, again, low, other], "first of its priority, not of the queue"


def test_highest_priority_then_least_served_goes_first(make_sequence: Callable[..., Sequence]):
    served, fresh, urgent = make_sequence(3), make_sequence(3), make_sequence(3, priority=1)
    served.service, urgent.service = 50, 99
    items = schedule([served, fresh, urgent], max_positions=1000, chunk=256)
    assert [item.sequence for item in items] == [urgent, fresh, served]
    # Three positions of the prompt and eight of the canvas.
    assert [(item.num_written, item.denoises, item.num_positions) for item in items] == [(3, True, 11)] * 3
    assert [item.sequence for item in schedule([served, fresh, urgent], max_positions=22, chunk=256)] == [urgent, fresh]
    assert (served.waited, fresh.waited) == (1, 0)


def test_first_sequence_may_exceed_the_budget(make_sequence: Callable[..., Sequence]):
    large = make_sequence(60)
    [item] = schedule([large], max_positions=1, chunk=256)
    assert (item.num_written, item.denoises) == (60, True)


def test_no_sequence_is_starved(make_sequence: Callable[..., Sequence]):
    served, hungry = make_sequence(3), make_sequence(3)
    served.service = 10**6
    turns = []
    for _ in range(70):
        [item] = schedule([served, hungry], max_positions=11, chunk=256)
        turns.append(item.sequence)
    assert turns.count(served) == 2
    assert turns[32] is served


@pytest.mark.parametrize("block", [None, 4])
def test_prefill_chunks_end_at_fixed_positions(make_sequence: Callable[..., Sequence], block: int | None):
    spec = None
    if block is not None:
        spec = GenerationSpec(noise="mask", mask_id=4, canvas_length=block, prefix_attention="block")
    sizes = []
    for written in (0, 4, 32, 64):
        [item] = schedule([make_sequence(80, written, spec)], max_positions=1000, chunk=34)
        sizes.append((item.num_written, item.denoises))
    chunk = 34 if block is None else 32
    expected = [chunk, chunk - 4, chunk - 32 % chunk, 16]
    assert sizes == [(size, written == 64) for size, written in zip(expected, (0, 4, 32, 64), strict=True)]
