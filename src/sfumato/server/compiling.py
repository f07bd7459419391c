"""What answers must be, worked out in a process of its own: a hostile schema takes none of the time in which the
server's threads take turns, and no more memory than it is given. Run as a program, this module is that process.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from sfumato.constraints.automaton import Automaton, Maker, make_automaton
from sfumato.constraints.dfa import UNNAMED
from sfumato.errors import BusyError, RequestError, SfumatoError

MAX_WAITING = 8
"""Requests whose schemas wait for their turn; further ones are told to come back."""
_MEMORY_BYTES = 4 << 30
_SECONDS = 60.0
# A process that yields to the one that computes answers.
_NICENESS = 5


class Compiler:
    """Makes automata over the tokens of one model. Its process starts when it is first needed, and anew if it died.

    Args:
        token_bytes, eos_ids: see `make_automaton`.
    """

    def __init__(self, token_bytes: Sequence[bytes | None], eos_ids: Sequence[int]) -> None:
        self._tokens = token_bytes, eos_ids
        self._process: subprocess.Popen[bytes] | None = None
        self._turn, self._counting, self._num_waiting = threading.Lock(), threading.Lock(), 0

    def make(self, makers: Sequence[Maker]) -> Automaton | None:
        """See `make_automaton`. Waits: call it in a thread.

        Raises:
            RequestError: if it cannot be made, or takes too much.
            BusyError: if too many wait.
        """
        with self._counting:
            if self._num_waiting > MAX_WAITING:
                raise BusyError(f"{self._num_waiting} schemas wait to be read; try again in about 5 s", 5)
            self._num_waiting += 1
        try:
            with self._turn:
                made: Automaton | Exception | None = self._ask(makers)
        finally:
            with self._counting:
                self._num_waiting -= 1
        if isinstance(made, Exception):
            raise made
        return made

    def _ask(self, makers: Sequence[Maker]) -> Any:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        # Its own budget ends what takes long; this is for what does not look at the clock.
        alarm = threading.Timer(_SECONDS, process.kill)
        alarm.start()
        try:
            pickle.dump(list(makers), process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.close()
            return RequestError(f"{UNNAMED} takes too much memory or time; ask for less")
        finally:
            alarm.cancel()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                pickle.dump(self._tokens, self._process.stdin)
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def main() -> None:
    """Answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    asked, told = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError):
        token_bytes, eos_ids = pickle.load(asked)
        while True:
            made: Any
            try:
                made = make_automaton(pickle.load(asked), token_bytes, eos_ids)
            except EOFError:
                return
            except MemoryError:
                made = RequestError(f"{UNNAMED} takes too much memory; ask for less")
            except SfumatoError as error:
                made = error
            except Exception as error:
                made = RuntimeError(f"{type(error).__name__}: {error}")
            told.write(pickle.dumps(made))
            told.flush()


if __name__ == "__main__":
    main()
