"""What is set for the whole process, and that a system without it is left alone."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from sfumato.cli.app import keep_freed_memory


def test_freed_memory_is_kept(monkeypatch: pytest.MonkeyPatch):
    calls: list[tuple[int, int]] = []

    class Library:
        def mallopt(self, what: int, value: int) -> int:
            calls.append((what, value))
            return 1

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    keep_freed_memory()
    assert dict(calls) == {-3: 2**25, -1: 2**29, -2: 2**26}


@pytest.mark.parametrize("error", [OSError, AttributeError, TypeError])
def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch, error: type[Exception]):
    def missing(name: Any) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", missing)
    keep_freed_memory()
