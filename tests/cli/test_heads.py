"""`sfumato heads`: trains the heads of a finished model."""

from __future__ import annotations

import json
import shutil

import pytest

import sfumato as package
from sfumato.checkpoints.registry import ASSETS

RECIPE = """
model = "tiny"
n = 64
steps = 4
max_tokens = 24
epochs = 20
length_buckets = [4, 12, 40]

[tasks]
json = 1.0
"""


def test_heads_are_trained_and_used(sfumato, recipe, tmp_path):
    done = sfumato("heads", recipe, "--dir", tmp_path / "run")
    assert done.exit_code == 0, done.stderr
    numbers = json.loads(done.stdout)
    assert numbers["steps_seen"] == 32 * 4
    assert {"threshold", "right", "mean_steps", "bucket_right"} <= numbers.keys()
    model = package.load(numbers["checkpoint"])
    assert model.bundle.stop_head is not None
    assert model.sampler_defaults.stop_probability == numbers["threshold"]
    assert model.decoder.length_buckets == (4, 12, 40)
    assert model.generate("json: Our 8-year-old parrot Mia is red.").finish_reason in ("stop", "steps", "length")
    # Answers of other weights are not used.
    inputs = tmp_path / "run" / "inputs.json"
    hashes = inputs.read_text()
    inputs.write_text(hashes.replace('"weights": "', '"weights": "0'))
    other = sfumato("heads", recipe, "--dir", tmp_path / "run")
    assert "holds answers gathered with other weights or files; use another --dir" in other.stderr
    inputs.write_text(hashes)
    # What was gathered is there: a second time nothing is answered, and a lost piece is made again as it was.
    pieces = sorted((tmp_path / "run").glob("features-*"))
    lost = pieces[1].read_bytes()
    pieces[1].unlink()
    again = sfumato("heads", recipe, "--dir", tmp_path / "run", "--resume")
    assert json.loads(again.stdout) == numbers
    assert pieces[1].read_bytes() == lost


def test_endless_answers_train_no_length_head(sfumato, recipe, tmp_path):
    done = sfumato("heads", recipe, "--dir", tmp_path / "run", "--set", "max_tokens=2")
    assert done.exit_code == 0, done.stderr
    assert "too few answers finished to learn lengths; no length head" in done.stderr
    numbers = json.loads(done.stdout)
    assert "bucket_right" not in numbers
    assert package.load(numbers["checkpoint"]).decoder.length_buckets == package.load("tiny").decoder.length_buckets


def test_no_length_head_without_causal_prefix(sfumato, recipe, tmp_path):
    copy = tmp_path / "full"
    shutil.copytree(ASSETS / "tiny", copy)
    config = json.loads((copy / "config.json").read_text())
    config["generation_spec"] |= {"prefix_attention": "full", "logit_shift": False, "next_token": False}
    (copy / "config.json").write_text(json.dumps(config))
    done = sfumato("heads", recipe, "--dir", tmp_path / "run", "--set", f"model={copy}")
    assert done.exit_code == 2
    assert "prefix_attention is 'full' of" in done.stderr
    assert "allowed: none" in done.stderr


def test_data_of_another_recipe_is_not_used(sfumato, recipe, tmp_path):
    assert sfumato("heads", recipe, "--dir", tmp_path / "run", "--set", "epochs=1").exit_code == 0
    done = sfumato("heads", recipe, "--dir", tmp_path / "run", "--set", "steps=5")
    assert done.exit_code == 2
    assert "steps was 4 and is 5; use another --dir" in done.stderr


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model=tiny-twin", "allowed: a Sfumato model that refines canvases"),
        ("tasks.jsn=1.0", "unknown task 'jsn'"),
        ("tasks={json = 0.0}", "the weights of tasks and files are [0.0]"),
        ("epoch=1", "did you mean 'epochs'"),
    ],
)
def test_refused_heads(sfumato, recipe, tmp_path, override, message):
    done = sfumato("heads", recipe, "--dir", tmp_path / "run", "--set", override)
    assert done.exit_code == 2
    assert message in done.stderr


def test_other_models_are_refused_before_anything_is_asked(sfumato, recipe, tmp_path):
    quantized = tmp_path / "w4a8"
    assert sfumato("convert", "tiny", quantized, "--quantize", "w4a8").exit_code == 0
    for model, message in (
        ("mend", "mend repairs Python and cannot generate text"),
        (quantized, "holds weights in w4a8"),
    ):
        done = sfumato("heads", recipe, "--dir", tmp_path / "run", "--set", f"model={model}")
        assert done.exit_code == 1
        assert message in done.stderr
        assert "answers" not in done.stderr


def test_resume_without_state(sfumato, recipe, tmp_path):
    done = sfumato("heads", recipe, "--dir", tmp_path / "run", "--resume")
    assert done.exit_code == 2
    assert "holds no answers to resume from; leave --resume out" in done.stderr
    assert not (tmp_path / "run").exists()
