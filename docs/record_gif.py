"""Record the canvas page as an animated GIF, from the real program.

python docs/record_gif.py docs/_static/studio/canvas.gif

The page goes through the steps of an answer that stands before its derivation, and opens a token that changed.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.studio import open_studio, open_tab

from sfumato.storage import write_atomically

if TYPE_CHECKING:
    from playwright.sync_api import Page

PROMPT = "answer, then derive: (55/5+44/4)*4+sqrt(16)"
SIZE = {"width": 880, "height": 960}
COLORS = 96
STEP_MS, LAST_MS = 900, 3200


def take(page: Page) -> Image.Image:
    """A screenshot, in few colours."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(COLORS)


def record(page: Page) -> list[Image.Image]:
    """The prompt, each step of the answer, and a token's history."""
    page.set_viewport_size(SIZE)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto("/canvas")
    page.get_by_label("Prompt").fill(PROMPT)
    frames = [take(page)]
    page.get_by_role("button", name="Denoise", exact=True).click()
    page.get_by_role("button", name="Export").click(trial=True)
    slider = page.get_by_role("slider", name="Step")
    slider.press("Home")
    for _ in range(int(slider.get_attribute("max") or 0) + 1):
        frames.append(take(page))
        slider.press("ArrowRight")
    page.locator("sf-canvas .token").filter(has_text=re.compile(r"^\d$")).nth(1).click()
    return [*frames, take(page)]


def main() -> None:
    errors: list[str] = []
    with open_studio("tiny") as (launch, url), launch() as browser:
        frames = record(open_tab(browser, url, errors))
    if errors:
        raise SystemExit("the page failed: " + "; ".join(errors))
    durations, file = [STEP_MS] * (len(frames) - 2) + [LAST_MS] * 2, io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    write_atomically(Path(sys.argv[1]), file.getvalue())


if __name__ == "__main__":
    main()
