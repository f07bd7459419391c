"""Samplers, one class each. A new sampler is a new class; to be found by name, its module is imported here."""

from sfumato.sampling.samplers import ranking, reverse, threshold

__all__ = ["ranking", "reverse", "threshold"]
