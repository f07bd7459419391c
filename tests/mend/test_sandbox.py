from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.errors import RequestError
from sfumato.mend import sandbox
from sfumato.mend.sandbox import Limits, Outcome, Sandbox

PYTHON = [sys.executable, "-I", "-S", "-c"]


@pytest.fixture(params=["bubblewrap", "alone"])
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "alone":
        monkeypatch.setattr(sandbox, "_bubblewrap", lambda writable, command: [])
    elif not sandbox._bubblewrap(tmp_path, "python"):
        pytest.skip("bubblewrap is not installed, or not allowed here")
    root = tmp_path / "project"
    (root / "package").mkdir(parents=True)
    (root / "package" / "core.py").write_text("value = 1\n")
    (root / ".git").mkdir()
    return root


def run(project: Path, program: str, *, changes: dict[Path, bytes] | None = None, **limits: float) -> Outcome:
    with Sandbox(project, Limits(**limits)) as box:  # type: ignore[arg-type]
        return box.run([*PYTHON, program], changes)


def test_changes_stay_in_the_sandbox(project: Path) -> None:
    program = "print(open('package/core.py').read(), end=''); import os; print(os.path.exists('.git'))"
    done = run(project, program, changes={Path("package/core.py"): b"value = 2\n"})
    assert (done.status, done.output) == (0, "value = 2\nFalse\n")
    assert (project / "package" / "core.py").read_text() == "value = 1\n"


def test_runs_start_clean(project: Path) -> None:
    with Sandbox(project) as box:
        spoil = "import os; open('new', 'w'); os.mkdir('folder'); os.remove('package/core.py')"
        assert box.run([*PYTHON, spoil]).passed
        look = "import os; print(sorted(os.listdir()), open('package/core.py').read())"
        assert box.run([*PYTHON, look]).output == "['package'] value = 1\n\n"
    assert not box.root.exists()
    assert sorted(path.name for path in project.iterdir()) == [".git", "package"]


@pytest.mark.parametrize(
    "spoil",
    [
        "os.remove('package/core.py'); os.symlink(OUTSIDE, 'package/core.py')",
        "shutil.rmtree('package'); os.symlink(os.path.dirname(OUTSIDE), 'package')",
        "shutil.rmtree('package'); open('package', 'w')",
        "os.remove('package/core.py'); os.mkdir('package/core.py')",
    ],
)
def test_links_and_kinds_left_by_a_run_are_undone(project: Path, tmp_path: Path, spoil: str) -> None:
    outside = tmp_path / "outside" / "core.py"
    outside.parent.mkdir()
    outside.write_text("precious")
    with Sandbox(project) as box:
        assert box.run([*PYTHON, f"import os, shutil; OUTSIDE = {str(outside)!r}; {spoil}"]).passed
        look = "import os; print(os.path.islink('package'), open('package/core.py').read())"
        assert box.run([*PYTHON, look]).output == "False value = 1\n\n"
    assert outside.read_text() == "precious"


def test_directory_links_are_undone(project: Path, tmp_path: Path) -> None:
    (project / "link").symlink_to("package")
    with Sandbox(project) as box:
        assert box.run([*PYTHON, "import os; os.remove('link'); os.symlink('elsewhere', 'link')"]).passed
        assert box.run([*PYTHON, "import os; print(os.readlink('link'))"]).output == "package\n"


def test_pythonpath_within_the_project_is_that_of_the_copy(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path / "project-lib"
    beside.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (project / "package", beside))))
    with Sandbox(project) as box:
        entries = box.run([*PYTHON, "import os; print(os.environ['PYTHONPATH'])"]).output.strip().split(os.pathsep)
        assert entries[-2:] == [str(box.root / "package"), str(beside)]


def test_hanging_run_is_killed_with_its_children(project: Path, tmp_path: Path) -> None:
    program = "import os, time\nprint(os.fork() and 'parent', flush=True)\ntime.sleep(600)"
    done = run(project, program, seconds=2.0)
    assert done.status is None
    assert "parent" in done.output


def test_sandbox_has_no_network(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        program = f"import socket; socket.create_connection({address!r}, 5)"
        assert subprocess.run([*PYTHON, program], check=False).returncode == 0, "it can be reached from here"
        assert not run(project, program).passed


def test_memory_and_files_are_limited(project: Path) -> None:
    assert not run(project, "x = bytearray(1 << 30)", memory_bytes=1 << 28).passed
    done = run(project, "open('big', 'wb').write(bytes(1 << 20))", file_bytes=1 << 16)
    assert not done.passed


def test_environments_and_pipes_are_not_copied(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_PROJECT_BYTES", 10_000)
    (project / ".venv").mkdir()
    (project / ".venv" / "large.bin").write_bytes(bytes(20_000))
    os.mkfifo(project / "pipe.py")
    with Sandbox(project) as copy:
        assert not {".venv", "pipe.py"} & set(os.listdir(copy.root))
    (project / "large.bin").write_bytes(bytes(20_000))
    with pytest.raises(RequestError, match="holds more than 0 MB"):
        Sandbox(project)


def test_environment_has_no_secrets(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    assert "secret" not in run(project, "import os; print(os.environ)").output
    assert os.environ["API_KEY"] == "secret"


def test_a_missing_command_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_bubblewrap", lambda writable, command: [])
    with Sandbox(project) as box, pytest.raises(RequestError, match="cannot run no-such-program"):
        box.run(["no-such-program"])
