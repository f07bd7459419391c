"""The canvas page: watching a text form step by step, changing, sharing and saving it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

pytest.importorskip("playwright", reason="not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

    from serving import Served

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PROMPT = "answer, then derive: 81*(2/3)^2+sqrt(9)"
DERIVED = "answer: 39\n81*(2/3)^2 = 36\nsqrt(9) = 3\n36+3 = 39"

# The contrast of an element's text with its own background, which is on a card, as WCAG defines it.
CONTRAST = """(element) => {
  const sample = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const luminance = (...layers) => {
    for (sample.fillStyle of layers) sample.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...sample.getImageData(0, 0, 1, 1).data]
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const { color, backgroundColor } = getComputedStyle(element);
  const probe = document.body.appendChild(document.createElement("span"));
  probe.style.color = "var(--surface)";
  const card = getComputedStyle(probe).color;
  probe.remove();
  const [text, ground] = [luminance(card, backgroundColor, color), luminance(card, backgroundColor)];
  return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
}"""


def text_of(canvas: Locator) -> str:
    return "".join(canvas.locator(".token").all_text_contents())


def denoise(page: Page, **filled: str) -> None:
    for label, value in {"Prompt": PROMPT, **filled}.items():
        page.get_by_label(label.replace("_", " "), exact=True).fill(value)
    page.get_by_role("button", name="Denoise", exact=True).click()
    expect(page.get_by_role("button", name="Export")).to_be_enabled()


def test_text_forms_and_can_be_stepped_through(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/canvas")
    denoise(page)
    canvas = page.locator("sf-canvas")
    assert text_of(canvas) == DERIVED
    expect(page.locator("sf-take")).to_contain_text(re.compile(r"28 tokens · \d+ steps · \d+ revisions · \d+ ms"))
    check_accessibility(page)
    first = canvas.locator(".token").nth(0).element_handle()
    page.get_by_role("button", name="First step").click()
    assert text_of(canvas) != DERIVED
    count = int(re.findall(r"(\d+) steps", page.locator("sf-take p.figures").inner_text())[0])
    expect(page.get_by_text("Go to the last step to select tokens.")).to_be_visible()
    page.get_by_role("button", name="Last step").click()
    expect(page.locator("sf-scrubber .figures")).to_have_text(f"step {count} of {count}")
    expect(page.get_by_text("Click a token")).to_be_visible()
    page.get_by_role("button", name="First step").click()
    page.get_by_role("button", name="Next step").click()
    expect(canvas).to_contain_text("answer: 49")
    page.get_by_role("slider", name="Step").press("End")
    expect(canvas).to_contain_text("answer: 39")
    # Nothing flickers: unchanged tokens keep their nodes.
    assert page.evaluate("node => node.isConnected", first)
    # The whole number has a history, not each of its digits.
    expect(canvas.locator(".token").nth(1)).to_have_attribute("title", re.compile(r"^(\d+ → )+39$"))
    # Each colouring shows something else while the text forms; there are no revisions in this step.
    slider = page.get_by_role("slider", name="Step")
    page.get_by_role("button", name="Previous step").click()
    levels = {}
    for colouring in ("confidence", "entropy", "age", "revisions", "none"):
        page.get_by_label("Colour by").select_option(colouring)
        levels[colouring] = canvas.locator(".token").evaluate_all(
            "tokens => tokens.map((token) => token.style.getPropertyValue('--level'))"
        )
    assert len({str(shown) for shown in levels.values()}) == len(levels)
    assert {colouring for colouring, shown in levels.items() if len(set(shown)) == 1} == {"revisions", "none"}
    page.get_by_label("Steps per second").select_option("30/s")
    slider.press("Home")
    page.get_by_role("button", name="Play").click()
    expect(slider).to_have_value(slider.get_attribute("max") or "")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_tokens_can_be_pinned_renoised_and_replaced(page: Page, check_accessibility: Callable[[Page], None]):
    page.goto("/canvas")
    denoise(page)
    canvas, panel = page.locator("sf-canvas"), page.get_by_role("region", name="Selected tokens")
    canvas.locator(".token").nth(1).click()
    expect(panel).to_contain_text("Alternatives:")
    expect(panel).to_contain_text("History: 4 → 3")
    check_accessibility(page)
    # A wrong alternative is corrected again once it is put back to noise.
    panel.get_by_role("button", name=re.compile("^4 ")).click()
    expect(canvas).to_contain_text("answer: 49")
    expect(canvas.locator(".pinned")).to_have_text("4")
    canvas.locator(".token").nth(1).click()
    panel.get_by_role("button", name="Unpin").click()
    panel.get_by_role("button", name="Back to noise").click()
    expect(page.get_by_role("button", name="Export")).to_be_enabled()
    expect(canvas).to_contain_text("answer: 39")
    assert text_of(canvas) == DERIVED
    # A token replaced by hand is pinned, and stays while the rest is denoised.
    canvas.locator(".token").nth(1).click()
    canvas.locator(".token").nth(2).click(modifiers=["Shift"])
    panel.get_by_label("Replace with").fill("41")
    panel.get_by_role("button", name="Replace").click()
    page.get_by_role("button", name="Denoise all but the pins").click()
    expect(page.get_by_role("button", name="Export")).to_be_enabled()
    assert text_of(canvas).startswith("answer: 41\n")
    # With the keyboard.
    canvas.locator(".token").nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    panel.get_by_role("button", name="Denoise again from here").click()
    expect(page.get_by_role("button", name="Export")).to_be_enabled()
    assert text_of(canvas).startswith("answer: ")


def test_seeds_run_side_by_side_and_a_link_reproduces_them(page: Page):
    page.goto("/canvas")
    denoise(page, Side_by_side="3", Seed="5")
    takes = page.locator("sf-take")
    expect(takes).to_have_count(3)
    texts = [text_of(takes.nth(i)) for i in range(3)]
    page.get_by_role("button", name="Share").click()
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(takes).to_have_count(3)
    expect(page.get_by_role("button", name="Export")).to_be_enabled()
    assert [text_of(takes.nth(i)) for i in range(3)] == texts
    assert page.get_by_label("Seed", exact=True).input_value() == "5"


def test_pins_belong_to_one_take(page: Page):
    page.goto("/canvas")
    denoise(page, Side_by_side="2")
    first, second = page.locator("sf-take").nth(0), page.locator("sf-take").nth(1)
    first.locator(".token").nth(1).click()
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(first.locator(".pinned")).to_have_count(1)
    rest = page.get_by_role("button", name="Denoise all but the pins")
    expect(rest).to_be_visible()
    second.locator(".token").nth(2).click()
    expect(first.locator(".pinned")).to_have_count(1)
    expect(second.locator(".pinned")).to_have_count(0)
    expect(rest).to_have_count(0)
    expect(page.get_by_role("button", name="Pin", exact=True)).to_be_visible()


def share(page: Page, said: str) -> dict[str, Any]:
    """What the link says, and the page about it."""
    page.get_by_role("button", name="Share").click()
    expect(page.locator(".saying")).to_contain_text(said)
    code = page.url.split("#")[1]
    shared: dict[str, Any] = json.loads(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)))
    return shared


def test_a_link_says_what_is_shown(page: Page, tmp_path: Path):
    page.goto("/canvas")
    denoise(page, Seed="5", Prompt="12+5=")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    saved = tmp_path / "trace.json"
    download.value.save_as(saved)
    # What is typed afterwards is not shown yet.
    page.get_by_label("Prompt").fill("sums: 1+1")
    shared = share(page, "It runs exactly this again.")
    assert (shared["prompt"], shared["seed"], shared["count"]) == ("12+5=", 5, 1)
    page.locator("sf-canvas .token").nth(0).click()
    page.get_by_role("button", name="Pin", exact=True).click()
    assert share(page, "without your changes") == shared
    # A trace brings its seed along.
    page.goto("about:blank")
    page.goto("/canvas")
    page.get_by_label("Trace to open").set_input_files(saved)
    expect(page.locator("sf-take")).to_have_count(1)
    expect(page.get_by_label("Seed", exact=True)).to_have_value("5")
    expect(page.get_by_label("Prompt")).to_have_value("12+5=")
    assert share(page, "It runs exactly this again.") == shared


def test_a_link_to_a_model_that_is_not_here_leaves_one_that_is(page: Page):
    shared = {"model": "nope", "prompt": "12+5=", "turns": [], "options": {}, "seed": 4, "count": 1}
    page.goto("/canvas#" + base64.urlsafe_b64encode(json.dumps(shared).encode()).decode().rstrip("="))
    expect(page.locator(".saying")).to_contain_text("no model named “nope”; tiny is chosen instead")
    expect(page.get_by_label("Model")).to_have_value("tiny")
    page.get_by_role("button", name="Denoise", exact=True).click()
    expect(page.get_by_role("button", name="Export")).to_be_enabled()
    assert text_of(page.locator("sf-canvas")) == "17"
    expect(page.get_by_role("article", name="Seed 4")).to_be_visible()


def test_another_model_replaces_only_an_example(page: Page):
    page.goto("/canvas")
    prompt, model = page.get_by_label("Prompt"), page.get_by_label("Model")
    model.select_option("ui")
    expect(prompt).to_have_value(re.compile("^screen: "))
    prompt.fill("my own words")
    model.select_option("tiny")
    expect(prompt).to_have_value("my own words")
    # The refusal is one sentence, with examples to choose from.
    page.get_by_role("button", name="Denoise", exact=True).click()
    take = page.locator("sf-take")
    expect(take.locator(".error")).to_have_text("tiny was not trained on prompts like 'my own words'.")
    for name in ("Export", "Share"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_text("Click a token")).to_have_count(0)
    take.get_by_role("button", name="plain", exact=True).click()
    expect(prompt).to_have_value("12+5=")
    expect(page.get_by_role("button", name="Export")).to_be_enabled()
    assert text_of(page.locator("sf-canvas")) == "17"


def test_seeds_end_one_by_one(page: Page, served: Served):
    """One is done at once; the others go on until one is deleted on the server and one is stopped here."""
    ids: dict[int, str] = {}

    def pass_on(route: Route) -> None:
        body = route.request.post_data_json
        slow = {"steps": 1000, "settings": {"adaptive": False}} if body["seed"] > 5 else {}
        response = route.fetch(post_data=json.dumps(body | slow))
        ids[body["seed"]] = response.json()["id"]
        route.fulfill(response=response)

    page.route("**/v1/canvas", pass_on)
    page.goto("/canvas")
    page.get_by_label("Prompt", exact=True).fill(PROMPT)
    page.get_by_label("Side by side").fill("3")
    page.get_by_label("Seed", exact=True).fill("5")
    page.get_by_role("button", name="Denoise", exact=True).click()
    first, second, third = (page.get_by_role("article", name=f"Seed {seed}") for seed in (5, 6, 7))
    expect(first).to_contain_text("28 tokens")
    for take in (second, third):
        expect(take).to_contain_text("denoising …")
        expect(take).to_contain_text(re.compile(r"[1-9]\d* steps"))
    done = text_of(first)
    with served.cancelling(2):
        served.http.delete(f"/v1/canvas/{ids[6]}")
        expect(second).to_contain_text("stopped")
        expect(third).to_contain_text("denoising …")
        page.get_by_role("button", name="Stop").click()
        expect(third).to_contain_text("stopped")
    expect(page.locator("sf-take .error")).to_have_count(0)
    # What was there by then stays, and can be changed.
    assert text_of(first) == done == served.http.get(f"/v1/canvas/{ids[5]}").json()["text"]
    for take in (second, third):
        assert text_of(take)
    third.locator(".token").first.click()
    expect(page.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    # The next run has all the places.
    page.unroute("**/v1/canvas")
    denoise(page, Side_by_side="1", Seed="1")
    expect(page.locator("sf-take")).to_have_count(1)
    assert text_of(page.locator("sf-canvas")) == DERIVED


def test_several_tokens_can_be_selected_by_touch(browser: Browser, served: Served):
    context = browser.new_context(base_url=served.url, reduced_motion="reduce", **PHONE)
    page = context.new_page()
    page.goto("/canvas")
    denoise(page)
    tokens, panel = page.locator("sf-canvas .token"), page.get_by_role("region", name="Selected tokens")
    tokens.nth(1).tap()
    more = panel.get_by_role("button", name="Select more")
    more.tap()
    expect(more).to_have_attribute("aria-pressed", "true")
    tokens.nth(2).tap()
    expect(panel).to_contain_text("2 tokens")
    tokens.nth(0).tap()
    expect(panel).to_contain_text("3 tokens")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    more.tap()
    tokens.nth(2).tap()
    expect(panel).not_to_contain_text(re.compile("[23] tokens"))
    # A selection that was closed is not continued.
    more.tap()
    panel.get_by_role("button", name="Close").tap()
    tokens.nth(0).tap()
    expect(more).to_have_attribute("aria-pressed", "false")
    tokens.nth(2).tap()
    expect(page.locator("sf-canvas .chosen")).to_have_count(1)
    context.close()


def test_trace_can_be_saved_and_opened(page: Page, tmp_path: Path):
    page.goto("/canvas")
    denoise(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    saved = tmp_path / "trace.json"
    download.value.save_as(saved)
    steps = page.locator("sf-scrubber .figures").inner_text()
    page.reload()
    denoise(page, Prompt="sums: 12+35, 81/3, 40-17")
    page.get_by_label("Trace to open").set_input_files(saved)
    expect(page.locator("sf-canvas")).to_contain_text("answer: 39")
    assert text_of(page.locator("sf-canvas")) == DERIVED
    expect(page.locator("sf-scrubber .figures")).to_have_text(steps)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"format": "other"}))
    page.get_by_label("Trace to open").set_input_files(broken)
    expect(page.locator(".saying")).to_contain_text('allowed: "sfumato-trace-1"')
    expect(page.locator("sf-canvas")).to_contain_text("answer: 39")


def test_options_come_from_the_model_and_refusals_are_shown(page: Page, served: Served):
    card = served.http.get("/v1/models/tiny").json()["sfumato"]
    page.goto("/canvas")
    page.get_by_text("Options").click()
    listed = [option.strip() for option in page.get_by_label("Sampler").locator("option").all_inner_texts()]
    assert listed == [f"default ({card['sampler']})", *card["samplers"]]
    start, end = card["temperature"]
    expect(page.get_by_label("Temperature")).to_have_attribute("placeholder", f"{start:g} to {end:g}")
    steps = page.get_by_label("Max. steps")
    steps.fill("100000")
    steps.press("Tab")
    expect(steps).to_have_value(str(card["limits"]["steps"][1]))
    page.get_by_label("Max. tokens").fill(str(card["limits"]["max_tokens"][1]))
    page.get_by_role("button", name="Denoise", exact=True).click()
    expect(page.locator("sf-take .error")).to_contain_text("max_tokens")


def test_conversation_continues_and_stops(page: Page):
    page.goto("/canvas")
    denoise(page)
    # A model of fixed tasks knows no conversations.
    expect(page.get_by_role("button", name="Reply")).to_have_count(0)

    def without_kinds(route: Route) -> None:
        cards = route.fetch().json()
        for card in cards["data"]:
            card["sfumato"]["kinds"] = []
        route.fulfill(json=cards)

    page.route("**/v1/models", without_kinds)
    page.goto("/canvas")
    denoise(page)
    page.get_by_role("button", name="Reply").click()
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.get_by_label("Prompt")).to_have_value("")
    expect(page.get_by_role("button", name="Denoise", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".turn")).to_have_count(0)
    expect(page.locator("sf-canvas .token").first).to_be_visible()


def test_a_double_click_starts_and_does_not_stop(page: Page):
    page.goto("/canvas")
    page.get_by_role("button", name="Denoise", exact=True).dblclick()
    expect(page.get_by_role("button", name="Export")).to_be_enabled()
    expect(page.get_by_text("stopped")).to_have_count(0)
    assert page.evaluate("document.activeElement !== document.body")


def test_changes_by_hand_are_undone_exported_and_opened(page: Page, tmp_path: Path):
    page.goto("/canvas")
    denoise(page)
    canvas = page.locator("sf-canvas")
    before = text_of(canvas)
    canvas.locator(".token").nth(2).click()
    page.get_by_label("Replace with").fill("123")
    page.get_by_role("button", name="Replace", exact=True).click()
    changed = text_of(canvas)
    assert changed != before
    page.keyboard.press("Control+z")
    assert text_of(canvas) == before
    page.keyboard.press("Control+Shift+z")
    assert text_of(canvas) == changed
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export").click()
    saved.value.save_as(tmp_path / "trace.json")
    page.reload()
    page.get_by_label("Trace to open").set_input_files(tmp_path / "trace.json")
    expect(page.locator("sf-canvas .token.pinned")).to_have_count(1)
    assert text_of(page.locator("sf-canvas")) == changed


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_noise_can_be_read(page: Page, scheme: Literal["light", "dark"]):
    page.emulate_media(color_scheme=scheme)
    page.goto("/canvas")
    page.get_by_role("button", name="Denoise").click()
    page.get_by_role("button", name="First step").click()
    assert page.locator(".noise").first.evaluate(CONTRAST) >= 3
