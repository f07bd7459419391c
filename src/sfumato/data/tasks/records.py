"""Sentences that state a record, and the record as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task

# The sentence and the object it states.
Record = tuple[str, dict[str, Any]]

_NAMES = ("Maria", "Anna", "Eva", "Mia", "Sara", "Tom", "Leo", "Ben", "Paul", "Omar", "Yuki", "José")
_SURNAMES = ("Berg", "Costa", "Dahl", "Evans", "Fischer", "Haas", "Kim", "Moreau", "Novak", "Rossi", "Sato")
_CITIES = ("Oslo", "Rome", "Paris", "Berlin", "Vienna", "Madrid", "Lisbon", "Kyoto", "Lima", "Zürich")
_JOBS = ("nurse", "teacher", "baker", "pilot", "farmer", "painter", "driver", "cook", "doctor", "lawyer")
_TITLES = ("Blue Night", "The Long Road", "Salt", "Winter Birds", "The Lost Key", "North", "A Quiet House")
_COLORS = ("red", "blue", "green", "black", "white", "brown", "yellow")
_GOODS = ("chair", "lamp", "bag", "shirt", "mug", "clock", "table", "bike")
_EVENTS = ("Concert", "Lecture", "Market", "Exhibition", "Play", "Workshop", "Race")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ANIMALS = ("cat", "dog", "horse", "rabbit", "parrot", "goat")
_DISHES = ("pizza", "soup", "tea", "salad", "cake", "pasta", "coffee", "juice")
_CHORES = (
    "buy milk",
    "call Eva",
    "water the plants",
    "pay the rent",
    "book a flight",
    "feed the cat",
    "clean up",
)


def _person(random: Random) -> Record:
    record = {
        "name": random.choice(_NAMES),
        "age": random.randint(18, 80),
        "job": random.choice(_JOBS),
        "city": random.choice(_CITIES),
    }
    patterns = (
        "{name}, {age}, is a {job} from {city}.",
        "{name} ({age}) lives in {city} and works as a {job}.",
        "The {job} {name} from {city} is {age} years old.",
        "In {city} lives {name}, a {age}-year-old {job}.",
    )
    return random.choice(patterns).format(**record), record


def _book(random: Random) -> Record:
    record = {
        "title": random.choice(_TITLES),
        "author": f"{random.choice(_NAMES)} {random.choice(_SURNAMES)}",
        "year": random.randint(1950, 2025),
        "pages": random.randint(60, 900),
    }
    patterns = (
        '"{title}" by {author}, {year}, {pages} pages.',
        'In {year} {author} wrote "{title}", {pages} pages long.',
        '{author}: "{title}" ({pages} pages, {year}).',
    )
    return random.choice(patterns).format(**record), record


def _product(random: Random) -> Record:
    in_stock = random.random() < 0.5
    record = {
        "item": random.choice(_GOODS),
        "color": random.choice(_COLORS),
        "price": random.randint(1, 99),
        "in_stock": in_stock,
    }
    patterns = (
        "A {color} {item} for {price} euros, {stock}.",
        "The {item} in {color} costs {price} euros and is {stock}.",
        "{price} euros buy the {color} {item}; it is {stock}.",
    )
    return random.choice(patterns).format(**record, stock="in stock" if in_stock else "sold out"), record


def _event(random: Random) -> Record:
    record = {
        "event": random.choice(_EVENTS),
        "city": random.choice(_CITIES),
        "day": random.choice(_DAYS),
        "hour": random.randint(8, 22),
    }
    patterns = (
        "{event} in {city} on {day} at {hour}.",
        "On {day} at {hour}: {event} in {city}.",
        "{city}, {day}, {hour} o'clock: {event}.",
    )
    return random.choice(patterns).format(**record), record


def _trip(random: Random) -> Record:
    start, end = random.sample(_CITIES, 2)
    record = {"from": start, "to": end, "stops": random.randint(0, 9), "price": random.randint(10, 199)}
    patterns = (
        "From {from} to {to} with {stops} stops for {price} euros.",
        "The train to {to} leaves {from}, stops {stops} times and costs {price} euros.",
        "{price} euros: {from} to {to}, {stops} stops.",
    )
    return random.choice(patterns).format(**record), record


def _pet(random: Random) -> Record:
    record = {
        "name": random.choice(_NAMES),
        "animal": random.choice(_ANIMALS),
        "color": random.choice(_COLORS),
        "age": random.randint(1, 20),
    }
    patterns = (
        "{name} is a {color} {animal}, {age} years old.",
        "The {color} {animal} {name} is {age}.",
        "Our {age}-year-old {animal} {name} is {color}.",
    )
    return random.choice(patterns).format(**record), record


def _order(random: Random) -> Record:
    name = random.choice(_NAMES)
    dishes = random.sample(_DISHES, random.choice((1, 2, 3)))
    items = {dish: random.randint(1, 9) for dish in dishes}
    *most, last = [f"{count} {dish}" for dish, count in items.items()]
    listed = f"{', '.join(most)} and {last}" if most else last
    pattern = random.choice(("{name} orders {listed}.", "Bring {listed} to {name}.", "{listed} for {name}."))
    return pattern.format(name=name, listed=listed), {"name": name, "items": items}


def _chore(random: Random) -> Record:
    done = random.random() < 0.5
    record = {"task": random.choice(_CHORES), "day": random.choice(_DAYS), "done": done}
    patterns = (
        ("Done: {task}, due {day}.", "Finished {task} for {day}.", "On the {day} list, ticked off: {task}.")
        if done
        else (
            "To do: {task}, due {day}.",
            "Still open for {day}: {task}.",
            "On the {day} list, not done: {task}.",
        )
    )
    return random.choice(patterns).format(**record), record


_KINDS: tuple[Callable[[Random], Record], ...] = (
    _person,
    _book,
    _product,
    _event,
    _trip,
    _pet,
    _order,
    _chore,
)


def _canonical(record: Any) -> str:
    """One text per JSON value; unlike ==, it tells true from 1 and 1 from 1.0."""
    return json.dumps(record, sort_keys=True)


class Json(Task):
    """Put what a sentence states into one JSON object."""

    name = "json"
    kind = PromptKind(
        name=name,
        description="Puts a sentence on a person, pet, book, event, trip, order, chore or thing into a JSON object.",
        example="json: Our 8-year-old parrot Mia is red.",
        pattern=r"json: .+",
    )

    _kinds = _KINDS

    def generate(self, seed: int) -> Item:
        """A record of a random kind, in one of the kind's wordings."""
        random = Random(seed)
        kind = random.choice(self._kinds)
        sentence, record = kind(random)
        return Item(
            prompt=f"json: {sentence}",
            response=json.dumps(record, ensure_ascii=False),
            meta={"record": record, "kind": kind.__name__.removeprefix("_")},
        )

    def check(self, item: Item, response: str) -> bool:
        """True for JSON of equal keys, values and types; the order of keys and the spacing do not matter."""
        try:
            return _canonical(json.loads(response)) == _canonical(item.meta["record"])
        except (ValueError, RecursionError):
            return False


_PET_NAMES = (
    "Rex Bella Luna Max Milo Coco Buddy Felix Kitty Rocky Daisy Bruno Lola Oscar Molly Simba Nala Charlie Ginger Lucky "
    "Snowy Pepper Tiger Fluffy Rusty Shadow Minka Balu Polly Nemo"
)
_PET_ANIMALS = (
    "bird chicken cow duck fish frog hamster hen kitten lizard mouse pig pony puppy rat sheep snake turtle cat dog"
)
_PET_COLORS = (*_COLORS, "grey", "gray", "orange", "golden", "beige")
_PET_WORDINGS = (
    "{name} is {an} {color} {animal}, {age} years old.",
    "The {color} {animal} {name} is {age}.",
    "{our} {age}-year-old {animal} {name} is {color}.",
    "{our} {animal} {name} is {color} and {age} years old.",
    "{our} {color} {animal} {name} is {age} years old.",
    "{our} {animal} is called {name}, is {color} and {age} years old.",
    "{name}, {an} {color} {animal}, is {age}.",
    "{we} have {an} {color} {animal} called {name}, {age} years old.",
    "{we} have a {age}-year-old {color} {animal} named {name}.",
    "This is {name}, a {age}-year-old {color} {animal}.",
    "{name} is {an} {color} {animal}.",
    "{our} {animal} {name} is {age} years old.",
    "{our} {animal} is called {name}.",
)
_COINED_SHARE = 0.15
_ONSETS = "b br c ch d f fl g gr h j k kl l m n p pr qu r s sh st t tr v w x y z"
_CODAS = ("", "", "", "n", "r", "s", "l", "x", "m", "th", "ck", "ng", "y", "ie")


def _pet_name(random: Random) -> str:
    """A known name, or a coined one: who reads those copies any name."""
    if random.random() >= _COINED_SHARE:
        return random.choice(random.choice((_NAMES, _PET_NAMES.split())))
    syllables = [random.choice(_ONSETS.split()) + random.choice("aeiou") for _ in range(random.randint(1, 3))]
    return ("".join(syllables) + random.choice(_CODAS)).capitalize()


def _other_pet(random: Random) -> Record:
    record = {
        "name": _pet_name(random),
        "animal": random.choice(_PET_ANIMALS.split()),
        "color": random.choice(_PET_COLORS),
        "age": random.randint(1, 20),
    }
    pattern = random.choice(_PET_WORDINGS)
    our, we = random.choice((("our", "we"), ("my", "I"), ("their", "they")))
    an = "an" if record["color"] == "orange" else "a"
    sentence = pattern.format(**record, our=our, we=we, an=an)
    return sentence[0].upper() + sentence[1:], {key: record[key] for key in record if f"{{{key}}}" in pattern}


class Pets(Json):
    """Sentences on other pets, in more wordings, which leave some of it out: what people try first."""

    name = "pets"
    _kinds = (_other_pet,)


# What a record of one level may state.
_FIELDS = (
    "name age job city title author year pages item color price in_stock event day hour from to stops animal task done"
)


class Field(Task):
    """State one value of what a sentence states, alone."""

    name = "field"
    kind = PromptKind(
        name=name,
        description="States one value of what a sentence on a person, pet, book, event, trip, chore or thing states.",
        example="animal: Our 8-year-old parrot Mia is red.",
        pattern=rf"(?:{_FIELDS.replace(' ', '|').replace('_', ' ')}): .+",
    )

    def generate(self, seed: int) -> Item:
        """A sentence of `Json` or `Pets` and one key of its record; a value as JSON has it, less the quotes."""
        random = Random(seed)
        sentence, record = random.choice([kind for kind in (*_KINDS, _other_pet) if kind is not _order])(random)
        key = random.choice(list(record))
        value = record[key]
        return Item(
            prompt=f"{key.replace('_', ' ')}: {sentence}",
            response=value if isinstance(value, str) else json.dumps(value),
        )

    def check(self, item: Item, response: str) -> bool:
        """True for the value, whitespace around it aside."""
        return response.strip() == item.response
