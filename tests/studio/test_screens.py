"""Screens that are said: the to-do app and the desktop."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIRST = "a to-do list with ten items about moving house, four done"


def entries(page: Page) -> list[str]:
    return page.locator("sf-screen li .says").all_inner_texts()


def test_an_app_is_said_changed_used_and_undone(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/todo")
    page.get_by_role("button", name=FIRST).click()
    expect(page.get_by_role("button", name="Start again")).to_be_visible()
    expect(page.locator("sf-screen h2")).to_have_text("Moving house")
    written = entries(page)
    assert len(written) > 5
    check_accessibility(page)

    # A sentence changes what it is about, and nothing else.
    first = page.locator("sf-screen li").first.element_handle()
    page.get_by_label("Say what to change").fill("dark mode")
    page.get_by_label("Say what to change").press("Enter")
    expect(page.locator("sf-screen .theme-dark")).to_be_visible()
    assert entries(page) == written
    assert page.evaluate("node => node.isConnected", first)
    check_accessibility(page)

    # Its controls do what they say, without the model.
    box = page.locator("sf-screen li input[type=checkbox]").first
    was = box.is_checked()
    box.click()
    assert box.is_checked() != was
    page.get_by_role("button", name=re.compile("^Delete ")).first.click()
    expect(page.locator("sf-screen li")).to_have_count(len(written) - 1)

    # One key takes each back.
    page.locator("h1").click()
    for _ in range(2):
        page.keyboard.press("Control+z")
    assert entries(page) == written
    assert box.is_checked() == was
    page.keyboard.press("Control+Shift+z")
    assert box.is_checked() != was

    # It is there when one comes back.
    page.reload()
    expect(page.locator("sf-screen .theme-dark")).to_be_visible()
    assert entries(page) == written
    page.get_by_role("button", name="Start again").click()
    expect(page.get_by_role("button", name=FIRST)).to_be_visible()


def test_windows_are_opened_moved_and_kept(page: Page, check_accessibility: Callable[[Page], None]):
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
