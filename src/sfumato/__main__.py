"""Entry point of `python -m sfumato` and of the `sfumato` command."""

# Only the built-in part of `signal`: a signal during imports must not print a traceback.
import _signal  # type: ignore[import-not-found]
import os
import sys


def main() -> None:
    """Run the command line. Ctrl-C exits with 130 and SIGTERM with 143, at any moment."""
    exit_at_signals()
    import atexit
    import gc

    # Imports create hundreds of thousands of objects that stay; collecting every 700 takes a tenth of a start.
    gc.set_threshold(20_000)
    if sys.stdout is None:
        sys.exit("sfumato: stdout is closed; send it to a file, a pipe or /dev/null")
    # In this order they take the closed descriptors, which a file could get otherwise.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    code: int | str | None = 1

    def leave() -> None:
        # Tearing down torch's modules and operators takes half as long as importing them.
        if isinstance(code, int | None) and _flush():
            os._exit(code or 0)

    # The first handler registered runs last: threads have ended, and all other handlers have run.
    atexit.register(leave)
    from sfumato.cli.app import app

    try:
        app(prog_name="sfumato")
    except SystemExit as end:
        code = end.code
        raise
    except OSError as error:
        import errno

        if error.errno != errno.ENOSPC:
            raise
        # Help is printed outside of any command, which would have said so.
        sys.exit("sfumato: no space left on the device")


def _flush() -> bool:
    """Whether everything printed has been written; otherwise the interpreter reports it as it ends."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return False
    return True


def exit_at_signals() -> None:
    """End this process at a signal; code with something to save holds signals back (`sfumato.interrupts`)."""
    for number in (_signal.SIGINT, _signal.SIGTERM):
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _exit)


def _exit(number: int, frame: object) -> None:
    # Not an exception, which a library could swallow, and not a shutdown, which a thread could abort.
    for each in (_signal.SIGINT, _signal.SIGTERM):
        _signal.signal(each, _signal.SIG_DFL)
    terminal = next((fd for fd in (1, 2) if os.isatty(fd)), None)
    if terminal is not None:
        # Show the cursor, which progress displays hide.
        os.write(terminal, b"\x1b[?25h\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
