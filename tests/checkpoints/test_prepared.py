"""Models converted to the layout of their products: same output, memory-mapped, and errors that give the reason."""

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
    not multiplies_integers(torch.device("cpu")), reason="this CPU has no exact integer products"
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


def run(directory: Path, scheme: str) -> tuple[Tensor, Tensor]:
    """Hidden states and logits of a text and of a canvas."""
    model = load_checkpoint(directory, quantization=QUANTIZATIONS[scheme]).model
    tokens_1Q = torch.arange(12)[None]
    with torch.no_grad():
        hidden = torch.cat(
            [
                model(tokens_1Q, tokens_1Q, AttentionSpec(causal=True)),
                model(tokens_1Q, tokens_1Q, AttentionSpec(), canvas_RQ=torch.ones_like(tokens_1Q, dtype=torch.bool)),
            ]
        )
        return hidden, model.logits(hidden)


@pytest.mark.parametrize("scheme", ["w4a8", "w8a8"])
def test_converted_model_equals_the_loaded_one(saved: Path, tmp_path: Path, scheme: str):
    save_prepared(tmp_path / "out", saved, QUANTIZATIONS[scheme])
    for actual, expected in zip(run(tmp_path / "out", scheme), run(saved, scheme), strict=True):
        assert torch.equal(actual, expected)


def test_files_do_not_depend_on_the_cpu(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """CPUs without compiled kernels read and write the same panels."""
    save_prepared(tmp_path / "panels", saved, QUANTIZATIONS["w4a8"])
    for module in (products, prepared):
        monkeypatch.setattr(module, "is_available", lambda: False)
    save_prepared(tmp_path / "torch", saved, QUANTIZATIONS["w4a8"])
    for actual, expected in zip(shards(tmp_path / "torch"), shards(tmp_path / "panels"), strict=True):
        assert actual.read_bytes() == expected.read_bytes()
    for actual, expected in zip(run(tmp_path / "panels", "w4a8"), run(saved, "w4a8"), strict=True):
        assert torch.equal(actual, expected)


def test_files_are_memory_mapped(converted: Path):
    """In a fresh process, every tensor lies in a mapped file, and panels start at cache lines."""
    script = f"""
import torch
from pathlib import Path
from sfumato.checkpoints.load import load_checkpoint
from sfumato.models.quantization.weights import QUANTIZATIONS
model = load_checkpoint(Path({str(converted)!r}), quantization=QUANTIZATIONS["w4a8"]).model
maps = [line.split() for line in open("/proc/self/maps") if {str(converted)!r} in line]
ranges = [[int(end, 16) for end in fields[0].split("-")] for fields in maps]
for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
    if tensor.numel() and "rotary" not in name:
        assert any(start <= tensor.data_ptr() < end for start, end in ranges), name
    assert not name.endswith("panels") or tensor.data_ptr() % 64 == 0, name
print(len(ranges))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= len(shards(converted))


@pytest.mark.skipif(not products.is_available(), reason="torch multiplies on this CPU")
def test_experts_have_larger_groups(converted: Path):
    model = load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"]).model
    groups = {name: module.num_groups for name, module in model.named_modules() if hasattr(module, "num_groups")}
    assert groups["model.layers.0.mlp.experts.gate_up_proj.product.matrices"] == 64 // 64
    assert groups["model.layers.0.self_attn.q_proj.product.matrix"] == 64 // 32


def test_truncated_files_are_named(converted: Path):
    path = shards(converted)[1]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=f"{path.name}.*is the file complete"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


def test_missing_files_are_named(converted: Path):
    path = shards(converted)[1]
    path.unlink()
    with pytest.raises(CheckpointError, match=rf"lacks 1 of \d+ shards: {path.name}"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


def test_other_versions_are_refused(converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prepared, "VERSION", 2)
    with pytest.raises(CheckpointError, match=r"\"version\": 1.*allowed: version 2; convert the model again"):
        preparation_of(converted)


@pytest.mark.parametrize("record", ["{}", "no object", "[]", '{"version": 1, "dtype": "float32", "bits": 3}'])
def test_damaged_records_are_refused(converted: Path, monkeypatch: pytest.MonkeyPatch, record: str):
    monkeypatch.setattr(Preparation, "metadata", {prepared.PREPARED: record})
    path = converted / "model-00001.safetensors"
    path.write_bytes(
        b"".join(prepared.encode({"a": torch.ones(2)}, Preparation.of(QUANTIZATIONS["w4a8"], torch.float32)))
    )
    with pytest.raises(CheckpointError, match="convert the model again"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


def test_files_of_another_model_are_refused(converted: Path, make_decoder: Callable[..., Decoder], tmp_path: Path):
    spec, changes = SHAPES["mixture"]
    save_checkpoint(tmp_path / "wide", make_decoder(**SIZES | {"intermediate_size": 96}, **changes), spec)
    save_prepared(tmp_path / "other", tmp_path / "wide", QUANTIZATIONS["w4a8"])
    for path in shards(tmp_path / "other"):
        path.replace(converted / path.name)
    with pytest.raises(CheckpointError, match="does not hold this model"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


def test_files_of_another_conversion_are_refused(converted: Path, tmp_path: Path):
    save_prepared(tmp_path / "other", tmp_path / "model", QUANTIZATIONS["w8a8"])
    name = shards(converted)[1].name
    (tmp_path / "other" / name).replace(converted / name)
    with pytest.raises(CheckpointError, match=f"{name} belongs to another conversion"):
        load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"])


@pytest.mark.parametrize("scheme", [None, "w8a8", "int4"])
def test_only_the_converted_quantization_can_be_loaded(converted: Path, tmp_path: Path, scheme: str | None):
    """Nor can a converted model be converted again."""
    with pytest.raises(CheckpointError, match="holds weights in w4a8 for a CPU"):
        load_checkpoint(converted, quantization=None if scheme is None else QUANTIZATIONS[scheme])
    with pytest.raises(CheckpointError, match="in the form in which they are multiplied"):
        save_prepared(tmp_path / "again", converted, QUANTIZATIONS["w4a8"])
    assert not shards(tmp_path / "again")


@pytest.mark.parametrize("failing", ["model-00003.safetensors", "model.safetensors.index.json", "config.json"])
def test_full_disk_leaves_no_weights(converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str):
    fsync = os.fsync

    def fail(descriptor: int) -> None:
        if (tmp_path / "full" / f".{failing}.sfumato-partial").exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CheckpointError, match="No space left"):
        save_prepared(tmp_path / "full", tmp_path / "model", QUANTIZATIONS["w4a8"])
    assert list((tmp_path / "full").iterdir()) == []


def test_disk_space_is_checked_before_conversion(tmp_path: Path, converted: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prepared.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(CheckpointError, match=r"0\.0 GB of free disk, but the weights take"):
        save_prepared(tmp_path / "full", tmp_path / "model", QUANTIZATIONS["w4a8"])


@pytest.mark.parametrize("place", ["file", "file/inside"])
def test_files_in_the_place_of_the_directory_are_named(tmp_path: Path, converted: Path, place: str):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=f"cannot write .*{place}: "):
        save_prepared(tmp_path / place, tmp_path / "model", QUANTIZATIONS["w4a8"])


def test_floats_may_be_stored_in_bfloat16(saved: Path, tmp_path: Path):
    """They can be loaded as bfloat16 or float32."""
    save_prepared(tmp_path / "out", saved, QUANTIZATIONS["w4a8"], dtype=torch.bfloat16)
    for dtype in (torch.bfloat16, torch.float32):
        model = load_checkpoint(tmp_path / "out", dtype=dtype, quantization=QUANTIZATIONS["w4a8"]).model
        assert model.embedding_VD.dtype is dtype
        assert torch.equal(
            model.embedding_VD.float(), load_checkpoint(saved, dtype=torch.bfloat16).model.embedding_VD.float()
        )


def test_index_lists_every_tensor_and_the_total_size(converted: Path):
    index = json.loads((converted / "model.safetensors.index.json").read_text())
    state = nn.Module.state_dict(load_checkpoint(converted, quantization=QUANTIZATIONS["w4a8"]).model)
    assert {name for name, tensor in state.items() if tensor.numel()} <= index["weight_map"].keys()
    assert index["metadata"]["total_size"] == sum(path.stat().st_size for path in shards(converted))
