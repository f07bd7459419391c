"""Samplers: what to accept, what to put back to noise, and when a canvas is finished. The denoiser is
injected."""

from sfumato.sampling.automaton import Automaton
from sfumato.sampling.canvas import CanvasBatch
from sfumato.sampling.constraint import Constraint
from sfumato.sampling.policy import StopHead
from sfumato.sampling.reading import Statistics
from sfumato.sampling.record import CanvasRecord, StepRecord
from sfumato.sampling.sampler import Active, Denoised, Denoiser, StepResult, denoise, denoising, step
from sfumato.sampling.settings import SAMPLERS, RowSettings, SamplerConfig

__all__ = [
    "SAMPLERS",
    "Active",
    "Automaton",
    "CanvasBatch",
    "CanvasRecord",
    "Constraint",
    "Denoised",
    "Denoiser",
    "RowSettings",
    "SamplerConfig",
    "Statistics",
    "StepRecord",
    "StepResult",
    "StopHead",
    "denoise",
    "denoising",
    "step",
]
