"""The commands, and what all of them share: the version, exit codes, and errors in one line."""

from __future__ import annotations

import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from sfumato.cli.bench import COMMANDS, bench
from sfumato.cli.convert import convert
from sfumato.cli.data import COMMANDS as DATA_COMMANDS
from sfumato.cli.data import data
from sfumato.cli.doctor import doctor
from sfumato.cli.edit import edit, infill
from sfumato.cli.evaluate import evaluate
from sfumato.cli.heads import heads
from sfumato.cli.memory import keep_freed_memory
from sfumato.cli.pull import pull
from sfumato.cli.rl import rl
from sfumato.cli.run import run
from sfumato.cli.train import adapt, distil, train
from sfumato.errors import ConfigError, RequestError, SfumatoError

FAILURE, USAGE, INTERRUPTED = 1, 2, 130


class Command(TyperCommand):
    """A command whose failures are one line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run it; 2 for what the caller asked wrongly, 1 for any other failure, 130 for an interrupt."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if ctx.find_root().params.get("verbose"):
                traceback.print_exc()
            typer.echo(f"sfumato: {_message(error)}", err=True)
            raise typer.Exit(USAGE if isinstance(error, (ConfigError, RequestError)) else FAILURE) from None


def _message(error: Exception) -> str:
    if isinstance(error, SfumatoError):
        return str(error)
    return f"unexpected {type(error).__name__}: {error}; `sfumato -v ...` shows where"


def _print_version(wanted: bool) -> None:
    if wanted:
        import sfumato

        typer.echo(f"sfumato {sfumato.__version__}")
        raise typer.Exit


app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def common(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show a traceback on failure.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Text diffusion: models that refine a whole canvas of tokens at once."""
    keep_freed_memory()


app.command(cls=Command)(run)
app.command(cls=Command)(edit)
app.command(cls=Command)(infill)
for trained in (train, adapt, distil, heads, rl):
    app.command(cls=Command)(trained)
app.command("eval", cls=Command)(evaluate)
app.command(cls=Command)(doctor)
app.command(cls=Command)(convert)
app.command(cls=Command)(pull)
for measured in COMMANDS:
    bench.command(cls=Command)(measured)
app.add_typer(bench, name="bench")
for made in DATA_COMMANDS:
    data.command(cls=Command)(made)
app.add_typer(data, name="data")
