"""Domains of apps: 30 topics, five of them held out from training, and made-up ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from random import Random

from sfumato.ui.tree import MAX_CELL, MAX_TEXT

Coin = Callable[[Random], str]


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
    known: bool = True
    """Whether a model can know the domain, so that a sentence need not name everything on the screen."""


NUM_HELD_OUT = 5


def _lines(name: str) -> list[str]:
    return resources.files("sfumato.data.apps").joinpath(name).read_text("utf-8").splitlines()[1:]


def _read(line: str, *, known: bool) -> Domain:
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
        known=known,
    )


@cache
def domains() -> tuple[Domain, ...]:
    """All domains; the last `NUM_HELD_OUT` are held out."""
    lines = _lines("domains.txt")
    return tuple(_read(line, known=number < len(lines) - NUM_HELD_OUT) for number, line in enumerate(lines))


@cache
def words() -> tuple[tuple[str, ...], ...]:
    """Nouns, verbs and adjectives; beginnings, middles and ends of names."""
    return tuple(tuple(line.split()) for line in _lines("words.txt"))


@cache
def verbs() -> frozenset[str]:
    """Verbs with which tasks begin."""
    known = (task.split()[0] for domain in domains()[:-NUM_HELD_OUT] for task in domain.tasks)
    return frozenset((*words()[1], *known))


def _noun(random: Random) -> str:
    return random.choice(words()[0])


def _name(random: Random) -> str:
    *_, starts, middles, ends = words()
    parts = [random.choice(starts) + random.choice(middles) for _ in range(random.choice((1, 1, 2, 2, 3)))]
    return ("".join(parts) + random.choice((*ends, "", "", "")) * (random.random() < 0.8)).capitalize()


def _thing(random: Random) -> str:
    form = random.choice(("name", "noun", "plural", "described", "compound", "titled"))
    if form == "name":
        return _name(random) if random.random() < 0.7 else f"{_name(random)} {_name(random)}"
    if form == "titled":
        return f"{_noun(random).capitalize()} {_name(random)}"
    before = {"described": words()[2], "compound": words()[0]}.get(form)
    described = f"{random.choice(before)} " if before else ""
    return f"{described}{_noun(random)}{'s' * (form == 'plural')}"


def _task(random: Random) -> str:
    article = random.choice(("the ", "the ", "a ", "", "some ", "my ", "two ", "every "))
    end = random.choice(("", "", "", f" for {_name(random)}", f" with the {_noun(random)}", " today", " again"))
    return f"{random.choice(words()[1])} {article}{_thing(random)}{end}"


def _within(longest: int, coin: Coin, random: Random) -> str:
    while len(text := coin(random)) > longest:
        pass
    return text


def coin_name(random: Random) -> str:
    """A made-up name, which a reader has to copy."""
    return _within(MAX_CELL, _name, random)


def coin_thing(random: Random) -> str:
    """A list item of no domain."""
    return _within(MAX_CELL, _thing, random)


def coin_task(random: Random) -> str:
    """A to-do of no domain."""
    return _within(MAX_TEXT, _task, random)


def coin_several(coin: Coin, count: int, random: Random) -> tuple[str, ...]:
    """Different texts."""
    texts = dict[str, None]()
    while len(texts) < count:
        texts[coin(random)] = None
    return tuple(texts)


def coin_domain(random: Random) -> Domain:
    """A made-up domain, whose words a reader has to copy."""
    topic = random.choice(("{}", "{}s", "a {}", "the {}", "{} {}s", "a {} {}")).format(_noun(random), _noun(random))
    labels = coin_several(lambda random: capitalize(random.choice((_noun, _noun, coin_thing))(random)), 6, random)
    return Domain(
        topic=topic,
        tasks=coin_several(coin_task, 10, random),
        things=coin_several(coin_thing, 8, random),
        number=labels[0],
        state=labels[1],
        states=tuple(random.sample(words()[2], 3)),
        fields=labels[2:],
        known=False,
    )


def draw_value(domain: Domain, random: Random) -> str:
    """What may be in a cell: a number, a state or a name."""
    if random.random() < 0.5:
        return str(random.randint(0, 200))
    return random.choice((*domain.states, coin_name(random)))


def capitalize(text: str) -> str:
    """Capitalise the first letter only."""
    return text[:1].upper() + text[1:]
