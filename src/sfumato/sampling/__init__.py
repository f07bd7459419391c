"""Sampling: which tokens to accept, which to renoise, and when a canvas is finished. The denoiser is injected."""

from sfumato.constraints.automaton import Automaton
from sfumato.kernels.base import Statistics
from sfumato.sampling.canvas import CanvasBatch, CanvasRecord, FinishedCanvas, Reading, StepRecord, StepResult
from sfumato.sampling.config import RowSettings, SamplerConfig
from sfumato.sampling.constraint import Constraint
from sfumato.sampling.logits import StopHead
from sfumato.sampling.samplers.base import Decision, Sampler, Turn, register, samplers
from sfumato.sampling.step import Active, Denoiser, step

__all__ = [
    "Active",
    "Automaton",
    "CanvasBatch",
    "CanvasRecord",
    "Constraint",
    "Decision",
    "Denoiser",
    "FinishedCanvas",
    "Reading",
    "RowSettings",
    "Sampler",
    "SamplerConfig",
    "Statistics",
    "StepRecord",
    "StepResult",
    "StopHead",
    "Turn",
    "register",
    "samplers",
    "step",
]
