"""Quantizes a model: selects the parameters and installs the quantized weights.

Embeddings, heads, routers and norms stay floats.
"""

# Q positions, I inputs of a linear or inside of an expert, D model, M rows sorted by expert, X experts

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Collection, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from sfumato.models.layers import shared_inputs
from sfumato.models.model import AttentionSpec, Model, set_backend
from sfumato.models.moe import Experts
from sfumato.models.quantization.products import (
    Float8Product,
    IntegerExperts,
    IntegerProduct,
    IntegerTable,
    QuantizedLinear,
    multiplies_float8,
    multiplies_integers,
)
from sfumato.models.quantization.weights import FLOAT8_SIDES, Quantization, QuantizedWeight

_LOG = logging.getLogger(__name__)
# Maximum tokens for calibration, and the smallest input counted.
_NUM_SEEN = 1024
_SMALLEST = 1e-5
# Bytes of float weights of linears that wait for smoothing.
_WAITING_BYTES = 2**31


def quantize_model(model: Model, quantization: Quantization) -> None:
    """Quantize a model's linears and experts in place, and `finish` it."""
    for name in quantizable(model, quantization) - waiting(model, quantization):
        hold(model, name, model.get_parameter(name).detach(), quantization)
    finish(model, quantization)


def waiting(model: Model, quantization: Quantization) -> set[str]:
    """Names of parameters that stay floats until `finish` smooths them, so that they are rounded once: linears of whole
    rows, unless they are too large together. The model may be on the meta device."""
    if quantization.arithmetic != "int8" or quantization.grouped:
        return set()
    names = {name for name in quantizable(model, quantization) if name.endswith(".weight")}
    return names if sum(4 * model.get_parameter(name).numel() for name in names) <= _WAITING_BYTES else set()


def hold(model: Model, name: str, value: Tensor, quantization: Quantization) -> None:
    """Replace a parameter by its quantized value."""
    weight = QuantizedWeight(value.shape, quantization, value.dtype, value.device)
    weight.put((), value)
    install(model, name, weight)


def quantizable(model: Model, quantization: Quantization) -> set[str]:
    """Names of parameters that can be quantized and are not yet: linears inside the layers, and experts.

    With integer inputs, the last layer's linears are left out, because their rounding errors reach the logits directly.
    Its experts are not: as floats they would take as long as those of a dozen other layers. For 8-bit floats, only
    matrices with sides that GPUs multiply.
    """
    last = f".layers.{len(model.cache_heads) - 1}." if quantization.arithmetic == "int8" else None
    names: set[str] = set()
    for path, module in model.named_modules():
        if isinstance(module, Experts):
            names |= {f"{path}.{name}" for name in module._parameters}
        elif last is not None and last in f".{path}.":
            continue
        elif isinstance(module, nn.Linear) and ".layers." in f".{path}" and not path.endswith("router.proj"):
            names.add(f"{path}.weight")
    if quantization.arithmetic == "float8":
        shapes = {name: model.get_parameter(name).shape for name in names}
        names = {name for name, shape in shapes.items() if not any(side % FLOAT8_SIDES for side in shape[-2:])}
    return names


def weight_bytes(model: Model, quantization: Quantization | None, float_bytes: int) -> int:
    """Memory of a model's weights, including tables; the model may be on the meta device.

    Args:
        model: of float weights.
        quantization: of the weights that can be quantized.
        float_bytes: size of each of the others.
    """
    held = set() if quantization is None else quantizable(model, quantization)
    total = 0
    for name, weight in model.named_parameters():
        if quantization is not None and name in held:
            total += weight.numel() * quantization.bits // 8 + 4 * weight.numel() // weight.shape[-1]
            if quantization.grouped:
                total += 4 * weight.numel() // quantization.group_of(weight.shape)
        else:
            total += weight.numel() * float_bytes
    if quantization is not None and quantization.arithmetic == "int8":
        total += model.head_VD.numel() + model.embedding_VD.numel() * model.self_conditions
    return total


def install(model: Model, name: str, weight: QuantizedWeight) -> None:
    """Install a quantized weight in place of a parameter."""
    path, _, attribute = name.rpartition(".")
    module = model.get_submodule(path)
    if isinstance(module, (nn.Linear, QuantizedLinear)):
        parent, _, child = path.rpartition(".")
        setattr(model.get_submodule(parent), child, QuantizedLinear(weight, module.bias))
    else:
        del module._parameters[attribute]
        setattr(module, attribute, weight)


def finish(model: Model, quantization: Quantization) -> None:
    """Final steps once all weights are in place: shared products with smoothed inputs, tables for logits and mean
    embeddings, and the backend.

    For whole rows, integer input i is divided by s_i = sqrt(largest |input i| / largest |weight i|), so that weights
    absorb part of a few large inputs. Inputs are measured on a sample, read as a text and as a canvas.

    Source: SmoothQuant, Xiao et al. 2022, arXiv 2211.10438, equation 4 with alpha 0.5.
    """
    arithmetic = quantization.arithmetic
    if arithmetic == "int8" and not multiplies_integers(model.device):
        _LOG.warning("this CPU has no exact products of integers: weights are in 8 bits, and are multiplied as floats")
        arithmetic = "float"
    if arithmetic == "int8":
        if quantization.grouped:
            share_groups(model, quantization)
        else:
            _smooth(model, quantization)
        make_tables(model)
        # `fuse` does the rest.
        set_backend(model, model.choose_backend())
        return
    for name in waiting(model, quantization):
        hold(model, name, model.get_parameter(name).detach(), quantization)
    if arithmetic == "float8" and multiplies_float8(model.device):
        for paths in _input_groups(model):
            Float8Product(_quantized(model, paths))
    if model.device.type == "cuda":
        set_backend(model, model.choose_backend())


def lay_out(model: Model, quantization: Quantization, dtype: torch.dtype) -> None:
    """Give a model on the meta device the modules of one that multiplies integers on a CPU, without their tensors."""
    for name in quantizable(model, quantization):
        install(model, name, QuantizedWeight(model.get_parameter(name).shape, quantization, dtype, "meta"))
    share_groups(model, quantization)
    make_tables(model)


def share_groups(model: Model, quantization: Quantization) -> None:
    """Create shared integer products of linears with one input, and one per expert; groups need no smoothing. The model
    may be on the meta device."""
    for paths in _input_groups(model):
        IntegerProduct(_quantized(model, paths), digits=quantization.digits)
    for experts in _mixtures(model):
        for weight in _weights_of(experts):
            IntegerExperts(weight)


def _input_groups(model: Model, names: Collection[str] = ()) -> list[list[str]]:
    """Names of linears by shared input: of those that are quantized, and of those with the given weights."""
    groups: list[list[str]] = []
    for path, module in model.named_modules():
        prefix = f"{path}." if path else ""
        linears = [
            name
            for name, child in module.named_children()
            if isinstance(child, QuantizedLinear) or f"{prefix}{name}.weight" in names
        ]
        groups += [[f"{prefix}{name}" for name in group] for group in shared_inputs(module, linears)]
    return groups


def _quantized(model: Model, paths: Sequence[str]) -> list[QuantizedLinear]:
    return [cast(QuantizedLinear, model.get_submodule(path)) for path in paths]


def _mixtures(model: Model) -> list[Experts]:
    """All experts, but on a GPU, where they would be multiplied one by one."""
    return [module for module in model.modules() if isinstance(module, Experts) and model.device.type != "cuda"]


def _weights_of(experts: Experts) -> list[QuantizedWeight]:
    return [weight for weight in experts.children() if isinstance(weight, QuantizedWeight)]


def _smooth(model: Model, quantization: Quantization) -> None:
    """Create shared integer products of linears with one input and smoothed weights, and one per expert."""
    groups, mixtures = _input_groups(model, waiting(model, quantization)), _mixtures(model)
    peaks, peaks_of_experts = _seen_inputs(model, quantization, [paths[0] for paths in groups], mixtures)
    for paths, peak_I in zip(groups, peaks, strict=True):
        linears = [cast(QuantizedLinear | nn.Linear, model.get_submodule(path)) for path in paths]
        weights = [
            linear.weight.dequantized() if isinstance(linear, QuantizedLinear) else linear.weight.detach()
            for linear in linears
        ]
        smooth_I = _smoothing(peak_I, torch.stack([weight_OI.abs().amax(0) for weight_OI in weights]).amax(0))
        for path, weight_OI in zip(paths, weights, strict=True):
            hold(model, f"{path}.weight", weight_OI * smooth_I, quantization)
        IntegerProduct(_quantized(model, paths), 1.0 / smooth_I, quantization.digits)
    for experts in mixtures:
        _multiply_experts(experts, peaks_of_experts)


def make_tables(model: Model) -> None:
    """Create the integer tables of a model's head and embedding."""
    tied, means = model.head_VD is model.embedding_VD, model.self_conditions
    model.head_table = IntegerTable(model.head_VD, means=means and tied)
    if means:
        model.embedding_table = model.head_table if tied else IntegerTable(model.embedding_VD, logits=False)


def _multiply_experts(experts: Experts, peaks: dict[QuantizedWeight, Tensor]) -> None:
    """Smooth the input of all experts and each expert's inner values, using the half of its weights that is not the
    gate."""
    outer, inner = (getattr(experts, name) for name in ("gate_up_proj", "down_proj"))
    assert isinstance(outer, QuantizedWeight)
    assert isinstance(inner, QuantizedWeight)
    weight_D = torch.zeros_like(peaks[outer][0])
    for i in range(len(outer)):
        torch.maximum(weight_D, outer[i].abs().amax(0), out=weight_D)
    smooth_D = _smoothing(peaks[outer].amax(0), weight_D)
    for i, peak_I in enumerate(peaks[inner]):
        outer.put((i,), outer[i] * smooth_D)
        # The inner values of an unused expert are unknown.
        if peak_I.any():
            weight_DI = inner[i]
            smooth_I = _smoothing(peak_I, weight_DI.abs().amax(0))
            inner.put((i,), weight_DI * smooth_I)
            outer.scales[i, -len(smooth_I) :] /= smooth_I.unsqueeze(-1)
    IntegerExperts(outer, 1.0 / smooth_D)
    IntegerExperts(inner)


def _smoothing(peak_I: Tensor, weight_I: Tensor) -> Tensor:
    return (peak_I.clamp_min(_SMALLEST) / weight_I.clamp_min(_SMALLEST)).sqrt()


@torch.no_grad()
def _seen_inputs(
    model: Model, quantization: Quantization, paths: Sequence[str], mixtures: Sequence[Experts]
) -> tuple[list[Tensor], dict[QuantizedWeight, Tensor]]:
    """Largest absolute inputs, per element, of linears and experts on a sample; with two digits, the root mean square.

    Returns:
        linears: maxima of each linear.
        experts: by weight, [X, I] maxima per expert.
    """
    typical, sample = quantization.digits == 2, quantization.sample
    linears = [cast(QuantizedLinear | nn.Linear, model.get_submodule(path)) for path in paths]
    peaks = [model.embedding_VD.new_zeros(linear.weight.shape[-1]) for linear in linears]
    experts: dict[QuantizedWeight, Tensor] = {}

    def look(peak_I: Tensor, linear: nn.Module, args: tuple[Tensor]) -> None:
        x_NI = args[0].flatten(0, -2)
        torch.maximum(peak_I, x_NI.square().mean(0).sqrt() if typical else x_NI.abs().amax(0), out=peak_I)

    def look_at_rows(weight: QuantizedWeight, x_MI: Tensor, end_X: Tensor) -> None:
        peak_XI = experts.setdefault(weight, x_MI.new_zeros(len(weight), x_MI.shape[1]))
        for peak_I, (first, last) in zip(peak_XI, itertools.pairwise([0, *end_X.tolist()]), strict=True):
            if first < last:
                torch.maximum(peak_I, x_MI[first:last].abs().amax(0), out=peak_I)

    handles = [
        linear.register_forward_pre_hook(functools.partial(look, peak_I))
        for linear, peak_I in zip(linears, peaks, strict=True)
    ]
    weights = [weight for each in mixtures for weight in _weights_of(each)]
    for weight in weights:
        weight.watch = look_at_rows
    num_positions = min(_NUM_SEEN, model.config.max_position_embeddings)
    tokens_1Q = torch.tensor([sample[:num_positions]], device=model.device)
    if not sample:
        generator = torch.Generator().manual_seed(0)
        tokens_1Q = torch.randint(model.config.vocab_size, (1, num_positions), generator=generator).to(model.device)
    num_positions = tokens_1Q.shape[1]
    positions_1Q = torch.arange(num_positions, device=model.device).unsqueeze(0)
    try:
        model(tokens_1Q, positions_1Q, AttentionSpec(causal=True))
        if not typical:
            model(tokens_1Q, positions_1Q, AttentionSpec(), canvas_RQ=torch.ones_like(tokens_1Q, dtype=torch.bool))
    finally:
        for handle in handles:
            handle.remove()
        for weight in weights:
            weight.watch = None
    return peaks, experts
