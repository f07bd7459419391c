"""Ctrl-C and SIGTERM at random moments of `sfumato run`, `edit`, `eval` and `train`, each in a terminal of its own.

    python benchmarks/interrupts.py --n 100

Moments are uniform over the time that the command takes when it is left alone. A command passes if it exits with 130
or 143, or ends by itself before the signal; if it writes no traceback and does not abort; if the terminal shows its
cursor and has the modes that it had; and if nothing is lost: a run's state is that of the last step in its log, and an
edited file is the old or the new one, with nothing beside it. Prints a table, and exits with 1 if anything failed.

A signal can come before Python runs the first line of a program (the column "starting"), and ends as Python has it.
Linux only.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = "open('started', 'w'); from sfumato.__main__ import main; main()"
LIMIT_S = 600.0
BUGGY = "def area(a, b):\n    return a + b\n"
RECIPE = """
[model]
vocab_size = 261
hidden_size = 16
intermediate_size = 32
num_hidden_layers = 1
num_attention_heads = 2
num_key_value_heads = 1
head_dim = 8
max_position_embeddings = 160
canvas_embedding = true
[data]
tasks = { arithmetic = 1.0 }
tokenizer_items = 5
[train]
steps = 60
[generation_spec]
canvas_length = 32
[packing]
rows = 1
row_length = 512
canvas_lengths = [32]
[evaluation]
tasks = ["arithmetic"]
n = 4
steps = 4
"""
COMMANDS = {
    "run": ["run", "answer, then derive: 7*6+3^2", "--n", "2", "--set", "adaptive=false", "--steps", "32"],
    "edit": ["edit", "area.py", "fix the bug:", "--span", "2", "--yes"],
    "eval": ["eval", "tiny", "--task", "arithmetic", "--n", "8", "--steps", "2,4", "--twin", "none"],
    "train": ["train", "small.toml", "--dir", "run", "--set", "train.eval_every=20"],
}
EXITS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@dataclass
class Outcome:
    """What became of one command."""

    command: str
    number: signal.Signals
    moment_s: float
    code: int | None = None
    """As a shell gives it; None if it did not end."""
    starting: bool = False
    """Whether the signal came before the command's first line."""
    ended_before: bool = False
    faults: list[str] = field(default_factory=list)
    output: str = ""


class Terminal:
    """A command that has a terminal of 80 by 24, and talks to nothing else."""

    def __init__(self, arguments: list[str], directory: Path) -> None:
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.modes = termios.tcgetattr(self._theirs)
        self.written = b""
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=directory,
            env=os.environ | {"TERM": "xterm-256color", "OMP_NUM_THREADS": "1"},
            preexec_fn=lambda: os.login_tty(os.dup(self._theirs)),
        )

    def read(self, until_s: float) -> None:
        """Take what is written, to a moment of the monotonic clock or to the end of the process."""
        while True:
            left = until_s - time.monotonic()
            ended = self.process.poll() is not None
            if select.select([self._ours], [], [], 0.0 if ended else max(0.0, min(left, 0.05)))[0]:
                self.written += os.read(self._ours, 65536)
            elif ended or left <= 0:
                return

    def send(self, number: signal.Signals) -> None:
        """Type Ctrl-C, or send another signal."""
        if number == signal.SIGINT:
            os.write(self._ours, termios.tcgetattr(self._theirs)[6][termios.VINTR])
        else:
            self.process.send_signal(number)

    def has_handler(self) -> bool:
        """Whether SIGTERM, which Python leaves alone, is caught."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return False
        caught = re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)
        return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)

    def faults(self) -> Iterator[str]:
        """What is not as it should be on the terminal."""
        if re.search(rb"Traceback|Exception ignored|KeyboardInterrupt", self.written):
            yield "traceback"
        if re.search(rb"Fatal Python error|terminate called|Aborted", self.written):
            yield "abort"
        if self.written.rfind(b"\x1b[?25l") > self.written.rfind(b"\x1b[?25h"):
            yield "cursor"
        if termios.tcgetattr(self._theirs) != self.modes:
            yield "modes"

    def close(self) -> None:
        """Let go of the terminal; a command that still runs is killed."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)


def prepare(directory: Path) -> None:
    """What the commands work on."""
    (directory / "area.py").write_text(BUGGY)
    (directory / "small.toml").write_text(RECIPE)


def lost(command: str, directory: Path, fixed: str) -> Iterator[str]:
    """What a signal has done to files."""
    if command == "edit" and (directory / "area.py").read_text() not in (BUGGY, fixed):
        yield "file"
    if any(directory.rglob("*.partial")):
        yield "partial"
    log, state = directory / "run" / "log.jsonl", directory / "run" / "state.safetensors"
    if command == "train" and log.exists() and (num_steps := log.read_bytes().count(b"\n")):
        content = state.read_bytes() if state.exists() else b""
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")] or "{}")
        if json.loads(header.get("__metadata__", {}).get("progress", "{}")).get("step") != num_steps:
            yield "state"


def interrupt(command: str, number: signal.Signals, moment_s: float, fixed: str, *, started: bool = False) -> Outcome:
    """Start a command and send it a signal.

    Args:
        command: a key of `COMMANDS`.
        moment_s: when it is sent, from the start of the process.
        fixed: what `edit` makes of the file.
        started: count from the moment at which the command has its handlers instead.
    """
    outcome = Outcome(command, number, moment_s)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        prepare(directory)
        terminal = Terminal(COMMANDS[command], directory)
        try:
            limit_s = time.monotonic() + LIMIT_S
            while started and not terminal.has_handler() and time.monotonic() < limit_s:
                terminal.read(time.monotonic() + 0.01)
            terminal.read(time.monotonic() + moment_s)
            outcome.ended_before = terminal.process.poll() is not None
            outcome.starting = not (directory / "started").exists()
            if not outcome.ended_before:
                terminal.send(number)
            terminal.read(time.monotonic() + LIMIT_S)
            code = terminal.process.poll()
            # A shell gives 128 and the signal's number for what a signal ended.
            outcome.code = 128 - code if code is not None and code < 0 else code
            outcome.output = terminal.written.decode(errors="replace")
            allowed = {0} if outcome.ended_before else {EXITS[number]}
            faults = list(terminal.faults())
            if outcome.code not in allowed:
                faults.append("ignored" if outcome.code == 0 else "hung" if code is None else f"exit {outcome.code}")
        finally:
            terminal.close()
        outcome.faults = [*faults, *lost(command, directory, fixed)]
    return outcome


def time_alone(command: str) -> tuple[float, str]:
    """Seconds that a command takes, and the file it leaves."""
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        terminal = Terminal(COMMANDS[command], Path(name))
        began = time.monotonic()
        terminal.read(began + LIMIT_S)
        seconds, code = time.monotonic() - began, terminal.process.poll()
        terminal.close()
        if code != 0:
            raise SystemExit(f"{command} alone exits with {code}: {terminal.written.decode(errors='replace')}")
        return seconds, (Path(name) / "area.py").read_text()


def table(outcomes: list[Outcome]) -> str:
    """Outcomes by command and signal."""
    lines = [f"{'command':8} {'signal':8} {'sent':>5} {'130/143':>8} {'ended':>6} {'starting':>9}  faults"]
    for command in COMMANDS:
        for number in EXITS:
            cell = [one for one in outcomes if (one.command, one.number) == (command, number)]
            faults = [fault for one in cell if not one.starting for fault in one.faults]
            counted = ", ".join(f"{faults.count(name)} {name}" for name in dict.fromkeys(faults))
            right = sum(one.code == EXITS[number] for one in cell if not one.starting)
            ended, starting = sum(one.ended_before for one in cell), sum(one.starting for one in cell)
            lines.append(
                f"{command:8} {number.name:8} {len(cell):5} {right:8} {ended:6} {starting:9}  {counted or 'none'}"
            )
    return "\n".join(lines)


def main() -> None:
    """Interrupt, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100, help="signals in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="print every outcome, and what failed wrote")
    given = parser.parse_args()
    draw = random.Random(given.seed)
    alone = {command: time_alone(command) for command in COMMANDS}
    print("alone: " + ", ".join(f"{command} {seconds:.1f} s" for command, (seconds, _) in alone.items()), flush=True)
    outcomes = []
    cells = [(command, number) for command in COMMANDS for number in EXITS]
    for i in range(given.n):
        command, number = cells[i % len(cells)]
        outcome = interrupt(command, number, draw.uniform(0.0, alone[command][0]), alone["edit"][1])
        outcomes.append(outcome)
        if given.verbose:
            told = ", ".join(outcome.faults) or "as it should be"
            print(f"{command} {number.name} at {outcome.moment_s:.2f} s: exit {outcome.code}, {told}", flush=True)
            if outcome.faults:
                print(outcome.output[-2000:], flush=True)
    print(table(outcomes))
    raise SystemExit(any(one.faults and not one.starting for one in outcomes))


if __name__ == "__main__":
    main()
