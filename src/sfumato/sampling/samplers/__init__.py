"""Samplers, one class each: a new one is a new class and, to be known by name, one line here."""

from sfumato.sampling.samplers.base import (
    Decision,
    Entropy,
    Sampler,
    StepLogits,
    Turn,
    find_sampler,
    register,
    samplers,
)
from sfumato.sampling.samplers.ranking import Certainty, Confidence, Margin, Random
from sfumato.sampling.samplers.reverse import Ancestral, PredictorCorrector, ReMDM
from sfumato.sampling.samplers.threshold import Edit, Threshold

__all__ = [
    "Ancestral",
    "Certainty",
    "Confidence",
    "Decision",
    "Edit",
    "Entropy",
    "Margin",
    "PredictorCorrector",
    "Random",
    "ReMDM",
    "Sampler",
    "StepLogits",
    "Threshold",
    "Turn",
    "find_sampler",
    "register",
    "samplers",
]
