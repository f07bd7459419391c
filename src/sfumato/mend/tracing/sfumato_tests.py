"""A plugin for pytest that tells `sitecustomize` beside it which lines belong to tests that fail or pass, and lists the
tests that fail."""

from __future__ import annotations

import os
from pathlib import Path
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
        if _failed:
            with Path(os.environ["SFUMATO_TRACE_FOLDER"], "failing").open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")
