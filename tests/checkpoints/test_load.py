"""Checkpoints load as they were saved, and whatever is wrong with one is named."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
from sfumato.errors import CheckpointError
from sfumato.models.decoder import Decoder
from sfumato.spec import GenerationSpec

SPEC = GenerationSpec(noise="hybrid", mask_id=4, canvas_length=8, commit="in_place", self_conditioning=True)


@pytest.fixture
def saved(make_decoder: Callable[..., Decoder], tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "model", make_decoder(), GenerationSpec(), generation={"steps": 7})
    return tmp_path / "model"


def test_saved_checkpoint_is_restored(variant: Decoder, tmp_path: Path):
    save_checkpoint(tmp_path / "new" / "model", variant, SPEC, generation={"steps": 7, "max_tokens": 3})
    loaded = load_checkpoint(tmp_path / "new" / "model")
    assert loaded.model.config == variant.config
    assert loaded.spec == SPEC
    assert loaded.generation == {"steps": 7, "max_tokens": 3}
    assert not loaded.model.training
    expected, found = variant.state_dict(), loaded.model.state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_given_tensors_are_saved_in_the_given_dtype(make_decoder: Callable[..., Decoder], tmp_path: Path):
    model = make_decoder()
    average = {name: parameter.detach() / 3 for name, parameter in model.named_parameters()}
    save_checkpoint(tmp_path, model, SPEC, tensors=average, dtype=torch.bfloat16)
    assert {tensor.dtype for tensor in load_file(tmp_path / "model.safetensors").values()} == {torch.bfloat16}
    loaded = load_checkpoint(tmp_path).model.state_dict()
    assert all(torch.equal(tensor.bfloat16().float(), loaded[name]) for name, tensor in average.items())


def test_generation_defaults_are_optional(saved: Path):
    (saved / "generation_config.json").unlink()
    assert load_checkpoint(saved).generation == {}


def rewrite(directory: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    tensors = load_file(directory / "model.safetensors")
    change(tensors)
    save_file(tensors, directory / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("model.norm.weight"), "missing: model.norm.weight"),
        (lambda t: t.update(extra=torch.zeros(1)), "unexpected: extra"),
        (
            lambda t: t.update({"model.norm.weight": torch.zeros(17)}),
            r"misshapen: model.norm.weight \[17\], not \[16\]",
        ),
        (
            lambda t: t.update(
                {"model.layers.1.mlp.up_proj.weight": t["model.layers.1.mlp.up_proj.weight"].T.contiguous()}
            ),
            r"misshapen: model.layers.1.mlp.up_proj.weight \[16, 24\], not \[24, 16\]",
        ),
        (lambda t: t["model.norm.weight"].__setitem__(3, float("nan")), "not finite: model.norm.weight"),
        (lambda t: t["model.norm.weight"].__setitem__(3, float("-inf")), "not finite: model.norm.weight"),
        (lambda t: t.update({"model.norm.weight": torch.ones(16, dtype=torch.int8)}), "integers: model.norm.weight"),
        (
            lambda t: t.update({"a": torch.zeros(1), "b": t.pop("model.norm.weight")}),
            "missing: model.norm.weight; unexpected: a, b$",
        ),
        (lambda t: t.update({f"x{i}": torch.zeros(1) for i in range(10)}), r"x7 and 2 more$"),
    ],
    ids=["missing", "extra", "misshapen", "transposed", "nan", "infinite", "integers", "renamed", "many"],
)
def test_mismatched_tensors_are_named(saved: Path, change: Callable[..., Any], message: str):
    rewrite(saved, change)
    with pytest.raises(CheckpointError, match=message) as caught:
        load_checkpoint(saved)
    assert "model.safetensors" in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.5, 0.999])
def test_truncated_files_are_named(saved: Path, share: float):
    path = saved / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CheckpointError, match=r"cannot read .*model\.safetensors: .*; is the file complete\?"):
        load_checkpoint(saved)


def test_pickles_are_not_loaded(saved: Path):
    torch.save({"model.norm.weight": torch.zeros(16)}, saved / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"cannot read .*model\.safetensors"):
        load_checkpoint(saved)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("replacement", ["nothing", "a directory"])
def test_missing_files_and_directories_in_their_place_are_named(saved: Path, name: str, replacement: str):
    (saved / name).unlink()
    if replacement == "a directory":
        (saved / name).mkdir()
    with pytest.raises(CheckpointError, match=f"cannot read .*{name}"):
        load_checkpoint(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "sfumata"}, "unknown model_type 'sfumata'; did you mean 'sfumato'"),
        ({"model_type": None}, "unknown model_type 'None'"),
        ({"model_type": "other", "auto_map": {"AutoModel": "code.Model"}}, r"it names \(auto_map\) is never run"),
        ({"hiden_size": 3}, r"config.json: unknown key 'hiden_size'; did you mean 'hidden_size'"),
        ({"hidden_size": "16"}, "hidden_size is '16'; allowed: a whole number"),
        ({"head_dim": 7}, "head_dim is 7; allowed: an even number"),
        ({"vocab_size": 24}, r"misshapen: model.embed_tokens.weight \[23, 16\], not \[24, 16\]"),
        ({"attention_bias": True}, "missing: model.layers.0.self_attn.k_proj.bias"),
        ({"generation_spec": {"noise": "gauss"}}, "generation_spec.noise 'gauss'"),
        ({"generation_spec": {"canvas_lenght": 4}}, "did you mean 'generation_spec.canvas_length'"),
        ({"generation_spec": {"canvas_length": "64"}}, "canvas_length is '64'; allowed: a whole number"),
        ({"generation_spec": {"canvas_length": 0}}, "canvas_length is 0; allowed: 1 or more"),
        ({"generation_spec": [1]}, r"generation_spec is \[1\]"),
    ],
)
def test_invalid_configs_are_refused(saved: Path, changes: dict[str, Any], message: str):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "is not JSON"), (b"\xff{}", "is not JSON"), (b"[" * 100_000, "is not JSON"), (b"[]", "holds a list")],
)
def test_configs_that_are_not_objects_are_refused(saved: Path, content: bytes, message: str):
    (saved / "config.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(saved)


def test_full_disk_leaves_the_previous_checkpoint(
    saved: Path, make_decoder: Callable[..., Decoder], monkeypatch: pytest.MonkeyPatch
):
    before = {path.name: path.read_bytes() for path in saved.iterdir()}

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CheckpointError, match=r"cannot write .*model\.safetensors: No space left on device"):
        save_checkpoint(saved, make_decoder(seed=1), SPEC)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
