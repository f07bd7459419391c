"""Canvases over HTTP: followed, revised, taken back, kept."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from benchmarks.http_load import Follower
from sqlalchemy.exc import IntegrityError
from starlette.requests import ClientDisconnect

from serving import EXPRESSION, Served, start
from sfumato.server.boundary import Limits
from sfumato.server.canvas import MAX_BEHIND, LiveCanvas, changes
from sfumato.server.canvas_routes import CanvasStream
from sfumato.server.canvases import Canvases, CanvasRequest, EditRequest, Replacement, _replaced
from sfumato.server.failures import ApiError
from sfumato.server.history import History

FORCED = {"adaptive": False}
SLOW = {"steps": 1000, "settings": FORCED}
DERIVED = "answer: 39\n81*(2/3)^2 = 36\nsqrt(9) = 3\n36+3 = 38"


def read_events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """Events as they arrive."""
    for line in response.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_canvas_equals_library_answer(served: Served):
    expected = served.model.generate(EXPRESSION, seed=5)
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION, seed=5).json()
    assert canvas["text"] == expected.text
    assert (canvas["rev"], canvas["status"], canvas["finish_reason"]) == (1, "done", "stop")
    assert canvas["usage"]["denoising_steps"] == expected.usage.denoising_steps
    again = served.http.get(f"/v1/canvas/{canvas['id']}").json()
    assert again == canvas
    several = served.ask("/v1/canvas", prompt=EXPRESSION, n=2, seed=5).json()["data"]
    assert [each["seed"] for each in several] == [5, 6]
    assert several[0]["text"] == expected.text


def test_events_add_up_to_text_from_any_position(served: Served):
    """Over random requests and edits; readers leave, and go on after the last event that they had."""
    draw = random.Random(3)
    for i in range(10):
        body: dict[str, Any] = {"prompt": EXPRESSION, "seed": i, "steps": draw.choice([3, 12]), "settings": FORCED}
        body["canvas_length"] = draw.choice([6, 16, 72])
        if i % 4 == 0:
            body |= {"revisit": 1, "canvas_length": 16}
        if i % 3 == 0:
            end = len(DERIVED)
            body = {"text": DERIVED, "spans": draw.choice([[[8, 10]], [[8, 10], [end - 2, end]]]), "seed": i}
        canvas = served.ask("/v1/canvas", **body, background=True).json()
        assert canvas["status"] == "running"
        follower = Follower()
        while follower.kinds[-1:] != ["canvas.done"]:
            after = "" if follower.seq < 0 else f"?after={follower.seq}"
            with served.http.stream("GET", f"/v1/canvas/{canvas['id']}/events{after}") as response:
                for num_read, event in enumerate(read_events(response)):
                    follower.take(event)
                    if num_read == draw.choice([0, 2, 9]):
                        break
            if follower.kinds[-1] == "canvas.snapshot" and event["status"] == "done":
                break
        assert follower.kinds[0] == "canvas.snapshot"
        assert follower.text == served.http.get(f"/v1/canvas/{canvas['id']}").json()["text"]


def events_of(canvas: LiveCanvas, after: int | None = None, most: int = 10**6) -> list[dict[str, Any]]:
    """What a reader is sent, up to so many events."""

    async def read() -> list[dict[str, Any]]:
        found = []
        async with contextlib.aclosing(canvas.events(after)) as events:
            async for part in events:
                found.append(json.loads(part.partition("data: ")[2]))
                if len(found) == most:
                    break
        return found

    return asyncio.run(read())


def test_resumed_stream_has_only_new_events():
    canvas = LiveCanvas("c", "", "tiny")
    canvas.begin()
    for i in range(300):
        canvas.redraft("x" * i)
    assert [event["seq"] for event in events_of(canvas, canvas.seq - 5, 5)] == list(
        range(canvas.seq - 4, canvas.seq + 1)
    )
    oldest = canvas.seq - MAX_BEHIND
    assert events_of(canvas, oldest, 1)[0]["seq"] == oldest + 1
    # What is no longer known, or never was.
    for after in (None, oldest - 1, canvas.seq + 1, -1):
        [snapshot] = events_of(canvas, after, 1)
        assert (snapshot["type"], snapshot["seq"], snapshot["text"]) == ("canvas.snapshot", canvas.seq, "x" * 299)
    canvas.finish("y")
    assert [event["type"] for event in events_of(canvas, canvas.seq - 2)] == ["canvas.patch", "canvas.done"]
    # A reader who has all events learns that no more will come.
    for after in (None, canvas.seq):
        [snapshot] = events_of(canvas, after)
        assert (snapshot["type"], snapshot["status"]) == ("canvas.snapshot", "done")


def test_last_event_id_header_resumes(served: Served):
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION).json()
    path = f"/v1/canvas/{canvas['id']}/events"
    [event] = read_events(served.http.get(path, headers={"Last-Event-ID": str(canvas["seq"] - 1)}))
    assert event["type"] == "canvas.done"


def test_stream_starts_and_ends_with_whole_text(served: Served):
    follower = Follower()
    with served.http.stream("POST", "/v1/canvas", json={"prompt": EXPRESSION, "stream": True}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        for event in read_events(response):
            follower.take(event)
    assert follower.kinds[0] == "canvas.snapshot"
    assert follower.kinds[-1] == "canvas.done"
    assert follower.text == served.model.generate(EXPRESSION).text


def test_patches_and_snapshots_have_confidences(served: Served):
    body = {"prompt": EXPRESSION, "stream": True, "every_step": True, "canvas_length": 16, "steps": 5, "seed": 2}
    trace = served.model.generate(EXPRESSION, canvas_length=16, steps=5, seed=2, adaptive=False, trace=True).trace
    with served.http.stream("POST", "/v1/canvas", json=body | {"settings": FORCED}) as response:
        events = list(read_events(response))
    assert [event["type"] for event in events].count("canvas.snapshot") == 1
    patches = [event for event in events if event["type"] == "canvas.patch"]
    assert [(patch["block"], patch["step"]) for patch in patches] == [(step.canvas, step.step) for step in trace]
    pieces: list[str] = []
    for patch, step in zip(patches, trace, strict=True):
        if patch["step"] == 0:
            pieces = []
        for change in patch["changes"]:
            pieces[slice(*change["tokens"])] = change["pieces"]
        assert pieces == list(step.pieces)
        assert [one != "noise" for one in patch["state"]] == [
            accepted or revised for accepted, revised in zip(step.accepted, step.revised, strict=True)
        ]
        assert patch["entropy"] == pytest.approx(step.entropy, abs=1e-4)
        assert patch["confidence"] == pytest.approx(step.confidence, abs=1e-4)
    assert all(max(patch["entropy"]) > 0 for patch in patches if patch["step"] == 1)
    passes = [patch["usage"]["forward_passes"] for patch in patches]
    assert passes == sorted(passes)
    times = [event["elapsed_ms"] for event in events]
    assert times == sorted(times)
    assert events[-1]["usage"]["forward_passes"] == passes[-1]


def test_late_readers_get_confidences(served: Served):
    canvas = LiveCanvas("c", "", "tiny")
    canvas.begin()
    step = served.model.generate(EXPRESSION, steps=4, adaptive=False, trace=True).trace[2]
    canvas.take(step)
    [snapshot] = events_of(canvas, None, 1)
    assert snapshot["pieces"] == list(step.pieces)
    for name in ("state", "confidence", "entropy"):
        assert len(snapshot[name]) == len(step.pieces)
    assert snapshot["usage"] == {"forward_passes": step.forward_passes, "positions_computed": step.positions_computed}
    assert snapshot["elapsed_ms"] >= 0
    canvas.finish("x")
    [snapshot] = events_of(canvas)
    assert (snapshot["pieces"], snapshot["state"], snapshot["entropy"]) == ([], [], [])
    assert "elapsed_ms" not in snapshot


def test_commits_have_alternatives(served: Served):
    options: dict[str, Any] = {"canvas_length": 16, "seed": 1}
    expected = served.model.generate(EXPRESSION, top_logprobs=3, **options)
    body = {"prompt": EXPRESSION, "stream": True, "top_logprobs": 3, **options}
    with served.http.stream("POST", "/v1/canvas", json=body) as response:
        events = list(read_events(response))
    told = [entry for event in events if event["type"] == "canvas.commit" for entry in event["logprobs"]]
    assert "".join(entry["token"] for entry in told) == expected.text
    for entry, top in zip(told, expected.top_logprobs, strict=True):
        assert [other["logprob"] for other in entry["top_logprobs"]] == [pytest.approx(logprob) for _, logprob in top]
    assert max(len(entry["top_logprobs"]) for entry in told) == 3
    assert events[-1]["logprobs"] == told
    canvas = served.http.get(f"/v1/canvas/{events[-1]['canvas_id']}").json()
    assert canvas["logprobs"] == told
    plain = served.ask("/v1/canvas", prompt=EXPRESSION, top_logprobs=0, **options).json()
    assert [entry["top_logprobs"] for entry in plain["logprobs"]] == [[]] * len(told)
    assert "logprobs" not in served.ask("/v1/canvas", prompt=EXPRESSION, **options).json()


def test_edits_stream_their_drafts(served: Served):
    body = {"text": DERIVED, "spans": [[8, 10]], "stream": True, "steps": 6, "settings": FORCED}
    seen = []
    for every_step in (False, True):
        follower, changed = Follower(), []
        with served.http.stream("POST", "/v1/canvas", json=body | {"every_step": every_step}) as response:
            for event in read_events(response):
                follower.take(event)
                if event["type"] == "canvas.patch":
                    changed.append(event["changes"])
                    assert follower.text.startswith(DERIVED[:8])
                    assert follower.text.endswith(DERIVED[10:])
        assert follower.text == served.model.edit(DERIVED, spans=[(8, 10)], steps=6, adaptive=False).text
        seen.append(changed)
    # The noise, and what comes of it; steps that change nothing only if every step is asked for.
    assert len(seen[0]) >= 2
    assert [changes for changes in seen[1] if changes] == seen[0]
    assert len(seen[1]) >= 7


@pytest.mark.parametrize("seed", range(50))
def test_changes_turn_one_draft_into_the_next(seed: int):
    draw = random.Random(seed)
    before = tuple(draw.choice(["", "a", "bc", "d e"]) for _ in range(draw.randrange(12)))
    after = tuple(piece if draw.random() < 0.5 else draw.choice(["", "x", "yz"]) for piece in before)
    if draw.random() < 0.3:
        after += ("end",)
    text = "head" + "".join(before)
    for change in changes(before, after, 4):
        start, end = change["chars"]
        text = text[:start] + change["text"] + text[end:]
    assert text == "head" + "".join(after)


def test_edits_need_the_current_revision(served: Served):
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION).json()
    path, text = f"/v1/canvas/{canvas['id']}", canvas["text"]
    by_hand = served.ask(f"{path}/edits", base_rev=1, replace=[{"start": 0, "end": 6, "text": "Answer"}]).json()
    assert (by_hand["rev"], by_hand["text"]) == (2, "Answer" + text[6:])
    stale = served.ask(f"{path}/edits", base_rev=1, replace=[])
    assert stale.status_code == 409
    assert stale.json()["error"]["code"] == "stale_revision"
    assert (stale.json()["error"]["rev"], stale.json()["error"]["text"]) == (2, by_hand["text"])
    assert served.ask(f"{path}/edits", base_rev=7, replace=[]).status_code == 409
    # The model writes a span anew, and nothing else.
    at = text.index("= 39") + 2
    edited = served.ask(f"{path}/edits", base_rev=2, spans=[[at, at + 2]]).json()
    assert edited["rev"] == 3
    assert edited["text"].startswith(by_hand["text"][:at])
    assert edited["text"].endswith(by_hand["text"][at + 2 :])
    # With the prompt before it.
    expected = served.model.edit(by_hand["text"], spans=[(at, at + 2)], prompt=EXPRESSION)
    assert edited["text"] == expected.text
    assert edited["text"] == by_hand["text"]
    # But for a long one, which would leave no room.
    long = served.ask(
        "/v1/canvas", messages=[{"role": "user", "content": "json: " + "Mia is red. " * 70}], max_tokens=8
    )
    filled = {"start": 0, "end": len(long.json()["text"]), "text": 'x = "abc"\n' * 20}
    edit = {"base_rev": 1, "replace": [filled], "spans": [[5, 8]]}
    assert served.ask(f"/v1/canvas/{long.json()['id']}/edits", **edit).status_code == 200
    again = served.ask(f"{path}/edits", base_rev=3, replace=[{"start": 0, "end": 6, "text": "ANSWER"}]).json()
    assert (again["rev"], again["text"]) == (4, "ANSWER" + text[6:])
    undone = served.ask(f"{path}/undo", base_rev=4).json()
    assert (undone["rev"], undone["text"]) == (5, by_hand["text"])
    # Past the revision that changed nothing.
    undone = served.ask(f"{path}/undo", base_rev=5).json()
    assert (undone["rev"], undone["text"]) == (6, text)
    assert served.ask(f"{path}/undo", base_rev=6).status_code == 409
    revisions = served.http.get(f"{path}/revisions").json()["data"]
    assert [row["made_by"] for row in revisions] == ["model", "hand", "model", "hand", "undo", "undo"]
    page = served.http.get(f"{path}/revisions", params={"limit": 4}).json()
    rest = served.http.get(f"{path}/revisions", params={"limit": 2, "after": 4}).json()
    assert (page["data"] + rest["data"], page["has_more"], rest["has_more"]) == (revisions, True, False)
    assert served.http.delete(path).json()["deleted"]
    assert served.http.get(path).status_code == 404
    assert served.http.get(f"{path}/revisions").status_code == 404


def test_edited_text_has_a_limit(served: Served):
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION).json()
    path = f"/v1/canvas/{canvas['id']}"
    long = {"start": 0, "end": 0, "text": "x" * 200_000}
    refused = served.ask(f"{path}/edits", base_rev=1, replace=[long])
    assert refused.status_code == 400
    assert "allowed: 200,000" in refused.json()["error"]["message"]
    backwards = [{"start": 3, "end": 1, "text": ""}]
    refused = served.ask(f"{path}/edits", base_rev=1, replace=backwards).json()["error"]["message"]
    assert refused.startswith("replace has (3, 1); allowed: parts of the")
    parts = [{"start": 0, "end": 3, "text": ""}, {"start": 1, "end": 4, "text": ""}]
    refused = served.ask(f"{path}/edits", base_rev=1, replace=parts).json()["error"]["message"]
    assert (
        f"(0, 3) and another part that starts at 1; allowed: parts of the {len(canvas['text'])} characters" in refused
    )
    assert served.http.get(path).json()["rev"] == 1


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(1, 3, "X"), (4, 5, "")], "aXdf"),
        ([(2, 4, "X"), (2, 2, "y")], "abyXef"),
        ([(2, 2, "y"), (2, 4, "X"), (4, 4, "z")], "abyXzef"),
        ([(6, 6, "1"), (6, 6, "2"), (0, 0, "0")], "0abcdef12"),
    ],
)
def test_replacements_may_touch(parts: list[tuple[int, int, str]], expected: str):
    replacements = [Replacement(start=start, end=end, text=text) for start, end, text in parts]
    assert _replaced("abcdef", replacements) == expected


def test_pins_stay(served: Served):
    draft = "answer: 40\n81*(2/3)^2 = 36\nsqrt(9) = 3\n36+3 = 39"
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION, text=draft, pins=[[0, 8]], strength=1.0).json()
    assert canvas["text"].startswith("answer: ")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "prompt"),
        ({"prompt": EXPRESSION, "messages": [{"role": "user", "content": "x"}]}, "messages"),
        ({"text": "x", "pins": [[0, 1]]}, "pins"),
        ({"text": "x", "top_logprobs": 2}, "top_logprobs"),
        ({"prompt": EXPRESSION, "top_logprobs": 21}, "top_logprobs"),
        ({"prompt": EXPRESSION, "spans": [[0, 1]]}, "spans"),
        ({"prompt": EXPRESSION, "instruction": "x"}, "instruction"),
        ({"prompt": EXPRESSION, "pins": [[0, 1]]}, "pin"),
        ({"prompt": EXPRESSION, "text": "abc", "seed_text": "x"}, "seed_text"),
        ({"prompt": EXPRESSION, "text": "abc", "pins": [[0, 1]], "pin": [[0, 1]]}, "pin"),
        ({"prompt": EXPRESSION, "text": "abc", "pins": [[2, 9]]}, "pin"),
        ({"prompt": EXPRESSION, "text": "abc", "pins": [[0, 1]] * 100_000}, "pins"),
        ({"text": "abc", "spans": [[1]]}, "spans"),
        ({"prompt": EXPRESSION, "n": 0}, "n"),
        ({"prompt": EXPRESSION, "schema": {"type": "nothing"}}, "type"),
        ({"prompt": "x" * 100_000, "check_prompt": False}, "tokens"),
        ({"prompt": EXPRESSION, "deadline_ms": 0}, "deadline_ms"),
    ],
)
def test_canvas_errors_are_named(served: Served, body: dict[str, Any], named: str):
    response = served.ask("/v1/canvas", **body)
    assert response.status_code == 400, response.text
    assert named in response.json()["error"]["message"]


def test_one_of_two_concurrent_edits_is_refused(served: Served):
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION).json()
    path = f"/v1/canvas/{canvas['id']}"
    body = {"base_rev": 1, "spans": [[0, 6]], "steps": 60, "settings": FORCED}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(lambda: served.ask(f"{path}/edits", **body))
        while served.http.get(path).json()["status"] != "running":
            assert not first.done()
        for what, other in (("edits", body), ("edits", {"base_rev": 1, "replace": []}), ("undo", {"base_rev": 1})):
            refused = served.ask(f"{path}/{what}", **other)
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "canvas_busy")
        assert first.result().status_code == 200
    assert served.http.get(path).json()["rev"] == 2


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    """A database with the canvas "c" at its first revision, "old"."""
    history = History(tmp_path / "canvases.db")
    history.create(["c"], owner="", model="tiny", prompt={})
    history.add("c", 1, "old", made_by="model", details={})
    yield history
    history.close()


def test_edit_continues_after_its_reader_leaves(history: History):
    canvases = Canvases(None, history)  # type: ignore[arg-type]
    body = EditRequest(base_rev=1, replace=[Replacement(start=0, end=3, text="new")])

    async def leave() -> LiveCanvas:
        canvas = await canvases.find("c", "")
        editing = asyncio.create_task(canvases.edit("c", body, ""))
        while canvas.status != "running":
            await asyncio.sleep(0)
        editing.cancel()
        await asyncio.wait({editing})
        return canvas

    canvas = asyncio.run(leave())
    rows = history.revisions("c")
    assert (canvas.rev, canvas.text) == (rows[-1]["rev"], rows[-1]["text"])
    assert canvas.status != "running"


@pytest.mark.parametrize("sent", [OSError("gone"), asyncio.CancelledError()], ids=repr)
def test_work_ends_with_a_reader_who_leaves_before_the_stream_begins(sent: BaseException):
    async def send(message: Any) -> None:
        raise sent

    async def leave() -> asyncio.Task[None]:
        canvas = LiveCanvas("c", "", "tiny")
        canvas.begin()
        canvas.task = asyncio.create_task(asyncio.sleep(600))
        with contextlib.suppress(ClientDisconnect, asyncio.CancelledError):
            await CanvasStream([canvas])({"type": "http", "asgi": {"spec_version": "2.4"}}, send, send)
        await asyncio.wait({canvas.task})
        return canvas.task

    assert asyncio.run(leave()).cancelled()


def test_a_stream_ends_only_the_work_that_it_shows():
    """An edit that began after a canvas was done is another request's."""

    async def ignore(message: Any) -> None:
        pass

    async def follow() -> tuple[bool, bool]:
        first, second = (LiveCanvas(name, "", "tiny") for name in "ab")
        for canvas in (first, second):
            canvas.begin()
            canvas.task = asyncio.create_task(asyncio.sleep(600))
        stream = CanvasStream([first, second])
        first.finish("one")
        shown = asyncio.create_task(stream({"type": "http", "asgi": {"spec_version": "2.4"}}, ignore, ignore))
        while not second.is_followed:
            await asyncio.sleep(0)
        first.begin()
        first.task = later = asyncio.create_task(asyncio.sleep(600))
        second.finish("two")
        await shown
        return bool(second.task.cancelling()), bool(later.cancelling())

    assert asyncio.run(follow()) == (True, False)


def test_a_refused_undo_ends_the_events_that_began_meanwhile(history: History):
    async def follow() -> list[str]:
        canvases = Canvases(None, history)  # type: ignore[arg-type]
        undo = asyncio.create_task(canvases.undo("c", 1, ""))
        while (canvas := canvases._live.get("c")) is None or canvas.status != "running":
            await asyncio.sleep(0)
        events = [part async for part in canvas.events()]
        with pytest.raises(ApiError, match="has nothing before revision 1"):
            await undo
        return events

    assert len(asyncio.run(follow())) == 1


def test_pages_show_what_another_server_wrote(history: History):
    async def look() -> list[str]:
        canvases = Canvases(None, history)  # type: ignore[arg-type]
        await canvases.find("c", "")
        history.add("c", 2, "new", made_by="hand", details={})
        [shown], _ = await canvases.page("", 9, None)
        return [shown.text, (await canvases.find("c", "")).text]

    assert asyncio.run(look()) == ["new", "new"]


def test_drafts_that_come_after_the_end_are_dropped(history: History):
    tell, begun = [], asyncio.Event()

    async def edit(text: str, *, on_draft: Any, **_: Any) -> Any:
        tell.append(on_draft)
        begun.set()
        await asyncio.Event().wait()

    async def use(name: str) -> Any:
        return contextlib.nullcontext(SimpleNamespace(edit=edit))

    async def leave() -> LiveCanvas:
        canvases = Canvases(SimpleNamespace(use=use), history)  # type: ignore[arg-type]
        editing = asyncio.create_task(canvases.edit("c", EditRequest(base_rev=1), ""))
        started = asyncio.create_task(begun.wait())
        await asyncio.wait({started, editing}, return_when=asyncio.FIRST_COMPLETED)
        assert not editing.done(), editing.exception()
        canvas = await canvases.find("c", "")
        tell[0]("half")
        await asyncio.sleep(0)
        assert canvas.to_dict()["text"] == "half"
        editing.cancel()
        await asyncio.wait({editing, canvas.task})
        tell[0]("late")
        await asyncio.sleep(0)
        return canvas

    canvas = asyncio.run(leave())
    assert (canvas.status, canvas.text, canvas.to_dict()["text"]) == ("cancelled", "old", "old")


def test_canvases_of_a_request_are_stored_together(tmp_path: Path):
    """In their order, which is that of their seeds; if one cannot be stored, none is."""
    history = History(tmp_path / "canvases.db")
    with pytest.raises(IntegrityError):
        history.create(["a", "b", "a"], owner="", model="tiny", prompt={})
    assert history.newest("", 9) == []
    history.create(["b", "a"], owner="", model="tiny", prompt={})
    history.add("a", 1, "old", made_by="model", details={})
    history.add("a", 2, "new", made_by="hand", details={})
    history.add_asset("b", {"slot": "cat"})
    newest = history.newest("", 9)
    assert [(row["id"], row["rev"], row["text"]) for row in newest] == [("a", 2, "new"), ("b", None, None)]
    assert newest == [history.find("a"), history.find("b")]
    assert newest[1]["assets"] == {"cat": {"slot": "cat"}}
    history.close()


def test_found_canvases_do_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sfumato.server.canvases._REMEMBERED", 2)
    history = History(tmp_path / "canvases.db")
    canvases = Canvases(None, history)  # type: ignore[arg-type]

    async def find() -> list[str]:
        for i in range(5):
            history.create([f"c{i}"], owner="", model="tiny", prompt={})
            history.add(f"c{i}", 1, str(i), made_by="model", details={})
            assert (await canvases.find(f"c{i}", "")).text == str(i)
        return list(canvases._live)

    assert asyncio.run(find()) == ["c3", "c4"]
    history.close()


def test_work_starts_only_if_all_canvases_are_stored():
    def create(canvas_ids: list[str], **_: Any) -> None:
        raise OSError("full")

    async def fail() -> dict[str, LiveCanvas]:
        canvases = Canvases(SimpleNamespace(check=lambda name: None), SimpleNamespace(create=create))  # type: ignore[arg-type]
        with pytest.raises(OSError, match="full"):
            await canvases.create(CanvasRequest(model="tiny", text="1+1=3", n=2), "")
        return canvases._live

    assert asyncio.run(fail()) == {}


def test_canvases_expire_after_a_failure(caplog: pytest.LogCaptureFixture):
    deleted = threading.Event()

    def expire(before: float) -> None:
        if not caplog.records:
            raise OSError("locked")
        deleted.set()

    async def run() -> None:
        canvases = Canvases(None, SimpleNamespace(expire=expire))  # type: ignore[arg-type]
        expiring = asyncio.create_task(canvases.expire(0.0))
        while not deleted.is_set() and not expiring.done():
            await asyncio.sleep(0.01)
        expiring.cancel()

    asyncio.run(run())
    assert deleted.is_set()
    assert "locked" in caplog.text


def test_old_canvases_expire_while_running(tmp_path: Path):
    for served in start(tmp_path, limits=Limits(keep_s=0.5)):
        canvas = served.ask("/v1/canvas", prompt=EXPRESSION, steps=2).json()
        end = time.monotonic() + 600
        while served.http.get(f"/v1/canvas/{canvas['id']}").status_code != 404:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_delete_cancels(served: Served):
    canvas = served.ask("/v1/canvas", prompt=EXPRESSION, background=True, **SLOW).json()
    with served.cancelling():
        assert served.http.delete(f"/v1/canvas/{canvas['id']}").status_code == 200
    assert served.http.get(f"/v1/canvas/{canvas['id']}").status_code == 404


def begin(arguments: list[str]) -> tuple[subprocess.Popen[str], str]:
    """`sfumato serve` as users start it, and its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato", "serve", "--port", "0", *arguments], stderr=subprocess.PIPE, text=True
    )
    url = ""
    while not url.startswith("http"):
        line = process.stderr.readline()
        assert line, process.wait()
        url = line.split()[0]
    with httpx.Client(base_url=url) as http:
        end = time.monotonic() + 600
        while http.get("/ready").status_code != 200:
            assert time.monotonic() < end
            time.sleep(0.05)
    return process, url


@pytest.mark.slow
@pytest.mark.parametrize("seconds", ["1", "600"])
def test_streams_end_when_the_time_to_drain_is_over(tmp_path: Path, seconds: str):
    """Or at a second signal."""
    arguments = ["tiny", "--threads", "1", "--database", str(tmp_path / "canvases.db"), "--drain-seconds", seconds]
    process, url = begin(arguments)
    slow = {"steps": 1000, "canvas_length": 480, "settings": {"adaptive": False}}
    body = {"messages": [{"role": "user", "content": EXPRESSION}], "stream": True, "draft": True, "max_tokens": 480}
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=body | {"diffusion": slow}, timeout=600) as answer:
        lines = answer.iter_lines()
        assert "sfumato" in next(line for line in lines if "accepted" in line)
        process.send_signal(signal.SIGTERM)
        if seconds == "600":
            while httpx.get(f"{url}/ready").status_code == 200:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
        *_, finish, end = [line for line in lines if line.startswith("data: ")]
    assert json.loads(finish.removeprefix("data: "))["choices"][0]["finish_reason"] == "length"
    assert end == "data: [DONE]"
    _, told = process.communicate(timeout=600)
    assert process.returncode == 0
    assert "Traceback" not in told


def test_servers_that_share_a_database_see_each_others_revisions(tmp_path: Path):
    one, other = (start(tmp_path) for _ in range(2))
    first, second = next(one), next(other)
    made = first.ask("/v1/canvas", prompt=EXPRESSION).json()
    path = f"/v1/canvas/{made['id']}"
    assert second.http.get(path).json()["text"] == made["text"]
    edited = second.ask(f"{path}/edits", base_rev=1, replace=[{"start": 0, "end": 1, "text": "A"}]).json()
    assert first.http.get(path).json()["text"] == edited["text"] == f"A{made['text'][1:]}"
    assert first.ask(f"{path}/edits", base_rev=1, replace=[]).json()["error"]["code"] == "stale_revision"
    assert first.ask(f"{path}/undo", base_rev=2).json()["text"] == made["text"]
    assert second.http.get(path).json()["rev"] == 3
    assert second.http.delete(path).status_code == 200
    assert first.http.get(path).status_code == 404
    for each in (one, other):
        next(each, None)


def test_a_database_that_fails_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    for served in start(tmp_path):
        made = served.ask("/v1/canvas", prompt=EXPRESSION).json()
        with contextlib.closing(sqlite3.connect(tmp_path / "canvases.db")) as connection:
            connection.execute("ALTER TABLE revisions RENAME TO others")
        refused = served.ask(f"/v1/canvas/{made['id']}/edits", base_rev=1, replace=[])
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage_failed")
        assert refused.headers["retry-after"] == "5"
    assert "the database failed: no such table: revisions" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.slow
def test_canvases_in_the_background_are_waited_for(tmp_path: Path):
    arguments = ["tiny", "--threads", "1", "--database", str(tmp_path / "canvases.db"), "--drain-seconds", "600"]
    process, url = begin(arguments)
    slow = {"prompt": EXPRESSION, "steps": 100, "settings": {"adaptive": False}, "background": True}
    made = httpx.post(f"{url}/v1/canvas", json=slow, timeout=600).json()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    process, url = begin(arguments)
    found = httpx.get(f"{url}/v1/canvas/{made['id']}", timeout=600).json()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert (found["status"], found["rev"]) == ("done", 1)


@pytest.mark.slow
def test_killed_server_restores_every_revision(tmp_path: Path):
    draw, known = random.Random(0), dict[str, str]()
    arguments = ["tiny", "--threads", "1", "--database", str(tmp_path / "canvases.db")]
    for round_ in range(2):
        process, url = begin(arguments)
        with httpx.Client(base_url=url, timeout=600) as http:
            for canvas_id, text in known.items():
                assert http.get(f"/v1/canvas/{canvas_id}").json()["text"] == text
            if round_ == 1:
                break
            begun = http.post("/v1/canvas", json={"prompt": EXPRESSION, "background": True} | SLOW).json()
            for seed in range(draw.randrange(1, 4)):
                done = http.post("/v1/canvas", json={"prompt": EXPRESSION, "seed": seed}).json()
                known[done["id"]] = done["text"]
            process.kill()
            process.communicate()
            assert begun["status"] == "running"
    with httpx.Client(base_url=url, timeout=600) as http:
        assert http.get(f"/v1/canvas/{begun['id']}").json()["status"] == "interrupted"
        # What is in work when SIGTERM comes is answered; what comes then is not.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            slow = {"prompt": EXPRESSION, "steps": 300, "settings": {"adaptive": False}}
            answering = pool.submit(lambda: http.post("/v1/canvas", json=slow))
            while 'sfumato_running{model="tiny"} 1.0' not in http.get("/metrics").text:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            while (refused := http.post("/v1/canvas", json=slow)).status_code == 200:
                pass
            assert refused.status_code == 503
            assert refused.headers["retry-after"]
            assert answering.result().json()["status"] == "done"
    process.communicate(timeout=600)
    assert process.returncode == 0
