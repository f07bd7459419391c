"""The live canvas in the terminal: noise turning into text, frame by frame.

A thread generates while frames are played at a readable pace, so watching neither slows the answer down nor distorts
the engine's times.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.style import Style
from rich.text import Text

from sfumato.cli.output import count
from sfumato.engine.request import CanvasChanged, Committed, Event, Finished, Reopened, Result, results_of
from sfumato.interrupts import Signals

FRAME_S = 0.06
"""Minimum time per frame; a canvas of 24 steps takes a second and a half."""
LAST_FRAME_S = 0.6
"""Time the last frame stays before the plain text replaces it."""
HEAD_START_S = 0.2
"""Time to generate before the first frame: drawing and a small model share the interpreter."""

NOISE = Style(dim=True)
ACCEPTED = Style(bold=True)
SETTLED = Style()
REVISED_NOW = Style(color="dark_orange", bold=True, reverse=True)
REVISED = Style(color="dark_orange")

EMPTY = "·"
"""Shown for a position without text: past the end, a special token, part of a character."""
_CONTROLS = dict.fromkeys([*range(32), *range(0x7F, 0xA0), 0xFFFD], EMPTY) | {ord("\t"): " ", ord("\n"): "\n"}
# Line ends within noise would make all lines below jump.
_CONTROLS_IN_NOISE = _CONTROLS | {ord("\n"): "↵"}
_WIDE = 64
"""Terminal width from which the header is written in full."""


@dataclass
class CanvasView:
    """The view of one answer: its committed text and the canvas being denoised."""

    committed: str = ""
    """Text of the earlier canvases."""
    event: CanvasChanged | None = None
    """The last draft; None between canvases."""
    accepted: list[bool] = field(default_factory=list)
    """Positions accepted in any step of this canvas."""
    fresh: list[bool] = field(default_factory=list)
    """Positions accepted for the first time in the last step."""
    revised: list[bool] = field(default_factory=list)
    """Positions revised in any step of this canvas."""
    revisions: int = 0
    """Revisions in the whole answer."""
    num_lines: int = 0
    """Most lines shown so far; kept so that the view does not jump when a draft gets shorter."""
    num_single: int = 0
    """Number of canvases so far if all have one position: an autoregressive answer, without noise or steps."""
    finished: bool = False
    """Whether the answer is complete."""

    def update(self, event: CanvasChanged) -> None:
        """Show a draft."""
        if self.event is None:
            self.accepted = self.revised = [False] * len(event.pieces)
        if len(event.pieces) == 1 and event.canvas in (0, self.num_single - 1, self.num_single):
            self.num_single = event.canvas + 1
        self.event = event
        self.fresh = [now and not before for before, now in zip(self.accepted, event.accepted, strict=True)]
        self.accepted = [before or now for before, now in zip(self.accepted, event.accepted, strict=True)]
        self.revised = [before or now for before, now in zip(self.revised, event.revised, strict=True)]
        self.revisions += sum(event.revised)

    def commit(self, text: str) -> None:
        """Move the final canvas's text to the committed text."""
        self.committed += text
        self.event = None

    def reopen(self, text: str) -> None:
        """Reopen a canvas after the text that stays committed."""
        self.committed = text
        self.event = None

    def header(self, width: int) -> Text:
        """Progress of the canvas, in one line."""
        header = Text(style=NOISE, no_wrap=True, overflow="ellipsis")
        if self.num_single:
            return header.append(count(self.num_single, "token"))
        if self.event is not None:
            wide = width >= _WIDE
            header.append(f"canvas {self.event.canvas + 1} · step {self.event.step}/{self.event.steps} · ")
            header.append(f"{sum(self.accepted)}/{len(self.accepted)} {'accepted ' if wide else ''}· ")
        revisions = count(self.revisions, "revision")
        return header.append(revisions, style=Style(dim=False) + REVISED if self.revisions else NOISE)

    def text(self) -> Text:
        """The committed text and the draft, each position styled by its state."""
        text = Text(self.committed.translate(_CONTROLS))
        for i, piece in enumerate(self.event.pieces if self.event else ()):
            shown = piece.translate(_CONTROLS if self.accepted[i] else _CONTROLS_IN_NOISE)
            text.append(shown or EMPTY, style=self._style(i) if shown else NOISE)
        return text

    def _style(self, i: int) -> Style:
        if self.event and self.event.revised[i]:
            return REVISED_NOW
        if not self.accepted[i]:
            return NOISE
        if self.revised[i]:
            return REVISED
        return ACCEPTED if self.fresh[i] else SETTLED


def play(events: Iterator[Event], console: Console, signals: Signals | None = None) -> list[Result]:
    """Show a stream of events and return the results, one per variation.

    Args:
        console: a terminal; the view is removed when this returns or raises.
        signals: after the first one nothing more is drawn.
    """
    signals = signals or Signals()
    views: dict[int, CanvasView] = {}
    finished: list[Finished] = []
    frame: set[int] = set()
    drawn_at = 0.0

    def draw() -> None:
        nonlocal drawn_at
        if frame and signals.arrived is None:
            time.sleep(max(0.0, drawn_at + FRAME_S - time.monotonic()))
            live.update(render(views, console), refresh=True)
            drawn_at = time.monotonic()
            frame.clear()

    with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
        for event in prefetch(events):
            view = views.setdefault(event.variation, CanvasView())
            if isinstance(event, Finished):
                view.finished = True
                finished.append(event)
            elif isinstance(event, Committed):
                draw()
                view.commit(event.text)
            elif isinstance(event, Reopened):
                view.reopen(event.text)
            else:
                # All variations take a step together and share a frame.
                if event.variation in frame:
                    draw()
                view.update(event)
                # The noise of a single position (an autoregressive canvas) gets no frame.
                if event.step > 0 or len(event.pieces) > 1:
                    frame.add(event.variation)
        if signals.arrived is None:
            time.sleep(LAST_FRAME_S)
    return results_of(finished)


def prefetch(events: Iterator[Event]) -> Iterator[Event]:
    """The same events, produced in a thread as fast as possible.

    Closing the iterator, as an interrupt does, stops the thread after the current event.
    """
    ready: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    stop = threading.Event()

    def produce() -> None:
        try:
            for event in events:
                ready.put(event)
                if stop.is_set():
                    return
            ready.put(None)
        except BaseException as error:
            ready.put(error)

    thread = threading.Thread(target=produce, name="generate", daemon=True)
    thread.start()
    try:
        thread.join(HEAD_START_S)
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        thread.join()


def render(views: Mapping[int, CanvasView], console: Console) -> Group:
    """Answers one below the other, each with its header; long texts are cut at the top, and if not all fit, unfinished
    answers come first."""
    width, height = console.size
    steps = not all(view.num_single for view in views.values())
    legend = [_legend()] if steps and width >= len(_legend()) and height >= 12 else []
    room = max(1, height - 1 - len(legend))
    # At least a header and a line of text each, with a blank line between answers if there is room.
    gap = int(3 * len(views) <= room)
    fitting = room // 2 if 2 * len(views) <= room else max(1, (room - 1) // 2)
    shown = sorted(sorted(views, key=lambda variation: (views[variation].finished, variation))[:fitting])
    share = max(1, room // len(shown) - 1 - gap)
    rows: list[Text] = []
    for view in (views[variation] for variation in shown):
        lines = list(view.text().wrap(console, width, overflow="fold"))[-share:]
        view.num_lines = min(share, max(view.num_lines, len(lines)))
        rows += [view.header(width), *lines, *[Text()] * (view.num_lines - len(lines) + gap)]
    if len(shown) < len(views):
        rows = [*rows[: room - 1], Text(f"… and {len(views) - len(shown)} more", style=NOISE)]
    return Group(*rows[:room], *legend)


def _legend() -> Text:
    names = (("noise", NOISE), ("accepted", ACCEPTED), ("settled", SETTLED), ("revised", REVISED))
    return Text("  ").join(Text(name, style=style) for name, style in names)
