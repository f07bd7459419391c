"""`sfumato serve` on the command line."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import sfumato as package


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


def test_what_cannot_be_served_is_told(sfumato: Any, tmp_path: Path):
    (tmp_path / "cert.pem").write_text("nothing")
    for arguments, told in (
        (["--requests-per-minute", "5"], "--positions-per-day is given; allowed: only with --add-key"),
        (["=tiny"], "a model is '=tiny'; allowed: NAME=MODEL, or MODEL alone"),
        (["--ssl-keyfile", "key.pem"], "--ssl-keyfile is given; allowed: only with --ssl-certfile"),
        (["--ssl-certfile", tmp_path / "none.pem"], "none.pem: No such file or directory"),
        (["--ssl-certfile", tmp_path / "cert.pem"], f"cannot use the certificate {tmp_path / 'cert.pem'}: "),
    ):
        done = sfumato("serve", "--database", tmp_path / "canvases.db", *arguments)
        assert done.exit_code == 2
        assert told in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_https(tmp_path: Path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = "openssl req -x509 -nodes -newkey rsa:2048 -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*made.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=600)
    options = ["--port", "0", "--database", tmp_path / "canvases.db"]
    command = [sys.executable, "-m", "sfumato", "serve", *options, "--ssl-certfile", certificate, "--ssl-keyfile", key]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        url = process.stderr.readline().split()[0]  # type: ignore[union-attr]
        try:
            assert url.startswith("https://127.0.0.1:")
            trusted = ssl.create_default_context(cafile=str(certificate))
            answer = httpx.get(f"{url}/version", verify=trusted, headers={"x-request-id": "proxy-1"}, timeout=600)
        finally:
            process.terminate()
            _, told = process.communicate(timeout=600)
    assert answer.json() == {"version": package.__version__}
    assert answer.headers["x-request-id"] == "proxy-1"
    assert "INFO proxy-1 - GET /version 200" in told
