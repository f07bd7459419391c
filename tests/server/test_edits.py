"""Mercury's next edit: its region, wherever it stands."""

from __future__ import annotations

import pytest

from serving import Served


@pytest.mark.parametrize("inside", [True, False])
def test_the_region_is_found_in_either_nesting(served: Served, inside: bool):
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
