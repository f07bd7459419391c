"""Quantized weights: rounding error, memory, products, and the error of whole models."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
from sfumato.errors import CheckpointError, ConfigError
from sfumato.kernels.base import TORCH, Rounding
from sfumato.kernels.cpu.backend import CompiledBackend
from sfumato.models.decoder import Decoder
from sfumato.models.layers import project
from sfumato.models.model import AttentionSpec, set_backend
from sfumato.models.moe import MoEConfig
from sfumato.models.quantization import apply as quantize
from sfumato.models.quantization import products as integers
from sfumato.models.quantization.apply import quantize_model, weight_bytes
from sfumato.models.quantization.products import (
    Float8Product,
    IntegerExperts,
    IntegerProduct,
    IntegerTable,
    QuantizedLinear,
    grouped_product,
    multiplies_integers,
)
from sfumato.models.quantization.weights import QUANTIZATIONS, Quantization, QuantizedWeight, dequantize
from sfumato.spec import GenerationSpec

MOE = {"moe": MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, num_shared_experts=1)}

needs_integers = pytest.mark.skipif(
    not multiplies_integers(torch.device("cpu")), reason="this CPU has no exact integer products"
)


@pytest.mark.parametrize(("bits", "group"), [(8, 0), (8, 16), (4, 0), (4, 16)])
def test_dequantized_weight_is_within_half_a_level(bits: Any, group: int):
    """With 4 bits, which may clip the extremes, within a level and a half."""
    weight = (
        torch.randn(3, 5, 64, generator=torch.Generator().manual_seed(0))
        * torch.tensor([1e-3, 1.0, 50.0])[:, None, None]
    )
    quantized = QuantizedWeight(weight.shape, Quantization(bits=bits, group=group), torch.float32)
    quantized.put((), weight)
    size = group or (32 if bits == 4 else 64)
    low, high = (end.unsqueeze(-1) for end in weight.unflatten(-1, (-1, size)).aminmax(dim=-1))
    largest = 2 * torch.maximum(-low, high) if group == 0 and bits == 8 else high - low
    error = (quantized.dequantized() - weight).unflatten(-1, (-1, size)).abs()
    level = largest / (2**bits - (2 if group == 0 and bits == 8 else 1))
    # Minima are stored in float16.
    assert (error <= level * (0.5 if bits == 8 else 1.5) * 1.001 + 2**-11 * low.abs()).all()
    assert error.square().mean(-1, keepdim=True).lt(level.square() / 12 * 1.5).float().mean() > 0.95
    assert torch.equal(quantized[1], quantized.dequantized()[1])
    assert quantized.levels.element_size() * quantized.levels.numel() == weight.numel() * bits // 8


@pytest.mark.parametrize("kind", ["Q4_1", "Q4_0"])
@pytest.mark.parametrize("size", [1e-6, 1.0])
def test_weights_that_lie_on_levels_are_exact(kind: str, size: float):
    """As in llama.cpp's 4-bit formats: groups of 32 weights of level * scale + minimum, or of (level - 8) * scale."""
    generator = torch.Generator().manual_seed(0)
    levels = torch.randint(0, 16, (40, 96), generator=generator).unflatten(1, (-1, 32))
    if kind == "Q4_1":
        levels[..., 0], levels[..., 1] = 0, 15
    else:
        # The weight of largest magnitude has level 0; the other end may be anywhere.
        levels[..., 0] = 0
        levels[::2] = levels[::2].clamp_max(12)
    scale = (torch.rand(40, 3, 1, generator=generator) + 0.1).mul_(size).half().float()
    minimum = torch.randn(40, 3, 1, generator=generator).mul_(size).half().float() if kind == "Q4_1" else -8 * scale
    weight = (levels * scale + minimum).flatten(1)
    quantized = QuantizedWeight(weight.shape, QUANTIZATIONS["w4a8"], torch.float32)
    quantized.put((), weight)
    error = (quantized.dequantized() - weight).unflatten(1, (-1, 32)).abs() / scale
    assert error.max() < (1e-5 if kind == "Q4_1" and size == 1.0 else 0.01)


def test_4_bit_levels_minimize_the_squared_error():
    """It is less than that of 15 even steps from the smallest weight to the largest."""
    weight = torch.randn(50, 64, generator=torch.Generator().manual_seed(0))
    quantized = QuantizedWeight(weight.shape, QUANTIZATIONS["int4"], torch.float32)
    quantized.put((), weight)
    groups = weight.unflatten(1, (-1, 32))
    low, high = (end.unsqueeze(-1) for end in groups.aminmax(dim=-1))
    step = (high - low) / 15
    even = (((groups - low) / step).round() * step + low).flatten(1)
    error, even_error = ((found - weight).square().mean() for found in (quantized.dequantized(), even))
    assert error < 0.9 * even_error


def test_zero_rows_stay_zero():
    for quantization in (Quantization(), Quantization(bits=4), Quantization(group=2)):
        quantized = QuantizedWeight(torch.Size([2, 4]), quantization, torch.float32)
        quantized.put((), torch.tensor([[0.0, 0, 0, 0], [1, 2, 3, -4]]))
        assert not quantized[0].any()
        assert quantized[1].abs().max() == 4


def test_weights_can_be_stored_in_parts():
    weight = torch.randn(4, 6, 8)
    at_once, parts = (QuantizedWeight(weight.shape, Quantization(bits=4, group=8), torch.float32) for _ in range(2))
    at_once.put((), weight)
    for expert in range(4):
        parts.put((expert, slice(None, 3)), weight[expert, :3])
        parts.put((expert, slice(3, None)), weight[expert, 3:])
    assert torch.equal(at_once.dequantized(), parts.dequantized())


@pytest.mark.parametrize(
    ("quantization", "max_error"),
    [
        (Quantization(bits=8), 0.1),
        (Quantization(bits=8, group=16), 0.1),
        (Quantization(bits=4), 0.8),
        (QUANTIZATIONS["fp8"], 0.5),
    ],
    ids=["8 bits", "8 bits in groups", "4 bits", "fp8"],
)
@pytest.mark.parametrize(
    "changes", [{}, {"attention_bias": True, "tie_word_embeddings": False}, MOE], ids=["plain", "biases", "experts"]
)
def test_quantized_model_stays_close(
    make_decoder: Callable[..., Decoder],
    draw: Callable[..., list[int]],
    tmp_path: Path,
    quantization: Quantization,
    max_error: float,
    changes: dict[str, Any],
):
    """Relative to the spread of the logits; embeddings, heads, routers and norms are unchanged."""
    model = make_decoder(hidden_size=32, head_dim=8, intermediate_size=32, **changes)
    save_checkpoint(tmp_path, model, GenerationSpec())
    quantized = load_checkpoint(tmp_path, quantization=quantization).model
    tokens = torch.tensor([draw(20)])
    with torch.no_grad():
        expected, found = (
            decoder.logits(decoder(tokens, torch.arange(20)[None], AttentionSpec(causal=True)))
            for decoder in (model, quantized)
        )
    error = (expected - found).std() / expected.std()
    assert 0 < error < max_error
    assert torch.equal(quantized.embedding_VD, model.embedding_VD)
    layer = quantized.model.layers[1]
    assert isinstance(layer.self_attn.q_proj, QuantizedLinear)
    if "moe" in changes:
        assert isinstance(layer.mlp.experts.down_proj, QuantizedWeight)
        assert torch.equal(layer.mlp.gate.weight, model.model.layers[1].mlp.gate.weight)


@pytest.mark.parametrize("changes", [{}, {"tie_word_embeddings": False}, MOE], ids=["plain", "untied", "experts"])
@pytest.mark.parametrize("scheme", [None, "int8", "int4"])
def test_weight_memory_is_predicted(make_decoder: Callable[..., Decoder], scheme: str | None, changes: Any):
    """From a model that has no weights yet."""
    sizes = {"hidden_size": 32, "head_dim": 8, "intermediate_size": 64, **changes}
    quantization = None if scheme is None else QUANTIZATIONS[scheme]
    with torch.device("meta"):
        predicted = weight_bytes(Decoder(make_decoder(**sizes).config), quantization, 4)
    model = make_decoder(**sizes)
    if quantization is not None:
        quantize_model(model, quantization)
    quantized = [module for module in model.modules() if isinstance(module, QuantizedWeight)]
    tensors = [*model.parameters(), *(buffer for weight in quantized for buffer in weight.buffers())]
    assert predicted == sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def test_weight_memory_includes_integer_tables(make_decoder: Callable[..., Decoder]):
    model = make_decoder(hidden_size=32, head_dim=8, intermediate_size=32, self_conditioning=True)
    table = model.embedding_VD.numel()
    in_w8a8, in_int8, in_w4a8, in_int4 = (
        weight_bytes(model, QUANTIZATIONS[scheme], 4) for scheme in ("w8a8", "int8", "w4a8", "int4")
    )
    last = [weight for name, weight in model.named_parameters() if ".layers.1." in name and weight.dim() == 2]
    as_floats = sum(3 * weight.numel() - 4 * len(weight) for weight in last)
    assert in_w8a8 == in_int8 + as_floats + 2 * table
    # Half a byte per weight, four bytes per row, and four for its group of 32.
    assert in_w4a8 == in_int4 + 2 * table + sum(
        4 * weight.numel() - weight.numel() // 2 - 8 * len(weight) for weight in last
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bits": 5}, "bits is 5; allowed: 8 or 4"),
        ({"group": 3}, "group is 3"),
        (
            {"arithmetic": "int8", "group": 6},
            "int8 arithmetic with bits 8 and group 6; allowed: groups of a multiple of 4",
        ),
        ({"arithmetic": "int4"}, "unknown arithmetic 'int4'"),
        ({"arithmetic": "float8", "bits": 4}, "float8 arithmetic with bits 4 and group 0; allowed: bits 8 and group 0"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        Quantization(**settings)


def test_odd_numbers_of_inputs_cannot_be_packed():
    with pytest.raises(CheckpointError, match=r"shape \[2, 7\] cannot be stored in 4 bits"):
        QuantizedWeight(torch.Size([2, 7]), Quantization(bits=4), torch.float32)


def quantize_linears(
    linears: list[torch.nn.Linear], scheme: str = "w8a8", smooth_I: Any = 1.0
) -> list[QuantizedLinear]:
    quantized = []
    for linear in linears:
        weight = QuantizedWeight(linear.weight.shape, QUANTIZATIONS[scheme], torch.float32)
        weight.put((), linear.weight.detach() * smooth_I)
        quantized.append(QuantizedLinear(weight, linear.bias))
    return quantized


@needs_integers
@pytest.mark.parametrize("biased", [False, True])
def test_integer_product_equals_the_float_product_up_to_rounding(biased: bool):
    torch.manual_seed(0)
    linears = [torch.nn.Linear(64, size, bias=biased) for size in (6, 3, 8)]
    x = torch.randn(2, 20, 64)
    # One input is far larger than the others; smoothing moves part of it into the weights.
    x[..., 5] *= 100.0
    smooth_I = torch.ones(64)
    smooth_I[5] = 10.0
    with torch.no_grad():
        expected = [linear(x) for linear in linears]
        unsmoothed, smoothed = (
            IntegerProduct(quantize_linears(linears, smooth_I=scale_I), 1 / scale_I)(x)
            for scale_I in (torch.ones(64), smooth_I)
        )
        quantized = quantize_linears(linears, smooth_I=smooth_I)
        in_floats = [linear.weight.dequantized() * (1 / smooth_I) for linear in quantized]
        two_digits = IntegerProduct(quantized, 1 / smooth_I, digits=2)
        rounded = [
            torch.nn.functional.linear(x, weight, linear.bias)
            for weight, linear in zip(in_floats, two_digits.linears, strict=True)
        ]
    assert [out.shape for out in smoothed] == [out.shape for out in expected]

    def error(found: Any, expected: Any) -> float:
        return float(torch.cat(found, -1).sub(torch.cat(expected, -1)).abs().mean())

    assert error(smoothed, expected) < error(unsmoothed, expected) / 2
    assert error(smoothed, expected) < 0.03
    # Two digits leave an eighth of the error of rounding the inputs, besides that of rounding the weights.
    with torch.no_grad():
        assert error(two_digits(x), rounded) < error(smoothed, rounded) / 6


@pytest.mark.parametrize("biased", [False, True])
def test_fp8_product_equals_the_float_product_up_to_rounding(biased: bool):
    torch.manual_seed(0)
    linears = [torch.nn.Linear(64, size, bias=biased) for size in (16, 32)]
    x = torch.randn(2, 20, 64)
    # One input is far larger than the others, which stay as exact as before.
    x[..., 5] *= 100.0
    with torch.no_grad():
        expected = torch.cat([linear(x) for linear in linears], -1)
        quantized = quantize_linears(linears, "fp8")
        rounded = torch.cat([linear(x) for linear in quantized], -1)
        product = Float8Product(quantized)
        found = torch.cat(product(x), -1)
        assert not product(x[:, :0])[1].numel()
    # Only the weights are rounded in the first.
    errors = [float((out - expected).abs().mean()) for out in (rounded, found)]
    assert 0 < errors[0] < errors[1] < 0.06 * float(expected.abs().mean())


def test_fp8_experts_equal_products_of_rounded_inputs():
    generator = torch.Generator().manual_seed(0)
    weight_XOI, x_MI = torch.randn(4, 32, 16, generator=generator), torch.randn(10, 16, generator=generator)
    quantized = QuantizedWeight(weight_XOI.shape, QUANTIZATIONS["fp8"], torch.float32)
    quantized.put((), weight_XOI)
    # One expert has no rows.
    end_X = torch.tensor([3, 3, 9, 10], dtype=torch.int32)
    levels, scale = TORCH.quantize_float8(x_MI)
    rounded_MI = levels.float() * scale[:, None]
    expected = torch.cat(
        [rounded_MI[a:b] @ quantized[i].T for i, (a, b) in enumerate([(0, 3), (3, 3), (3, 9), (9, 10)])]
    )
    torch.testing.assert_close(grouped_product(x_MI, quantized, end_X), expected, rtol=1e-4, atol=1e-4)


def test_matrices_of_unsupported_shape_stay_float(make_decoder: Callable[..., Decoder]):
    model = make_decoder(hidden_size=32, head_dim=8, intermediate_size=40)
    quantize_model(model, QUANTIZATIONS["fp8"])
    layer = model.model.layers[-1]
    assert isinstance(layer.self_attn.q_proj.product, Float8Product)
    assert isinstance(layer.mlp.up_proj, torch.nn.Linear)
    assert isinstance(layer.mlp.down_proj, torch.nn.Linear)


@pytest.mark.parametrize("digits", [1, 2])
def test_linears_of_one_input_share_a_product(digits: int):
    torch.manual_seed(0)
    quantized = quantize_linears([torch.nn.Linear(16, size) for size in (6, 3)])
    alone = [linear.weight.dequantized() for linear in quantized]
    product = IntegerProduct(quantized, digits=digits)
    x = torch.randn(1, 18, 16)
    together = project(x, *quantized)
    assert all(torch.equal(linear(x), out) for linear, out in zip(quantized, together, strict=True))
    assert torch.equal(project(x, quantized[1])[0], together[1])
    # Linears that share a product store no weights of their own: it has them.
    assert not any(linear.weight.levels.numel() for linear in quantized)
    assert torch.equal(dequantize(product.matrix.levels, product.scales_O[:, None], torch.float32), torch.cat(alone))


@pytest.fixture(params=["ordered", "plain"])
def matrices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "ordered" and isinstance(
        integers.integer_matrix(torch.ones(1, 1).char()), integers.IntegerMatrix
    ):
        pytest.skip("this CPU has no matrix layout of its own")
    if request.param == "plain":
        monkeypatch.setattr(
            integers, "integer_matrix", lambda levels, groups=None, means=False: integers.IntegerMatrix(levels, groups)
        )


@needs_integers
@pytest.mark.usefixtures("matrices")
@pytest.mark.parametrize(("scheme", "max_error"), [("w8a8", 0.2), ("w4a8", 0.6)])
def test_integer_model_stays_close_and_shares_products(
    make_decoder: Callable[..., Decoder], draw: Callable[..., list[int]], scheme: str, max_error: float
):
    model = make_decoder(hidden_size=32, head_dim=8, intermediate_size=32, self_conditioning=True, attention_bias=True)
    exact = copy.deepcopy(model)
    quantize_model(model, QUANTIZATIONS[scheme])
    attention, mlp = model.model.layers[0].self_attn, model.model.layers[0].mlp
    assert not isinstance(model.model.layers[-1].mlp.up_proj, QuantizedLinear)
    assert attention.q_proj.product.linears == (attention.q_proj, attention.k_proj, attention.v_proj)
    assert mlp.gate_proj.product.linears == (mlp.gate_proj, mlp.up_proj)
    assert mlp.down_proj.product.linears == (mlp.down_proj,)
    tokens = torch.tensor([draw(24)])
    with torch.no_grad():
        logits = [
            decoder.logits(decoder(tokens, torch.arange(24)[None], AttentionSpec(causal=True)))
            for decoder in (exact, model)
        ]
        assert 0 < (logits[0] - logits[1]).std() / logits[0].std() < max_error
        probs = torch.rand(1, 24, model.config.vocab_size) ** 8
        probs /= probs.sum(-1, keepdim=True)
        means = [decoder.soft_embedding(probs) for decoder in (exact, model)]
    assert 0 < (means[0] - means[1]).abs().max() < 0.02 * means[0].abs().max()


@needs_integers
@pytest.mark.usefixtures("matrices")
@pytest.mark.parametrize(("bits", "max_error"), [(8, 0.03), (4, 0.2)])
def test_integer_experts_stay_close(
    make_decoder: Callable[..., Decoder], draw: Callable[..., list[int]], bits: Any, max_error: float
):
    """The sample routes nothing to one expert; in the last layer, only the linears stay float."""
    moe = dataclasses.replace(MOE["moe"], score_function="sigmoid")
    model = make_decoder(hidden_size=32, head_dim=8, moe=moe)
    experts = model.model.layers[0].mlp.experts
    model.model.layers[0].mlp.gate.expert_bias.data[3] = -10.0
    exact = copy.deepcopy(experts)
    quantize_model(model, Quantization(bits=bits, arithmetic="int8", sample=tuple(draw(40, seed=1))))
    last = model.model.layers[-1].mlp
    assert isinstance(last.experts.down_proj.product, IntegerExperts)
    assert isinstance(last.shared_experts.down_proj, torch.nn.Linear)
    assert isinstance(experts.down_proj.product, IntegerExperts)
    assert not experts.down_proj.levels.numel()
    generator = torch.Generator().manual_seed(0)
    x_ND, weights_NK = torch.randn(30, 32, generator=generator), torch.rand(30, 2, generator=generator)
    experts_NK = torch.rand(30, 4, generator=generator).argsort(1)[:, :2]
    with torch.no_grad():
        expected_ND, found_ND = (layer(x_ND, experts_NK, weights_NK) for layer in (exact, experts))
    assert 0 < (found_ND - expected_ND).std() / expected_ND.std() < max_error
    # The dequantized weights are those that are multiplied.
    rounded = TORCH.quantize(x_ND, Rounding(experts.gate_up_proj.product.unsmooth_I))
    counts = [14, 0, 15, 1]
    multiplied_NI = grouped_product(x_ND, experts.gate_up_proj, torch.tensor(counts).cumsum(0).int())
    rows = torch.split(rounded.levels_MI * rounded.scale_NG, counts)
    matrices, scales = experts.gate_up_proj.product.matrices, experts.gate_up_proj.scales
    weight_XID = dequantize(matrices.levels, scales, torch.float32, matrices.groups)
    read_NI = [part @ weight_ID.T for part, weight_ID in zip(rows, weight_XID, strict=True)]
    torch.testing.assert_close(multiplied_NI, torch.cat(read_NI), rtol=1e-4, atol=1e-4)


def test_float_products_replace_overflowing_integer_products(
    make_decoder: Callable[..., Decoder],
    draw: Callable[..., list[int]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    """The result is that of 8-bit weights with float arithmetic."""
    tokens, found = torch.tensor([draw(24)]), []
    for exact, name in ((True, "int8"), (False, "w8a8")):
        monkeypatch.setattr(quantize, "multiplies_integers", lambda device, exact=exact: exact)
        model = make_decoder(hidden_size=32, head_dim=8, intermediate_size=32, self_conditioning=True)
        quantize_model(model, QUANTIZATIONS[name])
        assert model.head_table is None
        with torch.no_grad():
            hidden = model(tokens, torch.arange(24)[None], AttentionSpec(causal=True))
        found.append(hidden)
    assert 0 < (found[0] - found[1]).abs().max() < 0.1
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@needs_integers
@pytest.mark.usefixtures("matrices")
@pytest.mark.parametrize("cap", [None, 2.0])
def test_best_logit_of_an_integer_table_is_exact(cap: float | None):
    generator = torch.Generator().manual_seed(0)
    weight_VD, x_ND = torch.randn(3000, 64, generator=generator), torch.randn(9, 64, generator=generator)
    # Two rows so close to each other that rounding may swap their order.
    weight_VD[7] = weight_VD[8] + 1e-4
    x_ND[0] = weight_VD[8]
    exact_NV = x_ND @ weight_VD.T
    expected_NV = exact_NV if cap is None else cap * torch.tanh(exact_NV / cap)
    for backend in (TORCH, CompiledBackend()):
        table = IntegerTable(weight_VD)
        set_backend(table, backend)
        with torch.no_grad():
            found_NV = table.logits(x_ND, weight_VD, cap)
        assert torch.equal(found_NV.argmax(-1), expected_NV.argmax(-1))
        torch.testing.assert_close(found_NV.amax(-1), expected_NV.amax(-1))
        assert 0 < (found_NV - expected_NV).abs().max() < 0.05 * exact_NV.std()


@needs_integers
@pytest.mark.usefixtures("matrices")
def test_integer_table_means_are_the_same_in_torch_and_compiled():
    generator = torch.Generator().manual_seed(0)
    weight_VD = torch.randn(700, 24, generator=generator) * torch.rand(700, 1, generator=generator)
    probs_NV = torch.rand(5, 700, generator=generator) ** 20
    means = []
    for backend in (TORCH, CompiledBackend()):
        table = IntegerTable(weight_VD)
        set_backend(table, backend)
        with torch.no_grad():
            means.append(table.mean(probs_NV))
    assert torch.equal(*means)
    torch.testing.assert_close(means[0], probs_NV @ weight_VD, rtol=0, atol=0.04)
