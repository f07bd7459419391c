"""`sfumato serve` on the command line."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any


def test_a_port_in_use_is_refused_before_the_model_is_loaded(sfumato: Any, checkpoint: Path, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = sfumato("serve", checkpoint, "--port", port, "--database", tmp_path / "canvases.db")
    assert done.exit_code == 2
    assert f"sfumato: cannot listen on 127.0.0.1:{port}; allowed: a free port" in done.stderr


def test_two_models_of_one_name_are_a_usage_error(sfumato: Any):
    done = sfumato("serve", "tiny", "tiny")
    assert done.exit_code == 2
    assert "two models are called 'tiny'; allowed: NAME=MODEL for one of them" in done.stderr
