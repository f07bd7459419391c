"""All commands, and what they share: version, exit codes, one-line errors."""

from __future__ import annotations

import ctypes
import errno
import logging
import re
import traceback
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from sfumato.cli.chat import chat
from sfumato.cli.convert import convert, export
from sfumato.cli.data import data, show_documents, synth
from sfumato.cli.doctor import doctor
from sfumato.cli.edit import edit, infill
from sfumato.cli.evaluate import evaluate
from sfumato.cli.heads import heads
from sfumato.cli.mend import lsp, mend
from sfumato.cli.models import list_, models, pull, rm, show, where
from sfumato.cli.options import expand
from sfumato.cli.report import report
from sfumato.cli.rl import rl
from sfumato.cli.run import run
from sfumato.cli.serve import mcp, serve
from sfumato.cli.train import adapt, distil, train
from sfumato.errors import ConfigError, RequestError, SfumatoError
from sfumato.interrupts import exit_code

FAILURE, USAGE = 1, 2
# Option numbers of glibc's malloc.h; 32 MB is the maximum for the first.
_MMAP_THRESHOLD, _MIN_MAPPED = -3, 32 * 2**20
_TRIM_THRESHOLD, _MAX_FREE = -1, 512 * 2**20
_TOP_PAD, _GROWTH = -2, 64 * 2**20


class _PlainHelp:
    """Shows help text literally: brackets are not markup, paragraphs fill the terminal, and flags have no type."""

    help: str | None

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = escape(re.sub(r"(?<!\n)\n(?!\n)", " ", self.help or ""))
        for param in self.params:  # type: ignore[attr-defined]
            param.help = escape(getattr(param, "help", None) or "")

    def get_params(self, ctx: Any) -> Any:
        """All parameters, including `--help`."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Group(_PlainHelp, TyperGroup):
    """A group of commands."""


class Command(_PlainHelp, TyperCommand):
    """A command that reports failure as one line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run it. Exit with 2 for usage errors, 1 for other failures, 130 and 143 for signals."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt as error:
            raise typer.Exit(exit_code(error)) from None
        except Exception as error:
            if ctx.find_root().params.get("verbose"):
                traceback.print_exc()
            typer.echo(f"sfumato: {_message(error)}", err=True)
            raise typer.Exit(USAGE if isinstance(error, (ConfigError, RequestError)) else FAILURE) from None


def _message(error: Exception) -> str:
    if isinstance(error, SfumatoError):
        return str(error)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "no space left on the device"
    return f"unexpected {type(error).__name__}: {error}; run `sfumato -v ...` for a traceback"


def keep_freed_memory() -> None:
    """Keep freed memory in the process for the next step (glibc only).

    Every step allocates and frees the same tens of megabytes. By default the system takes them back each time, and they
    return one page fault at a time. The program sets this, not the library, because it affects the whole process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, _MIN_MAPPED)
    mallopt(_TRIM_THRESHOLD, _MAX_FREE)
    mallopt(_TOP_PAD, _GROWTH)


def _print_version(wanted: bool) -> None:
    if wanted:
        import sfumato

        typer.echo(f"sfumato {sfumato.__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def common(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show tracebacks of failures.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run, train and serve text diffusion models, which refine a whole canvas of tokens at once."""
    keep_freed_memory()
    if verbose:
        logging.basicConfig()
        logging.getLogger("sfumato").setLevel(logging.DEBUG)


def _add(group: typer.Typer, commands: Mapping[str, Callable[..., None]], panel: str | None = None) -> None:
    for name, command in commands.items():
        group.command(name, cls=Command, rich_help_panel=panel)(expand(command))


_TRAINING, _MODELS = "Training", "Models and setup"
_add(app, {"run": run, "chat": chat, "edit": edit, "infill": infill, "mend": mend}, "Generate and edit")
_add(app, {"serve": serve, "mcp": mcp, "lsp": lsp}, "Servers")
_add(app, {"train": train, "adapt": adapt, "distil": distil, "heads": heads, "rl": rl}, _TRAINING)
_add(data, {"synth": synth, "show": show_documents})
app.add_typer(data, name="data", cls=Group, rich_help_panel=_TRAINING)
_add(app, {"eval": evaluate, "report": report}, "Evaluation")
_add(app, {"doctor": doctor, "pull": pull, "convert": convert, "export": export}, _MODELS)
_add(models, {"list": list_, "show": show, "where": where, "rm": rm})
app.add_typer(models, name="models", cls=Group, rich_help_panel=_MODELS)
