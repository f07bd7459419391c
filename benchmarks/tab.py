"""A denoising step in the browser's tab against the same graph in onnxruntime on one thread, by turns."""

from __future__ import annotations

import json
import statistics
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato
from benchmarks.model import seconds
from benchmarks.peers import make_step
from benchmarks.studio import open_studio, open_tab
from sfumato.machine import cpu_name

if TYPE_CHECKING:
    from playwright.sync_api import Page

# The page's element, inside the shell.
TAB = "document.querySelector('sf-app').shadowRoot.querySelector('sf-tab-page')"
_WARM_UP = 10


def until(page: Page, condition: str) -> None:
    """Wait for a condition in the page's script, where the page's policy forbids Playwright's own waiting."""
    page.evaluate(f"async () => {{ while (!({condition})) await new Promise((go) => setTimeout(go, 10)); }}")


def ask(page: Page, prompt: str, seed: int) -> None:
    """Have the tab answer, and wait until it has."""
    page.get_by_label("Prompt").fill(prompt)
    page.get_by_label("Seed", exact=True).fill(str(seed))
    page.get_by_label("Seed", exact=True).blur()
    page.evaluate(f"{TAB}.take = null")
    page.get_by_role("button", name="Denoise").click()
    until(page, f"{TAB}.take !== null && {TAB}.take.status !== 'running'")


def tab(
    model: Annotated[str, typer.Argument(help="An embedded model.")] = "tiny",
    turns: Annotated[int, typer.Option(min=1, help="Answers in the tab, and as many turns of onnxruntime.")] = 30,
) -> None:
    """A step in the tab, in Chromium, against onnxruntime's native step on one thread. Prints one line of JSON."""
    prompt = sfumato.load(model).kinds[0].example
    errors: list[str] = []
    native, browser_steps = list[float](), list[float]()
    with open_studio(model) as (launch, url), launch() as browser, tempfile.TemporaryDirectory() as folder:
        page = open_tab(browser, url, errors)
        page.goto("/tab")
        until(page, f"{TAB}?.loaded")

        def answer(seed: int) -> Any:
            """The events of an answer."""
            ask(page, prompt, seed)
            return page.evaluate(f"{TAB}.take.traces[0].events")

        first = answer(0)
        size = (len(first[1]["confidence"]), first[-1]["usage"]["prompt_tokens"])
        step = make_step("onnxruntime", model, size, 1, Path(folder))
        for turn in range(-_WARM_UP, turns):
            drawn = [event for event in answer(turn + _WARM_UP) if event["type"] == "canvas.patch"]
            # Steps of the first canvas, whose length and prefix the native step has as well.
            told = [e["elapsed_ms"] for e in drawn if e["block"] == 0 and len(e["confidence"]) == size[0]]
            took = [seconds(step) * 1e3 for _ in range(len(told))]
            if turn >= 0:
                browser_steps += [after - before for before, after in pairwise(told)]
                native += took
        threads = page.evaluate(f"{TAB}.loaded.threads")
    medians = {"tab_ms": statistics.median(browser_steps), "onnxruntime_ms": statistics.median(native)}
    found = {name: round(value, 2) for name, value in medians.items()}
    about = {"bench": "tab", "model": model, "canvas": size[0], "prefix": size[1], "threads": threads}
    ratio = round(medians["tab_ms"] / medians["onnxruntime_ms"], 2)
    typer.echo(json.dumps(about | found | {"ratio": ratio, "steps": len(browser_steps), "cpu": cpu_name()}))
