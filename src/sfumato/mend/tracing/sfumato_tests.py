"""A plugin for pytest that tells `sitecustomize` beside it which lines belong to tests that fail or pass."""

from __future__ import annotations

from typing import Any

from sitecustomize import FAILED, OUTSIDE, PASSED, count_lines  # type: ignore[import-not-found, unused-ignore]

_failed = False


def pytest_runtest_logstart() -> None:
    global _failed
    _failed = False
    count_lines(OUTSIDE)


def pytest_runtest_logreport(report: Any) -> None:
    global _failed
    _failed |= report.failed
    if report.when == "teardown":
        count_lines(FAILED if _failed else PASSED)
