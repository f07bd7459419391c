"""What clients send of themselves: schemas of tools as their libraries make them, and answers as they kept them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from serving import EXPRESSION, Served
from sfumato.server.protocol import CompletionRequest
from sfumato.server.tools import Function, Tool, parse_call

POINT = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$defs": {"side": {"type": "integer", "minimum": 0, "maximum": 9}},
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/side"}, "y": {"$ref": "#/properties/x"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}


def tool(name: str, parameters: dict[str, Any] | None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name} | ({"parameters": parameters} if parameters else {})}


@pytest.mark.parametrize("others", [[], [tool("stop", None)], [tool("stop", None), tool("turn", POINT)]], ids=len)
def test_tool_schemas_resolve_their_own_references(served: Served, others: list[Any]):
    for seed in range(3):
        body: dict[str, Any] = {"tools": [*others, tool("go", POINT)], "tool_choice": "required", "seed": seed}
        [choice] = served.chat(**body, max_tokens=64).json()["choices"]
        assert choice["finish_reason"] == "tool_calls"
        [call] = choice["message"]["tool_calls"]
        arguments = json.loads(call["function"]["arguments"])
        if call["function"]["name"] != "stop":
            assert arguments.keys() == {"x", "y"}
            assert all(0 <= side <= 9 for side in arguments.values())
        else:
            assert arguments == {}


def test_answers_can_be_sent_back_as_messages(served: Served):
    kept = {"annotations": [], "audio": None, "function_call": None, "provider_specific_fields": {"refusal": None}}
    call = {"id": "call_1", "type": "function", "function": {"name": "go", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": EXPRESSION},
        {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call], **kept},
        {"role": "user", "content": EXPRESSION},
    ]
    answer = served.ask("/v1/chat/completions", messages=messages)
    assert answer.json()["choices"][0]["message"]["content"] == served.model.generate(EXPRESSION).text


def test_mercury_fields(served: Served):
    expected = served.model.generate(EXPRESSION).text
    quick = served.chat(realtime=True, top_k=-1, reasoning_summary=False)
    assert quick.json()["choices"][0]["message"]["content"] == expected
    assert served.chat(reasoning_summary=True).json()["error"]["param"] == "reasoning_summary"
    gap: dict[str, Any] = {"prompt": "def area(a, b):\n    return a", "suffix": " b\n", "max_tokens": 8}
    assert served.ask("/v1/fim/completions", **gap, repetition_penalty=1.0).status_code == 200
    refused = served.ask("/v1/fim/completions", **gap, repetition_penalty=1.5)
    assert refused.json()["error"]["param"] == "repetition_penalty"


def test_fim_prompt_of_continue(served: Served):
    prefix, suffix = "def area(a, b):\n    return a", " b\n"
    stop = ["<|endoftext|>", "\n\n", "\n \n"]
    body = {
        "prompt": prefix,
        "suffix": suffix,
        "max_tokens": 150,
        "temperature": 0.0,
        "presence_penalty": 0,
        "stop": stop,
    }
    stream = served.ask("/v1/completions", model="tiny", stream=True, **body)
    lines = [line.removeprefix("data: ") for line in stream.text.split("\n") if line.startswith("data: {")]
    expected = served.model.infill(prefix, suffix, max_tokens=150, temperature=0.0, stop=stop)
    assert "".join(json.loads(line)["choices"][0]["text"] for line in lines) == expected.text


def test_gaps_and_edits_are_constrained(served: Served):
    names, numbers = {"choices": ["one", "two"]}, {"schema": {"type": "integer", "minimum": 10, "maximum": 99}}
    for diffusion, allows in ((names, ("one", "two")), (numbers, [str(number) for number in range(10, 100)])):
        gap = {"prompt": "x = ", "suffix": "\n", "max_tokens": 8, "diffusion": diffusion}
        assert served.ask("/v1/fim/completions", **gap).json()["choices"][0]["text"] in allows
        canvas = served.ask("/v1/canvas", text="x = 5\n", spans=[[4, 5]], **diffusion).json()
        assert canvas["text"][4:-1] in allows
        end = len(canvas["text"]) - 1
        edit = {"base_rev": canvas["rev"], "spans": [[4, end]], "regex": "[a-c]{2}"}
        edited = served.ask(f"/v1/canvas/{canvas['id']}/edits", **edit).json()["text"]
        assert re.fullmatch("x = [a-c]{2}\n", edited)
        by_hand = {"base_rev": 2, "replace": [{"start": 0, "end": 1, "text": "y"}], "ban": ["a"]}
        refused = served.ask(f"/v1/canvas/{canvas['id']}/edits", **by_hand)
        assert refused.status_code == 400
        assert refused.json()["error"]["param"] == "ban"


def test_fim_marks_give_a_suffix(served: Served):
    """As Zed asks for a prediction."""
    prefix, suffix = "def area(a, b):\n    return a", " b\n"
    marks = ["<|endoftext|>", "<|file_separator|>", "<|fim_pad|>", "<fim_middle>", "<PRE>", "[SUFFIX]"]
    prompt = f"<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>"
    answer = served.ask("/v1/completions", model="tiny", prompt=prompt, max_tokens=8, stop=marks)
    assert answer.json()["choices"][0]["text"] == served.model.infill(prefix, suffix, max_tokens=8).text
    # Marks that mark nothing.
    prompt = "<|fim_prefix|>" + "<|fim_suffix|>" * 100_000
    assert CompletionRequest(prompt=prompt).prompt == prompt


@pytest.mark.parametrize("text", ['{"name": [], "arguments": {}}', "[" * 100_000, '{"name": "stop", "arguments": {}}'])
def test_answers_that_are_no_call(text: str):
    assert parse_call(text, [Tool(type="function", function=Function(name="go"))]) is None
