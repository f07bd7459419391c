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
    page.get_by_role("heading", name="Structure").click()
    page.get_by_role("button", name="Fill", exact=True).click()
    expect(page.locator("p.error")).to_contain_text("The schema:")
