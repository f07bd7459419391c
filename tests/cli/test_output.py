"""What a terminal sees while something takes its time, and what a pipe never does."""

from __future__ import annotations

import json

import pytest

from sfumato.checkpoints.registry import file_of as find_file
from terminal import Terminal


def test_eval_says_how_many_items_there_are_and_how_many_are_done(checkpoint):
    arguments = ("eval", checkpoint, "--task", "arithmetic", "--n", 3, "--steps", 2, "--json")
    terminal = Terminal(*arguments, streams=("stderr",))
    code, stdout, _ = terminal.close()
    assert code == 0
    assert json.loads(stdout)["n"] == 3
    for seen in ("loading", "0/3", "3/3"):
        assert seen in terminal.written
    assert "/?" not in terminal.written


def test_a_measurement_says_how_many_there_are(checkpoint):
    arguments = ("latency", checkpoint, "--canvas", "8", "--steps", "2", "--tokens", 8, "--prompt", "8")
    terminal = Terminal(*arguments, "--repeats", 1, "--json", streams=("stderr",), module="benchmarks")
    code, stdout, _ = terminal.close()
    assert code == 0, terminal.written
    assert len(list(map(json.loads, stdout.splitlines()))) == 2
    assert "0/2" in terminal.written
    assert "2/2" in terminal.written


def test_pull_says_that_it_is_at_work(tmp_path):
    """Nothing is got here: the file is there, and only checked; what is said meanwhile is the same."""
    installed = find_file("smollm2-135m-instruct")
    if installed is None:
        pytest.skip("the package is not installed")
    (tmp_path / installed.name).symlink_to(installed)
    environment = {"SFUMATO_CACHE": str(tmp_path)}
    terminal = Terminal("pull", "smollm2-135m-instruct", streams=("stderr",), environment=environment)
    code, stdout, _ = terminal.close()
    assert (code, stdout) == (0, f"{tmp_path / installed.name}\n")
    assert "getting smollm2-135m-instruct" in terminal.written


def test_a_pipe_sees_nothing_of_it(sfumato, checkpoint):
    done = sfumato("eval", checkpoint, "--task", "arithmetic", "--n", 3, "--steps", 2, "--json")
    assert done.stderr == ""
