"""The structure page: a form that a model fills by a schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_pinned_fields_stay_while_the_rest_is_refilled(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/structure")
    page.get_by_role("button", name="Fill", exact=True).click()
    name, age = page.get_by_label("name", exact=True), page.get_by_label("age", exact=True)
    expect(name).to_have_value("Mia")
    expect(page.get_by_label("animal", exact=True)).to_have_value("parrot")
    expect(page.get_by_label("color", exact=True)).to_have_value("red")
    expect(age).to_have_value("8")
    check_accessibility(page)
    name.fill("Otto")
    name.press("Enter")
    expect(page.get_by_role("button", name="Pin name")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Fill the rest again").click()
    expect(page.locator(".figures").last).to_have_text(re.compile(r"\d+ steps · \d+ ms"))
    expect(name).to_have_value("Otto")
    expect(age).to_have_value("8")
    # An invalid value is reported next to its field.
    age.fill("young")
    age.press("Enter")
    expect(page.locator("sf-form .error")).to_contain_text("integer")
    page.get_by_role("button", name="Undo").click()
    expect(age).to_have_value("8")
    expect(page.locator("sf-form .error")).to_have_count(0)
    page.get_by_role("button", name="Redo").click()
    expect(age).to_have_value("young")


def test_invalid_schema_is_reported(page: Page):
    page.goto("/structure")
    page.get_by_label("Examples").select_option("a thing")
    expect(page.get_by_label("Text")).to_have_value(re.compile("lamp"))
    schema = page.get_by_label("JSON Schema")
    schema.fill('{"type": ')
    # While it is typed, without leaving the field.
    expect(page.locator("p.error")).to_contain_text("The schema:")
    fill = page.get_by_role("button", name="Fill", exact=True)
    expect(fill).to_be_disabled()
    expect(page.get_by_text("Outdated")).to_be_visible()
    expect(page.get_by_label("item", exact=True)).not_to_be_editable()
    schema.fill('{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}')
    expect(page.get_by_label("age", exact=True)).to_be_editable()
    expect(page.get_by_text("Outdated")).to_have_count(0)
    expect(page.locator("p.error")).to_have_count(0)
    expect(fill).to_be_enabled()
    page.get_by_label("Text").fill(" ")
    expect(fill).to_be_disabled()


def test_a_page_whose_models_could_not_be_read_tries_again(page: Page):
    for path, ready in (("/structure", "Fill"), ("/canvas", "Denoise"), ("/race", "Race")):
        page.route("**/v1/models", lambda route: route.abort())
        page.goto(path)
        again = page.get_by_role("button", name="Try again")
        expect(page.get_by_role("alert")).to_have_text("The server cannot be reached; is it running?")
        expect(page.get_by_text("No model on this server")).to_have_count(0)
        page.unroute("**/v1/models")
        again.click()
        expect(page.get_by_role("button", name=ready, exact=True)).to_be_enabled()
        expect(again).to_have_count(0)
