"""Record a canvas revising itself as an animated SVG, from the real program.

python docs/record_canvas.py docs/_static/canvas.svg
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

import sfumato
from sfumato.cli.live import CanvasView
from sfumato.storage import write_atomically

PROMPT, SEED = "answer, then derive: (55/5+44/4)*4+sqrt(16)", 1
COLUMNS, LINES = 64, 9
FIRST_S, FRAME_S, LAST_S = 1.2, 0.7, 4.0
# Like rich's own, without remote fonts.
FORMAT = """<g class="{unique_id}">
<style>{styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g style="font-family: monospace; font-size: {char_height}px; line-height: {line_height}px">
{matrix}</g></g></g>"""


def record() -> list[str]:
    """The SVG of each frame."""
    model, view, frames = sfumato.load("tiny"), CanvasView(), []
    for event in model.stream(PROMPT, seed=SEED):
        if isinstance(event, sfumato.CanvasChanged):
            view.update(event)
            console = Console(record=True, width=COLUMNS, height=LINES, file=io.StringIO(), force_terminal=True)
            console.print(f"$ sfumato run '{PROMPT}'", highlight=False, markup=False)
            console.print(view.header(COLUMNS), view.text(), sep="\n", highlight=False)
            shown = console.export_text(clear=False).count("\n")
            console.print("\n" * max(0, LINES - shown - 1))
            number = len(frames)
            frames.append(
                console.export_svg(title="sfumato", theme=DIMMED_MONOKAI, code_format=FORMAT, unique_id=f"f{number}")
            )
    return frames


def animate(frames: list[str]) -> str:
    """An SVG that loops through the frames."""
    times = [FIRST_S, *[FRAME_S] * (len(frames) - 2), LAST_S]
    total, start, rules = sum(times), 0.0, []
    for number, seconds in enumerate(times):
        on, off = 100 * start / total, 100 * (start + seconds) / total
        rules.append(
            f"@keyframes k{number} {{ 0%, {on:.3f}% {{ visibility: hidden }} {on + 0.001:.3f}%, {off:.3f}% "
            f"{{ visibility: visible }} {min(100.0, off + 0.001):.3f}%, 100% {{ visibility: hidden }} }}\n"
            f".f{number} {{ visibility: hidden; animation: k{number} {total:.2f}s step-end infinite }}"
        )
        start += seconds
    rules[0] = rules[0].replace("0%, 0.000% { visibility: hidden } 0.001%", "0%")
    width, height = 12.2 * COLUMNS + 20, 24.4 * (LINES + 1) + 50
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}">'
    return "\n".join([head, "<style>", *rules, "</style>", *frames, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    write_atomically(parser.parse_args().file, animate(record()).encode())


if __name__ == "__main__":
    main()
