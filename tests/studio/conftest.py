"""The studio in a browser, in front of a server with the embedded models."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")
pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect, sync_playwright

from serving import Served, start
from sfumato.server.studio import STATIC, Studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

_CHROMIUM = shutil.which("chromium")
_AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
_WAIT_MS = 120_000
expect.set_options(timeout=_WAIT_MS)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the models that the pages use."""
    if not (STATIC / "index.html").is_file():
        pytest.skip("the studio is not built: make web")
    models = {"tiny": "tiny", "tiny-twin": "tiny-twin", "ui": "ui"}
    yield from start(tmp_path_factory.mktemp("studio"), models=models, studio=Studio())


# Not for the session: while it is open, the thread has an event loop, and other tests could run none.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    if _CHROMIUM is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Open tabs at a server's address, each with its own storage and a long timeout."""
    contexts = []

    def open_page(url: str) -> Page:
        context = browser.new_context(base_url=url, reduced_motion="reduce")
        context.set_default_timeout(_WAIT_MS)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(open_page: Callable[[str], Page], served: Served) -> Iterator[Page]:
    """A tab that fails the test if the page throws or its policy blocks something."""
    page = open_page(served.url)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def record(message: ConsoleMessage) -> None:
        # The browser logs every refusal and broken connection; the page itself has to explain them.
        if message.type == "error" and not re.search("status of 4|ERR_FAILED", message.text):
            errors.append(message.text)

    page.on("console", record)
    yield page
    assert not errors, errors


@pytest.fixture
def check_accessibility() -> Callable[[Page], None]:
    """Check that axe finds nothing serious on a page."""
    if not _AXE.exists():
        pytest.skip("axe-core is not installed: npm install in web/")

    def check(page: Page) -> None:
        if not page.evaluate("'axe' in window"):
            page.evaluate(_AXE.read_text("utf-8"))
        found: list[dict[str, Any]] = page.evaluate("async () => (await axe.run()).violations")
        serious = [
            (violation["id"], [node["html"] for node in violation["nodes"]])
            for violation in found
            if violation["impact"] in ("serious", "critical")
        ]
        assert not serious, serious

    return check
