"""Sentences from templates, with typing and speech recognition errors."""

from __future__ import annotations

import itertools
import re
import tomllib
from functools import cache
from importlib import resources
from random import Random
from typing import Any

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_COPIED = re.compile("(\x01[^\x02]*\x02)")
_FILLERS = ("um", "uh", "er", "hmm", "well", "so", "okay")
# What is heard for what was said.
_HEARD = {"to": "too", "two": "to", "four": "for", "for": "four", "one": "won", "by": "buy", "red": "read"}
_NEIGHBOURS = {a: b for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm") for a, b in itertools.pairwise(row)}
NOISY_SHARE = 0.25
HELD_OUT_MARK = "~"


@cache
def texts() -> dict[str, Any]:
    """The wordings in texts.toml."""
    return tomllib.loads(resources.files(__package__).joinpath("texts.toml").read_text("utf-8"))


def templates(text: str, *, held_out: bool) -> list[str]:
    """The lines of a text that are marked as held out, or those that are not."""
    lines = text.strip().split("\n")
    return [line.removeprefix(HELD_OUT_MARK) for line in lines if line.startswith(HELD_OUT_MARK) == held_out]


def word(template: str, random: Random) -> str:
    """Choose from each `[this|that]` of a template."""
    while _CHOICE.search(template):
        template = _CHOICE.sub(lambda match: random.choice(match[1].split("|")), template)
    return template


def copied(text: str) -> str:
    """Mark a text to stay unchanged, ignoring marks within it."""
    return f"\x01{plain(text)}\x02"


def copied_words(sentence: str) -> set[str]:
    """The words in lower case that are marked as copied."""
    return {word for part in _COPIED.findall(sentence) for word in plain(part).casefold().split()}


def plain(sentence: str) -> str:
    """Remove marks and extra spaces."""
    return " ".join(sentence.replace("\x01", "").replace("\x02", "").split())


def indefinite(text: str) -> str:
    """The indefinite article before a text."""
    return "an" if text[0] in "aeiou" else "a"


def conjugate(verb: str) -> tuple[str, str]:
    """The past tense and the past participle of a verb."""
    if verb in texts()["past"]:
        past, _, participle = texts()["past"][verb].partition(" ")
        return past, participle or past
    if verb.endswith("e"):
        past = f"{verb}d"
    elif re.search("[^aeiou]y$", verb):
        past = f"{verb[:-1]}ied"
    elif re.fullmatch("[^aeiou]*[aeiou][^aeiouwxy]", verb):
        past = f"{verb}{verb[-1]}ed"
    else:
        past = f"{verb}ed"
    return past, past


def distort(sentence: str, random: Random) -> str:
    """A marked sentence as received: mostly tidy or in lower case, sometimes with slips; copied text is unchanged."""
    tidy = random.random()
    parts = _COPIED.split(sentence)
    if random.random() < NOISY_SHARE:
        number = random.randrange(0, len(parts), 2)
        parts[number] = random.choice((_mistype, _mistype, _stammer, _mishear))(parts[number], random)
    text = plain("".join(parts))
    if tidy < 0.4:
        return text
    if tidy < 0.8:
        return text[:1].upper() + text[1:]
    return text[:1].upper() + text[1:] + ("." if text[-1:].isalnum() else "")


def _mistype(text: str, random: Random) -> str:
    letters = [i for i, c in enumerate(text) if c.isalpha()]
    if len(letters) < 4:
        return text
    i = random.choice(letters[1:])
    change = random.choice(("drop", "double", "swap", "near"))
    if change == "drop":
        return text[:i] + text[i + 1 :]
    if change == "double":
        return text[:i] + text[i] + text[i:]
    if change == "swap":
        return text[: i - 1] + text[i] + text[i - 1] + text[i + 1 :]
    return text[:i] + _NEIGHBOURS.get(text[i], text[i]) + text[i + 1 :]


def _stammer(text: str, random: Random) -> str:
    words = text.split(" ")
    i = random.randrange(len(words))
    words.insert(i, random.choice((words[i], random.choice(_FILLERS))))
    return " ".join(words)


def _mishear(text: str, random: Random) -> str:
    heard = [i for i, said in enumerate(text.split(" ")) if said in _HEARD]
    if not heard:
        return text
    words = text.split(" ")
    i = random.choice(heard)
    words[i] = _HEARD[words[i]]
    return " ".join(words)
