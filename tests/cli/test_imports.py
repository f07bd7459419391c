"""Nothing heavy is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "tokenizers", "safetensors", "numpy", "numba", "transformers")


def imported_by(code: str) -> list[str]:
    """The heavy modules that are there after running some code in a fresh interpreter."""
    report = f"{code}\nimport sys\nprint('\\n' + ' '.join(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_the_check_sees_torch():
    assert "torch" in imported_by("import sfumato\nsfumato.load")


def test_importing_the_package_imports_nothing_heavy():
    assert imported_by("import sfumato\ndir(sfumato)\nsfumato.RequestError\nsfumato.__version__") == []


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["--version"],
        ["data", "synth", "--help"],
        *[[name, "--help"] for name in ("run", "train", "eval", "doctor")],
    ],
    ids=str,
)
def test_help_imports_nothing_heavy(args):
    code = f"from sfumato.cli.app import app\ntry:\n    app({args})\nexcept SystemExit as end:\n    assert not end.code"
    assert imported_by(code) == []
