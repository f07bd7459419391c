"""Weights in few bits: what they come back as, where they go, and that a model of them stays close."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.errors import CheckpointError, ConfigError
from sfumato.models.attention import AttentionSpec
from sfumato.models.checkpoint import load_checkpoint, save_checkpoint
from sfumato.models.decoder import Decoder
from sfumato.models.moe import MoEConfig
from sfumato.models.quantize import Quantization, QuantizedLinear, QuantizedWeight
from sfumato.spec import GenerationSpec

MOE = {"moe": MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, num_shared_experts=1)}


@pytest.mark.parametrize(("bits", "group"), [(8, 0), (8, 16), (4, 0), (4, 16)])
def test_a_weight_comes_back_within_half_a_level(bits: Any, group: int):
    weight = (
        torch.randn(3, 5, 64, generator=torch.Generator().manual_seed(0))
        * torch.tensor([1e-3, 1.0, 50.0])[:, None, None]
    )
    held = QuantizedWeight(weight.shape, Quantization(bits=bits, group=group), torch.float32)
    held.put((), weight)
    size = group or (32 if bits == 4 else 64)
    largest = weight.unflatten(-1, (-1, size)).abs().amax(-1, keepdim=True)
    error = (held.dequantized() - weight).unflatten(-1, (-1, size)).abs()
    assert (error <= largest / (2 ** (bits - 1) - 1) / 2 * 1.001).all()
    assert torch.equal(held[1], held.dequantized()[1])
    assert held.levels.element_size() * held.levels.numel() == weight.numel() * bits // 8


def test_a_row_of_zeros_stays_zero():
    held = QuantizedWeight(torch.Size([2, 4]), Quantization(), torch.float32)
    held.put((), torch.tensor([[0.0, 0, 0, 0], [1, 2, 3, -4]]))
    assert not held[0].any()
    assert held[1].abs().max() == 4


def test_parts_make_the_whole():
    weight = torch.randn(4, 6, 8)
    whole, parts = (QuantizedWeight(weight.shape, Quantization(bits=4, group=8), torch.float32) for _ in range(2))
    whole.put((), weight)
    for expert in range(4):
        parts.put((expert, slice(None, 3)), weight[expert, :3])
        parts.put((expert, slice(3, None)), weight[expert, 3:])
    assert torch.equal(whole.dequantized(), parts.dequantized())


@pytest.mark.parametrize(("bits", "worst"), [(8, 0.1), (4, 0.8)])
@pytest.mark.parametrize(
    "changes", [{}, {"attention_bias": True, "tie_word_embeddings": False}, MOE], ids=["plain", "biases", "experts"]
)
def test_a_model_in_few_bits_stays_close(
    make_decoder: Callable[..., Decoder],
    draw: Callable[..., list[int]],
    tmp_path: Path,
    bits: Any,
    worst: float,
    changes: dict[str, Any],
):
    """Relative to how much logits vary; embeddings, heads, routers and norms are what they were."""
    model = make_decoder(hidden_size=32, head_dim=8, intermediate_size=32, **changes)
    save_checkpoint(tmp_path, model, GenerationSpec())
    few = load_checkpoint(tmp_path, quantization=Quantization(bits=bits)).model
    tokens = torch.tensor([draw(20)])
    with torch.no_grad():
        expected, found = (
            one.logits(one(tokens, torch.arange(20)[None], AttentionSpec(causal=True))) for one in (model, few)
        )
    error = (expected - found).std() / expected.std()
    assert 0 < error < worst
    assert torch.equal(few.embedding_VD, model.embedding_VD)
    layer = few.model.layers[1]
    assert isinstance(layer.self_attn.q_proj, QuantizedLinear)
    if "moe" in changes:
        assert isinstance(layer.mlp.experts.down_proj, QuantizedWeight)
        assert torch.equal(layer.mlp.gate.weight, model.model.layers[1].mlp.gate.weight)


@pytest.mark.parametrize(
    ("settings", "message"), [({"bits": 5}, "bits is 5; allowed: 8 or 4"), ({"group": 3}, "group is 3")]
)
def test_settings_that_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        Quantization(**settings)


def test_an_odd_number_of_inputs_does_not_pack():
    with pytest.raises(CheckpointError, match=r"shape \[2, 7\] cannot be held in 4 bits"):
        QuantizedWeight(torch.Size([2, 7]), Quantization(bits=4), torch.float32)
