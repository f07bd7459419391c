"""Share of a denoising step spent in matrix products."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from benchmarks.model import BenchModel, seconds
from sfumato.costs import step_cost


@dataclass(frozen=True, kw_only=True)
class StepShare:
    """One denoising step of one canvas, and its matrix products alone."""

    canvas_length: int
    """Positions of the canvas."""
    prefix: int
    """Committed positions before it."""
    step_s: float
    """Median seconds of an engine step: forward, sampling, scheduling."""
    products_s: float
    """Median seconds of all matrix products with weights at these sizes, including the head."""
    share: float
    """products_s / step_s; the rest is what could be saved."""
    operations_per_s: float
    """Counted operations of the step per second."""


def step_share(bench_model: BenchModel, length: int, prefix: int, *, repeats: int = 7) -> StepShare:
    """Measure steps and their matrix products in alternation.

    Args:
        bench_model: with float weights.
        length: positions of the canvas.
        repeats: timed steps.
    """
    model, soft = bench_model.model.decoder, bench_model.model.spec.self_conditioning
    engine = bench_model.stepping(length, prefix, repeats)
    # Linears that share a product compute all of it, so one of them is enough.
    linears = {
        getattr(module, "product", module): module for module in model.modules() if isinstance(module, nn.Linear)
    }.values()
    vocabulary, width, dtype = *model.embedding_VD.shape, model.embedding_VD.dtype
    inputs = {module.in_features: torch.randn(length, module.in_features, dtype=dtype) for module in linears}
    hidden, probs = torch.randn(length, width, dtype=dtype), torch.rand(1, length, vocabulary, dtype=dtype)

    @torch.inference_mode()
    def products() -> None:
        for module in linears:
            module(inputs[module.in_features])
        if getattr(model, "lm_head", None) is None:
            functional.linear(hidden, model.embedding_VD)
        if soft:
            model.soft_embedding(probs)

    products()
    pairs = [(seconds(engine.step), seconds(products)) for _ in range(repeats)]
    step_s, products_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    cost = step_cost(model, length, prefix, soft_embedding=soft)
    return StepShare(
        canvas_length=length,
        prefix=prefix,
        step_s=step_s,
        products_s=products_s,
        share=statistics.median(other / mine for mine, other in pairs),
        operations_per_s=cost.operations / step_s,
    )
