"""`sfumato mcp` as its clients meet it: a program of tools on stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import sfumato
from sfumato.engine.model import TextModel

pytest.importorskip("mcp", reason="a client: make clients")

from mcp import Client, StdioServerParameters, stdio_client

from sfumato.integrations.mcp_server import make_server
from sfumato.mend.mender import load_mender
from sfumato.server.hosting import Host, parse_names

EXPRESSION = "answer, then derive: 81*(2/3)^2+sqrt(9)"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
AREA = "def area(a, b):\n    return a + b\n"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tiny() -> TextModel:
    return sfumato.load("tiny")


def asked(use: Callable[[Client], Awaitable[Any]], model: str = "tiny", *, program: bool = False) -> Any:
    """What a client makes of a server: of `sfumato mcp` as a program, or of its server in this process."""

    async def run() -> Any:
        if program:
            server: Any = stdio_client(
                StdioServerParameters(
                    command=sys.executable, args=["-m", "sfumato", "mcp", model], env=dict(os.environ)
                )
            )
        else:
            server = make_server(Host(parse_names([model])), lambda: load_mender("mend"), sfumato.__version__)
        async with Client(server) as client:
            return await use(client)

    return asyncio.run(run())


def called(*calls: tuple[str, dict[str, Any]], program: bool = False) -> list[Any]:
    """Results of some calls: what is structured, or the text of an error."""

    async def use(client: Client) -> list[Any]:
        results = [await client.call_tool(name, arguments) for name, arguments in calls]
        return [each.content[0].text if each.is_error else each.structured_content for each in results]

    return asked(use, program=program)


def test_tools_have_schemas():
    async def use(client: Client) -> Any:
        return client.instructions, (await client.list_tools()).tools

    instructions, tools = asked(use)
    assert "81*(2/3)^2+sqrt(9)" in instructions
    assert [tool.name for tool in tools] == ["generate", "infill", "edit", "decide", "mend"]
    for tool in tools:
        assert tool.description
        assert tool.output_schema
        assert tool.annotations.read_only_hint
        assert tool.input_schema["required"]


def test_unknown_arguments_are_refused():
    [said] = called(("edit", {"text": AREA, "spans": [[0, 3]]}))
    assert "spans" in said
    assert "not permitted" in said


def test_autoregressive_model_has_no_infill():
    async def use(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    assert asked(use, "tiny-twin") == ["generate", "decide", "mend"]


def test_results_equal_library_results(tiny: TextModel):
    plain, formed, filled, limited, edited, decided, mended = called(
        ("generate", {"prompt": EXPRESSION, "seed": 3}),
        ("generate", {"prompt": "json: Mia is 8.", "json_schema": SCHEMA, "max_tokens": 24}),
        ("infill", {"prefix": AREA[:28], "suffix": AREA[28:], "max_tokens": 8}),
        ("infill", {"prefix": "a = ", "suffix": "\n", "regex": "[0-9]{3}", "json_schema": {"type": "integer"}}),
        ("edit", {"text": AREA, "lines": [[2, 2]], "instruction": "fix the bug:", "min_certainty": -10000}),
        ("decide", {"text": "The door is open.", "question": "Is it?", "choices": ["yes", "no", "maybe"]}),
        ("mend", {"source": "def f(a:\n    return a\n"}),
        program=True,
    )
    expected = tiny.generate(EXPRESSION, seed=3)
    assert (plain["text"], plain["finish_reason"]) == (expected.text, "stop")
    assert isinstance(json.loads(formed["text"])["a"], int)
    assert filled["text"] == tiny.infill(AREA[:28], AREA[28:], max_tokens=8).text
    assert re.fullmatch("[0-9]{3}", limited["text"])
    start = AREA.index("    return")
    whole = tiny.edit(AREA, spans=[(start, len(AREA) - 1)], instruction="fix the bug:", min_certainty=-10000)
    assert edited["text"] == whole.text != AREA
    assert edited["diff"].startswith("--- text\n+++ text\n@@ -1,2 +1,2 @@\n def area(a, b):\n-    return a + b\n+")
    assert sum(decided["probabilities"].values()) == pytest.approx(1, abs=0.001)
    assert decided["probabilities"][decided["choice"]] == max(decided["probabilities"].values())
    assert 0 <= decided["confidence"] <= 1
    assert (mended["text"], mended["reason"]) == ("def f(a):\n    return a\n", "")


def test_errors_name_what_is_allowed():
    messages = called(
        ("generate", {"prompt": EXPRESSION, "steps": 0}),
        ("generate", {"prompt": "make it sing"}),
        ("generate", {"seed": 1}),
        ("edit", {"text": AREA, "lines": [[2, 3]]}),
        ("edit", {"text": "a\n\nb\n", "lines": [[2, 2]]}),
        ("decide", {"text": "x", "question": "?", "choices": ["yes"]}),
        # And none of them ends the server.
        ("generate", {"prompt": "12+5="}),
    )
    for message, part in zip(
        messages,
        [
            "steps is 0; allowed",
            "tiny was not trained on prompts like",
            "Field required",
            "lines has [2, 3]; allowed: [first, last], from 1 to 2",
            "which is empty",
            "choices has 1 options; allowed: 2",
        ],
        strict=False,
    ):
        assert part in message
    assert messages[-1]["text"] == "17"


def test_unrepairable_source_is_unchanged():
    [mended] = called(("mend", {"source": "x = 1\n"}))
    assert (mended["text"], mended["diff"]) == ("x = 1\n", "")
    assert "it parses" in mended["reason"]
