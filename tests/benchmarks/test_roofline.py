"""Counts of operations and weights against sums done by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from sfumato.costs import Machine, measure_machine, model_size, step_cost
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.moe import MoEConfig

SIZES = {
    "vocab_size": 100,
    "hidden_size": 8,
    "intermediate_size": 20,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 6,
}
LAYER = 8 * 24 + 2 * 8 * 12 + 24 * 8 + 3 * 8 * 20
"""Projections of queries, keys and values, output, and the three matrices of the MLP."""
MOE = MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=10, first_k_dense_replace=1)


def on_meta(**changes: object) -> Decoder:
    with torch.device("meta"):
        return Decoder(DecoderConfig(**SIZES, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("tied", [True, False])
def test_a_dense_step(tied: bool):
    model = on_meta(tie_word_embeddings=tied)
    size = model_size(model)
    norms = 3 * 2 * 8 + 8
    assert size.num_parameters == size.num_active_parameters == 3 * LAYER + norms + 800 * (1 if tied else 2)
    assert size.num_cached == size.num_cached_beyond_windows == 3 * 2 * 2 * 6
    cost = step_cost(model, 5, 7)
    attention = 2 * (2 * 5 * 12 * 24)
    assert cost.operations == 2 * 5 * (3 * LAYER + 800) + 3 * attention
    assert cost.num_cached == 7 * 72
    assert cost.num_weights == 3 * LAYER + 800 * (1 if tied else 2)
    assert cost.bytes(4) == 4 * (cost.num_weights + cost.num_cached)
    both = step_cost(model, 5, 7, soft_embedding=True)
    assert both.operations - cost.operations == 2 * 5 * 800


def test_mixture_counts_the_chosen_experts():
    model = on_meta(moe=MOE)
    expert = 3 * 8 * 10
    dense = on_meta()
    outside = 3 * 8 * 20 * 2
    router = 4 * 8 * 2
    size = model_size(model)
    assert size.num_parameters == model_size(dense).num_parameters - outside + router + 2 * 4 * expert
    assert size.num_active_parameters == size.num_parameters - 2 * 2 * expert
    one, many = step_cost(model, 1), step_cost(model, 10_000)
    # One position reads its two experts of each layer, many read all four.
    assert many.num_weights - one.num_weights == pytest.approx(2 * 2 * expert)


def test_the_slower_of_arithmetic_and_memory_counts(make_decoder: Callable[..., Decoder]):
    cost = step_cost(make_decoder(), 4)
    assert Machine(operations_per_s=1.0, bytes_per_s=1e18).seconds(cost, 4) == cost.operations
    assert Machine(operations_per_s=1e18, bytes_per_s=1.0).seconds(cost, 4) == cost.bytes(4)


def test_this_machine_can_be_measured():
    machine = measure_machine(seconds=0.02)
    assert 1e8 < machine.operations_per_s < 1e15
    assert 1e7 < machine.bytes_per_s < 1e14
