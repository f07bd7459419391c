"""What this CPU can do."""

from __future__ import annotations

import functools
import sys
from pathlib import Path


@functools.cache
def features() -> frozenset[str]:
    """Features of this x86 CPU, by Linux's names."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("flags"):
                return frozenset(line.split(":")[1].split())
    from llvmlite import binding

    names = {"avx512vnni": "avx512_vnni", "amx-int8": "amx_int8", "amx-tile": "amx_tile"}
    return frozenset(names.get(name, name) for name, there in binding.get_host_cpu_features().items() if there)
