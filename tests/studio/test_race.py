"""The race page: models against each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

from serving import Served, start
from sfumato.server.studio import Studio
from sfumato.server.upstream import Upstream

if TYPE_CHECKING:
    from playwright.sync_api import Page

PROMPT = "answer, then derive: 81*(2/3)^2+sqrt(9)"


def race(page: Page, prompt: str = PROMPT) -> None:
    page.get_by_label("Prompt").fill(prompt)
    page.get_by_role("button", name="Race", exact=True).click()
    expect(page.get_by_role("button", name="Watch again")).to_be_visible()


def test_canvas_corrects_itself_where_the_twin_is_wrong(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/race")
    expect(page.get_by_label("Lane 2")).to_have_value("tiny-twin")
    race(page)
    canvas, twin = page.locator("sf-lane").nth(0), page.locator("sf-lane").nth(1)
    expect(canvas.locator(".verdict")).to_contain_text("39")
    expect(canvas.locator(".verdict")).to_contain_text("Right")
    expect(twin.locator(".verdict")).to_contain_text("Wrong")
    expect(twin.locator(".verdict")).to_contain_text("It is 39.")
    for lane in (canvas, twin):
        expect(lane.locator("sf-canvas")).to_contain_text("36+3 = 39")
        figures = lane.locator("dd").all_inner_texts()
        assert all(re.match(r"[\d,.]+( ms| s)?$", figure) for figure in figures), figures
    score = page.get_by_role("region", name="Score")
    expect(score.get_by_role("row", name="tiny 1 of 1")).to_be_visible()
    expect(score.get_by_role("row", name="tiny-twin 0 of 1")).to_be_visible()
    check_accessibility(page)

    # With the slider at the start, nothing has arrived yet.
    slider = page.get_by_role("slider", name="Time")
    slider.focus()
    page.keyboard.press("Home")
    expect(twin.locator("sf-canvas")).to_have_text("")
    expect(twin.locator(".verdict")).to_have_text("")
    page.keyboard.press("End")
    expect(twin.locator("sf-canvas")).to_contain_text("36+3 = 39")


def test_series_keeps_score_and_stops(page: Page):
    page.goto("/race")
    page.get_by_label("Start").select_option("all at once")
    page.get_by_label("Series of").fill("500")
    prompt = page.get_by_label("Prompt").input_value()
    page.get_by_role("button", name="Start series").click()
    rows = page.get_by_role("region", name="Score").get_by_role("row")
    expect(rows.nth(1)).to_have_text(re.compile(r"of [2-9]"))
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Race", exact=True)).to_be_enabled()
    assert page.get_by_label("Prompt").input_value() != prompt


def test_verdicts_depend_on_the_kind_of_prompt(page: Page):
    page.goto("/race")
    expect(page.get_by_label("Lane 1")).to_have_value("tiny")
    race(page, "json: Our 8-year-old parrot Mia is red.")
    verdict = page.locator("sf-lane").first.locator(".verdict")
    expect(verdict).to_contain_text("Right: name, animal, color, … (4 fields)")
    race(page, "fizzbuzz in python")
    expect(verdict).to_have_text("Not checked.")


def test_errors_are_shown_in_their_lane(page: Page):
    page.goto("/race")
    expect(page.get_by_label("Lane 1")).to_have_value("tiny")
    page.route("**/v1/canvas", lambda route: route.abort())
    race(page)
    expect(page.locator("sf-lane").first.locator(".error")).to_have_text("The server cannot be reached; is it running?")
    page.unroute("**/v1/canvas")
    race(page)
    expect(page.locator("sf-lane").first.locator(".verdict")).to_contain_text("39")


def test_models_take_the_first_prompt(page: Page, served: Served):
    """Although the first model of the server was trained on other prompts."""
    cards = served.http.get("/v1/models").json()["data"]
    models = {"data": sorted(cards, key=lambda card: card["id"] != "ui")}
    page.route("**/v1/models", lambda route: route.fulfill(json=models))
    page.goto("/race")
    expect(page.get_by_label("Lane 1")).to_have_value("tiny")
    expect(page.get_by_label("Lane 2")).to_have_value("tiny-twin")
    page.get_by_role("button", name="Add a model").click()
    expect(page.get_by_label("Lane 3")).to_have_value("ui")
    lanes = page.locator("sf-lane")
    expect(lanes.nth(2).locator(".clock")).to_have_text("\N{EN DASH}")
    race(page)
    expect(lanes.nth(0).locator(".verdict")).to_contain_text("Right")
    expect(lanes.nth(2).locator(".error")).to_have_text(re.compile(r"^ui was not trained on prompts like '.*'\.$"))
    expect(page.locator(".saying")).to_have_count(0)
    expect(page.get_by_role("region", name="Score").get_by_role("row", name="ui")).to_have_count(0)
    lanes.nth(2).get_by_role("button", name="ui screen").click()
    expect(page.get_by_label("Prompt")).to_have_value(re.compile("^screen: "))
    page.get_by_role("button", name="Remove ui").click()
    expect(lanes).to_have_count(2)
    expect(page.get_by_role("button", name=re.compile("^Remove "))).to_have_count(0)


def test_a_lane_that_never_ran_has_no_time(page: Page):
    page.goto("/race")
    expect(page.get_by_label("Lane 1")).to_have_value("tiny")
    page.route("**/v1/canvas", lambda _: None)
    page.get_by_role("button", name="Race", exact=True).click()
    first, second = page.locator("sf-lane").nth(0), page.locator("sf-lane").nth(1)
    expect(first.locator(".clock")).to_have_text(re.compile(r"[1-9]\d* ms|s$"))
    page.get_by_role("button", name="Stop").click()
    expect(first.locator(".verdict")).to_have_text("Stopped.")
    expect(second.locator(".clock")).to_have_text("\N{EN DASH}")
    page.unroute_all(behavior="ignoreErrors")


@pytest.fixture
def relaying(tmp_path: Path, served: Served) -> Iterator[Served]:
    """A server with its own model, and two behind other servers' OpenAI APIs."""
    upstreams = [
        Upstream(name="far", url=f"{served.url}/v1", model="tiny-twin"),
        Upstream(name="gone", url="http://127.0.0.1:1/v1", model="none"),
    ]
    yield from start(tmp_path, studio=Studio(), upstreams=upstreams)


def test_upstream_models_take_part(open_page: Callable[[str], Page], relaying: Served):
    page = open_page(relaying.url)
    page.goto("/race")
    expect(page.get_by_label("Lane 1")).to_have_value("tiny")
    expect(page.get_by_label("Lane 2")).to_have_value("far")
    page.get_by_role("button", name="Add a model").click()
    expect(page.get_by_label("Lane 3")).to_have_value("gone")
    race(page)
    lanes = page.locator("sf-lane")
    expect(lanes).to_have_count(3)
    expect(lanes.nth(0).locator(".verdict")).to_contain_text("Right")
    expect(lanes.nth(1).locator(".verdict")).to_contain_text("Wrong")
    expect(lanes.nth(2).locator(".error")).to_be_visible()
    tokens = lanes.nth(1).locator("dl > div").filter(has=page.get_by_text("tokens", exact=True)).locator("dd")
    expect(tokens).to_have_text(re.compile(r"^\d+$"))
    page.get_by_role("button", name="Remove gone").click()
    expect(lanes).to_have_count(2)
