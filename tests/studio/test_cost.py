"""The cost page: the server's metrics in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

from extent import only_in_full
from serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_metrics_update_while_the_server_works(page: Page, served: Served, check_accessibility: Callable[[Page], None]):
    served.chat()
    page.goto("/cost")
    chart = page.locator("sf-chart").filter(has_text="Steps per canvas")
    expect(chart.locator("canvas")).to_be_visible()
    chart.get_by_text("In numbers").click()
    expect(chart.get_by_role("columnheader", name="tiny", exact=True)).to_be_visible()
    usage = served.chat(seed=1).json()["usage"]
    steps = str(usage["denoising_steps"])
    expect(chart.get_by_role("listitem").filter(has_text="tiny").first).to_have_text(f"tiny {steps}")
    check_accessibility(page)

    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if request.url.endswith("/metrics") else None)
    with page.expect_request("**/metrics"):
        pass
    page.get_by_role("button", name="Pause").click()
    before = len(requests)
    page.get_by_role("button", name="Resume").click()
    with page.expect_request("**/metrics"):
        pass
    assert len(requests) > before


@only_in_full
def test_score_grows_with_steps(page: Page):
    page.goto("/cost")
    page.get_by_label("Expressions").fill("12")
    page.get_by_role("button", name="Ask").click()
    table = page.get_by_role("region", name="Score against steps")
    # The expressions are drawn at random, and one in twelve is answered wrongly.
    expect(table.get_by_role("row", name="32").get_by_role("cell").first).to_have_text(re.compile(r"\d of 12"))
    expect(page.get_by_role("button", name="Ask")).to_be_enabled()
    num_right = [
        int(row.get_by_role("cell").first.inner_text().split()[0]) for row in table.get_by_role("row").all()[1:]
    ]
    assert num_right[-1] > num_right[0]
    means = [float(row.get_by_role("cell").nth(2).inner_text()) for row in table.get_by_role("row").all()[1:]]
    # One step per canvas; a long derivation takes a second canvas.
    assert 1 <= means[0] < 2
    assert means[-1] > means[0]

    page.get_by_label("Expressions").fill("500")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("progressbar", name="of 3000 answers")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("progressbar")).to_be_hidden()
