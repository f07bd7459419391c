"""A plugin for pytest that collects and runs only the tests that `sfumato_tests` saw fail, or all if there are none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

_failing = set(Path(os.environ["SFUMATO_FAILING"]).read_text(encoding="utf-8").splitlines())
_files = {name.split("::")[0] for name in _failing}


@pytest.hookimpl(tryfirst=True)
def pytest_ignore_collect(collection_path: Path, config: Any) -> bool | None:
    if not collection_path.is_file() or not collection_path.is_relative_to(config.rootpath):
        return None
    is_failing = collection_path.relative_to(config.rootpath).as_posix() in _files
    return None if is_failing else True


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    others = [item for item in items if item.nodeid not in _failing]
    if len(others) < len(items):
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.nodeid in _failing]
