"""One queue a request: how events leave the engine."""

from __future__ import annotations

import threading
from collections import deque

from sfumato.engine.request import CanvasChanged, Event, Finished


class EventQueue:
    """Events of one request, in order, from the thread that steps the engine to whoever reads them.

    Args:
        num_sequences: each ends in one `Finished`.
        drafts: take `CanvasChanged` too.
        latest_only: of drafts of one canvas that wait one after the other, keep the newest.
    """

    def __init__(self, num_sequences: int, *, drafts: bool = False, latest_only: bool = False) -> None:
        self.drafts, self._latest_only = drafts, latest_only
        self._num_open = num_sequences
        self._events: deque[Event] = deque()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._events)

    @property
    def is_over(self) -> bool:
        """Whether all sequences are finished, and their events were taken."""
        return not self._num_open and not self._events

    def put(self, event: Event) -> None:
        """Add an event."""
        self._num_open -= isinstance(event, Finished)
        with self._lock:
            if self._latest_only and self._events and _replaces(event, self._events[-1]):
                self._events.pop()
            self._events.append(event)

    def take(self) -> list[Event]:
        """All events that wait."""
        with self._lock:
            events = list(self._events)
            self._events.clear()
        return events


def _replaces(event: Event, last: Event) -> bool:
    if not isinstance(event, CanvasChanged) or not isinstance(last, CanvasChanged):
        return False
    return (event.variation, event.canvas) == (last.variation, last.canvas)
