"""The editor page: a file is revised only where asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from serving import Served


def text_of(page: Page) -> str:
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def rewrite(page: Page) -> None:
    page.get_by_role("button", name="Find and rewrite").click()
    expect(page.get_by_role("status").filter(has_text="accept or reject it")).to_be_visible()


def test_bug_fix_can_be_refused_accepted_and_undone(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    before = text_of(page)
    assert "a + b" in before
    check_accessibility(page)
    rewrite(page)
    expect(page.locator(".cm-line", has_text="a * b")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("button", name="Reject", exact=True).click()
    expect(page.get_by_text("The changes you rejected are undone.")).to_be_visible()
    assert text_of(page) == before
    rewrite(page)
    page.get_by_role("button", name="Accept all").click()
    expect(page.get_by_text("Accepted.")).to_be_visible()
    assert text_of(page) == before.replace("a + b", "a * b")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: the text is as it was before.")).to_be_visible()
    assert text_of(page) == before
    # The text is stored on the server, so a reloaded page shows it.
    page.reload()
    expect(page.locator(".cm-line").first).to_be_visible()
    assert text_of(page) == before


def test_file_without_a_canvas_survives_a_reload(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    page.get_by_label("Name of the file").fill("kept.py")
    page.locator(".cm-line").first.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("x = 1")
    page.reload()
    expect(page.get_by_label("Name of the file")).to_have_value("kept.py")
    expect(page.locator(".cm-line")).to_have_text("x = 1")


def test_changes_under_review_and_typed_text_survive_a_reload(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    before = text_of(page)
    rewrite(page)
    page.reload()
    expect(page.get_by_text("One change: accept or reject it.")).to_be_visible()
    page.get_by_role("button", name="Reject", exact=True).click()
    expect(page.get_by_text("The changes you rejected are undone.")).to_be_visible()
    assert text_of(page) == before
    # What was typed a moment ago is not on the server yet.
    page.locator(".cm-line").last.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("# typed")
    page.reload()
    expect(page.locator(".cm-line", has_text="# typed")).to_be_visible()
    # Another file can be given up for what was there.
    page.get_by_label("Examples").select_option(index=2)
    expect(page.locator(".cm-line", has_text="# typed")).to_have_count(0)
    page.locator(".saying").get_by_role("button", name="Undo").click()
    expect(page.locator(".cm-line", has_text="# typed")).to_be_visible()


def test_what_is_taken_back_before_it_was_sent_can_be_typed_again(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    before = text_of(page)
    page.locator(".cm-line").last.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("# typed")
    typed = text_of(page)
    page.keyboard.press("Control+z")
    assert text_of(page) == before
    page.locator("sf-editor-page").get_by_role("button", name="Redo", exact=True).click()
    assert text_of(page) == typed != before


def test_a_slow_answer_does_not_replace_what_was_opened_meanwhile(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    rewrite(page)
    page.get_by_role("button", name="Accept all").click()
    expect(page.get_by_text("Accepted.")).to_be_visible()
    waiting: list[Route] = []
    page.route("**/v1/canvas/*", lambda route: waiting.append(route))
    with page.expect_request("**/v1/canvas/*"):
        page.reload()
    page.get_by_label("Examples").select_option(index=2)
    opened = text_of(page)
    with page.expect_response("**/v1/canvas/*"):
        waiting[0].continue_()
    # Taken after the answer.
    page.locator("sf-editor-page").get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("There is nothing to undo.")).to_be_visible()
    assert text_of(page) == opened


def test_saved_file_differs_only_in_the_edit(page: Page, tmp_path: Path):
    page.goto("/editor")
    # The example that the page begins with has another name.
    original = tmp_path / "mine.py"
    original.write_bytes(b"def area(a, b):\r\n    return a + b\r\n")
    page.get_by_label("File to open").set_input_files(original)
    expect(page.get_by_label("Name of the file")).to_have_value("mine.py")
    rewrite(page)
    page.get_by_role("button", name="Accept all").click()
    expect(page.get_by_text("Accepted.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    saved = tmp_path / "saved.py"
    download.value.save_as(saved)
    assert saved.read_bytes() == b"def area(a, b):\r\n    return a * b\r\n"


def test_selection_is_rewritten_and_revisions_can_be_restored(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    before = text_of(page)
    page.locator(".cm-line", has_text="return").click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    page.get_by_role("button", name="Rewrite the selection").click()
    page.locator(".cm-deletedChunk").get_by_role("button", name="Accept").click()
    expect(page.get_by_text("Accepted.")).to_be_visible()
    assert text_of(page) == before.replace("a + b", "a * b")
    page.locator(".cm-line").first.click()
    page.keyboard.type("# by hand")
    page.get_by_role("button", name=re.compile("Restore revision 1, as opened")).click()
    expect(page.get_by_text("Restored revision 1.")).to_be_visible()
    assert text_of(page) == before
    revisions = page.locator("sf-revisions li")
    expect(revisions).to_have_count(4)
    expect(revisions.filter(has_text="by the model")).to_have_count(1)


def test_suggestions_can_be_accepted_refused_or_ignored(page: Page, served: Served):
    texts = ["return a * b", "no", "nothing", "unsettled"]
    requests: list[dict[str, object]] = []
    # Real suggestions change with training, and their timing with the machine.
    body = {"model": "tiny", "prompt": "x = ", "suffix": "", "max_tokens": 4}
    answer = served.ask("/v1/fim/completions", **body).json()

    def propose(route: Route) -> None:
        requests.append(route.request.post_data_json)
        text = texts[len(requests) - 1]
        answer["choices"][0]["text"] = text
        answer["sfumato"]["finish_reasons"] = ["steps" if text == "unsettled" else "stop"]
        route.fulfill(body=json.dumps(answer), content_type="application/json")

    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    page.get_by_label("Examples").select_option("new")
    page.route("**/v1/fim/completions", propose)
    ghost = page.locator(".cm-ghost")
    page.get_by_label("Text of the file").click()
    page.keyboard.type("x = ")
    expect(ghost).to_have_text("return a * b")
    assert (requests[0]["prompt"], requests[0]["suffix"]) == ("x = ", "")
    page.keyboard.press("Tab")
    expect(ghost).to_have_count(0)
    assert text_of(page) == "x = return a * b"
    page.keyboard.type(" ")
    expect(ghost).to_have_text("no")
    page.keyboard.press("Escape")
    expect(ghost).to_have_count(0)
    page.keyboard.type("+")
    expect(ghost).to_have_text("nothing")
    with page.expect_response("**/v1/fim/completions"):
        page.keyboard.type("1")
    assert text_of(page) == "x = return a * b +1"
    expect(ghost).to_have_count(0)
    page.get_by_label("Suggest as I type").uncheck()
    page.keyboard.type("2")
    assert len(requests) == 4


@pytest.mark.parametrize("example", ["area.py", "clamp.py", "shapes.py", "lists.py"])
def test_example_is_mended_by_the_main_button(page: Page, example: str):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    page.get_by_label("Examples").select_option(example)
    expect(page.get_by_text(f"{example} is open.")).to_be_visible()
    page.get_by_role("button", name="ewrite").click()
    expect(page.get_by_text("One change: accept or reject it.")).to_be_visible()


def test_empty_file_is_not_sent(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    page.get_by_label("Examples").select_option("shapes.py")
    expect(page.get_by_role("button", name="Rewrite the selection")).to_be_visible()
    page.get_by_label("Examples").select_option("new")
    page.get_by_role("button", name="Find and rewrite").click()
    expect(page.get_by_text("The file is empty: write something, or open a file.")).to_be_visible()


def test_text_of_another_tab_can_be_taken_over(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    other = page.context.new_page()
    other.goto("/editor")
    expect(other.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    other.get_by_label("Examples").select_option("lists.py")
    other.close(run_before_unload=True)
    offer = page.get_by_role("alert").filter(has_text="Another tab left “lists.py”")
    offer.get_by_role("button", name="Take it over").click()
    expect(page.get_by_label("Name of the file")).to_have_value("lists.py")
    expect(page.locator(".cm-line", has_text="def total")).to_be_visible()
    expect(offer).to_have_count(0)


def test_file_is_kept_while_it_is_typed(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    page.locator(".cm-line").first.click()
    page.keyboard.press("Control+a")
    # Brackets close, and lines indent by four spaces.
    page.keyboard.type("def area(a, b):\nif a:\nreturn a * b")
    lines = ["def area(a, b):", "    if a:", "        return a * b"]
    page.wait_for_function(
        "text => JSON.parse(localStorage['sfumato.editor.file'] ?? '{}').text === text", arg="\n".join(lines)
    )
    other = page.context.new_page()
    other.goto("/editor")
    expect(other.locator(".cm-line")).to_have_text(lines)
    # A tab that only shows it replaces nothing.
    page.locator(".cm-line").last.click()
    page.keyboard.press("End")
    page.keyboard.type(" * 2")
    page.wait_for_function("() => localStorage['sfumato.editor.file'].includes(' * 2')")
    other.close(run_before_unload=True)
    page.reload()
    expect(page.locator(".cm-line").last).to_have_text("        return a * b * 2")


def test_own_typing_is_no_change_to_review(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    rewrite(page)
    page.locator(".cm-line").last.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("# mine")
    page.get_by_role("button", name="Reject all").click()
    expect(page.get_by_text("The changes you rejected are undone.")).to_be_visible()
    expect(page.locator(".cm-line", has_text="a + b")).to_be_visible()
    expect(page.locator(".cm-line", has_text="# mine")).to_be_visible()


def test_redo_works_with_caps_lock(page: Page):
    page.goto("/editor")
    expect(page.get_by_role("button", name="Find and rewrite")).to_be_enabled()
    rewrite(page)
    page.get_by_role("button", name="Accept all").click()
    expect(page.get_by_text("Accepted.")).to_be_visible()
    page.locator(".cm-line").first.click()
    page.keyboard.press("Control+z")
    expect(page.get_by_text("Undone: the text is as it was before.")).to_be_visible()
    # With Caps Lock on, Shift gives a small letter.
    init = {"key": "z", "code": "KeyZ", "keyCode": 90, "ctrlKey": True, "shiftKey": True, "bubbles": True}
    page.locator(".cm-content").dispatch_event("keydown", init | {"cancelable": True, "composed": True})
    expect(page.get_by_text("Redone.")).to_be_visible()
    expect(page.locator(".cm-line", has_text="a * b")).to_be_visible()
