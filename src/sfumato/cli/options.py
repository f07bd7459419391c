"""Options that several commands share: which weights, and how they are held."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer


class DTypeName(StrEnum):
    """Types of float weights."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class QuantizationName(StrEnum):
    """Few-bit weights of linears and experts; w8a8 and fp8 also round what they are multiplied with, which is fast on a
    CPU and on a GPU."""

    int8 = "int8"
    int4 = "int4"
    w8a8 = "w8a8"
    fp8 = "fp8"


MODEL_HELP = "An embedded model's name, a checkpoint directory, a GGUF file, or a hub id."
DType = Annotated[DTypeName, typer.Option(help="Of the weights and of what is computed with them.")]
Quantize = Annotated[
    QuantizationName | None,
    typer.Option(help="Hold the weights of linears and experts in 8 or 4 bits; w8a8 multiplies integers, fp8 floats."),
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Of the CPU; if not given, as many as are fastest, measured at the start.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Repeatable; any setting of the sampler, as entropy_bound=0.2."),
]


def sampler_settings(settings: Sequence[str] | None) -> dict[str, Any]:
    """What `--set` gave.

    Raises:
        ConfigError: if one has no "=".
        RequestError: if the sampler has no such setting.
    """
    from sfumato.config import parse_settings
    from sfumato.engine.model import check_settings

    given = parse_settings(settings or ())
    check_settings(given)
    return given
