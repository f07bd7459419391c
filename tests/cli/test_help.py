"""Help texts are shown literally, and shell completion works."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from typing import Any

import pytest
import typer
from rich.text import Text

from sfumato.cli.app import app
from sfumato.data.tasks import TASKS


def commands(group: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found = {}
    for name, command in group.commands.items():
        found |= commands(command, (*path, name)) if hasattr(command, "commands") else {(*path, name): command}
    return found


COMMANDS = commands(typer.main.get_command(app))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_texts(path: tuple[str, ...], sfumato: Any):
    done = sfumato(*path, "--help", env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert done.exit_code == 0
    shown = "".join(Text.from_ansi(done.stdout).plain.replace("│", "").split())
    assert "".join(inspect.cleandoc(COMMANDS[path].callback.__doc__).split()) in shown
    assert "<bool>" not in shown


def test_a_paragraph_fills_the_terminal(sfumato: Any):
    lines = sfumato("mend", "--help", env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout.splitlines()
    first = next(number for number, line in enumerate(lines) if "Edits are tried" in line)
    # Each line but the last of a paragraph has no room for the word that begins the next one.
    for line, after in zip(lines[first:], lines[first + 1 :], strict=False):
        if not after.strip():
            break
        assert len(line.rstrip()) + 1 + len(after.split()[0]) >= 80


def test_brackets_are_not_markup(sfumato: Any):
    assert "[adapt]" in sfumato("adapt", "--help").stdout


def completed(*words: str, then: str = "") -> list[str]:
    """What a shell offers behind these words."""
    run = "import sys\nfrom sfumato.cli.app import app\ntry:\n    app(prog_name='sfumato')\nfinally:\n    "
    code = run + (then or "pass")
    environment = {
        "_SFUMATO_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, timeout=600
    )
    return done.stdout.split()


def test_a_shell_completes_commands_models_and_tasks_without_torch():
    assert "run" in completed("sfumato", "r")
    assert completed("sfumato", "run", "--model", "tin") == ["tiny", "tiny-twin"]
    assert completed("sfumato", "doctor", "tiny-") == ["tiny-twin"]
    tasks = completed("sfumato", "eval", "tiny", "--task", "su", then="print('torch' in sys.modules)")
    assert tasks == [*(task for task in TASKS if task.startswith("su")), "False"]
