"""Handling of SIGINT (Ctrl-C) and SIGTERM.

The command line ends at once at either (`__main__`), except in blocks that hold signals back to save their work.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

NUMBERS = (signal.SIGINT, signal.SIGTERM)
AGAIN_S = 1.0
"""Seconds after which a second signal counts. One Ctrl-C can arrive twice: from the terminal, and from torchrun, make
or timeout."""


class Interrupted(KeyboardInterrupt):
    """A signal asked this process to end."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(error: KeyboardInterrupt) -> int:
    """The exit code for a signal: 130 for SIGINT, 143 for SIGTERM."""
    return 128 + (error.number if isinstance(error, Interrupted) else signal.SIGINT)


class Signals:
    """Holds SIGINT and SIGTERM back in a `with` block, which checks `arrived` where it can stop.

    A second signal, `AGAIN_S` or more after the first, acts as without the block. Nothing is held outside the main
    thread, or if the process was started to ignore the signal.
    """

    def __init__(self) -> None:
        self.arrived: int | None = None
        """The first signal that arrived."""
        self._arrived_at = 0.0
        self._raises = False
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Signals:
        self.arrived = None
        if threading.current_thread() is threading.main_thread():
            for number in NUMBERS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._hold)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise `Interrupted` if a signal arrives in this block or arrived before it."""
        self._raises = True
        try:
            self.check()
            yield
        finally:
            self._raises = False

    def check(self) -> None:
        """Raise `Interrupted` if a signal has arrived."""
        if self.arrived is not None:
            raise Interrupted(self.arrived)

    def _hold(self, number: int, frame: object) -> None:
        now = time.monotonic()
        if self.arrived is not None and now - self._arrived_at >= AGAIN_S:
            self.__exit__()
            signal.raise_signal(number)
            return
        if self.arrived is None:
            self.arrived, self._arrived_at = number, now
        if self._raises:
            raise Interrupted(number)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay signals to the end of the block."""
    signals = Signals()
    try:
        with signals:
            yield
    finally:
        if signals.arrived is not None:
            signal.raise_signal(signals.arrived)
