"""Layers against their formulas."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from sfumato.errors import ConfigError
from sfumato.kernels.base import TORCH, Backend
from sfumato.kernels.cpu.backend import CompiledBackend
from sfumato.models.layers import MLP, RMSNorm, RopeScaling, RotaryEmbedding, SelfConditioning, rotary_frequencies
from sfumato.models.moe import MoEConfig

# R rows, Q positions, H heads, E head dimension


@pytest.fixture(params=["torch", "compiled"])
def operations(request: pytest.FixtureRequest) -> Iterator[Backend]:
    with torch.no_grad():
        yield TORCH if request.param == "torch" else CompiledBackend()


def test_rms_norm_equals_its_formula():
    norm = RMSNorm(5, eps=0.1)
    with torch.no_grad():
        norm.weight.copy_(torch.arange(5.0))
    x = torch.randn(3, 5)
    expected = x / (x.square().mean(-1, keepdim=True) + 0.1).sqrt() * torch.arange(5.0)
    torch.testing.assert_close(norm(x), expected)


def test_mlp_equals_its_formula():
    mlp = MLP(3, 4)
    x = torch.randn(2, 3)
    gate, up, down = (layer.weight for layer in (mlp.gate_proj, mlp.up_proj, mlp.down_proj))
    inner = x @ gate.T
    torch.testing.assert_close(mlp(x), (inner * torch.sigmoid(inner) * (x @ up.T)) @ down.T)


def test_rotary_rotates_halves_by_position_times_frequency(operations: Backend):
    """Half-split layout: elements i and i + E/2 rotate as one complex number."""
    theta, size = 100.0, 6
    positions_RQ = torch.tensor([[0, 1, 7], [3, 300, 2]])
    x_RQHE = torch.randn(2, 3, 2, size)
    rotated = operations.rotate(x_RQHE, *RotaryEmbedding(rotary_frequencies(size, theta))(positions_RQ))
    frequencies = theta ** (-2 * torch.arange(size // 2, dtype=torch.float64) / size)
    angles = positions_RQ[..., None, None].double() * frequencies
    complex_x = torch.complex(*x_RQHE.double().chunk(2, dim=-1)) * torch.polar(torch.ones_like(angles), angles)
    torch.testing.assert_close(rotated.double(), torch.cat((complex_x.real, complex_x.imag), dim=-1), atol=2e-5, rtol=0)


@pytest.mark.parametrize("shift", [1, 50])
def test_rotary_scores_depend_only_on_distance(shift: int, operations: Backend):
    rotary = RotaryEmbedding(rotary_frequencies(8, 10000.0))
    query, key = torch.randn(2, 1, 1, 1, 8)

    def score(at_query: int, at_key: int) -> float:
        rotated = [
            operations.rotate(x, *rotary(torch.tensor([[position]])))
            for x, position in ((query, at_query), (key, at_key))
        ]
        return float((rotated[0] * rotated[1]).sum())

    assert score(9, 4) == pytest.approx(score(9 + shift, 4 + shift), abs=1e-4)
    assert score(9, 4) != pytest.approx(score(9, 5), abs=1e-3)


def test_self_conditioning_starts_at_zero_and_maps_zero_to_zero():
    block = SelfConditioning(4, 6, eps=1e-6)
    soft = torch.randn(2, 3, 4)
    assert not block(soft).any()
    torch.nn.init.normal_(block.mlp.down_proj.weight)
    assert block(soft).any()
    assert not block(torch.zeros(2, 3, 4)).any()


def test_heads_may_be_rotated_partially(operations: Backend):
    x = torch.randn(1, 4, 2, 8)
    part = RotaryEmbedding(rotary_frequencies(8, 100.0, fraction=0.5))(torch.arange(4)[None])
    rotated = operations.rotate(x, *part)
    assert torch.equal(rotated[..., 4:], x[..., 4:])
    torch.testing.assert_close(rotated[..., :4], operations.rotate(x[..., :4], *part))
    torch.testing.assert_close(part[0], RotaryEmbedding(rotary_frequencies(4, 100.0))(torch.arange(4)[None])[0])


def test_llama3_scaling_stretches_only_long_wavelengths():
    scaling = RopeScaling(rope_type="llama3", factor=8.0, original_max_position_embeddings=100)
    plain = rotary_frequencies(64, 1e4)
    found = rotary_frequencies(64, 1e4, scaling=scaling)
    wavelengths = 2 * torch.pi / plain
    short, long = wavelengths < 100 / 4, wavelengths > 100
    assert short.any()
    assert long.any()
    assert torch.equal(found[short], plain[short])
    torch.testing.assert_close(found[long], plain[long] / 8)
    between = ~short & ~long
    assert ((found < plain) & (found > plain / 8))[between].all()


def test_linear_scaling_divides_all_frequencies():
    scaling = RopeScaling(rope_type="linear", factor=4.0)
    torch.testing.assert_close(rotary_frequencies(6, 50.0, scaling=scaling), rotary_frequencies(6, 50.0) / 4)


def test_groups_of_one_expert_are_refused():
    sizes = {"num_experts": 4, "num_experts_per_tok": 1, "moe_intermediate_size": 8}
    with pytest.raises(ConfigError, match="n_group is 4; allowed: 1, or at most num_experts / 2 = 2"):
        MoEConfig(n_group=4, **sizes)
    assert [MoEConfig(n_group=num, **sizes).n_group for num in (1, 2)] == [1, 2]
    assert MoEConfig(**sizes | {"num_experts": 1}).n_group == 1
