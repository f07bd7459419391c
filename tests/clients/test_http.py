"""Clients of other servers against ours: the code that the documentation has for each, and what people do besides."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from documented import documented
from serving import EXPRESSION, Served

Run = Callable[..., str]
GAP = '{"name": "Mia", "animal": "parrot", "', '": 8}'
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
# Where `npm install ai @ai-sdk/openai-compatible zod` was run.
NODE_MODULES = Path(os.environ.get("SFUMATO_NODE_CLIENTS", "build/clients")) / "node_modules"

pytestmark = pytest.mark.slow


def client(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(package) is None, reason=f"needs {package}: make clients")


def expected(served: Served) -> tuple[str, str]:
    """An answer, and what stands in the gap."""
    return served.model.generate(EXPRESSION).text, served.model.infill(*GAP, max_tokens=8).text


@client("openai")
def test_openai(served: Served, run: Run):
    answer, gap = expected(served)
    [code] = documented("openai", served.url)
    printed = run(code)
    # Which drafts a reader gets depends on how fast it is.
    assert re.match(rf"{re.escape(served.model.generate(EXPRESSION, steps=24).text)}\n\d+ ", printed)
    assert printed.endswith(f"{answer!r}\n{answer}\n{gap}\n")


@client("openai")
def test_openai_structured_outputs(served: Served, run: Run):
    printed = run(f"""
import openai
from pydantic import BaseModel, ConfigDict

class Number(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int

client = openai.OpenAI(base_url="{served.url}/v1", api_key="none", timeout=600, max_retries=0)
messages = [{{"role": "user", "content": {EXPRESSION!r}}}]
chat = client.chat.completions
print(chat.parse(model="tiny", messages=messages, response_format=Number, max_tokens=24).choices[0].message.parsed.a)
tool = openai.pydantic_function_tool(Number, name="add")
with chat.stream(model="tiny", messages=messages, tools=[tool], tool_choice="required", max_tokens=64) as stream:
    kinds = [event.type for event in stream]
    message = stream.get_final_completion().choices[0].message
assert "tool_calls.function.arguments.done" in kinds, kinds
print(message.tool_calls[0].function.parsed_arguments.a)
kept = chat.create(model="tiny", messages=messages, tools=[tool], tool_choice="required", max_tokens=64)
again = [*messages, kept.choices[0].message.model_dump(), *messages]
print(chat.create(model="tiny", messages=again).choices[0].message.content)
print(client.models.retrieve("tiny").id)
""")
    first, second, rest = printed.split("\n", 2)
    assert first.lstrip("-").isdecimal()
    assert second.lstrip("-").isdecimal()
    assert rest == f"{expected(served)[0]}\ntiny\n"


@client("inceptionai")
def test_mercury(served: Served, run: Run):
    answer, gap = expected(served)
    [code] = documented("Mercury's SDK", served.url)
    printed = run(code)
    assert printed.startswith(f"{answer}\n''\n")
    assert printed.endswith(f"{answer!r}\nNone\n{gap}\n")
    assert len(printed.split("\n")) > 10


@client("inceptionai")
def test_mercury_extras(served: Served, run: Run):
    code = "def area(a, b):\n    return a + b"
    region = f"<|code_to_edit|>\n{code[:20]}<|cursor|>{code[20:]}\n<|/code_to_edit|>"
    message = f"<|current_file_content|>\ncurrent_file_path: a.py\n{region}\n<|/current_file_content|>"
    printed = run(f"""
import json
from inceptionai import Inception

client = Inception(base_url="{served.url}", api_key="none", timeout=600, max_retries=0)
messages = [{{"role": "user", "content": {EXPRESSION!r}}}]
form = {{"type": "json_schema", "json_schema": {{"name": "x", "strict": True, "schema": {SCHEMA!r}}}}}
quick = {{"reasoning_effort": "instant", "realtime": True, "temperature": 0.7}}
answer = client.chat.completions.create(model="tiny", messages=messages, response_format=form, max_tokens=24, **quick)
print(list(json.loads(answer.choices[0].message.content)))
file = [{{"role": "user", "content": {message!r}}}]
edit = client.edit.completions.create(model="tiny", messages=file, max_tokens=99)
print(edit.choices[0].message.content)
gap = {{"prompt": {GAP[0]!r}, "suffix": {GAP[1]!r}, "max_tokens": 8, "top_k": -1, "repetition_penalty": 1.0}}
stream = client.fim.completions.create(model="tiny", stream=True, **gap)
print("".join(chunk.choices[0].text for chunk in stream))
print([model.id for model in client.models.list().data])
""")
    edited = served.model.edit(code).text
    edit = "None" if edited == code else f"```\n{edited}\n```"
    assert printed == f"['a']\n{edit}\n{expected(served)[1]}\n['tiny']\n"


@client("litellm")
def test_litellm(served: Served, run: Run):
    [code] = documented("LiteLLM", served.url)
    assert run(code) == f"{served.model.generate(EXPRESSION, steps=24).text}\n{expected(served)[0]}"


@client("litellm")
def test_litellm_extras(served: Served, run: Run):
    printed = run(f"""
import json
import litellm

litellm.suppress_debug_info = True
server = {{"model": "openai/tiny", "api_base": "{served.url}/v1", "api_key": "none", "timeout": 600, "max_retries": 0}}
messages = [{{"role": "user", "content": {EXPRESSION!r}}}]
tool = {{"type": "function", "function": {{"name": "add", "parameters": {SCHEMA!r}}}}}
tools = {{"tools": [tool], "tool_choice": "required", "max_tokens": 64}}
whole = litellm.completion(messages=messages, **tools, **server).choices[0]
parts = list(litellm.completion(messages=messages, stream=True, **tools, **server))
built = litellm.stream_chunk_builder(parts).choices[0]
for choice in (whole, built):
    function = choice.message.tool_calls[0].function
    print(choice.finish_reason, function.name, list(json.loads(function.arguments)))
kept = [*messages, whole.message.model_dump(), *messages]
print(litellm.completion(messages=kept, **server).choices[0].message.content)
server["model"] = "text-completion-openai/tiny"
gap = litellm.text_completion(prompt={GAP[0]!r}, suffix={GAP[1]!r}, max_tokens=8, **server)
print(gap.choices[0].text)
server["model"] = "openai/tiny"
try:
    litellm.completion(messages=messages, presence_penalty=0.5, **server)
except litellm.BadRequestError as error:
    print("presence_penalty" in str(error))
""")
    called = "tool_calls add ['a']\n"
    answer, gap = expected(served)
    assert printed == f"{called}{called}{answer}\n{gap}\nTrue\n"


@pytest.mark.skipif(
    shutil.which("node") is None or not (NODE_MODULES / "ai").is_dir(), reason="needs the AI SDK: make clients"
)
def test_ai_sdk(served: Served, run: Run):
    [code] = documented("AI SDK", served.url)
    # Modules are looked for from where the script lies.
    whole, streamed, made, called = map(
        json.loads, run(code, suffix=".mjs", program="node", directory=NODE_MODULES.parent).splitlines()
    )
    assert whole == served.model.generate(EXPRESSION, steps=24).text
    assert streamed == expected(served)[0]
    assert isinstance(made["a"], int)
    [call] = called
    assert call["toolName"] == "add"
    assert isinstance(call["input"]["a"], int)
