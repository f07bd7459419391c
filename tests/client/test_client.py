"""Clients get what the library answers; what a server refuses arrives as one kind of exception."""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Literal

import pydantic
import pytest

import sfumato
from serving import EXPRESSION, Served
from sfumato.client import Answer, AsyncClient, Client, Draft
from sfumato.errors import ConfigError, RequestError, ServerError, StaleRevisionError, UnreachableError

SLOW: Any = {"steps": 1000, "settings": {"adaptive": False}}
CARDS = b'{"object": "list", "data": []}'


@pytest.fixture
def client(served: Served) -> Any:
    with Client(served.url) as client:
        yield client


def test_answer_equals_library_answer(served: Served, client: Client):
    expected = served.model.generate(EXPRESSION, seed=3, entropy_bound=0.2)
    answer = client.generate(EXPRESSION, seed=3, settings={"entropy_bound": 0.2}, model="tiny")
    assert (answer.text, answer.finish_reason, answer.seed) == (expected.text, expected.finish_reason, 3)
    assert answer.usage["denoising_steps"] == expected.usage.denoising_steps
    assert answer.certainty == round(expected.certainty, 4)
    messages = [{"role": "user", "content": EXPRESSION}]
    assert client.generate(messages, seed=3, max_tokens=None).text == served.model.generate(EXPRESSION, seed=3).text
    several = client.generate(EXPRESSION, n=3, seed=4)
    assert [each.seed for each in (several, *several.others)] == [4, 5, 6]
    assert client.generate(EXPRESSION, seed=6).text == several.others[1].text


def test_options_mean_the_same_as_in_the_library(served: Served, client: Client):
    cases: list[dict[str, Any]] = [
        {"schema": {"enum": [51, 52]}},
        {"regex": "[ab]{3}"},
        {"choices": ["yes", "no"]},
        {"ban": ["answer"], "max_tokens": 12},
        {"stop": ["="]},
        {"max_tokens": 5, "temperature": 0.0},
        {"top_p": 0.5, "top_k": 3, "seed": 8},
        {"sampler": "confidence", "steps": 4},
        {"canvas_length": 8, "revisit": 1},
        {"seed_text": "answer: 40\n81*(2/3)^2 = 36", "pin": [(0, 8)], "strength": 1.0},
    ]
    for options in cases:
        expected = served.model.generate(EXPRESSION, **options).text
        assert client.generate(EXPRESSION, **options).text == expected, options
        *_, last = client.stream(EXPRESSION, **options)
        assert last.text == expected, options
    # What is no setting of the server's own, it is asked by name; all options are known to it.
    raw = client.generate("1+1=", raw=True, max_tokens=4)
    assert raw.text == served.model.generate("1+1=", raw=True, max_tokens=4).text
    assert client.generate("make it sing", check_prompt=False, min_steps=2, priority=1, deadline_ms=10**6).text


def test_infill(served: Served, client: Client):
    prefix, suffix = "def area(a, b):\n    return a", " b\n"
    for prompt in (None, EXPRESSION):
        expected = served.model.infill(prefix, suffix, prompt=prompt, max_tokens=8)
        found = client.infill(prefix, suffix, prompt=prompt, max_tokens=8)
        assert (found.text, found.usage["prompt_tokens"]) == (expected.text, expected.usage.prompt_tokens)


def test_models(served: Served, client: Client):
    [card] = client.models()
    assert card.name == "tiny"
    assert card.context_length == served.model.decoder.config.max_position_embeddings
    assert set(card.kinds) == {kind.name for kind in served.model.kinds}
    assert {"chat", "infill", "canvas"} <= set(card.capabilities)


def check_drafts(drafts: list[Draft], answer: Answer) -> None:
    """What is committed only grows, is where the text begins, and at the end is all of it."""
    for before, after in itertools.pairwise(drafts):
        assert after.committed.startswith(before.committed)
    assert all(draft.text.startswith(draft.committed) for draft in drafts)
    assert [draft.done for draft in drafts] == [False] * (len(drafts) - 1) + [True]
    assert drafts[-1].text == drafts[-1].committed == answer.text
    assert drafts[-1].result is not None
    assert drafts[-1].result.text == answer.text
    assert drafts[-1].result.usage["denoising_steps"] == answer.usage["denoising_steps"]
    for draft in drafts:
        assert len(draft.pieces) == len(draft.states) == len(draft.confidence)
        assert draft.text.endswith("".join(draft.pieces))


def test_stream_ends_with_answer(client: Client):
    draw = random.Random(5)
    for seed in range(12):
        options: Any = {"seed": seed, "max_tokens": draw.choice([7, 64]), "steps": draw.choice([2, 9])}
        options["canvas_length"] = draw.choice([4, 16, 72])
        drafts, answer = list(client.stream(EXPRESSION, **options)), client.generate(EXPRESSION, **options)
        check_drafts(drafts, answer)
        assert len(drafts) > 2


def test_drafts_are_whole_with_revisits(client: Client):
    """The server holds back what may still change: nothing is committed, and no canvas is missing from the draft."""
    drafts = list(client.stream(EXPRESSION, canvas_length=8, revisit=1, steps=6))
    first = next(draft for draft in drafts if draft.block == 1)
    assert first.committed == ""
    assert len(first.text) > len("".join(first.pieces)) > 0
    assert drafts[-1].text == client.generate(EXPRESSION, canvas_length=8, revisit=1, steps=6).text


def test_leaving_a_stream_cancels(served: Served, client: Client):
    with served.cancelling():
        for draft in client.stream(EXPRESSION, **SLOW):
            if draft.step > 1:
                break


def test_async_client_gets_the_same(served: Served, client: Client):
    async def ask() -> tuple[list[Answer], list[Draft], list[Draft]]:
        async with AsyncClient(served.url) as asking:
            answers = await asyncio.gather(*(asking.generate(EXPRESSION, seed=seed) for seed in range(3)))
            drafts = [draft async for draft in asking.stream(EXPRESSION)]
            canvas = await asking.canvas(EXPRESSION, background=True)
            events = [draft async for draft in canvas.events()]
            text = await canvas.edit(replace=[(0, 6, "Answer")])
            assert text == canvas.text == f"Answer{answers[0].text[6:]}"
            assert (await asking.find_canvas(canvas.id)).text == text
            assert await canvas.undo() == answers[0].text
            assert [each.made_by for each in await canvas.revisions()] == ["model", "hand", "undo"]
            await canvas.delete()
            with pytest.raises(ServerError, match="no canvas"):
                await canvas.refresh()
            stream: AsyncIterator[Draft] = asking.stream(EXPRESSION, steps=0)
            with pytest.raises(ServerError, match="steps is 0"):
                await anext(stream)
            return list(answers), drafts, events

    answers, drafts, events = asyncio.run(ask())
    assert [answer.text for answer in answers] == [client.generate(EXPRESSION, seed=seed).text for seed in range(3)]
    check_drafts(drafts, answers[0])
    assert events[-1].result is not None
    assert events[-1].text == events[-1].result.text == answers[0].text


def test_canvas_edits_and_undo(served: Served, client: Client):
    canvas = client.canvas(EXPRESSION, seed=5)
    text = canvas.text
    assert (canvas.rev, canvas.status, canvas.answer.finish_reason) == (1, "done", "stop")
    other = client.find_canvas(canvas.id)
    assert other.edit(replace=[(0, 0, "> "), (len(text), len(text), "!")]) == f"> {text}!"
    assert other.answer is None
    with pytest.raises(StaleRevisionError, match="base_rev is 1; allowed: 2") as stale:
        canvas.edit(replace=[(0, 1, "")])
    assert (stale.value.status, stale.value.rev, stale.value.text) == (409, 2, f"> {text}!")
    assert canvas.refresh() == f"> {text}!"
    at = canvas.text.index("= 39") + 2
    assert canvas.edit(spans=[(at, at + 2)]) == served.model.edit(f"> {text}!", spans=[(at, at + 2)]).text
    assert canvas.edit(replace=[(0, 1, "-")]) == f"- {text}!"
    assert (canvas.undo(), canvas.undo()) == (f"> {text}!", text)
    with pytest.raises(ServerError, match="nothing before") as nothing:
        canvas.undo()
    assert nothing.value.code == "no_undo"
    revisions = client.find_canvas(canvas.id).revisions()
    assert [each.made_by for each in revisions] == ["model", "hand", "model", "hand", "undo", "undo"]
    assert [each.rev for each in revisions] == [1, 2, 3, 4, 5, 6]
    assert revisions[0].text == revisions[-1].text == text
    canvas.delete()
    with pytest.raises(ServerError, match="no canvas"):
        canvas.edit(replace=[])


def test_spans_are_rewritten(served: Served, client: Client):
    text = "answer: 39\n81*(2/3)^2 = 36\nsqrt(9) = 3\n36+3 = 38"
    span = (len(text) - 2, len(text))
    assert client.canvas(text=text, spans=[span]).text == served.model.edit(text, spans=[span]).text
    draft = client.canvas(EXPRESSION, seed_text=text, pin=[(0, 8)], top_k=5, settings={"top_p": 0.9}, strength=1.0)
    assert draft.text.startswith("answer: ")


@pytest.mark.parametrize(
    ("options", "status", "param", "code"),
    [
        ({"steps": 0}, 400, "steps", None),
        ({"model": "gpt-4"}, 404, "model", "model_not_found"),
        ({"max_tokens": 10_000}, 400, "prompt", "context_length_exceeded"),
        ({"settings": {"sed": 1}}, 400, "settings", None),
    ],
)
def test_refusals(client: Client, options: Any, status: int, param: str | None, code: str | None):
    for asking in (client.generate, client.canvas, lambda *given, **more: list(client.stream(*given, **more))):
        with pytest.raises(ServerError) as refused:
            asking(EXPRESSION, **options)
        error = refused.value
        assert (error.status, error.param, error.code) == (status, param, code)
        assert error.message == str(error)
        assert error.retry_after_s is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stps": 3}, "unknown option 'stps'; did you mean 'steps'?"),
        ({"raw": True, "schema": {}}, "raw is given with schema; allowed: with a text"),
        ({"schema": {"const": object()}}, "response_format cannot be sent as JSON"),
        ({"temperature": float("nan")}, "temperature cannot be sent as JSON"),
    ],
)
def test_invalid_requests_are_not_sent(options: Any, message: str):
    with Client("http://127.0.0.1:9") as client, pytest.raises(RequestError, match=message.replace("?", r"\?")):
        client.generate(EXPRESSION, **options)


def test_a_pydantic_model_is_a_schema(served: Served, client: Client):
    class Pet(pydantic.BaseModel):
        name: str
        animal: Literal["cat", "dog", "parrot"]
        color: str
        age: int

    prompt = "json: Our 8-year-old parrot Mia is red."
    answer = client.generate(prompt, schema=Pet)
    assert Pet.model_validate_json(answer.text).animal == "parrot"
    assert answer.text == served.model.generate(prompt, schema=Pet, order="schema").text
    assert client.canvas(prompt, schema=Pet).text


def test_mistaken_edits_are_not_sent(client: Client):
    canvas = client.canvas("1+1=", max_tokens=4)
    with pytest.raises(RequestError, match=r"replace has \(0, 'x'\); allowed: \(start, end, text\)"):
        canvas.edit(replace=[(0, "x")])  # type: ignore[list-item]
    with pytest.raises(RequestError, match="canvas_id is empty"):
        client.find_canvas("")


@pytest.mark.parametrize("prompt", [None, 5, ["a", "b"]])
def test_prompts_of_another_type_are_not_sent(prompt: Any):
    with Client("http://127.0.0.1:9") as client, pytest.raises(RequestError, match="allowed: a string, or messages"):
        client.generate(prompt)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "localhost:8000"}, "base_url is 'localhost:8000'; allowed: such as 'http://127.0.0.1:8000'"),
        ({"base_url": "http://"}, "base_url is 'http:'"),
        ({"timeout_s": 0}, "timeout_s is 0; allowed: more than 0"),
        ({"max_retries": -1}, "max_retries is -1; allowed: a whole number, 0 or more"),
        ({"max_wait_s": -1}, "max_wait_s is -1; allowed: 0 or more"),
        ({"api_key": "a\nb"}, "api_key has characters that are not allowed"),
    ],
)
def test_refused_settings(settings: Any, message: str):
    for kind in (Client, AsyncClient):
        with pytest.raises(ConfigError, match=message):
            kind(**settings)


def test_key_and_server_from_environment(monkeypatch: pytest.MonkeyPatch, saying: Callable[..., Any]):
    url, asked = saying((200, {}, CARDS))
    monkeypatch.setenv("SFUMATO_URL", f"{url}/v1/")
    monkeypatch.setenv("SFUMATO_API_KEY", "sfu-1")
    with Client() as client:
        assert client.url == url
        assert client.models() == []
        assert client._wire._http.headers["authorization"] == "Bearer sfu-1"
    assert asked == ["/v1/models"]
    with Client(api_key="sfu-2") as client:
        assert client._wire._http.headers["authorization"] == "Bearer sfu-2"


BUSY = (429, {"Retry-After": "0"}, b'{"error": {"message": "full", "code": "queue_full"}}')


def test_busy_server_is_retried(saying: Callable[..., Any]):
    url, asked = saying(BUSY, (503, {}, b"<html>"), (200, {}, CARDS))
    with Client(url, max_wait_s=0.01) as client:
        assert client.models() == []
    assert len(asked) == 3
    url, asked = saying(*[BUSY] * 3)
    with Client(url, max_retries=2) as client, pytest.raises(ServerError, match="full") as refused:
        client.generate("hi")
    assert (refused.value.status, refused.value.code, refused.value.retry_after_s) == (429, "queue_full", 0.0)
    assert len(asked) == 3


@pytest.mark.parametrize("in_", ["61", "date"])
def test_too_long_waits_fail_at_once(saying: Callable[..., Any], in_: str):
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    url, asked = saying((429, {"Retry-After": later if in_ == "date" else in_}, b"{}"))
    with Client(url) as client, pytest.raises(ServerError, match="status 429 and gives no reason") as refused:
        client.models()
    assert refused.value.retry_after_s > 60
    assert len(asked) == 1


def test_other_failures_are_not_retried(saying: Callable[..., Any]):
    url, asked = saying((500, {"Retry-After": "0"}, b'{"error": {"message": "broken"}}'))
    with Client(url) as client, pytest.raises(ServerError, match="broken"):
        client.models()
    assert len(asked) == 1


def test_unreachable_server(saying: Callable[..., Any]):
    with Client("http://127.0.0.1:9") as client, pytest.raises(UnreachableError, match="is `sfumato serve` running"):
        client.models()
    other = b'{"choices": [{"text": "hello"}]}'
    url, _ = saying((200, {}, b"<html>Welcome"), (200, {}, other), (200, {"Content-Length": "100"}, b"{"))
    with Client(url) as client:
        for ask in (client.models, lambda: client.generate("hi")):
            with pytest.raises(UnreachableError, match="this is not a Sfumato server"):
                ask()
        with pytest.raises(UnreachableError, match="broke"):
            client.models()


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (b"", "before the answer was complete"),
        (b"data: [DONE]\n\n", "before the answer was complete"),
        (b'data: {"choices": [{}]}\n\n', "not a Sfumato server"),
        (b'data: {"error": {"message": "the model failed", "type": "server_error"}}\n\n', "the model failed"),
    ],
)
def test_truncated_stream_is_an_error(saying: Callable[..., Any], stream: bytes, message: str):
    url, _ = saying((200, {}, stream))
    with Client(url) as client, pytest.raises((UnreachableError, ServerError), match=message):
        list(client.stream("hi"))


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ConfigError, match=r"pip install 'sfumato\[client\]'"):
        Client()


def test_exports():
    assert (sfumato.Client, sfumato.AsyncClient) == (Client, AsyncClient)
    assert issubclass(sfumato.StaleRevisionError, sfumato.ServerError)
