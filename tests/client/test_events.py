"""A reader of a canvas never sees a text that it did not have, however often the connection breaks."""

from __future__ import annotations

import itertools
import json
import random
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving import EXPRESSION, Served
from sfumato.client import Client
from sfumato.client.drafts import CanvasText, LostTrackError, ServerSentEvents
from sfumato.errors import ServerError, UnreachableError
from sfumato.server.canvas import LiveCanvas

FULL: Any = {"adaptive": False}


class BreakingProxy:
    """Passes connections on to a server, and cuts those that follow a canvas after some bytes.

    Args:
        url: of the server.
        cuts: bytes after which one connection after the other is cut; later ones are not.
    """

    def __init__(self, url: str, cuts: list[int]) -> None:
        self._address = (urlsplit(url).hostname, urlsplit(url).port)
        self._cuts = iter(cuts)
        self.num_cut = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._pass, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _pass(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._address) as server:
            asked = b""
            while not _is_whole(asked):
                if not (part := client.recv(65536)):
                    return
                asked += part
            left = next(self._cuts, None) if b"/events " in asked.split(b"\n")[0] else None
            # One request a connection, so that a cut is never another request's.
            server.sendall(asked.replace(b"Connection: keep-alive", b"Connection: close"))
            while part := server.recv(65536):
                if left is not None and len(part) >= left:
                    client.sendall(part[:left])
                    self.num_cut += 1
                    return
                left = None if left is None else left - len(part)
                client.sendall(part)

    def close(self) -> None:
        """End it."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()


def _is_whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """All that each canvas ever read, by its id, as the server has it."""
    found: dict[str, list[str]] = {}

    def watched(name: str) -> None:
        method = getattr(LiveCanvas, name)

        def called(self: LiveCanvas, *args: Any, **options: Any) -> Any:
            done = method(self, *args, **options)
            found.setdefault(self.id, [""]).append(self.text + "".join(self.pieces))
            return done

        monkeypatch.setattr(LiveCanvas, name, called)

    for name in ("take", "finish", "fail"):
        watched(name)
    return found


def follow(served: Served, cuts: list[int], **options: Any) -> tuple[Any, list[Any], int]:
    proxy = BreakingProxy(served.url, cuts)
    try:
        with Client(proxy.url, max_wait_s=0.01, max_retries=100) as client:
            canvas = client.canvas(EXPRESSION, background=True, **options)
            return canvas, list(canvas.events()), proxy.num_cut
    finally:
        proxy.close()


@pytest.mark.parametrize("seed", range(4))
def test_reconnect_keeps_the_text_right(served: Served, texts: dict[str, list[str]], seed: int):
    draw = random.Random(seed)
    options: Any = {"seed": seed} | ({"steps": 60} if seed % 2 else {"steps": 12, "canvas_length": 16, "revisit": 1})
    canvas, drafts, num_cut = follow(served, [draw.randrange(1, 9000) for _ in range(12)], **options, settings=FULL)
    assert num_cut > 2
    assert len(drafts) > num_cut // 2
    assert {draft.text for draft in drafts} <= set(texts[canvas.id])
    assert all(draft.text.startswith(draft.committed) for draft in drafts)
    assert drafts[-1].done
    expected = served.model.generate(EXPRESSION, **options, **FULL)
    assert drafts[-1].text == canvas.text == expected.text
    assert drafts[-1].result is not None
    assert (canvas.rev, canvas.status) == (1, "done")
    assert canvas.answer == drafts[-1].result


def test_late_reader_gets_the_answer(served: Served):
    with Client(served.url) as client:
        canvas = client.canvas(EXPRESSION)
        expected, drafts = canvas.answer, list(client.find_canvas(canvas.id).events())
        assert [draft.text for draft in drafts] == [canvas.text] * len(drafts)
        assert drafts[-1].result == expected
        canvas.edit(replace=[(0, 6, "Answer")])
        [*_, last] = canvas.events()
        assert (last.text, last.done, last.result) == (canvas.text, True, None)


def test_retries_end(served: Served):
    proxy = BreakingProxy(served.url, [10] * 50)
    with Client(proxy.url, max_wait_s=0.01, max_retries=3) as client:
        canvas = client.canvas(EXPRESSION, background=True)
        with pytest.raises(UnreachableError, match="broke"):
            list(canvas.events())
    proxy.close()
    assert proxy.num_cut == 4


def test_proxy_errors_are_retried(saying: Callable[..., Any]):
    def event(**values: Any) -> bytes:
        return f"data: {json.dumps(values)}\n\n".encode()

    made = json.dumps({"id": "c", "rev": 0, "text": "", "status": "running", "model": "tiny"}).encode()
    end = {"type": "canvas.done", "seq": 4, "rev": 1, "status": "done", "text": "abc"}
    away = (502, {}, b"<html>")
    url, asked = saying((200, {}, made), away, away, (200, {}, event(**snapshot(3, "ab")) + event(**end)))
    with Client(url, max_wait_s=0.01) as client:
        canvas = client.canvas("hi", background=True)
        assert [draft.text for draft in canvas.events()] == ["ab", "abc"]
    assert asked == ["/v1/canvas", *["/v1/canvas/c/events"] * 3]
    assert (canvas.text, canvas.rev, canvas.status, canvas.answer) == ("abc", 1, "done", None)


def test_failed_canvas_says_why(served: Served, monkeypatch: pytest.MonkeyPatch):
    def failing(self: LiveCanvas, *_: object) -> None:
        raise ValueError("a bug")

    with Client(served.url) as client:
        monkeypatch.setattr(LiveCanvas, "finish", failing)
        canvas = client.canvas(EXPRESSION, background=True)
        with pytest.raises(ServerError, match="unexpected ValueError"):
            list(canvas.events())
        gone = client.canvas(EXPRESSION, background=True, steps=1000, settings={"adaptive": False})
        events = gone.events()
        next(events)
        client.find_canvas(gone.id).delete()
        *_, last = events
        assert last.done
        assert last.result is None
        assert gone.status == "cancelled"


@given(
    datas=st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))),
    cuts=st.lists(st.integers(0, 400)),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_event_boundaries(datas: list[str], cuts: list[int], end: str):
    stream = "".join(f": ping{end}{end}event: x{end}data: {data}{end}{end}" for data in datas).encode()
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    events, found = ServerSentEvents(), list[str]()
    for start, after in itertools.pairwise(places):
        found += events.feed(stream[start:after])
    assert found == datas


def snapshot(seq: int, text: str, **more: Any) -> dict[str, Any]:
    state = {"type": "canvas.snapshot", "seq": seq, "status": "running", "text": text, "committed": 0}
    return state | {"block": 0, "step": 0} | more


def patch(seq: int, *changes: tuple[int, int, str]) -> dict[str, Any]:
    listed = [{"chars": [start, end], "text": text} for start, end, text in changes]
    step = {"block": 0, "step": 1, "steps": 9, "state": [], "confidence": []}
    return {"type": "canvas.patch", "seq": seq, "changes": listed} | step


def told(*events: dict[str, Any]) -> Iterator[str]:
    text = CanvasText()
    for event in events:
        text.take(json.dumps(event))
        yield text.draft.text


def test_patches_and_commits():
    commit = {"type": "canvas.commit", "seq": 6, "chars": [0, 4], "text": "a🙂é!"}
    events = (snapshot(4, "a🙂b\u2028"), patch(5, (3, 4, "?"), (2, 3, "é")), commit)
    assert list(told(*events)) == ["a🙂b\u2028", "a🙂é?", "a🙂é!"]
    text = CanvasText()
    for event in events:
        text.take(json.dumps(event))
    assert text.draft.committed == "a🙂é!"


@pytest.mark.parametrize(
    "wrong",
    [
        patch(6, (0, 1, "x")),
        patch(4, (0, 1, "x")),
        patch(5, (2, 9, "x")),
        patch(5, (1, 0, "x")),
        {"type": "canvas.patch", "seq": 5},
        {"seq": 5},
        ["x"],
    ],
)
def test_inconsistent_events_are_rejected(wrong: Any):
    text = CanvasText()
    text.take(json.dumps(snapshot(4, "abc")))
    with pytest.raises(LostTrackError):
        text.take(json.dumps(wrong))
    assert text.draft.text == "abc"
    # What comes next is not taken either, before all of it is told again.
    with pytest.raises(LostTrackError):
        text.take(json.dumps(patch(5, (0, 1, "x"))))
    text.take(json.dumps(snapshot(9, "xyz")))
    assert text.draft.text == "xyz"
