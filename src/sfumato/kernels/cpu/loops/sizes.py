"""What loops and those who call them agree on."""

from __future__ import annotations

PANEL = 32
"""Outputs of a panel of a matrix."""
STEP = 64
"""Inputs that an instruction of AMX goes over; rows of integers are padded to a multiple of it."""
FLIP = 128
"""VNNI multiplies integers with a sign by integers without: this bit makes ones without of ones with, 128 more each."""
NOTHING, WEIGHTS, DIGIT_PAIRS = 0, 1, 2
"""What becomes of the weights of logits."""
GATES: tuple[str, ...] = ("silu", "gelu_pytorch_tanh")
"""Activations that a gate knows."""
QUERIES = 32
"""Heads of queries that go through a text together."""
