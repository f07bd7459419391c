"""The studio's shell: every page opens and is accessible; keys, themes, and outages of the server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

from extent import FULL
from serving import Served, start
from sfumato.server.access import Key
from sfumato.server.studio import PAGES, Studio

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

KEY = "sfu-shell"
DESK, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}
LOOKS = (("light", DESK), ("dark", PHONE), *((("dark", DESK), ("light", PHONE)) if FULL else ()))


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that requires a key."""
    key = Key(name="one", sha256=hashlib.sha256(KEY.encode()).hexdigest())
    yield from start(tmp_path_factory.mktemp("locked"), keys=(key,), studio=Studio())


@pytest.mark.parametrize("path", ["/", *(f"/{name}" for name in PAGES)])
def test_every_page_opens(page: Page, path: str, check_accessibility: Callable[[Page], None]):
    page.goto(path)
    expect(page.locator("h1").first).to_be_visible()
    for scheme, size in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        check_accessibility(page)
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, f"{path} is {overflow} pixels too wide"


def test_navigation_by_keyboard_and_history(page: Page):
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Sfumato", exact=True)).to_be_focused()
    link = page.get_by_label("Pages", exact=True).get_by_role("link", name="Race", exact=True)
    for _ in PAGES:
        page.keyboard.press("Tab")
        if link.evaluate("link => link.getRootNode().activeElement === link"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Race")
    expect(link).to_have_attribute("aria-current", "page")
    assert page.title() == "Race · Sfumato"
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Watch text take shape")
    assert page.title() == "Sfumato"
    page.go_forward()
    expect(page.get_by_role("heading", level=1)).to_have_text("Race")


def test_theme_is_remembered(page: Page):
    page.goto("/")
    page.emulate_media(color_scheme="light")
    button = page.get_by_role("button", name="Theme:")
    button.click()
    expect(button).to_have_text("Theme: light")
    button.click()
    expect(button).to_have_text("Theme: dark")
    page.reload()
    expect(button).to_have_text("Theme: dark")
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert page.evaluate(scheme) == "dark"
    page.goto("/nowhere")
    assert page.evaluate(scheme) == "dark"


def test_unknown_paths_give_a_readable_page(page: Page, check_accessibility: Callable[[Page], None]):
    answer = page.goto("/nowhere")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("heading", level=1)).to_have_text("404")
    expect(page.get_by_text("there is no GET /nowhere")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("link", name="All pages").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Watch text take shape")


def test_page_that_cannot_be_got_can_be_tried_again(open_page: Callable[[str], Page], served: Served):
    page = open_page(served.url)
    page.goto("/canvas")
    expect(page.get_by_role("heading", level=1)).to_have_text("Canvas")
    page.context.set_offline(True)
    page.get_by_role("link", name="Structure").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("This page could not be loaded.")
    alert.get_by_role("button", name="Try again").click()
    expect(page.locator("sf-app [role=status].visually-hidden")).to_have_text("The server still cannot be reached.")
    expect(alert).to_be_visible()
    page.context.set_offline(False)
    alert.get_by_role("button", name="Try again").click()
    expect(page.locator("sf-structure-page h1")).to_have_text("Structure")


def test_navigation_fades_where_it_goes_on(page: Page):
    page.set_viewport_size(PHONE)
    sides = "['--before', '--after'].map(side => parseFloat(nav.style.getPropertyValue(side)) > 0)"
    for path, has_before, has_after in (("/canvas", False, True), ("/cost", True, True), ("/desktop", True, False)):
        page.goto(path)
        nav = page.get_by_label("Pages", exact=True).element_handle()
        wanted = json.dumps([has_before, has_after])
        page.wait_for_function(f"nav => JSON.stringify({sides}) === '{wanted.replace(' ', '')}'", arg=nav)


def test_key_is_requested_once(open_page: Callable[[str], Page], locked: Served):
    page = open_page(locked.url)
    delayed: list[Route] = []
    page.route("**/v1/models", lambda route: route.continue_() if delayed else delayed.append(route))
    # The page makes two requests at once; one is refused only after the other has its key.
    page.goto("/cost")
    dialog = page.get_by_role("dialog", name="This server needs a key")
    dialog.get_by_label("Key").fill(KEY)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("rowheader", name="tiny")).to_be_visible()
    delayed[0].continue_()
    expect(page.get_by_label("Model")).to_have_text("tiny")
    expect(dialog).to_be_hidden()
    page.reload()
    expect(page.get_by_label("Model")).to_have_text("tiny")
    expect(dialog).to_be_hidden()


def test_wrong_and_missing_keys_are_reported(open_page: Callable[[str], Page], locked: Served):
    page = open_page(locked.url)
    page.goto("/race")
    dialog = page.get_by_role("dialog", name="This server needs a key")
    dialog.get_by_label("Key").fill("sfu-other")
    page.keyboard.press("Enter")
    with page.expect_response("**/v1/models"):
        expect(dialog).to_be_visible()
        dialog.get_by_label("Key").fill(KEY)
        page.keyboard.press("Enter")
    expect(page.get_by_label("Lane 1")).to_have_value("tiny")
    page.evaluate("sessionStorage.clear()")
    page.reload()
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert")).to_contain_text("key")
    page.get_by_role("button", name="Try again").click()
    dialog.get_by_label("Key").fill(KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Lane 1")).to_have_value("tiny")


def test_outage_is_reported_until_it_ends(open_page: Callable[[str], Page], served: Served):
    page = open_page(served.url)
    page.goto("/cost")
    expect(page.get_by_label("Model")).to_have_text("tiny")
    chart = page.locator("sf-chart").filter(has_text="Running")
    chart.get_by_text("In numbers").click()
    error = page.get_by_text("the server cannot be reached; is it running?")
    unknown = chart.get_by_role("cell", name="\N{EN DASH}", exact=True)
    expect(unknown).to_have_count(0)
    page.context.set_offline(True)
    expect(error).to_be_visible()
    page.context.set_offline(False)
    expect(error).to_be_hidden()
    # The line breaks there.
    expect(unknown.first).to_be_visible()


def test_pages_are_as_they_were_left(page: Page):
    def go(name: str) -> None:
        page.get_by_label("Pages", exact=True).get_by_role("link", name=name, exact=True).click()
        expect(page.locator("main")).to_be_focused()
        expect(page.locator("sf-app [role=status].visually-hidden")).to_contain_text(name)

    page.goto("/canvas")
    page.get_by_label("Prompt").fill("12+5=")
    page.get_by_role("button", name="Denoise", exact=True).click()
    expect(page.locator("sf-take")).to_contain_text("17")
    address = page.url
    go("Structure")
    page.get_by_label("Text", exact=True).fill("Ada has a cat.")
    go("To-do")
    page.get_by_label("Say what you want").fill("a list that is not sent yet")
    go("Canvas")
    expect(page.locator("sf-take")).to_contain_text("17")
    assert page.url == address
    go("Structure")
    expect(page.get_by_label("Text", exact=True)).to_have_value("Ada has a cat.")
    go("To-do")
    expect(page.get_by_label("Say what you want")).to_have_value("a list that is not sent yet")
    page.goto("/structure")
    expect(page.get_by_label("Text", exact=True)).to_have_value("Ada has a cat.")


def test_work_goes_on_while_another_page_is_open(page: Page):
    page.goto("/todo")
    waiting: list[Route] = []
    page.route("**/v1/canvas", lambda route: waiting.append(route))
    page.get_by_role("button", name="a to-do list with ten items about moving house, four done").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.get_by_role("link", name="Cost", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Cost")
    for route in waiting:
        route.continue_()
    page.get_by_role("link", name="To-do", exact=True).click()
    expect(page.locator("sf-screen h2")).to_have_text("Moving house")


def test_full_storage_is_told_once(page: Page):
    page.goto("/structure")
    page.evaluate("""() => { let size = 1 << 20; for (let i = 0; size > 0; i++)
        try { localStorage['x' + i] = 'x'.repeat(size) } catch { size >>= 1 } }""")
    page.get_by_label("Text", exact=True).fill("Ada has a cat. " * 10)
    expect(page.locator(".saying")).to_contain_text("This browser has no room left")
    page.get_by_role("button", name="Close the message").click()
    page.get_by_label("Text", exact=True).fill("Ada has a cat. " * 20)
    expect(page.locator(".saying")).to_have_count(0)


def test_theme_reaches_other_tabs(page: Page):
    page.goto("/")
    other = page.context.new_page()
    other.goto("/canvas")
    page.get_by_role("button", name="Theme:").click()
    page.get_by_role("button", name="Theme:").click()
    expect(other.get_by_role("button", name="Theme: dark")).to_be_visible()
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
