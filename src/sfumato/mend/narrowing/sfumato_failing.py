"""A plugin for pytest that runs only the tests that `sfumato_tests` saw fail, or all if there are none of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    failing = set(Path(os.environ["SFUMATO_FAILING"]).read_text(encoding="utf-8").splitlines())
    others = [item for item in items if item.nodeid not in failing]
    if len(others) < len(items):
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.nodeid in failing]
