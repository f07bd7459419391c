"""`sfumato train --plan`: of a recipe, a named size or a config, as a table or JSON; nothing is started."""

from __future__ import annotations

import json
import os

import pytest

from sfumato.checkpoints.registry import ASSETS

RECIPE = """
[model]
vocab_size = 261
hidden_size = 64
intermediate_size = 128
num_hidden_layers = 2
num_attention_heads = 4
num_key_value_heads = 2
head_dim = 16

[data]
tasks = { arithmetic = 1.0 }

[train]
steps = 4
accumulation = 16

[packing]
rows = 2
row_length = 512
"""


def test_recipe_is_planned_without_training(sfumato, recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = sfumato("train", recipe, "--plan", "--gpu", "a100", "--mfu", "0.5")
    assert done.exit_code == 0, done.stderr
    assert os.listdir(tmp_path) == ["small.toml"]
    first, headings, *rows = done.stdout.splitlines()
    assert "2 x 512 positions per batch; a100 at 50% of its peak" in first
    assert headings.split()[:3] == ["GPUs", "batches", "state"]
    assert [row.split()[:2] for row in rows] == [[str(num), str(max(16, num))] for num in (1, 2, 4, 8, 16, 32, 64)]


def test_json_has_every_gpu_with_and_without_recomputation(sfumato, recipe):
    done = sfumato("train", recipe, "--plan", "--json", "--set", "packing.rows=4")
    report = json.loads(done.stdout)
    assert (report["rows"], report["row_length"], report["dtype"], report["mfu"]) == (4, 512, "float32", 0.4)
    plans = report["plans"]
    keys = {(one["gpu"], one["num_gpus"], one["recompute"]) for one in plans}
    assert len(keys) == len(plans) == 4 * 7 * 2
    kept, again = (one for one in plans if (one["gpu"], one["num_gpus"]) == ("h200", 8))
    assert again["memory_bytes"] < kept["memory_bytes"]
    assert again["operations"] > kept["operations"]
    assert kept["memory_bytes"] == pytest.approx(
        sum(kept["state_bytes"].values()) + kept["gathered_bytes"] + kept["activation_bytes"]
    )


@pytest.mark.parametrize(("name", "billions"), [("1b", 1.286), ("8B", 8.21), ("26b-a4b", 25.2)])
def test_sizes_by_name(sfumato, name, billions):
    report = json.loads(sfumato("train", name, "--plan", "--json", "--set", "packing.row_length=2048").stdout)
    assert report["parameters"] / 1e9 == pytest.approx(billions, rel=0.01)
    assert (report["row_length"], report["dtype"]) == (2048, "bfloat16")
    assert (report["active_parameters"] < report["parameters"]) == ("a4b" in name)


def test_a_checkpoint_is_planned_by_its_config(sfumato, checkpoint):
    report = json.loads(sfumato("train", checkpoint, "--plan", "--json").stdout)
    size = json.loads(sfumato("doctor", checkpoint, "--json").stdout)["parameters"]
    assert report["parameters"] == size


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("70b", "--plan"), "cannot plan 70b; allowed: a recipe (.toml), 1b, 8b, 26b-a4b, or a directory with"),
        (("8b", "--plan", "--gpu", "h10"), "unknown gpu 'h10'"),
        (("8b", "--plan", "--mfu", "2"), "mfu is 2.0; allowed: above 0, up to 1"),
        (("8b", "--plan", "--set", "packing.rows=0"), "rows is 0; allowed: 1 or more"),
        (("some.toml", "--json"), "--json is given; allowed: only with --plan"),
    ],
)
def test_refusals(sfumato, args, message):
    done = sfumato("train", *args)
    assert done.exit_code == 2
    assert message in done.stderr


def test_adapting_recipe_is_planned_by_its_base(sfumato, recipe):
    """With its teacher, and with corrections alone for what is trained."""
    table = RECIPE[RECIPE.index("[data]") :] + f'\n[adapt]\nbase = "{ASSETS / "tiny-twin"}"\n'
    recipe.write_text(table)
    plain, low, taught = (
        json.loads(sfumato("train", recipe, "--plan", "--json", *settings).stdout)
        for settings in ((), ("--set", "lora.rank=8"), ("--set", "objective.teacher_weight=0.5"))
    )
    assert plain["parameters"] == plain["trained_parameters"]
    assert low["parameters"] > 2 * low["trained_parameters"]
    states = [report["plans"][0]["state_bytes"] for report in (plain, low, taught)]
    assert states[1]["optimizer"] == 8 * low["trained_parameters"]
    assert states[1]["weights"] == 4 * low["parameters"]
    assert states[2] == states[0] | {"teacher": 4 * plain["parameters"]}
    assert low["plans"][0]["operations"] < plain["plans"][0]["operations"] < taught["plans"][0]["operations"]
    done = sfumato("train", recipe, "--plan", "--set", "lora.rank=8")
    assert " million trained" in done.stdout.splitlines()[0]


def test_a_recipe_without_a_model(sfumato, recipe):
    recipe.write_text(RECIPE[RECIPE.index("[data]") :])
    done = sfumato("train", recipe, "--plan")
    assert done.exit_code == 2
    assert "allowed: [model], [adapt], or init_from" in done.stderr
