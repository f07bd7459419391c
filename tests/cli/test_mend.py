"""`sfumato mend`, with a model that proposes what a script says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sfumato.checkpoints.registry
import sfumato.mend.mender
from scripted import scripted_mender
from sfumato.cli.app import app
from sfumato.mend.doubts import Calibration, Level

BROKEN, REPAIRED = "def f(a:  # of one\r\n    return a\r\n", "def f(a):  # of one\r\n    return a\r\n"
WRONG = "def add(a, b):\n    return a - b\n"
TEST = f"{sys.executable} test_core.py"


@pytest.fixture(autouse=True)
def mender(monkeypatch: pytest.MonkeyPatch) -> None:
    one = scripted_mender((":", False, (")",), 3.0), ("-", True, ("*",), 2.0), ("-", True, ("+",), 1.0))
    monkeypatch.setattr(sfumato.mend.mender, "load_mender", lambda name: one)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "core.py").write_text(WRONG)
    (tmp_path / "test_core.py").write_text("from core import add\n\nassert add(2, 3) == 5\n")
    return tmp_path


def mend(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["mend", *map(str, arguments)])


def test_valid_files_are_skipped_silently(project: Path) -> None:
    done = mend(project)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "2 files · nothing repaired\n"


def test_an_unknown_model_is_refused_before_anything_else(project: Path) -> None:
    done = mend(project, "--model", "mund")
    assert done.exit_code == 1
    assert "unknown model 'mund'; did you mean 'mend'?" in done.stderr


def test_syntax_error_is_repaired_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(BROKEN.encode())
    (tmp_path / "b.py").write_text("x = = 1\n")
    done = mend(tmp_path, "--dry-run")
    assert "+def f(a):  # of one" in done.stdout
    assert "2 files · 1 would be mended · 1 edit" in done.stderr
    assert (done.exit_code, (tmp_path / "a.py").read_bytes()) == (1, BROKEN.encode())
    done = mend(tmp_path, "--yes")
    assert "b.py: no repair was found that parses" in done.stderr
    assert "2 files · 1 mended · 1 edit" in done.stderr
    assert (done.exit_code, (tmp_path / "a.py").read_bytes()) == (1, REPAIRED.encode())
    assert mend(tmp_path / "a.py", "--yes").exit_code == 0


def test_stdin_comes_out_repaired() -> None:
    done = CliRunner().invoke(app, ["mend", "-"], input=BROKEN.encode())
    assert (done.exit_code, done.stdout_bytes) == (0, REPAIRED.encode())
    latin = "# -*- coding: latin-1 -*-\nx = = '\u00e9'\n".encode("latin-1")
    done = CliRunner().invoke(app, ["mend", "-"], input=latin)
    assert (done.exit_code, done.stdout_bytes) == (1, latin)
    assert "stdin: no repair was found that parses" in done.stderr
    for more in (["a.py"], ["--yes"], ["--test", TEST]):
        done = CliRunner().invoke(app, ["mend", "-", *more], input=BROKEN.encode())
        assert (done.exit_code, done.stdout_bytes) == (2, b"")
        assert "- stands for stdin; allowed: without other paths, and only with --model" in done.stderr


def test_without_terminal_nothing_is_mended(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BROKEN)
    done = mend(tmp_path)
    assert (done.exit_code, (tmp_path / "a.py").read_text()) == (2, BROKEN.replace("\r", ""))
    assert "cannot ask: stdin is not a terminal" in done.stderr


def test_tests_verify(project: Path) -> None:
    done = mend(project, "--test", TEST, "--yes")
    assert "+    return a + b" in done.stdout
    assert "2 files · 1 mended · 1 edit · verified in 2 runs of the tests" in done.stderr
    assert (done.exit_code, (project / "core.py").read_text()) == (0, WRONG.replace("-", "+"))
    done = mend(project, "--test", TEST, "--yes")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "2 files · nothing repaired: the tests pass\n")


def test_json_result(project: Path) -> None:
    done = mend(project / "core.py", "--test", TEST, "--json")
    found = json.loads(done.stdout)
    [repair] = found["repairs"]
    assert repair["diff"].endswith("-    return a - b\n+    return a + b")
    del repair["diff"]
    assert repair == {"path": str(project / "core.py"), "verified_by": "tests", "edits": 1, "runs": 2, "score": 1.0}
    assert (done.exit_code, found["left"], (project / "core.py").read_text()) == (1, [], WRONG)


def test_budget_is_kept(project: Path) -> None:
    done = mend(project, "--test", TEST, "--budget", 1, "--yes")
    assert (done.exit_code, (project / "core.py").read_text()) == (1, WRONG)
    assert "core.py: no edit was verified in 1 run; the tests end with: AssertionError; try a larger" in done.stderr


PARTLY = """import unittest
from core import add

class Sums(unittest.TestCase):
    def test_a(self):
        assert add(1, 2) == 3

    def test_b(self):
        assert add(2, 3) == 5

    def test_c(self):
        assert add(2, 3) == 7
"""


@pytest.mark.parametrize(
    "test", ["pytest -q --disable-plugin-autoload", "pytest --disable-plugin-autoload -x", "unittest"]
)
def test_the_best_unverified_edit_is_shown(project: Path, test: str) -> None:
    (project / "test_core.py").write_text(PARTLY)
    command = [project / "core.py", "--test", f"{sys.executable} -m {test}"]
    done = mend(*command, "--yes")
    assert "no edit was verified in 2 runs; the best one lets 2 instead of 0 tests pass; try" in done.stderr
    assert "-    return a - b\n+    return a + b\n" in done.stderr
    assert (done.exit_code, done.stdout, (project / "core.py").read_text()) == (1, "", WRONG)
    [left] = json.loads(mend(*command, "--json").stdout)["left"]
    assert left["proposal"].endswith("-    return a - b\n+    return a + b")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no such file or directory: nowhere"),
        (["a.txt"], "a.txt is not Python source"),
        (["--function", "f", "a.py"], "--function needs --test"),
        (["--budget", "many", "a.py"], "budget is 'many'; allowed: a number of edits"),
        (["--budget", "0", "a.py"], "budget is '0'; allowed: a number of edits"),
        (["--test", "", "a.py"], "test is empty"),
        (["--test", "python 'a", "a.py"], "No closing quotation; allowed: a program and its arguments"),
        (["--test", "python a.py", "--timeout", "0", "a.py"], "timeout is 0.0; allowed: more than 0"),
        (["--test", "python a.py", "--timeout", "nan", "a.py"], "timeout is nan; allowed: more than 0"),
        (["--test", "no-such-program", "a.py"], "cannot run no-such-program"),
        (["empty"], "no Python source below empty"),
    ],
)
def test_invalid_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for name in ("a.py", "a.txt"):
        (tmp_path / name).write_text("x = 1\n")
    done = mend(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


CALIBRATION = Calibration(0.0, 1.0, 5000, [Level(0.05, 0.02, 0.5), Level(0.5, 0.001, 0.25)])
LONG = "def f(a, b):\n    # of both\n    c = [a, b, a, b, a, b]\n    return (a - b, c)\n"


@pytest.fixture
def calibrated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    CALIBRATION.save(tmp_path)
    monkeypatch.setattr(sfumato.checkpoints.registry, "find_model", lambda name: tmp_path)
    sources = tmp_path / "sources"
    sources.mkdir()
    return sources


def propose(monkeypatch: pytest.MonkeyPatch, *script: Any) -> None:
    monkeypatch.setattr(sfumato.mend.mender, "load_mender", lambda name: scripted_mender(*script))


def test_doubts_are_listed_and_nothing_is_written(calibrated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    propose(monkeypatch, ("-", True, ("+",), 5.0), ("<", True, ("<=",), 9.0), ("*", True, ("/",), 1.0))
    (calibrated / "a.py").write_text(LONG)
    (calibrated / "b.py").write_text(LONG.replace("-", "<"))
    (calibrated / "c.py").write_text(LONG.replace("-", "*"))
    (calibrated / "d.py").write_text("x = = 1\n")
    done = mend(calibrated, "--doubts")
    assert done.stdout.splitlines() == [
        f"{calibrated}/b.py:4: 99%",
        "-    return (a < b, c)",
        "+    return (a <= b, c)",
        f"{calibrated}/a.py:4: 60%",
        "-    return (a - b, c)",
        "+    return (a + b, c)",
    ]
    assert "d.py does not parse" in done.stderr
    assert "4 files · 2 doubts · nothing verified, nothing written" in done.stderr
    assert "of 5,000 measured" in done.stderr
    assert "50% and more · 0.1% of correct ones doubted · 25% of mistakes found" in done.stderr
    assert (done.exit_code, (calibrated / "a.py").read_text()) == (0, LONG)
    found = json.loads(mend(calibrated, "--doubts", "--json").stdout)
    assert [(each["line"], each["probability"]) for each in found["doubts"]] == [(4, 0.988), (4, 0.6)]
    assert found["measured"][1] == {"probability": 0.5, "false_alarms": 0.001, "found": 0.25}


def test_missing_code_is_doubted_where_it_would_be(calibrated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    propose(monkeypatch, ("=", True, ("return",), 9.0))
    (calibrated / "a.py").write_text(LONG)
    assert mend(calibrated, "--doubts").stdout == ""  # The edit does not parse.
    propose(monkeypatch, ("]", False, ("+", "a"), 9.0))
    assert mend(calibrated, "--doubts").stdout.splitlines()[-1] == "+    c = [a, b, a, b, a, b + a]"


def test_doubts_that_were_not_measured_are_refused(calibrated: Path) -> None:
    (calibrated / "a.py").write_text(LONG)
    done = mend(calibrated, "--doubts", "--test", TEST)
    assert "--doubts verifies and writes nothing; allowed: without --test and --yes" in done.stderr
    (calibrated.parent / "doubts.json").write_text("{}")
    assert "doubts.json is not a calibration" in mend(calibrated, "--doubts").stderr
    (calibrated.parent / "doubts.json").unlink()
    assert "the doubts of this model have not been measured" in mend(calibrated, "--doubts").stderr


def test_seconds_limit_the_tests_too(project: Path) -> None:
    (project / "test_core.py").write_text("import time\n\nfrom core import add\n\nadd(2, 3)\ntime.sleep(600)\n")
    done = mend(project, "--test", TEST, "--budget", "1s")
    assert done.exit_code == 1
    assert "no edit was verified in 0 runs; the tests did not end within" in done.stderr
    assert (project / "core.py").read_text() == WRONG


def test_a_signal_ends_the_tests_and_removes_the_copy(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    (project / "test_core.py").write_text("import time\n\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "sfumato", "mend", project, "--test", TEST]
    process = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(scratch)}, stderr=subprocess.DEVNULL)
    while not _running(scratch):
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()
    assert process.wait(600) == 143
    while _running(scratch):
        time.sleep(0.05)
    assert not list(scratch.iterdir())


def _running(directory: Path) -> bool:
    """Whether a process works below a directory."""
    working = subprocess.run(["sh", "-c", "readlink /proc/[0-9]*/cwd"], capture_output=True, text=True).stdout
    return any(line.startswith(str(directory)) for line in working.splitlines())


def test_file_outside_the_tests_is_named(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "b.py"
    other.write_text(WRONG)
    done = mend(project / "core.py", other, "--test", TEST, "--project", project, "--dry-run")
    assert "2 files · 1 would be mended" in done.stderr
    assert f"{other} is not below {project}, where the tests run" in done.stderr


def test_tests_that_are_not_there_are_named_with_where_they_run(project: Path) -> None:
    done = mend(project / "core.py", "--test", f"{sys.executable} test_none.py", "--project", project)
    assert f"the tests cannot be run in {project} (exit 2)" in done.stderr
    assert str(project / "test_none.py") in done.stderr


@pytest.mark.parametrize("name", ["tests.py", "testing/core.py", "core_test.py"])
def test_tests_are_not_edited(project: Path, name: str) -> None:
    (project / name).parent.mkdir(exist_ok=True)
    (project / "core.py").write_text("def add(a, b):\n    return a / b\n")
    (project / name).write_text("TOTAL = 6 - 1\n")
    done = mend(project, "--test", TEST, "--project", project, "--dry-run")
    assert "TOTAL" not in done.stdout


def test_files_of_others_stay(project: Path) -> None:
    (project / "core.py.partial").write_text("precious")
    assert mend(project / "core.py", "--test", TEST, "--yes").exit_code == 0
    assert (project / "core.py.partial").read_text() == "precious"
    assert sorted(each.name for each in project.iterdir()) == ["core.py", "core.py.partial", "test_core.py"]
    (project / "core.py").write_text(WRONG)
    (project / "core.py").chmod(0o444)
    done = mend(project / "core.py", "--test", TEST, "--yes")
    assert "core.py is read-only; nothing written" in done.stderr
    assert (project / "core.py").read_text() == WRONG
