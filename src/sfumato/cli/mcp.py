"""`sfumato mcp`: offer a model as tools over the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

import sfumato
from sfumato.cli.options import MODEL_HELP, Weights, complete_model
from sfumato.errors import ConfigError


def mcp(
    model: Annotated[str, typer.Argument(help=MODEL_HELP, autocompletion=complete_model)] = "tiny",
    mender: Annotated[str, typer.Option(help="Model for the mend tool.")] = "mend",
    weights: Weights = Weights(),
) -> None:
    """Run an MCP server over stdin and stdout.

    Its tools are generate, infill, edit, decide and mend.
    """
    try:
        from sfumato.integrations.mcp_server import make_server
    except ImportError as error:
        raise ConfigError("the MCP server needs more packages: pip install 'sfumato[mcp]'") from error
    from sfumato.mend.mender import load_mender
    from sfumato.server.hosting import Host, parse_names

    host = Host(parse_names([model]), settings=weights.settings())
    make_server(host, lambda: load_mender(mender), sfumato.__version__).run("stdio")
