"""`pytest --mend` on a small project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
sys.path.insert(0, {support!r})
import sfumato.mend.mender as mender
from scripted import scripted_mender
one = scripted_mender(("-", True, ("*",), 2.0), ("-", True, ("+",), 1.0))
mender.load_mender = lambda name: one
import pytest
raise SystemExit(pytest.main({arguments!r}, plugins={plugins}))
"""
WRONG = "def add(a, b):\n    return a - b\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "core.py").write_text(WRONG)
    (tmp_path / "test_core.py").write_text(
        "from core import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n"
        "def test_none():\n    assert add(0, 0) == 0\n"
    )
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    import importlib.metadata

    # Where the package is not installed, its entry point is not known.
    known = any(point.name == "sfumato" for point in importlib.metadata.entry_points(group="pytest11"))
    plugins = "[]" if known else "[__import__('sfumato.mend.pytest_plugin', fromlist=['x'])]"
    support = str(Path(__file__).parents[1] / "support")
    given = ["-p", "no:cacheprovider", *arguments]
    program = PROGRAM.format(support=support, arguments=given, plugins=plugins)
    return subprocess.run(
        [sys.executable, "-c", program], cwd=project, capture_output=True, text=True, timeout=600, check=False
    )


def test_a_verified_edit_is_shown_and_not_written(project: Path) -> None:
    done = run(project, "--mend")
    assert "-    return a - b\n+    return a + b\n" in done.stdout, done.stdout + done.stderr
    assert "makes the failed tests pass, found in 2 runs of them; nothing is written" in done.stdout
    assert done.returncode == 1
    assert (project / "core.py").read_text() == WRONG


def test_it_says_nothing_where_nothing_failed_or_nobody_asked(project: Path) -> None:
    assert "return a + b" not in run(project).stdout
    passing = run(project, "--mend", "-k", "none")
    assert (passing.returncode, "= mend =" in passing.stdout) == (0, False)


def test_a_budget_is_kept(project: Path) -> None:
    done = run(project, "--mend", "--mend-budget", "1")
    assert "no edit was verified in 1 run" in done.stdout
