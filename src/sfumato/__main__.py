"""`python -m sfumato`, and the `sfumato` command."""

# The part of `signal` that is in the interpreter: a signal that comes while modules are imported would be a traceback.
import _signal  # type: ignore[import-not-found]
import os
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it with 130, SIGTERM with 143, whatever is being imported or computed."""
    exit_at_signals()
    if sys.stdout is None:
        sys.exit("sfumato: stdout is closed; send it to a file, a pipe or /dev/null")
    # In this order they take the descriptors that are closed, which a file could get otherwise.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    from sfumato.cli.app import app

    app(prog_name="sfumato")


def exit_at_signals() -> None:
    """End this process at once at a signal; what has something to keep holds signals back (`sfumato.interrupts`)."""
    for number in (_signal.SIGINT, _signal.SIGTERM):
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _exit)


def _exit(number: int, frame: object) -> None:
    # No exception, which a library could swallow, and no shutdown, which a thread could abort.
    for each in (_signal.SIGINT, _signal.SIGTERM):
        _signal.signal(each, _signal.SIG_DFL)
    terminal = next((fd for fd in (1, 2) if os.isatty(fd)), None)
    if terminal is not None:
        # Shows the cursor, which a display of progress hides.
        os.write(terminal, b"\x1b[?25h\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
