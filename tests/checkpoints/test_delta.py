"""Deltas restore their checkpoint up to rounding; checkpoints can be stored quantized."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
from sfumato.checkpoints.registry import ASSETS
from sfumato.checkpoints.tensors import BASE, DELTA, hash_of_weights
from sfumato.errors import CheckpointError, ConfigError
from sfumato.models.decoder import Decoder
from sfumato.spec import GenerationSpec

TWIN = ASSETS / "tiny-twin"
SPEC = GenerationSpec(canvas_length=16, self_conditioning=True)


@pytest.fixture(scope="module")
def changed() -> Decoder:
    """The twin with self-conditioning, one layer fewer, and a few of its tensors changed."""
    base = load_checkpoint(TWIN).model
    assert isinstance(base, Decoder)
    layers = base.config.num_hidden_layers - 1
    model = Decoder(dataclasses.replace(base.config, num_hidden_layers=layers, self_conditioning=True))
    model.initialize(3)
    state = model.state_dict()
    model.load_state_dict(state | {name: tensor for name, tensor in base.state_dict().items() if name in state})
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name in ("model.layers.0.mlp.up_proj.weight", "model.embed_tokens.weight", "model.norm.weight"):
            parameter = model.get_parameter(name)
            parameter += 0.01 * torch.randn(parameter.shape, generator=generator)
    return model


def test_weights_in_any_form_have_a_hash(changed: Decoder, tmp_path: Path):
    save_checkpoint(tmp_path / "delta", changed, SPEC, base=str(TWIN))
    save_checkpoint(tmp_path / "whole", changed, SPEC)
    paths = [TWIN, tmp_path / "delta", tmp_path / "whole"]
    assert len({hash_of_weights(path) for path in paths}) == 3
    assert hash_of_weights(tmp_path / "whole" / "model.safetensors") == hash_of_weights(tmp_path / "whole")
    with pytest.raises(CheckpointError, match="no such file"):
        hash_of_weights(tmp_path)


# Relative to the largest of a row: half a step of 8 bits; a step and a half of 4 bits, which may clip the extremes.
MAX_ERROR_8, MAX_ERROR_4 = 0.5 / 127, 1.5 * 2 / 15


@pytest.mark.parametrize(("bits", "max_error"), [(8, MAX_ERROR_8), (4, MAX_ERROR_4)])
def test_delta_restores_the_checkpoint(changed: Decoder, tmp_path: Path, bits: Any, max_error: float):
    save_checkpoint(tmp_path, changed, SPEC, base=str(TWIN), bits=bits)
    assert not (tmp_path / "model.safetensors").exists()
    found = load_checkpoint(tmp_path)
    assert found.spec == SPEC
    before, base, after = changed.state_dict(), load_checkpoint(TWIN).model.state_dict(), found.model.state_dict()
    assert after.keys() == before.keys()
    for name, tensor in before.items():
        difference = tensor - base[name] if name in base else tensor
        error = (after[name] - tensor).abs()
        if tensor.dim() > 1:
            assert (error <= difference.abs().amax(-1, keepdim=True) * max_error * 1.01 + 1e-8).all(), name
        else:
            assert torch.equal(after[name], tensor), name
    # What did not change is not stored.
    stored = load_file(tmp_path / DELTA)
    assert {re.sub(r"\.(levels|scales|groups)$", "", name) for name in stored} == {
        "model.layers.0.mlp.up_proj.weight",
        "model.embed_tokens.weight",
        "model.norm.weight",
        *(name for name in before if name not in base),
    }


def test_wrong_base_is_refused(changed: Decoder, tmp_path: Path):
    save_checkpoint(tmp_path, changed, SPEC, base=str(TWIN))
    record = json.loads((tmp_path / BASE).read_text())
    for changes, message in (
        ({"base": str(ASSETS / "tiny")}, r"tiny has sha256 [0-9a-f]{64}; allowed: [0-9a-f]{64}"),
        ({"base": str(tmp_path / "gone")}, "gone"),
        ({"base": None}, "base is None; allowed: a str"),
        ({"taken": [*record["taken"], "model.other"]}, "lacks tensors that .* changes: model.other"),
    ):
        (tmp_path / BASE).write_text(json.dumps(record | changes))
        with pytest.raises((CheckpointError, ConfigError), match=message):
            load_checkpoint(tmp_path)
    (tmp_path / BASE).write_text("{")
    with pytest.raises(CheckpointError, match="is not JSON"):
        load_checkpoint(tmp_path)


def test_damaged_delta_is_refused(changed: Decoder, tmp_path: Path):
    save_checkpoint(tmp_path, changed, SPEC, base=str(TWIN))
    content = (tmp_path / DELTA).read_bytes()
    (tmp_path / DELTA).write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match="is the file complete"):
        load_checkpoint(tmp_path)


def test_base_may_be_sharded(changed: Decoder, tmp_path: Path):
    """The digest covers all of its files."""
    base, weights = tmp_path / "base", load_file(TWIN / "model.safetensors")
    base.mkdir()
    (base / "config.json").write_bytes((TWIN / "config.json").read_bytes())
    names = sorted(weights)
    shards = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, part in shards.items():
        save_file({name: weights[name] for name in part}, base / file)
    index = {"weight_map": {name: file for file, part in shards.items() for name in part}}
    (base / "model.safetensors.index.json").write_text(json.dumps(index))
    save_checkpoint(tmp_path / "delta", changed, SPEC, base=str(base))
    assert load_checkpoint(tmp_path / "delta").model.num_parameters == changed.num_parameters
    weights[names[1]] += 1.0
    save_file({name: weights[name] for name in names[1::2]}, base / "two.safetensors")
    with pytest.raises(CheckpointError, match="has sha256"):
        load_checkpoint(tmp_path / "delta")


def test_delta_cannot_be_a_base(changed: Decoder, tmp_path: Path):
    save_checkpoint(tmp_path / "first", changed, SPEC, base=str(TWIN))
    with pytest.raises(CheckpointError, match=r"is itself a delta, of .*tiny-twin; allowed: a checkpoint with all"):
        save_checkpoint(tmp_path / "second", changed, SPEC, base=str(tmp_path / "first"))
    assert not (tmp_path / "second").exists()


def test_full_checkpoint_replaces_a_delta(changed: Decoder, tmp_path: Path):
    save_checkpoint(tmp_path, changed, SPEC, base=str(TWIN), bits=4)
    save_checkpoint(tmp_path, changed, SPEC)
    found = load_checkpoint(tmp_path).model.state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in changed.state_dict().items())


@pytest.mark.parametrize(("bits", "max_error", "share"), [(8, MAX_ERROR_8, 0.27), (4, MAX_ERROR_4, 0.17)])
def test_full_checkpoint_can_be_quantized(changed: Decoder, tmp_path: Path, bits: Any, max_error: float, share: float):
    save_checkpoint(tmp_path, changed, SPEC, bits=bits)
    size = (tmp_path / "model.safetensors").stat().st_size
    assert size < share * 4 * changed.num_parameters
    found = load_checkpoint(tmp_path).model.state_dict()
    assert found.keys() == changed.state_dict().keys()
    for name, tensor in changed.state_dict().items():
        bound = tensor.abs().amax(-1, keepdim=True) * max_error * 1.01 if tensor.dim() > 1 else torch.zeros(())
        assert ((found[name] - tensor).abs() <= bound).all(), name
    # Rounding a second time changes nothing.
    again = tmp_path / "again"
    save_checkpoint(again, load_checkpoint(tmp_path).model, SPEC, bits=bits)  # type: ignore[arg-type]
    twice = load_checkpoint(again).model.state_dict()
    for name, tensor in found.items():
        tolerance = 0.0 if bits == 8 or tensor.dim() < 2 else 1e-3 * float(tensor.abs().max())
        torch.testing.assert_close(twice[name], tensor, rtol=1e-5, atol=tolerance)


def test_levels_without_scales_are_refused(changed: Decoder, tmp_path: Path):
    save_checkpoint(tmp_path, changed, SPEC, bits=8)
    stored = load_file(tmp_path / "model.safetensors")
    del stored["model.layers.0.mlp.up_proj.weight.scales"]
    save_file(stored, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"up_proj\.weight"):
        load_checkpoint(tmp_path)


def test_changes_of_another_shape_are_refused(changed: Decoder, tmp_path: Path):
    """One row would be added to all rows."""
    save_checkpoint(tmp_path, changed, SPEC, base=str(TWIN))
    stored, name = load_file(tmp_path / DELTA), "model.layers.0.mlp.up_proj.weight"
    shape = list(changed.state_dict()[name].shape)
    for part in ("levels", "scales"):
        stored[f"{name}.{part}"] = stored[f"{name}.{part}"][:1].clone()
    save_file(stored, tmp_path / DELTA)
    message = f"{name} has shape {[1, shape[1]]}; allowed: {shape}, as in {TWIN}"
    with pytest.raises(CheckpointError, match=re.escape(message)):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(("part", "bits"), [("scales", 8), ("scales", 4), ("groups", 4)])
@pytest.mark.parametrize("cut", ["rows", "dimension", "columns"])
def test_parts_of_another_shape_are_refused(changed: Decoder, tmp_path: Path, part: str, bits: Any, cut: str):
    save_checkpoint(tmp_path, changed, SPEC, bits=bits)
    stored, name = load_file(tmp_path / "model.safetensors"), "model.layers.0.mlp.up_proj.weight"
    whole = stored[f"{name}.{part}"]
    other = {"rows": whole[:1], "dimension": whole[0], "columns": whole[..., :0]}[cut]
    stored[f"{name}.{part}"] = other.clone()
    save_file(stored, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=rf"model\.safetensors: levels, scales and groups of {name} have shapes"):
        load_checkpoint(tmp_path)


def test_delta_replaces_a_full_checkpoint(changed: Decoder, tmp_path: Path):
    save_checkpoint(tmp_path, changed, SPEC)
    save_checkpoint(tmp_path, changed, SPEC, base=str(TWIN))
    assert not (tmp_path / "model.safetensors").exists()


def test_delta_does_not_replace_its_base(changed: Decoder, tmp_path: Path):
    save_checkpoint(tmp_path, changed, SPEC)
    with pytest.raises(CheckpointError, match="the directory to write; allowed: another checkpoint"):
        save_checkpoint(tmp_path, changed, SPEC, base=str(tmp_path))
    assert (tmp_path / "model.safetensors").exists()


def test_a_base_given_by_its_relative_path_is_found_from_elsewhere(
    changed: Decoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(TWIN.parent)
    save_checkpoint(tmp_path, changed, SPEC, base=f"./{TWIN.name}")
    monkeypatch.chdir(tmp_path)
    assert load_checkpoint(tmp_path).spec == SPEC
