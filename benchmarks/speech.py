"""Accuracy of the server's speech recognition on commands spoken by espeak-ng."""

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


def same_words(heard: str, said: str) -> bool:
    """Whether a transcript has the words of a command, apart from case, punctuation and digits."""
    words = [_DIGITS.get(word, word) for word in re.findall(r"\w+", heard.lower())]
    return words == said.split()


def say(text: str, voice: str) -> bytes:
    """Synthesize a sentence as wav.

    Raises:
        ConfigError: if espeak-ng is not installed, or has no such voice.
    """
    program = shutil.which("espeak-ng")
    if program is None:
        raise ConfigError("espeak-ng is not installed; Debian's package has that name")
    done = subprocess.run([program, "-v", voice, "-s", "140", "--stdout", text], capture_output=True, check=False)
    if done.returncode or not done.stdout:
        raise ConfigError(f"espeak-ng has no voice {voice!r}; `espeak-ng --voices` lists them")
    return done.stdout


async def transcribe_all(recognizer: Speech, voice: str, asked: Asked) -> list[tuple[str, str]]:
    """(said, heard) of each command."""
    return [(said, (await recognizer.hear(say(said, voice), asked))["text"]) for said in COMMANDS]


def speech(
    model: Annotated[
        Path | None, typer.Option(help="A Whisper model for CTranslate2; default: the installed one.")
    ] = None,
    voice: Annotated[str, typer.Option(help="Voice of espeak-ng.")] = "en-us",
    hint: Annotated[str | None, typer.Option(help="Prompt of the transcription request.")] = None,
) -> None:
    """Share of 30 spoken commands that are transcribed correctly. Prints one line of JSON."""
    from sfumato.server.speech import Asked, find_speech

    recognizer = find_speech(model)
    if recognizer is None:
        raise ConfigError("speech recognition is not installed: pip install 'sfumato[speech]', or --model PATH")
    begun = time.perf_counter()
    found = asyncio.run(transcribe_all(recognizer, voice, Asked(language="en", prompt=hint)))
    seconds = (time.perf_counter() - begun) / len(COMMANDS)
    wrong = {said: heard for said, heard in found if not same_words(heard, said)}
    about = {"bench": "speech", "model": recognizer.name, "voice": voice, "hint": hint, "commands": len(COMMANDS)}
    figures = {"share": round(1 - len(wrong) / len(COMMANDS), 3), "seconds_each": round(seconds, 2), "wrong": wrong}
    typer.echo(json.dumps(about | figures))
