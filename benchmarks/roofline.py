"""What share of a step its matrix products are."""

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
    """One denoising step of one canvas, and the matrix products in it done by themselves."""

    canvas_length: int
    """Positions of the canvas."""
    prefix: int
    """Committed positions before it."""
    step_s: float
    """Seconds of a step of the engine: forward, sampling, scheduling; median."""
    products_s: float
    """Seconds of all matrix products with weights, head included, at these sizes, one after the other; median."""
    share: float
    """products_s / step_s: what is left to gain by doing nothing else."""
    operations_per_s: float
    """Counted operations of the step over its time."""


def step_share(bench_model: BenchModel, length: int, prefix: int, *, repeats: int = 7) -> StepShare:
    """Measure steps and the products in them, in turns.

    Args:
        bench_model: the model, its weights floats.
        length: positions of the canvas.
        repeats: timed steps.
    """
    model, soft = bench_model.model.decoder, bench_model.model.spec.self_conditioning
    engine = bench_model.stepping(length, prefix, repeats)
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    inputs = {module.in_features: torch.randn(length, module.in_features) for module in linears}
    hidden = torch.randn(length, model.embedding_VD.shape[1])
    probs = torch.rand(1, length, model.embedding_VD.shape[0])

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
