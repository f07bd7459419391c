"""`sfumato lsp`: repairs of syntax as quick fixes, in editors that speak the Language Server Protocol."""

from __future__ import annotations

import sfumato
from sfumato.cli.options import Model
from sfumato.errors import ConfigError


def lsp(model: Model = "mend") -> None:
    """Serve an editor over stdin and stdout: where Python does not parse, and a quick fix for it."""
    try:
        from sfumato.mend.language_server import make_server
    except ImportError as error:
        raise ConfigError("the language server needs more packages: pip install 'sfumato[lsp]'") from error
    from sfumato.mend.mender import load_mender

    make_server(lambda: load_mender(model), sfumato.__version__).start_io()
