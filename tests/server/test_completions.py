"""Chat, text and gaps over HTTP are what the library answers; what cannot be kept is refused by name."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import openai
import pytest

from serving import EXPRESSION, Served
from sfumato.errors import RequestError
from sfumato.server.failures import ApiError

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


@pytest.fixture
def client(served: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0, timeout=600)


def events_of(response: Any) -> list[dict[str, Any]]:
    """What a stream says, up to its mark of the end."""
    lines = [line.removeprefix("data: ") for line in response.text.split("\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_chat_equals_library_answer(served: Served):
    expected = served.model.generate(EXPRESSION, seed=3)
    answer = served.chat(seed=3, model="tiny").json()
    [choice] = answer["choices"]
    assert choice["message"]["content"] == expected.text
    assert choice["finish_reason"] == "stop"
    usage = answer["usage"]
    assert usage["completion_tokens"] == expected.usage.completion_tokens
    assert usage["denoising_steps"] == expected.usage.denoising_steps
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_stream_deltas_add_up_to_answer(served: Served):
    """Over random requests, drafts and several answers among them."""
    draw = random.Random(7)
    for i in range(15):
        body: dict[str, Any] = {"seed": i, "max_tokens": draw.choice([3, 17, 48]), "logprobs": i % 2 == 0}
        if draw.random() < 0.3:
            body["n"] = draw.choice([2, 3])
        if draw.random() < 0.3:
            body["stop"] = draw.choice(["\n", "=", ["36", "x"]])
        diffusion: dict[str, Any] = {}
        if draw.random() < 0.5:
            diffusion |= {"canvas_length": draw.choice([4, 8, 16])}
        if draw.random() < 0.3 and "stop" not in body:
            diffusion |= {"revisit": 1, "canvas_length": 8}
        body["diffusion"] = diffusion | {"steps": draw.choice([2, 5, 20])}
        whole = served.chat(**body).json()
        stream = events_of(served.chat(**body, stream=True, draft=draw.random() < 0.5))
        texts = [""] * body.get("n", 1)
        logprobs: list[list[Any]] = [[] for _ in texts]
        reasons: list[Any] = [None] * body.get("n", 1)
        for event in stream:
            [choice] = event["choices"]
            texts[choice["index"]] += choice["delta"].get("content", "")
            logprobs[choice["index"]] += (choice.get("logprobs") or {"content": []})["content"]
            reasons[choice["index"]] = choice["finish_reason"] or reasons[choice["index"]]
        assert texts == [choice["message"]["content"] for choice in whole["choices"]], body
        assert reasons == [choice["finish_reason"] for choice in whole["choices"]], body
        assert logprobs == [(choice["logprobs"] or {"content": []})["content"] for choice in whole["choices"]], body
        assert any(logprobs) == body["logprobs"]


@pytest.mark.parametrize("logprobs", [0, 2])
def test_text_streams_have_logprobs(served: Served, logprobs: int):
    body: dict[str, Any] = {"prompt": EXPRESSION, "logprobs": logprobs, "n": 2}
    body |= {"max_tokens": 24, "diffusion": {"canvas_length": 8, "regex": "[0-9]{12,20}"}}
    whole = served.ask("/v1/completions", **body).json()
    stream = [event["choices"][0] for event in events_of(served.ask("/v1/completions", **body, stream=True))]
    assert len(stream) > 4
    for choice in whole["choices"]:
        parts = [part["logprobs"] for part in stream if part["index"] == choice["index"] and part["logprobs"]]
        for name, expected in choice["logprobs"].items():
            assert [each for part in parts for each in part[name]] == expected


def test_drafts_do_not_disturb_appending_clients(served: Served):
    stream = events_of(served.chat(stream=True, draft=True, stream_options={"include_usage": True}))
    frames = [event["sfumato"] for event in stream if event.get("sfumato", {}).get("type") == "diffusion_frame"]
    assert frames
    for event in stream:
        if "sfumato" in event and event["choices"] and event["choices"][0]["finish_reason"] is None:
            assert event["choices"][0]["delta"] == {}
    assert [frame["seq"] for frame in frames] == list(range(len(frames)))
    for frame in frames:
        assert "".join(frame["pieces"]) == frame["text"]
        assert len(frame["state"]) == len(frame["pieces"]) == len(frame["confidence"])
    assert stream[-1]["usage"]["completion_tokens"] > 0


def test_diffusing_deltas_are_whole_drafts(served: Served):
    stream = events_of(served.chat(stream=True, diffusing=True))
    texts = [event["choices"][0]["delta"]["content"] for event in stream if event["choices"][0]["delta"].get("content")]
    assert texts[-1] == served.chat().json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"frequency_penalty": 0.5}, "frequency_penalty"),
        ({"logit_bias": {"five": 2}}, None),
        ({"logit_bias": {"5": 101}}, "logit_bias"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"audio": {}}, "audio"),
        ({"n": 0}, "n"),
        ({"n": 10_000}, "n"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"diffusion": {"steps": 0}}, "steps"),
        ({"diffusion": {"pim": 1}}, "diffusion.pim"),
        ({"diffusion": {"pin": [[0, 1]]}}, "pin"),
        ({"model": "gpt-4"}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, None),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"response_format": {"type": "text", "regex": "a"}}, "regex"),
        ({"response_format": {"type": "regex", "regex": "("}}, None),
        ({"stream_options": {}}, "stream_options"),
        ({"seed": -1}, "seed"),
        ({"messages": [{"role": "user", "content": "make it sing"}]}, None),
        ({"max_completion_tokens": 5, "max_tokens": 6}, "max_tokens"),
    ],
)
def test_unsupported_fields_are_refused_by_name(served: Served, body: dict[str, Any], param: str | None):
    response = served.ask("/v1/chat/completions", **{"messages": [{"role": "user", "content": EXPRESSION}]} | body)
    error = response.json()["error"]
    assert response.status_code == (404 if "model" in body else 400), error
    assert error["message"]
    if param is not None:
        assert error["param"] == param or param in error["message"]
    assert served.chat().status_code == 200


@pytest.mark.parametrize(
    ("diffusion", "param"),
    [
        ({"pin": [[0, 1]]}, "pin"),
        ({"strength": 0.5}, "strength"),
        ({"sampler": "best"}, "sampler"),
        ({"settings": {"reuse": "all"}}, "reuse"),
        ({"settings": {"speed": 1}}, "settings"),
        ({"sampler": "remdm"}, "sampler"),
        ({"regex": "("}, "regex"),
        ({"grammar": "root ::= ("}, "grammar"),
    ],
    ids=str,
)
def test_errors_of_diffusion_options_name_their_parameter(served: Served, diffusion: dict[str, Any], param: str | None):
    error = served.chat(diffusion=diffusion).json()["error"]
    assert error["param"] == param, error["message"]


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("tiny is autoregressive and cannot see what follows a position; it cannot infill", None),
        ("tiny has no chat template and takes no instructions; leave it out", None),
        ("tiny has no length head", None),
        ("block_length 4 depends on the positions that still hold the mask; allowed: none", "block_length"),
        ("stop would cut a text that must match regex as a whole; allowed: one of them", "stop"),
        ("prompt and messages are given; allowed: one of them", "prompt"),
    ],
)
def test_parameter_of_a_message(message: str, param: str | None):
    assert ApiError.of(RequestError(message)).param == param


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"frequency_penalty": 1}, "frequency_penalty: 1 is not supported; allowed: 0"),
        ({"presence_penalty": 0.5}, "presence_penalty: 0.5 is not supported; allowed: 0"),
        ({"n": "2"}, 'n: it is "2"; allowed: an integer'),
        ({"top_logprobs": 99}, "top_logprobs: it is 99; allowed: less than or equal to 20"),
        ({"stop": 5}, "stop: it is 5; allowed: a string or a list"),
        ({"diffusion": 3}, "diffusion: it is 3; allowed: a JSON object"),
        ({"diffusion": {"pin": [[1, "a"]]}}, 'diffusion.pin.0.1: it is "a"; allowed: an integer'),
        (
            {"messages": [{"role": "user", "content": [{"type": "zzz"}]}]},
            "messages.0.content.0.type: \"zzz\" is not supported; allowed: 'text', 'input_text' or 'output_text'",
        ),
        ({"diffusing": True}, "diffusing is given; allowed: only with stream"),
        ({"diffusion": {"sampler": "antigravity:X"}}, "unknown sampler 'antigravity:X'; allowed: ancestral, "),
        ({"steps": 4}, "steps: unknown field; allowed: diffusion.steps"),
        ({"max_token": 4}, "max_token: unknown field; did you mean max_tokens?"),
        ({"diffusion": {"stps": 4}}, "diffusion.stps: unknown field; did you mean steps?"),
        (
            {"messages": [{"role": "user", "contents": "a"}]},
            "messages.0.contents: unknown field; did you mean content?",
        ),
        ({"store": True}, "store: true is not supported; allowed: false"),
        ({"messages": []}, "messages: it has 0 items; allowed: 1 or more"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a"}}]}]},
            "messages.0.content.0.image_url: unknown field; allowed: parts of type text",
        ),
        (
            {"messages": [{"role": "user", "content": "1+1="}, {"role": "assistant", "content": "1+1="}]},
            "the last message has the role 'assistant'; allowed: 'user', which tiny answers",
        ),
        ({"draft_steps": 1}, "draft_steps: unknown field; allowed: diffusion.settings.draft_steps"),
        (
            {"diffusion": {"draft_steps": 1}},
            "diffusion.draft_steps: unknown field; allowed: diffusion.settings.draft_steps",
        ),
        (
            {"reasoning_effort": "low", "diffusion": {"steps": 4}},
            "reasoning_effort is given; allowed: only without steps, which it sets",
        ),
        (
            {
                "tools": [{"type": "function", "function": {"name": "add"}}],
                "tool_choice": "required",
                "response_format": {"type": "json_object"},
            },
            "response_format is given; allowed: only where no tool must be called",
        ),
        (
            {"diffusion": {"regex": "a{600}"}},
            "the shortest answer that fits the constraint has 600 tokens and max_tokens is 128; allowed: up to ",
        ),
        ({"service_tier": "flex"}, "service_tier: \"flex\" is not supported; allowed: 'auto' or 'default'"),
        (
            {"messages": [{"role": "assistant", "content": "a", "audio": {"id": "b"}}]},
            'messages.0.audio: {"id": "b"} is not supported; allowed: null',
        ),
    ],
)
def test_a_refusal_says_what_is_allowed(served: Served, body: dict[str, Any], message: str):
    response = served.ask("/v1/chat/completions", **{"messages": [{"role": "user", "content": EXPRESSION}]} | body)
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith(message)


def test_settings_of_a_canvas_are_named_where_they_stand(served: Served):
    error = served.ask("/v1/canvas", prompt=EXPRESSION, draft_steps=1).json()["error"]
    assert error["message"] == "draft_steps: unknown field; allowed: settings.draft_steps"


def test_text_completions_of_task_models_read_prompts_as_messages(served: Served):
    def text(**more: Any) -> Any:
        return served.ask("/v1/completions", prompt=EXPRESSION, **more).json()["choices"][0]["text"]

    assert text() == served.chat().json()["choices"][0]["message"]["content"]
    assert text(diffusion={"check_prompt": False}) != text()
    refused = served.ask("/v1/completions", prompt="Write a poem")
    assert refused.status_code == 400
    assert "tiny was not trained on prompts like 'Write a poem'" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "given", "near"),
    [
        ("/v1/canvas", {"prompt": "1+1", "canvas_lenght": 8}, "canvas_length"),
        ("/v1/responses", {"input": "1+1", "max_output_token": 8}, "max_output_tokens"),
        ("/v1/decisions", {"state": "a", "question": []}, "questions"),
        ("/v1/fim/completions", {"prompt": "1", "sufix": "2"}, "suffix"),
    ],
)
def test_an_unknown_field_is_compared_with_those_of_its_endpoint(
    served: Served, path: str, given: dict[str, Any], near: str
):
    error = served.ask(path, **given).json()["error"]
    assert error["message"].endswith(f"unknown field; did you mean {near}?"), error


def test_unknown_paths_and_methods_are_named(served: Served):
    pages = "what /openapi.json lists, and the pages that / leads to"
    for method, path, status, allowed in (
        ("POST", "/v1/embeddings", 404, pages),
        ("GET", "/v1/chat/completions", 405, "POST"),
        ("PUT", "/v1/canvas/x", 405, "DELETE, GET"),
    ):
        response = served.http.request(method, path)
        assert response.status_code == status
        assert response.headers.get("allow") == (None if status == 404 else allowed)
        assert response.json()["error"]["message"] == f"there is no {method} {path}; allowed: {allowed}"


def test_a_body_that_is_no_object_is_named(served: Served):
    for body in ([], "x", 5):
        message = served.http.post("/v1/chat/completions", json=body).json()["error"]["message"]
        assert message == f"the body: it is {json.dumps(body)}; allowed: a JSON object"


def test_head_answers_like_get_without_a_body(served: Served):
    for path, status in (("/health", 200), ("/v1/models", 200), ("/v1/models/nothing", 404)):
        response = served.http.head(path)
        assert (response.status_code, response.content) == (status, b"")


def test_a_prompt_of_millions_of_characters_is_refused_unread(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sfumato.engine.model.encode_prompt", None)
    response = served.ask("/v1/chat/completions", messages=[{"role": "user", "content": "x" * 1_000_000}])
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "the prompt has 1,000,000 characters; allowed: at most 102,400"


def test_browsers_get_refusals_as_pages(served: Served):
    """As chromium asks for a page; scripts and other clients get JSON."""
    accept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"
    page = served.http.get("/<b>nowhere", headers={"Accept": accept})
    assert page.status_code == 404
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "there is no GET /&lt;b&gt;nowhere; allowed: what" in page.text
    for method, others in (("GET", "*/*"), ("GET", "application/json, text/html"), ("POST", accept)):
        assert served.http.request(method, "/nowhere", headers={"Accept": others}).json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "param", "allowed"),
    [
        ("GET", "/v1/canvas/c?versoin=2", "versoin", "nothing"),
        ("GET", "/v1/canvas/c/events?format=sfumato&afer=2", "afer", "after, format"),
        ("POST", "/v1/canvas?background=", "background", "nothing"),
        ("POST", "/v1/audio/transcriptions?language=en", "language", "nothing"),
        ("DELETE", "/v1/canvas/c?api-version=2&rev=1", "rev", "nothing"),
    ],
)
def test_unknown_query_parameters_are_refused(served: Served, method: str, path: str, param: str, allowed: str):
    response = served.http.request(method, path)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["message"] == f"{param} is given in the query; allowed: {allowed}"
    assert error["param"] == param


def test_versions_of_clients_are_allowed_in_queries(served: Served):
    azure = served.http.post("/v1/completions?api-version=2024-10-21", json={"prompt": "1+1=", "max_tokens": 1})
    assert azure.status_code == 200
    assert served.http.get("/v1/models?client_version=0.146.0").status_code == 200
    assert served.http.get("/metrics?name[]=up").status_code == 200


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/fim/completions"])
def test_stream_options_are_for_streams(served: Served, path: str):
    response = served.ask(path, prompt="1+1=", stream_options={"include_usage": True})
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "stream_options is given; allowed: only with stream"


@pytest.mark.parametrize("content", [b"{", b"[]", b"null", b'{"messages": NaN}', b"\xff", b'{"messages": "x"}'])
def test_invalid_bodies_are_refused(served: Served, content: bytes):
    response = served.http.post("/v1/chat/completions", content=content, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_constrained_answers(served: Served):
    formats: list[dict[str, Any]] = [
        {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}},
        {"type": "regex", "regex": "[ab]{3}"},
        {"type": "choices", "choices": ["yes", "no"]},
        {"type": "json_object"},
        {"type": "grammar", "grammar": 'root ::= "(" root ")" | "x"'},
    ]
    texts = [
        served.chat(response_format=each, max_tokens=24).json()["choices"][0]["message"]["content"] for each in formats
    ]
    assert isinstance(json.loads(texts[0])["a"], int)
    assert set(texts[1]) <= {"a", "b"}
    assert texts[2] in ("yes", "no")
    assert isinstance(json.loads(texts[3]), dict)
    assert re.fullmatch(r"(\(*)x(\)*)", texts[4])
    assert texts[4].count("(") == texts[4].count(")")


def test_finish_reasons(served: Served):
    assert served.chat(max_tokens=2).json()["choices"][0]["finish_reason"] == "length"
    late = served.chat(diffusion={"deadline_ms": 1, "steps": 1000, "settings": {"adaptive": False}})
    assert late.json()["choices"][0]["finish_reason"] == "length"
    assert late.json()["sfumato"]["finish_reasons"] == ["deadline"]


def test_openai_client(client: openai.OpenAI, served: Served):
    messages: Any = [{"role": "user", "content": EXPRESSION}]
    expected = served.model.generate(EXPRESSION).text
    answer = client.chat.completions.create(model="tiny", messages=messages, logprobs=True, reasoning_effort="medium")
    assert answer.choices[0].message.content == expected
    assert answer.choices[0].logprobs is not None
    spelled = b"".join(bytes(each.bytes or ()) for each in answer.choices[0].logprobs.content or ())
    assert spelled.decode().startswith(expected)
    with client.chat.completions.stream(model="tiny", messages=messages) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.content == expected
    naive = client.chat.completions.create(model="tiny", messages=messages, stream=True, extra_body={"draft": True})
    assert "".join(chunk.choices[0].delta.content or "" for chunk in naive) == expected
    tool: Any = {"type": "function", "function": {"name": "add", "parameters": SCHEMA}}
    call = client.chat.completions.create(
        model="tiny", messages=messages, tools=[tool], tool_choice="required", max_tokens=48
    ).choices[0]
    assert call.finish_reason == "tool_calls"
    [made] = call.message.tool_calls or []
    assert made.type == "function"
    assert made.function.name == "add"
    assert isinstance(json.loads(made.function.arguments)["a"], int)
    assert [model.id for model in client.models.list()] == ["tiny"]
    with pytest.raises(openai.BadRequestError, match="presence_penalty"):
        client.chat.completions.create(model="tiny", messages=messages, presence_penalty=1)
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="tinny", messages=messages)
    text = client.completions.create(model="tiny", prompt=["1+1=", "2+2="], max_tokens=4)
    assert len(text.choices) == 2


def test_gaps(served: Served):
    prefix, suffix = "def area(a, b):\n    return a", " b\n"
    expected = served.model.infill(prefix, suffix, max_tokens=8)
    for path in ("/v1/completions", "/v1/fim/completions"):
        answer = served.ask(path, prompt=prefix, suffix=suffix, max_tokens=8).json()
        assert answer["choices"][0]["text"] == expected.text
        assert answer["usage"]["completion_tokens"] == len(expected.tokens)
        stream = served.ask(path, prompt=prefix, suffix=suffix, max_tokens=8, stream=True)
        assert "".join(event["choices"][0]["text"] for event in events_of(stream)) == expected.text


def test_metrics(served: Served):
    served.chat()
    text = served.http.get("/metrics").text
    assert 'sfumato_requests_total{method="POST",route="/v1/chat/completions",status="200"}' in text
    assert 'sfumato_completion_tokens_total{model="tiny"}' in text
    assert served.http.get("/health").json() == {"status": "ok"}
    assert served.http.get("/ready").json() == {"ready": True}


@pytest.mark.parametrize("canvas_length", [4, 64])
def test_tool_calls_stream_as_committed(client: openai.OpenAI, canvas_length: int):
    schema = SCHEMA | {"properties": {"a": {"type": "string", "minLength": 12, "maxLength": 20}}}
    tool = {"type": "function", "function": {"name": "add", "parameters": schema, "strict": True}}
    asked: Any = {
        "model": "tiny",
        "messages": [{"role": "user", "content": EXPRESSION}],
        "tools": [tool],
        "tool_choice": "required",
        "max_tokens": 64,
        "extra_body": {"diffusion": {"canvas_length": canvas_length}},
    }
    [whole] = client.chat.completions.create(**asked).choices[0].message.tool_calls or []
    assert whole.type == "function"
    with client.chat.completions.stream(**asked) as stream:
        deltas = [event for event in stream if event.type == "tool_calls.function.arguments.delta"]
        [choice] = stream.get_final_completion().choices
    [made] = choice.message.tool_calls or []
    assert choice.finish_reason == "tool_calls"
    assert (made.function.name, made.function.arguments) == ("add", whole.function.arguments)
    assert len(json.loads(made.function.arguments)["a"]) >= 12
    assert "".join(delta.arguments_delta for delta in deltas) == whole.function.arguments
    assert len(deltas) > (2 if canvas_length == 4 else 0)
    # One that may be called is, or is not, once all of the answer is there.
    free = client.chat.completions.create(**asked | {"tool_choice": "auto"}, stream=True)
    text = client.chat.completions.create(**asked | {"tool_choice": "auto"}).choices[0].message.content
    assert "".join(chunk.choices[0].delta.content or "" for chunk in free) == text
