"""Programs in a terminal of 80 columns."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

TIMEOUT_S = 600.0
PATIENCE_S = 5.0


class Terminal:
    """`sfumato` with a terminal as stdout, unless other streams are named, and everything it writes there.

    Args:
        streams: which of stdin, stdout and stderr are the terminal; the others are pipes.
        environment: changes to it.
    """

    def __init__(
        self,
        *arguments: object,
        streams: tuple[str, ...] = ("stdout",),
        environment: dict[str, str] | None = None,
        module: str = "sfumato",
    ) -> None:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", module, *map(str, arguments)]
        terminal = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"}
        ends: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | dict.fromkeys(streams, theirs)
        self.process = subprocess.Popen(command, env=os.environ | terminal | (environment or {}), **ends)
        os.close(theirs)
        self._ours = ours
        self.written = ""

    def type(self, text: str) -> None:
        """Type some text."""
        os.write(self._ours, text.encode())

    def read_until(self, pattern: str = "", *, again: Callable[[], object] | None = None) -> None:
        """Read until the output matches a pattern; to the end without one.

        Args:
            again: what to type after waiting for a while.
        """
        end = time.monotonic() + TIMEOUT_S
        while not (pattern and re.search(pattern, self.written)):
            patience = PATIENCE_S if again else TIMEOUT_S
            waiting, _, _ = select.select([self._ours], [], [], patience)
            if not waiting:
                assert again is not None, self.written
                assert time.monotonic() < end, self.written
                again()
                continue
            try:
                part = os.read(self._ours, 65536)
            except OSError:
                # Linux reports this when the other side is closed.
                break
            if not part:
                break
            self.written += part.decode("utf-8", "replace")

    def close(self) -> tuple[int, str, str]:
        """The exit code, and the output of piped stdout and stderr."""
        self.read_until()
        os.close(self._ours)
        stdout, stderr = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, (stdout or b"").decode(), (stderr or b"").decode()
