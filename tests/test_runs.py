"""`sfumato.train`: recipes from Python, and resumed runs."""

from __future__ import annotations

import dataclasses
import json
import signal
import tomllib
from pathlib import Path

import pytest

import recipes
import sfumato
from sfumato.checkpoints.registry import ASSETS
from sfumato.config import from_table
from sfumato.interrupts import Interrupted
from sfumato.sampling.logits import STOP_HEAD
from sfumato.storage import claimed
from sfumato.training.recipe import Recipe
from sfumato.training.trainer import Trainer

RECIPE = recipes.RECIPE.replace("warmup = 1\n", "warmup = 1\nfinal_lr = 1.0\n")


def losses(directory: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (directory / "log.jsonl").read_text().splitlines()]


def test_file_tables_and_recipe_make_the_same_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(RECIPE)
    tables = tomllib.loads(RECIPE)
    seen = []
    first = sfumato.train(path, overrides=["train.steps=2", "train.seed=5"], on_record=seen.append)
    second = sfumato.train(tables, overrides={"train.steps": 2, "train.seed": 5}, directory=tmp_path / "second")
    recipe = from_table(Recipe, tables)
    recipe = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, steps=2, seed=5))
    third = sfumato.train(recipe, directory=str(tmp_path / "third"))
    assert tables == tomllib.loads(RECIPE)
    assert first.directory == Path("runs/small")
    assert first.checkpoint == Path("runs/small/checkpoint")
    assert (first.steps, [record["step"] for record in seen]) == (2, [1, 2])
    assert first.metrics == seen[-1]
    assert first.metrics["loss"] == second.metrics["loss"] == third.metrics["loss"]
    assert first.tokens == second.tokens == third.tokens
    assert sfumato.load(second.directory).generate("7+8", check_prompt=False).usage.denoising_steps == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "directory is missing"),
        ({"directory": "run", "overrides": "train.steps=3"}, "overrides is 'train.steps=3'; allowed: a list"),
        (
            {"directory": "run", "overrides": {"train.stesp": 3}},
            r"unknown key 'train.stesp'; did you mean 'train.steps'",
        ),
        ({"directory": "run", "resume": True}, "holds no state to resume from"),
    ],
)
def test_refusals(tmp_path, monkeypatch, settings, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sfumato.ConfigError, match=message):
        sfumato.train(tomllib.loads(RECIPE), **settings)
    assert list(tmp_path.iterdir()) == []


def test_lengthened_run_equals_a_long_run(tmp_path):
    """Without a schedule, as a cosine depends on the number of steps."""
    tables = tomllib.loads(RECIPE)
    long = sfumato.train(tables, overrides={"train.steps": 7}, directory=tmp_path / "long")
    short = sfumato.train(tables, directory=tmp_path / "short")
    assert short.steps == 4
    lengthened = sfumato.train(tables, overrides={"train.steps": 7}, directory=tmp_path / "short", resume=True)
    assert (lengthened.steps, lengthened.tokens) == (7, long.tokens)
    assert losses(tmp_path / "short") == losses(tmp_path / "long")
    weights = [(result.checkpoint / "model.safetensors").read_bytes() for result in (long, lengthened)]
    assert weights[0] == weights[1]
    assert json.loads((tmp_path / "short" / "recipe.json").read_text())["train"]["steps"] == 7
    with pytest.raises(
        sfumato.ConfigError, match=r"train.steps is 4 and the state in .*short is at step 7; allowed: 7"
    ):
        sfumato.train(tables, directory=tmp_path / "short", resume=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_saves_the_run(tmp_path, monkeypatch, number):
    tables = tomllib.loads(RECIPE)
    whole = sfumato.train(tables, directory=tmp_path / "whole")
    step = Trainer._step

    def interrupted(self):
        if self.progress.step == 1:
            signal.raise_signal(number)
        return step(self)

    monkeypatch.setattr(Trainer, "_step", interrupted)
    before = signal.getsignal(number)
    with pytest.raises(Interrupted):
        sfumato.train(tables, directory=tmp_path / "cut")
    assert signal.getsignal(number) is before
    assert len(losses(tmp_path / "cut")) == 2
    monkeypatch.undo()
    resumed = sfumato.train(tables, directory=tmp_path / "cut", resume=True)
    assert resumed.metrics["loss"] == whole.metrics["loss"]


def test_run_from_a_model_keeps_its_stop_head(tmp_path):
    tables = {
        "init_from": "tiny",
        "data": {"tasks": {"arithmetic": 1.0}},
        "packing": {"rows": 1, "row_length": 256, "canvas_lengths": [24]},
        "train": {"steps": 1},
    }
    result = sfumato.train(tables, directory=tmp_path)
    assert (result.checkpoint / STOP_HEAD).read_bytes() == (ASSETS / "tiny" / STOP_HEAD).read_bytes()
    model = sfumato.load(tmp_path)
    assert model.bundle.stop_head is not None
    assert model.sampler_defaults.stop_probability == sfumato.load("tiny").sampler_defaults.stop_probability


def test_run_with_another_sampler_than_its_model_can_be_loaded(tmp_path):
    tables = {
        "init_from": "tiny",
        "generation": {"name": "ancestral"},
        "data": {"tasks": {"arithmetic": 1.0}},
        "packing": {"rows": 1, "row_length": 256, "canvas_lengths": [24]},
        "train": {"steps": 1},
    }
    defaults = sfumato.load(sfumato.train(tables, directory=tmp_path).checkpoint).sampler_defaults
    assert (defaults.sampler.name, defaults.steps) == ("ancestral", sfumato.load("tiny").sampler_defaults.steps)


def test_low_rank_corrections_train_beside_muon(tmp_path):
    first = sfumato.train(tomllib.loads(RECIPE), directory=tmp_path / "first")
    tables = tomllib.loads(RECIPE) | {"init_from": str(first.checkpoint), "lora": {"rank": 2}}
    del tables["model"]
    result = sfumato.train(tables, overrides={"train.muon_lr": 0.01}, directory=tmp_path / "second")
    assert result.steps == 4
    assert (result.checkpoint / "model.safetensors").read_bytes() != (
        first.checkpoint / "model.safetensors"
    ).read_bytes()


def test_a_directory_has_one_run_at_a_time(tmp_path):
    with claimed(tmp_path), pytest.raises(sfumato.ConfigError, match=r"is in use by another process; wait for its end"):
        sfumato.train(tomllib.loads(RECIPE), directory=tmp_path)
    assert not (tmp_path / "log.jsonl").exists()
    assert sfumato.train(tomllib.loads(RECIPE), directory=tmp_path).steps == 4


def test_data_that_changed_is_told(tmp_path, caplog):
    items = [json.dumps({"prompt": f"{n}+1", "response": str(n + 1)}) + "\n" for n in range(9)]
    tables, file = tomllib.loads(RECIPE), tmp_path / "items.jsonl"
    tables["data"] = {"files": {str(file): 1.0}}
    file.write_text("".join(items))
    sfumato.train(tables, directory=tmp_path / "run")
    sfumato.train(tables, overrides={"train.steps": 5}, directory=tmp_path / "run", resume=True)
    assert "has changed" not in caplog.text
    file.write_text("".join(items[:3]))
    assert sfumato.train(tables, overrides={"train.steps": 6}, directory=tmp_path / "run", resume=True).steps == 6
    assert f"{file} has changed since the run began" in caplog.text


def test_unfinished_run_directory(tmp_path):
    (tmp_path / "state.safetensors").touch()
    with pytest.raises(sfumato.CheckpointError, match="the state of an unfinished run; finish it with --resume"):
        sfumato.load(tmp_path)


@pytest.mark.parametrize("length", [16, 12])
def test_canvases_that_are_used_and_not_trained_are_told(length, tmp_path, caplog):
    tables = tomllib.loads(RECIPE)
    tables["packing"]["canvas_lengths"] = [8, 16]
    sfumato.train(tables, overrides={"generation_spec.canvas_length": length}, directory=tmp_path)
    told = "generation_spec.canvas_length is 12: answers use canvases that packing.canvas_lengths [8, 16] do not train"
    assert (told in caplog.text) == (length == 12)
