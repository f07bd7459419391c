"""Generated screens: the to-do app and the desktop."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

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
    page.get_by_role("button", name="Start again").click()
    expect(page.get_by_role("button", name=FIRST)).to_be_visible()
    page.locator(".saying").get_by_role("button", name="Undo").click()
    assert entries(page) == written


@pytest.mark.parametrize("theme", ["", "dark", "sepia", "contrast"])
def test_screen_without_a_theme_follows_the_studio(page: Page, theme: str, check_accessibility: Callable[[Page], None]):
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
    assert grounds == ([own[theme]] * 2 if theme else ["rgb(255, 255, 255)", dark])


def test_windows_can_be_opened_moved_and_restored(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/desktop")
    page.get_by_role("button", name="Wedding", exact=True).click()
    window = page.locator("sf-window")
    expect(window.get_by_label("Guest")).to_be_visible()
    expect(window.locator("sf-screen")).not_to_have_attribute("draft", "")
    check_accessibility(page)
    bar = page.get_by_role("group", name=re.compile("Window Wedding"))
    before = window.bounding_box()
    bar.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    after = window.bounding_box()
    assert before is not None
    assert after is not None
    assert (after["x"] - before["x"], after["height"] - before["height"]) == (24, 24)
    box = bar.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 60)
    page.mouse.up()
    dragged = window.bounding_box()
    assert dragged is not None
    assert (round(dragged["x"] - after["x"]), round(dragged["y"] - after["y"])) == (100, 50)
    page.reload()
    expect(window.get_by_label("Guest")).to_be_visible()
    window.get_by_role("button", name="Minimise Wedding").click()
    expect(window).to_be_hidden()
    page.get_by_role("group", name="Windows").get_by_role("button", name="Wedding").click()
    expect(window).to_be_visible()
    window.get_by_role("button", name="Close Wedding").click()
    expect(window).to_have_count(0)


def window(page: Page, name: str) -> Locator:
    return page.locator(f'sf-window[name="{name}"]')


def stored_text(page: Page, path: str) -> str | None:
    files: list[dict[str, str]] = page.evaluate("JSON.parse(localStorage['sfumato.desktop.files']).files")
    return {file["path"]: file["text"] for file in files}.get(path)


def test_files_can_be_opened_edited_renamed_and_deleted(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/desktop")
    page.get_by_role("button", name="Files", exact=True).click()
    files = window(page, "Files")
    files.get_by_label("New file").fill("notes.txt")
    files.get_by_role("button", name="Create").click()
    shopping = files.get_by_role("button", name="shopping.txt", exact=True)
    node = shopping.element_handle()
    files.get_by_role("button", name="notes.txt", exact=True).click()
    note = window(page, "notes.txt")
    note.get_by_label("Text", exact=True).fill("one\ntwo")
    note.get_by_label("Name", exact=True).fill("work/diary.txt")
    note.get_by_label("Name", exact=True).press("Enter")
    check_accessibility(page)

    # The file has moved into a new folder, and its window with it; other entries kept their nodes.
    expect(window(page, "diary.txt").get_by_label("Text", exact=True)).to_have_value("one\ntwo")
    expect(files.locator(".card", has_text="work").locator("li")).to_have_count(1)
    assert page.evaluate("node => node.isConnected", node)
    assert stored_text(page, "work/diary.txt") == "one\ntwo"

    # A name that is taken is refused, and nothing is lost.
    diary = window(page, "diary.txt")
    diary.get_by_label("Name", exact=True).fill("shopping.txt")
    diary.get_by_label("Name", exact=True).press("Enter")
    expect(page.locator(".saying")).to_contain_text("“shopping.txt” exists already")
    expect(diary.get_by_label("Name", exact=True)).to_have_value("work/diary.txt")

    # A deleted file is gone, with its window, until the deletion is undone.
    page.reload()
    files.get_by_role("button", name="Delete diary.txt").click()
    expect(window(page, "diary.txt")).to_have_count(0)
    assert stored_text(page, "work/diary.txt") is None
    files.get_by_role("button", name="Undo in Files").click()
    expect(files.get_by_role("button", name="diary.txt", exact=True)).to_be_visible()
    assert stored_text(page, "work/diary.txt") == "one\ntwo"

    # An instruction changes the tree like any screen, and the files with it.
    files.get_by_label("Say what to change in Files").fill("sort by name")
    files.get_by_label("Say what to change in Files").press("Enter")
    expect(files.locator("sf-screen ul").first.locator(".says")).to_have_text(["readme.txt", "shopping.txt"])


def test_terminal_edits_files_and_names_the_answering_model(page: Page):
    page.goto("/desktop")
    page.get_by_role("button", name="Terminal", exact=True).click()
    command = window(page, "Terminal").get_by_label("Command")
    log = window(page, "Terminal").get_by_role("log")

    def enter(line: str) -> None:
        command.fill(line)
        command.press("Enter")
        expect(command).to_have_value("")

    enter("echo milk >> shopping.txt")
    enter("cat shopping.txt")
    expect(log).to_contain_text("apples milk")
    enter("rm readme.txt")
    enter("ls")
    expect(log).to_contain_text("documents/ shopping.txt")
    assert stored_text(page, "readme.txt") is None

    # Other lines go to a model that was trained for them, which is named; without such a model they are refused.
    # A line entered while a model writes waits for its turn.
    enter("12+5=")
    enter("who wrote Moby-Dick")
    expect(log).to_contain_text("No model on this server can write that.")
    expect(log).to_contain_text(f"tiny answers: {12 + 5} $ who wrote Moby-Dick")
    enter("open shopping.txt")
    expect(window(page, "shopping.txt").get_by_label("Text", exact=True)).to_have_value("bread\nbutter\napples\nmilk\n")
    page.reload()
    expect(log).to_contain_text("apples milk")


def test_settings_change_the_studio(page: Page):
    page.goto("/desktop")
    page.get_by_role("button", name="Settings", exact=True).click()
    settings = window(page, "Settings")
    size = "getComputedStyle(document.documentElement).fontSize"
    settings.get_by_label("Theme").select_option("dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    before = page.evaluate(size)
    settings.get_by_label("Text size").select_option("large")
    assert float(page.evaluate(size)[:-2]) > float(before[:-2])
    settings.get_by_label("Reduce motion").check()
    expect(page.locator("html")).to_have_attribute("data-motion", "reduced")
    settings.get_by_label("Steps for a screen").fill("3")

    # The next screen is denoised in the chosen number of steps.
    with page.expect_request(lambda request: request.url.endswith("/v1/canvas")) as request:
        page.get_by_label("Describe an app").fill("a numbered list about tea with three things")
        page.get_by_role("button", name="Make it").click()
    body = request.value.post_data_json
    assert (body["model"], body["steps"]) == ("ui", 3)

    page.goto("/canvas")
    assert page.evaluate(size) != before
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
