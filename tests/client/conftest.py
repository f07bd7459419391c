"""A server shared by all client tests, and one with scripted responses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from serving import Served, start

Said = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of the embedded model."""
    yield from start(tmp_path_factory.mktemp("client"))


@pytest.fixture
def saying() -> Iterator[Callable[..., tuple[str, list[str]]]]:
    """Start a server with a list of responses: returns its URL and the paths requested."""
    servers = []

    def started(*answers: Said) -> tuple[str, list[str]]:
        left, asked = list(answers), list[str]()

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                asked.append(self.path)
                status, headers, body = left.pop(0)
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(body))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = _answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}", asked

    yield started
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
