"""Take the screenshots of the studio from a real server with real models.

python docs/record_studio.py docs/_static/studio            # those that the pages of docs show
python docs/record_studio.py /tmp/looks --all               # every page, light and dark, wide and on a phone
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from sfumato.storage import write_atomically

PORT = 8139
WIDE, PHONE = (1100, 860), (390, 844)
LOOKS = {"": ("light", WIDE), "-dark": ("dark", WIDE), "-phone": ("light", PHONE), "-phone-dark": ("dark", PHONE)}
COLOURS = 128
"""That a file has; with more it is larger, and looks the same."""
WAIT_MS = 600_000


@dataclass(frozen=True)
class Shot:
    """A page, and what is done on it before it is taken."""

    name: str
    path: str
    act: Callable[[Page], None]
    looks: tuple[str, ...] = ("",)
    """Those that the docs show."""
    models: str = "tiny tiny-twin ui"
    """That the server has."""


def _press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def _canvas(page: Page) -> None:
    _press(page, "Denoise")
    page.get_by_role("button", name="Export").and_(page.locator(":enabled")).wait_for()
    page.locator("sf-canvas .token").nth(1).click()


def _editor(page: Page) -> None:
    page.get_by_role("button", name="Find and rewrite").and_(page.locator(":enabled")).click()
    page.get_by_role("status").filter(has_text="accept or reject it").first.wait_for()


def _race(page: Page) -> None:
    _press(page, "Race")
    page.get_by_role("button", name="Watch again").wait_for()


def _structure(page: Page) -> None:
    _press(page, "Fill")
    page.get_by_role("button", name="Fill again").wait_for()


def _cost(page: Page) -> None:
    page.get_by_label("Expressions").fill("20")
    _press(page, "Ask")
    page.get_by_role("button", name="Ask").and_(page.locator(":enabled")).wait_for()


def _todo(page: Page) -> None:
    page.get_by_role("button", name="a to-do list with ten items").click()
    page.get_by_role("button", name="Start again").wait_for()


def _desktop(page: Page) -> None:
    for name in ("Wedding", "Savings"):
        _press(page, name)
        page.locator(f"sf-window[name='{name}'] sf-screen:not([draft])").wait_for()


def _written(page: Page) -> None:
    page.get_by_role("button", name="Stop").wait_for()
    page.get_by_role("button", name="Stop").wait_for(state="hidden")


def _forum(page: Page) -> None:
    _written(page)
    post = page.locator("article.post").first
    post.get_by_role("button", name="Vote up").click()
    post.get_by_role("textbox").fill("Which one should I read first?")
    post.get_by_role("textbox").press("Enter")


def _outlined(page: Page) -> None:
    page.get_by_role("navigation", name="Further pages").wait_for()


WITH_PROSE = "ui smollm2-135m-instruct"
SHOTS = (
    Shot("canvas", "/canvas", _canvas),
    Shot("editor", "/editor", _editor),
    Shot("race", "/race", _race),
    Shot("structure", "/structure", _structure),
    Shot("cost", "/cost", _cost),
    Shot("todo", "/todo", _todo, looks=("", "-phone-dark")),
    Shot("encyclopedia-embedded", "/encyclopedia/Honey bees", _outlined),
    Shot("desktop", "/desktop", _desktop, looks=("", "-phone-dark")),
    Shot("encyclopedia", "/encyclopedia/Volcanoes", _written, looks=("", "-phone-dark"), models=WITH_PROSE),
    Shot("forum", "/forum/Volcanoes", _forum, looks=("", "-phone-dark"), models=WITH_PROSE),
)


@contextmanager
def served(models: str) -> Iterator[str]:
    """The address of a server of models, as long as it is needed."""
    url = f"http://127.0.0.1:{PORT}"
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "sfumato", "serve", *models.split(), "--port", str(PORT)]
        server = subprocess.Popen([*command, "--database", f"{directory}/canvases.db"], stderr=subprocess.DEVNULL)
        try:
            while not _is_ready(url):
                if server.poll() is not None:
                    raise SystemExit(f"{' '.join(command)} ended with {server.returncode}")
                time.sleep(0.5)
            yield url
        finally:
            server.terminate()
            server.wait()


def _is_ready(url: str) -> bool:
    try:
        with urlopen(f"{url}/ready") as response:
            return bool(response.status == 200)
    except URLError:
        return False


def take(page: Page, shot: Shot, directory: Path, looks: tuple[str, ...]) -> None:
    """Write a file for each look of a page."""
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    page.goto(shot.path)
    shot.act(page)
    for look in looks:
        scheme, (width, height) = LOOKS[look]
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("scrollTo(0, 0)")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        image = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
        file = io.BytesIO()
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        write_atomically(directory / f"{shot.name}{look}.png", file.getvalue())
        print(f"{shot.name}{look}.png", len(file.getvalue()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", help="of shots; without any, all of them")
    parser.add_argument("--all", action="store_true", help="in every look")
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    shots = [shot for shot in SHOTS if not given.names or shot.name in given.names]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("there is no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for models in dict.fromkeys(shot.models for shot in shots):
            with served(models) as url:
                for shot in (shot for shot in shots if shot.models == models):
                    context = browser.new_context(base_url=url, reduced_motion="reduce")
                    context.set_default_timeout(WAIT_MS)
                    take(context.new_page(), shot, given.directory, tuple(LOOKS) if given.all else shot.looks)
                    context.close()
        browser.close()


if __name__ == "__main__":
    main()
