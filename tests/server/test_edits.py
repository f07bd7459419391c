"""Mercury's next edit: its region, wherever it stands."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any

import pytest

from serving import Served
from sfumato.text.tokenizer import Tokenizer


@pytest.mark.parametrize("inside", [True, False])
def test_region_in_either_nesting(served: Served, inside: bool):
    code = "def area(a, b):\n    return a + b\n"
    region = f"<|code_to_edit|>\n{code[:20]}<|cursor|>{code[20:].rstrip()}\n<|/code_to_edit|>"
    file = "<|current_file_content|>\ncurrent_file_path: a.py\n{}\n<|/current_file_content|>"
    message = file.format(f"x = 1\n{region}") if inside else file.format("x = 1") + region
    answer = served.ask("/v1/edit/completions", messages=[{"role": "user", "content": message}]).json()
    assert answer["object"] == "edit.completion"
    content = answer["choices"][0]["message"]["content"]
    expected = served.model.edit(code.rstrip())
    assert content == ("None" if expected.text == code.rstrip() else f"```\n{expected.text}\n```")
    refused = served.ask("/v1/edit/completions", messages=[{"role": "user", "content": "hello"}])
    assert refused.status_code == 400


def test_long_edits_do_not_delay_others(served: Served):
    """More of them than a loop has threads for all else."""
    slow = {"text": "1+1=3", "spans": [[4, 5]], "steps": 1000, "settings": {"adaptive": False}, "background": True}
    canvases = [served.ask("/v1/canvas", **slow).json()["id"] for _ in range(min(32, (os.cpu_count() or 1) + 4))]
    engine, end = served.host.loaded["tiny"].answering.engine, time.monotonic() + 600
    while engine.num_running < len(canvases):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert served.chat(max_tokens=1, diffusion={"steps": 1}).status_code == 200
    assert {served.http.get(f"/v1/canvas/{each}").json()["status"] for each in canvases} == {"running"}
    with served.cancelling(len(canvases)):
        for each in canvases:
            assert served.http.delete(f"/v1/canvas/{each}").status_code == 200


CODE = '''class Calculator:
    """A simple calculator class."""
    def __init__(self):
        self.history = []

    def add(self, a, b):
        """Adds two numbers."""
        result = a + b\t
        return result

rate = 3\r
'''


def apply(served: Served, code: str, snippet: str, **body: Any) -> Any:
    message = f"<|original_code|>\n{code}\n<|/original_code|>\n\n<|update_snippet|>\n{snippet}\n<|/update_snippet|>"
    return served.ask("/v1/apply/completions", messages=[{"role": "user", "content": message}], **body)


@pytest.mark.parametrize(
    ("snippet", "old", "new"),
    [
        # A definition with the mark beside it is whole.
        (
            "# ... existing code ...\n    def add(self, a, b):\n        return a - b\n# ... existing code ...",
            '        """Adds two numbers."""\n        result = a + b\t\n        return result\n',
            "        return a - b\n",
        ),
        # Lines between two that are there; that one ends in a tab, which stays.
        (
            '        """Adds two numbers."""\n        print(a)\n        result = a + b\n# ... rest of the code ...',
            '        """Adds two numbers."""\n',
            '        """Adds two numbers."""\n        print(a)\n',
        ),
        # A new method behind one that is replaced, both written without their class.
        (
            "def add(self, a, b):\n    return 0\n\ndef sub(self, a, b):\n    return a - b",
            CODE[CODE.index('        """Adds') : CODE.index("\nrate")],
            "        return 0\n\n    def sub(self, a, b):\n        return a - b\n",
        ),
        ("import math\n# ... existing code ...", "class Calculator", "import math\nclass Calculator"),
        ("// ... existing code ...\nrate = 3\nspeed = 4", "rate = 3\r\n", "rate = 3\r\nspeed = 4\n"),
    ],
)
def test_snippet_with_anchors_merges_without_model(served: Served, snippet: str, old: str, new: str):
    answer = apply(served, CODE, snippet).json()
    assert answer["choices"][0]["message"]["content"] == CODE.replace(old, new)
    assert answer["usage"]["positions_computed"] == 0
    assert {block["by"] for block in answer["sfumato"]["blocks"]} == {"anchors"}


@pytest.mark.parametrize(
    ("code", "snippet", "merged"),
    [
        (
            "def f(a):\n    x = 1\n    return a\n",
            "def f(a):\n    # ... existing code ...\n    return a + 1",
            "def f(a):\n    x = 1\n    return a + 1\n",
        ),
        (
            "def f(a):\n    x = 1\n    return a\n\nb = 2\n",
            "def f(a):\n    # ... existing code ...\n    y = 2\n    return y",
            "def f(a):\n    x = 1\n    y = 2\n    return y\n\nb = 2\n",
        ),
        # Not that of an inner scope.
        (
            "def f(a):\n    if a:\n        return a\n",
            "def f(a):\n    # ... existing code ...\n    return 1",
            "def f(a):\n    if a:\n        return a\n\n    return 1\n",
        ),
    ],
)
def test_a_last_return_replaces_the_one_before_it(served: Served, code: str, snippet: str, merged: str):
    assert apply(served, code, snippet).json()["choices"][0]["message"]["content"] == merged


def test_model_chooses_among_several_anchors(served: Served, monkeypatch: pytest.MonkeyPatch):
    encode = Tokenizer.encode_raw

    def outside(self: Tokenizer, text: str) -> list[int]:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return encode(self, text)

    monkeypatch.setattr(Tokenizer, "encode_raw", outside)
    method = "    def multiply(self, a, b):\n        return a * b\n"
    bare = "// ... existing code ...\ndef multiply(self, a, b):\n    return a * b\n// ... existing code ..."
    answer = apply(served, CODE, bare).json()
    [block] = answer["sfumato"]["blocks"]
    assert block["by"] == "model"
    assert answer["usage"]["positions_computed"] > 0
    before, behind = "    def add(", "\nrate"
    possible = {CODE.replace(before, f"{method}\n{before}"), CODE.replace(behind, f"\n{method}{behind}")}
    text = answer["choices"][0]["message"]["content"]
    assert text in possible
    assert block["of"] == len(possible)
    stream = apply(served, CODE, bare, stream=True).text
    chunks = [json.loads(line.removeprefix("data: ")) for line in stream.split("\n\n")[:-2]]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == text
    assert stream.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("code", "snippet", "code_of_error"),
    [
        (CODE, "make it faster", "not_placed"),
        ("x = 1\n\n" * 40, "# ... existing code ...\ny = 2\n# ... existing code ...", "not_placed"),
        (CODE, "# ... existing code ...", None),
        ("x" * 200_001, "y", None),
    ],
)
def test_ambiguous_snippet_is_refused(served: Served, code: str, snippet: str, code_of_error: str | None):
    response = apply(served, code, snippet)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == code_of_error
    assert error["param"] in ("update_snippet", "original_code")
