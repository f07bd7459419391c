"""What this process may use of the machine that it is on: containers are given less than there is."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")


def usable_cores(root: Path = _ROOT) -> int:
    """Cores that this process may compute on: those it is bound to, and no more than its control groups' share.

    Args:
        root: where /proc and /sys are.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = [math.ceil(share) for folder in _groups("cpu", root) if (share := _cores_of(folder)) is not None]
    return max(1, min([bound, *shares]))


def cpu_name() -> str:
    """What the CPU calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def num_preemptions() -> int:
    """How often this process had to leave a core to another one so far; 0 where the system does not count."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def free_memory(root: Path = _ROOT) -> int:
    """Bytes of memory that this process can still have, in its control groups as well.

    Args:
        root: where /proc and /sys are.
    """
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        free = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    left = [left for folder in _groups("memory", root) if (left := _memory_of(folder)) is not None]
    return max(0, min([free, *left]))


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """The control groups of this process that there are, its own first: those of the first kind have a hierarchy for
    each controller, those of the second one for all. In a container its own may stand where the hierarchy begins."""
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
        own = base / path.lstrip("/")
        yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(base) and folder.is_dir())


def _cores_of(group: Path) -> float | None:
    """The share of a control group, in cores; None if it is not limited."""
    words = _words(group / "cpu.max") or [*_words(group / "cpu.cfs_quota_us"), *_words(group / "cpu.cfs_period_us")]
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not int(words[1]):
        return None
    return int(words[0]) / int(words[1])


def _memory_of(group: Path) -> int | None:
    """Bytes that are left of a control group's memory; None if it is not limited."""
    for limit, used, idle in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        words = [*_words(group / limit), *_words(group / used)]
        if len(words) == 2 and all(word.isdecimal() for word in words):
            # What was read from files and not for long is given up when memory is asked for.
            kept = dict(zip(*[iter(_words(group / "memory.stat"))] * 2, strict=False))
            return int(words[0]) - int(words[1]) + int(kept.get(idle, "0"))
    return None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return []
