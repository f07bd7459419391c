"""Signals are recorded, raised or passed on, and never lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sfumato
from sfumato import interrupts
from sfumato.interrupts import NUMBERS, Interrupted, Signals, exit_code, uninterrupted
from sfumato.storage import write_atomically


@pytest.fixture(autouse=True)
def handlers():
    """Those of Python, whatever a test leaves."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in NUMBERS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_signal_is_noted_and_handlers_are_restored(number):
    with Signals() as signals:
        assert signals.arrived is None
        signal.raise_signal(number)
        assert signals.arrived == number
    assert [signal.getsignal(each) for each in NUMBERS] == [signal.default_int_handler] * 2
    with pytest.raises(Interrupted):
        signals.check()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_is_raised_on_request(number, code):
    with Signals() as signals:
        with pytest.raises(Interrupted) as raised, signals.raised():
            signal.raise_signal(number)
        assert exit_code(raised.value) == code
        with pytest.raises(Interrupted), signals.raised():
            pytest.fail("it came before the block")
    assert exit_code(KeyboardInterrupt()) == 130


@pytest.mark.parametrize(("again_s", "acts"), [(0.0, True), (600.0, False)])
def test_second_signal_acts_after_a_pause(monkeypatch, again_s, acts):
    monkeypatch.setattr(interrupts, "AGAIN_S", again_s)
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        if acts:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        else:
            signal.raise_signal(signal.SIGINT)
        assert signals.arrived == signal.SIGTERM


def test_deferred_signal_acts_after_the_block():
    done = []

    @uninterrupted()
    def work():
        signal.raise_signal(signal.SIGTERM)
        done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done


def test_interrupted_write_leaves_a_whole_file(tmp_path, monkeypatch):
    def sync(descriptor):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_threads_keep_the_handlers():
    def hold():
        with Signals():
            pass

    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ignored_signals_stay_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Signals() as signals:
        signal.raise_signal(signal.SIGINT)
    assert signals.arrived is None
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_command_ends_when_an_exception_would_be_swallowed(number, code):
    program = f"""
import signal
from sfumato.__main__ import exit_at_signals
exit_at_signals()
try:
    signal.raise_signal({int(number)})
except BaseException:
    pass
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_handlers_come_before_imports():
    # `site` has imported os, and annotations need __future__. Without site-packages, the path is given.
    source = str(Path(sfumato.__file__).parents[1])
    before = f"import __future__, os, sys; sys.path.insert(0, {source!r}); before = set(sys.modules)"
    program = f"{before}; import sfumato.__main__; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == ["sfumato", "sfumato.__main__"], done.stderr


ENDING = """
import atexit, sys, threading, time
import sfumato.cli.app
from sfumato.__main__ import main

class Torn:
    def __del__(self, write=sys.__stderr__.write):
        write("torn down")

def command(**_):
    sys.torn = Torn()
    atexit.register(print, "cleaned up")
    threading.Thread(target=lambda: (time.sleep(0.1), print("thread ended"))).start()
    print("answer")
    sys.exit(CODE)

sfumato.cli.app.app = command
main()
"""


@pytest.mark.parametrize(("code", "returned"), [("0", 0), ("None", 0), ("3", 3)])
def test_a_command_ends_without_tearing_its_modules_down(code, returned):
    program = ENDING.replace("CODE", code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    # All else happens as at any exit: threads are waited for, then handlers run, and what was printed is written.
    assert (done.returncode, done.stdout, done.stderr) == (returned, "answer\nthread ended\ncleaned up\n", "")


def test_a_traceback_ends_a_command_with_one():
    program = ENDING.replace("sys.exit(CODE)", "raise ValueError('unexpected')")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (1, "answer\nthread ended\ncleaned up\n")
    assert done.stderr.endswith("ValueError: unexpected\n")
