"""Cores and memory available to a process, with trees of /proc and /sys as in containers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfumato.machine import free_memory, usable_cores

GB = 2**30
MEMINFO = f"MemTotal:       {64 * GB // 1024} kB\nMemAvailable:   {48 * GB // 1024} kB\n"


def tree(root: Path, groups: str, **files: str) -> Path:
    """A root with what /proc says of control groups, and files of /sys/fs/cgroup by path."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    (root / "proc/meminfo").write_text(MEMINFO)
    for path, text in files.items():
        place = root / "sys/fs/cgroup" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


@pytest.fixture(autouse=True)
def _sixteen_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(16)))


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/\n", {}, 16),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 16),
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 3),
        ("0::/\n", {"cpu.max": "20000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "9900000 100000\n"}, 16),
        # The group above has less.
        ("0::/some/own\n", {"some/cpu.max": "200000 100000\n", "some/own/cpu.max": "800000 100000\n"}, 2),
        # Of the first kind; and its own group stands where the hierarchy begins.
        (
            "4:cpu,cpuacct:/a\n",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "400000", "cpu,cpuacct/a/cpu.cfs_period_us": "100000"},
            4,
        ),
        ("4:cpu,cpuacct:/a\n", {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "10000"}, 5),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 16),
        ("2:memory:/\n", {"memory/cpu.max": "100000 100000"}, 16),
        ("0::/\n", {"cpu.max": "what 0\n"}, 16),
    ],
)
def test_cores(tmp_path: Path, groups: str, files: dict[str, str], cores: int):
    assert usable_cores(tree(tmp_path, groups, **files)) == cores


@pytest.mark.parametrize(
    ("groups", "files", "left"),
    [
        ("0::/\n", {"memory.max": "max\n", "memory.current": "5"}, 48),
        (
            "0::/\n",
            {
                "memory.max": str(8 * GB),
                "memory.current": str(5 * GB),
                "memory.stat": f"anon 7\ninactive_file {2 * GB}\n",
            },
            5,
        ),
        ("0::/\n", {"memory.max": str(2 * GB), "memory.current": str(3 * GB)}, 0),
        ("0::/\n", {"memory.max": str(90 * GB), "memory.current": "0"}, 48),
        (
            "9:memory:/own\n",
            {"memory/own/memory.limit_in_bytes": str(4 * GB), "memory/own/memory.usage_in_bytes": str(GB)},
            3,
        ),
    ],
)
def test_memory(tmp_path: Path, groups: str, files: dict[str, str], left: int):
    assert free_memory(tree(tmp_path, groups, **files)) == left * GB


def test_unknown_machine(tmp_path: Path):
    assert usable_cores(tmp_path) == 16
    assert free_memory(tmp_path) == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
