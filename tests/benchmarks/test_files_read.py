"""A reader of a step, or of a load, opens few files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.kernels.cpu.running import library

MAX_FILES = {"sampler step": 5, "engine step": 14, 'load("tiny")': 20, "training step": 11}


@pytest.mark.skipif(library() is None, reason="where loops are compiled on first use, more files run")
def test_few_files_run():
    program = Path(__file__).parents[2] / "benchmarks/files_read.py"
    printed = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True, timeout=600).stdout
    counts = {title: int(count) for title, count in re.findall(r"^(.+): (\d+) files$", printed, re.MULTILINE)}
    assert counts.keys() == MAX_FILES.keys()
    assert all(count <= MAX_FILES[title] for title, count in counts.items()), printed
