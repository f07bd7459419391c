"""Event queues, one per request: only drafts replaced by newer ones are dropped."""

from __future__ import annotations

from sfumato.engine.request import CanvasChanged, Committed, Event, EventQueue, Finished, Result, Usage


def draft(step: int, canvas: int = 0, variation: int = 0) -> CanvasChanged:
    return CanvasChanged(
        variation=variation,
        canvas=canvas,
        step=step,
        steps=9,
        tokens=(),
        pieces=(),
        text="",
        accepted=(),
        revised=(),
        confidence=(),
    )


def finished(variation: int = 0) -> Finished:
    result = Result(text="", tokens=(), finish_reason="stop", seed=0, model="small", usage=Usage())
    return Finished(variation=variation, result=result)


def test_events_arrive_in_order_and_once():
    events: list[Event] = [draft(1), draft(2), Committed(variation=0, canvas=0, text="a"), draft(1, canvas=1)]
    queue = EventQueue(1, drafts=True)
    for event in events:
        queue.put(event)
    assert len(queue) == 4
    assert queue.take() == events
    assert queue.take() == []


def test_only_the_newest_draft_of_a_canvas_is_kept():
    queue = EventQueue(2, drafts=True, latest_only=True)
    committed = Committed(variation=0, canvas=0, text="a")
    for event in (draft(1), draft(2), draft(1, variation=1), draft(3), committed, draft(1, canvas=1)):
        queue.put(event)
    assert queue.take() == [draft(1, variation=1), draft(3), committed, draft(1, canvas=1)]
    queue.put(draft(2, canvas=1))
    assert queue.take() == [draft(2, canvas=1)], "events already taken are not replaced"


def test_queue_is_not_over_while_its_last_event_is_added():
    """A reader in another thread that finds it over forgets it, and would never see that event."""
    queue, seen = EventQueue(1), list[bool]()

    class Lock:
        def __enter__(self) -> None:
            seen.append(queue.is_over)

        def __exit__(self, *exception: object) -> None:
            seen.append(queue.is_over)

    queue._lock = Lock()  # type: ignore[assignment]
    queue.put(finished())
    assert seen == [False, False]


def test_queue_is_over_when_all_finished_events_are_taken():
    queue = EventQueue(2)
    queue.put(finished(0))
    queue.take()
    assert not queue.is_over
    queue.put(finished(1))
    assert not queue.is_over
    queue.take()
    assert queue.is_over
