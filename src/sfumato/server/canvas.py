"""A canvas in memory: its text, its draft, and the events for its readers.

Events are numbered, and the last ones are kept, so that a reader who reconnects continues where it was. A reader who
needs older ones gets a snapshot.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator
from typing import Any, Literal

from sfumato.client.drafts import CanvasText
from sfumato.engine.prompts import Prompt
from sfumato.engine.request import CanvasChanged, Committed, Event, Reopened
from sfumato.server.failures import ApiError
from sfumato.server.streaming import sse
from sfumato.text.patches import common_ends

MAX_BEHIND = 256
"""Number of events kept while a canvas is in work."""
_KEPT_BEHIND = 16
_Json = dict[str, Any]
_NO_POSITIONS: _Json = {"state": [], "confidence": [], "entropy": []}
Status = Literal["running", "done", "cancelled", "error", "interrupted"]


class LiveCanvas:
    """A canvas in memory.

    Args:
        seq: number of the last event sent.
    """

    def __init__(self, canvas_id: str, owner: str, model: str, *, seq: int = 0) -> None:
        self.id, self.owner, self.model = canvas_id, owner, model
        self.prompt: Prompt | None = None
        """What its text answers."""
        self.rev = 0
        self.status: Status = "running"
        self.text = ""
        """Its committed text, without the draft."""
        self.pieces: tuple[str, ...] = ()
        """The draft, one text per position."""
        self.block = self.step = self.steps = 0
        self.positions = _NO_POSITIONS
        """Statistics of each position in the last step."""
        self.usage: _Json = {}
        """Cost so far, if known."""
        self.seq = seq
        self.created = time.time()
        self.details: _Json = {}
        self.assets: dict[str, _Json] = {}
        """Pictures by slot, with the status of each."""
        self.failure: ApiError | None = None
        self.task: asyncio.Task[None] | None = None
        self._since: float | None = None
        self._events: deque[tuple[int, str]] = deque(maxlen=MAX_BEHIND)
        self._readers: set[asyncio.Event] = set()

    def to_dict(self) -> _Json:
        """The canvas as returned by `GET /v1/canvas/{id}`."""
        values = {
            "id": self.id,
            "object": "canvas",
            "model": self.model,
            "rev": self.rev,
            "status": self.status,
            "text": self.whole_text,
            "created": int(self.created),
            "seq": self.seq,
        }
        values |= {"assets": list(self.assets.values())} if self.assets else {}
        return values | self.details | (self.failure.to_dict() if self.failure else {})

    @property
    def whole_text(self) -> str:
        """Its text with the draft."""
        return self.text + "".join(self.pieces)

    @property
    def is_busy(self) -> bool:
        """Whether its text or a picture is being made."""
        return self.status == "running" or any(asset["status"] == "pending" for asset in self.assets.values())

    @property
    def is_followed(self) -> bool:
        """Whether anyone reads its events."""
        return bool(self._readers)

    async def events(self, after: int | None = None) -> AsyncGenerator[str, None]:
        """Its events, until it is final.

        Args:
            after: number of the reader's last event. Without one, if it is too old, or if none follows it on a final
                canvas, a snapshot comes first.

        Yields:
            Server-sent events.
        """
        news, seq = asyncio.Event(), after
        if seq == self.seq and not self.is_busy:
            # Nothing would tell this reader that the canvas is final.
            seq = None
        self._readers.add(news)
        try:
            while True:
                # Cleared before reading: later events set it again.
                news.clear()
                oldest = self._events[0][0] if self._events else self.seq + 1
                if seq is None or not oldest - 1 <= seq <= self.seq:
                    seq = self.seq
                    yield _encode(self._snapshot())
                for number, part in [event for event in self._events if event[0] > seq]:
                    seq = number
                    yield part
                if seq == self.seq:
                    if not self.is_busy:
                        return
                    await news.wait()
        finally:
            self._readers.discard(news)

    def _snapshot(self) -> _Json:
        return self._event("canvas.snapshot") | {
            "status": self.status,
            "text": self.whole_text,
            "committed": len(self.text),
            "block": self.block,
            "step": self.step,
            "steps": self.steps,
            "pieces": list(self.pieces),
            **self.positions,
            "usage": self.usage,
            "assets": list(self.assets.values()),
        }

    def _event(self, kind: str) -> _Json:
        event = {"type": kind, "seq": self.seq, "canvas_id": self.id, "rev": self.rev}
        since = {} if self._since is None else {"elapsed_ms": round(1000 * (time.monotonic() - self._since), 1)}
        return event | since

    def tell(self, kind: str, **data: object) -> None:
        """Send an event to all readers."""
        self.seq += 1
        self._put(self._event(kind) | data)

    def _put(self, event: _Json) -> None:
        self._events.append((self.seq, _encode(event)))
        self.wake()

    def wake(self) -> None:
        """Let readers look again."""
        for news in self._readers:
            news.set()

    def _settle(self, status: Status, kind: str, **data: object) -> None:
        """The canvas is final for now; later readers get a snapshot."""
        self.status, self.pieces, self.positions, self.usage = status, (), _NO_POSITIONS, {}
        self._events = deque(list(self._events)[-_KEPT_BEHIND:], MAX_BEHIND)
        self.tell(kind, status=status, text=self.text, **data)
        self._since = None

    def begin(self) -> None:
        """Work on it starts."""
        self.status, self.failure = "running", None
        self.usage, self._since = {}, time.monotonic()
        self.tell("canvas.started", model=self.model)

    def take(self, event: Event, **more: object) -> None:
        """Forward an engine event to the readers.

        Args:
            **more: further fields of a commit.
        """
        if isinstance(event, CanvasChanged):
            self._change(event)
        elif isinstance(event, Committed):
            chars = [len(self.text), len(self.whole_text)]
            self.text, self.pieces, self.positions = self.text + event.text, (), _NO_POSITIONS
            self.tell("canvas.commit", block=event.canvas, chars=chars, text=event.text, **more)
        elif isinstance(event, Reopened):
            self.text, self.pieces, self.positions = event.text, (), _NO_POSITIONS
            self.seq += 1
            self._put(self._snapshot())

    def redraft(self, text: str, *, always: bool = False) -> None:
        """A new draft of the whole text.

        Args:
            always: send it even if nothing changed.
        """
        before = self.whole_text
        self.text, self.pieces, self.positions = "", (text,), _NO_POSITIONS
        start, num_after = common_ends(before, text)
        change = {"chars": [start, len(before) - num_after], "text": text[start : len(text) - num_after]}
        if before != text or always:
            self.step = self.steps = self.step + 1
            self._tell_patch([change] if before != text else [])

    def _change(self, event: CanvasChanged) -> None:
        known, self.pieces = self.pieces, event.pieces
        self.block, self.step, self.steps = event.canvas, event.step, event.steps
        self.positions = {
            "state": states_of(event),
            "confidence": [round(value, 4) for value in event.confidence],
            "entropy": [round(value, 4) for value in event.entropy],
        }
        self.usage = {"forward_passes": event.forward_passes, "positions_computed": event.positions_computed}
        self._tell_patch(changes(known, event.pieces, len(self.text)))

    def _tell_patch(self, changed: list[_Json]) -> None:
        progress = {"block": self.block, "step": self.step, "steps": self.steps}
        self.tell("canvas.patch", **progress, changes=changed, **self.positions, usage=self.usage)

    def finish(self, text: str) -> None:
        """A new revision is final."""
        self.redraft(text)
        self.rev, self.text, self.failure = self.rev + 1, text, None
        self._settle("done", "canvas.done", **self.details)

    def cancel(self, text: str) -> None:
        """Work ended without a change."""
        self.text = text
        self._settle("cancelled", "canvas.done")

    def fail(self, error: Exception, text: str) -> None:
        """Work failed, and nothing changed."""
        self.text, self.failure = text, ApiError.of(error)
        self._settle("error", "canvas.error", **self.failure.to_dict())


def _encode(event: _Json) -> str:
    return sse(event, event["type"], event["seq"])


def states_of(event: CanvasChanged) -> list[str]:
    """State of each canvas position after a step: "noise", "accepted" or "revised"."""
    return [
        "revised" if revised else "accepted" if accepted else "noise"
        for accepted, revised in zip(event.accepted, event.revised, strict=True)
    ]


def changes(before: tuple[str, ...], after: tuple[str, ...], offset: int) -> list[_Json]:
    """The differences between two drafts, from the end to the start, so that they can be applied in order without
    recomputing offsets.

    Args:
        before, after: one text per position.
        offset: number of characters before the draft.

    Returns:
        For each range, its positions, its characters in the old text, and the new text as a whole and per position.
        Drafts of different lengths, such as those of two canvases, differ as a whole.
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
    location = {"tokens": [start, end], "chars": [starts[start], starts[end]]}
    return location | {"text": "".join(pieces), "pieces": list(pieces)}


async def ag_ui_events(canvas_id: str, parts: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    """Translate a canvas's server-sent events to AG-UI: an activity whose text is replaced, within a run.

    Args:
        canvas_id: names the thread and the message.
        parts: the events, which start with a snapshot.

    Source: the AG-UI protocol 1.0, ACTIVITY_SNAPSHOT and ACTIVITY_DELTA.
    """
    run = {"threadId": canvas_id, "runId": f"{canvas_id}-run"}
    about = {"messageId": canvas_id, "activityType": "SFUMATO_CANVAS"}
    text, shown = CanvasText(), False
    yield sse({"type": "RUN_STARTED"} | run | {"protocolVersion": "1.0"})
    try:
        async for part in parts:
            event: _Json = json.loads(part.partition("data: ")[2])
            text.take(event)
            content = {"text": text.draft.text, "rev": event["rev"], "kind": event["type"].removeprefix("canvas.")}
            if not shown or event["type"] == "canvas.snapshot":
                yield sse({"type": "ACTIVITY_SNAPSHOT"} | about | {"content": content, "replace": True})
                shown = True
            else:
                patch = [{"op": "replace", "path": f"/{name}", "value": value} for name, value in content.items()]
                yield sse({"type": "ACTIVITY_DELTA"} | about | {"patch": patch})
            if event["type"] == "canvas.error":
                yield sse({"type": "RUN_ERROR", "message": event["error"]["message"], "code": event["error"]["code"]})
                return
        yield sse({"type": "RUN_FINISHED"} | run | {"result": {"text": text.draft.text}})
    finally:
        await parts.aclose()
