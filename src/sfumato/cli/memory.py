"""How this process keeps memory."""

from __future__ import annotations

import ctypes

# Names and numbers of glibc's malloc.h; 32 MB is the most that the first may be.
_MMAP_THRESHOLD, _LARGEST_MAPPED = -3, 32 * 2**20
_TRIM_THRESHOLD, _MOST_KEPT = -1, 512 * 2**20
_TOP_PAD, _GROWTH = -2, 64 * 2**20


def keep_freed_memory() -> None:
    """Have freed blocks stay with the process, so that the next step finds them; elsewhere than under glibc, nothing.

    Every step allocates and frees the same tens of megabytes. By default they go back to the system each time, and come
    back a page fault at a time. It is the program's to say, not a library's, as it holds for the whole process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST_MAPPED)
    mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
    mallopt(_TOP_PAD, _GROWTH)
