"""The desktop: windows, files, terminal and settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route


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


def write_guests(page: Page) -> None:
    """Leave a window of an app that a model wrote."""
    page.evaluate("""localStorage['sfumato.desktop'] = JSON.stringify([{
        app: {name: 'Guests', sentence: 'a form'}, page: 'a page\\n b input: Name\\n c button: Send',
        isMinimised: false, place: {x: 20, y: 20, width: 400, height: 400}}])""")
    page.reload()


def enter(page: Page, line: str) -> None:
    command = window(page, "Terminal").get_by_label("Command")
    command.fill(line)
    command.press("Enter")
    expect(command).to_have_value("")


def test_window_that_was_closed_comes_back(page: Page):
    page.goto("/desktop")
    write_guests(page)
    guests = window(page, "Guests")
    guests.get_by_role("button", name="Close Guests").click()
    expect(guests).to_have_count(0)
    page.locator(".saying").get_by_role("button", name="Undo").click()
    expect(guests.get_by_label("Name")).to_be_visible()
    page.reload()
    expect(guests.get_by_label("Name")).to_be_visible()


def test_deleted_and_rewritten_files_come_back(page: Page):
    page.goto("/desktop")
    page.get_by_role("button", name="Terminal", exact=True).click()
    enter(page, "rm shopping.txt")
    expect(page.locator(".saying")).to_contain_text("Deleted: shopping.txt.")
    page.locator(".saying").get_by_role("button", name="Undo").click()
    enter(page, "open shopping.txt")
    file = window(page, "shopping.txt")
    text = file.get_by_label("Text", exact=True)
    expect(text).to_have_value("bread\nbutter\napples\n")
    undo = file.get_by_role("button", name="Undo in shopping.txt")
    expect(undo).to_be_disabled()
    enter(page, "echo nothing > shopping.txt")
    expect(text).to_have_value("nothing\n")
    text.focus()
    text.press("End")
    page.keyboard.type(" at all")
    # A rename keeps the steps; what was typed in one go is one of them.
    enter(page, "mv shopping.txt list.txt")
    file = window(page, "list.txt")
    text = file.get_by_label("Text", exact=True)
    undo = file.get_by_role("button", name="Undo in list.txt")
    for before in ("nothing\n", "bread\nbutter\napples\n"):
        undo.click()
        expect(text).to_have_value(before)
    expect(undo).to_be_disabled()
    file.get_by_role("group").press("Control+y")
    expect(text).to_have_value("nothing\n")


def test_tabs_share_files_and_ask_about_windows(page: Page):
    page.goto("/desktop")
    other = page.context.new_page()
    other.goto("/desktop")
    for tab, name in ((page, "here.txt"), (other, "there.txt")):
        tab.get_by_role("button", name="Terminal", exact=True).click()
        enter(tab, f"echo text > {name}")
    enter(page, "ls")
    log = window(page, "Terminal").get_by_role("log")
    expect(log).to_contain_text("there.txt")
    expect(log).to_contain_text("here.txt")

    # Both show a terminal; only a window that the other lacks is asked about.
    question = page.get_by_text("Another tab changed the windows")
    expect(question).to_have_count(0)
    other.get_by_role("button", name="Files", exact=True).click()
    expect(question).to_be_visible()
    page.get_by_role("button", name="Show the other ones").click()
    expect(window(page, "Files")).to_be_visible()
    expect(question).to_have_count(0)


def test_app_that_was_not_written_yet_can_be_tried_again(page: Page):
    page.route("**/v1/canvas", lambda route: None)
    page.goto("/desktop")
    page.get_by_role("button", name="Kitchen", exact=True).click()
    expect(window(page, "Kitchen").get_by_role("button", name="Stop")).to_be_visible()
    page.unroute("**/v1/canvas")
    page.reload()
    window(page, "Kitchen").get_by_role("button", name="Try again").click()
    expect(window(page, "Kitchen").locator("table")).to_be_visible()


def test_terminal_recalls_what_was_entered(page: Page):
    page.goto("/desktop")
    page.get_by_role("button", name="Terminal", exact=True).click()
    command = window(page, "Terminal").get_by_label("Command")
    expect(command).to_be_focused()
    expect(window(page, "Terminal").get_by_label("Say what to change in Terminal")).to_have_count(0)
    for line in ("ls", "cat shopping.txt"):
        enter(page, line)
    for key, line in (
        ("Up", "cat shopping.txt"),
        ("Up", "ls"),
        ("Up", "ls"),
        ("Down", "cat shopping.txt"),
        ("Down", ""),
    ):
        command.press(f"Arrow{key}")
        expect(command).to_have_value(line)


def test_window_can_be_maximised(page: Page):
    page.goto("/desktop")
    page.get_by_role("button", name="Files", exact=True).click()
    files = window(page, "Files")
    before = box_of(files)
    files.get_by_role("button", name="Maximise Files").click()
    surface = page.locator(".surface").evaluate("surface => [surface.clientWidth, surface.clientHeight]")
    assert [box_of(files)["width"], box_of(files)["height"]] == surface
    page.reload()
    expect(files.get_by_role("button", name="Maximise Files")).to_be_visible()
    assert [box_of(files)["width"], box_of(files)["height"]] == surface
    files.get_by_role("heading", name="Files", level=2).first.dblclick()
    assert box_of(files)["width"] == before["width"]
