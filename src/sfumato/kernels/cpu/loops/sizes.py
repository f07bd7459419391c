"""Constants that the loops share with their callers, and the features of this CPU."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

PANEL = 32
"""Outputs in a panel of a matrix."""
STEP = 64
"""Inputs that one AMX instruction reads; rows of integers are padded to a multiple of it."""
FLIP = 128
"""VNNI multiplies signed by unsigned integers: flipping this bit makes signed ones unsigned, 128 higher."""
NOTHING, WEIGHTS, DIGIT_PAIRS = 0, 1, 2
"""What `vocabulary.read` returns of the weights of logits."""
GATES: tuple[str, ...] = ("silu", "gelu_pytorch_tanh")
"""Activations that the gate loops support."""
QUERIES = 32
"""Query heads that go through a text together."""


@functools.cache
def features() -> frozenset[str]:
    """Features of this x86 CPU, by Linux's names."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("flags"):
                return frozenset(line.split(":")[1].split())
    from llvmlite import binding

    names = {"avx512vnni": "avx512_vnni", "avxvnni": "avx_vnni", "amx-int8": "amx_int8", "amx-tile": "amx_tile"}
    return frozenset(names.get(name, name) for name, there in binding.get_host_cpu_features().items() if there)
