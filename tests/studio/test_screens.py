"""Generated screens: the to-do app and the desktop."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

from extent import only_in_full

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

FIRST = "a to-do list with ten items about moving house, four done"
COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "grey", "black", "white")
# One of each, in all colours.
SCREEN = """\
 input: Name
 select: Size | small | large
 slider 30: Volume
 progress 40: Done
 table: Name | Price
  record marked: Tea | 12
 tabs
  tab on: One
  tab: Two
 chart: Sales | Mon 1 | Tue 2
 chart pie: Sales | Mon 1 | Tue 2
 card marked: Card
  image: a cup
 divider
 list
  item marked: Milk
  item black marked: Tea
  item white marked: Salt
"""


def entries(page: Page) -> list[str]:
    return page.locator("sf-screen li .says").all_inner_texts()


def test_app_can_be_described_changed_used_and_undone(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/todo")
    page.get_by_role("button", name=FIRST).click()
    expect(page.get_by_role("button", name="Start again")).to_be_visible()
    expect(page.locator("sf-screen h2")).to_have_text("Moving house")
    written = entries(page)
    assert len(written) > 5
    check_accessibility(page)

    # An instruction changes only what it names.
    first = page.locator("sf-screen li").first.element_handle()
    page.get_by_label("Say what to change").fill("dark mode")
    page.get_by_label("Say what to change").press("Enter")
    expect(page.locator("sf-screen .theme-dark")).to_be_visible()
    assert entries(page) == written
    assert page.evaluate("node => node.isConnected", first)
    check_accessibility(page)

    # Its controls work without the model.
    box = page.locator("sf-screen li input[type=checkbox]").first
    was_checked = box.is_checked()
    box.click()
    assert box.is_checked() != was_checked
    page.get_by_role("button", name=re.compile("^Delete ")).first.click()
    expect(page.locator("sf-screen li")).to_have_count(len(written) - 1)

    # Each change can be undone, in words or by keyboard.
    page.get_by_label("Say what to change").fill("undo that")
    page.get_by_label("Say what to change").press("Enter")
    expect(page.locator("sf-screen li")).to_have_count(len(written))
    page.locator("h1").click()
    page.keyboard.press("Control+z")
    assert entries(page) == written
    assert box.is_checked() == was_checked
    page.keyboard.press("Control+Shift+z")
    assert box.is_checked() != was_checked

    # The screen survives a reload.
    page.reload()
    expect(page.locator("sf-screen .theme-dark")).to_be_visible()
    assert entries(page) == written
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(box).to_be_checked(checked=was_checked)
    history = page.locator("details li")
    page.locator("summary").click()
    expect(history.first).to_have_text(FIRST)
    expect(history.nth(1)).to_have_text("dark mode")
    expect(history.nth(2)).to_have_text(re.compile("^\\s*(un)?ticked “"))
    page.get_by_role("button", name="Start again").click()
    expect(page.get_by_role("button", name=FIRST)).to_be_visible()
    page.locator(".saying").get_by_role("button", name="Undo").click()
    assert entries(page) == written


LIST = "a page: House\n b list\n  c checkbox on: Keys\n  d checkbox: Books\n  e checkbox: Van"
FORM = "a page\n b input: Name\n c input: Email\n d button: Send"


def keep(page: Page, screen: str) -> None:
    """Open the to-do app with a screen that was kept."""
    kept = {"all": [{"page": screen, "said": "made", "ms": 1}], "at": 0}
    page.goto("/")
    page.evaluate("kept => localStorage.setItem('sfumato.todo.steps', kept)", json.dumps(kept))
    page.goto("/todo")


def test_what_a_sentence_changed_is_told_and_can_be_undone_there(page: Page):
    keep(page, LIST)
    page.get_by_label("Say what to change").fill("delete the second")
    page.get_by_label("Say what to change").press("Enter")
    saying = page.locator(".saying")
    expect(saying).to_contain_text("Removed “Books”.")
    # What was done by hand in between is taken back, too.
    page.get_by_role("checkbox", name="Van").click()
    saying.get_by_role("button", name="Undo").click()
    assert entries(page) == ["Keys", "Books", "Van"]
    expect(page.get_by_role("checkbox", name="Van")).not_to_be_checked()


def test_sentence_may_come_before_the_list_of_models(page: Page):
    waiting: list[Route] = []
    page.route("**/v1/models", lambda route: waiting.append(route))
    keep(page, LIST)
    page.get_by_label("Say what to change").fill("delete the second")
    page.get_by_label("Say what to change").press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    # The next one can be typed meanwhile.
    page.get_by_label("Say what to change").type("dark mode")
    for route in waiting:
        route.continue_()
    expect(page.locator(".saying")).to_contain_text("Removed “Books”.")
    expect(page.get_by_label("Say what to change")).to_have_value("dark mode")


def test_ticks_are_one_line_of_the_history(page: Page):
    keep(page, LIST)
    page.locator("summary").click()
    for name in ("Books", "Van"):
        page.get_by_role("checkbox", name=name).click()
    history = page.locator("details li")
    expect(history).to_have_text(["made", "ticked “Books”, “Van”"])
    expect(history.last.get_by_role("button")).to_have_attribute("aria-current", "step")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("checkbox", name="Van")).not_to_be_checked()
    expect(page.get_by_role("checkbox", name="Books")).to_be_checked()
    # Whoever deletes by keyboard goes on at the next entry.
    page.get_by_role("button", name="Delete Books").press("Enter")
    expect(page.get_by_role("button", name="Delete Van")).to_be_focused()


TABLE = "a page\n b table: Name | Price\n  c record: Tea | 12\n  d record: Milk | 3\n e list\n  f item: Old"


def test_entries_can_be_edited_by_hand(page: Page, check_accessibility: Callable[[Page], None]):
    keep(page, TABLE)
    rows, item = page.locator("sf-screen tbody tr"), page.locator("sf-screen li")
    page.get_by_role("button", name="Edit Milk").click()
    check_accessibility(page)
    expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    page.get_by_role("textbox", name="Name").fill("Oat | milk")
    page.keyboard.press("Tab")
    page.keyboard.type("4")
    # Within a field, the keys of an entry are those of the text.
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")
    expect(rows.nth(1)).to_contain_text("Oat / milk")
    expect(rows.nth(1).locator("td").nth(1)).to_contain_text("4")
    expect(page.get_by_role("button", name="Edit Oat / milk")).to_be_focused()
    page.keyboard.press("F2")
    page.get_by_role("textbox", name="Price").fill("5")
    page.keyboard.press("Escape")
    expect(rows.nth(1).locator("td").nth(1)).to_contain_text("4")
    # Whoever goes on elsewhere keeps what was typed; nothing is not kept.
    page.get_by_role("button", name="Edit Old").click()
    page.get_by_role("textbox", name="Text").fill("New")
    page.locator("h1").click()
    expect(item).to_contain_text("New")
    page.get_by_role("button", name="Edit New").click()
    page.get_by_role("textbox", name="Text").fill(" ")
    page.keyboard.press("Enter")
    expect(item).to_contain_text("New")
    for _ in range(2):
        page.get_by_role("button", name="Undo", exact=True).click()
    expect(rows.nth(1)).to_contain_text("Milk")
    expect(item).to_contain_text("Old")


def test_form_sends_nothing_and_says_so(page: Page):
    keep(page, FORM)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if request.method == "POST" else None)
    page.get_by_label("Name").fill("Bob")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".saying")).to_contain_text("“Send” does nothing here")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Bob")
    assert requests == []
    chips = page.get_by_role("group", name="Examples").get_by_role("button")
    expect(chips).to_have_text(["dark mode", "rename Send to Ready", "make the Send button green"])


def test_change_in_another_tab_is_told(page: Page):
    keep(page, LIST)
    other = page.context.new_page()
    other.goto("/todo")
    other.get_by_role("checkbox", name="Books").click()
    page.get_by_role("button", name="Show the other one").click()
    expect(page.get_by_role("checkbox", name="Books")).to_be_checked()
    expect(page.get_by_text("Another tab changed this app;")).to_have_count(0)


@pytest.mark.parametrize(
    "theme", ["", "sepia", pytest.param("dark", marks=only_in_full), pytest.param("contrast", marks=only_in_full)]
)
def test_screen_has_its_own_theme(page: Page, theme: str, check_accessibility: Callable[[Page], None]):
    kinds = ("header", "text", "button", "badge", "checkbox", "card")
    screen = f"page {theme}: Shop".replace(" :", ":") + f"\n{SCREEN}"
    screen += "".join(f"  item {color}: {color}\n" for color in COLORS)
    screen += "".join(f" {kind} {color}: {color}\n" for kind in kinds for color in COLORS)
    page.goto("/")
    kept = {"all": [{"page": screen.rstrip(), "said": "", "ms": None}], "at": 0}
    page.evaluate("kept => localStorage.setItem('sfumato.todo.steps', kept)", json.dumps(kept))
    page.goto("/todo")
    grounds = []
    for scheme in ("light", "dark"):
        page.evaluate("theme => localStorage.setItem('sfumato.theme', JSON.stringify(theme))", scheme)
        page.reload()
        shown = page.locator("sf-screen .page")
        grounds.append(shown.evaluate("page => getComputedStyle(page).backgroundColor"))
        check_accessibility(page)
        marked = page.locator("sf-screen li.marked")
        behind = marked.evaluate_all("items => items.map((item) => getComputedStyle(item).backgroundColor)")
        assert len(behind) == 3
        assert "rgba(0, 0, 0, 0)" not in behind
    dark = "rgb(23, 21, 29)"
    own = {"dark": dark, "sepia": "rgb(246, 236, 217)", "contrast": "rgb(0, 0, 0)"}
    assert grounds == [own.get(theme, "rgb(255, 255, 255)")] * 2


def test_long_entries_can_be_typed(page: Page):
    page.goto("/todo")
    keep(page, "page\n list\n  checkbox: Milk\n input: New item\n button: Add")
    field = page.get_by_label("New item")
    long = "Call the plumber about the leaking kitchen tap before Friday"
    field.fill(long)
    field.press("Enter")
    expect(page.get_by_role("checkbox", name=long)).to_be_visible()
    expect(field).to_have_value("")
    # The model reads its beginning, and changes what is meant all the same.
    page.get_by_label("Say what to change").fill("tick off the second")
    page.get_by_label("Say what to change").press("Enter")
    expect(page.get_by_role("checkbox", name=long)).to_be_checked()

    # What does not fit stays where it was typed.
    field.fill(long * 3)
    field.press("Enter")
    expect(page.locator(".saying")).to_contain_text("use up to 120 characters")
    expect(field).to_have_value(long * 3)
