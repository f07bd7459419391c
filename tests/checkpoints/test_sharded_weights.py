"""Sharded weights: the same model, read one file at a time; whatever is wrong with the shards is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
from sfumato.errors import CheckpointError
from sfumato.models.decoder import Decoder
from sfumato.spec import GenerationSpec


@pytest.fixture
def sharded(make_decoder: Callable[..., Decoder], tmp_path: Path) -> Path:
    """A checkpoint in three shards with an index."""
    save_checkpoint(tmp_path, make_decoder(), GenerationSpec())
    tensors = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    weight_map = {}
    for part in range(3):
        shard = dict(sorted(tensors.items())[part::3])
        save_file(shard, tmp_path / f"part-{part}.safetensors")
        weight_map |= dict.fromkeys(shard, f"part-{part}.safetensors")
    write_index(tmp_path, weight_map)
    return tmp_path


def write_index(directory: Path, weight_map: object) -> None:
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


def read_index(directory: Path) -> dict[str, str]:
    weight_map: dict[str, str] = json.loads((directory / "model.safetensors.index.json").read_text())["weight_map"]
    return weight_map


def test_sharded_model_equals_the_unsharded_one(sharded: Path, make_decoder: Callable[..., Decoder]):
    expected, found = make_decoder().state_dict(), load_checkpoint(sharded).model.state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_missing_shards_are_named(sharded: Path):
    (sharded / "part-1.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"lacks 1 of 3 shards: part-1\.safetensors"):
        load_checkpoint(sharded)


def test_tensors_missing_from_their_shard_are_named(sharded: Path):
    weight_map = read_index(sharded)
    write_index(sharded, {**weight_map, "model.extra.weight": "part-2.safetensors"})
    with pytest.raises(CheckpointError, match=r"part-2\.safetensors lacks tensors .* it has: model\.extra\.weight"):
        load_checkpoint(sharded)


def test_tensors_missing_from_all_shards_are_named(sharded: Path):
    weight_map = read_index(sharded)
    file = weight_map.pop("model.norm.weight")
    tensors = load_file(sharded / file)
    del tensors["model.norm.weight"]
    save_file(tensors, sharded / file)
    write_index(sharded, weight_map)
    with pytest.raises(CheckpointError, match=r"missing: model\.norm\.weight"):
        load_checkpoint(sharded)


def test_tensors_in_two_shards_are_named(sharded: Path):
    first, second = (load_file(sharded / f"part-{part}.safetensors") for part in (0, 1))
    name = min(first)
    save_file(second | {name: first[name] + 1}, sharded / "part-1.safetensors")
    with pytest.raises(CheckpointError, match=rf"part-1\.safetensors holds {name} a second time; allowed"):
        load_checkpoint(sharded)


def test_index_cannot_leave_its_directory(sharded: Path):
    write_index(sharded, dict.fromkeys(read_index(sharded), "../elsewhere.safetensors"))
    with pytest.raises(CheckpointError, match=r"names '\.\./elsewhere\.safetensors'; allowed: files beside it"):
        load_checkpoint(sharded)


@pytest.mark.parametrize("index", [None, 3, ["a"], {}])
def test_invalid_indexes_are_refused(sharded: Path, index: object):
    write_index(sharded, index)
    with pytest.raises(CheckpointError, match="has no weight_map"):
        load_checkpoint(sharded)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "consolidated.00.pth", "model.ckpt"])
def test_pickles_are_refused_by_name(sharded: Path, name: str):
    for path in sharded.glob("*safetensors*"):
        path.unlink()
    torch.save({"a": torch.zeros(1)}, sharded / name)
    with pytest.raises(CheckpointError, match=rf"holds {name}, a pickle, which can run code .* allowed: safetensors"):
        load_checkpoint(sharded)
