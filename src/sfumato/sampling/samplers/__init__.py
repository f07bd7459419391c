"""Samplers, one class each: a new one is a new class and, to be known by name, in a file that is named here."""

from sfumato.sampling.samplers import ranking, reverse, threshold

__all__ = ["ranking", "reverse", "threshold"]
