"""Files that are never half written, their hashes, what changes of them would be, and JSON out of them."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sfumato.errors import CheckpointError
from sfumato.interrupts import uninterrupted


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file, or leave it as it was. Mode, owner and extended attributes of a previous file stay.

    Args:
        path: the file; its directory is made if need be.
        content: all of it.

    Raises:
        CheckpointError: if it cannot be written (disk full, no permission); the previous file survives.
    """
    temporary = path.with_name(path.name + ".partial")
    try:
        with uninterrupted():
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(content)
                if path.exists():
                    _copy_attributes(path, temporary)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
    except OSError as error:
        if temporary.is_file():
            temporary.unlink()
        raise CheckpointError(f"cannot write {path}: {error.strerror}; what stood there is unchanged") from error


def _copy_attributes(path: Path, other: Path) -> None:
    """Give another file the owner, mode, flags and extended attributes of one; its times are those of writing it."""
    before, now = path.stat(), other.stat()
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        os.chown(other, before.st_uid, before.st_gid)
    shutil.copystat(path, other)
    os.utime(other, ns=(before.st_atime_ns, now.st_mtime_ns))


def difference(path: Path, before: str, after: str) -> list[str]:
    """Lines of the unified difference of two texts of a file."""
    # A form feed ends no line of a file, though it does for `str.splitlines`.
    lines = before.removesuffix("\n").split("\n"), after.removesuffix("\n").split("\n")
    return list(difflib.unified_diff(*lines, str(path), str(path), lineterm=""))


def sha256_of(paths: Iterable[Path]) -> str:
    """The hash of files, one behind the other.

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


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        CheckpointError: if it is missing, or not a JSON object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} holds a {type(value).__name__}; allowed: an object")
    return value
