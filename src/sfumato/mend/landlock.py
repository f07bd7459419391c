"""Linux's Landlock: a process gives up its right to write anywhere but in a few places, for itself and all it starts.

Source: the kernel's userspace-api/landlock documentation; numbers are those of its headers.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
# Writing, removing and making of all kinds; then, with later versions, what each of them added.
_RIGHTS = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_ADDED = {2: 1 << 13, 3: _TRUNCATE}
_SCOPED_FROM, _SCOPES = 6, 0b11
"""Signals and abstract sockets reach only what is restricted too."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("handled_fs", ctypes.c_uint64), ("handled_net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Below(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32)]


def write_only_below(*paths: Path) -> bool:
    """Give up writing elsewhere, in this process and its children, for good.

    Args:
        paths: folders in which everything is still allowed, or files that may be written.

    Returns:
        Whether the kernel can do that.
    """
    libc = ctypes.CDLL(None)
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return False
    rights = _RIGHTS + sum(right for since, right in _ADDED.items() if since <= version)
    ruleset = _Ruleset(rights, 0, _SCOPES if version >= _SCOPED_FROM else 0)
    descriptor = libc.syscall(_CREATE_RULESET, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    if descriptor < 0:
        return False
    for path in paths:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = rights if path.is_dir() else rights & (_WRITE_FILE | _TRUNCATE)
        libc.syscall(_ADD_RULE, descriptor, _PATH_BENEATH, ctypes.byref(_Below(allowed, place)), 0)
        os.close(place)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return int(libc.syscall(_RESTRICT_SELF, descriptor, 0)) == 0
