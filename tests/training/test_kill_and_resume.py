"""A run killed and interrupted at random moments and resumed has the losses of an uninterrupted run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from sfumato.config import load_recipe
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run

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
steps = 40
warmup = 3
muon_lr = 1e-2
threads = 1
save_every_s = 0.05
"""

# A process that has imported everything and forks a child for each step it is given, which waits there for its signal,
# so that no run ends before it: starting torch is what takes long.
LAUNCHER = """
import os, sys, time
from pathlib import Path
import torch._dynamo
from sfumato.config import load_recipe
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run

for line in sys.stdin:
    child = os.fork()
    if child == 0:

        def wait(record):
            while record["step"] >= int(line) and run.trainer._signals.arrived is None:
                time.sleep(0.002)

        try:
            run = Run(load_recipe(Recipe, Path(sys.argv[1])), Path(sys.argv[2]), on_record=wait)
            if run.trainer.state_path.exists():
                run.trainer.resume()
            run.trainer.run()
            os._exit(0)
        except KeyboardInterrupt:
            os._exit(3)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
PATIENCE_S = 600.0


def stop_at_random(launcher: subprocess.Popen[str], log: Path, number: signal.Signals, after: int) -> int:
    """Start or go on in a process of its own, and signal it at a random moment past some step; its exit status."""
    # Twice within the 40 steps of the run.
    print(after + 11, file=launcher.stdin, flush=True)
    child = int(launcher.stdout.readline())
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and not (log.exists() and log.read_bytes().count(b"\n") >= after):
        time.sleep(0.002)
    time.sleep(random.uniform(0.0, 0.05))
    os.kill(child, number)
    return int(launcher.stdout.readline())


def records_of(directory: Path) -> list[dict[str, object]]:
    lines = (directory / "log.jsonl").read_text().splitlines()
    return [{**json.loads(line), "tokens_per_s": None} for line in lines]


def test_killed_and_interrupted_runs_resume_exactly(recipe: Path, tmp_path: Path):
    alone = Run(load_recipe(Recipe, recipe), tmp_path / "alone")
    alone.trainer.run()
    directory = tmp_path / "stopped"
    log = directory / "log.jsonl"
    command = [sys.executable, "-c", LAUNCHER, str(recipe), str(directory)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **streams) as launcher:
        assert stop_at_random(launcher, log, signal.SIGINT, after=8) == 3
        # An interrupt saves: nothing that was logged is lost.
        interrupted = Run(load_recipe(Recipe, recipe), directory)
        num_records = len(records_of(directory))
        interrupted.trainer.resume()
        assert interrupted.trainer.progress.step == num_records
        assert 8 <= num_records < 40
        assert stop_at_random(launcher, log, signal.SIGKILL, after=num_records + 8) == -signal.SIGKILL
        launcher.stdin.close()
    last = Run(load_recipe(Recipe, recipe), directory)
    last.trainer.resume()
    assert num_records <= last.trainer.progress.step < 40
    last.trainer.run()
    assert records_of(directory) == records_of(tmp_path / "alone")
    alone.save_checkpoint()
    last.save_checkpoint()
    for path in alone.checkpoint_directory.iterdir():
        assert path.read_bytes() == (last.checkpoint_directory / path.name).read_bytes(), path.name
