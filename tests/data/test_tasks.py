"""Splits, streams and the list of tasks."""

import sys
from math import sqrt
from random import Random

import pytest

from sfumato.data.tasks import TASKS, TEST_SHARE, Item, Task, draw, find_task, items, problem_key, split_of
from sfumato.errors import ConfigError

OPEN_TASKS = [name for name, task in TASKS.items() if not task.fixed]


class Finite(Task):
    """A task with as many items as it is given."""

    name = "finite"

    def __init__(self, num_items: int) -> None:
        self.num_items = num_items

    def generate(self, seed: int) -> Item:
        return Item(prompt=f"finite: {seed % self.num_items}", response="")

    def check(self, item: Item, response: str) -> bool:
        return response == item.response


@pytest.mark.parametrize("name", TASKS)
def test_gold_passes_and_other_texts_do_not(name):
    task = TASKS[name]
    for seed in range(50):
        item = task.generate(seed)
        assert task.check(item, item.response)
        assert not task.check(item, "")
        assert not task.check(item, item.prompt)
        assert task.answer(item.response) == item.answer


# All items of ui_edit_missing have the same answer.
@pytest.mark.parametrize("name", [name for name in OPEN_TASKS if name != "ui_edit_missing"])
def test_gold_of_another_item_fails(name):
    task = TASKS[name]
    first = task.generate(1)
    others = (task.generate(seed) for seed in range(2, 12))
    assert any(not task.check(first, other.response) for other in others)


@pytest.mark.parametrize("name", TASKS)
def test_seed_determines_item(name):
    task = TASKS[name]
    assert [task.generate(seed) for seed in range(8)] == [task.generate(seed) for seed in range(8)]
    assert draw(task, "test", 3) == draw(task, "test", 3)


@pytest.mark.parametrize("name", OPEN_TASKS)
def test_share_of_the_test_split(name):
    task = TASKS[name]
    prompts = [task.generate(seed).prompt for seed in range(200)]
    keys = {problem_key(prompt): prompt for prompt in prompts}
    share = sum(split_of(prompt) == "test" for prompt in keys.values()) / len(keys)
    # Five standard deviations of a binomial share: a sound hash leaves them once in two million runs.
    assert abs(share - TEST_SHARE) < 5 * sqrt(TEST_SHARE * (1 - TEST_SHARE) / len(keys))


def test_expression_is_in_one_split_in_any_form():
    first, last = TASKS["arithmetic"], TASKS["arithmetic_last"]
    splits = set()
    for seed in range(300):
        asked_first, asked_last = first.generate(seed), last.generate(seed)
        assert asked_first.meta["expression"] == asked_last.meta["expression"]
        assert split_of(asked_first.prompt) == split_of(asked_last.prompt)
        splits.add(split_of(asked_first.prompt))
    assert splits == {"train", "test"}


@pytest.mark.parametrize("expression", ["12+5", "(3-10)*4", "7*6"])
def test_expression_is_one_problem_in_any_wording(expression):
    spaced = "".join(f" {c} " if c in "+-*/" else c for c in expression)
    wordings = ("{}", "{}=", "{} =", "What is {}?", "answer, then derive: {}", "derive, then answer: {}")
    asked = [wording.format(one) for wording in wordings for one in (expression, spaced)]
    assert {problem_key(prompt) for prompt in asked} == {expression}


def test_one_countdown_is_in_one_split_in_any_order():
    random = Random(0)
    for seed in range(300):
        item = TASKS["countdown"].generate(seed)
        numbers = list(item.meta["numbers"])
        random.shuffle(numbers)
        other = f"countdown: {' '.join(map(str, numbers))} = {item.meta['target']}"
        assert split_of(other) == split_of(item.prompt)


def test_fixed_tasks_have_one_item_in_both_splits():
    for name in ("pi", "fizzbuzz"):
        task = TASKS[name]
        assert task.fixed
        assert draw(task, "train", 1) == draw(task, "test", 2)
        assert len(items(task, "test", 0, 5)) == 1
        assert items(task, "test", 0, 0) == []


def test_items_of_different_seeds_differ():
    task = TASKS["arithmetic"]
    assert items(task, "train", 0, 20) == items(task, "train", 0, 20)
    assert items(task, "train", 0, 20) != items(task, "train", 1, 20)
    assert items(task, "train", 0, 20)[:5] == items(task, "train", 0, 5)


def test_too_few_items_is_an_error():
    task = Finite(40)
    num_train = sum(split_of(f"finite: {i}") == "train" for i in range(40))
    assert len(items(task, "train", 0, num_train)) == num_train
    with pytest.raises(ConfigError, match=f"'finite' has about {num_train} distinct items"):
        items(task, "train", 0, num_train + 1)


def test_empty_split_is_an_error():
    number = next(i for i in range(100) if split_of(f"finite: {i}") == "train")
    task = Finite(1)
    task.generate = lambda seed: Item(prompt=f"finite: {number}", response="")
    with pytest.raises(ConfigError, match="gave no item of split 'test'"):
        draw(task, "test", 0)


def test_arguments_out_of_range():
    with pytest.raises(ConfigError, match="unknown split 'tset'; did you mean 'test'"):
        draw(TASKS["pi"], "tset", 0)
    with pytest.raises(ConfigError, match="count is -1"):
        items(TASKS["pi"], "test", 0, -1)


def test_find_task():
    assert find_task("sudoku4") is TASKS["sudoku4"]
    with pytest.raises(ConfigError, match="unknown task 'arithmetik'; did you mean 'arithmetic'"):
        find_task("arithmetik")


def test_gym_task():
    pytest.importorskip("reasoning_gym")
    task = find_task("gym:basic_arithmetic")
    item = draw(task, "test", 0)
    assert item == Item(**{**vars(draw(task, "test", 0)), "meta": item.meta})
    assert task.name == "gym:basic_arithmetic"
    assert task.check(item, item.response)
    assert task.answer(f" {item.response}\n") == item.answer
    assert not task.check(item, f"{int(item.response) + 1}")
    assert 0 < task.score(item, f"It is {item.response}.") < 1
    assert not task.check(item, f"It is {item.response}.")
    # By which a report knows whether an answer was judged as now.
    assert repr(item) == repr(draw(find_task("gym:basic_arithmetic"), "test", 0))


def test_unparsable_gym_response_is_wrong():
    pytest.importorskip("reasoning_gym")
    task = find_task("gym:prime_factorization")
    assert not task.check(task.generate(0), "not a factorization")


def test_gym_name_or_package_unknown(monkeypatch):
    pytest.importorskip("reasoning_gym")
    with pytest.raises(ConfigError, match="did you mean 'basic_arithmetic'"):
        find_task("gym:basic_arithmetik")
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(ConfigError, match="needs reasoning-gym"):
        find_task("gym:basic_arithmetic")
