"""A page ends up showing the server's text, whatever happens to its connections."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

from extent import FULL

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from serving import Served

NUM_RUNS = 300 if FULL else 4
PROMPTS = [
    "answer, then derive: 81*(2/3)^2+sqrt(9)",
    "sums: 12+35, 81/3, 40-17",
    "json: Our 8-year-old parrot Mia is red.",
]


def corrupt(body: bytes, rng: random.Random) -> bytes:
    """Drop, duplicate and swap events, and truncate the stream."""
    events = [part for part in body.split(b"\n\n") if part]
    kept = [copy for event in events if rng.random() > 0.1 for copy in [event] * (2 if rng.random() < 0.1 else 1)]
    for i in range(1, len(kept)):
        if rng.random() < 0.1:
            kept[i - 1], kept[i] = kept[i], kept[i - 1]
    stream = b"".join(event + b"\n\n" for event in kept)
    return stream if rng.random() < 0.5 else stream[: rng.randrange(len(stream) + 1)]


def test_texts_equal_the_servers_over_faulty_connections(page: Page, served: Served):
    rng = random.Random(0)
    canvas_ids: list[str] = []

    def pass_on(route: Route) -> None:
        if rng.random() < 0.15:
            route.abort()
            return
        response = route.fetch()
        canvas_ids.append(route.request.url.split("/")[-2])
        route.fulfill(response=response, body=corrupt(response.body(), rng))

    page.route("**/events?*", pass_on)
    page.goto("/canvas")
    failed = 0
    for number in range(NUM_RUNS):
        page.get_by_label("Prompt").fill(PROMPTS[number % len(PROMPTS)])
        page.get_by_label("Seed", exact=True).fill(str(number))
        canvas_ids.clear()
        page.get_by_role("button", name="Denoise", exact=True).click()
        expect(page.get_by_role("button", name="Export")).to_be_enabled()
        if page.locator("sf-take .error").count():
            # It gave up and reported an error.
            failed += 1
            continue
        text = served.http.get(f"/v1/canvas/{canvas_ids[-1]}").json()["text"]
        assert "".join(page.locator("sf-canvas .token").all_text_contents()) == text
    assert failed <= 0.1 * NUM_RUNS
