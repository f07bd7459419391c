"""`sfumato doctor`: the facts of this installation."""

from __future__ import annotations

import json
import platform

import torch


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


def test_text_says_what_is_missing(sfumato, monkeypatch, tmp_path):
    monkeypatch.setattr("sfumato.engine.model.ASSETS", tmp_path)
    monkeypatch.setattr("sfumato.cli.doctor.EXTRAS", ("no_such_extra",))
    done = sfumato("doctor")
    assert done.exit_code == 0
    assert "no_such_extra  not installed (optional)" in done.stdout
    assert "model tiny     not there" in done.stdout


def test_models_are_listed_with_their_size(sfumato, monkeypatch, checkpoint):
    monkeypatch.setattr("sfumato.engine.model.ASSETS", checkpoint.parent)
    models = json.loads(sfumato("doctor", "--json").stdout)["models"]
    size = sum(path.stat().st_size for path in checkpoint.iterdir())
    assert {"name": "small", "present": True, "size_bytes": size} in models
