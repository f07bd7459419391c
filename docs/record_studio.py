"""Pictures of the studio, taken in a browser: python docs/record_studio.py docs/_static/studio

An animation of the canvas page, which goes through the steps of an answer, and each other page
as it looks in use.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.studio import open_studio, open_tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROMPT = "answer, then derive: (55/5+44/4)*4+sqrt(16)"
TALL, WIDE = {"width": 880, "height": 960}, {"width": 1120, "height": 760}
COLORS = 96
STEP_MS, LAST_MS = 900, 3200


def take(page: Page) -> Image.Image:
    """What is to be seen, in few colours."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(COLORS)


def animate(page: Page) -> list[Image.Image]:
    """The canvas page, step by step."""
    page.set_viewport_size(TALL)
    page.goto("/canvas")
    page.get_by_label("Prompt").fill(PROMPT)
    frames = [take(page)]
    page.get_by_role("button", name="Denoise", exact=True).click()
    page.get_by_role("button", name="Reply").click(trial=True)
    slider = page.get_by_role("slider", name="Step")
    slider.press("Home")
    for _ in range(int(slider.get_attribute("max") or 0) + 1):
        frames.append(take(page))
        slider.press("ArrowRight")
    # What became of the answer, and what else could have stood there.
    page.locator("sf-canvas .token").filter(has_text=re.compile(r"^\d$")).nth(1).click()
    return [*frames, take(page)]


def use_editor(page: Page) -> None:
    page.get_by_role("button", name="Find and rewrite").click()
    page.get_by_text("accept or refuse it").wait_for()


def use_race(page: Page) -> None:
    page.get_by_label("Prompt").fill(PROMPT)
    page.get_by_role("button", name="Race", exact=True).click()
    page.get_by_role("button", name="Watch again").wait_for()


def use_structure(page: Page) -> None:
    page.get_by_role("button", name="Fill", exact=True).click()
    page.get_by_role("button", name="Fill again").wait_for()


def use_cost(page: Page) -> None:
    page.get_by_label("Expressions").fill("10")
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("progressbar").wait_for(state="hidden")


def use_todo(page: Page) -> None:
    page.get_by_role("button", name=re.compile("moving house")).click()
    page.get_by_role("button", name="Start again").wait_for()


def use_desktop(page: Page) -> None:
    for name in ("Wedding", "Gym"):
        page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_function("probe.settle(60000).then(({ isBusy }) => !isBusy)")


USES: dict[str, Callable[[Page], None]] = {
    "editor": use_editor,
    "race": use_race,
    "structure": use_structure,
    "cost": use_cost,
    "todo": use_todo,
    "desktop": use_desktop,
}


def record(folder: Path) -> None:
    """Write the animation, and a picture of each page."""
    folder.mkdir(parents=True, exist_ok=True)
    errors: list[str] = []

    def open_page(browser: Browser, url: str) -> Page:
        page = open_tab(browser, url, errors)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        return page

    with open_studio("tiny", "tiny-twin", "ui") as (launch, url), launch() as browser:
        frames = animate(open_page(browser, url))
        durations = [STEP_MS] * (len(frames) - 2) + [LAST_MS] * 2
        frames[0].save(
            folder / "canvas.gif", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True
        )
        for name, use in USES.items():
            page = open_page(browser, url)
            page.set_viewport_size(WIDE)
            page.goto(f"/{name}")
            use(page)
            page.evaluate("scrollTo(0, 0)")
            take(page).save(folder / f"{name}.png", optimize=True)
            page.context.close()
    if errors:
        raise SystemExit("a page failed: " + "; ".join(errors))


if __name__ == "__main__":
    record(Path(sys.argv[1]))
