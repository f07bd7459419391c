"""A server shared by all client tests, and the client programs."""

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
    """A server of the embedded model."""
    yield from start(tmp_path_factory.mktemp("server"))


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """The output of a program, in Python by default, in its own process because clients warn."""

    def ran(code: str, *, suffix: str = ".py", program: str = sys.executable, directory: Path = tmp_path) -> str:
        script = directory / f"client{suffix}"
        script.write_text(code, encoding="utf-8")
        offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
        done = subprocess.run(
            [program, str(script)], env=os.environ | offline, cwd=directory, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ran
