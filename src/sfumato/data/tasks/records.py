"""Sentences that state a record, and the record as one JSON object."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from functools import cache
from importlib import resources
from random import Random
from typing import Any

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task

# The sentence and the object it states.
Record = tuple[str, dict[str, Any]]

# Coined names: a syllable is one of these and a vowel.
_ONSETS = "b br c ch d f fl g gr h j k kl l m n p pr qu r s sh st t tr v w x y z"
_CODAS = ("", "", "", "n", "r", "s", "l", "x", "m", "th", "ck", "ng", "y", "ie")
_COINED_SHARE = 0.15
# What a record of one level may state.
_FIELDS = (
    "name age job city title author year pages item color price in_stock event day hour from to stops animal task done"
)


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("records.toml").read_text("utf-8"))


def _draw(random: Random, **options: str | range) -> dict[str, Any]:
    """A record: for each key a word of a list, or a number of a range."""
    words = _texts()["words"]
    return {key: random.choice(words[of] if isinstance(of, str) else of) for key, of in options.items()}


def _say(random: Random, wording: str, record: dict[str, Any], **more: str) -> Record:
    return random.choice(_texts()["wordings"][wording]).format(**record, **more), record


def _person(random: Random) -> Record:
    return _say(random, "person", _draw(random, name="names", age=range(18, 81), job="jobs", city="cities"))


def _book(random: Random) -> Record:
    record = _draw(random, title="titles", author="names", surname="surnames", year=range(1950, 2026))
    record["author"] += f" {record.pop('surname')}"
    return _say(random, "book", record | _draw(random, pages=range(60, 901)))


def _product(random: Random) -> Record:
    in_stock = random.random() < 0.5
    record = _draw(random, item="goods", color="colors", price=range(1, 100))
    stock = "in stock" if in_stock else "sold out"
    return _say(random, "product", record | {"in_stock": in_stock}, stock=stock)


def _event(random: Random) -> Record:
    return _say(random, "event", _draw(random, event="events", city="cities", day="days", hour=range(8, 23)))


def _trip(random: Random) -> Record:
    start, end = random.sample(_texts()["words"]["cities"], 2)
    route = {"from": start, "to": end}
    return _say(random, "trip", route | _draw(random, stops=range(10), price=range(10, 200)))


def _pet(random: Random) -> Record:
    return _say(random, "pet", _draw(random, name="names", animal="animals", color="colors", age=range(1, 21)))


def _order(random: Random) -> Record:
    words = _texts()["words"]
    name = random.choice(words["names"])
    dishes = random.sample(words["dishes"], random.choice((1, 2, 3)))
    items = {dish: random.randint(1, 9) for dish in dishes}
    *first, last = [f"{count} {dish}" for dish, count in items.items()]
    listed = f"{', '.join(first)} and {last}" if first else last
    return _say(random, "order", {"name": name, "items": items}, listed=listed)


def _chore(random: Random) -> Record:
    done = random.random() < 0.5
    record = _draw(random, task="chores", day="days") | {"done": done}
    return _say(random, "done" if done else "to_do", record)


def _pet_name(random: Random) -> str:
    """A known name, or a coined one: coined names must be copied."""
    if random.random() >= _COINED_SHARE:
        words = _texts()["words"]
        return str(random.choice(random.choice((words["names"], words["pet_names"]))))
    syllables = [random.choice(_ONSETS.split()) + random.choice("aeiou") for _ in range(random.randint(1, 3))]
    return ("".join(syllables) + random.choice(_CODAS)).capitalize()


def _other_pet(random: Random) -> Record:
    record = {"name": _pet_name(random)}
    record |= _draw(random, animal="pet_animals", color="pet_colors", age=range(1, 21))
    pattern = random.choice(_texts()["wordings"]["other_pet"])
    our, we = random.choice((("our", "we"), ("my", "I"), ("their", "they")))
    an = "an" if record["color"] == "orange" else "a"
    sentence = pattern.format(**record, our=our, we=we, an=an)
    return sentence[0].upper() + sentence[1:], {key: record[key] for key in record if f"{{{key}}}" in pattern}


_KINDS = (_person, _book, _product, _event, _trip, _pet, _order, _chore)


def _canonical(record: Any) -> str:
    """A canonical text per JSON value; unlike ==, it distinguishes true from 1 and 1 from 1.0."""
    return json.dumps(record, sort_keys=True)


class Json(Task):
    """Turn a sentence's statements into one JSON object."""

    name = "json"
    kind = PromptKind(
        name=name,
        description="Puts a sentence on a person, pet, book, event, trip, order, chore or thing into a JSON object.",
        example="json: Our 8-year-old parrot Mia is red.",
        pattern=r"json: .+",
    )

    _kinds: tuple[Callable[[Random], Record], ...] = _KINDS

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
        """True for JSON with equal keys, values and types, ignoring key order and spacing."""
        try:
            return _canonical(json.loads(response)) == _canonical(item.meta["record"])
        except (ValueError, RecursionError):
            return False


class Pets(Json):
    """Sentences about other pets, in more wordings and with missing fields: what people try first."""

    name = "pets"
    _kinds = (_other_pet,)


class Field(Task):
    """State one value from a sentence, alone."""

    name = "field"
    kind = PromptKind(
        name=name,
        description="States one value of what a sentence on a person, pet, book, event, trip, chore or thing states.",
        example="animal: Our 8-year-old parrot Mia is red.",
        pattern=rf"(?:{_FIELDS.replace(' ', '|').replace('_', ' ')}): .+",
    )

    def generate(self, seed: int) -> Item:
        """A sentence of `Json` or `Pets` and one key of its record; the value as in JSON, without quotes."""
        random = Random(seed)
        sentence, record = random.choice([kind for kind in (*_KINDS, _other_pet) if kind is not _order])(random)
        key = random.choice(list(record))
        value = record[key]
        return Item(
            prompt=f"{key.replace('_', ' ')}: {sentence}",
            response=value if isinstance(value, str) else json.dumps(value),
        )

    def check(self, item: Item, response: str) -> bool:
        """True for the value, ignoring surrounding whitespace."""
        return response.strip() == item.response
