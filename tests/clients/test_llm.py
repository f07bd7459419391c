"""`llm` with models in its process: what the library answers, streamed, with schemas, one after the other."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from sfumato.engine.model import TextModel
from sfumato.errors import RequestError

# Read when `llm` is imported: of plugins that are installed none is loaded, and ours is registered below.
os.environ["LLM_LOAD_PLUGINS"] = ""
pytest.importorskip("llm", reason="a client: make clients")

import llm
from click.testing import CliRunner
from llm.cli import cli
from llm.plugins import pm

from sfumato.integrations import llm_plugin

EXPRESSION = "answer, then derive: 81*(2/3)^2+sqrt(9)"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


@pytest.fixture(autouse=True)
def plugin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    pm.register(llm_plugin)
    yield
    pm.unregister(llm_plugin)


@pytest.fixture(scope="module")
def tiny() -> TextModel:
    return sfumato.load("tiny")


def test_models_are_listed_without_mend():
    names = {each.model.model_id for each in llm.get_models_with_aliases()}
    assert {"sfumato/tiny", "sfumato/tiny-twin"} <= names
    assert "sfumato/mend" not in names


def test_answer_equals_library_answer(tiny: TextModel):
    model = llm.get_model("sfumato/tiny")
    expected = tiny.generate(EXPRESSION, seed=3, steps=4)
    response = model.prompt(EXPRESSION, seed=3, steps=4)
    assert response.text() == expected.text
    assert response.usage().output == expected.usage.completion_tokens
    assert response.response_json["certainty"] == pytest.approx(expected.certainty, abs=1e-4)
    assert model.prompt(EXPRESSION, max_tokens=5).text() == tiny.generate(EXPRESSION, max_tokens=5).text


def test_canvases_stream_one_by_one(tiny: TextModel):
    prompt = "sums: " + ", ".join(["12+35", "81/3", "40-17", "9*9", "55+6", "12+13"] * 3)
    expected = tiny.generate(prompt)
    assert expected.usage.canvases > 1
    pieces = list(llm.get_model("sfumato/tiny").prompt(prompt))
    assert len(pieces) == expected.usage.canvases
    assert "".join(pieces) == expected.text


def test_an_answer_has_its_schema():
    text = llm.get_model("sfumato/tiny").prompt("json: Mia is 8.", schema=SCHEMA, max_tokens=24).text()
    assert isinstance(json.loads(text)["a"], int)


def test_answers_for_asyncio(tiny: TextModel):
    async def ask() -> list[str]:
        model = llm.get_async_model("sfumato/tiny")
        return await asyncio.gather(*(model.prompt(prompt).text() for prompt in ("12+5=", EXPRESSION)))

    expected = [tiny.generate(prompt).text for prompt in ("12+5=", EXPRESSION)]
    # Another loop does not mind the one before.
    assert asyncio.run(ask()) == asyncio.run(ask()) == expected


def test_model_with_kinds_sees_the_last_turn(tiny: TextModel):
    conversation = llm.get_model("sfumato/tiny").conversation()
    conversation.prompt("12+5=").text()
    assert conversation.prompt(EXPRESSION).text() == tiny.generate(EXPRESSION).text


def test_unsupported_options_are_refused_by_name():
    model = llm.get_model("sfumato/tiny")
    with pytest.raises(RequestError, match="steps is 0"):
        model.prompt(EXPRESSION, steps=0).text()
    with pytest.raises(RequestError, match="tiny was not trained on prompts like"):
        model.prompt("make it sing").text()


def test_command(tiny: TextModel):
    done = CliRunner().invoke(cli, ["-m", "sfumato/tiny", EXPRESSION, "-o", "seed", "3", "--no-log"])
    assert (done.exit_code, done.stdout) == (0, tiny.generate(EXPRESSION, seed=3).text + "\n")
    done = CliRunner().invoke(cli, ["-m", "sfumato/tiny", EXPRESSION, "-o", "steps", "0", "--no-log"])
    assert done.exit_code == 1
    assert "steps is 0; allowed" in done.stderr


def test_listing_models_imports_no_torch():
    code = """
import sys
import llm
from llm.plugins import pm
from sfumato.integrations import llm_plugin
pm.register(llm_plugin)
assert any(each.model.model_id == "sfumato/tiny" for each in llm.get_models_with_aliases())
print(sorted({"torch", "numba", "transformers"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
