"""Canvas events in the AG-UI protocol: an activity whose text is replaced, within a run.

Source: the AG-UI protocol 1.0, ACTIVITY_SNAPSHOT and ACTIVITY_DELTA.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

_Json = dict[str, Any]
ACTIVITY = "SFUMATO_CANVAS"


async def ag_ui_events(canvas_id: str, parts: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    """Translate a canvas's server-sent events, starting with a snapshot.

    Args:
        canvas_id: names the thread and the message.
    """
    run = {"threadId": canvas_id, "runId": f"{canvas_id}-run"}
    about = {"messageId": canvas_id, "activityType": ACTIVITY}
    text, shown = "", False
    yield _sse("RUN_STARTED", **run, protocolVersion="1.0")
    try:
        async for part in parts:
            event: _Json = json.loads(part.partition("data: ")[2])
            text = _text_after(text, event)
            content = {"text": text, "rev": event["rev"], "kind": event["type"].removeprefix("canvas.")}
            if not shown or event["type"] == "canvas.snapshot":
                yield _sse("ACTIVITY_SNAPSHOT", **about, content=content, replace=True)
                shown = True
            else:
                patch = [{"op": "replace", "path": f"/{name}", "value": value} for name, value in content.items()]
                yield _sse("ACTIVITY_DELTA", **about, patch=patch)
            if event["type"] == "canvas.error":
                yield _sse("RUN_ERROR", message=event["error"]["message"], code=event["error"]["code"])
                return
        yield _sse("RUN_FINISHED", **run, result={"text": text})
    finally:
        await parts.aclose()


def _text_after(text: str, event: _Json) -> str:
    """A canvas's text after an event."""
    if event["type"] == "canvas.commit":
        start, end = event["chars"]
        return text[:start] + str(event["text"]) + text[end:]
    # Changes are ordered from the end, so that earlier offsets stay valid.
    for change in event.get("changes", ()):
        start, end = change["chars"]
        text = text[:start] + change["text"] + text[end:]
    return str(event.get("text", text))


def _sse(kind: str, **fields: Any) -> str:
    return f"data: {json.dumps({'type': kind} | fields, ensure_ascii=False)}\n\n"
