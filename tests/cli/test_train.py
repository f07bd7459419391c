"""`sfumato train`: from a recipe to a working checkpoint, with and without an interrupt."""

from __future__ import annotations

import json
import shlex

import pytest
from benchmarks.__main__ import app as benchmarks
from typer.testing import CliRunner

from recipes import RECIPE
from sfumato.checkpoints.registry import ASSETS
from sfumato.training.trainer import Trainer


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(RECIPE)
    return path


def test_run_writes_checkpoint_and_one_line_of_numbers(sfumato, recipe, tmp_path):
    done = sfumato("train", recipe, "--dir", tmp_path / "run", "--set", "train.steps=3")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\n") == 1
    numbers = json.loads(done.stdout)
    last = json.loads((tmp_path / "run" / "log.jsonl").read_text().splitlines()[-1])
    assert list(numbers) == ["steps", "tokens", "seconds", "loss", "scores", "checkpoint"]
    assert (numbers["steps"], numbers["tokens"], numbers["loss"]) == (3, last["num_tokens"], last["loss"])
    assert "run: step 3/3 · loss" in done.stderr
    answer = sfumato("run", "7+8", "--any-prompt", "--model", numbers["checkpoint"], "--json")
    assert json.loads(answer.stdout)["usage"]["denoising_steps"] == 4


def test_the_directory_is_named_after_the_recipe(sfumato, recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = sfumato("train", recipe, "--set", "train.steps=1")
    assert json.loads(done.stdout)["checkpoint"] == "runs/small/checkpoint"


def test_a_state_is_not_overwritten(sfumato, recipe, tmp_path):
    arguments = ("train", recipe, "--dir", tmp_path / "run", "--set", "train.steps=1")
    assert sfumato(*arguments).exit_code == 0
    before = (tmp_path / "run" / "state.safetensors").read_bytes()
    done = sfumato(*arguments)
    assert done.exit_code == 2
    assert "--resume" in done.stderr
    assert (tmp_path / "run" / "state.safetensors").read_bytes() == before


def test_a_run_without_a_state_cannot_be_resumed(sfumato, recipe, tmp_path):
    done = sfumato("train", recipe, "--dir", tmp_path / "run", "--resume")
    assert done.exit_code == 2
    assert "no state to resume from" in done.stderr
    assert not (tmp_path / "run").exists()


def test_interrupted_run_resumes_to_the_same_result(sfumato, recipe, tmp_path, monkeypatch):
    arguments = ("train", recipe, "--set", "train.steps=4")
    whole = json.loads(sfumato(*arguments, "--dir", tmp_path / "whole").stdout)

    step = Trainer._step

    def interrupted(self):
        if self.progress.step == 2:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(Trainer, "_step", interrupted)
    done = sfumato(*arguments, "--dir", tmp_path / "cut")
    assert done.exit_code == 130
    assert done.stdout == ""
    assert "saved at step 2; to continue, run: sfumato train" in done.stderr
    assert not (tmp_path / "cut" / "checkpoint").exists()

    monkeypatch.undo()
    command = shlex.split(done.stderr.splitlines()[-1].partition("to continue, run: ")[2])
    assert command[0] == "sfumato"
    resumed = json.loads(sfumato(*command[1:]).stdout)
    assert resumed["loss"] == whole["loss"]
    assert resumed["tokens"] == whole["tokens"]


def test_a_finished_run_resumed_writes_its_checkpoint_again(sfumato, recipe, tmp_path):
    arguments = ("train", recipe, "--dir", tmp_path / "run", "--set", "train.steps=2")
    first = json.loads(sfumato(*arguments).stdout)
    (tmp_path / "run" / "checkpoint" / "config.json").unlink()
    assert json.loads(sfumato(*arguments, "--resume").stdout) == first
    assert (tmp_path / "run" / "checkpoint" / "config.json").exists()


def test_tasks_are_scored_during_training(sfumato, recipe, tmp_path):
    settings = ["train.steps=2", "train.eval_every=1", 'evaluation.tasks=["arithmetic"]', "evaluation.n=2"]
    overrides = [part for setting in settings for part in ("--set", setting)]
    done = sfumato("train", recipe, "--dir", tmp_path / "run", *overrides, "--set", "evaluation.steps=3")
    records = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    # A random model is never sure, so its one canvas of 8 tokens takes all the steps it may.
    assert [record["mean_steps/arithmetic"] for record in records] == [3.0, 3.0]
    assert json.loads(done.stdout)["scores"] == {"arithmetic": records[-1]["score/arithmetic"]}
    assert "step 1/2 · loss" in done.stderr
    assert "arithmetic 0.0%" in done.stderr


def test_answers_are_judged_and_told_during_training(sfumato, recipe, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "What is 7+8?", "response": "15"}\n{"prompt": "Say hello."}\n')
    settings = [
        "evaluation.bound_batches=1",
        f"evaluation.prompts={prompts}",
        f"evaluation.judge={ASSETS / 'tiny-twin'}",
        "evaluation.n=3",
    ]
    given = [part for one in (*settings, "train.steps=2", "train.eval_every=1") for part in ("--set", one)]
    done = sfumato("train", recipe, "--dir", tmp_path / "run", *given)
    assert done.exit_code == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    for record in records:
        assert record["sample_judge_nll"] > 1.0
        assert 0.0 <= record["sample_distinct_2"] <= 1.0
        assert record["sample_tokens"] <= 8.0
        told = f"exact {record['sample_exact']:.1%} · held-out bound {record['canvas_nelbo']:.3f} nats"
        assert told in done.stderr
    curve = CliRunner().invoke(benchmarks, ["curve", str(tmp_path / "run" / "log.jsonl"), "--json"])
    rows = [json.loads(line) for line in curve.stdout.splitlines()]
    judged = [row["value"] for row in rows if row["what"] == "answers, by the judge"]
    assert judged == [record["sample_judge_nll"] for record in records]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["evaluation.judge=tiny-twin"], "judge is tiny-twin with no prompts; allowed: with a file of prompts"),
        (["evaluation.prompts=nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (["evaluation.prompts={prompts}", "evaluation.judge=tiny"], "judge is tiny; allowed: an autoregressive model"),
    ],
)
def test_prompts_and_judge_are_checked_first(sfumato, recipe, tmp_path, settings, message):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "Say hello."}\n')
    given = [part for one in settings for part in ("--set", one.format(prompts=prompts))]
    done = sfumato("train", recipe, "--dir", tmp_path / "run", *given)
    assert done.exit_code != 0
    assert message in done.stderr
    assert not (tmp_path / "run").exists()


def test_tensorboard_gets_the_scalars(sfumato, recipe, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    sfumato("train", recipe, "--dir", tmp_path / "run", "--set", "train.steps=20")
    events = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("loss")] == [10, 20]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("train.stesp=3", "unknown key 'train.stesp'; did you mean 'train.steps'?"),
        ("trian.steps=3", "unknown key 'trian'; did you mean 'train'?"),
        ("train.steps=0", "steps is 0; allowed: 1 or more"),
        ("train.steps=many", "train.steps is 'many'; allowed: a whole number"),
        ("train.steps", "override 'train.steps' has no '='"),
        ('evaluation.tasks=["sudko4"]', "unknown task 'sudko4'; did you mean 'sudoku4'?"),
        ("data.tasks.countdwn=1.0", "unknown task 'countdwn'; did you mean 'countdown'?"),
        ("model.vocab_size=100", "vocab_size is 100; allowed: 261 or more"),
    ],
    ids=lambda value: value.partition("=")[0],
)
def test_a_wrong_recipe_is_refused_before_any_work(sfumato, recipe, tmp_path, setting, message):
    done = sfumato("train", recipe, "--dir", tmp_path / "run", "--set", setting)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "run" / "state.safetensors").exists()


def test_missing_recipe(sfumato, tmp_path):
    done = sfumato("train", tmp_path / "none.toml")
    assert done.exit_code == 2
    assert f"there is no file {tmp_path / 'none.toml'}" in done.stderr
