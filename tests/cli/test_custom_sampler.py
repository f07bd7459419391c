"""A sampler that is written outside of the package goes through the command line, the engine and the plain loop."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plain
import sfumato as library

SOURCE = '''
from dataclasses import dataclass

import torch

from sfumato import RequestError, Sampler, Turn


@dataclass(frozen=True, kw_only=True)
class LeftToRight(Sampler):
    """Accept so many candidates a step, the leftmost first."""

    name = "left-to-right"
    stride: int = 2

    def __post_init__(self):
        if self.stride < 1:
            raise RequestError(f"stride is {self.stride}; allowed: 1 or more")

    def accept(self, turn: Turn) -> torch.Tensor:
        decided_R = self.stride * (turn.step_R + 1)
        return turn.candidates_RL & (turn.candidates_RL.cumsum(-1) <= decided_R.unsqueeze(-1))


@dataclass(frozen=True, kw_only=True)
class Nameless(Sampler):
    def accept(self, turn: Turn) -> torch.Tensor:
        u_RL = turn.draw()
        return turn.candidates_RL & (u_RL <= u_RL.amax(-1, keepdim=True))


@dataclass(frozen=True, kw_only=True)
class Mistaken(Sampler):
    def accept(self, turn: Turn) -> torch.Tensor:
        return turn.candidate_RL


not_a_sampler = 3
'''
PROMPT = "answer, then derive: 7*6+3^2"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "outside.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "outside", raising=False)
    return "outside:LeftToRight"


def test_custom_sampler_runs_everywhere(sfumato: Callable[..., Any], checkpoint: Path, module: str) -> None:
    arguments = (PROMPT, "--model", checkpoint, "--seed", 3, "--canvas", 8, "--json")
    done = sfumato("run", *arguments, "--sampler", module, "--set", "stride=3")
    assert done.exit_code == 0, done.stderr
    model = library.load(checkpoint)
    request = model.request(PROMPT, sampler=module, seed=3, canvas_length=8, stride=3)
    assert request.sampler.sampler.name == "left-to-right"
    expected = model.generate(PROMPT, sampler=module, seed=3, canvas_length=8, stride=3)
    assert json.loads(done.stdout)["text"] == expected.text
    tokens, _, _ = plain.answer(model.bundle, request)
    assert model.tokenizer.decode(tokens) == json.loads(done.stdout)["text"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("outside:Missing", "sampler 'outside:Missing' cannot be imported"),
        ("nowhere_at_all:X", "sampler 'nowhere_at_all:X' cannot be imported"),
        ("outside:not_a_sampler", "sampler 'outside:not_a_sampler' is not a subclass of Sampler"),
        ("entropi", "unknown sampler 'entropi'; did you mean 'entropy'"),
    ],
)
def test_invalid_samplers_are_refused(
    sfumato: Callable[..., Any], checkpoint: Path, module: str, name: str, message: str
) -> None:
    done = sfumato("run", PROMPT, "--model", checkpoint, "--sampler", name)
    assert done.exit_code != 0
    assert message in " ".join(done.stderr.split())


def test_custom_sampler_checks_its_settings(sfumato: Callable[..., Any], checkpoint: Path, module: str) -> None:
    done = sfumato("run", PROMPT, "--model", checkpoint, "--sampler", module, "--set", "stride=0")
    assert "stride is 0; allowed: 1 or more" in done.stderr


TASK = """
from sfumato.data.tasks import Item, Task


class Doubled(Task):
    name = "doubled"

    def generate(self, seed):
        return Item(prompt=f"double: {seed % 1000}", response=str(seed % 1000 * 2))

    def check(self, item, response):
        return response.strip().isdecimal()


class Unchecked(Task):
    name = "unchecked"
    generate = Doubled.generate


class Nameless(Doubled):
    name = None


class Untyped(Doubled):
    def generate(self, seed):
        return {"prompt": "a"}


class Failing(Doubled):
    def check(self, item, response):
        return {}["amount"]


not_a_task = 3
"""


def test_a_task_beside_the_caller_is_scored(
    sfumato: Callable[..., Any], checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_tasks.py").write_text(TASK)
    (tmp_path / "broken.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])
    done = sfumato("eval", checkpoint, "--task", "own_tasks:Doubled", "--n", 3, "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["task"] == "own_tasks:Doubled"
    for name, message in (
        ("own_tasks:Missing", "task 'own_tasks:Missing' cannot be imported"),
        ("broken:Task", "task 'broken:Task' cannot be imported: SyntaxError: "),
        ("own_tasks:not_a_task", "task 'own_tasks:not_a_task' is not a subclass of Task"),
        ("own_tasks:Unchecked", "task 'own_tasks:Unchecked' has no check; allowed: a class that defines check"),
        ("own_tasks:Nameless", "task 'own_tasks:Nameless' has no name; allowed: a class with a text as its `name`"),
        ("own_tasks:Untyped", "task 'doubled' generates {'prompt': 'a'}; allowed: an Item"),
        ("own_tasks:Failing", "the check of task 'doubled' failed on the answer"),
    ):
        assert message in " ".join(sfumato("eval", checkpoint, "--task", name, "--n", 2).stderr.split())


def test_a_sampler_beside_the_caller_is_found(
    sfumato: Callable[..., Any], checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed program has no working directory on its path."""
    (tmp_path / "beside.py").write_text(SOURCE.replace("left-to-right", "beside"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])
    done = sfumato("run", PROMPT, "--model", checkpoint, "--canvas", 8, "--sampler", "beside:LeftToRight")
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        ("turn.count_R", "torch.int64 of shape (1,)"),
        ("turn.statistics.entropy_RL", "torch.float32"),
        ("None", "NoneType"),
    ],
)
def test_what_accept_returns_is_checked(
    sfumato: Callable[..., Any], checkpoint: Path, module: str, returned: str, named: str, tmp_path: Path
) -> None:
    name = f"wrong_{named[:5].lower().replace('.', '_')}{len(returned)}"
    (tmp_path / f"{name}.py").write_text(
        "from dataclasses import dataclass\nfrom sfumato import Sampler\n\n\n@dataclass(frozen=True, kw_only=True)\n"
        f"class Wrong(Sampler):\n    name = 'wrong'\n\n    def accept(self, turn):\n        return {returned}\n"
    )
    done = sfumato("run", PROMPT, "--model", checkpoint, "--sampler", f"{name}:Wrong", "--canvas", "8")
    assert done.exit_code == 1
    told = " ".join(done.stderr.split())
    assert f"accept of sampler 'wrong' returns {named}" in told
    assert "allowed: torch.bool of shape (1, 8)" in told


def test_a_mistake_in_a_sampler_is_logged_with_its_line(module: str, caplog: pytest.LogCaptureFixture) -> None:
    result = library.load("tiny").generate(PROMPT, sampler="outside:Mistaken", steps=3)
    assert result.finish_reason == "error"
    assert "'Turn' object has no attribute 'candidate_RL'" in result.error
    assert "return turn.candidate_RL" in caplog.text


def test_a_sampler_without_a_name_has_that_of_its_class(module: str) -> None:
    result = library.load("tiny").generate(PROMPT, sampler="outside:Nameless", steps=3, trace=True)
    assert result.text
    assert sys.modules["outside"].Nameless.name == "Nameless"
