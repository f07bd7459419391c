"""What a schema's regex matches is JSON that the schema allows: checked on the automaton that it compiles to."""

from __future__ import annotations

import datetime
import enum
import functools
import ipaddress
import itertools
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import uuid
from collections import deque
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jsonschema
import pydantic
import pytest

import sfumato.constraints.dfa
from schemas import FORMATS, random_mixture, random_nested, random_schema
from sfumato.constraints.dfa import Budget
from sfumato.constraints.json_schema import language_of_schema, read_schema
from sfumato.constraints.regex import from_regex
from sfumato.errors import RequestError


def regex_of_schema(schema: Any) -> str:
    return read_schema(schema, Budget(), "schema")[0]


class Language:
    """The texts that a regex matches wholly, by the automaton over bytes."""

    def __init__(self, regex: str | sfumato.constraints.dfa.Language):
        found = from_regex(regex) if isinstance(regex, str) else regex
        self.initial = found.start
        self.final = set(found.final_S.nonzero()[0].tolist())
        self.edges = {
            state: {byte: to for byte, to in enumerate(row) if to} for state, row in enumerate(found.next_SB.tolist())
        }
        before: dict[int, set[int]] = {}
        for state, steps in self.edges.items():
            for to in set(steps.values()):
                before.setdefault(to, set()).add(state)
        self.distance = dict.fromkeys(self.final, 0)
        waiting = deque(self.final)
        while waiting:
            state = waiting.popleft()
            for previous in before.get(state, ()):
                if previous not in self.distance:
                    self.distance[previous] = self.distance[state] + 1
                    waiting.append(previous)

    def __contains__(self, text: str) -> bool:
        state = self.initial
        for byte in text.encode():
            if byte not in self.edges[state]:
                return False
            state = self.edges[state][byte]
        return state in self.final

    def draw(self, source: random.Random, length: int) -> str:
        """A text drawn byte by byte, on the shortest way to its end after some length."""
        state, text = self.initial, bytearray()
        while True:
            steps = [step for step in self.edges[state].items() if step[1] in self.distance]
            if state in self.final and (not steps or len(text) >= length or source.random() < 0.1):
                return text.decode()
            if len(text) >= length:
                steps = [step for step in steps if self.distance[step[1]] < self.distance[state]]
            byte, state = source.choice(steps)
            text.append(byte)


@functools.lru_cache(maxsize=64)
def _language(schema: str) -> Language:
    return Language(regex_of_schema(json.loads(schema)))


def language(schema: Any) -> Language:
    return _language(json.dumps(schema))


def is_valid(schema: Any, text: str) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(json.loads(text)))


def lengths(source: random.Random, number: int) -> list[int]:
    return [0, *(source.randrange(80) for _ in range(number - 1))]


OBJECT = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}}
NULLS = {"type": "array", "items": {"type": "null"}}
PAIR = {"type": "array", "prefixItems": [{"type": "null"}, {"type": "boolean"}]}
CLOSED = {"additionalProperties": False}


def kinds(*names: str) -> list[dict[str, Any]]:
    return [{"properties": {"kind": {"const": name}, name: {"type": "null"}}, "required": ["kind"]} for name in names]


@pytest.mark.parametrize(
    ("schema", "matching", "others"),
    [
        ({"type": "null"}, ["null"], ["", "nul", "null ", " null", "0", "false"]),
        ({"type": "boolean"}, ["true", "false"], ["True", "1", "null"]),
        ({"type": ["null", "boolean"]}, ["null", "true"], ["0"]),
        ({"type": "string"}, ['""', '"é"', r'"\""', r'"\\"', '"\x7f"'], ['"', '"""', r'"\"', '"\n"', '"\t"', "a"]),
        ({"type": "integer"}, ["0", "-1", "9" * 15], ["-0", "00", "01", "1.0", "1e3", "+1", "9" * 16, "", "-"]),
        ({"type": "number"},
         ["0", "0.5", "-0.5", "3.25", "7.0"], ["-0", "-0.0", ".5", "5.", "1e3", "0.1234567", "NaN"]),
        ({"type": ["integer", "number"]}, ["1", "1.5"], ["true"]),
        # enum, const
        ({"enum": [1, "a", None]}, ["1", '"a"', "null"], ["a", "2", "1.0"]),
        ({"enum": [1, "a", None], "type": "string"}, ['"a"'], ["1", "null"]),
        ({"enum": ["a", "bb", "ccc"], "minLength": 2, "pattern": "^(?!c)"}, ['"bb"'], ['"a"', '"ccc"']),
        ({"const": {"a": [1, {}], "é": "\n"}}, [r'{"a": [1, {}], "é": "\n"}'], [r'{"a":[1,{}],"é":"\n"}', "{}"]),
        ({"const": "a.b*[c]$^|?+(){}-&~#\\/"}, [r'"a.b*[c]$^|?+(){}-&~#\\/"'], [r'"aXb*[c]$^|?+(){}-&~#\\/"']),
        ({"const": True}, ["true"], ["1"]),
        ({"enum": [1, True, 1.0]}, ["1", "true", "1.0"], ["1.00"]),
        # objects
        (OBJECT, ["{}", '{"a": null}', '{"b": null}', '{"a": null, "c": null}', '{"b": null, "c": null}'],
         ['{"a": null,}', '{, "b": null}', '{"b": null, "a": null}', '{"a":null}', '{"d": null}', "{ }", '{"a": 1}']),
        ({**OBJECT, "required": ["b"]}, ['{"b": null}', '{"a": null, "b": null}', '{"b": null, "c": null}'],
         ["{}", '{"a": null}', '{"a": null, "c": null}', '{, "b": null}', '{"b": null, }']),
        ({**OBJECT, "required": ["c", "a", "b"]}, ['{"a": null, "b": null, "c": null}'], ["{}", '{"a": null}']),
        ({**OBJECT, "required": ["d"], "additionalProperties": {"const": 1}}, ['{"d": 1}', '{"c": null, "d": 1}'],
         ["{}", '{"d": null}', '{"a": null, "d": 1, "e": 1}']),
        ({"type": "object", "required": ["d"]}, ['{"d": [[1]]}', '{"d": "x"}'], ["{}", '{"e": 1}']),
        ({"type": "object", **CLOSED}, ["{}"], ['{"a": 1}']),
        ({"type": "object", "additionalProperties": {"type": "null"}},
         ["{}", '{"a": null}', '{"a": null, "b c": null}'], ['{"a": 1}', '{"a": null, }', '{a: null}']),
        ({"type": "object", "additionalProperties": {"const": 1}, "minProperties": 1, "maxProperties": 2},
         ['{"a": 1}', '{"a": 1, "b": 1}'], ["{}", '{"a": 1, "b": 1, "c": 1}', '{"a": 2}']),
        ({"type": "object", "additionalProperties": {"const": 1}, "maxProperties": 0}, ["{}"], ['{"a": 1}']),
        ({"type": "object", "additionalProperties": {"const": 1}, "propertyNames": {"enum": ["a", "b"]}},
         ["{}", '{"a": 1}', '{"a": 1, "b": 1}'], ['{"c": 1}', '{"a": 2}']),
        ({"type": "object", "additionalProperties": {"const": 1}, "propertyNames": {"pattern": "^[a-c]{2}$"}},
         ["{}", '{"ab": 1, "cc": 1}'], ['{"a": 1}', '{"abc": 1}', '{"ab": 2}']),
        ({"additionalProperties": {"const": 1}, "propertyNames": {"maxLength": 2}, "minProperties": 1},
         ['{"é": 1}', '{"": 1}'], ["{}", '{"abc": 1}']),
        ({"type": "object", "patternProperties": {"^x": {"const": 1}}, **CLOSED},
         ["{}", '{"x": 1, "xy": 1}'], ['{"y": 1}', '{"x": 2}']),
        ({"allOf": [{"type": "object", "patternProperties": {"^x": {"type": "integer"}}},
                    {"additionalProperties": {"enum": [1, "a"]}}]}, ["{}", '{"x": 1}'], ['{"x": "a"}', '{"x": 2}']),
        ({"items": {"enum": ["a", 1, 1.0, True]}, "uniqueItems": True},
         ["[]", '["a"]', '[1, "a"]', '["a", true, 1]'], ['["a", "a"]', "[1, 1]", "[2]", "[1.0]"]),
        ({"items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 2, "maxItems": 2},
         ["[1, 2]", "[3, 1]"], ["[]", "[1]", "[1, 1]", "[1, 2, 3]"]),
        ({"items": {"enum": [*range(9)]}, "uniqueItems": True, "minItems": 1},
         ["[0, 3, 8]", "[7]"], ["[3, 3]", "[]", "[3, 0]"]),
        ({"multipleOf": 5, "minimum": 3, "maximum": 21}, ["5", "10", "20"], ["0", "3", "25", "7", "5.0"]),
        ({"multipleOf": 5, "allOf": [{"multipleOf": 2}]}, ["0", "10", "-30"], ["5", "2", "15"]),
        ({"multipleOf": 5, "allOf": [{"multipleOf": 2}], "minimum": 0, "maximum": 20}, ["0", "20"], ["5", "15", "2"]),
        ({"multipleOf": 6, "allOf": [{"multipleOf": 4}], "exclusiveMinimum": -12, "exclusiveMaximum": 24},
         ["0", "12"], ["-12", "24", "6", "4"]),
        ({"type": "object"}, ["{}", '{"a": {"b": 1}}'], ['{"a": {"b": {"c": 1}}}', "[]"]),
        ({"properties": {"a": {"type": "null"}}}, ["{}", '{"a": null}'], ["1"]),
        ({**OBJECT, "minProperties": 3}, ['{"a": null, "b": null, "c": null}'], ["{}", '{"a": null, "b": null}']),
        ({**OBJECT, "maxProperties": 0}, ["{}"], ['{"a": null}']),
        ({**OBJECT, "maxProperties": 1, "required": ["b"]}, ['{"b": null}'], ['{"a": null, "b": null}', "{}"]),
        ({**OBJECT, "minProperties": 1, "maxProperties": 3, "required": ["b"]}, ['{"b": null, "c": null}'], ["{}"]),
        ({**OBJECT, "patternProperties": {"^x": {"type": "null"}}}, ['{"a": null}'], ['{"x": null}']),
        ({"type": "object", "properties": {"x1": {"type": "integer"}}, "patternProperties": {"^x": {"maximum": 1}}},
         ['{"x1": 1}'], ['{"x1": 2}']),
        ({"type": "object", "required": ["x1"], "patternProperties": {"^x": {"const": 1}}, **CLOSED},
         ['{"x1": 1}'], ["{}"]),
        ({"type": "object", "properties": {"a": False, "b": {"type": "null"}}}, ["{}", '{"b": null}'], ['{"a": 1}']),
        ({**OBJECT, "propertyNames": {"maxLength": 1}}, ['{"a": null}'], []),
        ({**OBJECT, "required": ["a"], "dependentRequired": {"b": ["a"], "x": ["y"]}},
         ['{"a": null, "b": null}'], ["{}"]),
        ({**OBJECT, "unevaluatedProperties": False, "dependentSchemas": {"x": {"not": {}}}}, ['{"a": null}'], []),
        # arrays
        (NULLS, ["[]", "[null]", "[null, null, null]"], ["[null,null]", "[,]", "[null, ]", "[1]", "[ ]"]),
        ({**NULLS, "minItems": 2}, ["[null, null]", "[null, null, null]"], ["[]", "[null]"]),
        ({**NULLS, "maxItems": 2}, ["[]", "[null]", "[null, null]"], ["[null, null, null]"]),
        ({**NULLS, "minItems": 1, "maxItems": 2}, ["[null]", "[null, null]"], ["[]", "[null, null, null]"]),
        ({**NULLS, "maxItems": 0}, ["[]"], ["[null]"]),
        ({**NULLS, "maxItems": 1, "uniqueItems": True}, ["[]", "[null]"], ["[null, null]"]),
        ({"type": "array", "items": False}, ["[]"], ["[null]"]),
        (PAIR, ["[]", "[null]", "[null, true]"], ["[true]", "[null, null]", "[null, true, 1]"]),
        ({**PAIR, "minItems": 2}, ["[null, true]"], ["[]", "[null]", "[null, true, 1]"]),
        ({**PAIR, "minItems": 3}, ["[null, true, 1]", '[null, true, "x"]'], ["[null, true]", "[null, true, 1, 1]"]),
        ({**PAIR, "maxItems": 1}, ["[]", "[null]"], ["[null, true]"]),
        ({**PAIR, "items": {"const": 1}, "minItems": 1, "maxItems": 4}, ["[null]", "[null, true, 1, 1]"],
         ["[]", "[null, 1]", "[null, true, 1, 1, 1]"]),
        ({**PAIR, "items": {"const": 1}, "minItems": 3},
         ["[null, true, 1]", "[null, true, 1, 1, 1]"], ["[null, true]"]),
        ({**PAIR, "items": False}, ["[]", "[null, true]"], ["[null, true, 1]"]),
        ({"type": "array", "prefixItems": [{"type": "null"}, False], "items": {"type": "null"}}, ["[]", "[null]"],
         ["[null, null]"]),
        ({**PAIR, "unevaluatedItems": False}, ["[null, true]"], ["[null, true, 1]"]),
        ({"type": "array"}, ["[]", "[1, [2]]"], ["[[[1]]]"]),
        # strings
        ({"type": "string", "minLength": 2, "maxLength": 3}, ['"ab"', '"日本語"', r'"\n\""', '"\U0001f600\U0001f600"'],
         ['"a"', '"abcd"', r'"\n"', '"\U0001f600"', '"é"']),
        ({"type": "string", "minLength": 1}, ['"a"', '"' + "a" * 99 + '"'], ['""']),
        ({"type": "string", "maxLength": 0}, ['""'], ['"a"']),
        ({"minLength": 1}, ['"a"'], ['""', "1"]),
        # numbers
        ({"minimum": 3, "type": "integer"}, ["3", "10", "99"], ["2", "0", "-3", "3.0"]),
        ({"exclusiveMinimum": 3, "exclusiveMaximum": 5, "type": "integer"}, ["4"], ["3", "5"]),
        ({"minimum": -2.5, "maximum": 1.5, "type": "integer"}, ["-2", "-1", "0", "1"], ["-3", "2", "-0"]),
        ({"type": "number", "minimum": 0.1, "maximum": 0.3},
         ["0.1", "0.10", "0.3", "0.299999"], ["0", "0.09", "0.31", "0.300001"]),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1},
         ["0.000001", "1", "1.0"], ["0", "0.0", "0.000000", "1.1"]),
        ({"type": "number", "minimum": -1.5, "exclusiveMaximum": -1},
         ["-1.5", "-1.000001"], ["-1", "-1.0", "-1.6", "1.2"]),
        ({"type": "integer", "multipleOf": 100, "maximum": 1000}, ["0", "100", "-200", "1000"], ["10", "1100", "-0"]),
        ({"type": "number", "multipleOf": 1}, ["2"], ["2.0", "2.5"]),
        ({"type": "integer", "maximum": -(10**16)}, ["-" + "1" + "0" * 16], ["-" + "9" * 16, "1"]),
        ({"type": "integer", "minLength": 9, "pattern": "(?=", "required": ["a"], "format": "date"}, ["1"], ['"a"']),
        # alternatives and references
        ({"anyOf": [{"type": "null"}, {"const": 1}, False]}, ["null", "1"], ["2"]),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}], "minimum": 0, "maxLength": 1},
         ["0", '"a"'], ["-1", '"ab"']),
        ({"anyOf": [{"minimum": 5}, {"maximum": 3}], "type": "integer", "oneOf": [{"type": "integer"}]},
         ["3", "5"], ["4"]),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}, {"type": "string"}]}, ["null", "1", '"a"'], ["true"]),
        ({"oneOf": [{"enum": [1, 2]}, {"enum": ["a", 3]}]}, ["1", "3", '"a"'], ["4"]),
        ({"oneOf": [{"const": "a"}, {"type": "string", "minLength": 2}]}, ['"a"', '"bb"'], ['"b"']),
        ({"type": "object", "oneOf": kinds("x", "y")}, ['{"kind": "x", "x": null}', '{"kind": "y"}'],
         ['{"kind": "x", "y": null}', "{}"]),
        ({"type": "object", "oneOf": [{"properties": {"a": {"type": "null"}}, "required": ["a"], **CLOSED},
                                      {"properties": {"b": {"type": "null"}}, "required": ["b"], **CLOSED}]},
         ['{"a": null}', '{"b": null}'], ["{}", '{"a": null, "b": null}']),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 4}, {"type": ["number", "string"]}]},
         ["3", "4"], ["5"]),
        ({"allOf": [OBJECT, {"properties": {"b": {}, "d": {"const": 1}}, "required": ["d"]}]}, ['{"b": null, "d": 1}'],
         ["{}", '{"d": 1, "b": null}', '{"b": 1, "d": 1}']),
        ({"allOf": [{**OBJECT, **CLOSED}, {"properties": {"d": {"const": 1}}}]}, ["{}", '{"a": null}'], ['{"d": 1}']),
        ({"allOf": [PAIR, {"items": {"const": None}}]}, ["[]", "[null]"], ["[null, true]", "[null, null]"]),
        ({"$defs": {"n": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/n", "minimum": 3}},
         ["[3, 4]"], ["[2]"]),
        ({"definitions": {"a/b~c %": {"const": 1}}, "$ref": "#/definitions/a~1b~0c%20%25"}, ["1"], ["2"]),
        ({"properties": {"a": {"const": 1}, "b": {"$ref": "#/properties/a"}}}, ['{"a": 1, "b": 1}'], ['{"b": 2}']),
        ({"$defs": {"a": {"anyOf": [{"const": 1}, {"$ref": "#/$defs/b"}]}, "b": {"const": 2}},
          "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}, ["1", "2"], ["3"]),
        # annotations, and anything
        ({"title": "a", "description": "b", "default": 1, "examples": [1], "$comment": "c", "deprecated": True,
          "$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://example.org/a", "type": "null"},
         ["null"], ["1"]),
        (True, ["null", "1.5", "[]", "{}", '{"a": [1]}', '[{"a": null}, "b"]'],
         ["", "[[[]]]", '{"a": [[1]]}', "[1,2]"]),
        ({}, ["null", "[[1]]"], ["[[[1]]]"]),
    ],
)  # fmt: skip
def test_keywords(schema: Any, matching: list[str], others: list[str]):
    texts = language(schema)
    for text in matching:
        assert text in texts
        assert is_valid(schema, text)
    for text in others:
        assert text not in texts


def test_random_schemas_match_only_what_is_valid():
    for seed in range(100):
        source = random.Random(seed)
        schema = random_schema(source)
        texts = language(schema)
        assert texts.distance[texts.initial] < 150
        validator = jsonschema.Draft202012Validator(schema)
        for length in lengths(source, 8):
            text = texts.draw(source, length)
            value = json.loads(text)
            assert validator.is_valid(value), (seed, schema, text)
            if '"number"' not in json.dumps(schema):
                assert json.dumps(value, ensure_ascii=False) == text, (seed, schema)


def test_random_schemas_have_several_texts():
    # So that the test above is not one of constants.
    source = random.Random(0)
    drawn = [[language(random_schema(random.Random(seed))).draw(source, 40) for _ in range(4)] for seed in range(20)]
    assert sum(len(set(texts)) > 1 for texts in drawn) > 15
    words = (
        "anyOf oneOf allOf $ref required minItems maxItems prefixItems enum const pattern format minLength maxLength"
    )
    seen = " ".join(json.dumps(random_schema(random.Random(seed))) for seed in range(200))
    for word in [*words.split(), "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]:
        assert f'"{word}":' in seen


def test_random_mixtures_match_only_what_is_valid():
    num_read = 0
    for seed in range(150):
        source = random.Random(seed)
        schema = random_mixture(source)
        try:
            regex = regex_of_schema(schema)
        except RequestError:
            continue
        num_read += 1
        texts = Language(regex)
        for length in lengths(source, 5):
            text = texts.draw(source, length)
            assert is_valid(schema, text), (seed, schema, text)
    assert num_read > 75


class Side(enum.Enum):
    LEFT, RIGHT = "left", "right"


class Maps(pydantic.BaseModel):
    by_side: dict[Side, int]
    by_name: dict[Annotated[str, pydantic.Field(pattern="^[a-z]{1,3}$")], bool] = pydantic.Field(max_length=2)
    some: dict[str, Literal[1]] = pydantic.Field(min_length=1)
    id: pydantic.UUID4
    data: pydantic.Base64Bytes
    tags: set[Literal["x", "y"]]
    rating: int = pydantic.Field(multiple_of=5, ge=0, le=100)


def test_maps_and_types_of_pydantic():
    source, texts = random.Random(3), Language(language_of_schema(Maps.model_json_schema(), order="schema"))
    drawn = [Maps.model_validate_json(texts.draw(source, length)) for length in (0, 40, 80, 200, 200, 300)]
    assert any(each.by_side for each in drawn)
    assert any(each.by_name for each in drawn)


class Comment(pydantic.BaseModel):
    by: str = pydantic.Field(max_length=8)
    replies: list[Comment] = []


class Sum(pydantic.BaseModel):
    left: int | Sum
    right: int | Sum


class File(pydantic.BaseModel):
    kind: Literal["file"]
    size: int


class Folder(pydantic.BaseModel):
    kind: Literal["folder"]
    entries: list[Annotated[File | Folder, pydantic.Field(discriminator="kind")]]


class Linked(pydantic.BaseModel):
    following: Linked | None


@pytest.mark.parametrize(
    ("model", "innermost", "nest"),
    [
        (Comment, {"by": "x", "replies": []}, lambda value: {"by": "y", "replies": [value, value]}),
        (Sum, {"left": 1, "right": 2}, lambda value: {"left": value, "right": value}),
        (Folder, {"kind": "folder", "entries": [{"kind": "file", "size": 3}]},
         lambda value: {"kind": "folder", "entries": [{"kind": "file", "size": 1}, value]}),
        (Linked, {"following": None}, lambda value: {"following": value}),
    ],
)  # fmt: skip
def test_models_that_contain_themselves_nest_five_deep(
    model: type[pydantic.BaseModel], innermost: Any, nest: Callable[[Any], Any]
):
    texts = Language(language_of_schema(model.model_json_schema()))
    value = innermost
    for depth in range(1, 8):
        assert (json.dumps(value) in texts) == (depth <= 5), depth
        value = nest(value)
    source = random.Random(1)
    for length in (0, 20, 200, 400):
        model.model_validate_json(texts.draw(source, length))


def test_large_schemas_that_refer_to_themselves_nest_less_deep():
    names = [f"side_{i}" for i in range(6)]
    node = {"type": "object", "properties": {name: {"$ref": "#"} for name in names}, "required": ["name"]}
    schema = {**node, "properties": {**node["properties"], "name": {"type": "string", "maxLength": 40}}}
    texts = Language(language_of_schema(schema))
    inner: dict[str, Any] = {"name": "x"}
    outer = {**dict.fromkeys(names, inner), "name": "y"}
    assert json.dumps(outer) in texts
    assert json.dumps({"side_0": {"side_0": {"side_0": outer, "name": "z"}, "name": "z"}, "name": "z"}) not in texts
    with pytest.raises(RequestError, match=r"it requires 'next', .*: # is nested 2 deep already"):
        language({"properties": {"next": {"$ref": "#"}}, "required": ["next"]})


def test_random_nested_schemas_match_only_what_is_valid():
    num_read = num_nested = 0
    for seed in range(200):
        source = random.Random(seed)
        schema = random_nested(source)
        try:
            texts = Language(language_of_schema(schema, order="schema"))
        except RequestError:
            continue
        num_read += 1
        for length in lengths(source, 5):
            text = texts.draw(source, length)
            assert is_valid(schema, text), (seed, schema, text)
            num_nested += text.count("{") + text.count("[") > 2
    assert num_read > 70
    assert num_nested > 25


def test_any_number_of_optional_properties():
    names = [f"p{i}" for i in range(5)]
    schema = {"type": "object", "properties": {name: {"type": "null"} for name in names}}
    for required in ([], ["p0"], ["p2"], ["p4"], ["p1", "p3"]):
        texts = language({**schema, "required": required})
        for chosen in itertools.chain.from_iterable(itertools.combinations(names, n) for n in range(6)):
            text = json.dumps(dict.fromkeys(chosen))
            assert (text in texts) == set(required).issubset(chosen)


def test_any_order_with_additional_properties():
    names = ["a", "ab", 'q"', "b\n"]
    schema = {"type": "object", "properties": {name: {"type": "null"} for name in names}, "required": ["a", "b\n"]}
    either, closed = language_of_schema({**schema, "additionalProperties": True}), language_of_schema(schema)
    for number in range(5):
        for chosen in itertools.permutations(names, number):
            text = json.dumps(dict.fromkeys(chosen))
            assert either.accepts(text) == closed.accepts(text) == {"a", "b\n"}.issubset(chosen)
    for other in ("", "abc", "b", "q", '"', "é", "\\", "a\n", "A"):
        text = json.dumps({"b\n": None, other: [1, None], "a": None}, ensure_ascii=False)
        assert either.accepts(text)
        assert not closed.accepts(text)
        assert jsonschema.Draft202012Validator(schema).is_valid(json.loads(text))
    # No property stands twice, so that none of another kind takes its place.
    assert not either.accepts('{"a": null, "b\\n": null, "a": 1}')
    assert not either.accepts('{"a": 1, "b\\n": null}')


def test_additional_properties_beside_odd_names():
    """Half a surrogate pair, which no text has, and a name too long to be told from all others."""
    inner = {"type": "object", "properties": {"a": {}}}
    odd = language_of_schema(
        {"type": "object", "properties": {"p": inner}, "dependentRequired": {"\ud800": ["p"]}, "required": ["p"]}
    )
    assert odd.accepts('{"p": {}}')
    assert not odd.accepts('{""a": 1x": null, "p": {}}')
    long = language_of_schema({"type": "object", "properties": {"n" * 600: {"type": "integer"}}})
    assert long.accepts(f'{{"{"n" * 600}": 1}}')


def test_additional_properties_follow_their_schema():
    texts = language_of_schema({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}})
    assert texts.accepts('{"b": 1, "a": "x", "c": 2}')
    assert not texts.accepts('{"b": "x"}')
    for closing in ({"unevaluatedProperties": False}, {"propertyNames": {"maxLength": 1}}, {"maxProperties": 1}):
        assert not language_of_schema({**{"type": "object", "properties": {"a": {}}}, **closing}).accepts('{"b": 1}')
    dependent = language_of_schema({"type": "object", "dependentRequired": {"b": ["c"]}})
    assert dependent.accepts('{"d": 1}')
    assert not dependent.accepts('{"b": 1}')


@pytest.mark.parametrize("number", [8, 40])
def test_any_order_up_to_eight_properties(number: int):
    names = [f"{chr(97 + i % 26)}{i}" for i in range(number)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, **CLOSED}
    texts = language_of_schema(schema, Budget(max_seconds=600))
    assert texts.accepts(json.dumps(dict.fromkeys(names, "x")))
    assert texts.accepts(json.dumps(dict.fromkeys(reversed(names), "x"))) == (number == 8)


def test_random_schemas_in_any_order_match_only_what_is_valid():
    source = random.Random(11)
    num_checked = 0
    for _ in range(12):
        schema = random_schema(source, depth=3)
        try:
            found = language_of_schema(schema)
        except RequestError:
            continue
        texts = Language(found)
        for length in lengths(source, 4):
            text = texts.draw(source, length)
            assert is_valid(schema, text), (schema, text)
            num_checked += 1
    assert num_checked > 20


def test_the_regex_of_many_optional_properties_is_short():
    def size(number: int) -> int:
        properties = {f"p{i:04}": {"type": "string"} for i in range(number)}
        return len(regex_of_schema({"type": "object", "properties": properties}))

    assert size(800) < 2.5 * size(400)


# Integers


def fits(value: float, schema: dict[str, Any]) -> bool:
    return (
        schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
        and schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf)
    )  # fmt: skip


def test_integers_between_bounds():
    source = random.Random(0)
    for _ in range(60):
        reach = source.choice([3, 12, 120, 1200])
        low = source.choice([source.randint(-reach, reach), source.uniform(-reach, reach)])
        high = low + source.choice([source.randint(0, reach), source.uniform(1, reach)])
        schema: dict[str, Any] = {"type": "integer"}
        schema |= {source.choice(["minimum", "exclusiveMinimum"]): low} if source.random() < 0.8 else {}
        schema |= {source.choice(["maximum", "exclusiveMaximum"]): high} if source.random() < 0.8 else {}
        expected = {str(value) for value in range(-1400, 2600) if fits(value, schema)}
        if not expected:
            with pytest.raises(RequestError, match="nothing satisfies"):
                regex_of_schema(schema)
            continue
        texts = language(schema)
        assert {str(value) for value in range(-1400, 2600) if str(value) in texts} == expected, schema
        assert "-0" not in texts


@pytest.mark.parametrize("digits", [1, 2, 9, 15, 16, 17, 18, 19, 38])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_near_powers_of_ten(digits: int, sign: int):
    for bound in (sign * (10**digits + more) for more in (-11, -1, 0, 1, 10)):
        above, below = language({"type": "integer", "minimum": bound}), language({"type": "integer", "maximum": bound})
        for value in (bound + more for more in (-10, -9, -2, -1, 0, 1, 2, 9, 10)):
            assert (str(value) in above) == (value >= bound and (bound >= 10**15 - 1 or value < 10**15))
            assert (str(value) in below) == (value <= bound and (bound <= 1 - 10**15 or value > -(10**15)))


# Numbers


def test_decimals_between_bounds():
    source = random.Random(0)
    decimals = [f"{k / 100:.2f}" for k in range(-1300, 1301)]
    notations = {text.rstrip("0").rstrip(".") for text in decimals} | {*decimals} | {f"{text}0" for text in decimals}
    plain = {text for text in notations if text != "-0" and not re.fullmatch(r"-0\.0*", text)}
    for _ in range(20):
        low, high = sorted(round(source.uniform(-12, 12), source.choice([0, 1, 1, 2])) for _ in range(2))
        low, high = (source.choice([each, int(each)]) for each in (low, high))
        schema: dict[str, Any] = {"type": "number"}
        schema |= {source.choice(["minimum", "exclusiveMinimum"]): low} if source.random() < 0.8 else {}
        schema |= {source.choice(["maximum", "exclusiveMaximum"]): high} if source.random() < 0.8 else {}
        expected = {text for text in plain if fits(float(text), schema)}
        if expected:
            texts = language(schema)
            assert {text for text in plain if text in texts} == expected, schema
            assert not any(text in texts for text in ("-0", "-0.0", "-0.000000", "00", "01.5"))


def neighbours(value: float) -> list[float]:
    return [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]


@pytest.mark.parametrize(
    "bound",
    [
        0.1,
        0.1 + 0.2,
        1e-6,
        1e-7,
        5e-324,
        1e15,
        999999999999999.9,
        2.0**53,
        1e16,
        1e22,
        1e23,
        1e-30,
        123456789.123456789,
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_decimals_next_to_a_bound_are_read_as_floats_within_it(bound: float, sign: int):
    source = random.Random(0)
    for near in neighbours(sign * bound):
        for word in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
            schema = {"type": "number", word: near}
            texts = language(schema)
            for length in (0, *range(1, 30)):
                assert is_valid(schema, texts.draw(source, length)), schema


def test_decimals_between_any_two_floats():
    source = random.Random(0)
    num_narrow = 0
    for _ in range(150):
        low = struct.unpack("<d", source.randbytes(8))[0] if source.random() < 0.2 else source.uniform(-2, 2)
        if not math.isfinite(low) or abs(low) > 1e39:
            continue
        high = source.choice([low, math.nextafter(low, math.inf), low + abs(low) * 1e-14, low + abs(low) * 1e-3])
        num_narrow += 0 < abs(low) < 1e-100
        for first, last in itertools.product(("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            schema = {"type": "number", first: low, last: high}
            values = [value for end in (low, high) for value in neighbours(end) if fits(value, schema)]
            try:
                texts = language(schema)
            except RequestError as error:
                assert "nothing satisfies" in str(error)  # noqa: PT017
                assert not values, schema
                continue
            assert values or abs(low) > 1e15, schema  # where there are integers between floats
            for length in (0, 20, 400):
                assert is_valid(schema, texts.draw(source, length)), schema
    assert num_narrow > 2


def test_hundreds_of_digits_do_not_nest():
    """Python counts calls from the bottom: a caller may have used half of them."""

    def below(depth: int) -> str:
        return below(depth - 1) if depth else regex_of_schema({"type": "number", "minimum": 3e-300, "maximum": 4e-300})

    assert below(500) == below(0)


def test_large_integers_are_compared_exactly():
    # As a float it is 2^53: the decimal with a point would be below.
    texts = language({"type": "number", "minimum": 2**53 + 1})
    assert str(2**53 + 1) in texts
    assert f"{2**53 + 1}.0" not in texts
    assert str(2**53) not in texts


# Strings


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("^ab$", ["ab"], ["a", "abc", "ab\n"]),
        ("ab", ["ab", "xaby", "ab\n", '"ab\\'], ["a", "ba"]),
        ("^ab", ["ab", "abc"], ["xab"]),
        ("ab$", ["ab", "xab"], ["abx", "ab\n"]),
        ("", ["", "any"], []),
        ("^$", [""], ["a", "\n"]),
        ("^a|b$", ["a", "ax", "b", "xb"], ["xa", "bx"]),
        ("(^a|b)c$", ["ac", "bc", "xbc"], ["xac", "acx"]),
        ("^(a|(b$|c))", ["a", "ax", "b", "cx"], ["bx", "xc"]),
        ("^a(b$|c)", ["ab", "ac", "acx"], ["abx", "xab"]),
        ("^(?:a|bc)+?$", ["a", "abca"], ["", "b"]),
        ("^(?P<x>a){2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
        ("^a{2,}$", ["aa", "aaaaa"], ["a"]),
        ("^.$", ["a", "é", "\U0001f600", '"', "\\", "\t"], ["\n", "\r", "\u2028", "", "ab"]),
        (r"^\d$", ["0", "9"], ["٣", "a"]),
        (r"^\D$", ["a", "é", "\U0001f600", "\n"], ["0", "٣"]),
        (r"^\w$", ["a", "_", "Z", "5"], ["é", "-"]),
        (r"^\W$", ["-", "\n", '"', "—"], ["a", "é", "日", "_"]),
        (r"^\s$", [" ", "\t", "\n", "\r", "\f", "\v"], ["\xa0", "a"]),
        (r"^\S$", ["a", '"', "日"], [" ", "\xa0", "\ufeff", "\n"]),
        (r"^[^\s\d]$", ["a", "\\"], ["1", "٣", " ", "\n"]),
        (r"^[^\W]$", ["a"], ["é", "-"]),
        (r"^[^\D]$", ["1"], ["a"]),
        (r"^[\s\S]$", ["a", "\n", " ", "日"], [""]),
        (r"^[\w.-]+$", ["a.b-c"], ["a b"]),
        ('^"[^"]*"$', ['"a"', '""'], ['"a', '"a"b"']),
        (r"^\\+$", ["\\", "\\\\\\"], ["/"]),
        (r"^[\\/]$", ["\\", "/"], ["a"]),
        (r"^[\]\[^-]$", ["]", "[", "^", "-"], ["\\"]),
        ("^[ -~]$", [" ", '"', "\\", "~"], ["\x7f", "\t"]),
        ("^[a&&b~~c]$", ["a", "&", "~"], ["d"]),
        ("^[\\x00-\\x1f]$", ["\x00", "\x01", "\n", "\t", "\x1b", "\x1f"], [" ", "\x7f"]),
        ("^\\x7f$", ["\x7f"], ["\x7e"]),
        ("^[\\x01a]$", ["\x01", "a"], ["\x02"]),
        ("^[^a]$", ["b", "\n", "\x7f"], ["a", "\x01"]),
        ("^[^\\x20-\\U0010ffff]$", ["\n", "\x01"], ["a", "é"]),
        ("^[é-ü日\U0001f600]$", ["é", "ü", "日", "\U0001f600"], ["z", "本"]),
        ("^\\u00e9$", ["é"], ["e"]),
        ("^[\\ud800-\\ue000]$", ["\ue000"], ["\ud7ff", "\ue001"]),
        ("^(a|[^\\s\\S])$", ["a"], ["b"]),
        ("^a(?:[^\\s\\S])*b{0}$", ["a"], ["ab"]),
        (r"\Aab\Z", ["ab"], ["abc"]),
        ("^#&-~$", ["#&-~"], []),
    ],
)
def test_patterns(pattern: str, matching: list[str], others: list[str]):
    schema = {"type": "string", "pattern": pattern}
    texts = language(schema)
    for value in matching:
        assert json.dumps(value, ensure_ascii=False) in texts, value
        assert re.search(pattern, value)
    for value in others:
        assert json.dumps(value, ensure_ascii=False) not in texts, value


@pytest.mark.parametrize(
    ("pattern", "least", "most", "matching", "others"),
    [
        ("^[a-z]{2,4}$", 1, 9, ["ab", "abcd"], ["a"]),
        ("^[a-z]+$", 2, 3, ["ab", "abc"], ["a", "abcd"]),
        ("^([a-z]*)-x$", 4, 6, ["ab-x", "abcd-x"], ["a-x", "abcde-x"]),
        ("^(ab)*c?$", 3, 6, ["abab", "ababc"], ["ab", "abababc"]),
        ("^a", 2, None, ["ab", "abcd"], ["a", "ba"]),
        ("^a", 2, 3, ["ab", "abc"], ["a", "abcd"]),
        ("a$", 2, 3, ["ba", "bba"], ["a", "bbba"]),
        ("ab", 3, None, ["abc", "xxabc"], ["ab"]),
        ("ab", 0, 4, ["ab", "xab", "xabx"], ["xxabx"]),
        ("ab", 4, 4, ["abxx"], ["ab", "abxxx"]),
        ("^a|bc$", 2, 3, ["ab", "abc", "bc", "xbc"], ["a", "xxbc"]),
        ("a*", 0, None, ["", "b"], []),
        ('^"+$', 2, 2, ['""'], ['"', '"""']),
    ],
)
def test_patterns_with_lengths(pattern: str, least: int, most: int | None, matching: list[str], others: list[str]):
    schema = {"type": "string", "pattern": pattern, "minLength": least, **({"maxLength": most} if most else {})}
    texts = language(schema)
    for value in matching:
        assert json.dumps(value, ensure_ascii=False) in texts, value
    for value in others:
        assert json.dumps(value, ensure_ascii=False) not in texts, value
    source = random.Random(0)
    for length in range(20):
        assert is_valid(schema, texts.draw(source, length))


def random_pattern(source: random.Random, depth: int = 3) -> str:
    atoms = [
        r"a",
        r"b",
        r"\n",
        r'"',
        r"\\",
        r".",
        r"\d",
        r"\W",
        r"\S",
        r"[^\w\n]",
        r"[^a\"]",
        r"[\x00-\x22]",
        "é",
        r"[^\D]",
    ]
    if depth == 0 or source.random() < 0.3:
        return source.choice(atoms)
    kind = source.choice(["sequence", "sequence", "branches", "repeat"])
    inner = [random_pattern(source, depth - 1) for _ in range(source.randint(1, 3))]
    if kind == "sequence":
        start, end = source.choice(["", "", "^"]), source.choice(["", "", "$"])
        return (start + "".join(inner) + end) if depth > 1 else "".join(inner)
    if kind == "branches":
        return f"({'|'.join([*inner, *source.choice([[], ['']])])})"
    return f"(?:{inner[0]}){source.choice(['*', '+', '?', '*?', '{0,2}', '{2}', '{1,}?'])}"


def test_random_patterns():
    source = random.Random(0)
    num_read = 0
    for _ in range(100):
        pattern = random_pattern(source)
        schema: dict[str, Any] = {"type": "string", "pattern": pattern}
        schema |= {"minLength": source.randrange(4)} if source.random() < 0.3 else {}
        schema |= {"maxLength": source.randrange(4, 9)} if source.random() < 0.3 else {}
        try:
            regex = regex_of_schema(schema)
        except RequestError as error:
            expected = "inside it|characters; supported|nothing satisfies|has .* to .* characters"
            assert re.search(expected, str(error)), error  # noqa: PT017
            continue
        num_read += 1
        texts = Language(regex)
        for length in lengths(source, 6):
            text = texts.draw(source, length)
            assert is_valid(schema, text), (schema, text)
    assert num_read > 50


def test_characters_of_strings():
    texts = language({"type": "string"})
    for point in [*range(0x3000), *range(0xD700, 0xE100), 0xFFFD, 0xFFFE, 0x10000, 0x10FFFF]:
        if 0xD800 <= point < 0xE000:
            assert not walks(texts, b'"' + chr(point).encode("utf-8", "surrogatepass") + b'"')
            assert f'"\\u{point:04x}"' not in texts
            continue
        text = json.dumps(chr(point), ensure_ascii=False)
        assert (text in texts) == (not text.startswith('"\\u')), hex(point)


@pytest.mark.parametrize("text", [b'"\xff"', b'"\xc0\xaf"', b'"\x80"', b'"\xf4\x90\x80\x80"', b'"\xe9"'])
def test_only_utf8_is_matched(text: bytes):
    assert not walks(language({"type": "string"}), text)
    assert not walks(language({"type": "string", "pattern": "."}), text)


def walks(texts: Language, text: bytes) -> bool:
    state = texts.initial
    for byte in text:
        if byte not in texts.edges[state]:
            return False
        state = texts.edges[state][byte]
    return state in texts.final


def test_names_are_escaped_as_strings():
    names = ['"', "\\", "\n", "\x01", "a.b", "[x]*", "日本", "", "$ref", "a b", "\u2028"]
    schema = {"type": "object", "properties": {name: {"const": name} for name in names}, "required": names}
    texts = language(schema)
    text = json.dumps({name: name for name in names}, ensure_ascii=False)
    assert text in texts
    assert texts.draw(random.Random(0), 0) == text


def read_date(text: str) -> None:
    assert datetime.date.fromisoformat(text).isoformat() == text


def read_hostname(text: str) -> None:
    assert len(text) < 254
    assert all(re.fullmatch("(?!-)[A-Za-z0-9-]{1,63}(?<!-)", label) for label in text.split("."))


def read_email(text: str) -> None:
    local, host = text.split("@")
    assert re.fullmatch(r"[\w+-]+(\.[\w+-]+)*", local)
    assert len(local) <= 64
    read_hostname(host)


READERS = {
    "date": read_date,
    "time": datetime.time.fromisoformat,
    "date-time": datetime.datetime.fromisoformat,
    "uuid": uuid.UUID,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "hostname": read_hostname,
    "email": read_email,
    "uri": pydantic.TypeAdapter(pydantic.HttpUrl).validate_python,
    "duration": pydantic.TypeAdapter(datetime.timedelta).validate_python,
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str):
    source = random.Random(0)
    texts = language({"type": "string", "format": name})
    drawn = {json.loads(texts.draw(source, 200)) for _ in range(150)}
    assert len(drawn) > 100
    for value in drawn:
        READERS[name](value)


def test_schemas_of_pydantic_are_accepted():
    class Book(pydantic.BaseModel):
        page: pydantic.HttpUrl
        length: datetime.timedelta
        secret: pydantic.SecretStr
        cover: bytes

    texts = language_of_schema(Book.model_json_schema())
    book = {"page": "https://ab.org/c", "length": "PT5M", "secret": "x", "cover": "a"}
    assert texts.accepts(json.dumps(book))
    # A further property is allowed, but not wanted.
    assert not texts.accepts(json.dumps(book | {"more": 1}))
    assert Book.model_validate(book).length == datetime.timedelta(minutes=5)


def test_dates_cover_all_days():
    texts = language({"type": "string", "format": "date"})
    for year in (1900, 1999, 2000, 2023, 2024, 2100, 2400):
        days = {
            f"{year}-{month:02}-{day:02}"
            for month in range(14)
            for day in range(33)
            if f'"{year}-{month:02}-{day:02}"' in texts
        }
        first = datetime.date(year, 1, 1)
        num_days = (datetime.date(year + 1, 1, 1) - first).days
        assert days == {(first + datetime.timedelta(days=i)).isoformat() for i in range(num_days)}


def test_lengths_of_formats():
    assert '"a.bc"' not in language({"type": "string", "format": "date", "minLength": 1, "maxLength": 10})
    with pytest.raises(RequestError, match=r"'format'.*at # with a length"):
        regex_of_schema({"type": "string", "format": "email", "maxLength": 20})
    with pytest.raises(RequestError, match="nothing satisfies the schema at #: no 'date' has"):
        regex_of_schema({"type": "string", "format": "date", "minLength": 11})


# What is refused


TAGS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({**TAGS, "uniqueItems": True}, r"'uniqueItems' \(true\) at #/properties/x"),
        ({**TAGS, "contains": {"const": "a"}}, "'contains' .*at #/properties/x"),
        ({**PAIR, "minItems": 3, "unevaluatedItems": False}, r"'unevaluatedItems' \(false\) at #/properties/x"),
        ({"not": {"type": "null"}}, "'not' .*at #/properties/x"),
        ({"type": "string", "if": {"const": "a"}}, "'if' .*at #/properties/x"),
        ({"type": "string", "then": {}}, r"'then' \({}\) at #/properties/x"),
        ({"type": "string", "else": {}}, r"'else' \({}\) at #/properties/x"),
        ({"$dynamicRef": "#a"}, "'\\$dynamicRef' .*at #/properties/x"),
        ({**OBJECT, "dependentRequired": {"a": ["b"]}}, "'dependentRequired' .*at #/properties/x"),
        ({**OBJECT, "dependentSchemas": {"a": {"required": ["b"]}}}, "'dependentSchemas' .*at #/properties/x"),
        ({**OBJECT, "propertyNames": {"const": "a"}}, "'propertyNames' .*at #/properties/x.*'b'"),
        ({**OBJECT, "minProperties": 2}, r"'minProperties' \(2\) at #/properties/x"),
        ({**OBJECT, "minProperties": 4}, r"'minProperties' \(4\) at #/properties/x"),
        ({**OBJECT, "maxProperties": 2}, r"'maxProperties' \(2\) at #/properties/x"),
        ({"allOf": [OBJECT], "unevaluatedProperties": False}, "'unevaluatedProperties' .*at #/properties/x"),
        ({"type": "integer", "multipleOf": 3}, r"'multipleOf' \(3\) at #/properties/x"),
        ({"type": "number", "multipleOf": 0.1}, r"'multipleOf' \(0.1\) at #/properties/x"),
        ({"type": "string", "format": "iri"}, "'format' .*at #/properties/x.*date-time"),
        ({"type": "integer", "format": "int32"}, "'format' .*at #/properties/x"),
        ({"type": "string", "format": "date", "pattern": "1$"}, "'format' .*at #/properties/x together with '1\\$'"),
        ({"multipleOf": 3}, "'multipleOf' .*other than a power of ten, without bounds that leave at most 1000"),
        ({"multipleOf": 0.01}, "'multipleOf' .*that is no integer"),
        ({"type": "object", "patternProperties": {"a": {}, "b": {}}}, "'patternProperties' .*of several patterns"),
        ({"type": "object", "minProperties": 2}, "'minProperties' .*of names that are not given and might be the same"),
        ({"type": "string", "pattern": "a", "allOf": [{"pattern": "b"}]}, "'pattern' .*together with 'b'"),
        ({"type": "integer", "minimum": 10**300}, "at #/properties/x leave only numbers beyond 1e40"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "'oneOf' .*at #/properties/x whose branches 0 and 1"),
        ({"oneOf": [{"const": 1}, {"enum": [2, 1.0]}]}, "'oneOf' .*branches 0 and 1"),
        ({"oneOf": [{"const": "a"}, {"type": "string", "minLength": 1}]}, "'oneOf' .*branches 0 and 1"),
        ({"allOf": [{"oneOf": [{"type": "string"}, {"enum": ["a", 1]}]}]}, "'oneOf' .*branches 0 and 1"),
        ({"oneOf": [{"type": "null"}, *kinds("a", "b", "a")]}, "'oneOf' .*branches 0 and 1"),
        ({"type": "object", "oneOf": kinds("a", "b", "a")}, "'oneOf' .*branches 0 and 2"),
        ({"oneOf": kinds("a", "b")}, "'oneOf' .*branches 0 and 1"),
        ({"$ref": "https://example.org/x"}, r"'\$ref' \(\"https://example.org/x\"\) at #/properties/x other than"),
        ({"$ref": "#name"}, r"'\$ref' .*at #/properties/x other than"),
        ({"$ref": "#/$defs/none"}, r"#/properties/x/\$ref is '#/\$defs/none', which does not exist"),
        ({"$ref": "#/properties/x"}, r"'\$ref' .*in a cycle, #/properties/x -> #/properties/x"),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/properties/x"}]}, r"'\$ref' .*in a cycle, #/properties/x -> .*/1 ->"),
        ({"$id": "https://example.org/x", "type": "null"}, r"'\$id' .*at #/properties/x elsewhere than at the root"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, r"'\$schema' .*at #/properties/x|.*at #/properties/x"),
        ({"typ": "null"}, "#/properties/x: unknown keyword 'typ'; did you mean 'type'"),
        ({"maxlength": 3}, "#/properties/x: unknown keyword 'maxlength'; did you mean 'maxLength'"),
        ({"type": "nul"}, "invalid at #/properties/x/type: 'nul' is not valid"),
        ({"minLength": "x"}, "invalid at #/properties/x/minLength"),
        (
            {"type": "array", "items": [{"type": "null"}]},
            "invalid at #/properties/x/items: a list.*allowed: prefixItems",
        ),
        ({"const": "\ud800"}, r"\\ud800.* at #/properties/x/const has half a surrogate pair"),
        ({"properties": {"\udc00": {}}}, "half a surrogate pair"),
        ({"enum": ["a"], "pattern": "("}, "at #/properties/x cannot be applied to its values"),
        ({"patternProperties": {"(": {}}, "properties": {"a": {}}}, "the pattern '\\(' at .* cannot be read"),
    ],
)
def test_unsupported_keywords_are_refused_by_name(schema: Any, message: str):
    with pytest.raises(RequestError, match=message):
        regex_of_schema({"type": "object", "properties": {"x": schema}})


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(?=b)", "a lookahead or lookbehind"),
        ("(?<=a)b", "a lookahead or lookbehind"),
        ("a(?!b)", "a negative lookahead or lookbehind"),
        ("(?<!a)b", "a negative lookahead or lookbehind"),
        (r"(a)\1", "a backreference"),
        ("(?P<x>a)(?P=x)", "a backreference"),
        ("(a)?(?(1)b|c)", "a conditional group"),
        (r"\bab", "a word boundary"),
        (r"a\B", "a word boundary"),
        ("a^b", r"\^ or \$ inside it"),
        ("a$b", r"\^ or \$ inside it"),
        ("(^a)?b", r"\^ or \$ inside it"),
        ("(a$|b)*", r"\^ or \$ inside it"),
        ("a(^b|c)d", r"\^ or \$ inside it"),
        ("(?i)a", "flags"),
        ("(?i:a)", "flags"),
        ("(?s:.)", "flags"),
        ("(?m)^a", "flags"),
        ("(?>a)b", "an atomic group"),
        ("a++b", "a possessive quantifier"),
        (r"\p{L}", "cannot be read: bad escape"),
        ("(", "cannot be read"),
    ],
)
def test_refused_patterns(pattern: str, message: str):
    with pytest.raises(RequestError, match=message) as caught:
        regex_of_schema({"type": "array", "items": {"type": "string", "pattern": pattern}})
    assert repr(pattern) in str(caught.value)
    assert "#/items/pattern" in str(caught.value)


@pytest.mark.parametrize("lengths", [{"minLength": 3}, {"maxLength": 8}])
def test_refused_patterns_with_lengths(lengths: dict[str, int]):
    with pytest.raises(RequestError, match=r"'pattern' .*at #/pattern.* 2 to any number of characters"):
        regex_of_schema({"type": "string", "pattern": "^(a+b?)+[^c]$", **lengths})


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (False, "#: it is false"),
        ({"allOf": [{}, False]}, "#/allOf/1: it is false"),
        ({"anyOf": [False, {"minimum": 1, "maximum": 0}]}, "#/anyOf/0: it is false"),
        ({"enum": [1, 2], "type": "string"}, "#/enum: no listed value"),
        ({"const": 1, "minimum": 2}, "#/const: no listed value"),
        ({"allOf": [{"const": 1}, {"const": 2}]}, "#/allOf/0/const: no listed value"),
        ({"enum": []}, "#/enum: no listed value"),
        # Draft 7, which knows no prefixItems, would allow it.
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "enum": [[1]], "prefixItems": [{"type": "null"}]},
            "#/enum",
        ),
        ({"type": []}, "#"),
        ({"type": "string", "allOf": [{"type": "integer"}]}, "#: no type satisfies #/type and #/allOf/0/type"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "#: no integer has maximum 2 and minimum 3"),
        ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4}, "#: no integer"),
        ({"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 10}, "#: no integer"),
        ({"type": "integer", "minimum": 1, "maximum": 6, "multipleOf": 7}, "#: no integer has maximum 6 and minimum 1"),
        ({"type": "number", "exclusiveMinimum": 3, "maximum": 3}, "#: no number"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "#: minLength 3 is above maxLength 2"),
        ({"type": "string", "pattern": "^a$", "minLength": 2}, "#: no string of 2"),
        ({"type": "string", "pattern": r"[^\s\S]"}, "#: no string"),
        ({"type": "string", "pattern": "\\ud800"}, "#: no string"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "#: minItems 3 is above maxItems 2"),
        ({"type": "array", "items": False, "minItems": 1}, "#: it has 1 items or more.*#/items"),
        ({"type": "array", "prefixItems": [{}, False], "minItems": 2}, "#: it has 2 items or more.*#/prefixItems/1"),
        ({"type": "object", "required": ["a"], **CLOSED}, "#: it requires 'a'.*#/additionalProperties"),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"const": 1, "type": "null"}}},
            "#: it requires 'a'",
        ),
        ({**OBJECT, **CLOSED, "minProperties": 4}, "#: it has 4 properties or more"),
        ({**OBJECT, "required": ["a", "b"], "maxProperties": 1}, "#: it requires 2 properties"),
        ({"type": "object", "minProperties": 3, "maxProperties": 2}, "#: minProperties 3 is above maxProperties 2"),
        ({"items": {"$ref": "#/$defs/a"}, "minItems": 1, "$defs": {"a": False}}, r"#/\$defs/a: it is false"),
    ],
)
def test_unsatisfiable_schemas_are_refused(schema: Any, place: str):
    with pytest.raises(RequestError, match=f"(nothing satisfies|invalid).* at {place}"):
        regex_of_schema(schema)


@pytest.mark.parametrize("schema", [{"const": math.nan}, {"const": {1, 2}}, {"maximum": math.inf}])
def test_schemas_are_json(schema: Any):
    with pytest.raises(RequestError, match="not JSON"):
        regex_of_schema(schema)


def test_schemas_are_objects_or_truth_values():
    with pytest.raises(RequestError, match="got list"):
        regex_of_schema([])  # type: ignore[arg-type]


def test_schemas_that_unfold_too_far_are_refused():
    doubled = {f"a{i}": {"prefixItems": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(40)}
    with pytest.raises(RequestError, match=r"unfolds to more than|is longer than"):
        regex_of_schema({"$ref": "#/$defs/a0", "$defs": {**doubled, "a40": {"type": "null"}}})
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"items": deep}
    with pytest.raises(RequestError, match=r"deep|not JSON"):
        regex_of_schema(deep)


def test_schema_is_not_changed():
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "null"}
    given = json.dumps(schema)
    regex_of_schema(schema)
    assert json.dumps(schema) == given


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(RequestError, match=r"pip install 'sfumato\[schema\]'"):
        regex_of_schema({})


def test_first_attempts_are_counted_and_not_timed():
    part = Budget().part(100, 3)
    for _ in range(3):
        part.check(1)
    with pytest.raises(RequestError, match="takes more than 3 checks"):
        part.check(1)


def test_any_order_attempt_shares_the_budget():
    schema = {"type": "object", "properties": {f"name {i}": {"type": "string", "maxLength": 40} for i in range(8)}}
    assert language_of_schema(schema).accepts("{}")
    with pytest.raises(RequestError, match="takes more than 0 s"):
        language_of_schema(schema, Budget(max_seconds=0.0))


def test_states_are_numbered_alike_in_every_process():
    """Whatever the order of sets of strings, which differs between processes."""
    program = (
        "from sfumato.constraints.json_schema import language_of_schema\n"
        "schema = {'properties': {name: {'type': 'integer'} for name in ('one', 'two', 'three')}}\n"
        "print(language_of_schema({'type': 'object', **schema}).next_SB.tolist())"
    )
    tables = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in "123"
    }
    assert len(tables) == 1


def test_other_keywords_are_annotations():
    plain: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]}
    noted = {
        **plain,
        "properties": {"x": {"type": "boolean", "x-order": 1, "nullable": True, "markdownDescription": "b"}},
    }
    assert regex_of_schema(noted) == regex_of_schema(plain)


def test_texts_in_base64():
    regex = re.compile(regex_of_schema({"type": "string", "format": "byte"}))
    for text in ("", "Zg==", "Zm8=", "Zm9v", "Zm9vYmFy"):
        assert regex.fullmatch(f'"{text}"'), text
    for text in ("Zg", "Zg=", "Zg===", "Z===", "Zm9v!", "Zm9vY"):
        assert not regex.fullmatch(f'"{text}"'), text


def test_nested_arrays_of_one_item_grow_no_faster_than_their_depth():
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(16):
        schema = {"type": "array", "items": schema, "minItems": 1, "maxItems": 1}
    assert regex_of_schema(schema) == r"\[" * 16 + "null" + r"\]" * 16
