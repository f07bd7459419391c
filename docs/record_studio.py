"""The picture of the studio: python docs/record_studio.py docs/_static/studio.webp

A browser asks the canvas page for an answer that stands before its derivation, and goes through its steps.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.studio import open_studio, open_tab

PROMPT = "answer, then derive: (55/5+44/4)*4+sqrt(16)"
SIZE = {"width": 880, "height": 960}
COLORS = 96
STEP_MS, LAST_MS = 900, 3200


def record(path: Path) -> None:
    """Write an animation of the canvas page: GIF or WebP, by the name of the file."""
    frames: list[Image.Image] = []
    errors: list[str] = []
    with open_studio("tiny") as (launch, url), launch() as browser:
        page = open_tab(browser, url, errors)
        page.set_viewport_size(SIZE)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto("/canvas")
        page.get_by_label("Prompt").fill(PROMPT)

        def keep() -> None:
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            frames.append(picture.quantize(COLORS) if path.suffix == ".gif" else picture)

        keep()
        page.get_by_role("button", name="Denoise", exact=True).click()
        page.get_by_role("button", name="Reply").click(trial=True)
        slider = page.get_by_role("slider", name="Step")
        slider.press("Home")
        for _ in range(int(slider.get_attribute("max") or 0) + 1):
            keep()
            slider.press("ArrowRight")
        # What became of the answer, and what else could have stood there.
        page.locator("sf-canvas .token").filter(has_text=re.compile(r"^\d$")).nth(1).click()
        keep()
    if errors:
        raise SystemExit("the page failed: " + "; ".join(errors))
    durations = [STEP_MS] * (len(frames) - 2) + [LAST_MS] * 2
    options = {} if path.suffix == ".gif" else {"quality": 70, "method": 6}
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True, **options)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
