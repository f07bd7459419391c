"""A file in the editor, revised where one says and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page


def text_of(page: Page) -> str:
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def rewrite(page: Page) -> None:
    page.get_by_role("button", name="Find and rewrite").click()
    expect(page.get_by_role("status").filter(has_text="accept or refuse it")).to_be_visible()


def test_a_bug_is_mended_refused_accepted_and_undone(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    before = text_of(page)
    assert "a + b" in before
    check_accessibility(page)
    rewrite(page)
    expect(page.locator(".cm-line", has_text="a * b")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("button", name="Refuse", exact=True).click()
    expect(page.get_by_text("What you refused is as it was.")).to_be_visible()
    assert text_of(page) == before
    rewrite(page)
    page.get_by_role("button", name="Accept all").click()
    expect(page.get_by_text("Accepted.")).to_be_visible()
    assert text_of(page) == before.replace("a + b", "a * b")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: the text is as it was before.")).to_be_visible()
    assert text_of(page) == before
    # It is on the server: a page that is loaded again has it.
    page.reload()
    expect(page.locator(".cm-line").first).to_be_visible()
    assert text_of(page) == before


def test_files_stay_as_they_are_but_for_what_is_written(page: Page, tmp_path: Path):
    page.goto("/editor")
    given = tmp_path / "area.py"
    given.write_bytes(b"def area(a, b):\r\n    return a + b\r\n")
    page.get_by_label("File to open").set_input_files(given)
    expect(page.get_by_label("Name of the file")).to_have_value("area.py")
    rewrite(page)
    page.get_by_role("button", name="Accept all").click()
    expect(page.get_by_text("Accepted.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    saved = tmp_path / "saved.py"
    download.value.save_as(saved)
    assert saved.read_bytes() == b"def area(a, b):\r\n    return a * b\r\n"
