"""Programs that change an interface."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sfumato.data.tasks import TASKS
from sfumato.errors import RequestError
from sfumato.ui import OPERATIONS, execute, parse, to_text
from sfumato.ui.tree import line_of

PAGE = parse(
    """\
a page: Shop
 b header: Shop
 c list
  d checkbox on: Milk
  e checkbox red: bread
  f checkbox on: Apples
 g table: Name | Price
  h record: Tea | 12
  i record: Rice | 9
 j row
  k button: Save
  l progress: Sales"""
)


def changed(program: str) -> dict[str, str | None]:
    """The lines that a program changes or makes, by id; None for those that are gone."""
    before = {component.id: line_of(component) for component in PAGE.walk()}
    after = {component.id: line_of(component) for component in execute(PAGE, program).walk()}
    return {slot: after.get(slot) for slot in before | after if before.get(slot) != after.get(slot)}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("set k red", {"k": "k button red: Save"}),
        ("set k large\nset k red", {"k": "k button red large: Save"}),
        ("set l 40", {"l": "l progress 40: Sales"}),
        ("set a dark", {"a": "a page dark: Shop"}),
        ("clear e color", {"e": "e checkbox: bread"}),
        ("set e blue", {"e": "e checkbox blue: bread"}),
        ("clear c* on", {"d": "d checkbox: Milk", "f": "f checkbox: Apples"}),
        ("set c-on on", {"e": "e checkbox on red: bread"}),
        ("set d,e marked", {"d": "d checkbox on marked: Milk", "e": "e checkbox red marked: bread"}),
        ("set c*2 marked", {"d": "d checkbox on marked: Milk", "e": "e checkbox red marked: bread"}),
        ("only c*-1", {"d": "d checkbox on hidden: Milk", "e": "e checkbox red hidden: bread"}),
        ("set e hidden\ndel c*2", {"d": None, "e": "e checkbox red hidden: bread", "f": None}),
        ("only c+on", {"e": "e checkbox red hidden: bread"}),
        ("only g[Price | 9]", {"h": "h record hidden: Tea | 12"}),
        ("only g[9]", {"h": "h record hidden: Tea | 12"}),
        ("del c+on", {"d": None, "f": None}),
        ("del c", dict.fromkeys("cdef")),
        ("del g[Name | Tea]", {"h": None}),
        ("text k: Save all", {"k": "k button: Save all"}),
        ("cell h Price | 3", {"h": "h record: Tea | 3"}),
        ("cell h 12 | 3", {"h": "h record: Tea | 3"}),
        ("add last c checkbox on: Eggs", {"m": "m checkbox on: Eggs"}),
        (
            "column g Left | -",
            {"g": "g table: Name | Price | Left", "h": "h record: Tea | 12 | -", "i": "i record: Rice | 9 | -"},
        ),
        ("drop g Name", {"g": "g table: Price", "h": "h record: 12", "i": "i record: 9"}),
        ("head g Price | Cost", {"g": "g table: Name | Cost"}),
        ("copy k", {"m": "m button: Save"}),
        ("refuse: a screen cannot do that", {}),
    ],
)
def test_operations(program: str, expected: dict[str, str | None]):
    assert changed(program) == expected


@pytest.mark.parametrize(
    ("program", "order"),
    [
        ("sort c up name", "fed"),
        ("sort c down name", "def"),
        ("sort c up on", "edf"),
        ("sort g up Price", "ih"),
        ("sort g down Name", "hi"),
        ("move f first c", "fde"),
        ("move d last c", "efd"),
        ("move d after e", "edf"),
        ("move f before e", "dfe"),
        ("swap d f", "fed"),
        ("add first c item: Eggs", "mdef"),
        ("add after d item: Eggs", "dmef"),
        ("copy e", "demf"),
        ("del e,d", "f"),
    ],
)
def test_sort_orders(program: str, order: str):
    page = execute(PAGE, program)
    holder = "g" if "g" in program.split() else "c"
    found = next(component for component in page.walk() if component.id == holder)
    assert "".join(child.id for child in found.children) == order


def test_copies_have_new_ids():
    page = execute(PAGE, "copy j")
    assert to_text(page).endswith("\n m row\n  n button: Save\n  o progress: Sales")
    assert PAGE.children[-1] is page.children[-2]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("", "unknown operation ''"),
        ("paint k red", "unknown operation 'paint'"),
        ("set k", "it is incomplete; allowed, for example: set d red"),
        ("set z red", "there is no slot 'z'; allowed: a, b, c"),
        ("set k on", "button k cannot be 'on'"),
        ("set l 101", "cannot be '101'"),
        ("set l 1\u0663", "cannot be '1\u0663'"),
        ("set l " + "9" * 5000, "does not fit: progress l cannot be '9"),
        ("clear k value", "button k has no 'value'"),
        ("set b+on red", "nothing in header b can be 'on'"),
        ("del c[9]", "list c has no records; allowed: a table"),
        ("set c*4 on", "list c shows no 4; allowed: up to 3"),
        ("set c*0 on", "it is incomplete"),
        ("text g: x", "allowed: no text"),
        ("text k: " + "x" * 33, "allowed: 1 to 32 characters"),
        ("cell h Cost | 3", "has no column 'Cost'; allowed: Name, Price"),
        ("cell d Price | 3", "has no column"),
        ("add last c button: x", "list c holds button m"),
        ("add last c q item: x", "allowed: none, it gets one"),
        ("add last g record: x", "record m has 1 cells; allowed: 2"),
        ("add before a text: x", "the page itself"),
        ("del a", "the page itself"),
        ("del d\nset d on", "'set d on' does not fit: there is no slot 'd'"),
        ("move c first c", "in c itself"),
        ("move k last c", "list c holds button k"),
        ("swap d k", "not in the same slot"),
        ("sort j up name", "allowed: a list or a table"),
        ("sort c up price", "allowed: name, on, marked"),
        ("drop g Cost", "no column"),
        ("drop g Name\ndrop g Price", "has 0 cells"),
        ("refuse: no", "unknown operation 'refuse:'"),
    ],
)
def test_invalid_program_is_refused_with_a_sentence(program: str, message: str):
    with pytest.raises(RequestError, match=message):
        execute(PAGE, program)


def test_other_slots_are_the_same_objects():
    page = execute(PAGE, "set d blue\ndel i")
    before = {component.id: component for component in PAGE.walk()}
    same = {component.id for component in page.walk() if component is before[component.id]}
    assert same == set("befhjkl")


def test_commands_change_only_named_slots():
    num_seen = 0
    for seed in range(300):
        item = TASKS["ui_edit"].generate(seed)
        lines = [re.fullmatch("(?:set|clear|text|cell) ([a-z,]+):? .+", line) for line in item.response.split("\n")]
        if not all(lines):
            continue
        page = parse(item.prompt.rpartition("\n> ")[0])
        before, after = page.walk(), execute(page, item.response).walk()
        changed = {one.id for one, other in zip(before, after, strict=True) if line_of(one) != line_of(other)}
        assert changed
        assert changed <= {slot for line in lines if line for slot in line[1].split(",")}
        num_seen += 1
    assert num_seen > 50


def test_every_operation_has_an_example_that_fits_its_form():
    for name, (form, _, example) in OPERATIONS.items():
        assert re.fullmatch(form, example.removeprefix(f"{name} "))


def test_the_front_end_is_tested_with_what_python_does():
    cases = json.loads(Path(__file__).parents[2].joinpath("web/tests/recorded_ui.json").read_text("utf-8"))
    for case in cases:
        try:
            found = {"result": to_text(execute(parse(case["page"]), case["program"]))}
        except RequestError as error:
            found = {"error": str(error)}
        assert case == {"page": case["page"], "program": case["program"], **found}
    assert len(cases) > 100
