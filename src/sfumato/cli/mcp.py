"""`sfumato mcp`: a model as tools for programs that speak the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

import sfumato
from sfumato.cli.options import MODEL_HELP, Weights, complete_model
from sfumato.errors import ConfigError


def mcp(
    model: Annotated[str, typer.Argument(help=MODEL_HELP, autocompletion=complete_model)] = "tiny",
    mender: Annotated[str, typer.Option(help="The model that repairs Python.")] = "mend",
    weights: Weights = Weights(),
) -> None:
    """Serve an assistant over stdin and stdout: tools to generate, infill, edit, decide and mend."""
    try:
        from sfumato.integrations.mcp_server import make_server
    except ImportError as error:
        raise ConfigError("the server of tools needs more packages: pip install 'sfumato[mcp]'") from error
    from sfumato.mend.mender import load_mender
    from sfumato.server.hosting import Host, served_names

    host = Host(served_names([model]), settings=weights.settings())
    make_server(host, lambda: load_mender(mender), sfumato.__version__).run("stdio")
