"""The live view: a style for each state, and a frame that never outgrows the terminal."""

from __future__ import annotations

import io
import threading
import time

import pytest
from rich.console import Console

from sfumato.cli import live
from sfumato.cli.live import ACCEPTED, NOISE, REVISED, REVISED_NOW, SETTLED, CanvasView, play, prefetch, render
from sfumato.engine.request import CanvasChanged, Committed, Finished, Result, Usage


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(live, "FRAME_S", 0.0)
    monkeypatch.setattr(live, "LAST_FRAME_S", 0.0)


@pytest.fixture
def frames(monkeypatch):
    """What each frame that is drawn shows: (canvas, step) by variation."""
    drawn = []

    def recorded(views, console):
        drawn.append({i: (view.event.canvas, view.event.step) for i, view in views.items()})
        return render(views, console)

    monkeypatch.setattr(live, "render", recorded)
    return drawn


def terminal(width=80, height=24):
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height, color_system=None)


def draft(step, pieces, accepted=(), revised=(), canvas=0, variation=0):
    """A draft in which the positions named are accepted or revised."""
    positions = range(len(pieces))
    return CanvasChanged(
        variation=variation,
        canvas=canvas,
        step=step,
        steps=9,
        tokens=tuple(positions),
        pieces=tuple(pieces),
        text="".join(pieces),
        accepted=tuple(i in accepted for i in positions),
        revised=tuple(i in revised for i in positions),
        confidence=(0.5,) * len(pieces),
    )


def finished(text, seed=0, variation=0):
    result = Result(text=text, tokens=(), finish_reason="stop", seed=seed, model="m", usage=Usage())
    return Finished(variation=variation, result=result)


def styles(view):
    """The style of each character of a view's draft; every piece of these tests is one character."""
    text = view.text()
    # A span without any attribute is not kept.
    found = dict.fromkeys(range(len(view.committed), len(text)), SETTLED)
    return found | {i: span.style for span in text.spans for i in range(span.start, span.end)}


def shown(view, width=80, height=24):
    """The lines of a frame, as a terminal would show them."""
    console = terminal(width, height)
    console.print(render(view if isinstance(view, dict) else {0: view}, console))
    return console.file.getvalue().splitlines()


def test_states_have_styles():
    view = CanvasView()
    view.update(draft(0, "abcd"))
    assert set(styles(view).values()) == {NOISE}
    view.update(draft(1, "abcd", accepted=[0, 1]))
    assert styles(view) == {0: ACCEPTED, 1: ACCEPTED, 2: NOISE, 3: NOISE}
    view.update(draft(2, "abxd", accepted=[0, 2]))
    # A position that is put back to noise keeps its place among the settled: its draft has not changed.
    assert styles(view) == {0: SETTLED, 1: SETTLED, 2: ACCEPTED, 3: NOISE}
    view.update(draft(3, "zbxd", accepted=[0, 1, 2], revised=[0]))
    assert styles(view) == {0: REVISED_NOW, 1: SETTLED, 2: SETTLED, 3: NOISE}
    view.update(draft(4, "zbxd", accepted=[0, 1, 2, 3]))
    assert styles(view) == {0: REVISED, 1: SETTLED, 2: SETTLED, 3: ACCEPTED}


def test_states_differ_without_colour():
    attributes = [(style.dim, style.bold, style.reverse) for style in (NOISE, ACCEPTED, SETTLED, REVISED_NOW)]
    assert len(set(attributes)) == 4


def test_the_header_counts():
    view = CanvasView()
    view.update(draft(0, "abcd"))
    view.update(draft(1, "abcd", accepted=[0, 1]))
    view.update(draft(2, "xycd", accepted=[1, 2], revised=[0, 1]))
    assert view.header(80).plain == "canvas 1 · step 2/9 · 3/4 accepted · 2 revisions"
    assert view.header(40).plain == "canvas 1 · step 2/9 · 3/4 · 2 revisions"
    view.commit("xycd")
    view.update(draft(0, "efgh", canvas=1))
    assert view.header(80).plain == "canvas 2 · step 0/9 · 0/4 accepted · 2 revisions"


def test_committed_text_precedes_the_next_canvas():
    view = CanvasView()
    view.update(draft(1, "ab", accepted=[0, 1], revised=[1]))
    view.commit("ab")
    view.update(draft(0, "cd", canvas=1))
    assert view.text().plain == "abcd"
    assert styles(view) == {2: NOISE, 3: NOISE}


def test_line_ends_break_lines_only_once_accepted():
    view = CanvasView()
    view.update(draft(0, "a\nb"))
    assert "a↵b" in shown(view)
    view.update(draft(1, "a\nb", accepted=[1]))
    assert shown(view)[1:3] == ["a", "b"]


def test_control_characters_are_escaped():
    view = CanvasView()
    view.update(draft(1, ["\x1b", "[", "\r", "\x9b", "\x07", "�", ""], accepted=range(7)))
    view.update(draft(2, ["\x1b", "[", "\r", "\x9b", "\x07", "�", ""]))
    assert view.text().plain == "·[·····"
    view.commit("\x1b[2J\n")
    assert view.text().plain == "·[2J\n"


@pytest.mark.parametrize("num_views", [1, 2, 5, 8, 40])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (20, 8), (100, 50), (80, 2)])
def test_a_frame_fits_the_terminal(num_views, width, height):
    views = {i: CanvasView() for i in range(num_views)}
    for view in views.values():
        view.update(draft(1, ["line\n"] * 90, accepted=range(90)))
    lines = shown(views, width, height)
    assert len(lines) < height
    assert max(map(len, lines)) <= width


def test_running_answers_are_shown_first():
    views = {i: CanvasView() for i in range(20)}
    for i, view in views.items():
        view.update(draft(1, [f"answer {i}."], accepted=[0], canvas=1))
        view.finished = i < 15
    lines = shown(views)
    assert [line for line in lines if line.startswith("answer")] == [
        f"answer {i}." for i in [*range(5), *range(15, 20)]
    ]
    assert "… and 10 more" in lines


def test_frames_are_erased_in_small_terminals():
    """What is written is erased line by line; a line that has scrolled away cannot be."""
    lines = [f"{line}\n" for line in range(9)]
    events = [draft(step, lines, accepted=range(9), variation=v) for step in (1, 2, 3) for v in range(8)]
    console = terminal()
    play(iter([*events, *(finished("x", variation=v) for v in range(8))]), console)
    frames = console.file.getvalue().split("\x1b[1A\x1b[2K")
    assert 8 <= max(frame.count("\n") for frame in frames) < 24


def test_autoregressive_answer_has_no_canvases():
    view = CanvasView()
    for canvas in range(3):
        for step in range(2):
            view.update(draft(step, "a", accepted=[0], canvas=canvas))
        view.commit("a")
    assert view.header(80).plain == "3 tokens"
    assert shown(view)[:2] == ["3 tokens", "aaa"]
    assert not any("noise" in line for line in shown(view))
    # The last canvas of another answer may be a single position as well.
    other = CanvasView()
    for canvas, pieces in enumerate(("ab", "c")):
        other.update(draft(1, pieces, accepted=range(len(pieces)), canvas=canvas))
        other.commit(pieces)
    assert other.num_single == 0
    assert any("noise" in line for line in shown(other))


def test_end_of_a_long_text_is_shown():
    view = CanvasView()
    view.update(draft(1, [f"{i}\n" for i in range(50)], accepted=range(50)))
    lines = shown(view, height=20)
    assert "49" in lines
    assert "0" not in lines


def test_shrinking_draft_keeps_its_height():
    view = CanvasView()
    view.update(draft(1, "a\nb\nc", accepted=range(5)))
    height = len(shown(view))
    view.update(draft(2, ["a", "b", "", "", ""], accepted=range(5)))
    assert len(shown(view)) == height


def test_play_draws_a_frame_per_step(frames):
    events = []
    for step in range(3):
        events += [draft(step, "ab", variation=v) for v in (1, 0)]
    events += [Committed(variation=v, canvas=0, text="ab") for v in (1, 0)]
    events += [finished("one", 1, 1), finished("zero", 0, 0)]
    results = play(iter(events), terminal())
    assert [result.text for result in results] == ["zero", "one"]
    assert frames == [{0: (0, 0), 1: (0, 0)}, {0: (0, 1), 1: (0, 1)}, {0: (0, 2), 1: (0, 2)}]


def test_single_position_is_drawn_once(frames):
    events = []
    for canvas in range(3):
        events += [draft(0, "?", canvas=canvas), draft(1, "a", accepted=[0], canvas=canvas)]
        events += [Committed(variation=0, canvas=canvas, text="a")]
    play(iter([*events, finished("aaa")]), terminal())
    assert frames == [{0: (0, 1)}, {0: (1, 1)}, {0: (2, 1)}]


def test_generation_errors_are_raised():
    def fail():
        yield draft(0, "a")
        raise ValueError("of the model")

    with pytest.raises(ValueError, match="of the model"):
        list(prefetch(fail()))


def test_closing_ends_the_thread():
    made = []

    def endless():
        while True:
            made.append(threading.current_thread())
            yield draft(0, "a")
            time.sleep(0.001)

    events = prefetch(endless())
    next(events)
    events.close()
    assert made[0] is not threading.current_thread()
    assert not made[0].is_alive()
