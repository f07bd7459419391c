"""A fair lock for threads."""

from __future__ import annotations

import threading


class TurnLock:
    """A reentrant lock that no thread takes twice while another one waits.

    Python's locks go to whichever thread is awake when they are released, so a thread that takes one in a loop keeps
    it.
    """

    def __init__(self) -> None:
        self._lock, self._next = threading.Lock(), threading.Lock()
        self._owner: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        thread_id = threading.get_ident()
        if self._owner != thread_id:
            # Held by the next thread in line, so that the current holder cannot be next as well.
            with self._next:
                self._lock.acquire()
            self._owner = thread_id
        self._depth += 1

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
            self._lock.release()
