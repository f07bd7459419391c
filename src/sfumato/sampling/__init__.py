"""Sampling: which tokens to accept, which to renoise, and when a canvas is finished. The denoiser is injected."""

from sfumato.constraints.automaton import Automaton
from sfumato.sampling.canvas import CanvasBatch, RowSettings
from sfumato.sampling.config import SamplerConfig
from sfumato.sampling.constraint import Constraint
from sfumato.sampling.logits import Statistics
from sfumato.sampling.record import CanvasRecord, FinishedCanvas, Reading, StepRecord, StepResult
from sfumato.sampling.samplers.base import Decision, Sampler, Turn, register, samplers
from sfumato.sampling.step import Active, Denoiser, step
from sfumato.sampling.stopping import StopHead

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
