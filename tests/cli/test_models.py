"""`sfumato models`: what is listed, shown, and removed; and what stays."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.checkpoints import registry
from sfumato.checkpoints.registry import ASSETS, PACKAGED, Packaged, find_model
from sfumato.errors import CheckpointError

NAME = "smollm2-135m-instruct"
HUB_ID = "someone/small"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, a packaged checkpoint whose right content is b"weights", and a hub without anything."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("SFUMATO_CACHE", str(directory))
    sha256 = hashlib.sha256(b"weights").hexdigest()
    monkeypatch.setitem(PACKAGED, NAME, Packaged("some-package", "no_such_module", "weights.gguf", sha256))
    monkeypatch.setattr("huggingface_hub.utils._cache_manager.HF_HUB_CACHE", str(tmp_path / "hub"))
    return directory


def put(directory: Path, content: bytes = b"weights") -> Path:
    directory.mkdir(parents=True)
    (directory / "weights.gguf").write_bytes(content)
    return directory / "weights.gguf"


def fetched(tmp_path: Path) -> Path:
    """A repository as the hub's client keeps it: blobs, and revisions of links to them."""
    repository = tmp_path / "hub" / f"models--{HUB_ID.replace('/', '--')}"
    blob, snapshot = repository / "blobs" / "a1", repository / "snapshots" / ("0" * 40)
    for directory in (blob.parent, snapshot, repository / "refs"):
        directory.mkdir(parents=True)
    blob.write_text("{}")
    (snapshot / "config.json").symlink_to(blob)
    (repository / "refs" / "main").write_text("0" * 40)
    return snapshot


def test_list_shows_stored_and_available_models(cache: Path, sfumato: Any):
    for command in (("models",), ("models", "list")):
        lines = {line.split()[0]: line for line in sfumato(*command).stdout.splitlines()}
        size = sum(path.stat().st_size for path in (ASSETS / "tiny").iterdir())
        assert lines["tiny"].split() == ["tiny", "embedded", f"{size / 1e6:.1f}", "MB", str(ASSETS / "tiny")]
        assert lines[NAME].endswith(f"not downloaded: sfumato pull {NAME}")
    path = put(cache)
    listed = {model["name"]: model for model in json.loads(sfumato("models", "list", "--json").stdout)}
    assert listed[NAME] == {"name": NAME, "source": "package", "path": str(path), "size_bytes": 7, "problem": ""}


def test_replaced_file_is_reported(cache: Path, sfumato: Any):
    put(cache, b"junk")
    assert f"sfumato pull {NAME} downloads it again" in sfumato("models").stdout
    shown = " ".join(sfumato("doctor").stdout.split())
    assert f"model {NAME} unexpected file contents: sfumato pull {NAME} downloads it again" in shown


def test_rm_removes_what_was_pulled(cache: Path, sfumato: Any):
    path = put(cache)
    done = sfumato("models", "rm", NAME)
    assert done.exit_code == 0
    assert done.stderr == f"removed {path}: 0.0 MB\n"
    assert not path.exists()
    assert "there are no files of smollm2-135m-instruct here" in sfumato("models", "rm", NAME).stderr


def test_rm_removes_what_was_fetched(cache: Path, tmp_path: Path, sfumato: Any):
    snapshot = fetched(tmp_path)
    assert f"{HUB_ID}" in sfumato("models").stdout
    assert str(snapshot) in sfumato("models").stdout
    assert sfumato("models", "rm", HUB_ID).exit_code == 0
    assert not snapshot.exists()
    assert HUB_ID not in sfumato("models").stdout


def test_rm_keeps_other_files(cache: Path, tmp_path: Path, sfumato: Any, monkeypatch: pytest.MonkeyPatch):
    done = sfumato("models", "rm", "tiny")
    assert done.exit_code == 1
    assert "tiny is part of sfumato and cannot be removed; allowed: downloaded models" in done.stderr
    assert (ASSETS / "tiny" / "config.json").exists()
    installed = put(tmp_path / "site-packages")
    monkeypatch.setattr(registry, "file_of", lambda name: installed)
    done = sfumato("models", "rm", NAME)
    assert "is a file of the installed package some-package: pip uninstall some-package" in done.stderr
    assert installed.exists()
    assert "did you mean 'tiny'?" in sfumato("models", "rm", "tinny").stderr


def test_show_and_where(checkpoint: Path, sfumato: Any):
    assert sfumato("models", "where", checkpoint).stdout == f"{checkpoint}\n"
    done = sfumato("models", "show", checkpoint)
    assert done.exit_code == 0
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert (rows["canvas_length"], rows["steps"], rows["tasks"]) == ("16", "6", "pi, arithmetic")
    card = json.loads(sfumato("models", "show", checkpoint, "--json").stdout)
    assert card["size_bytes"] == sum(path.stat().st_size for path in checkpoint.iterdir())
    assert card["spec"]["noise"] == "uniform"
    assert sfumato("models", "show", "tyni").exit_code == 1
    shown = sfumato("models", "show", "tiny").stdout
    assert "{" not in shown.split("example prompts:")[0]
    assert "json: " in shown.split("example prompts:")[1]


def test_cache_is_listed_and_cleared(cache: Path, sfumato: Any):
    assert "kept" not in sfumato("models").stdout
    pulled = put(cache)
    (cache / "kept").mkdir()
    (cache / "kept" / "entry").write_bytes(b"0" * 2_000_000)
    assert f"2.0 MB  {cache / 'kept'}" in sfumato("models").stdout
    assert sfumato("models", "rm", "kept").stderr == f"removed {cache / 'kept'}: 2.0 MB\n"
    assert [path.name for path in cache.iterdir()] == [pulled.name]


def test_names_too_long_for_a_file_are_refused():
    with pytest.raises(CheckpointError, match=r"cannot read the model 'a+.*: File name too long"):
        find_model("a" * 300)


def test_a_dropped_connection_is_a_checkpoint_error(monkeypatch: pytest.MonkeyPatch):
    """The hub's client passes on the errors of its own client, which are no OSErrors."""

    class DroppedError(Exception):
        pass

    def drop(*arguments: Any, **settings: Any) -> str:
        raise DroppedError("peer closed connection")

    monkeypatch.setattr("huggingface_hub.snapshot_download", drop)
    with pytest.raises(CheckpointError, match="the hub does not provide it: peer closed connection"):
        find_model(HUB_ID)
