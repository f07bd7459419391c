"""A file is replaced as a whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import stat
import subprocess
from pathlib import Path

import pytest

from sfumato.errors import CheckpointError
from sfumato.storage import difference, write_atomically


def test_write_replaces_content(tmp_path: Path):
    path = tmp_path / "new" / "deep" / "file.bin"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert [other.name for other in path.parent.iterdir()] == ["file.bin"]


def test_content_is_synced_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A power cut after the rename must find the content there."""
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    seen = []

    def sync(descriptor: int) -> None:
        seen.append((path.read_bytes(), os.fstat(descriptor).st_size))

    monkeypatch.setattr(os, "fsync", sync)
    write_atomically(path, b"newer")
    assert seen == [(b"old", 5)]


def test_mode_owner_and_attributes_are_kept(tmp_path: Path):
    path = tmp_path / "script.sh"
    path.write_bytes(b"old")
    path.chmod(0o755)
    os.utime(path, (1000, 2000))
    other = 4321 if os.geteuid() == 0 else os.geteuid()
    os.chown(path, other, other if os.geteuid() == 0 else -1)
    path.chmod(0o4755)
    with contextlib.suppress(OSError):
        os.setxattr(path, "user.note", b"kept")
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    write_atomically(path, b"new")
    status = path.stat()
    assert stat.S_IMODE(status.st_mode) == 0o4755
    assert status.st_uid == other
    assert status.st_atime == 1000
    assert status.st_mtime > 2000
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == attributes


@pytest.mark.parametrize("moment", ["write", "fsync", "rename"])
def test_failure_leaves_only_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str):
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")

    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if moment == "write":
        # The kernel's own refusal; Python ignores the signal that comes with it.
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        reason = os.strerror(errno.EFBIG)
    else:
        monkeypatch.setattr(*((os, "fsync") if moment == "fsync" else (Path, "replace")), fail)
        reason = os.strerror(errno.ENOSPC)
    try:
        with pytest.raises(CheckpointError, match=f"cannot write {path}: {reason}; the previous file is unchanged"):
            write_atomically(path, bytes(5000))
    finally:
        if moment == "write":
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"old"
    assert [other.name for other in tmp_path.iterdir()] == ["file.bin"]


def test_impossible_directory(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"cannot write .*file/below"):
        write_atomically(tmp_path / "file" / "below", b"")


@pytest.mark.parametrize(
    ("before", "after"), [("a\nb", "a\nc"), ("a\nb", "a\nb\n"), ("a\r\nb\r\n", "c\r\nb\r\n"), ("", "a\x0cb")]
)
def test_differences_can_be_applied(tmp_path: Path, before: str, after: str):
    (tmp_path / "f.txt").write_bytes(before.encode())
    lines = difference(Path("f.txt"), before, after)
    patch = "".join(f"{line}\n" for line in lines).encode()
    subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=patch, check=True)
    assert (tmp_path / "f.txt").read_bytes() == after.encode()
