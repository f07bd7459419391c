"""Stories of three sentences with the first and last given: write the middle one.

Only a middle that connects the two is correct, in any wording the checker knows.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from itertools import product
from random import Random
from typing import Any

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task

# First sentence, last sentence, accepted middles with the gold one first.
Story = tuple[str, str, list[str]]


@cache
def _words(name: str) -> list[Any]:
    """A list of middle.toml."""
    found: list[Any] = tomllib.loads(resources.files(__package__).joinpath("middle.toml").read_text("utf-8"))[name]
    return found


def _wordings(*parts: str | Iterable[str]) -> list[str]:
    """Every sentence that combines one wording per part; the first wordings make the first sentence."""
    choices = [(part,) if isinstance(part, str) else tuple(part) for part in parts]
    return list(dict.fromkeys(" ".join(words) + "." for words in product(*choices)))


def _number_of(count: int, plural: str) -> str:
    return f"{count} {plural[:-1] if count == 1 else plural}"


def _count(random: Random) -> Story:
    name, pronoun = random.choice(_words("people"))
    things = random.choice(_words("things"))
    before, after = random.sample(range(1, 21), 2)
    change = abs(after - before)
    moved = _number_of(change, things)
    if after > before:
        more = moved.replace(" ", " more ", 1)
        middles = _wordings((pronoun, name), ("gets", "finds", "buys", "receives"), (more, moved))
    else:
        middles = _wordings((pronoun, name), ("gives away", "loses", "sells"), moved)
    return (f"{name} has {_number_of(before, things)}.", f"Now {name} has {_number_of(after, things)}.", middles)


def _errand(random: Random) -> Story:
    name, pronoun = random.choice(_words("people"))
    place, thing, verb = random.choice(_words("errands"))
    middles = _wordings((pronoun, name), (verb, "gets", "finds"), thing, ("there", f"at the {place}"))
    return f"{name} goes to the {place}.", f"{name} walks home with {thing}.", middles


def _trip(random: Random) -> Story:
    vehicle = random.choice(("train", "bus", "coach"))
    start, end = random.sample(_words("cities"), 2)
    leaves, arrives = sorted(random.sample(range(5, 24), 2))
    middles = _wordings(("The trip takes", "It takes", "It travels for"), _number_of(arrives - leaves, "hours"))
    return f"The {vehicle} leaves {start} at {leaves}.", f"It reaches {end} at {arrives}.", middles


def _purchase(random: Random) -> Story:
    name, pronoun = random.choice(_words("people"))
    thing = random.choice(_words("goods"))
    after, before = sorted(random.sample(range(1, 31), 2))
    price = _number_of(before - after, "coins")
    middles = _wordings((pronoun, name), "pays", price, "for", (f"a {thing}", f"the {thing}"))
    middles += _wordings((pronoun, name), "buys", (f"a {thing}", f"the {thing}"), "for", price)
    return (
        f"{name} has {_number_of(before, 'coins')}.",
        f"{name} has {_number_of(after, 'coins')} and a {thing}.",
        middles,
    )


def _walk(random: Random) -> Story:
    animal = random.choice(_words("animals"))
    start, end = random.sample(_words("rooms"), 2)
    ways = (f"from the {start} to the {end}", f"to the {end}", f"into the {end}")
    middles = _wordings(("It", f"The {animal}"), ("goes", "walks", "runs", "moves"), ways)
    return f"The {animal} is in the {start}.", f"Now the {animal} is in the {end}.", middles


def _state(random: Random) -> Story:
    name, pronoun = random.choice(_words("people"))
    things, before, after, forth, back = random.choice(_words("states"))
    thing = random.choice(things)
    verb = forth
    if random.random() < 0.5:
        before, after, verb = after, before, back
    middles = _wordings((pronoun, name), verb, (f"the {thing}", "it"))
    return f"{name} sees that the {thing} is {before}.", f"Now the {thing} is {after}.", middles


def _gift(random: Random) -> Story:
    (name, pronoun), (other, _) = random.sample(_words("people"), 2)
    thing, color = random.choice(_words("goods")), random.choice(_words("colors"))
    whats = (f"the {thing}", f"the {color} {thing}", "it")
    middles = _wordings((pronoun, name), ("gives", "hands"), whats, "to", other)
    middles += _wordings((pronoun, name), ("gives", "hands"), other, whats[:2])
    return f"{name} has a {color} {thing}.", f"Now {other} has the {color} {thing}.", middles


def _weather(random: Random) -> Story:
    before, after = random.sample(range(1, 31), 2)
    change = _number_of(abs(after - before), "degrees")
    warmer = after > before
    middles = _wordings(("It gets", "It becomes"), change, "warmer" if warmer else "colder")
    middles += _wordings("The temperature", "rises" if warmer else "falls", "by", change)
    return (
        f"In the morning it is {_number_of(before, 'degrees')}.",
        f"At noon it is {_number_of(after, 'degrees')}.",
        middles,
    )


def _lift(random: Random) -> Story:
    name, pronoun = random.choice(_words("people"))
    before, after = random.sample(range(1, 31), 2)
    way = "up" if after > before else "down"
    middles = _wordings((pronoun, name), ("rides", "goes"), way, _number_of(abs(after - before), "floors"))
    return f"{name} takes the lift on floor {before}.", f"{name} gets out on floor {after}.", middles


def _need(random: Random) -> Story:
    name, pronoun = random.choice(_words("people"))
    before, after, remedy = random.choice(_words("needs"))
    return f"{name} is {before}.", f"Now {name} is {after}.", _wordings((pronoun, name), remedy)


_FAMILIES: tuple[Callable[[Random], Story], ...] = (
    _count, _errand, _trip, _purchase, _walk, _state, _gift, _weather, _lift, _need
)  # fmt: skip


def _plain(sentence: str) -> str:
    return " ".join(sentence.split()).rstrip(".").casefold()


class Middle(Task):
    """Write the middle sentence of three."""

    name = "middle"
    kind = PromptKind(
        name=name,
        description="Writes the sentence between the first and the last of a story.",
        example="middle:\nTom has 3 pears.\nNow Tom has 8 pears.",
        pattern=r"middle:\n[^\n]+\n[^\n]+",
    )

    def generate(self, seed: int) -> Item:
        """A story of a random family."""
        random = Random(seed)
        family = random.choice(_FAMILIES)
        first, last, middles = family(random)
        return Item(
            prompt=f"middle:\n{first}\n{last}",
            response=middles[0],
            meta={"accepted": tuple(middles), "family": family.__name__.removeprefix("_")},
        )

    def check(self, item: Item, response: str) -> bool:
        """True for an accepted wording, ignoring case, spacing and the full stop."""
        return _plain(response) in {_plain(middle) for middle in item.meta["accepted"]}
