"""Loops come from the library in the package or from the compiler, with equal results."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato.kernels.cpu import backend, products, running
from sfumato.kernels.cpu.loops import compiling
from sfumato.kernels.cpu.loops.sizes import features
from sfumato.kernels.cpu.running import Loop

LOOPS = [one for module in (backend, products) for one in vars(module).values()]
LOOPS = [one for one in LOOPS if isinstance(one, Loop)]
PROGRAM = """
import sys
import torch
from sfumato.kernels.base import Rounding
from sfumato.kernels.cpu import running
from sfumato.kernels.cpu.backend import CompiledBackend
x = torch.randn(5, 64, generator=torch.Generator().manual_seed(0))
with torch.no_grad():
    print(CompiledBackend().quantize(x, Rounding(torch.ones(64), 2, 2)))
print(running.library() is None, "numba" in sys.modules, file=sys.stderr)
"""
runs = pytest.mark.skipif(
    sys.platform != "linux" or not features() >= running.LIBRARIES["x86-64-v3.so"],
    reason="the libraries are for other CPUs",
)


class Nothing(Loop):
    """A loop that does nothing: compiled, then loaded from the cache."""

    def function(self) -> Any:
        return does_nothing


def does_nothing(job: Any) -> None:
    pass


def test_first_compilation_is_announced_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr(running, "library", lambda: None)
    monkeypatch.setattr(running, "_COMPILING_S", 0.0)
    Nothing("rows.nothing")(1, 1)
    monkeypatch.setattr(Loop, "_announced", False)
    caplog.clear()
    # It is found, however long that takes.
    Nothing("rows.nothing")(1, 1)
    assert not caplog.records
    made = compiling.cfunc(compiling.types.void(compiling.types.voidptr))
    monkeypatch.setattr(compiling, "cfunc", lambda *signature, cache: made)
    for _ in range(2):
        Nothing("rows.nothing")(1, 1)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize("name", running.LIBRARIES)
def test_libraries_are_built_from_the_current_sources(name: str):
    """If not: python -m sfumato.kernels.cpu.loops.build."""
    held = (running.LOOPS / name).read_bytes()
    assert held[-32:] == running.seal(held[:-32])


@runs
@pytest.mark.parametrize("name", running.LIBRARIES)
def test_libraries_export_every_loop(name: str):
    """A library loads on CPUs that could not run it."""
    library = ctypes.CDLL(str(running.LOOPS / name))
    assert len(LOOPS) > 10
    assert all(hasattr(library, loop.symbol) for loop in LOOPS)


@runs
def test_best_library_for_the_cpu_is_chosen(monkeypatch: pytest.MonkeyPatch):
    for name, needed in running.LIBRARIES.items():
        if features() >= needed:
            monkeypatch.setattr(running, "features", lambda needed=needed: needed)
            library = running.library.__wrapped__()
            assert library is not None
            assert Path(library._name).name == name
    monkeypatch.setattr(running, "features", frozenset)
    assert running.library.__wrapped__() is None


def ask(**environment: str) -> tuple[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return done.stdout, done.stderr.split()[-2:]


@runs
def test_library_equals_a_loop_compiled_here():
    shipped, how = ask()
    assert how == ["False", "False"], "no compiler is imported"
    compiled, how = ask(SFUMATO_COMPILE_LOOPS="1")
    assert how == ["True", "True"]
    assert shipped == compiled


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_damaged_or_outdated_library_is_not_loaded(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    name = "x86-64-v3.so"
    content = (running.LOOPS / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(content[:1000] if damage == "cut" else content)
    monkeypatch.setattr(running, "LIBRARIES", {str(path): frozenset[str]()})
    if damage == "other":
        monkeypatch.setattr(running, "SECOND_DIGIT", 255)
    assert running.library.__wrapped__() is None


def test_loops_compile_where_no_cache_is_writable(tmp_path: Path):
    """Neither into the package nor into a home."""
    program = "import numpy\nfrom sfumato.kernels.cpu.loops.compiling import order\nprint(order(numpy.float32(0.0)))\n"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    assert any(tmp_path.iterdir())
