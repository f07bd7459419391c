"""`pytest --mend`: after failures, search in a copy for an edit that makes the failed tests pass."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.mend.files import SourceFile

_OUTCOMES = ("failed", "error")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("sfumato")
    group.addoption(
        "--mend",
        action="store_true",
        help="after failures, search for an edit that makes the tests pass; writes nothing",
    )
    group.addoption("--mend-budget", type=int, default=50, metavar="RUNS", help="maximum runs of the failed tests")
    group.addoption("--mend-model", default="mend", metavar="NAME", help="name or directory of the model")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Search for a repair and print it."""
    failed = [report.nodeid for outcome in _OUTCOMES for report in terminalreporter.stats.get(outcome, [])]
    if not failed or not config.getoption("mend") or hasattr(config, "workerinput"):
        return
    terminalreporter.section("mend")
    try:
        lines = _mend(config, list(dict.fromkeys(failed)))
    except SfumatoError as error:
        lines = [str(error)]
    for line in lines:
        terminalreporter.write_line(line)


def _mend(config: pytest.Config, failed: list[str]) -> list[str]:
    """The text to print: the diff, or why there is none."""
    from sfumato.mend.mender import load_mender
    from sfumato.mend.search import SearchConfig
    from sfumato.storage import difference

    files = _loaded_sources(config.rootpath)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *failed]
    search = SearchConfig(max_runs=config.getoption("mend_budget"))
    results = load_mender(config.getoption("mend_model")).mend_project(config.rootpath, files, command, config=search)
    if not results:
        return ["the failed tests pass when they run alone, so there is nothing to repair"]
    lines: list[str] = []
    for file, mended in results:
        path = file.path.relative_to(config.rootpath)
        if mended.verified_by is not None:
            lines += [*difference(path, file.text, mended.text), ""]
            lines.append(f"makes the failed tests pass, found in {mended.num_runs} test runs; nothing was written")
        elif mended.proposal:
            lines += [mended.reason, *difference(path, file.text, mended.proposal)]
    return lines or [results[0][1].reason]


def _loaded_sources(root: Path) -> list[SourceFile]:
    """Modules imported by the tests from a directory, except tests."""
    from sfumato.mend.evidence import is_test
    from sfumato.mend.files import SUFFIXES, read_source

    names = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    paths = sorted(Path(name) for name in names if name and name.endswith(SUFFIXES))
    return [
        read_source(path)
        for path in paths
        if path.is_relative_to(root) and not is_test(path.relative_to(root)) and "site-packages" not in path.parts
    ]
