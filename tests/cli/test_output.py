"""What a terminal sees while something takes its time, and what a pipe never does."""

from __future__ import annotations

import json

import pytest

from sfumato.checkpoints.registry import file_of as find_file
from terminal import Terminal


def test_eval_shows_progress(checkpoint):
    arguments = ("eval", checkpoint, "--task", "arithmetic", "--n", 3, "--steps", 2, "--json")
    terminal = Terminal(*arguments, streams=("stderr",))
    code, stdout, _ = terminal.close()
    assert code == 0
    assert json.loads(stdout)["n"] == 3
    for seen in ("loading", "0/3", "3/3"):
        assert seen in terminal.written
    assert "/?" not in terminal.written


def test_benchmark_shows_progress(checkpoint):
    arguments = ("latency", checkpoint, "--canvas", "8", "--steps", "2", "--tokens", 8, "--prompt", "8")
    terminal = Terminal(*arguments, "--repeats", 1, "--json", streams=("stderr",), module="benchmarks")
    code, stdout, _ = terminal.close()
    assert code == 0, terminal.written
    assert len(list(map(json.loads, stdout.splitlines()))) == 2
    assert "0/2" in terminal.written
    assert "2/2" in terminal.written


def test_pull_shows_progress(tmp_path):
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


def test_pipes_get_no_progress(sfumato, checkpoint):
    done = sfumato("eval", checkpoint, "--task", "arithmetic", "--n", 3, "--steps", 2, "--json")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["infill"], "a text with <FILL>"),
        (["infill", "-", "--at", "1"], "the text"),
        (["run", "-"], "the prompt"),
        (["run", "--batch", "-"], "the batch"),
        (["run", "x", "--schema", "-"], "the schema"),
        (["chat"], "messages, one a line,"),
    ],
)
def test_a_terminal_is_told_what_is_read_from_it(checkpoint, arguments, what):
    terminal = Terminal(*arguments, "--model", checkpoint, streams=("stdin", "stderr"))
    terminal.read_until(f"sfumato: reading {what} from the terminal; end with Ctrl-D")
    terminal.type("\x04")
    terminal.close()
    assert "Traceback" not in terminal.written
