"""The cost of a forward pass, counted from the model, and this machine's measured speed: the two sides of a
roofline."""

# L canvas, P prefix, D model, V vocabulary, X experts, K experts per position

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from sfumato.models import decoder, gemma
from sfumato.models.model import Model
from sfumato.models.moe import Experts, MixtureOfExperts


@dataclass(frozen=True, kw_only=True)
class ModelSize:
    """Parameter counts and cache size of a model, without reading weights."""

    num_parameters: int
    """All parameters, with a shared embedding counted once."""
    num_active_parameters: int
    """Parameters used per position; in a mixture, only the chosen experts."""
    num_cached: int
    """Cached numbers per prefix position, over all layers."""
    num_cached_beyond_windows: int
    """The same for positions outside all sliding windows."""


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """Cost of one forward over a canvas after a prefix."""

    operations: float
    """Multiplications and additions in matrix products, attention, head and soft embedding."""
    num_weights: float
    """Weights read; in a mixture, the experts expected to be chosen by some position."""
    num_cached: float
    """Numbers read from the cache."""

    def bytes(self, bytes_per_weight: float) -> float:
        """Bytes moved from memory, if everything is read once."""
        return (self.num_weights + self.num_cached) * bytes_per_weight


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What this machine reaches, measured."""

    operations_per_s: float
    """Fastest matrix product, in float32 or 8-bit integers."""
    bytes_per_s: float
    """Fastest read of memory beyond the caches."""

    def seconds(self, cost: StepCost, bytes_per_weight: float) -> float:
        """Lower bound on a step's time: arithmetic or memory, whichever is slower."""
        return max(cost.operations / self.operations_per_s, cost.bytes(bytes_per_weight) / self.bytes_per_s)


def model_size(model: Model) -> ModelSize:
    """Count a model, which may be on the meta device."""
    idle = 0
    for experts, chosen in _mixtures(model):
        total = experts.gate_up_proj.numel() + experts.down_proj.numel()
        idle += total - total // len(experts.gate_up_proj) * chosen
    heads = model.cache_heads
    windows = [window for _, window in _attentions(model)]
    return ModelSize(
        num_parameters=model.num_parameters,
        num_active_parameters=model.num_parameters - idle,
        num_cached=sum(2 * groups * size for groups, size in heads),
        num_cached_beyond_windows=sum(
            2 * groups * size for (groups, size), window in zip(heads, windows, strict=True) if window is None
        ),
    )


def step_cost(
    model: Model, length: int, prefix: int = 0, *, soft_embedding: bool = False, head: bool = True, rows: int = 1
) -> StepCost:
    """Cost of a denoising step.

    Args:
        model: may be on the meta device.
        length: positions of the canvas.
        prefix: committed positions before it, in the cache.
        soft_embedding: whether the step computes the soft embedding for the next one.
        head: whether the step computes logits.
        rows: canvases in the step, of one length and each behind a prefix of its own.
    """
    vocab_size, width = model.embedding_VD.shape
    per_position = vocab_size * width * (head + soft_embedding)
    weights: float = vocab_size * width
    for module in model.modules():
        if isinstance(module, nn.Linear):
            per_position += module.weight.numel()
            weights += module.weight.numel()
    # A separate head was counted among the linears.
    if isinstance(getattr(model, "lm_head", None), nn.Linear):
        per_position -= vocab_size * width
    for experts, chosen in _mixtures(model):
        num_experts = len(experts.gate_up_proj)
        one = (experts.gate_up_proj.numel() + experts.down_proj.numel()) // num_experts
        per_position += one * chosen
        weights += one * num_experts * (1.0 - (1.0 - chosen / num_experts) ** (rows * length))
    operations = 2.0 * rows * length * per_position
    cached = 0.0
    for (query_width, window), (groups, size) in zip(_attentions(model), model.cache_heads, strict=True):
        read = prefix if window is None else min(prefix, window - 1)
        operations += 4.0 * rows * length * (read + length) * query_width
        cached += 2.0 * rows * read * groups * size
    return StepCost(operations=operations, num_weights=weights, num_cached=cached)


def measure_machine(seconds: float = 0.3) -> Machine:
    """Measure matrix products and memory reads on the CPU.

    Args:
        seconds: time to measure each; the best repetition counts.
    """
    left, right = torch.rand(1024, 1024), torch.rand(1024, 1024)
    large = torch.rand(2**26)
    products = _best(lambda: left @ right, seconds)
    reads = _best(large.sum, seconds)
    return Machine(operations_per_s=2.0 * 1024**3 / products, bytes_per_s=large.numel() * 4 / reads)


def in_integers(machine: Machine) -> Machine:
    """The same machine, with the measured speed of torch's 8-bit integer products."""
    left, right = (torch.randint(128, (1024, 1024), dtype=torch.int8) for _ in range(2))
    products = _best(lambda: torch._int_mm(left, right), limit_s=0.3)
    return dataclasses.replace(machine, operations_per_s=2.0 * 1024**3 / products)


def _best(work: Callable[[], object], limit_s: float) -> float:
    best, until = float("inf"), time.perf_counter() + limit_s
    while (started := time.perf_counter()) < until:
        work()
        best = min(best, time.perf_counter() - started)
    return best


def _mixtures(model: Model) -> list[tuple[Experts, int]]:
    """Every layer's experts, with the number chosen per position."""
    found: list[tuple[Experts, int]] = []
    for module in model.modules():
        if isinstance(module, MixtureOfExperts):
            found.append((module.experts, module.gate.config.num_experts_per_tok))
        elif isinstance(module, gemma.GemmaLayer):
            found.append((module.experts, module.router.num_chosen))
    return found


def _attentions(model: Model) -> list[tuple[int, int | None]]:
    """Query width and sliding window of every layer."""
    found: list[tuple[int, int | None]] = []
    for module in model.modules():
        if isinstance(module, decoder.SelfAttention):
            found.append((module.q_proj.out_features, None))
        elif isinstance(module, gemma.SelfAttention):
            found.append((module.q_proj.out_features, module.shape.window))
    return found
