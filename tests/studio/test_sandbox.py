"""Generated pages in sandboxed frames: none escapes, and the studio keeps working."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

from extent import FULL
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


_STORAGE = "JSON.stringify([localStorage, sessionStorage, document.cookie])"
_BATCH_SIZE = 13


@dataclass
class Witness:
    """A server that records every request and connection."""

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
    """Show a hostile page in a frame, and wait until it has started."""
    html = (CONTAINED | COSTLY)[name]
    for placeholder, value in (("$W", witness.url), ("$U", str(witness.udp)), ("$S", served.url)):
        html = html.replace(placeholder, value)
    response = served.http.post("/sandbox", content=html.encode(), headers={"Content-Type": "text/html"})
    page.evaluate(_FRAME, [response.json()["url"], name])


def use(page: Page, text: str) -> None:
    """Use the studio as a person does."""
    prompt = page.get_by_label("Prompt")
    prompt.click()
    page.keyboard.press("Control+A")
    page.keyboard.type(text, delay=20)
    expect(prompt).to_have_value(text)
    page.get_by_label("Start").select_option("all at once")
    page.get_by_label("Start").select_option("one after the other")


@pytest.fixture
def race_page(open_page: Callable[[str], Page], served: Served) -> Page:
    """The race page, with another page of the studio before it in the history."""
    page = open_page(served.url)
    page.goto("/canvas")
    page.get_by_label("Pages", exact=True).get_by_role("link", name="Race", exact=True).click()
    expect(page.get_by_label("Lane 1")).to_have_value("tiny")
    return page


def test_hostile_pages_reach_nothing(race_page: Page, served: Served, witness: Witness):
    leaks: list[str] = []
    race_page.context.on("response", lambda response: leaks.append(response.url) if "leak" in response.url else None)
    race_page.context.on("page", lambda other: leaks.append(f"a page: {other.url}"))
    race_page.context.on("dialog", lambda dialog: leaks.append(f"a dialog: {dialog.message}"))
    race_page.on("download", lambda download: leaks.append(f"a download: {download.url}"))
    use(race_page, "the studio alone")
    storage = race_page.evaluate(_STORAGE)
    names = list(CONTAINED)[:: 1 if FULL else 4]
    for start in range(0, len(names), _BATCH_SIZE):
        for name in names[start : start + _BATCH_SIZE]:
            show(race_page, served, witness, name)
        use(race_page, f"the studio at {start}")
        race_page.wait_for_timeout(300)
        assert witness.seen == [], names[start : start + _BATCH_SIZE]
        assert leaks == [], names[start : start + _BATCH_SIZE]
        race_page.evaluate("document.querySelectorAll('iframe').forEach((frame) => frame.remove())")
    assert race_page.url == f"{served.url}/race"
    assert race_page.evaluate(_STORAGE) == storage
    # The witness does record pages outside the sandbox.
    race_page.context.new_page().goto(witness.url + "/seen")
    assert "/seen" in witness.seen


@pytest.mark.parametrize("name", COSTLY if FULL else list(COSTLY)[:2])
def test_costly_pages_do_not_block_the_studio(race_page: Page, served: Served, witness: Witness, name: str):
    assert len(CONTAINED) + len(COSTLY) >= 60
    show(race_page, served, witness, name)
    use(race_page, f"the studio beside {name}")
    race_page.evaluate("document.querySelector('iframe').remove()")
    use(race_page, "and after it")
