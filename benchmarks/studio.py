"""The studio in a browser: commands in held-out wording on the to-do page, random clicks on the desktop."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from benchmarks.http_load import Server
from benchmarks.options import ways
from benchmarks.speech import say
from sfumato.data.apps.commands import draw_command_about
from sfumato.data.apps.domains import Domain
from sfumato.data.apps.screens import draw_domain, draw_screen
from sfumato.data.apps.speech import plain
from sfumato.data.tasks.base import Item
from sfumato.data.tasks.ui import Screen
from sfumato.errors import ConfigError, RequestError
from sfumato.server.speech import find_speech
from sfumato.ui import Component, execute, is_refusal, parse, to_text
from sfumato.ui.tree import line_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

_PROBE = Path(__file__).with_suffix(".js")
_TODO, _DESKTOP = "sfumato.todo.steps", "sfumato.desktop"
_LIMIT_MS = 120_000
Launch = Callable[..., AbstractContextManager["Browser"]]
_TYPED = ("sort by name", "dark mode", "delete the second", "add bread", "tick off the first one", "Otto", "12", "?!")


@contextmanager
def open_studio(*models: str, speech: bool = False) -> Iterator[tuple[Launch, str]]:
    """Start a server with the studio; yields a function that opens browsers, and the URL.

    Raises:
        ConfigError: if playwright, Chromium or the built studio is missing.
    """
    from sfumato.server.studio import STATIC

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise ConfigError("chromium is not installed; Debian's package has that name")
    if not (STATIC / "index.html").is_file():
        raise ConfigError("the studio is not built; in a checkout: make web")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise ConfigError("playwright is not installed: pip install 'sfumato[dev]'") from error
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        directory = Path(name)
        server = Server(directory, models=models, studio=True, speech=speech)

        @contextmanager
        def launch(microphone: bytes | None = None) -> Iterator[Browser]:
            arguments = ["--no-sandbox"]
            if microphone is not None:
                (directory / "said.wav").write_bytes(microphone)
                arguments += ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
                arguments += [f"--use-file-for-fake-audio-capture={directory / 'said.wav'}%noloop"]
            browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
            try:
                yield browser
            finally:
                browser.close()

        try:
            yield launch, f"http://127.0.0.1:{server.port}"
        finally:
            server.stop()


def open_tab(browser: Browser, url: str, errors: list[str], *, permissions: tuple[str, ...] = ()) -> Page:
    """Open a tab with its own storage; its errors are appended to `errors`."""
    context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 900})
    context.grant_permissions(list(permissions))
    context.set_default_timeout(_LIMIT_MS)
    context.add_init_script(path=_PROBE)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    page.on("console", note)
    return page


def stored(page: Page, name: str) -> Any:
    """A value in the page's local storage."""
    return page.evaluate("name => JSON.parse(localStorage.getItem(name))", name)


@dataclass(kw_only=True)
class Todo:
    """Results of sentences on the to-do page."""

    sessions: int
    commands: int = 0
    right: int = 0
    """Commands that made the right tree; impossible ones refused for the right reason."""
    valid: int = 0
    """Commands after which the tree was valid."""
    spared: int = 0
    """Commands that changed no unrelated slot."""
    redrawn: int = 0
    """Slots with a new DOM node but the same content."""
    first_right: int = 0
    """First screens that are right."""
    first_valid: int = 0
    median_ms: float = 0.0
    """From Enter to the painted change, for commands."""
    p95_ms: float = 0.0
    first_median_ms: float = 0.0
    errors: list[str] = field(default_factory=list)
    """Errors of the page."""
    wrong: list[dict[str, str]] = field(default_factory=list)


def _first_screen(draw: random.Random, domain: Domain) -> Item:
    """A request for a to-do list in held-out wording, and its screen."""
    while True:
        screen = draw_screen(draw, unseen_wording=True, domain=domain)
        if " list" in screen.lines and any(line.startswith("  checkbox") for line in screen.lines):
            prompt, response = f"screen: {plain(screen.sentence)}", "\n".join(screen.lines)
            return Item(prompt=prompt, response=response, meta={"choices": screen.choices})


def _say(page: Page, sentence: str) -> dict[str, Any]:
    page.locator("#command").fill(sentence)
    page.evaluate("probe.arm('keydown')")
    page.locator("#command").press("Enter")
    outcome: dict[str, Any] = page.evaluate("limit => probe.settle(limit)", _LIMIT_MS)
    close = page.get_by_role("button", name="Close the message")
    if close.is_visible():
        close.click()
    return outcome


def _load(page: Page, text: str) -> None:
    """Show a tree on the page."""
    steps = {"all": [{"page": text, "said": "", "ms": None}], "at": 0}
    page.evaluate("([name, value]) => localStorage.setItem(name, JSON.stringify(value))", [_TODO, steps])
    page.reload()
    page.locator("sf-screen").wait_for()


def _shown(page: Page) -> str:
    """The tree on the page; empty if there is none."""
    steps = stored(page, _TODO) or {"all": [], "at": -1}
    return str(steps["all"][steps["at"]]["page"]) if steps["all"] else ""


def _lines(page: Component) -> dict[str, str]:
    return {each.id: line_of(each) for each in page.walk()}


def _spares(before: Component, meant: Component, now: Component) -> bool:
    """Whether every unrelated slot is unchanged."""
    was, wanted, shown = _lines(before), _lines(meant), _lines(now)
    return all(shown.get(slot) == line for slot, line in was.items() if wanted.get(slot) == line)


def todo(browser: Browser, url: str, sessions: int, commands: int, seed: int) -> Todo:
    """Run sessions of a first sentence and some commands, all in held-out wording."""
    found, times, first_times = Todo(sessions=sessions), list[float](), list[float]()
    task = Screen("wordings")
    for session in range(sessions):
        draw = random.Random(f"{seed} {session}")
        domain = draw_domain(draw, held_out=False)
        page = open_tab(browser, url, found.errors)
        page.goto("/todo")
        page.get_by_role("button", name="a to-do list with ten items").click(trial=True)
        item = _first_screen(draw, domain)
        outcome = _say(page, item.prompt.removeprefix("screen: "))
        first_times.append(outcome["ms"])
        made = _shown(page)
        try:
            text = to_text(parse(made), ids=False) if made else ""
        except RequestError:
            text = ""
        found.first_valid += bool(text)
        if task.check(item, text):
            found.first_right += 1
        else:
            found.wrong.append({"said": item.prompt, "meant": item.response, "shown": text or outcome["message"]})
            _load(page, to_text(parse(item.response)))
        for _ in range(commands):
            before = parse(_shown(page))
            command = draw_command_about(before, domain, draw, unseen_wording=True)
            sentence, meant = plain(command.sentence), execute(before, command.program)
            outcome = _say(page, sentence)
            found.commands += 1
            times.append(outcome["ms"])
            found.redrawn += len(outcome["redrawn"])
            try:
                now = parse(_shown(page))
            except RequestError:
                _load(page, to_text(meant))
                continue
            found.valid += 1
            found.spared += _spares(before, meant, now)
            reason = command.program.removeprefix("refuse: ")
            is_right = to_text(now, ids=False) == to_text(meant, ids=False)
            if is_refusal(command.program):
                is_right = is_right and reason in outcome["message"]
            found.right += is_right
            if not is_right:
                shown = outcome["message"] if to_text(now) == to_text(before) else to_text(now)
                found.wrong.append({"said": sentence, "on": to_text(before), "meant": command.program, "shown": shown})
                # Undo, as a user would.
                if to_text(now) != to_text(before):
                    page.locator("h1").click()
                    page.keyboard.press("Control+z")
        page.context.close()
    found.median_ms, found.p95_ms = _percentiles(times)
    found.first_median_ms, _ = _percentiles(first_times)
    return found


def _percentiles(times: list[float]) -> tuple[float, float]:
    """The median and the 95th percentile; zeros without values."""
    if not times:
        return 0.0, 0.0
    median, p95 = np.quantile(times, (0.5, 0.95))
    return round(float(median), 1), round(float(p95), 1)


@dataclass(kw_only=True)
class Monkey:
    """Results of random clicks on the desktop."""

    clicks: int
    changed: int = 0
    """Clicks that changed the screen."""
    written: int = 0
    """Clicks and typed lines that the model answered."""
    unwritten: int = 0
    """Apps without a valid screen; their windows offer another try."""
    invalid: int = 0
    """Invalid trees."""
    dead_ends: int = 0
    """Clicks after which nothing could be clicked, or work had not ended after two minutes."""
    redrawn: int = 0
    """Slots with a new DOM node but the same content."""
    median_ms: float = 0.0
    """From a click to the painted change, for clicks that changed the screen."""
    p95_ms: float = 0.0
    written_median_ms: float = 0.0
    """The same for clicks that the model answered."""
    errors: list[str] = field(default_factory=list)
    """Errors of the page."""


def desktop(browser: Browser, url: str, clicks: int, seed: int) -> Monkey:
    """Click at random, and sometimes type."""
    found, times, written = Monkey(clicks=clicks), list[float](), list[float]()
    draw = random.Random(seed)
    page = open_tab(browser, url, found.errors)
    page.goto("/desktop")
    page.get_by_role("button", name="Wedding", exact=True).click(trial=True)
    for _ in range(clicks):
        targets: list[dict[str, str]] = page.evaluate("probe.targets('sf-desktop-page')")
        if not targets:
            found.dead_ends += 1
            page.reload()
            page.get_by_role("button", name="Wedding", exact=True).click(trial=True)
            continue
        number = draw.randrange(len(targets))
        target = targets[number]
        page.evaluate("probe.arm('pointerdown')")
        if target["tag"] == "select":
            # The system draws its list, so a click on the page cannot choose.
            page.mouse.click(*page.evaluate("probe.aim", number))
            for key in ("ArrowDown", "Enter"):
                page.keyboard.press(key)
        else:
            page.mouse.click(*page.evaluate("probe.aim", number))
        if target["tag"] == "input" and target["type"] in ("text", "search", "number", "date", "email"):
            page.keyboard.insert_text(draw.choice(_TYPED))
            page.evaluate("probe.arm('keydown')")
            page.keyboard.press("Enter")
        outcome = page.evaluate("limit => probe.settle(limit)", _LIMIT_MS)
        found.dead_ends += outcome["isBusy"]
        found.redrawn += len(outcome["redrawn"])
        if outcome["isChanged"]:
            found.changed += 1
            times.append(outcome["ms"])
        if outcome["wasBusy"]:
            found.written += 1
            written.append(outcome["ms"])
        found.invalid += sum(not _is_page(each["page"]) for each in stored(page, _DESKTOP) or ())
    found.unwritten = page.get_by_role("button", name="Try again").count()
    found.median_ms, found.p95_ms = _percentiles(times)
    found.written_median_ms, _ = _percentiles(written)
    page.context.close()
    return found


@dataclass(kw_only=True)
class Voice:
    """Results of spoken commands."""

    voice: str
    commands: int
    heard: int = 0
    """Commands transcribed word for word."""
    right: int = 0
    """Commands that made the right tree."""
    right_when_typed: int = 0
    """The same sentences typed."""
    median_ms: float = 0.0
    """From releasing the button to the painted change."""
    errors: list[str] = field(default_factory=list)
    """Errors of the page."""
    wrong: list[dict[str, str]] = field(default_factory=list)


def _command_to_say(page: Component, domain: Domain, draw: random.Random) -> tuple[str, str]:
    """A command about a page and its program; all names in it are on the page."""
    shown = {text.casefold() for each in page.walk() for text in (each.text, *each.cells) if text}
    while True:
        command = draw_command_about(page, domain, draw)
        copied = re.findall("\x01([^\x02]*)\x02", command.sentence)
        if not is_refusal(command.program) and all(text.casefold() in shown for text in copied):
            return plain(command.sentence).replace('"', ""), command.program


def voice(url: str, launch: Launch, commands: int, seed: int, voice: str) -> Voice:
    """Speak commands by espeak-ng into the browser's microphone while the button is held.

    Args:
        launch: opens a browser whose microphone plays a file.
        commands: number of commands.
    """
    found, times = Voice(voice=voice, commands=commands), list[float]()
    for number in range(commands):
        draw = random.Random(f"{seed} {number}")
        domain = draw_domain(draw, held_out=False)
        names = draw.sample(domain.tasks, 5)
        before = parse(
            "\n".join(
                ["page", f" header: {domain.topic.capitalize()}", " list"]
                + [f"  checkbox{' on' * (draw.random() < 0.4)}: {name.capitalize()}" for name in names]
            )
        )
        sentence, program = _command_to_say(before, domain, draw)
        meant = to_text(execute(before, program), ids=False)
        spoken = say(sentence, voice)
        with launch(spoken) as browser:
            page = open_tab(browser, url, found.errors, permissions=("microphone",))
            page.goto("/todo")
            _load(page, to_text(before))
            button = page.get_by_role("button", name="Hold to talk")
            box = button.bounding_box()
            assert box is not None
            page.mouse.move(box["x"] + 5, box["y"] + 5)
            page.mouse.down()
            page.get_by_role("button", name="Listening").wait_for()
            # A wav of espeak-ng has 22,050 samples of two bytes a second; the browser plays it from the start.
            page.wait_for_timeout(1000 * len(spoken) / 44_100 + 800)
            page.evaluate("probe.arm('pointerup')")
            with page.expect_response("**/v1/audio/transcriptions") as answer:
                page.mouse.up()
            heard = answer.value.json().get("text", "")
            outcome = page.evaluate("limit => probe.settle(limit)", _LIMIT_MS)
            times.append(outcome["ms"])
            now = to_text(parse(_shown(page)), ids=False)
            found.heard += _words(heard) == _words(sentence)
            found.right += now == meant
            if now != meant:
                found.wrong.append(
                    {"said": sentence, "heard": heard, "meant": program, "shown": outcome["message"] or now}
                )
            _load(page, to_text(before))
            _say(page, sentence)
            found.right_when_typed += to_text(parse(_shown(page)), ids=False) == meant
    found.median_ms, _ = _percentiles(times)
    return found


def _words(sentence: str) -> list[str]:
    return re.findall(r"\w+", sentence.lower())


def _is_page(text: str) -> bool:
    try:
        parse(text)
    except RequestError:
        return False
    return True


def studio(
    measure: Annotated[str, typer.Argument(help="todo, desktop or voice.")],
    model: Annotated[str, typer.Option(help="Model that writes the screens: a name or a directory.")] = "ui",
    sessions: Annotated[int, typer.Option(min=1, help="Sessions on the to-do page.")] = 20,
    commands: Annotated[int, typer.Option(min=1, help="Commands per session.")] = 5,
    clicks: Annotated[int, typer.Option(min=1, help="Clicks on the desktop.")] = 200,
    spoken: Annotated[int, typer.Option(min=1, help="Spoken commands.")] = 30,
    speaker: Annotated[str, typer.Option(help="Voice of espeak-ng.")] = "en-us",
    seed: Annotated[int, typer.Option(min=0, help="Random seed of sentences and clicks.")] = 0,
) -> None:
    """The studio in a browser: commands in held-out wording, and random clicks. Prints one line of JSON."""
    [chosen] = ways("measure", measure, ("todo", "desktop", "voice"))
    if chosen == "voice" and find_speech(None) is None:
        raise ConfigError("speech recognition is not installed: pip install 'sfumato[speech]'")
    found: Todo | Monkey | Voice
    with open_studio(model, speech=chosen == "voice") as (launch, url):
        if chosen == "voice":
            found = voice(url, launch, spoken, seed, speaker)
        else:
            with launch() as browser:
                found = (
                    todo(browser, url, sessions, commands, seed)
                    if chosen == "todo"
                    else desktop(browser, url, clicks, seed)
                )
    about = {"bench": f"studio {chosen}", "model": model, "seed": seed, "load": round(os.getloadavg()[1], 1)}
    typer.echo(json.dumps(about | asdict(found)))
