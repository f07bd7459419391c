"""Documents for recipes/smol-cpu.toml: the prose of Python's own reference, which ships with every Python.

Topics are split as a whole, so that held-out text is about something else.
"""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path
from pydoc_data.topics import topics

MOST_CHARACTERS, FEWEST_CHARACTERS = 600, 40


def documents(topic: str) -> list[str]:
    """Paragraphs of prose, several per document."""
    found, current = [], ""
    for paragraph in topic.split("\n\n"):
        text = " ".join(paragraph.split())
        if len(text) < FEWEST_CHARACTERS or re.search(r"[*=]{4,}|>>>", text):
            continue
        if current and len(current) + len(text) > MOST_CHARACTERS:
            found.append(current)
            current = ""
        current = f"{current} {text}".strip()
    return [*found, current] if current else found


def main(directory: Path) -> None:
    """Write train.jsonl and held.jsonl."""
    names = sorted(topics)
    random.Random(0).shuffle(names)
    held = len(names) // 8
    directory.mkdir(parents=True, exist_ok=True)
    for file, chosen in (("held.jsonl", names[:held]), ("train.jsonl", names[held:])):
        lines = [json.dumps({"text": text}) for name in sorted(chosen) for text in documents(topics[name])]
        (directory / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
