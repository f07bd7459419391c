"""Atomic file writes, claimed directories, file hashes and diffs."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import CheckpointError, ConfigError
from sfumato.interrupts import uninterrupted


def write_atomically(path: Path, *parts: bytes | memoryview) -> None:
    """Replace a file completely or leave it unchanged. Mode, owner and extended attributes are kept.

    Args:
        path: the file; its directory is created if missing.
        parts: the whole new content, one after the other.

    Raises:
        CheckpointError: if it cannot be written (disk full, no permission); the previous file survives.
    """
    # A name that only these files have; what a killed process left of it is replaced.
    temporary = path.with_name(f".{path.name}.sfumato-partial")
    try:
        with uninterrupted():
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                for part in parts:
                    file.write(part)
                if path.exists():
                    _copy_attributes(path, temporary)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
    except OSError as error:
        if temporary.is_file():
            temporary.unlink()
        raise CheckpointError(f"cannot write {path}: {error.strerror}; the previous file is unchanged") from error


def write_json(path: Path, value: object) -> None:
    """Replace a JSON file like `write_atomically`."""
    write_atomically(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


@contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """Keep other processes that claim a directory out of it, which is created if missing.

    Raises:
        ConfigError: if another one has claimed it, or it cannot be written to.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(directory / ".lock", timeout=0)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise ConfigError(f"{directory} is in use by another process; wait for its end, or use another --dir") from None
    except OSError as error:
        raise ConfigError(f"cannot write to {directory}: {error.strerror or error}") from None
    try:
        yield
    finally:
        lock.release()


def _copy_attributes(path: Path, other: Path) -> None:
    """Copy owner, mode, flags and extended attributes, but not times, to another file."""
    before, now = path.stat(), other.stat()
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        os.chown(other, before.st_uid, before.st_gid)
    shutil.copystat(path, other)
    os.utime(other, ns=(before.st_atime_ns, now.st_mtime_ns))


def difference(path: Path, before: str, after: str) -> list[str]:
    """Lines of the unified diff between two texts of a file."""
    found: list[str] = []
    for line in difflib.unified_diff(_lines(before), _lines(after), str(path), str(path)):
        found.append(line.removesuffix("\n"))
        if not line.endswith("\n"):
            found.append("\\ No newline at end of file")
    return found


def _lines(text: str) -> list[str]:
    # A form feed does not end a line of a file, although `str.splitlines` says so.
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def sha256_of(paths: Iterable[Path]) -> str:
    """One hash over several files in order.

    Raises:
        CheckpointError: if one cannot be read.
    """
    digest = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                while part := file.read(2**20):
                    digest.update(part)
        except OSError as error:
            raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    return digest.hexdigest()
