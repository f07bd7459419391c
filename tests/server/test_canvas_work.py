"""The work on canvases: what is made ready for it, how it ends, and what stays of its failures."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from serving import EXPRESSION, Served
from sfumato.engine.model import TextModel
from sfumato.server.canvas import LiveCanvas
from sfumato.server.canvas_routes import CanvasStream
from sfumato.server.canvases import Canvases, CanvasRequest


@pytest.mark.parametrize("n", [1, 3])
def test_canvases_share_one_request(served: Served, monkeypatch: pytest.MonkeyPatch, n: int):
    made, make = [], TextModel.request

    def counting(*args: Any, **options: Any) -> Any:
        made.append(make(*args, **options))
        return made[-1]

    expected = [served.model.generate(EXPRESSION, seed=seed).text for seed in range(7, 7 + n)]
    with monkeypatch.context() as patch:
        patch.setattr(TextModel, "request", counting)
        answer = served.ask("/v1/canvas", prompt=EXPRESSION, seed=7, n=n).json()
    canvases = answer.get("data", [answer])
    assert [canvas["text"] for canvas in canvases] == expected
    assert [canvas["seed"] for canvas in canvases] == list(range(7, 7 + n))
    assert len(made) == 1


def test_every_seed_is_checked_before_work_starts(served: Served):
    refused = served.ask("/v1/canvas", prompt=EXPRESSION, seed=2**62 - 1, n=2, background=True)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "seed")


def test_failure_ends_with_the_next_revision(served: Served):
    canvas = served.ask("/v1/canvas", text="x" * 20_001, background=True).json()
    path = f"/v1/canvas/{canvas['id']}"
    served.http.get(f"{path}/events")
    failed = served.http.get(path).json()
    assert (failed["status"], failed["error"]["param"]) == ("error", "text")
    revised = served.ask(f"{path}/edits", base_rev=0, replace=[{"start": 0, "end": 0, "text": "new"}]).json()
    assert (revised["status"], revised["rev"], "error" in revised) == ("done", 1, False)


def test_work_ends_that_a_reader_leaves_before_it_begins():
    async def send(message: Any) -> None:
        raise OSError("gone")

    async def use(name: str) -> Any:
        await asyncio.Event().wait()

    async def leave() -> LiveCanvas:
        host = SimpleNamespace(check=lambda name: None, use=use)
        canvases = Canvases(host, SimpleNamespace(create=lambda *_, **__: None))  # type: ignore[arg-type]
        made = await canvases.create(CanvasRequest(model="tiny", text="1+1=3"), "")
        with contextlib.suppress(Exception):
            await CanvasStream(made)({"type": "http", "asgi": {"spec_version": "2.4"}}, send, send)
        assert made[0].task is not None
        await asyncio.wait({made[0].task})
        return made[0]

    assert asyncio.run(leave()).status == "cancelled"


def test_more_edits_than_may_wait_are_refused(served: Served, monkeypatch: pytest.MonkeyPatch):
    hosted = served.host.loaded["tiny"]
    monkeypatch.setattr("sfumato.engine.async_engine._MAX_CALLS", 1 - hosted.answering.engine.config.max_queue)
    slow = {"text": "1+1=3", "spans": [[4, 5]], "steps": 1000, "settings": {"adaptive": False}, "background": True}
    canvas = served.ask("/v1/canvas", **slow).json()
    served.wait_until_busy()
    refused = served.ask("/v1/fim/completions", prompt="1+1=", suffix="\n")
    with served.cancelling():
        served.http.delete(f"/v1/canvas/{canvas['id']}")
    assert (refused.status_code, refused.headers.get("retry-after")) == (429, "5")
    assert served.ask("/v1/fim/completions", prompt="1+1=", suffix="\n").status_code == 200


def test_long_names_are_not_sent_back(served: Served):
    refused = served.http.get(f"/v1/canvas/{'x' * 3000}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "canvas_not_found")
    assert len(refused.content) < 500
