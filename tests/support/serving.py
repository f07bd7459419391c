"""A server in a thread of this process, with a client."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from sfumato.engine.engine import EngineConfig
from sfumato.engine.model import TextModel
from sfumato.server.access import Access, Key
from sfumato.server.app import create_app
from sfumato.server.boundary import Limits
from sfumato.server.history import History
from sfumato.server.hosting import Host
from sfumato.server.speech import Speech
from sfumato.server.studio import Studio
from sfumato.server.upstream import Upstream

EXPRESSION = "answer, then derive: 81*(2/3)^2+sqrt(9)"


@dataclass
class Served:
    """A running server, and a client of it."""

    url: str
    http: httpx.Client
    app: Any
    host: Host

    @property
    def model(self) -> TextModel:
        """The model host."""
        return self.host.loaded["tiny"].model

    def ask(self, path: str, **body: Any) -> httpx.Response:
        """Post a body."""
        return self.http.post(path, json=body)

    def chat(self, content: str = EXPRESSION, **body: Any) -> httpx.Response:
        """Ask one question."""
        return self.ask("/v1/chat/completions", messages=[{"role": "user", "content": content}], **body)

    def wait_until_busy(self, model: str = "tiny") -> None:
        """Wait until an answer is running."""
        end = time.monotonic() + 600
        while not self.host.loaded[model].answering.engine.has_work:
            assert time.monotonic() < end
            time.sleep(0.01)

    def wait_until_idle(self, model: str = "tiny") -> None:
        """Wait until no answer is running and no request holds the model."""
        hosted = self.host.loaded[model]
        end = time.monotonic() + 600
        while hosted.answering.engine.has_work or hosted.num_users:
            assert time.monotonic() < end
            time.sleep(0.01)

    @contextmanager
    def cancelling(self, number: int = 1) -> Iterator[None]:
        """A block that leaves as many answers, which are then cancelled and do not go on to their ends."""
        before = self.num_cancelled
        yield
        self.wait_until_idle()
        # Answers are counted soon after they end.
        end = time.monotonic() + 600
        while self.num_cancelled < before + number:
            assert time.monotonic() < end
            time.sleep(0.01)

    @property
    def num_cancelled(self) -> int:
        """Number of answers that were cancelled so far."""
        label = 'sfumato_answers_total{finish_reason="cancelled",model="tiny"} '
        lines = self.http.get("/metrics").text.splitlines()
        return sum(int(float(line.removeprefix(label))) for line in lines if line.startswith(label))


def start(
    directory: Path,
    *,
    keys: tuple[Key, ...] = (),
    limits: Limits | None = None,
    config: EngineConfig | None = None,
    models: Mapping[str, str] | None = None,
    studio: Studio | None = None,
    upstreams: Sequence[Upstream] = (),
    images: str = "svg",
    speech: Speech | None = None,
) -> Iterator[Served]:
    """A server of the embedded model, or others."""
    host = Host(models or {"tiny": "tiny"}, config=config, upstreams=upstreams)
    app = create_app(
        host, History(directory / "canvases.db"), Access(keys), limits, studio=studio, images=images, speech=speech
    )
    server = uvicorn.Server(uvicorn.Config(app, port=0, http="h11", log_level="warning", access_log=False))
    # A daemon: a test that fails while it runs must not keep the process from ending.
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 600
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < end
        time.sleep(0.01)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    with httpx.Client(base_url=url, timeout=600) as http:
        yield Served(url, http, app, host)
    server.should_exit = True
    thread.join()
