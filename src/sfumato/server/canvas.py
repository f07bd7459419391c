"""A canvas in memory: its text, its draft, and what those who follow it are told.

Events have numbers. The last ones are remembered, so that a reader who comes back goes on where it was; who wants older
ones is sent the canvas as it stands.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator
from typing import Any, Literal

from sfumato.engine.request import CanvasChanged, Committed, Event, Reopened
from sfumato.server.failures import ApiError

MAX_BEHIND = 256
"""Events of a canvas in work that are remembered."""
_KEPT_BEHIND = 16
_Json = dict[str, Any]
_NO_POSITIONS: _Json = {"state": [], "confidence": [], "entropy": []}
Status = Literal["running", "done", "cancelled", "error", "interrupted"]


class LiveCanvas:
    """A canvas in memory.

    Args:
        canvas_id, owner, model: its names.
        seq: number of the last event that anybody may have seen.
    """

    def __init__(self, canvas_id: str, owner: str, model: str, *, seq: int = 0) -> None:
        self.id, self.owner, self.model = canvas_id, owner, model
        self.rev = 0
        self.status: Status = "running"
        self.text = ""
        """What stays of it, without the draft."""
        self.pieces: tuple[str, ...] = ()
        """The draft, a text for each position."""
        self.block = self.step = self.steps = 0
        self.positions: _Json = dict(_NO_POSITIONS)
        """What the last step said of each of them."""
        self.usage: _Json = {}
        """What it cost so far, where that is known."""
        self.seq = seq
        self.created = time.time()
        self.details: _Json = {}
        self.failure: ApiError | None = None
        self.task: asyncio.Task[None] | None = None
        self._since: float | None = None
        self._events: deque[tuple[int, str]] = deque(maxlen=MAX_BEHIND)
        self._readers: set[asyncio.Event] = set()

    def to_dict(self) -> _Json:
        """The canvas as `GET /v1/canvas/{id}` shows it."""
        values = {
            "id": self.id,
            "object": "canvas",
            "model": self.model,
            "rev": self.rev,
            "status": self.status,
            "text": self.text + "".join(self.pieces),
            "created": int(self.created),
            "seq": self.seq,
        }
        return values | self.details | (self.failure.to_dict() if self.failure else {})

    @property
    def is_followed(self) -> bool:
        """Whether anybody reads its events."""
        return bool(self._readers)

    async def events(self, after: int | None = None) -> AsyncGenerator[str, None]:
        """What happens to it, until nothing more does.

        Args:
            after: the number of the last event that the reader has; without one, or where it is too long ago, all of
                the canvas comes first.

        Yields:
            Server-sent events.
        """
        news, seq = asyncio.Event(), after
        self._readers.add(news)
        try:
            while True:
                # Cleared first: what comes after sets it again.
                news.clear()
                oldest = self._events[0][0] if self._events else self.seq + 1
                if seq is None or not oldest - 1 <= seq <= self.seq:
                    seq = self.seq
                    yield _sse(self._snapshot())
                for number, part in [event for event in self._events if event[0] > seq]:
                    seq = number
                    yield part
                if seq == self.seq:
                    if self.status != "running":
                        return
                    await news.wait()
        finally:
            self._readers.discard(news)

    def _snapshot(self) -> _Json:
        committed = len(self.text)
        return self._event("canvas.snapshot") | {
            "status": self.status,
            "text": self.text + "".join(self.pieces),
            "committed": committed,
            "block": self.block,
            "step": self.step,
            "steps": self.steps,
            "pieces": list(self.pieces),
            **self.positions,
            "usage": self.usage,
        }

    def _event(self, kind: str) -> _Json:
        event = {"type": kind, "seq": self.seq, "canvas_id": self.id, "rev": self.rev}
        since = {} if self._since is None else {"elapsed_ms": round(1000 * (time.monotonic() - self._since), 1)}
        return event | since

    def tell(self, kind: str, **data: object) -> None:
        """An event for all readers."""
        self.seq += 1
        self._put(self._event(kind) | data)

    def _tell_snapshot(self) -> None:
        self.seq += 1
        self._put(self._snapshot())

    def _put(self, event: _Json) -> None:
        self._events.append((self.seq, _sse(event)))
        for news in self._readers:
            news.set()

    def _settle(self, status: Status, kind: str, **data: object) -> None:
        """Nothing more happens for now: those who come later get it as it stands."""
        self.status, self.pieces, self.positions = status, (), dict(_NO_POSITIONS)
        self.usage = {}
        self._events = deque(list(self._events)[-_KEPT_BEHIND:], MAX_BEHIND)
        self.tell(kind, status=status, text=self.text, **data)
        self._since = None

    def begin(self) -> None:
        """It is being written from now on."""
        self.status, self.failure = "running", None
        self.usage, self._since = {}, time.monotonic()
        self.tell("canvas.started", model=self.model)

    def take(self, event: Event, **more: object) -> None:
        """What the engine tells of the answer, told to the readers.

        Args:
            event: of the engine.
            **more: what else a commit tells.
        """
        if isinstance(event, CanvasChanged):
            self._change(event)
        elif isinstance(event, Committed):
            start, end = len(self.text), len(self.text) + len("".join(self.pieces))
            self.text, self.pieces, self.positions = self.text + event.text, (), dict(_NO_POSITIONS)
            self.tell("canvas.commit", block=event.canvas, chars=[start, end], text=event.text, **more)
        elif isinstance(event, Reopened):
            self.text, self.pieces, self.positions = event.text, (), dict(_NO_POSITIONS)
            self._tell_snapshot()

    def redraft(self, text: str, *, always: bool = False) -> None:
        """Another draft, of the whole text.

        Args:
            text: the draft.
            always: tell of it, even if it is as before.
        """
        before = self.text + "".join(self.pieces)
        self.text, self.pieces, self.positions = "", (text,), dict(_NO_POSITIONS)
        start = _num_common(before, text)
        behind = _num_common(before[start:][::-1], text[start:][::-1])
        change = {"chars": [start, len(before) - behind], "text": text[start : len(text) - behind]}
        if before != text or always:
            self.step = self.steps = self.step + 1
            self._tell_patch([change] if before != text else [])

    def _change(self, event: CanvasChanged) -> None:
        known, self.pieces = self.pieces, event.pieces
        self.block, self.step, self.steps = event.canvas, event.step, event.steps
        self.positions = positions_of(event)
        self.usage = {"forward_passes": event.forward_passes, "positions_computed": event.positions_computed}
        self._tell_patch(changes(known, event.pieces, len(self.text)))

    def _tell_patch(self, changed: list[_Json]) -> None:
        place = {"block": self.block, "step": self.step, "steps": self.steps}
        self.tell("canvas.patch", **place, changes=changed, **self.positions, usage=self.usage)

    def finish(self, text: str) -> None:
        """A new revision is final."""
        self.redraft(text)
        self.rev, self.text = self.rev + 1, text
        self._settle("done", "canvas.done", **self.details)

    def cancel(self, text: str) -> None:
        """It is left as it was."""
        self.text = text
        self._settle("cancelled", "canvas.done")

    def fail(self, error: Exception, text: str) -> None:
        """It came to nothing, and is left as it was."""
        self.text, self.failure = text, ApiError.of(error)
        self._settle("error", "canvas.error", **self.failure.to_dict())


def positions_of(event: CanvasChanged) -> _Json:
    """What a step says of each position: what became of it, and how sure the model was."""
    state = [
        "revised" if revised else "accepted" if accepted else "noise"
        for accepted, revised in zip(event.accepted, event.revised, strict=True)
    ]
    numbers = {"confidence": event.confidence, "entropy": event.entropy}
    return {"state": state} | {name: [round(value, 4) for value in values] for name, values in numbers.items()}


def changes(before: tuple[str, ...], after: tuple[str, ...], offset: int) -> list[_Json]:
    """Where two drafts differ, the last place first, so that who replaces them in this order need not count anew.

    Args:
        before, after: a text for each position.
        offset: characters of the text before the draft.

    Returns:
        Of each stretch, its positions, its characters in the whole text as it was, and what stands there now. Drafts of
        different lengths, such as those of two canvases, differ as a whole.
    """
    starts = [offset]
    for piece in before:
        starts.append(starts[-1] + len(piece))
    if len(before) != len(after):
        return [_change(starts, 0, len(before), after)]
    found: list[_Json] = []
    end = len(before)
    while end:
        if before[end - 1] == after[end - 1]:
            end -= 1
            continue
        start = end
        while start and before[start - 1] != after[start - 1]:
            start -= 1
        found.append(_change(starts, start, end, after[start:end]))
        end = start
    return found


def _change(starts: list[int], start: int, end: int, pieces: tuple[str, ...]) -> _Json:
    place = {"tokens": [start, end], "chars": [starts[start], starts[end]]}
    return place | {"text": "".join(pieces), "pieces": list(pieces)}


def _num_common(text: str, other: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    pairs = zip(text, other, strict=False)
    return next((i for i, (one, two) in enumerate(pairs) if one != two), min(len(text), len(other)))


def _sse(event: _Json) -> str:
    return f"event: {event['type']}\nid: {event['seq']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
