"""Functions that a model may call, and the text of a call."""

from __future__ import annotations

import json
import re
from typing import Literal

from pydantic import Field, JsonValue

from sfumato.server.bodies import Body

CALL_HEAD = re.compile(r'\s*\{\s*"name"\s*:\s*"([\w.-]+)"\s*,\s*"arguments"\s*:\s*')
"""The beginning of a call's text, up to its arguments."""
_NO_PARAMETERS: dict[str, JsonValue] = {"type": "object", "additionalProperties": False}


class Function(Body):
    """A function that the model may call."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None
    strict: bool | None = None


class Tool(Body):
    """A tool."""

    type: Literal["function"]
    function: Function


class NamedFunction(Body):
    """The name of a function."""

    name: str


class NamedTool(Body):
    """A function that must be called."""

    type: Literal["function"]
    function: NamedFunction


class FunctionCall(Body):
    """A call by the model, as clients send it back."""

    name: str
    arguments: str


class ToolCall(Body):
    """One call of a function."""

    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


def schema_of_calls(functions: list[Function]) -> dict[str, object]:
    """The schema of a call of one of some functions."""
    calls: list[dict[str, object]] = []
    for number, function in enumerate(functions):
        pointer = "/properties/arguments" if len(functions) == 1 else f"/anyOf/{number}/properties/arguments"
        # Each is a schema of its own, with its own draft and references.
        parameters = {key: value for key, value in (function.parameters or _NO_PARAMETERS).items() if key != "$schema"}
        calls.append(
            {
                "type": "object",
                "properties": {"name": {"const": function.name}, "arguments": _moved(parameters, pointer)},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
        )
    return calls[0] if len(calls) == 1 else {"anyOf": calls}


def _moved(schema: JsonValue, pointer: str) -> JsonValue:
    """A schema moved to a path within another one."""
    if isinstance(schema, list):
        return [_moved(each, pointer) for each in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {key: _moved(value, pointer) for key, value in schema.items()}
    if isinstance(ref := schema.get("$ref"), str) and ref.startswith("#"):
        moved["$ref"] = f"#{pointer}{ref[1:]}"
    return moved


def parse_call(text: str, tools: list[Tool]) -> FunctionCall | None:
    """The function call that a text is, if it is nothing else."""
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        return None
    names = [tool.function.name for tool in tools]
    if not isinstance(call, dict) or call.keys() != {"name", "arguments"} or call["name"] not in names:
        return None
    head = CALL_HEAD.match(text)
    arguments = (
        json.dumps(call["arguments"]) if head is None else text[head.end() :].rstrip().removesuffix("}").rstrip()
    )
    return FunctionCall(name=call["name"], arguments=arguments)
