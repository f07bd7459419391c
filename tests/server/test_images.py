"""Pictures, and those that belong to a canvas."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import threading
import types
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import openai
import pytest
from benchmarks.http_load import Follower

from serving import EXPRESSION, Served, start
from sfumato.errors import ConfigError
from sfumato.server.history import History
from sfumato.server.images import MAX_ASSETS, ImageRequest, PatternImages, pattern, read_images
from sfumato.server.upstream import Relay

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script> & "\x00\x1b\uffff" ]]>'


def test_pattern_depends_only_on_prompt():
    drawn = pattern("a cat", 320, 200)
    assert drawn == pattern("a cat", 320, 200)
    assert len({drawn, pattern("a dog", 320, 200), pattern("a cat", 320, 200, 1), pattern("a cat", 321, 200)}) == 4


@pytest.mark.parametrize("prompt", ["a cat", HOSTILE, "\n", "ä" * 500])
def test_pattern_is_a_labelled_svg(prompt: str):
    root = ElementTree.fromstring(pattern(prompt, 320, 200))
    assert (root.tag, root.get("width"), root.get("height")) == (f"{SVG}svg", "320", "200")
    assert (root.findtext(f"{SVG}title") or "").startswith("Abstract pattern for: ")
    assert "no image model is running" in (root.findtext(f"{SVG}desc") or "")
    assert {child.tag.removeprefix(SVG) for child in root.iter()} <= {
        "svg", "title", "desc", "filter", "feGaussianBlur", "rect", "g", "ellipse",
    }  # fmt: skip


def test_openai_client(served: Served):
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
        answer: Any = client.images.generate(prompt="a cat", n=2, size="64x32", response_format="b64_json")  # type: ignore[call-overload]
    images = [base64.b64decode(image.b64_json).decode() for image in answer.data]
    assert images == [pattern("a cat", 64, 32), pattern("a cat", 64, 32, 1)]
    assert answer.output_format == "svg"
    assert answer.sfumato["depicts_prompt"] is False
    [image] = served.ask("/v1/images/generations", prompt="a cat", size="64x32", response_format="url").json()["data"]
    assert base64.b64decode(image["url"].removeprefix("data:image/svg+xml;base64,")).decode() == images[0]


@pytest.mark.parametrize(
    ("more", "status", "named"),
    [
        ({"size": "huge"}, 400, "size"),
        ({"size": "8x8"}, 400, "size"),
        ({"size": "99999x1"}, 400, "size"),
        ({"n": 0}, 400, "n"),
        ({"prompt": ""}, 400, "prompt"),
        ({"quality": "hd"}, 400, "quality"),
        ({"model": "dall-e-3"}, 404, "model"),
    ],
)
def test_image_request_errors_are_named(served: Served, more: dict[str, Any], status: int, named: str):
    refused = served.ask("/v1/images/generations", **{"prompt": "a cat"} | more)
    assert (refused.status_code, refused.json()["error"]["param"]) == (status, named)


def test_images_from_another_server(served: Served, tmp_path: Path):
    for relaying in start(tmp_path, images=f"{served.url}/v1#svg"):
        [image] = relaying.ask("/v1/images/generations", prompt="a cat", size="64x32").json()["data"]
        assert base64.b64decode(image["b64_json"]).decode() == pattern("a cat", 64, 32)
        canvas = relaying.ask("/v1/canvas", prompt=EXPRESSION, steps=2).json()
        relaying.ask(f"/v1/canvas/{canvas['id']}/assets", slot="a", prompt="a cat", size="64x32")
        assert events(relaying, canvas["id"], canvas["seq"])[-1]["type"] == "asset.ready"


def test_diffusers_pipeline_gets_the_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """With a double of the package: what the adapter asks of it, and what becomes of its answer."""
    asked: list[Any] = []

    class Drawn:
        def save(self, file: Any, kind: str) -> None:
            file.write(f"{kind} of it".encode())

    class Pipeline:
        @classmethod
        def from_pretrained(cls, name: str) -> Pipeline:
            asked.append(name)
            return cls()

        def to(self, device: str) -> None:
            asked.append(device)

        def set_progress_bar_config(self, *, disable: bool) -> None:
            assert disable

        def __call__(self, prompt: str, **options: Any) -> Any:
            if options["width"] % 8:
                raise ValueError("have to be divisible by 8")
            asked.append((prompt, options))
            return types.SimpleNamespace(images=[Drawn()] * options["num_images_per_prompt"])

    package = types.ModuleType("diffusers")
    package.__spec__ = types.SimpleNamespace()  # type: ignore[assignment]
    package.AutoPipelineForText2Image = Pipeline  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "diffusers", package)
    for served in start(tmp_path, images="diffusers:some/model"):
        answers = [served.ask("/v1/images/generations", prompt="a cat", size="64x32", n=n).json() for n in (2, 1)]
        assert [base64.b64decode(each["b64_json"]) for each in answers[0]["data"]] == [b"PNG of it"] * 2
        assert answers[0]["output_format"] == "png"
        refused = served.ask("/v1/images/generations", prompt="a cat", size="63x32")
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "size")
    assert asked[0] == "some/model"
    assert asked[2:] == [("a cat", {"width": 64, "height": 32, "num_images_per_prompt": n}) for n in (2, 1)]


def test_invalid_image_makers_are_refused():
    for given in ("png", "diffusers:", "ftp://host"):
        with pytest.raises(ConfigError, match="allowed: svg"):
            read_images(given, Relay())


# Of canvases.


def events(served: Served, canvas_id: str, after: int | None = None) -> list[dict[str, Any]]:
    query = "" if after is None else f"?after={after}"
    lines = served.http.get(f"/v1/canvas/{canvas_id}/events{query}").text.split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def test_image_events_join_the_text_stream(served: Served):
    slow = {"prompt": EXPRESSION, "background": True, "steps": 40, "settings": {"adaptive": False}}
    canvas = served.ask("/v1/canvas", **slow).json()
    made = served.ask(f"/v1/canvas/{canvas['id']}/assets", slot="hero", prompt="a cat", size="64x32")
    assert made.status_code == 202
    asset = {"slot": "hero", "prompt": "a cat", "size": "64x32"}
    assert made.json() == {"object": "canvas.asset", "canvas_id": canvas["id"], "status": "pending"} | asset
    follower, seen = Follower(), {}
    for event in events(served, canvas["id"]):
        follower.take(event)
        seen |= {each["slot"]: each for each in event.get("assets", ()) if each["status"] == "ready"}
        seen |= {event["slot"]: event} if event["type"] == "asset.ready" else {}
    url = seen["hero"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/svg+xml;base64,")).decode() == pattern("a cat", 64, 32)
    whole = served.http.get(f"/v1/canvas/{canvas['id']}").json()
    assert whole["assets"] == [asset | {"status": "ready", "url": url}]
    assert follower.text == whole["text"]


def test_image_events_after_the_text_are_kept(tmp_path: Path):
    for served in start(tmp_path):
        canvas = served.ask("/v1/canvas", prompt=EXPRESSION, steps=2).json()
        path, last = f"/v1/canvas/{canvas['id']}", canvas["seq"]
        for prompt in ("a cat", "a dog"):
            served.ask(f"{path}/assets", slot="hero", prompt=prompt, size="64x32")
            # The stream is open as long as a picture is being made, and no longer.
            [event] = events(served, canvas["id"], last)
            last = event["seq"]
            assert (event["type"], event["slot"]) == ("asset.ready", "hero")
        [snapshot] = events(served, canvas["id"], last)
        assert (snapshot["type"], snapshot["status"]) == ("canvas.snapshot", "done")
        [snapshot] = events(served, canvas["id"])
        [asset] = snapshot["assets"]
        assert (asset["prompt"], asset["url"]) == ("a dog", event["url"])
    for served in start(tmp_path):
        found = served.http.get(path).json()
        assert found["assets"] == [asset]
        assert served.http.delete(path).status_code == 200
    history = History(tmp_path / "canvases.db")
    assert history.find(canvas["id"]) is None
    history.close()


def test_stream_waits_for_images_one_per_slot(served: Served, monkeypatch: pytest.MonkeyPatch):
    allowed, generate = threading.Event(), PatternImages.generate

    async def wait(self: PatternImages, body: ImageRequest) -> Any:
        while not allowed.is_set():
            await asyncio.sleep(0.01)
        return await generate(self, body)

    monkeypatch.setattr(PatternImages, "generate", wait)
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION, steps=2).json()
    path = f"/v1/canvas/{canvas['id']}"
    assert served.ask(f"{path}/assets", slot="hero", prompt="a cat").status_code == 202
    busy = served.ask(f"{path}/assets", slot="hero", prompt="a dog")
    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "asset_busy")
    with served.http.stream("GET", f"{path}/events?after={canvas['seq']}") as response:
        allowed.set()
        assert b"asset.ready" in response.read()


def test_failed_images_are_reported(served: Served, monkeypatch: pytest.MonkeyPatch):
    def fail(*arguments: Any) -> str:
        raise ValueError("secret")

    monkeypatch.setattr("sfumato.server.images.pattern", fail)
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION, steps=2).json()
    path = f"/v1/canvas/{canvas['id']}"
    served.ask(f"{path}/assets", slot="hero", prompt="a cat")
    [event] = events(served, canvas["id"], canvas["seq"])
    assert (event["type"], event["error"]["code"]) == ("asset.error", "internal_error")
    assert "secret" not in event["error"]["message"]
    [asset] = served.http.get(path).json()["assets"]
    assert (asset["status"], asset["error"]["code"]) == ("error", "internal_error")
    # It may be tried again.
    monkeypatch.undo()
    assert served.ask(f"{path}/assets", slot="hero", prompt="a cat").status_code == 202
    [event] = events(served, canvas["id"], event["seq"])
    assert event["type"] == "asset.ready"


def test_asset_errors_are_named(served: Served):
    assert served.ask("/v1/canvas/none/assets", slot="a", prompt="a cat").status_code == 404
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION, steps=2).json()
    path = f"/v1/canvas/{canvas['id']}/assets"
    for body, named in (
        ({"slot": "", "prompt": "a"}, "slot"),
        ({"slot": "a b", "prompt": "a"}, "slot"),
        ({"slot": "a"}, "prompt"),
        ({"slot": "a", "prompt": "a", "size": "0x0"}, "size"),
    ):
        refused = served.ask(path, **body)
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, named)
    for number in range(MAX_ASSETS):
        assert served.ask(path, slot=f"s{number}", prompt="a", size="16x16").status_code == 202
    refused = served.ask(path, slot="more", prompt="a", size="16x16")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "too_many_assets")
