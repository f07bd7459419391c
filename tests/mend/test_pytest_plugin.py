"""`pytest --mend` on a small project."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sfumato.mend.pytest_plugin import _mend

PLUGIN = "sfumato.mend.pytest_plugin"
# One process for all runs, as it is importing torch that takes long.
PROGRAM = """
import contextlib, io, json, sys
sys.path.insert(0, {support!r})
import sfumato.mend.mender as mender
from scripted import scripted_mender
one = scripted_mender(("-", True, ("*",), 2.0), ("-", True, ("+",), 1.0))
mender.load_mender = lambda name: one
import pytest
found = []
for arguments in {runs!r}:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = pytest.main(["-p", "no:cacheprovider", *arguments])
    found.append((int(code), said.getvalue()))
print(json.dumps(found))
"""
RUNS = {
    "failing": ["--mend"],
    "not asked": [],
    "passing": ["--mend", "-k", "none"],
    "budget": ["--mend", "--mend-budget", "1"],
}
WRONG = "def add(a, b):\n    return a - b\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("project")
    # Other plugins of the environment take long to trace.
    (project / "pytest.ini").write_text(f"[pytest]\naddopts = --disable-plugin-autoload -p {PLUGIN}\n")
    (project / "core.py").write_text(WRONG)
    (project / "test_core.py").write_text(
        "from core import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n"
        "def test_none():\n    assert add(0, 0) == 0\n"
    )
    return project


@pytest.fixture(scope="module")
def done(project: Path) -> dict[str, tuple[int, str]]:
    """Exit code and output of each run."""
    support = str(Path(__file__).parents[1] / "support")
    program = PROGRAM.format(support=support, runs=list(RUNS.values()))
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=project, capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    return {name: (code, said) for name, (code, said) in zip(RUNS, found, strict=True)}


def test_installed_package_names_the_plugin() -> None:
    points = importlib.metadata.entry_points(group="pytest11", name="sfumato")
    if not points:
        pytest.skip("the package is not installed")
    assert [point.value for point in points] == [PLUGIN]


def test_a_verified_edit_is_shown_and_not_written(project: Path, done: dict[str, tuple[int, str]]) -> None:
    code, said = done["failing"]
    assert "-    return a - b\n+    return a + b\n" in said
    assert "makes the failed tests pass, found in 2 test runs; nothing was written" in said
    assert code == 1
    assert (project / "core.py").read_text() == WRONG


def test_silent_without_failures_or_option(done: dict[str, tuple[int, str]]) -> None:
    code, said = done["not asked"]
    assert (code, "return a + b" in said) == (1, False)
    code, said = done["passing"]
    assert (code, "= mend =" in said) == (0, False)


def test_tests_that_pass_alone_need_no_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Passing:
        def mend_project(self, *_: object, **__: object) -> list[object]:
            return []

    monkeypatch.setattr("sfumato.mend.mender.load_mender", lambda _: Passing())
    config: Any = SimpleNamespace(rootpath=tmp_path, getoption=lambda name: 1 if name == "mend_budget" else "mend")
    assert _mend(config, ["test_a.py::test_b"]) == [
        "the failed tests pass when they run alone, so there is nothing to repair"
    ]


def test_budget_is_kept(done: dict[str, tuple[int, str]]) -> None:
    assert "no edit was verified in 1 run" in done["budget"][1]
