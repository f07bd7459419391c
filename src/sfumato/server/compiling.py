"""Builds output constraints in a separate process, so that a hostile schema cannot block the server's threads or use
more memory than allowed. Run as a program, this module is that process.
"""

from __future__ import annotations

import contextlib
import fcntl
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
"""Maximum waiting requests with schemas; more are told to retry."""
_MEMORY_BYTES = 4 << 30
_SECONDS = 60.0
# A process that yields to the one that computes answers.
_NICENESS = 5


class Compiler:
    """Builds automata over one model's tokens. Its process starts on first use, and again if it died."""

    def __init__(self, token_bytes: Sequence[bytes | None], eos_ids: Sequence[int]) -> None:
        self._tokens = token_bytes, eos_ids
        self._process: subprocess.Popen[bytes] | None = None
        self._turn, self._room = threading.Lock(), threading.BoundedSemaphore(MAX_WAITING + 1)
        self._is_closed = False

    def make(self, makers: Sequence[Maker]) -> Automaton | None:
        """See `make_automaton`; refuses what takes too much, and too many at once. Blocks: call it in a thread."""
        if not self._room.acquire(blocking=False):
            raise BusyError(f"{MAX_WAITING} schemas are waiting to be compiled; try again in about 5 s", 5)
        try:
            with self._turn:
                made: Automaton | Exception | None = self._ask(makers)
        finally:
            self._room.release()
        if isinstance(made, Exception):
            raise made
        return made

    def _ask(self, makers: Sequence[Maker]) -> Any:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        # Slow compilations end by their own budget; this is for code that does not check the clock.
        alarm = threading.Timer(_SECONDS, process.kill)
        alarm.start()
        try:
            pickle.dump(list(makers), process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            self._kill()
            return RequestError(f"{UNNAMED} takes too much memory or time; simplify it")
        finally:
            alarm.cancel()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._is_closed:
            raise BusyError("the server is shutting down", None)
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                pickle.dump(self._tokens, self._process.stdin)
        return self._process

    def close(self) -> None:
        """Stop the process for good."""
        self._is_closed = True
        self._kill()

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def main() -> None:
    """Answer until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Stderr is never read. When its other end closes, the kernel sends SIGIO, which ends a process: it ends with its
    # parent, however that ends and whatever is being compiled.
    fcntl.fcntl(2, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(2, fcntl.F_SETFL, fcntl.fcntl(2, fcntl.F_GETFL) | os.O_ASYNC)
    os.nice(_NICENESS)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError):
        token_bytes, eos_ids = pickle.load(requests)
        while True:
            made: Any
            try:
                made = make_automaton(pickle.load(requests), token_bytes, eos_ids)
            except EOFError:
                return
            except MemoryError:
                made = RequestError(f"{UNNAMED} takes too much memory; simplify it")
            except SfumatoError as error:
                made = error
            except Exception as error:
                made = RuntimeError(f"{type(error).__name__}: {error}")
            replies.write(pickle.dumps(made))
            replies.flush()


if __name__ == "__main__":
    main()
