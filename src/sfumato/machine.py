"""Cores and memory that this process may use, respecting containers."""

from __future__ import annotations

import contextlib
import math
import os
import platform
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")


def usable_cores(root: Path = _ROOT) -> int:
    """Number of cores this process may use, limited by affinity and control groups.

    Args:
        root: directory that holds /proc and /sys.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = [math.ceil(share) for folder in _groups("cpu", root) if (share := _cores_of(folder)) is not None]
    return max(1, min([bound, *shares]))


def cpu_name() -> str:
    """The CPU's model name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def core_time() -> tuple[int, int]:
    """Nanoseconds for which this process's threads have run, and have waited for a core; zeros if the system does not
    say."""
    total = [0, 0]
    try:
        for thread in os.listdir("/proc/self/task"):
            # Threads may have ended since.
            with (
                contextlib.suppress(FileNotFoundError, ProcessLookupError),
                open(f"/proc/self/task/{thread}/schedstat") as file,
            ):
                total = [so_far + int(more) for so_far, more in zip(total, file.read().split()[:2], strict=True)]
    except OSError:
        return 0, 0
    return total[0], total[1]


def free_memory(root: Path = _ROOT) -> int:
    """Bytes of memory still available to this process, limited by control groups.

    Args:
        root: directory that holds /proc and /sys.
    """
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        free = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    left = [left for folder in _groups("memory", root) if (left := _memory_of(folder)) is not None]
    return max(0, min([free, *left]))


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """The control groups of this process, innermost first. Version 1 has one hierarchy per controller, version 2 one
    for all. In a container, the own group may be the root."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            base = root / "sys/fs/cgroup"
        elif controller in controllers.split(","):
            base = root / "sys/fs/cgroup" / controllers
            base = base if base.is_dir() else root / "sys/fs/cgroup" / controller
        else:
            continue
        group = base / path.lstrip("/")
        yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(base) and folder.is_dir())


def _cores_of(group: Path) -> float | None:
    """A control group's CPU limit in cores; None if unlimited."""
    words = _words(group / "cpu.max") or [*_words(group / "cpu.cfs_quota_us"), *_words(group / "cpu.cfs_period_us")]
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not int(words[1]):
        return None
    return int(words[0]) / int(words[1])


def _memory_of(group: Path) -> int | None:
    """Bytes left within a control group's memory limit; None if unlimited."""
    for limit, used, idle in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        words = [*_words(group / limit), *_words(group / used)]
        if len(words) == 2 and all(word.isdecimal() for word in words):
            # Inactive file cache is reclaimed when memory is needed.
            kept = dict(zip(*[iter(_words(group / "memory.stat"))] * 2, strict=False))
            return int(words[0]) - int(words[1]) + int(kept.get(idle, "0"))
    return None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return []
