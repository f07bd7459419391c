"""Killed and interrupted at random moments, then resumed: the losses are those of a run that was left alone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfumato.config import load_recipe
from sfumato.training.recipe import Recipe, Run

RECIPE = """
[model]
vocab_size = 261
hidden_size = 8
intermediate_size = 16
num_hidden_layers = 1
num_attention_heads = 2
num_key_value_heads = 1
head_dim = 4
canvas_embedding = true
self_conditioning = true

[generation_spec]
self_conditioning = true

[data]
tasks = { countdown = 1.0 }
tokenizer_items = 1

[packing]
rows = 1
row_length = 256
canvas_lengths = [48, 96]

[objective]
span_share = 0.3

[train]
steps = 60
warmup = 3
muon_lr = 1e-2
threads = 1
save_every_s = 0.05
"""

RUN = """
import sys
from pathlib import Path
from sfumato.config import load_recipe
from sfumato.training.recipe import Recipe, Run
run = Run(load_recipe(Recipe, Path(sys.argv[1])), Path(sys.argv[2]))
if run.trainer.state_path.exists():
    run.trainer.resume()
run.trainer.run()
"""
PATIENCE_S = 120.0


def stop_at_random(recipe: Path, directory: Path, number: signal.Signals, after: int) -> int:
    """Start or go on in a process of its own, and signal it at a random moment past some step; its exit status."""
    command = [sys.executable, "-c", RUN, str(recipe), str(directory)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + PATIENCE_S
        log = directory / "log.jsonl"
        while process.poll() is None and time.monotonic() < deadline:
            if log.exists() and log.read_bytes().count(b"\n") >= after:
                break
            time.sleep(0.002)
        time.sleep(random.uniform(0.0, 0.05))
        process.send_signal(number)
        return process.wait(PATIENCE_S)


def records_of(directory: Path) -> list[dict[str, object]]:
    lines = (directory / "log.jsonl").read_text().splitlines()
    return [{**json.loads(line), "tokens_per_s": None} for line in lines]


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(RECIPE)
    return path


def test_kills_and_interrupts_leave_no_trace(recipe: Path, tmp_path: Path):
    alone = Run(load_recipe(Recipe, recipe), tmp_path / "alone")
    alone.trainer.run()
    directory = tmp_path / "stopped"
    assert stop_at_random(recipe, directory, signal.SIGINT, after=10) != 0
    interrupted = Run(load_recipe(Recipe, recipe), directory)
    num_records = len(records_of(directory))
    interrupted.trainer.resume()
    # An interrupt saves: nothing that was logged is lost.
    assert interrupted.trainer.progress.step == num_records == len(records_of(directory))
    assert 10 <= num_records < 60
    assert stop_at_random(recipe, directory, signal.SIGKILL, after=num_records + 10) == -signal.SIGKILL
    last = Run(load_recipe(Recipe, recipe), directory)
    last.trainer.resume()
    assert num_records <= last.trainer.progress.step < 60
    last.trainer.run()
    assert records_of(directory) == records_of(tmp_path / "alone")
    alone.save_checkpoint()
    last.save_checkpoint()
    for path in alone.checkpoint_directory.iterdir():
        assert path.read_bytes() == (last.checkpoint_directory / path.name).read_bytes(), path.name
