"""Kinds of prompts: recognised by what they look like, refused with an example of each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sfumato.data.kinds import FIELD, PromptKind, check_instruction, check_kind, examples, read_kinds, with_kinds
from sfumato.data.tasks import TASKS, kinds_of
from sfumato.errors import ConfigError, RequestError

NUM_ITEMS = {"sudoku9": 20}
# Tasks whose prompts look like another's: the held-out parts of a task, and other subjects.
HELD_OUT = ("wordings", "domains", "combinations")
SAME_KIND = (
    {"pets": "json"}
    | {f"{task}_{part}": task for task in ("ui_screen", "ui_edit") for part in (*HELD_OUT, "written", "examples")}
    | dict.fromkeys(("ui_edit_several", "ui_edit_filtered", "ui_edit_missing"), "ui_edit")
)
PAIR = [
    PromptKind(name="sum", description="Adds.", example="1+2", pattern=r"\d+\+\d+"),
    PromptKind(name="fix", description="Mends.", example="fix:\nit's\\n", pattern=r"fix:\n.+", instruction="fix:"),
]


@pytest.mark.parametrize("name", TASKS)
def test_kinds_match_their_prompts(name: str):
    task = TASKS[name]
    assert task.kind.name == SAME_KIND.get(name, name)
    prompts = [task.generate(seed).prompt for seed in range(NUM_ITEMS.get(name, 100))]
    assert all(task.kind.matches(prompt) for prompt in prompts)
    for other in ("hello", "", "tell me a story", f"please {prompts[0]}"):
        assert not task.kind.matches(other)
    if task.kind.instruction:
        assert all(prompt.startswith(f"{task.kind.instruction}\n") for prompt in prompts)


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("arithmetic", "answer, then derive: 12+5"),
        ("arithmetic", "answer, then derive: 7*6"),
        ("arithmetic", "answer, then derive: sqrt(12345)+7*6"),
        ("arithmetic", "derive, then answer: 7*6+3^2"),
        ("plain", "12+101"),
        ("plain", "1+2+3"),
        ("plain", "12"),
        ("plain", "answer, then derive: 1+1+1+1"),
        ("sudoku4", "sudoku:\n12..\n..12\n2.4.\n.3.5"),
        ("sudoku4", TASKS["sudoku9"].kind.example),
        ("middle", "middle:\nTom has 3 pears."),
        ("bugfix", "make it faster:\ndef f(): pass"),
        ("pi", "first 200 digits of pi"),
    ],
)
def test_other_prompts_do_not_match(name: str, prompt: str):
    assert not TASKS[name].kind.matches(prompt)


@pytest.mark.parametrize("prompt", ["12+5", "12 + 5 =", "7*6", "What is 7*6?", "answer, then derive: 2+3*4"])
def test_common_first_prompts_are_plain(prompt: str):
    assert TASKS["plain"].kind.matches(prompt)


def test_kinds_survive_the_file():
    kinds = kinds_of(TASKS)
    written = json.dumps(with_kinds({"steps": 4, FIELD: ["other"]}, kinds))
    assert read_kinds(json.loads(written)) == tuple(kinds)
    assert len({kind.name for kind in kinds}) == len(kinds) == len(TASKS) - len(SAME_KIND)
    assert json.loads(written)["steps"] == 4
    assert read_kinds({}) == ()
    assert with_kinds({FIELD: ["other"], "steps": 4}, []) == {"steps": 4}


def test_task_without_kind_allows_any_prompt(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(TASKS["json"], "kind", None)
    assert kinds_of(["pi", "json"]) == []
    assert [kind.name for kind in kinds_of(["pi"])] == ["pi"]


@pytest.mark.parametrize("prompt", ["4+5", "fix:\nthis", [{"role": "user", "content": "4+5"}], [1, 2], (3,)])
def test_known_kinds_and_token_ids_pass(prompt: Any):
    check_kind(prompt, PAIR, "small")


@pytest.mark.parametrize("prompt", ["hello", "fix:", [{"role": "user", "content": "4+5"}, {"content": "hello"}]])
def test_another_prompt_is_refused_with_an_example_of_each_kind(prompt: Any):
    check_kind(prompt, [], "small")
    with pytest.raises(RequestError) as caught:
        check_kind(prompt, PAIR, "small")
    message = str(caught.value)
    assert message.startswith("small was not trained on prompts like ")
    assert "\n  sum: 1+2\n" in message
    assert "check_prompt=False" in message


def test_examples_are_shell_quoted():
    assert examples(PAIR) == "  sum: 1+2\n  fix: $'fix:\\nit\\'s\\\\n'"


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ({"name": "sum"}, "prompt_kinds is .*; allowed: a list of objects"),
        (["sum"], "prompt_kinds is .*; allowed: a list of objects"),
        ([{"name": 3}], "prompt_kinds is .*; allowed: a list of objects"),
        ([{"name": "sum"}], "missing 3 required keyword-only arguments"),
        ([PAIR[0].to_dict() | {"colour": "red"}], "unexpected keyword argument 'colour'"),
        ([PAIR[0].to_dict() | {"pattern": "("}], r"pattern of prompt kind 'sum' is '\('"),
        ([PAIR[0].to_dict() | {"example": "one"}], "example of prompt kind 'sum' does not match"),
    ],
)
def test_invalid_lists_of_kinds(listed: Any, message: str):
    with pytest.raises(ConfigError, match=message):
        read_kinds({FIELD: listed})


def test_known_instructions():
    assert [check_instruction(given, PAIR, "small") for given in ("fix:", "Fix", " fix. ")] == ["fix:"] * 3
    assert check_instruction("anything", [], "small") == "anything"
    with pytest.raises(RequestError, match="small was not trained on the instruction 'faster'; allowed: 'fix:'"):
        check_instruction("faster", PAIR, "small")
    with pytest.raises(RequestError, match="allowed: none, leave it out"):
        check_instruction("fix:", PAIR[:1], "small")
