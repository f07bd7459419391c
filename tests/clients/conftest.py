"""A server that all clients ask, and the programs that they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from serving import Served, start


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One of the embedded model."""
    yield from start(tmp_path_factory.mktemp("server"))


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """What a program prints: Python, unless another one is named. It has a process of its own, as clients warn."""

    def ran(code: str, *, suffix: str = ".py", program: str = sys.executable, directory: Path = tmp_path) -> str:
        script = directory / f"client{suffix}"
        script.write_text(code, encoding="utf-8")
        offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
        done = subprocess.run(
            [program, str(script)],
            env=os.environ | offline,
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ran
