"""`sfumato doctor`: the facts of this installation."""

from __future__ import annotations

import json
import platform
import re

import torch
from safetensors.torch import load_file

from sfumato.models.quantization.products import multiplies_integers


def test_json(sfumato):
    done = sfumato("doctor", "--json")
    assert done.exit_code == 0
    values = json.loads(done.stdout)
    assert values["python"] == platform.python_version()
    assert values["packages"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert values["cpu"]["threads"] == torch.get_num_threads()
    assert values["cpu"]["capability"] == torch.backends.cpu.get_cpu_capability()
    assert values["devices"][0] == {"device": "cpu"}
    assert [model["name"] for model in values["models"]].count("tiny") == 1


def test_text_lists_missing_packages(sfumato, monkeypatch, tmp_path):
    monkeypatch.setattr("sfumato.checkpoints.registry.ASSETS", tmp_path)
    monkeypatch.setattr("sfumato.cli.doctor.requires", lambda name: ["typer>=0", "no-such-thing>=1; extra == 'lsp'"])
    done = sfumato("doctor")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    values = dict(re.split(" {2,}", line) for line in lines)
    assert values["extra lsp"] == "not installed: pip install 'sfumato[lsp]'"
    assert values["extra server"] == "installed"
    assert "extra dev" not in values
    assert values["model tiny"] == "missing: make train-tiny"
    # All values begin in one column.
    assert len({len(line) - len(value) for line, value in zip(lines, values.values(), strict=True)}) == 1


def test_models_are_listed_with_their_size(sfumato, monkeypatch, checkpoint):
    monkeypatch.setattr("sfumato.checkpoints.registry.ASSETS", checkpoint.parent)
    models = json.loads(sfumato("doctor", "--json").stdout)["models"]
    size = sum(path.stat().st_size for path in checkpoint.iterdir())
    assert ("small", "embedded", size, "") in [
        (model["name"], model["source"], model["size_bytes"], model["problem"]) for model in models
    ]


def test_model_report_reads_only_the_config(sfumato, checkpoint, tmp_path):
    """No weights are there; the counts are those of the weights that are."""
    config = tmp_path / "config.json"
    config.write_text((checkpoint / "config.json").read_text())
    done = sfumato("doctor", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    values = json.loads(done.stdout)
    weights = load_file(checkpoint / "model.safetensors")
    assert values["parameters"] == values["active_parameters"] == sum(tensor.numel() for tensor in weights.values())
    assert values["weights_bytes"]["bfloat16"] == 2 * values["parameters"]
    assert values["cache_bytes_per_token"]["float32"] == 4 * 2 * 1 * 8
    assert values["weights_bytes"]["int4"] < values["weights_bytes"]["int8"] < values["weights_bytes"]["float32"]
    assert values["step"]["least_seconds_float32"] > 0
    assert ("least_seconds_w8a8" in values["step"]) == multiplies_integers(torch.device("cpu"))
    shown = sfumato("doctor", tmp_path)
    assert shown.exit_code == 0
    for text in ("uniform noise, canvas 16", "fits in the", "bytes per token in bfloat16", "GFLOP/s", "at least"):
        assert text in shown.stdout


def test_canvases_are_described_where_there_are_some(sfumato):
    rows = [line.split()[0] for line in sfumato("doctor", "tiny-twin").stdout.splitlines()]
    assert "cache" in rows
    assert "canvas" not in rows
    done = sfumato("doctor", "mend")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "mend repairs Python" in done.stderr


def test_missing_model(sfumato):
    done = sfumato("doctor", "no-such-model")
    assert done.exit_code == 1
    assert "unknown model 'no-such-model'" in done.stderr


def test_missing_packaged_model_names_pull(sfumato, monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_CACHE", str(tmp_path))
    monkeypatch.setattr("sfumato.checkpoints.registry.importlib.util.find_spec", lambda name: None)
    lines = " ".join(sfumato("doctor").stdout.split())
    assert "model smollm2-135m-instruct not downloaded: sfumato pull smollm2-135m-instruct" in lines
    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"x" * 2_000_000)
    lines = " ".join(sfumato("doctor").stdout.split())
    assert "model smollm2-135m-instruct unexpected file contents: sfumato pull smollm2-135m-instruct" in lines
