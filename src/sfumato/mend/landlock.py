"""Linux Landlock: a process restricts itself and its children to writing in a few places.

Source: the kernel's userspace-api/landlock documentation; numbers are from its headers.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
# Write, remove and create operations of all kinds, then those added by later versions.
_RIGHTS = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_ADDED = {2: 1 << 13, 3: _TRUNCATE}
_SCOPED_FROM, _SCOPES = 6, 0b11
"""Signals and abstract sockets are confined to restricted processes."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("handled_fs", ctypes.c_uint64), ("handled_net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Below(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32)]


def write_only_below(*paths: Path) -> bool:
    """Permanently give up writing elsewhere, for this process and its children.

    Args:
        paths: directories with full access, or files that may be written.

    Returns:
        Whether the kernel supports it.
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
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = rights if path.is_dir() else rights & (_WRITE_FILE | _TRUNCATE)
        libc.syscall(_ADD_RULE, descriptor, _PATH_BENEATH, ctypes.byref(_Below(allowed, target)), 0)
        os.close(target)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return int(libc.syscall(_RESTRICT_SELF, descriptor, 0)) == 0
