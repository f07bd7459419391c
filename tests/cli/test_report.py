"""`sfumato report`: what it says of systems that answer and of those that do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUITE = """
n = 7
[systems.tiny]
model = "tiny"
[systems.gone]
model = "m"
url = "http://127.0.0.1:9/v1"
max_retries = 0
[tasks.json]
"""


def test_a_report_tells_what_is_without_an_answer_and_why(sfumato: Callable[..., Any], tmp_path: Path) -> None:
    suite, out = tmp_path / "suite.toml", tmp_path / "out"
    suite.write_text(SUITE)
    done = sfumato("report", suite, "--dir", out)
    assert done.exit_code == 1
    assert "gone: nothing answers at http://127.0.0.1:9" in done.stderr
    # It was skipped after five failures.
    assert "7 items without an answer; run the same command to ask them again" in done.stderr
    assert done.stdout.splitlines()[-1] == f"{out}/report.html"
    records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert sum(each["system"] == "tiny" and each["error"] is None for each in records) == 7
    tables = sfumato("report", suite, "--dir", out, "--tables", "--system", "tiny")
    assert tables.exit_code == 1
    assert "5 items without an answer" in tables.stderr

    suite.write_text(SUITE.replace("[tasks.json]", "[tasks.jsn]"))
    wrong = sfumato("report", suite, "--dir", out)
    assert wrong.exit_code == 2
    assert "did you mean 'json'" in wrong.stderr
