"""Generated pages in frames of the studio: none gets out, and the studio stays what it is."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

from hostile import CONTAINED, COSTLY

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from serving import Served

_FRAME = """([url, name]) => {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  Object.assign(frame, { src: url, title: name });
  document.body.append(frame);
  return new Promise((done) => {
    addEventListener("message", ({ source }) => source === frame.contentWindow && done());
  });
}"""


_KEPT = "JSON.stringify([localStorage, sessionStorage, document.cookie])"
_TOGETHER = 13


@dataclass
class Witness:
    """An address that takes note of whoever asks it for something."""

    url: str
    udp: int
    seen: list[str] = field(default_factory=list)


@pytest.fixture
def witness() -> Iterator[Witness]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            witness.seen.append(self.path)
            self.send_response(200)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        def process_request(self, request: object, client_address: object) -> None:
            witness.seen.append("a connection")
            super().process_request(request, client_address)  # type: ignore[arg-type]

    def listen() -> None:
        while (data := packets.recv(2048)) != b"end":
            witness.seen.append(f"a packet of {len(data)} bytes")

    server, packets = Server(("127.0.0.1", 0), Handler), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    packets.bind(("127.0.0.1", 0))
    witness = Witness(f"http://127.0.0.1:{server.server_port}", packets.getsockname()[1])
    threads = [threading.Thread(target=server.serve_forever), threading.Thread(target=listen)]
    for thread in threads:
        thread.start()
    yield witness
    server.shutdown()
    packets.sendto(b"end", packets.getsockname())
    for thread in threads:
        thread.join()
    server.server_close()
    packets.close()


def show(page: Page, served: Served, witness: Witness, name: str) -> None:
    """Have a frame of the page show a hostile one, until that has begun."""
    html = (CONTAINED | COSTLY)[name]
    for sign, value in (("$W", witness.url), ("$U", str(witness.udp)), ("$S", served.url)):
        html = html.replace(sign, value)
    made = served.http.post("/sandbox", content=html.encode(), headers={"Content-Type": "text/html"})
    page.evaluate(_FRAME, [made.json()["url"], name])


def use(page: Page, text: str) -> None:
    """Do with the studio what a person does."""
    prompt = page.get_by_label("Prompt")
    prompt.click()
    page.keyboard.press("Control+A")
    page.keyboard.type(text, delay=20)
    expect(prompt).to_have_value(text)
    page.get_by_label("Start").select_option("all at once")
    page.get_by_label("Start").select_option("one after the other")


@pytest.fixture
def raced(open_page: Callable[[str], Page], served: Served) -> Page:
    """A page of the studio, with another one before it in its history."""
    page = open_page(served.url)
    page.goto("/canvas")
    page.get_by_label("Pages", exact=True).get_by_role("link", name="Race", exact=True).click()
    expect(page.get_by_label("Lane 1")).to_have_value("tiny")
    return page


def test_what_reaches_for_something_gets_nothing(raced: Page, served: Served, witness: Witness):
    leaks: list[str] = []
    raced.context.on("response", lambda response: leaks.append(response.url) if "leak" in response.url else None)
    raced.context.on("page", lambda other: leaks.append(f"a page: {other.url}"))
    raced.context.on("dialog", lambda dialog: leaks.append(f"a dialog: {dialog.message}"))
    raced.on("download", lambda download: leaks.append(f"a download: {download.url}"))
    use(raced, "the studio alone")
    kept = raced.evaluate(_KEPT)
    names = list(CONTAINED)
    for at in range(0, len(names), _TOGETHER):
        for name in names[at : at + _TOGETHER]:
            show(raced, served, witness, name)
        use(raced, f"the studio at {at}")
        raced.wait_for_timeout(300)
        assert witness.seen == [], names[at : at + _TOGETHER]
        assert leaks == [], names[at : at + _TOGETHER]
        raced.evaluate("document.querySelectorAll('iframe').forEach((frame) => frame.remove())")
    assert raced.url == f"{served.url}/race"
    assert raced.evaluate(_KEPT) == kept
    # The witness sees what is not shut in.
    raced.context.new_page().goto(witness.url + "/seen")
    assert "/seen" in witness.seen


@pytest.mark.parametrize("name", COSTLY if "SFUMATO_STUDIO_FULL" in os.environ else list(COSTLY)[:2])
def test_what_is_costly_stops_nobody(raced: Page, served: Served, witness: Witness, name: str):
    assert len(CONTAINED) + len(COSTLY) >= 60
    show(raced, served, witness, name)
    use(raced, f"the studio beside {name}")
    raced.evaluate("document.querySelector('iframe').remove()")
    use(raced, "and after it")
