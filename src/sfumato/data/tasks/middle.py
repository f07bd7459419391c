"""Stories of three sentences whose first and last are given: write the one between them.

Only the middle that leads from the one to the other is right, in any of the wordings that the checker knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from random import Random

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task

# First sentence, last sentence, accepted middles with the gold one first.
Story = tuple[str, str, list[str]]

_PEOPLE = (
    ("Anna", "She"), ("Maria", "She"), ("Mia", "She"), ("Eva", "She"), ("Sara", "She"),
    ("Tom", "He"), ("Leo", "He"), ("Ben", "He"), ("Paul", "He"), ("Omar", "He"),
)  # fmt: skip
_THINGS = ("apples", "pears", "books", "coins", "stamps", "eggs", "cards", "pens", "plums", "shells")
_ERRANDS = (
    ("bakery", "bread", "buys"),
    ("market", "fruit", "buys"),
    ("bookshop", "a novel", "buys"),
    ("pharmacy", "medicine", "buys"),
    ("library", "a book", "borrows"),
    ("forest", "mushrooms", "finds"),
    ("beach", "shells", "finds"),
    ("lake", "a fish", "catches"),
    ("garden", "flowers", "picks"),
    ("orchard", "apples", "picks"),
)
_CITIES = ("Oslo", "Bergen", "Rome", "Milan", "Paris", "Lyon", "Berlin", "Vienna", "Madrid", "Lisbon")
_GOODS = ("pen", "book", "cake", "ball", "hat", "cup", "lamp", "kite")
_ANIMALS = ("cat", "dog", "rabbit", "hen", "goat", "duck", "mouse")
_ROOMS = ("kitchen", "garden", "garage", "cellar", "attic", "hall", "barn", "yard")
_STATES = (
    (("door", "window", "gate", "box", "drawer"), "closed", "open", "opens", "closes"),
    (("lamp", "radio", "heater", "fan", "oven"), "off", "on", "turns on", "turns off"),
    (("cup", "bucket", "bottle", "tank", "vase"), "empty", "full", "fills", "empties"),
)
_COLORS = ("red", "blue", "green", "yellow", "white", "black")
_NEEDS = (
    ("hungry", "full", "eats something"),
    ("thirsty", "no longer thirsty", "drinks some water"),
    ("tired", "wide awake", "sleeps for a while"),
    ("dirty", "clean again", "takes a bath"),
    ("cold", "warm again", "puts on a coat"),
    ("in the rain", "still dry", "opens an umbrella"),
    ("in the dark", "in the light", "turns on a lamp"),
    ("lost", "on the right way", "looks at a map"),
)


def _wordings(*parts: str | Iterable[str]) -> list[str]:
    """Each sentence that takes one wording of every part; the first wordings make the first sentence."""
    choices = [(part,) if isinstance(part, str) else tuple(part) for part in parts]
    return list(dict.fromkeys(" ".join(words) + "." for words in product(*choices)))


def _number_of(count: int, plural: str) -> str:
    return f"{count} {plural[:-1] if count == 1 else plural}"


def _two_numbers(random: Random, low: int, high: int) -> tuple[int, int]:
    before, after = random.sample(range(low, high + 1), 2)
    return before, after


def _count(random: Random) -> Story:
    name, pronoun = random.choice(_PEOPLE)
    things = random.choice(_THINGS)
    before, after = _two_numbers(random, 1, 20)
    change = abs(after - before)
    moved = _number_of(change, things)
    if after > before:
        more = moved.replace(" ", " more ", 1)
        middles = _wordings((pronoun, name), ("gets", "finds", "buys", "receives"), (more, moved))
    else:
        middles = _wordings((pronoun, name), ("gives away", "loses", "sells"), moved)
    return (f"{name} has {_number_of(before, things)}.", f"Now {name} has {_number_of(after, things)}.", middles)


def _errand(random: Random) -> Story:
    name, pronoun = random.choice(_PEOPLE)
    place, thing, verb = random.choice(_ERRANDS)
    middles = _wordings((pronoun, name), (verb, "gets", "finds"), thing, ("there", f"at the {place}"))
    return f"{name} goes to the {place}.", f"{name} walks home with {thing}.", middles


def _trip(random: Random) -> Story:
    vehicle = random.choice(("train", "bus", "coach"))
    start, end = random.sample(_CITIES, 2)
    leaves, arrives = sorted(_two_numbers(random, 5, 23))
    middles = _wordings(("The trip takes", "It takes", "It travels for"), _number_of(arrives - leaves, "hours"))
    return f"The {vehicle} leaves {start} at {leaves}.", f"It reaches {end} at {arrives}.", middles


def _purchase(random: Random) -> Story:
    name, pronoun = random.choice(_PEOPLE)
    thing = random.choice(_GOODS)
    after, before = sorted(_two_numbers(random, 1, 30))
    price = _number_of(before - after, "coins")
    middles = _wordings((pronoun, name), "pays", price, "for", (f"a {thing}", f"the {thing}"))
    middles += _wordings((pronoun, name), "buys", (f"a {thing}", f"the {thing}"), "for", price)
    return (
        f"{name} has {_number_of(before, 'coins')}.",
        f"{name} has {_number_of(after, 'coins')} and a {thing}.",
        middles,
    )


def _walk(random: Random) -> Story:
    animal = random.choice(_ANIMALS)
    start, end = random.sample(_ROOMS, 2)
    ways = (f"from the {start} to the {end}", f"to the {end}", f"into the {end}")
    middles = _wordings(("It", f"The {animal}"), ("goes", "walks", "runs", "moves"), ways)
    return f"The {animal} is in the {start}.", f"Now the {animal} is in the {end}.", middles


def _state(random: Random) -> Story:
    name, pronoun = random.choice(_PEOPLE)
    things, before, after, forth, back = random.choice(_STATES)
    thing = random.choice(things)
    verb = forth
    if random.random() < 0.5:
        before, after, verb = after, before, back
    middles = _wordings((pronoun, name), verb, (f"the {thing}", "it"))
    return f"{name} sees that the {thing} is {before}.", f"Now the {thing} is {after}.", middles


def _gift(random: Random) -> Story:
    (name, pronoun), (other, _) = random.sample(_PEOPLE, 2)
    thing, color = random.choice(_GOODS), random.choice(_COLORS)
    whats = (f"the {thing}", f"the {color} {thing}", "it")
    middles = _wordings((pronoun, name), ("gives", "hands"), whats, "to", other)
    middles += _wordings((pronoun, name), ("gives", "hands"), other, whats[:2])
    return f"{name} has a {color} {thing}.", f"Now {other} has the {color} {thing}.", middles


def _weather(random: Random) -> Story:
    before, after = _two_numbers(random, 1, 30)
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
    name, pronoun = random.choice(_PEOPLE)
    before, after = _two_numbers(random, 1, 30)
    way = "up" if after > before else "down"
    middles = _wordings((pronoun, name), ("rides", "goes"), way, _number_of(abs(after - before), "floors"))
    return f"{name} takes the lift on floor {before}.", f"{name} gets out on floor {after}.", middles


def _need(random: Random) -> Story:
    name, pronoun = random.choice(_PEOPLE)
    before, after, remedy = random.choice(_NEEDS)
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
        """True for an accepted wording; case, spacing and the full stop aside."""
        return _plain(response) in {_plain(middle) for middle in item.meta["accepted"]}
