"""The tab page: a model in the browser generates what Python generates, works offline, and refuses damaged files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.tab import TAB, ask, until
from playwright.sync_api import expect

import sfumato
from extent import FULL, only_in_full
from serving import Served, start
from sfumato.server.studio import STATIC, Studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

NUM_SEEDS = 50 if FULL else 2
WEIGHTS = "**/tab/models/tiny/model.safetensors*"


def open_tab(page: Page) -> None:
    """Open the page and wait until a model is loaded."""
    page.goto("/tab")
    expect(page.get_by_role("button", name="Denoise")).to_be_enabled()


def generate(page: Page, prompt: str, seed: int) -> dict[str, Any]:
    """The text that the tab generates, and its usage."""
    ask(page, prompt, seed)
    found: dict[str, Any] = page.evaluate(
        f"(() => {{ const {{ tokens, ending }} = {TAB}.take.frames.at(-1); return "
        "{ text: tokens.map(({ text }) => text).join(''), ...ending }; })()"
    )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", pytest.param("ui", marks=only_in_full)])
def test_output_equals_python(page: Page, name: str):
    model = sfumato.load(name)
    kinds = [kind for kind in model.kinds if "page" not in kind.example]
    open_tab(page)
    page.get_by_label("Model").select_option(name)
    until(page, f"{TAB}.loaded?.model === '{name}'")
    assert page.evaluate("crossOriginIsolated")
    for seed in range(1, NUM_SEEDS + 1):
        prompt = kinds[seed % len(kinds)].example
        expected = model.generate(prompt, seed=seed)
        found = generate(page, prompt, seed)
        assert found["text"] == expected.text, (prompt, seed)
        assert found["finish_reason"] == expected.finish_reason
        for field in ("prompt_tokens", "completion_tokens"):
            assert found["usage"][field] == getattr(expected.usage, field), (field, prompt, seed)
        # Rounding may change a draft, and so the number of drafts, but never the text.
        near = 4 if model.sampler_defaults.draft_steps else 0
        for field in ("canvases", "denoising_steps", "revisions"):
            assert found["usage"][field] == pytest.approx(getattr(expected.usage, field), abs=near), (prompt, seed)
        assert found["certainty"] == pytest.approx(expected.certainty, abs=1e-4)


def test_link_opens_it_isolated_and_steps_can_be_shown(page: Page, check_accessibility: Any):
    page.goto("/canvas")
    page.get_by_role("link", name="Tab").click()
    expect(page.get_by_role("button", name="Denoise")).to_be_enabled()
    assert page.evaluate("crossOriginIsolated")
    generate(page, "answer, then derive: 81*(2/3)^2+sqrt(9)", 1)
    expect(page.get_by_label("Text of seed 1")).to_contain_text("36+3 = 39")
    page.get_by_role("button", name="First step").click()
    expect(page.get_by_label("Text of seed 1")).not_to_contain_text("36+3 = 39")
    page.get_by_role("button", name="Next step").click()
    check_accessibility(page)
    page.get_by_label("Prompt").fill("tell me a joke")
    page.get_by_role("button", name="Denoise").click()
    expect(page.locator("sf-take .error")).to_contain_text("tiny was not trained on prompts like")
    page.get_by_role("button", name="fizzbuzz").click()
    expect(page.get_by_label("Text of seed 1")).to_contain_text("for ")
    page.get_by_label("Prompt").fill(" ")
    expect(page.get_by_role("button", name="Denoise")).to_be_disabled()


@pytest.fixture
def stoppable_server(tmp_path: Path) -> Iterator[tuple[Served, Any]]:
    """A server, and a function that stops it."""
    if not (STATIC / "index.html").is_file():
        pytest.skip("the studio is not built: make web")
    running = start(tmp_path, studio=Studio())
    yield next(running), lambda: next(running, None)
    next(running, None)


def test_tab_works_offline(browser: Browser, stoppable_server: Any):
    served, stop = stoppable_server
    context = browser.new_context(base_url=served.url, reduced_motion="reduce")
    page = context.new_page()
    open_tab(page)
    page.wait_for_selector("html[data-offline=ready]", state="attached")
    # A server that answers is not replaced.
    answer = page.goto("/nowhere")
    assert answer is not None
    assert answer.status == 404
    stop()
    open_tab(page)
    expected = sfumato.load("tiny").generate("fizzbuzz in python", seed=3)
    assert generate(page, "fizzbuzz in python", 3)["text"] == expected.text
    # A model that is not stored does not lock the tab.
    alert = page.get_by_role("alert")
    page.get_by_label("Model").select_option("ui")
    expect(alert).to_contain_text("The model ui could not be loaded: the server cannot be reached")
    expect(alert).to_contain_text("You can go on with tiny.")
    expect(page.get_by_label("Model")).to_have_value("tiny")
    assert generate(page, "fizzbuzz in python", 3)["text"] == expected.text
    # Only what was loaded is remembered.
    open_tab(page)
    expect(alert).to_have_count(0)
    # One that was remembered, and is not stored any more.
    page.evaluate("localStorage.setItem('sfumato.tab.model', JSON.stringify('ui'))")
    open_tab(page)
    expect(alert).to_contain_text("You can go on with tiny.")
    expect(page.get_by_label("Model")).to_have_value("tiny")
    # Pages that need the server say so, in the theme that was chosen.
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    page.get_by_role("link", name="Canvas").click()
    expect(page.get_by_role("heading", name="This page needs the server")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    expect(page.get_by_role("link", name="Try again")).to_have_attribute("href", "")
    page.get_by_role("link", name="Tab").click()
    expect(page.get_by_role("button", name="Denoise")).to_be_enabled()
    context.close()


@pytest.mark.parametrize("damage", ["half", pytest.param("another version", marks=only_in_full)])
def test_damaged_weights_are_refused_and_not_cached(page: Page, damage: str):
    def corrupt(route: Route) -> None:
        body = route.fetch().body()
        corrupted = body[: len(body) // 2] if damage == "half" else body[:-1] + bytes([body[-1] ^ 1])
        route.fulfill(body=corrupted, content_type="application/octet-stream")

    page.route(WEIGHTS, corrupt)
    page.goto("/tab")
    message = "the download broke off" if damage == "half" else "of another version"
    expect(page.get_by_role("alert")).to_contain_text(message)
    page.unroute(WEIGHTS)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Denoise")).to_be_enabled()
    assert generate(page, "fizzbuzz in python", 3)["finish_reason"] == "stop"


def test_missing_simd_is_reported(page: Page):
    page.add_init_script("WebAssembly.validate = () => false")
    page.goto("/tab")
    expect(page.get_by_role("alert")).to_contain_text("no WebAssembly with SIMD")
