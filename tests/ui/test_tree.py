"""The tree of an interface and its text."""

from __future__ import annotations

import json

import jsonschema
import pytest

from sfumato.data.tasks import TASKS
from sfumato.errors import RequestError
from sfumato.ui import Component, parse, to_text
from sfumato.ui.tree import MAX_SLOTS, kinds, schema, slot_ids

PAGE = """\
a page dark: Moving house
 b header red large center: Moving house
 c list numbered
  d checkbox on: Pack the books: all
  e item: Milk
 g table: Name | Price
  h record marked: Milk | 2
 j row
  k card: Box
   l select: Room | Kitchen | Attic
 m progress 40 blue: Done
 zz divider"""


def test_text_round_trip():
    page = parse(PAGE)
    assert to_text(page) == PAGE
    assert [component.id for component in page.walk()] == ["a", "b", "c", "d", "e", "g", "h", "j", "k", "l", "m", "zz"]
    assert page.children[1].children[0].text == "Pack the books: all"
    assert page.children[3].children[0].children[0].cells == ("Kitchen", "Attic")
    bare = to_text(page, ids=False)
    assert to_text(parse(bare), ids=False) == bare
    assert [component.id for component in parse(bare).walk()] == list("abcdefghijkl")


@pytest.mark.parametrize("name", ["ui_screen", "ui_edit"])
def test_random_trees_round_trip_and_match_the_schema(name: str):
    validator = jsonschema.Draft202012Validator(schema())
    for seed in range(100):
        item = TASKS[name].generate(seed)
        text = item.response if name == "ui_screen" else item.prompt.rpartition("\n> ")[0]
        if text.startswith("refuse"):
            continue
        page = parse(text)
        assert to_text(page, ids=name == "ui_edit") == text
        validator.validate(page.to_dict())
        assert Component.from_dict(json.loads(json.dumps(page.to_dict()))) == page


def test_schema_and_parser_agree():
    validator = jsonschema.Draft202012Validator(schema())
    given = parse(PAGE).to_dict()
    validator.validate(given)
    header = {"component": "header", "id": "b", "text": "Hi"}
    for wrong in (
        header | {"color": "mauve"},
        header | {"size": True},
        header | {"hidden": "hidden"},
        header | {"text": ""},
        header | {"text": " Hi"},
        header | {"text": "x" * 33},
        header | {"text": "a|b"},
        header | {"text": "two\nlines"},
        header | {"value": 3},
        {"component": "progress", "id": "b", "text": "x", "value": 101},
        {"component": "progress", "id": "b", "text": "x", "value": "40"},
        {"component": "list", "id": "b", "children": [header]},
        {"component": "record", "id": "b", "cells": ["x"]},
        {"component": "table", "id": "b", "cells": []},
        {"component": "table", "id": "b", "cells": list("abcdef")},
        {"component": "window", "id": "b"},
    ):
        page = {"component": "page", "id": "a", "children": [wrong]}
        assert not validator.is_valid(page), wrong
        with pytest.raises(RequestError):
            Component.from_dict(page)


def test_no_two_properties_of_a_kind_share_a_word():
    for name, definition in schema()["$defs"].items():
        if name not in kinds():
            continue
        num_words = 0
        for key, value in definition["properties"].items():
            value = schema()["$defs"]["color"] if key == "color" else value
            num_words += len(value.get("enum", [])) + (value.get("const") is True) + (value.get("type") == "integer")
        assert num_words == len(kinds()[name].words)
        assert len(name) >= 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a page\n b tabel: x", "line 2.*unknown component 'tabel'; did you mean 'table'"),
        ("a page\n b button", "line 2.*button b has no text; allowed: a text"),
        ("a page\n b button large red: Go", "allowed: one each"),
        ("a page\n b button red blue: Go", "allowed: one each"),
        (f"a page\n b progress {'9' * 5000}: Go", "progress b has '9"),
        ("a page\n b progress 101: Go", "progress b has '101'; allowed: 0 to 100, red"),
        ("a page\n b progress 007: Go", "has '007'"),
        ("a page\n  b text: x", "line 2.*it has 2 spaces before it; allowed: 1 to 1"),
        ("a page\nb text: x", "allowed: 1 to 1"),
        ("a page\n text: x", "ids on all of them or on none"),
        ("page\n a text: x", "ids on all of them or on none"),
        ("a page\n a text: x", "two slots have the id 'a'"),
        ("a page\n b text: x ", "spaces at the ends"),
        ("a page\n b text: x\r", "line ends"),
        ("a page\n b divider: x", "divider b has 1 cells; allowed: 0 to 0"),
        ("a page\n b list\n  c text: x", "list b holds text c; allowed: checkbox, item"),
        ("a page\n b table: A | B\n  c record: x", "record c has 1 cells; allowed: 2"),
        ("a text: x", "allowed: page"),
        ("", "it is not a component"),
    ],
)
def test_invalid_pages_are_refused_by_line(text: str, message: str):
    with pytest.raises(RequestError, match=message):
        parse(text)


def test_every_line_has_an_id():
    assert len(list(slot_ids())) == len(set(slot_ids())) == MAX_SLOTS
    assert len(list(parse("page" + "\n divider" * (MAX_SLOTS - 1)).walk())) == MAX_SLOTS
    with pytest.raises(RequestError, match="703 lines"):
        parse("page" + "\n divider" * MAX_SLOTS)
