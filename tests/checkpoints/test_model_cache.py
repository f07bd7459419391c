"""Quantized models cached between starts: reused only if nothing changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.checkpoints import kept
from sfumato.checkpoints import load as checkpoint
from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec
from sfumato.models.moe import MoEConfig
from sfumato.models.quantization.products import IntegerProduct, multiplies_integers
from sfumato.models.quantization.weights import QUANTIZATIONS
from sfumato.spec import GenerationSpec

SIZES = {"hidden_size": 32, "head_dim": 8, "intermediate_size": 32, "num_hidden_layers": 3}
AUTOREGRESSIVE = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
CANVAS = GenerationSpec(canvas_length=8, self_conditioning=True)

pytestmark = pytest.mark.skipif(
    not multiplies_integers(torch.device("cpu")), reason="this CPU has no exact integer products"
)


@pytest.fixture(autouse=True)
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the cached models."""
    monkeypatch.delenv("SFUMATO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sfumato" / "kept"


@pytest.fixture
def fills(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """One entry for each time that weights are read and quantized."""
    calls: list[Any] = []
    fill = checkpoint.fill
    monkeypatch.setattr(checkpoint, "fill", lambda *args: (calls.append(args), fill(*args)))
    return calls


def logits(directory: Path, scheme: str = "w8a8") -> Tensor:
    model = load_checkpoint(directory, quantization=QUANTIZATIONS[scheme]).model
    tokens_1Q = torch.arange(12)[None]
    with torch.no_grad():
        return model.logits(model(tokens_1Q, tokens_1Q, AttentionSpec(causal=True)))


@pytest.mark.parametrize("scheme", ["w8a8", "w4a8"])
@pytest.mark.parametrize(
    ("spec", "changes"),
    [
        (AUTOREGRESSIVE, {}),
        (AUTOREGRESSIVE, {"tie_word_embeddings": False, "attention_bias": True}),
        (CANVAS, {"canvas_embedding": True, "self_conditioning": True}),
    ],
)
def test_second_start_reads_no_weights_and_gives_the_same_logits(
    make_decoder: Callable[..., Decoder],
    tmp_path: Path,
    fills: list[Any],
    spec: GenerationSpec,
    changes: Any,
    scheme: str,
):
    save_checkpoint(tmp_path, make_decoder(**SIZES, **changes), spec)
    first, second = logits(tmp_path, scheme), logits(tmp_path, scheme)
    assert len(fills) == 1
    assert torch.equal(first, second)
    # Other weights, another entry.
    save_checkpoint(tmp_path, make_decoder(seed=1, **SIZES, **changes), spec)
    assert not torch.equal(logits(tmp_path, scheme), first)
    assert len(fills) == 2


def test_autoregressive_models_use_two_digits_and_groups(make_decoder: Callable[..., Decoder], tmp_path: Path):
    for spec, digits in ((AUTOREGRESSIVE, 2), (CANVAS, 1)):
        save_checkpoint(tmp_path, make_decoder(**SIZES, self_conditioning=spec is CANVAS), spec)
        for _ in range(2):
            model = load_checkpoint(tmp_path, quantization=QUANTIZATIONS["w8a8"]).model
            product = model.model.layers[0].mlp.down_proj.product
            assert isinstance(product, IntegerProduct)
            assert product.digits == digits
            assert (product.matrix.groups is not None) == (digits == 2)


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "of another model"])
def test_damaged_entries_are_rewritten(
    make_decoder: Callable[..., Decoder], tmp_path: Path, entries: Path, fills: list[Any], damage: str
):
    save_checkpoint(tmp_path, make_decoder(**SIZES), AUTOREGRESSIVE)
    first = logits(tmp_path)
    [entry] = entries.iterdir()
    content = entry.read_bytes()
    if damage == "of another model":
        save_checkpoint(tmp_path / "other", make_decoder(**SIZES | {"intermediate_size": 64}), AUTOREGRESSIVE)
        logits(tmp_path / "other")
        [other] = set(entries.iterdir()) - {entry}
        other.replace(entry)
    else:
        entry.write_bytes({"cut": content[: len(content) // 2], "garbage": b"{}" * 100, "empty": b""}[damage])
    fills.clear()
    assert torch.equal(logits(tmp_path), first)
    assert torch.equal(logits(tmp_path), first)
    assert len(fills) == 1
    assert entry.read_bytes() == content
    assert list(entries.iterdir()) == [entry]


def test_least_recently_used_entry_is_evicted(entries: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "_LIMIT_BYTES", 250)
    paths = [kept.kept_path(name) for name in "abc"]
    for age, path in enumerate(paths[:2]):
        kept.keep(path, bytes(100))
        os.utime(path, (1000 - age, 1000 - age))
    kept.keep(paths[2], bytes(100))
    assert set(entries.iterdir()) == {paths[0], paths[2]}


def test_unwritable_cache_is_ignored(
    make_decoder: Callable[..., Decoder], tmp_path: Path, entries: Path, fills: list[Any]
):
    (tmp_path / "cache").write_text("no directory")
    save_checkpoint(tmp_path / "model", make_decoder(**SIZES), AUTOREGRESSIVE)
    assert torch.equal(logits(tmp_path / "model"), logits(tmp_path / "model"))
    assert len(fills) == 2


def test_unsupported_models_are_not_cached(make_decoder: Callable[..., Decoder], tmp_path: Path, entries: Path):
    """Mixtures of experts, and models without integer arithmetic."""
    moe = MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, num_shared_experts=1)
    for name, changes, scheme in (("experts", {"moe": moe}, "w8a8"), ("plain", {}, "int8"), ("floats", {}, None)):
        save_checkpoint(tmp_path / name, make_decoder(**SIZES, **changes), AUTOREGRESSIVE)
        load_checkpoint(tmp_path / name, quantization=None if scheme is None else QUANTIZATIONS[scheme])
    assert not entries.exists()
