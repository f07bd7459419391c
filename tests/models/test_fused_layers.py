"""Fused layers and packed linears: their output is the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from sfumato.models.decoder import Decoder, FusedLayer, fuse
from sfumato.models.layers import PackedLinear, pack_linears, project
from sfumato.models.model import AttentionSpec
from sfumato.models.moe import MoEConfig


def make_linear(num_inputs: int, num_outputs: int, *, bias: bool = False) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(num_inputs, num_outputs, bias=bias)


def test_linears_of_one_input_are_packed():
    attention = nn.Module()
    attention.q_proj, attention.k_proj, attention.v_proj = (make_linear(8, size, bias=size == 4) for size in (16, 4, 4))
    attention.o_proj = make_linear(16, 8).double()
    model = nn.Sequential(nn.Sequential(attention), make_linear(8, 8))
    x = torch.randn(2, 3, 8)
    linears = (attention.q_proj, attention.k_proj, attention.v_proj)
    expected = [layer(x) for layer in linears]
    pack_linears(model)
    packed = (attention.q_proj, attention.k_proj, attention.v_proj)
    assert all(isinstance(layer, PackedLinear) for layer in packed)
    assert type(attention.o_proj) is nn.Linear, "not float32"
    assert type(model[1]) is nn.Linear, "a head is also used as a matrix"
    with torch.no_grad():
        for found in (project(x, *packed), [layer(x) for layer in packed]):
            for actual, reference in zip(found, expected, strict=True):
                torch.testing.assert_close(actual, reference)


MOE = MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"qk_norm": True, "self_conditioning": True},
        {"attention_bias": True, "output_bias": True, "mlp_bias": True},
        {"moe": MOE},
    ],
)
def test_fused_model_equals_the_unfused_one(make_decoder: Callable[..., Decoder], changes: dict[str, object]):
    model = make_decoder(**changes)
    tokens = torch.randint(model.config.vocab_size, (1, 13))
    inputs = (tokens, torch.arange(13).unsqueeze(0), AttentionSpec())
    soft = torch.randn(1, 13, model.config.hidden_size) if model.self_conditions else None
    with torch.inference_mode():
        expected = model(*inputs, soft_RQD=soft)
        fuse(model)
        fuse(model)
        fused = [isinstance(layer, FusedLayer) for layer in model.model.layers]
        assert fused == ["moe" not in changes] * 2
        torch.testing.assert_close(model(*inputs, soft_RQD=soft), expected, atol=1e-4, rtol=1e-4)


def test_bfloat16_models_are_not_fused(make_decoder: Callable[..., Decoder]):
    model = make_decoder().to(torch.bfloat16)
    fuse(model)
    assert not any(isinstance(module, (FusedLayer, PackedLinear)) for module in model.modules())
