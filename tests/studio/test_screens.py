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
    from playwright.sync_api import Locator, Page, Route

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


def box_of(locator: Locator) -> dict[str, float]:
    box = locator.bounding_box()
    assert box is not None
    return {**box, "right": box["x"] + box["width"], "bottom": box["y"] + box["height"]}


def test_windows_stay_in_reach(page: Page):
    page.goto("/desktop")
    for name in ("Files", "Terminal", "Settings"):
        page.get_by_role("button", name=name, exact=True).click()
    surface, names = page.locator(".surface"), ("Files", "Terminal")
    # Side by side as long as there is room.
    assert box_of(window(page, "Files"))["right"] <= box_of(window(page, "Terminal"))["x"]
    for name in names:
        bar = page.get_by_role("group", name=re.compile(f"Window {name}"))
        bar.focus()
        for _ in range(60):
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowRight" if name == "Files" else "ArrowLeft")
        inside, around = box_of(bar), box_of(surface)
        assert around["x"] <= inside["x"]
        assert inside["right"] <= around["right"]
        assert inside["bottom"] <= around["bottom"] + 1
    # Raising one moves no other.
    places = [box_of(window(page, name)) for name in names]
    page.get_by_role("button", name="Settings", exact=True).click()
    assert [box_of(window(page, name)) for name in names] == places
    page.set_viewport_size({"width": 800, "height": 500})
    page.reload()
    for name in names:
        inside, around = box_of(page.get_by_role("button", name=f"Close {name}")), box_of(surface)
        assert inside["right"] <= around["right"]
        assert inside["bottom"] <= around["bottom"]


def test_keyboard_goes_on_where_a_window_was(page: Page):
    page.goto("/desktop")
    make = page.get_by_role("button", name="Make it")
    expect(make).to_be_disabled()
    page.get_by_label("Describe an app").fill("a list")
    expect(make).to_be_enabled()
    # A long name leaves room for the buttons.
    page.evaluate("""localStorage['sfumato.desktop'] = JSON.stringify([{
        app: {name: 'x'.repeat(90), sentence: 'a list'}, page: 'a page: Tea', isMinimised: false,
        place: {x: 700, y: 20, width: 300, height: 300}}])""")
    page.reload()
    close = page.get_by_role("button", name=re.compile("Close x"))
    assert box_of(close)["right"] <= box_of(page.locator("sf-window"))["right"]
    close.click()
    for name in ("Files", "Settings"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.get_by_role("group", name=re.compile(f"Window {name}"))).to_be_focused()
    page.get_by_role("button", name="Minimise Settings").press("Enter")
    settings = page.get_by_role("group", name="Windows").get_by_role("button", name="Settings")
    expect(settings).to_be_focused()
    settings.press("Enter")
    expect(page.get_by_role("group", name=re.compile("Window Settings"))).to_be_focused()
    page.get_by_role("button", name="Close Settings").press("Enter")
    expect(page.get_by_role("group", name=re.compile("Window Files"))).to_be_focused()
    page.get_by_role("button", name="Close Files").press("Enter")
    expect(page.get_by_role("button", name="Files", exact=True)).to_be_focused()


def test_what_is_typed_into_a_window_stays(page: Page):
    page.goto("/desktop")
    page.evaluate("""localStorage['sfumato.desktop'] = JSON.stringify([{
        app: {name: 'Guests', sentence: 'a form'}, page: 'a page\\n b input: Name\\n c input: Email\\n d button: Send',
        isMinimised: false, place: {x: 20, y: 20, width: 400, height: 400}}])""")
    page.reload()
    guests = window(page, "Guests")
    for name in ("Name", "Email"):
        expect(guests.get_by_label(name)).to_have_value("")
        guests.get_by_label(name).fill(f"my {name}")
    said = guests.get_by_label("Say what to change in Guests")
    said.fill("add a checkbox Vegetarian")
    said.press("Enter")
    expect(guests.get_by_label("Vegetarian")).to_be_visible()
    for name in ("Name", "Email"):
        expect(guests.get_by_label(name)).to_have_value(f"my {name}")


def test_window_that_opens_on_a_phone_is_shown(page: Page):
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto("/desktop")
    for name in ("Files", "Settings"):
        page.evaluate("scrollTo(0, 0)")
        page.get_by_role("button", name=name, exact=True).click()
        bar = page.get_by_role("group", name=re.compile(f"Window {name}"))
        expect(bar).to_be_focused()
        expect(bar).to_be_in_viewport()


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


def test_desktop_is_usable_before_the_list_of_models(page: Page):
    waiting: list[Route] = []
    page.route("**/v1/models", lambda route: waiting.append(route))
    page.goto("/desktop")
    page.get_by_role("button", name="Terminal", exact=True).click()
    command = window(page, "Terminal").get_by_label("Command")
    command.fill("12+5=")
    command.press("Enter")
    page.get_by_role("button", name="Files", exact=True).click()
    said = window(page, "Files").get_by_label("Say what to change in Files")
    said.fill("sort by name")
    said.press("Enter")
    expect(window(page, "Files").get_by_role("button", name="Stop")).to_be_visible()
    for route in waiting:
        route.continue_()
    expect(window(page, "Terminal").get_by_role("log")).to_contain_text(f"tiny answers: {12 + 5}")
    # They are sorted already.
    expect(page.locator(".saying")).to_contain_text(re.compile("The model (changed nothing|wrote no change)"))


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
