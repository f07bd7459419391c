"""Recall, bug fixing, middles and records."""

import contextlib
import io
import json
import re
from collections import Counter
from itertools import product

import mpmath
import pytest

from sfumato.data.tasks import TASKS, Item

BUGFIX, MIDDLE, JSON = TASKS["bugfix"], TASKS["middle"], TASKS["json"]


def test_pi_item():
    item = TASKS["pi"].generate(0)
    assert item.prompt == "first 100 digits of pi"
    with mpmath.workdps(120):
        assert item.response == mpmath.nstr(mpmath.pi, 115)[:101]
    assert TASKS["pi"].check(item, item.response + "\n")
    assert not TASKS["pi"].check(item, item.response + "8")


def test_fizzbuzz_is_right():
    item = TASKS["fizzbuzz"].generate(0)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(item.response, {})
    expected = ["Fizz" * (i % 3 == 0) + "Buzz" * (i % 5 == 0) or str(i) for i in range(1, 101)]
    assert output.getvalue().split() == expected


NUMBERS = (-9, -2, 0, 1, 2, 3, 5, 8, 40, 100, 4, 6, 7, *range(9, 15))
LISTS = (
    [4],
    [7, 2],
    [3, 5, -1, 8],
    [1, 2, 3, 4, 5, 6],
    list(range(-3, 15)),
    [6, 6],
    list(range(14, -15, -1)),
    *([number] for number in range(15)),
)


def outcomes(code: str) -> list[str]:
    """What a function gives for many arguments; an exception is an outcome too."""
    names: dict = {}
    exec(compile(code, "<item>", "exec"), names)
    function = next(value for name, value in names.items() if name != "__builtins__")
    num_arguments = function.__code__.co_argcount
    calls = list(product(NUMBERS[:10] if num_arguments > 1 else NUMBERS, repeat=num_arguments))
    if num_arguments == 1:
        calls += [(values,) for values in LISTS]
    results = []
    for call in calls:
        try:
            results.append(repr(function(*call)))
        except (TypeError, ArithmeticError, LookupError) as error:
            results.append(type(error).__name__)
    return results


def test_every_bug_is_one_line_that_changes_what_the_function_does():
    families = set()
    for seed in range(600):
        item = BUGFIX.generate(seed)
        buggy = item.prompt.removeprefix("fix the bug:\n").split("\n")
        fixed = item.response.split("\n")
        assert len(buggy) == len(fixed)
        assert 2 <= len(fixed) <= 6
        different = [line for line in range(len(fixed)) if buggy[line] != fixed[line]]
        assert different == [item.meta["line"]]
        assert outcomes("\n".join(buggy)) != outcomes(item.response), item.prompt
        assert not BUGFIX.check(item, "\n".join(buggy))
        assert BUGFIX.check(item, item.response + "\n")
        families.add(item.meta["family"])
    assert len(families) >= 40


@pytest.mark.parametrize(
    ("intent", "arguments", "result"),
    [
        ("area", (3, 4), 12),
        ("mean", ([2, 4, 9],), 5),
        ("is_even", (4,), True),
        ("clamp", (9, 1, 5), 5),
        ("reverse", ([1, 2, 3],), [3, 2, 1]),
        ("to_celsius", (212,), 100),
        ("sum_to", (4,), 10),
        ("factorial", (5,), 120),
        ("smaller", (7, 2), 2),
        ("absolute", (-3,), 3),
        ("product", ([2, 3, 4],), 24),
        ("largest", ([3, 9, 4],), 9),
        ("all_but_last", ([1, 2, 3],), [1, 2]),
        ("keep_even", ([1, 2, 3, 4],), [2, 4]),
        ("discount", (200, 25), 150),
        ("add_5", (2,), 7),
        ("at_least_5", (5,), True),
        ("index_of_5", ([4, 5],), 1),
        ("count_over_5", ([4, 5, 6, 7],), 2),
    ],
)
def test_fixed_functions_do_what_their_names_say(intent: str, arguments: tuple, result: object):
    found = (BUGFIX.generate(seed) for seed in range(20000))
    item = next(item for item in found if f"def {intent}(" in item.response)
    names: dict = {}
    exec(item.response, names)
    assert names[intent](*arguments) == result


def test_one_gold_for_each_prompt():
    for task in (BUGFIX, MIDDLE, JSON, TASKS["field"]):
        golds: dict[str, str] = {}
        for seed in range(5000):
            item = task.generate(seed)
            assert golds.setdefault(item.prompt, item.response) == item.response
        assert len(golds) > 2000


def test_middles_follow_from_the_numbers():
    seen = set()
    for seed in range(500):
        item = MIDDLE.generate(seed)
        if item.meta["family"] in ("count", "trip", "purchase", "weather", "lift"):
            before, after = (int(number) for number in re.findall("[0-9]+", item.prompt))
            assert [int(number) for number in re.findall("[0-9]+", item.response)] == [abs(after - before)]
            wrong = re.sub("[0-9]+", str(abs(after - before) + 1), item.response)
            assert not MIDDLE.check(item, wrong)
        seen.add(item.meta["family"])
    assert len(seen) == 10


def test_middle_wordings():
    for seed in range(200):
        item = MIDDLE.generate(seed)
        assert item.response == item.meta["accepted"][0]
        assert len(set(item.meta["accepted"])) == len(item.meta["accepted"])
        assert all(MIDDLE.check(item, middle) for middle in item.meta["accepted"])
        assert MIDDLE.check(item, f" {item.response.upper().rstrip('.')}\n")
        assert not MIDDLE.check(item, item.prompt)


def test_middle_directions():
    found = [MIDDLE.generate(seed) for seed in range(3000)]
    gain = next(item for item in found if re.match("She gets [2-9] more apples", item.response))
    number = re.findall("[0-9]+", gain.response)[0]
    assert MIDDLE.check(gain, f"{gain.prompt.split()[1]} finds {number} apples.")
    assert not MIDDLE.check(gain, f"She gives away {number} apples.")
    assert not MIDDLE.check(gain, f"He gets {number} more apples.")
    state = next(item for item in found if item.response.endswith("opens the door."))
    assert not MIDDLE.check(state, state.response.replace("opens", "closes"))
    walk = next(item for item in found if "from the kitchen to the garden" in item.response)
    assert not MIDDLE.check(walk, "It goes from the garden to the kitchen.")
    single = next(item for item in found if " 1 " in item.response and item.meta["family"] == "weather")
    assert " 1 degree " in single.response + " "


PERSON = Item(
    prompt="json: Maria, 34, is a nurse from Oslo.",
    response='{"name": "Maria", "age": 34}',
    meta={"record": {"name": "Maria", "age": 34, "pets": {"cats": 1}, "smokes": False}},
)
GOOD = '{"name": "Maria", "age": 34, "pets": {"cats": 1}, "smokes": false}'


@pytest.mark.parametrize(
    ("response", "right"),
    [
        (GOOD, True),
        (' {"smokes":false,"pets":{"cats":1},"age":34,\n"name":"Mar\\u0069a"}\n', True),
        (GOOD.replace("34", '"34"'), False),
        (GOOD.replace("34", "34.0"), False),
        (GOOD.replace("false", "0"), False),
        (GOOD.replace("1", "true"), False),
        (GOOD.replace('"age": 34, ', ""), False),
        (GOOD[:-1] + ', "job": null}', False),
        (f"[{GOOD}]", False),
        (GOOD[:-1], False),
        (f"Here: {GOOD}", False),
        ("[" * 100_000, False),
        ("9" * 5000, False),
    ],
)
def test_json_check(response: str, right: bool):
    assert JSON.check(PERSON, response) is right


def leaves(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner)]
    return [value]


def test_new_pet_names_are_in_no_list():
    """So that what is learned is to copy a name, not to choose one."""
    counts = Counter(TASKS["pets"].generate(seed).meta["record"]["name"] for seed in range(500))
    assert sum(count == 1 for count in counts.values()) > 30


def test_field_is_in_the_sentences_record():
    records: dict[str, dict[str, object]] = {}
    for seed in range(6000):
        item = (JSON, TASKS["pets"])[seed % 2].generate(seed)
        records[item.prompt.removeprefix("json: ")] = item.meta["record"]
    met = 0
    for seed in range(3000):
        item = TASKS["field"].generate(seed)
        key, _, sentence = item.prompt.partition(": ")
        if sentence in records:
            value = records[sentence][key.replace(" ", "_")]
            assert item.response == (value if isinstance(value, str) else json.dumps(value))
            met += 1
    assert met > 100


def test_records_say_no_more_than_their_sentences():
    kinds = set()
    for seed in range(400):
        item = (TASKS["pets"] if seed % 4 == 3 else JSON).generate(seed)
        record = json.loads(item.response)
        assert "\n" not in item.response
        assert record == item.meta["record"]
        for leaf in leaves(record):
            if isinstance(leaf, bool):
                stated = re.search(r"in stock|Done|Finished|ticked off", item.prompt) is not None
                assert stated is leaf
            else:
                assert re.search(rf"(?<!\w){re.escape(str(leaf))}(?!\w)", item.prompt)
        kinds.add(item.meta["kind"])
    assert len(kinds) == 9
