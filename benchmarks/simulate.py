"""Predictions for other hardware: the roofline of each forward, from published peaks.

A forward takes the longer of its arithmetic and its memory traffic, at a given share of the peaks; an answer takes the
sum of its forwards. `answer_seconds` with the peaks of this machine can be compared with measurements here.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from sfumato.costs import Machine, step_cost
from sfumato.errors import ConfigError, unknown
from sfumato.hardware import HARDWARE
from sfumato.models.model import Model

BYTES = {"float32": 4.0, "bfloat16": 2.0, "float8": 1.0, "int8": 1.0, "int4": 0.5}


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One answer on one kind of hardware."""

    hardware: str
    """Name of the hardware."""
    dtype: str
    """Type of weights and products."""
    canvas_length: int
    """Canvas length."""
    steps: int
    """Steps per canvas."""
    seconds: float
    """Seconds of the answer."""
    tokens_per_s: float
    """Tokens of the answer per second."""
    bound: str
    """What limits a step: arithmetic or memory."""


def answer_seconds(
    model: Model,
    machine: Machine,
    bytes_per_weight: float,
    *,
    prompt: int,
    new_tokens: int,
    canvas_length: int,
    steps: int,
    soft_embedding: bool,
) -> float:
    """Seconds of an answer; a prefill or commit shares the forward of the first step that reads it.

    Args:
        model: may be on the meta device.
        machine: achieved rates, not peaks.
        prompt, new_tokens, canvas_length, steps: of the answer; a canvas of 1 is autoregressive, with one step.
        soft_embedding: whether steps compute soft embeddings.
    """
    seconds, written, prefix = 0.0, prompt, 0
    left = new_tokens
    while left:
        length = min(canvas_length, left)
        for step in range(1 if canvas_length == 1 else steps):
            cost = step_cost(model, length, prefix + written, soft_embedding=soft_embedding)
            if step == 0 and written:
                # One pass also writes what the canvas reads: weights are read once, and the previous cache once.
                writing = step_cost(model, written, prefix, head=False)
                operations = cost.operations + writing.operations
                cost = dataclasses.replace(cost, operations=operations, num_cached=writing.num_cached)
            seconds += machine.seconds(cost, bytes_per_weight)
        prefix, written = prefix + written, length
        if canvas_length == 1:
            # Its keys and values are not computed again.
            prefix, written = prefix + 1, 0
        left -= length
    return seconds


def predict(
    model: Model,
    hardware: str,
    *,
    dtype: str,
    prompt: int,
    new_tokens: int,
    canvas_length: int,
    steps: int,
    soft_embedding: bool = False,
    efficiency: float = 0.75,
) -> Prediction:
    """Predict an answer on other hardware.

    Args:
        model: may be on the meta device.
        hardware: one of HARDWARE.
        dtype: one of BYTES that the hardware multiplies.
        efficiency: share of the peaks that is reached.

    Raises:
        ConfigError: if the hardware or its type is not known.
    """
    machine = reached(hardware, dtype, efficiency)
    seconds = answer_seconds(
        model,
        machine,
        BYTES[dtype],
        prompt=prompt,
        new_tokens=new_tokens,
        canvas_length=canvas_length,
        steps=steps,
        soft_embedding=soft_embedding,
    )
    cost = step_cost(model, canvas_length, prompt, soft_embedding=soft_embedding)
    arithmetic = cost.operations / machine.operations_per_s >= cost.bytes(BYTES[dtype]) / machine.bytes_per_s
    return Prediction(
        hardware=hardware,
        dtype=dtype,
        canvas_length=canvas_length,
        steps=steps,
        seconds=seconds,
        tokens_per_s=new_tokens / seconds,
        bound="arithmetic" if arithmetic else "memory",
    )


def reached(hardware: str, dtype: str, efficiency: float = 0.75) -> Machine:
    """The given share of published peaks.

    Raises:
        ConfigError: if the hardware or its type is not known.
    """
    if hardware not in HARDWARE:
        raise ConfigError(unknown("hardware", hardware, HARDWARE))
    peaks = HARDWARE[hardware]
    if dtype not in peaks.operations_per_s:
        raise ConfigError(unknown(f"dtype of {hardware}", dtype, peaks.operations_per_s))
    return Machine(
        operations_per_s=peaks.operations_per_s[dtype] * efficiency, bytes_per_s=peaks.bytes_per_s * efficiency
    )
