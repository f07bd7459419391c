"""Models behind another server."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import openai
import pytest
from starlette.requests import Request

from serving import EXPRESSION, Served, start
from sfumato.errors import ConfigError
from sfumato.server.failures import ApiError
from sfumato.server.protocol import ChatRequest
from sfumato.server.upstream import Relay, Upstream, read_upstream

TURNS: list[Any] = [{"role": "user", "content": EXPRESSION}]


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def relaying(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that passes "far" on to another one, and "lost" to none."""
    far = Upstream(name="far", url=f"{served.url}/v1", model="tiny", key="secret")
    lost = Upstream(name="lost", url=f"http://127.0.0.1:{closed_port()}/v1", model="x")
    yield from start(tmp_path_factory.mktemp("relay"), upstreams=(far, lost))


def test_upstream_is_listed(relaying: Served):
    cards = {card["id"]: card for card in relaying.http.get("/v1/models").json()["data"]}
    assert list(cards) == ["tiny", "far", "lost"]
    assert cards["far"]["capabilities"] == ["chat", "completion", "upstream"]
    assert relaying.http.get("/v1/models/far").json() == cards["far"]


def test_answers_are_passed_through(served: Served, relaying: Served):
    expected = served.model.generate(EXPRESSION, seed=3).text
    answer = relaying.chat(model="far", seed=3, max_tokens=64).json()
    assert answer["choices"][0]["message"]["content"] == expected
    text = relaying.ask("/v1/completions", model="far", prompt="1+1=", max_tokens=4, seed=2)
    same = served.ask("/v1/completions", model="tiny", prompt="1+1=", max_tokens=4, seed=2)
    assert text.json()["choices"] == same.json()["choices"]
    with openai.OpenAI(base_url=f"{relaying.url}/v1", api_key="none") as client:
        stream = client.chat.completions.create(
            model="far", messages=TURNS, seed=3, stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == expected
    assert chunks[-1].usage is not None


@pytest.mark.parametrize(
    "more",
    [
        {"diffusion": {"steps": 3}},
        {"draft": True},
        {"diffusing": True},
        {"realtime": True},
        {"response_format": {"type": "regex", "regex": "a"}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_diffusion_options_are_refused_by_name(relaying: Served, more: dict[str, Any]):
    refused = relaying.chat(model="far", **more)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, next(iter(more)))
    assert "far" in refused.json()["error"]["message"]


def test_refusals_are_passed_through(relaying: Served):
    refused = relaying.chat(model="far", temperature=-1.0)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (400, "upstream_refused")
    assert "temperature" in error["message"]


def test_only_completions_are_forwarded(relaying: Served):
    for path, body in (
        ("/v1/canvas", {"prompt": EXPRESSION}),
        ("/v1/responses", {"input": EXPRESSION}),
        ("/v1/fim/completions", {"prompt": "a", "suffix": "b"}),
    ):
        refused = relaying.ask(path, model="far", **body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "model_is_upstream")


def test_unreachable_server_is_named(relaying: Served):
    for stream in (False, True):
        refused = relaying.chat(model="lost", stream=stream)
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (502, "upstream_unreachable")
        assert "lost" in error["message"]


def test_disconnect_cancels_upstream(served: Served, relaying: Served, monkeypatch: pytest.MonkeyPatch):
    slow = dataclasses.replace(served.model.sampler_defaults, steps=1000, adaptive=False)
    monkeypatch.setattr(served.model, "sampler_defaults", slow)
    body = {"messages": TURNS, "model": "far", "stream": True, "n": 4}
    with served.cancelling(4), relaying.http.stream("POST", "/v1/chat/completions", json=body) as response:
        # Roles come before the answers are submitted. The connection closes with its last iterator.
        lines = response.iter_lines()
        next(lines)
        served.wait_until_busy()


# Servers that misbehave.

Handler = Callable[[httpx.Request], httpx.Response]


def ask(handler: Handler, **body: Any) -> list[str]:
    """The answer to a chat, or the events of its stream, from a server that a function is."""

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def go() -> list[str]:
        relay = Relay()
        relay._http = httpx.AsyncClient(transport=httpx.MockTransport(handler))
        upstream = Upstream(name="far", url="http://host/v1", model="there", key="secret")
        request = Request({"type": "http", "headers": []}, receive)
        chat = ChatRequest(model="far", messages=TURNS, **body)
        try:
            response: Any = await relay.answer(upstream, "chat/completions", chat, request)
            return [part async for part in response.body_iterator] if body.get("stream") else [response.body.decode()]
        finally:
            await relay.close()

    return asyncio.run(go())


def failing(status: int, **more: Any) -> Handler:
    return lambda request: httpx.Response(status, **more)


def timing_out(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("late", request=request)


@pytest.mark.parametrize(
    ("handler", "status", "code"),
    [
        (failing(401, json={"error": {"message": "bad key"}}), 502, "upstream_failed"),
        (failing(404, json={"error": "no such model"}), 502, "upstream_failed"),
        (failing(500, text="<html>"), 502, "upstream_failed"),
        (failing(302, headers={"Location": "http://elsewhere"}), 502, "upstream_failed"),
        (failing(200, text="<html>"), 502, "upstream_failed"),
        (failing(200, json=[1]), 502, "upstream_failed"),
        (failing(422, json={"error": {"message": "n", "param": 3}}), 422, "upstream_refused"),
        (failing(504), 504, "upstream_timeout"),
        (timing_out, 504, "upstream_timeout"),
    ],
)
def test_upstream_failures_are_named(handler: Handler, status: int, code: str):
    with pytest.raises(ApiError) as caught:
        ask(handler)
    assert (caught.value.status, caught.value.code) == (status, code)
    assert "'far'" in str(caught.value)


def test_an_answer_that_is_no_stream_is_named():
    for handler in (failing(200, json={"choices": []}), failing(200, text="hello")):
        with pytest.raises(
            ApiError, match=r"the server of model 'far' answers with '.*', and not with a stream"
        ) as caught:
            ask(handler, stream=True)
        assert (caught.value.status, caught.value.code) == (502, "upstream_failed")


def test_the_last_event_needs_no_line_after_it():
    headers = {"Content-Type": "text/event-stream"}
    parts = ask(failing(200, headers=headers, content=b"data: 1\n\ndata: [DONE]"), stream=True)
    assert [part for part in parts if part] == ["data: 1\n\n", "data: [DONE]\n\n"]


def test_retry_after_is_passed_through():
    with pytest.raises(ApiError) as caught:
        ask(failing(429, headers={"Retry-After": "7"}, json={"error": {"message": "slow down"}}), stream=True)
    assert (caught.value.status, caught.value.headers) == (429, {"Retry-After": "7"})
    assert "slow down" in str(caught.value)


def test_upstream_name_and_key_are_used():
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"choices": []})

    assert json.loads(ask(answer, temperature=0.5)[0]) == {"choices": []}
    assert str(seen[0].url) == "http://host/v1/chat/completions"
    assert seen[0].headers["authorization"] == "Bearer secret"
    assert json.loads(seen[0].content) == {"model": "there", "messages": TURNS, "temperature": 0.5}
    assert "secret" not in repr(Upstream(name="far", url="http://host/v1", model="there", key="secret"))


def test_broken_stream_ends_with_error():
    async def parts() -> AsyncIterator[bytes]:
        yield b'data: {"a": 1}\r\n\r'
        yield b"\nda"
        yield 'ta: {"b": "\u2028\x85"}\n\ndata: {"half'.encode()
        raise httpx.ReadError("gone")

    first, second, last = ask(failing(200, content=parts()), stream=True)
    assert [json.loads(part.removeprefix("data: ")) for part in (first, second)] == [{"a": 1}, {"b": "\u2028\x85"}]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "upstream_unreachable"


def test_upstream_syntax(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("THEIR_KEY", "k")
    assert read_upstream("gpt=https://host/v1/#org/gpt-5:x,key=THEIR_KEY") == Upstream(
        name="gpt", url="https://host/v1", model="org/gpt-5:x", key="k"
    )
    assert read_upstream("gpt=http://host:1/v1") == Upstream(name="gpt", url="http://host:1/v1", model="gpt")
    malformed = ("https://[::1/v1", "https://host:x", "https://host:99999")
    refused = ("host/v1", "ftp://host", "https://", "https://a:b@host", *malformed)
    for given in ("gpt", "=https://host", *(f"gpt={url}" for url in refused)):
        with pytest.raises(ConfigError, match="NAME=URL"):
            read_upstream(given)
    with pytest.raises(ConfigError, match="NOT_THERE"):
        read_upstream("gpt=https://host,key=NOT_THERE")
