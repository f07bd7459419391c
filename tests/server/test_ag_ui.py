"""Events of canvases in AG-UI's words, read by the protocol's own types."""

from __future__ import annotations

from typing import Any

from ag_ui.core import Event
from pydantic import TypeAdapter

from serving import EXPRESSION, Served

EVENTS: TypeAdapter[Event] = TypeAdapter(Event)


def follow(served: Served, canvas_id: str) -> tuple[list[str], dict[str, Any]]:
    """The kinds of all events, and the content that they come to."""
    kinds, content = [], {}
    with served.http.stream("GET", f"/v1/canvas/{canvas_id}/events", params={"format": "ag-ui"}) as response:
        for line in response.iter_lines():
            if not line.startswith("data: "):
                continue
            event: Any = EVENTS.validate_json(line.removeprefix("data: "))
            kinds.append(event.type.value)
            if kinds[-1] == "ACTIVITY_SNAPSHOT":
                content = event.content
            elif kinds[-1] == "ACTIVITY_DELTA":
                for change in EVENTS.dump_python(event, mode="json")["patch"]:
                    assert change["op"] == "replace"
                    content[change["path"][1:]] = change["value"]
    return kinds, content


def test_run_ends_with_canvas_text(served: Served):
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION, background=True).json()
    kinds, content = follow(served, canvas["id"])
    done = served.http.get(f"/v1/canvas/{canvas['id']}").json()
    assert content["text"] == done["text"] != ""
    assert content["rev"] == 1
    assert (kinds[0], kinds[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert set(kinds[1:-1]) <= {"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"}


def test_finished_canvas_is_a_run_of_one_snapshot(served: Served):
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION).json()
    assert follow(served, canvas["id"])[0] == ["RUN_STARTED", "ACTIVITY_SNAPSHOT", "RUN_FINISHED"]
