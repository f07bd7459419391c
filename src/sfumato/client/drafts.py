"""Reconstructs revisable texts from server events; does no I/O."""

from __future__ import annotations

import json
from dataclasses import replace

from sfumato.client.protocol import Draft, Json, failure, ours, read_answer
from sfumato.errors import SfumatoError, UnreachableError


class LostTrackError(SfumatoError):
    """An event does not follow the known state."""


class ServerSentEvents:
    """Splits a byte stream into the data of its events.

    Splits only at the protocol's line ends: JSON may hold other characters that `str.splitlines` splits at.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[str]:
        """Add bytes and return the data of complete events."""
        found = []
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line.removeprefix(b"data:").removeprefix(b" "))
            elif not line and self._data:
                found.append(b"\n".join(self._data).decode())
                self._data = []
        return found


class AnswerText:
    """The text of one streamed completion."""

    def __init__(self) -> None:
        self.draft = Draft(text="", committed="")
        # Drafts of uncommitted canvases, by index.
        self._open: dict[int, str] = {}
        self._whole: Json = {}

    def take(self, data: str) -> Draft | None:
        """The text after an event; None if unchanged.

        Raises:
            ServerError: if the answer failed.
            UnreachableError: if it was cut short.
        """
        with ours():
            return self._finish() if data == "[DONE]" else self._take(json.loads(data))

    def _take(self, chunk: Json) -> Draft | None:
        if "error" in chunk:
            raise failure(chunk["error"])
        if chunk.get("usage"):
            self._whole["usage"] = chunk["usage"]
        for choice in chunk["choices"]:
            more = chunk.get("sfumato") or {}
            added = choice.get("delta", {}).get("content") or choice.get("text") or ""
            if choice["finish_reason"] is not None:
                self._whole |= {"sfumato": more, "model": chunk["model"]}
            if added:
                self._open.clear()
                committed = self.draft.committed + added
                return self._change(committed=committed, text=committed, pieces=(), states=(), confidence=())
            if more.get("type") == "diffusion_frame":
                self._open[more["block"]] = more["text"]
                return self._change(
                    text=self.draft.committed + "".join(self._open[block] for block in sorted(self._open)),
                    block=more["block"],
                    step=more["step"],
                    steps=more["total"],
                    pieces=tuple(more["pieces"]),
                    states=tuple(more["state"]),
                    confidence=tuple(more["confidence"]),
                )
        return None

    def _change(self, **changes: object) -> Draft:
        self.draft = replace(self.draft, **changes)  # type: ignore[arg-type]
        return self.draft

    def _finish(self) -> Draft:
        if not self._whole.keys() >= {"sfumato", "usage"}:
            raise UnreachableError("the server ended the stream before the answer was complete; ask again")
        text = self.draft.committed
        result = read_answer(self._whole | {"choices": [{"text": text}]})
        return self._change(text=text, done=True, result=result, pieces=(), states=(), confidence=())


class CanvasText:
    """The text of a canvas from its events: a snapshot, then changes without gaps."""

    def __init__(self) -> None:
        self.draft = Draft(text="", committed="")
        self.seq: int | None = None
        """Number of the last event; None before the first snapshot and after a break."""
        self.end: Json | None = None
        """The event that marks the canvas as final."""

    def take(self, data: str | Json) -> Draft | None:
        """The text after an event, or its JSON; None if unchanged.

        Raises:
            LostTrackError: if an event is missing; the text is unchanged, and a snapshot is needed next.
        """
        known, self.seq = self.seq, None
        try:
            event: Json = json.loads(data) if isinstance(data, str) else data
            seq, kind = event["seq"], event["type"]
            if kind != "canvas.snapshot" and (known is None or seq != known + 1):
                raise LostTrackError(f"event {seq} of a canvas does not follow {known}")
            draft = self._after(event, kind)
        except (ValueError, LookupError, TypeError) as error:
            raise LostTrackError(f"an event of a canvas is invalid: {error!r}") from None
        self.seq = seq
        changed, self.draft = draft != self.draft, draft
        return draft if changed else None

    def _after(self, event: Json, kind: str) -> Draft:
        draft = self.draft
        if kind == "canvas.snapshot":
            text = event["text"]
            self.end = event if event["status"] != "running" else None
            committed = text if self.end else text[: event["committed"]]
            return Draft(text=text, committed=committed, block=event["block"], step=event["step"])
        if kind == "canvas.patch":
            text = draft.text
            for change in event["changes"]:
                text = _replace(text, change)
            return replace(
                draft,
                text=text,
                block=event["block"],
                step=event["step"],
                steps=event["steps"],
                states=tuple(event["state"]),
                confidence=tuple(event["confidence"]),
            )
        if kind == "canvas.commit":
            text = _replace(draft.text, event)
            committed = text[: event["chars"][0] + len(event["text"])]
            return replace(draft, text=text, committed=committed, states=(), confidence=())
        if kind == "canvas.done":
            self.end = event
            return Draft(text=event["text"], committed=event["text"], block=draft.block)
        if kind == "canvas.error":
            self.end = event
        return draft


def _replace(text: str, change: Json) -> str:
    start, end = change["chars"]
    if not 0 <= start <= end <= len(text):
        raise LookupError(f"characters {start} to {end} of {len(text)}")
    replaced: str = text[:start] + change["text"] + text[end:]
    return replaced
