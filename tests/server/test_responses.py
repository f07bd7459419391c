"""OpenAI's responses, asked by OpenAI's client."""

from __future__ import annotations

import json
from collections.abc import Iterator

import openai
import pytest
from pydantic import BaseModel

from serving import EXPRESSION, Served

TOOL = {
    "type": "function",
    "name": "add",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 9}},
        "required": ["a"],
        "additionalProperties": False,
    },
}


class Pet(BaseModel):
    name: str
    age: int


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_response_equals_chat_answer(client: openai.OpenAI, served: Served):
    response = client.responses.create(model="tiny", input=EXPRESSION, extra_body={"seed": 3})
    chat = served.chat(seed=3).json()
    assert response.output_text == chat["choices"][0]["message"]["content"]
    assert response.status == "completed"
    assert response.usage.output_tokens == chat["usage"]["completion_tokens"]
    assert response.usage.total_tokens == chat["usage"]["total_tokens"]


def test_events_add_up_to_response(client: openai.OpenAI):
    kinds, text, drafts, numbers, logprobs = [], "", 0, [], list[object]()
    more = {"seed": 3, "draft": True, "include": ["message.output_text.logprobs"]}
    for event in client.responses.create(model="tiny", input=EXPRESSION, stream=True, extra_body=more):
        numbers.append(event.sequence_number)
        if event.type == "response.in_progress":
            drafts += hasattr(event, "sfumato")
        else:
            kinds.append(event.type)
        if event.type == "response.output_text.delta":
            text += event.delta
            logprobs += [each.token for each in event.logprobs]
        if event.type == "response.completed":
            assert event.response.output_text == text
            [content] = event.response.output[0].content  # type: ignore[union-attr]
            assert [each.token for each in content.logprobs or ()] == logprobs != []
    assert drafts > 1
    assert numbers == list(range(len(numbers)))
    assert [kind for kind, before in zip(kinds, [None, *kinds], strict=False) if kind != before] == [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]


def test_openai_client_accumulates_stream(client: openai.OpenAI):
    with client.responses.stream(model="tiny", input=EXPRESSION) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        assert stream.get_final_response().output_text == text != ""


def test_json_by_pydantic_model(client: openai.OpenAI):
    ask = "json: Rex is a dog. Rex is 8 years old. Rex is brown."
    response = client.responses.parse(model="tiny", input=ask, text_format=Pet)
    assert response.output_parsed.name


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "add"}])
def test_function_call(client: openai.OpenAI, stream: bool, choice: object):
    given = {"model": "tiny", "input": EXPRESSION, "tools": [TOOL], "tool_choice": choice}
    if stream:
        with client.responses.stream(**given) as events:  # type: ignore[arg-type]
            response = events.get_final_response()
    else:
        response = client.responses.create(**given)  # type: ignore[call-overload]
    [call] = response.output
    assert (call.type, call.name) == ("function_call", "add")
    assert call.id.startswith("fc_")
    assert call.call_id.startswith("call_")
    assert 0 <= json.loads(call.arguments)["a"] <= 9


def test_conversation_continues(client: openai.OpenAI):
    turns = [
        {"role": "user", "content": "What is 1+1?"},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "2"},
        {"role": "user", "content": [{"type": "input_text", "text": EXPRESSION}]},
    ]
    response = client.responses.create(model="tiny", input=turns)  # type: ignore[arg-type]
    [item] = response.output
    again = client.responses.create(model="tiny", input=[item.to_dict(), turns[-1]])  # type: ignore[list-item]
    assert again.status == "completed"


def test_logprobs_and_early_end(client: openai.OpenAI):
    response = client.responses.create(
        model="tiny", input=EXPRESSION, max_output_tokens=6, include=["message.output_text.logprobs"], top_logprobs=2
    )
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    [content] = response.output[0].content  # type: ignore[union-attr]
    assert "".join(each.token for each in content.logprobs) == response.output_text
    assert {len(each.top_logprobs) for each in content.logprobs} == {2}


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"store": True}, "store"),
        ({"input": []}, "input"),
        ({"input": [{"type": "reasoning", "summary": []}]}, "input"),
        ({"max_output_tokens": 0}, "max_tokens"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"text": {"format": {"type": "json_object", "schema": {}}}}, "has json_schema and type 'json_object'"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
    ],
)
def test_unsupported_fields_are_refused_by_name(served: Served, more: dict[str, object], param: str):
    answer = served.ask("/v1/responses", **{"input": EXPRESSION} | more)
    assert answer.status_code == 400, answer.text
    assert param in answer.json()["error"]["message"]
