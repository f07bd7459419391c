"""Models converted to the form in which they are multiplied: the same numbers, mapped, or an error that says why."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sfumato.checkpoints import prepared
from sfumato.checkpoints.load import load_checkpoint, preparation_of, save_checkpoint, save_prepared
from sfumato.checkpoints.prepared import Preparation
from sfumato.errors import CheckpointError
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec
from sfumato.models.moe import MoEConfig
from sfumato.models.quantization import products
from sfumato.models.quantization.products import multiplies_integers
from sfumato.models.quantization.weights import QUANTIZATIONS
from sfumato.spec import GenerationSpec

MOE = MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=64, num_shared_experts=1)
SIZES = {"hidden_size": 64, "head_dim": 16, "intermediate_size": 64, "num_hidden_layers": 3}
AUTOREGRESSIVE = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
CANVAS = GenerationSpec(canvas_length=8, self_conditioning=True)
SHAPES: dict[str, tuple[GenerationSpec, dict[str, Any]]] = {
    "dense": (CANVAS, {"canvas_embedding": True, "self_conditioning": True}),
    "biases": (AUTOREGRESSIVE, {"tie_word_embeddings": False, "attention_bias": True}),
    "mixture": (CANVAS, {"self_conditioning": True, "moe": MOE}),
}

pytestmark = pytest.mark.skipif(
    not multiplies_integers(torch.device("cpu")), reason="this CPU has no exact products of integers"
)


@pytest.fixture(params=SHAPES)
def saved(request: pytest.FixtureRequest, make_decoder: Callable[..., Decoder], tmp_path: Path) -> Path:
    spec, changes = SHAPES[request.param]
    save_checkpoint(tmp_path / "model", make_decoder(**SIZES, **changes), spec)
    return tmp_path / "model"


@pytest.fixture
def converted(make_decoder: Callable[..., Decoder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mixture in 4 bits, in several files."""
    monkeypatch.setattr(prepared, "_SHARD_BYTES", 2**15)
    spec, changes = SHAPES["mixture"]
    save_checkpoint(tmp_path / "model", make_decoder(**SIZES, **changes), spec)
    save_prepared(tmp_path / "out", tmp_path / "model", QUANTIZATIONS["w4a8"])
    assert len(shards(tmp_path / "out")) > 2
    return tmp_path / "out"


def shards(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.safetensors"))


def run(directory: Path, way: str) -> tuple[Tensor, Tensor]:
    """Hidden states and logits of a text and of a canvas."""
    model = load_checkpoint(directory, quantization=QUANTIZATIONS[way]).model
    tokens_1Q = torch.arange(12)[None]
    with torch.no_grad():
        hidden = torch.cat(
            [
                model(tokens_1Q, tokens_1Q, AttentionSpec(causal=True)),
                model(tokens_1Q, tokens_1Q, AttentionSpec(), canvas_RQ=torch.ones_like(tokens_1Q, dtype=torch.bool)),
            ]
        )
        return hidden, model.logits(hidden)


@pytest.mark.parametrize("way", ["w4a8", "w8a8"])
def test_converted_is_as_loaded(saved: Path, tmp_path: Path, way: str):
    save_prepared(tmp_path / "out", saved, QUANTIZATIONS[way])
    for ours, theirs in zip(run(tmp_path / "out", way), run(saved, way), strict=True):
        assert torch.equal(ours, theirs)


def test_other_cpus_read_the_same_files(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Panels are the same where torch multiplies, and are written there as well."""
    save_prepared(tmp_path / "panels", saved, QUANTIZATIONS["w4a8"])
    for module in (products, prepared):
        monkeypatch.setattr(module, "is_available", lambda: False)
    save_prepared(tmp_path / "torch", saved, QUANTIZATIONS["w4a8"])
    for ours, theirs in zip(shards(tmp_path / "torch"), shards(tmp_path / "panels"), strict=True):
        assert ours.read_bytes() == theirs.read_bytes()
    for ours, theirs in zip(run(tmp_path / "panels", "w4a8"), run(saved, "w4a8"), strict=True):
        assert torch.equal(ours, theirs)


def test_a_fresh_process_maps_the_files(converted: Path):
    """Every tensor of the files is where one of them is mapped, and panels start at lines."""
    script = f"""
import torch
from pathlib import Path
from sfumato.checkpoints.load import load_checkpoint
from sfumato.models.quantization.weights import QUANTIZATIONS
model = load_checkpoint(Path({str(converted)!r}), quantization=QUANTIZATIONS["w4a8"]).model
maps = [line.split() for line in open("/proc/self/maps") if {str(converted)!r} in line]
ranges = [[int(end, 16) for end in fields[0].split("-")] for fields in maps]
for name, one in [*model.named_parameters(), *model.named_buffers()]:
    if one.numel() and "rotary" not in name:
        assert any(start <= one.data_ptr() < end for start, end in ranges), name
    assert not name.endswith("panels") or one.data_ptr() % 64 == 0, name
print(len(ranges))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= len(shards(converted))


@pytest.mark.skipif(not products.is_available(), reason="torch multiplies on this CPU")
def test_experts_have_larger_groups(converted: Path):
    model = load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"]).model
    groups = {name: one.num_groups for name, one in model.named_modules() if hasattr(one, "num_groups")}
    assert groups["model.layers.0.mlp.experts.gate_up_proj.product.matrices"] == 64 // 64
    assert groups["model.layers.0.self_attn.q_proj.product.matrix"] == 64 // 32


def test_a_cut_file_is_named(converted: Path):
    path = shards(converted)[1]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=f"{path.name}.*is the file complete"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


def test_a_missing_file_is_named(converted: Path):
    path = shards(converted)[1]
    path.unlink()
    with pytest.raises(CheckpointError, match=rf"lacks 1 of \d+ shards: {path.name}"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


def test_another_version_is_refused(converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prepared, "VERSION", 2)
    with pytest.raises(CheckpointError, match=r"\"version\": 1.*allowed: version 2; convert the model again"):
        preparation_of(converted)


@pytest.mark.parametrize("record", ["{}", "no object", "[]", '{"version": 1, "dtype": "float32", "bits": 3}'])
def test_a_damaged_record_is_refused(converted: Path, monkeypatch: pytest.MonkeyPatch, record: str):
    monkeypatch.setattr(Preparation, "metadata", {prepared.PREPARED: record})
    path = converted / "model-00001.safetensors"
    path.write_bytes(
        b"".join(prepared.encode({"a": torch.ones(2)}, Preparation.of(QUANTIZATIONS["w4a8"], torch.float32)))
    )
    with pytest.raises(CheckpointError, match="convert the model again"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


def test_a_file_of_another_model_is_refused(converted: Path, make_decoder: Callable[..., Decoder], tmp_path: Path):
    spec, changes = SHAPES["mixture"]
    save_checkpoint(tmp_path / "wide", make_decoder(**SIZES | {"intermediate_size": 96}, **changes), spec)
    save_prepared(tmp_path / "other", tmp_path / "wide", QUANTIZATIONS["w4a8"])
    for theirs in shards(tmp_path / "other"):
        theirs.replace(converted / theirs.name)
    with pytest.raises(CheckpointError, match="does not hold this model"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


def test_a_file_converted_otherwise_is_refused(converted: Path, tmp_path: Path):
    save_prepared(tmp_path / "other", tmp_path / "model", QUANTIZATIONS["w8a8"])
    name = shards(converted)[1].name
    (tmp_path / "other" / name).replace(converted / name)
    with pytest.raises(CheckpointError, match=f"{name} belongs to another conversion"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


@pytest.mark.parametrize("way", [None, "w8a8", "int4"])
def test_only_what_was_converted_can_be_asked_for(converted: Path, tmp_path: Path, way: str | None):
    """Nor is it a source of float weights, to convert it once more."""
    with pytest.raises(CheckpointError, match="holds weights in w4a8 for a CPU"):
        load_checkpoint(converted, quantization=None if way is None else QUANTIZATIONS[way])
    with pytest.raises(CheckpointError, match="in the form in which they are multiplied"):
        save_prepared(tmp_path / "again", converted, QUANTIZATIONS["w4a8"])
    assert not shards(tmp_path / "again")


def test_a_full_disk_leaves_no_weights(converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written, fsync = [], os.fsync

    def full(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left"):
        save_prepared(tmp_path / "full", tmp_path / "model", QUANTIZATIONS["w4a8"])
    assert list((tmp_path / "full").iterdir()) == []


def test_a_disk_without_room_is_found_before(tmp_path: Path, converted: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prepared.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(CheckpointError, match=r"0\.0 GB of free disk, but the weights take"):
        save_prepared(tmp_path / "full", tmp_path / "model", QUANTIZATIONS["w4a8"])


def test_floats_of_another_type(saved: Path, tmp_path: Path):
    """Stored narrow, they are read in either."""
    save_prepared(tmp_path / "out", saved, QUANTIZATIONS["w4a8"], dtype=torch.bfloat16)
    for dtype in (torch.bfloat16, torch.float32):
        model = load_checkpoint(tmp_path / "out", dtype=dtype, quantization=QUANTIZATIONS["w4a8"]).model
        assert model.embedding_VD.dtype is dtype
        assert torch.equal(
            model.embedding_VD.float(), load_checkpoint(saved, dtype=torch.bfloat16).model.embedding_VD.float()
        )


def test_what_is_in_files_is_what_was_told(converted: Path):
    index = json.loads((converted / "model.safetensors.index.json").read_text())
    held = nn.Module.state_dict(load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"]).model)
    assert {name for name, one in held.items() if one.numel()} <= index["weight_map"].keys()
    assert index["metadata"]["total_size"] == sum(path.stat().st_size for path in shards(converted))
