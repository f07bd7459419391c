"""The recipe of interfaces trains, and its checkpoint is scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app

RECIPE = Path(__file__).parents[2] / "recipes" / "ui.toml"


# torch says that it has no fused norm of bfloat16 and float32.
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight:UserWarning")
def test_ui_recipe_trains_and_its_checkpoint_is_scored(tmp_path: Path):
    small = [
        "train.steps=2",
        "train.compile=false",
        "packing.rows=1",
        "data.tokenizer_items=200",
        "evaluation={}",
        "model.num_hidden_layers=1",
    ]
    sets = [part for each in small for part in ("--set", each)]
    result = CliRunner().invoke(app, ["train", str(RECIPE), "--dir", str(tmp_path), *sets])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout.splitlines()[-1])["steps"] == 2
    tasks = ["--task", "ui_screen", "--task", "ui_edit_domains"]
    few = ["--n", "1", "--steps", "1", "--twin", "none", "--json"]
    scored = CliRunner().invoke(app, ["eval", str(tmp_path / "checkpoint"), *tasks, *few])
    assert scored.exit_code == 0, scored.output
    assert "ui_screen" in scored.stdout
    assert "ui_edit_domains" in scored.stdout
