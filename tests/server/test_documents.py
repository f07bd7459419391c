"""The OpenAPI document says what is answered."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from serving import EXPRESSION, Served
from sfumato.server.app import describe

CODE = "<|code_to_edit|>\nx = 1\n<|/code_to_edit|>"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return describe()


def check(document: dict[str, Any], method: str, path: str, response: Any) -> None:
    """Hold a response against what is said of its operation and status."""
    described = document["paths"][path][method]["responses"]
    status = str(response.status_code)
    content = described.get(status, described.get(f"{status[0]}XX"))["content"]
    kind = response.headers["content-type"].partition(";")[0]
    assert kind in content
    if kind == "application/json":
        schema = {**content[kind]["schema"], "components": document["components"]}
        jsonschema.validate(response.json(), schema)


def check_events(document: dict[str, Any], response: Any) -> int:
    """Hold the events of a canvas against what is said of them; how many there are."""
    lines = [line.removeprefix("data: ") for line in response.text.split("\n") if line.startswith("data: ")]
    content = document["paths"]["/v1/canvas/{canvas_id}/events"]["get"]["responses"]["200"]["content"]
    schema = {**content["text/event-stream"]["schema"], "components": document["components"]}
    for line in lines:
        jsonschema.validate(json.loads(line), schema)
    return len(lines)


def test_responses_match_openapi(served: Served, document: dict[str, Any]):
    turns = [{"role": "user", "content": EXPRESSION}]
    posted: list[tuple[str, dict[str, Any]]] = [
        ("/v1/chat/completions", {"messages": turns}),
        ("/v1/chat/completions", {"messages": turns, "stream": True}),
        ("/v1/chat/completions", {"messages": 3}),
        ("/v1/chat/completions", {"messages": turns, "model": "none"}),
        ("/v1/completions", {"prompt": ["1+1=", "2"], "max_tokens": 3}),
        ("/v1/completions", {"prompt": "1+1=", "max_tokens": 3, "stream": True}),
        ("/v1/fim/completions", {"prompt": "a", "suffix": "b", "max_tokens": 2}),
        ("/v1/edit/completions", {"messages": [{"role": "user", "content": CODE}]}),
        ("/v1/responses", {"input": EXPRESSION}),
        ("/v1/canvas", {"prompt": EXPRESSION, "n": 2}),
        ("/v1/canvas", {"prompt": EXPRESSION, "stream": True}),
        ("/v1/canvas", {"prompt": EXPRESSION, "background": True, "top_logprobs": 2}),
        ("/v1/images/generations", {"prompt": "a cat", "size": "32x32"}),
        ("/v1/images/generations", {"prompt": "a cat", "size": "0x0"}),
    ]
    for path, body in posted:
        check(document, "post", path, served.ask(path, **body))
    for path in ("/health", "/ready", "/version", "/metrics", "/v1/models"):
        check(document, "get", path, served.http.get(path))
    check(document, "get", "/v1/models/{model}", served.http.get("/v1/models/tiny"))
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION).json()
    place, described = f"/v1/canvas/{canvas['id']}", "/v1/canvas/{canvas_id}"
    check(document, "post", f"{described}/edits", served.ask(f"{place}/edits", base_rev=1, replace=[]))
    check(document, "post", f"{described}/undo", served.ask(f"{place}/undo", base_rev=2))
    check(document, "post", f"{described}/undo", served.ask(f"{place}/undo", base_rev=2))
    asset = served.ask(f"{place}/assets", slot="a", prompt="a cat", size="32x32")
    check(document, "post", f"{described}/assets", asset)
    check_events(document, served.http.get(f"{place}/events"))
    for path in ("", "/events", "/revisions"):
        check(document, "get", f"{described}{path}", served.http.get(f"{place}{path}"))
    check(document, "delete", described, served.http.delete(place))
    check(document, "get", described, served.http.get(place))
    check(document, "get", f"{described}/events", served.http.get(f"{place}/events"))
    page = served.http.post("/sandbox", content="<p>", headers={"Content-Type": "text/html"})
    check(document, "post", "/sandbox", page)
    check(document, "get", "/sandbox/{page_id}", served.http.get(page.json()["url"]))
    check(document, "post", "/v1/audio/transcriptions", served.ask("/v1/audio/transcriptions"))
    body = {"prompt": EXPRESSION, "stream": True, "top_logprobs": 2, "canvas_length": 16}
    assert check_events(document, served.ask("/v1/canvas", **body)) > 5


def test_keys_and_events_of_new_canvases_are_documented(document: dict[str, Any]):
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert document["security"] == [{}, {"bearer": []}]
    posted = document["paths"]["/v1/canvas"]["post"]["responses"]["200"]["content"]
    assert posted["text/event-stream"]["schema"] == {"$ref": "#/components/schemas/CanvasEvent"}
