"""Random satisfiable JSON schemas that compile in a moment."""

from __future__ import annotations

import math
import random as random_module
from collections.abc import Sequence
from typing import Any

NAMES = ["a", "id", "name", "two words", 'q"uote', "back\\slash", "line\nend", "é", "日本", "\U0001f600", "a.b*(c)", ""]
TEXTS = [
    "",
    "x",
    "red",
    "two words",
    'say "hi"',
    "C:\\dir",
    "tab\there",
    "naïve",
    "\U0001f600",
    "[a-z]+",
    "null",
    "\x01",
]
PATTERNS = [
    "^[a-z]{2,5}$",
    "^(yes|no)$",
    "^[A-Z][a-z]*(-[A-Z][a-z]*)?$",
    "[0-9]",
    "^\\d{3}-\\d{4}$",
    "\\.txt$",
    "^[^aeiou]{1,3}$",
    '^"\\w+"$',
    "^\\S+\\s\\S+$",
    "a|^b|c$",
    "^(?:x|y\\\\z){1,2}?$",
    "^[\\t\\n\\x02]{1,2}$",
    "^.$",
]
SIBLINGS: list[dict[str, Any]] = [
    {},
    {},
    {"type": "object"},
    {"type": ["string", "object"]},
    {"minLength": 2},
    {"minimum": 0},
    {"maxItems": 2},
    {"required": ["id"], "properties": {"id": {"type": ["integer", "string"]}}},
    {"additionalProperties": False},
    {"unevaluatedProperties": False},
    {"unevaluatedItems": False},
    {"minProperties": 1},
    {"maxProperties": 2},
    {"patternProperties": {"^[a-z]": {"type": ["string", "number", "array"]}}},
    {"dependentRequired": {"a": ["id"]}},
    {"enum": [1, "x", "red", None, [], {}, 0]},
]
FORMATS = ["date", "time", "date-time", "uuid", "ipv4", "ipv6", "hostname", "email", "uri", "duration"]

Schema = dict[str, Any]


def random_schema(random: random_module.Random, depth: int = 4) -> Schema:
    """A schema of draft 2020-12.

    Args:
        random: what it is drawn with.
        depth: levels of arrays, objects and alternatives, one in another.

    Returns:
        A schema whose shortest text has fewer than 150 characters.
    """
    definitions = {f"part{i}": _leaf(random) for i in range(random.randrange(3))}
    schema = _schema(random, depth, 70, list(definitions))
    if definitions:
        schema = {**schema, "$defs": definitions}
    if random.random() < 0.3:
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "any", **schema}
    return schema


def random_mixture(random: random_module.Random, depth: int = 3) -> Schema:
    """A schema whose parts may hold at once, or not: it may be refused, and nothing may satisfy it.

    Args:
        random: what it is drawn with.
        depth: levels of alternatives and conjunctions, one in another.
    """
    kind = random.choice(["leaf", "object", "array", *["anyOf", "oneOf", "allOf"] * 2]) if depth else "leaf"
    if kind == "leaf":
        schema = _leaf(random)
        return {word: value for word, value in schema.items() if word != "type" or len(schema) == 1}
    if kind == "object":
        return _object(random, 2, 60, [], NAMES[:3])
    if kind == "array":
        return _array(random, 2, 60, [])
    schema = {kind: [random_mixture(random, depth - 1) for _ in range(random.randint(1, 3))]}
    return {**schema, **random.choice(SIBLINGS)}


def random_nested(random: random_module.Random) -> Schema:
    """A mixture of which some properties and items may, or must, be as it is itself."""

    def refer(schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        found = {word: [*map(refer, value)] if isinstance(value, list) else value for word, value in schema.items()}
        if "properties" in schema:
            found["properties"] = {name: often(refer(value)) for name, value in schema["properties"].items()}
        if "items" in schema:
            found["items"] = often(refer(schema["items"]))
        return found

    def often(schema: Any) -> Any:
        itself = {"$ref": "#"}
        return random.choice([schema, itself, {"anyOf": [schema, itself]}, {"oneOf": [schema, itself]}])

    return dict(refer(random_mixture(random)))


def _schema(random: random_module.Random, depth: int, room: int, definitions: list[str]) -> Schema:
    """A schema whose shortest text has about as many characters as there is room for, or fewer."""
    if depth == 0 or room < 12:
        return _leaf(random, room)
    kind = random.choice(["object"] * 4 + ["array"] * 3 + ["anyOf", "oneOf", "allOf", "$ref", "leaf"])
    if kind == "object":
        return _object(random, depth, room, definitions)
    if kind == "array":
        return _array(random, depth, room, definitions)
    if kind == "anyOf":
        return {"anyOf": [_schema(random, depth - 1, room, definitions) for _ in range(random.randint(1, 2))]}
    if kind == "oneOf":
        branches = [
            {
                "type": "object",
                "properties": {"kind": {"const": name}, "of": _schema(random, depth - 1, room - 25, definitions)},
                "required": ["kind", "of"][: random.randint(1, 2)],
            }
            for name in ("one", "two")
        ]
        return {"oneOf": [*branches, {"type": "null"}]}
    if kind == "allOf":
        name = random.choice(NAMES)
        more = {"type": "object", "properties": {name: {"description": "any"}}, "minProperties": 0}
        return {"allOf": [_object(random, depth, room, definitions), more]}
    if kind == "$ref" and definitions:
        return {"$ref": f"#/$defs/{random.choice(definitions)}"}
    return _leaf(random, room)


def _object(
    random: random_module.Random, depth: int, room: int, definitions: list[str], allowed: Sequence[str] = NAMES
) -> Schema:
    names = random.sample(allowed, random.randint(1, 3 if depth < 4 else 4))
    required = [name for name in names if random.random() < 0.6]
    each = (room - 2) // max(1, len(required)) - 14
    properties = {name: _schema(random, depth - 1, each if name in required else 10, definitions) for name in names}
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if random.random() < 0.5:
        schema["additionalProperties"] = False
    return schema


def _array(random: random_module.Random, depth: int, room: int, definitions: list[str]) -> Schema:
    schema: Schema = {"type": "array"}
    least = random.randint(0, 2)
    each = (room - 2) // max(1, least) - 2
    if random.random() < 0.3:
        schema["prefixItems"] = [_schema(random, depth - 1, each, definitions) for _ in range(random.randint(1, 2))]
    if random.random() < 0.8 or "prefixItems" not in schema:
        schema["items"] = _schema(random, depth - 1, each, definitions)
    if least:
        schema["minItems"] = least
    if random.random() < 0.6:
        schema["maxItems"] = random.randint(max(1, least), 3)
    return schema


def _leaf(random: random_module.Random, room: int = 40) -> Schema:
    kind = random.choice(["string", "text", "integer", "number", "boolean", "null", "enum", "const", "several"])
    if kind == "string":
        return _string(random, room)
    if kind == "text":
        return {"type": "string"}
    if kind in ("integer", "number"):
        return _number(random, kind)
    if kind == "enum":
        values = random.sample([*TEXTS, 0, -1, 1.5, 1e300, True, None, [1, "a"], {"b": [None]}], random.randint(1, 4))
        return {"enum": values}
    if kind == "const":
        return {"const": random.choice([*TEXTS, 7, -0.25, False, None, [], {"é": 1}])}
    if kind == "several":
        return {"type": random.sample(["string", "integer", "null", "boolean", "number"], 2), "minimum": -5}
    return {"type": kind}


def _string(random: random_module.Random, room: int) -> Schema:
    kind = random.choice(["length", "pattern", "format" if room >= 40 else "length"])
    schema: Schema = {"type": "string"}
    if kind == "pattern":
        return {**schema, "pattern": random.choice(PATTERNS)}
    if kind == "format":
        return {**schema, "format": random.choice(FORMATS)}
    least = random.randint(0, 5)
    if random.random() < 0.6:
        schema["minLength"] = least
    if random.random() < 0.6:
        schema["maxLength"] = least + random.randint(0, 10)
    return schema


def _number(random: random_module.Random, kind: str) -> Schema:
    """Bounds of all sizes, signs and notations, with room for some number between them."""
    scale = random.choice([1, 10, 1000, 10**6, 10**14, 10**17] if kind == "integer" else [1e-9, 0.1, 1, 100, 1e9, 1e14])
    low = random.choice([0, 1, -1, random.uniform(-1, 1), -random.random()]) * scale
    high = low + random.choice([2.5, random.uniform(1, 3)]) * (scale if kind == "number" else max(scale, 2))
    if kind == "integer" and random.random() < 0.6:
        low, high = math.floor(low), math.ceil(high)
    elif random.random() < 0.3:
        low, high = float(f"{low:.2g}"), float(f"{high:.2g}") + 3 * scale
    schema: Schema = {"type": kind}
    if random.random() < 0.7:
        schema[random.choice(["minimum", "exclusiveMinimum"])] = low
    if random.random() < 0.7:
        schema[random.choice(["maximum", "exclusiveMaximum"])] = high
    return schema
