"""Nothing heavy is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

HEAVY = ("torch", "tokenizers", "safetensors", "numpy", "numba", "transformers")

RUN = """
from sfumato.cli.app import app
for args in {}:
    try:
        app(args)
    except SystemExit as end:
        assert not end.code
"""


def imported_by(code: str, names: Sequence[str] = HEAVY) -> list[str]:
    """Those of some modules that are there after running some code in a fresh interpreter."""
    report = f"{code}\nimport sys\nprint('\\n' + ' '.join(name for name in {tuple(names)} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_importing_the_package_imports_nothing_heavy():
    assert imported_by("import sfumato\ndir(sfumato)\nsfumato.RequestError\nsfumato.__version__") == []


def test_help_imports_nothing_heavy():
    asked = [["--help"], ["--version"], ["data", "synth", "--help"]]
    asked += [[name, "--help"] for name in ("run", "train", "eval", "doctor")]
    assert imported_by(RUN.format(asked)) == []


def test_answer_needs_no_compiler():
    """It takes as long to import as the rest of the command, and one operation on the meta device imports it all."""
    assert imported_by(
        RUN.format([["run", "12+5"]]), ["torch", "torch._dynamo", "torch.fx.experimental.symbolic_shapes", "sympy"]
    ) == ["torch"]


def test_a_client_imports_nothing_heavy():
    assert imported_by("from sfumato.client import Client", [*HEAVY, "httpx"]) == []
    assert imported_by("import sfumato\nsfumato.Client('http://127.0.0.1:9')") == []
