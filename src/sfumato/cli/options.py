"""Options that several commands share: which weights, and how they are held."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class DTypeName(StrEnum):
    """Types of float weights."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class QuantizationName(StrEnum):
    """Few-bit weights of linears and experts; w8a8 also rounds what they are multiplied with, which is fast."""

    int8 = "int8"
    int4 = "int4"
    w8a8 = "w8a8"


MODEL_HELP = "An embedded model's name, a checkpoint directory, a GGUF file, or a hub id."
DType = Annotated[DTypeName, typer.Option(help="Of the weights and of what is computed with them.")]
Quantize = Annotated[
    QuantizationName | None,
    typer.Option(help="Hold the weights of linears and experts in 8 or 4 bits; w8a8 multiplies integers."),
]
