"""`sfumato adapt`: an autoregressive model learns to fill canvases."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

# SmolLM2 is adapted by the commands of docs/tutorials/adapt.md.
RECIPE = """
[adapt]
base = "tiny-twin"
layers = 2

[generation_spec]
canvas_length = 16
self_conditioning = true

[data.tasks]
json = 1.0

[packing]
rows = 1
row_length = 256
canvas_lengths = [4, 8, 16]

[objective]
ar_weight = 0.5
teacher_weight = 0.5
teacher_until = 0.5
self_conditioning_from = 0.4

[evaluation]
bound_batches = 2

[train]
steps = 16
lr = 3e-3
warmup = 2
average = 0.5
threads = 1
"""


@pytest.mark.slow
def test_adapted_model_learns(sfumato: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(RECIPE)
    done = sfumato("adapt", "small.toml")
    assert done.exit_code == 0, done.stderr
    adapted = json.loads(done.stdout)
    lines = (tmp_path / "runs" / "small" / "log.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["step"] for record in records] == list(range(1, 17))
    assert adapted["tokens"] == records[-1]["num_tokens"]
    assert sum(record["canvas_loss"] for record in records[-4:]) / 4 < 0.7 * records[0]["canvas_loss"]
    config = json.loads((tmp_path / adapted["checkpoint"] / "config.json").read_text())
    assert records[-1]["canvas_nelbo"] < math.log(config["vocab_size"])
