"""Ctrl-C and SIGTERM at random moments of whole commands, in terminals: a small run of benchmarks/interrupts.py."""

from __future__ import annotations

import importlib.util
import random
import signal
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "interrupts.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for the handler in /proc"),
]


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("interrupts_benchmark", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("command", ["run", "edit", "eval", "train"])
def test_signal_at_a_random_moment(benchmark, command, number):
    moment_s = random.Random(f"{command} {number}").uniform(0.0, 4.0)
    fixed = benchmark.BUGGY.replace("+", "*")
    outcome = benchmark.interrupt(command, number, moment_s, fixed, started=True)
    if outcome.faults == ["ignored"]:
        # The command may have ended just as the signal was sent; one that ignores it does so earlier, too.
        outcome = benchmark.interrupt(command, number, moment_s / 4, fixed, started=True)
    assert outcome.faults == [], outcome.output
