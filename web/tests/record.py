"""Record what a server tells of canvases, for the tests of what reads it: `python web/tests/record.py`."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests/support")]

from serving import EXPRESSION, Served, start  # noqa: E402

ASKED: dict[str, dict[str, Any]] = {
    "an answer": {"prompt": EXPRESSION, "seed": 1},
    "an answer with a schema": {
        "prompt": "json: Mia is a red parrot and 8 years old.",
        "schema": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
    },
    "an answer of several canvases": {"prompt": EXPRESSION, "canvas_length": 8, "seed": 2},
    "an edit": {"text": "def add(a, b):\n    return a - b\n", "instruction": "fix the bug:", "spans": [[15, 31]]},
}


def _events(served: Served, body: dict[str, Any]) -> list[dict[str, Any]]:
    with served.http.stream("POST", "/v1/canvas", json={**body, "stream": True}) as response:
        lines = [line[6:] for line in response.iter_lines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def main() -> None:
    """Write recorded.json."""
    with tempfile.TemporaryDirectory() as directory:
        for served in start(Path(directory)):
            runs = []
            for name, body in ASKED.items():
                events = _events(served, body)
                assert events[-1]["type"] == "canvas.done", events[-1]
                runs.append({"name": name, "text": events[-1]["text"], "events": events})
    Path(__file__).with_name("recorded.json").write_text(json.dumps(runs, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
