"""Domains of apps: 30 topics, five of them held out from training."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from random import Random


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Vocabulary of one topic."""

    topic: str
    """As in "about moving house"."""
    tasks: tuple[str, ...]
    """Ten things to do."""
    things: tuple[str, ...]
    """Eight things to list."""
    number: str
    """Name of a column of numbers."""
    state: str
    """Name of a column of states."""
    states: tuple[str, ...]
    fields: tuple[str, ...]
    """Fields of a form."""


NUM_HELD_OUT = 5


def _read(line: str) -> Domain:
    topic, tasks, things, number, state, fields = line.split("; ")
    name, _, states = state.partition(": ")
    return Domain(
        topic=topic,
        tasks=tuple(tasks.split(", ")),
        things=tuple(things.split(", ")),
        number=number,
        state=name,
        states=tuple(states.split(", ")),
        fields=tuple(fields.split(", ")),
    )


@cache
def domains() -> tuple[Domain, ...]:
    """All domains; the last `NUM_HELD_OUT` are held out."""
    lines = resources.files("sfumato.data.apps").joinpath("domains.txt").read_text("utf-8").splitlines()
    return tuple(_read(line) for line in lines[1:])


_VERBS = "buy find fix clean order check paint sell carry borrow wash open move count hide sort bring test return store"
_ADJECTIVES = "old new small green wooden heavy spare broken cheap second round blue long good lost warm empty tall"
_NOUNS = (
    "milk bread ladder keys ticket phone jacket window bottle table candle hammer parcel blanket charger bucket stamp "
    "mirror engine ribbon folder helmet basket filter kettle pillow drawer needle bridge poster cable carpet shovel "
    "wallet sponge banana pepper yogurt coffee garlic cherry onion walnut"
)
_ONSETS = "b br c ch d f fl g gr h j k l m n p pr r s sh st t tr v w z"


def coin_name(random: Random) -> str:
    """A made-up name, which a reader has to copy."""
    name = "".join(random.choice(_ONSETS.split()) + random.choice("aeiou") for _ in range(random.randint(1, 2)))
    return (name + random.choice(("", "n", "r", "s", "l", "th", "x"))).capitalize()


def coin_thing(random: Random) -> str:
    """A list item of no domain."""
    noun = random.choice(_NOUNS.split())
    form = random.random()
    if form < 0.15:
        return coin_name(random)
    return f"{random.choice(_ADJECTIVES.split())} {noun}" if form < 0.5 else noun


def coin_task(random: Random) -> str:
    """A to-do of no domain."""
    return f"{random.choice(_VERBS.split())} {random.choice(('the ', 'a ', ''))}{coin_thing(random)}"


def capitalize(text: str) -> str:
    """Capitalise the first letter only."""
    return text[:1].upper() + text[1:]
