"""SIGINT, which Ctrl-C sends, and SIGTERM.

The command line ends at once at either (`__main__`). A block that has something to keep holds them back.
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
    """A signal asks this process to end.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(error: KeyboardInterrupt) -> int:
    """What a shell gives for it: 130 for SIGINT, 143 for SIGTERM."""
    return 128 + (error.number if isinstance(error, Interrupted) else signal.SIGINT)


class Signals:
    """Holds SIGINT and SIGTERM back in a `with` block, which looks at `arrived` where it can stop.

    A second one, `AGAIN_S` or more after the first, acts as it would without the block. Nothing is held outside the
    main thread, to which signals go, and of signals that this process was started to ignore.
    """

    def __init__(self) -> None:
        self.arrived: int | None = None
        """The first signal that came."""
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
        """Raise `Interrupted` wherever a signal comes in this block, or came before it."""
        self._raises = True
        try:
            self.check()
            yield
        finally:
            self._raises = False

    def check(self) -> None:
        """Raise `Interrupted` if a signal has come."""
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
    """Hold signals back to the end of the block, where they act."""
    signals = Signals()
    try:
        with signals:
            yield
    finally:
        if signals.arrived is not None:
            signal.raise_signal(signals.arrived)
