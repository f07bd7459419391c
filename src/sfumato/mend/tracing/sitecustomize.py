"""Loaded by the interpreters of a project's tests (`sfumato.mend.evidence`) to record executed lines.

Uses only the standard library, because it runs in the project's environment. Under pytest, `sfumato_tests` beside it
tells where tests begin and end, and lines are counted by outcome.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any

_root, _folder = os.environ.get("SFUMATO_TRACE_ROOT", ""), os.environ.get("SFUMATO_TRACE_FOLDER", "")
_lines: dict[str, set[int]] = {}
_known: dict[str, set[int] | None] = {}
_counts: dict[str, dict[int, list[int]]] = {}
FAILED, PASSED, OUTSIDE = range(3)


def count_lines(outcome: int) -> None:
    """Count the lines executed since the last call for a test that failed or passed, or as outside of tests."""
    # Copies, because other threads go on.
    for path, lines in list(_lines.items()):
        counts = _counts.setdefault(path, {})
        for line in list(lines):
            counts.setdefault(line, [0, 0, 0])[outcome] += 1
        lines.clear()
    if sys.version_info >= (3, 12):
        sys.monitoring.restart_events()


def _lines_of(code: CodeType) -> set[int] | None:
    """The set of executed lines of a code object's file; None if the file is outside the project."""
    name = code.co_filename
    if name not in _known:
        path = os.path.abspath(name)
        is_inside = not name.startswith("<") and path.startswith(_root + os.sep)
        _known[name] = _lines.setdefault(path, set()) if is_inside else None
    return _known[name]


def _on_call(frame: FrameType, event: str, argument: Any) -> Any:
    lines = _lines_of(frame.f_code)
    if lines is None:
        return None

    def on_line(frame: FrameType, event: str, argument: Any) -> Any:
        lines.add(frame.f_lineno)
        return on_line

    return on_line


def _monitor() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]

    def on_line(code: CodeType, line: int) -> Any:
        lines = _lines_of(code)
        if lines is not None:
            lines.add(line)
        return monitoring.DISABLE

    tool = next(number for number in (4, 3) if monitoring.get_tool(number) is None)
    monitoring.use_tool_id(tool, "sfumato")
    monitoring.register_callback(tool, monitoring.events.LINE, on_line)
    monitoring.set_events(tool, monitoring.events.LINE)


def _write() -> None:
    count_lines(OUTSIDE)
    found = {path: counts for path, counts in _counts.items() if counts}
    path = os.path.join(_folder, f"lines-{os.getpid()}.json")
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(found, file)
    os.replace(f"{path}.part", path)


if _root and _folder:
    os.environ["PYTEST_PLUGINS"] = ",".join(filter(None, [os.environ.get("PYTEST_PLUGINS"), "sfumato_tests"]))
    if sys.version_info >= (3, 12):
        _monitor()
    else:
        sys.settrace(_on_call)
        threading.settrace(_on_call)
    atexit.register(_write)
