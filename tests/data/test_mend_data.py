"""The script that builds mend's corpora: repositories are read at their pinned commit."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

from sfumato.data.code import PERMISSIVE
from sfumato.errors import ConfigError

SCRIPT = Path(__file__).parents[2] / "recipes" / "mend_data.py"
SPEC = importlib.util.spec_from_file_location("mend_data", SCRIPT)
assert SPEC
assert SPEC.loader
mend_data = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mend_data)


def git(directory: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=directory, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    clone = tmp_path / "ada+sums"
    (clone / "tests").mkdir(parents=True)
    (clone / "sums.py").write_text("def count(n):\n    return [i for i in xrange(n)]\n")
    (clone / "tests" / "test_sums.py").write_text("assert True\n")
    (clone / "notes.txt").write_text("not Python\n")
    git(clone, "init", "-q")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "one")
    return tmp_path


def test_a_repository_is_read_at_its_commit(clones: Path):
    clone = clones / "ada+sums"
    commit = git(clone, "rev-parse", "HEAD")
    (clone / "later.py").write_text("x = 1\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "two")
    package = mend_data.read_repository("ada/sums", commit, "MIT", clones)
    assert package.files == (("sums.py", "def count(n):\n    return [i for i in range(n)]\n"),)
    assert (package.version, package.licence) == (commit, "MIT")


def test_a_repository_without_the_commit_is_named(clones: Path):
    with pytest.raises(ConfigError, match="ada/sums cannot be read at 0123abc"):
        mend_data.read_repository("ada/sums", "0123abc", "MIT", clones)


def test_pinned_repositories_are_permissive_and_have_whole_commits():
    lines = mend_data.REPOSITORIES.read_text().splitlines()
    assert lines
    for line in lines:
        name, commit, licence = line.split()
        assert name.count("/") == 1
        assert len(commit) == 40
        assert PERMISSIVE.search(licence)
