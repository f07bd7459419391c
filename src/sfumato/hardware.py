"""Where to compute here, and what other hardware reaches at most, as published."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ConfigError, unknown

DEVICES = ("auto", "cpu", "cuda")
"""By the names they are asked for."""


def find_device(wanted: str) -> str:
    """The device that a name stands for: "auto" is an accelerator if there is one.

    Raises:
        ConfigError: if there is no such device, or it is not there.
    """
    import torch

    if wanted not in DEVICES:
        raise ConfigError(unknown("device", wanted, DEVICES))
    found = torch.cuda.is_available()
    if wanted == "cuda" and not found:
        raise ConfigError("device is 'cuda' and there is no accelerator; allowed here: auto, cpu")
    return "cuda" if found and wanted != "cpu" else "cpu"


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """Published peaks of one device."""

    operations_per_s: dict[str, float]
    """Dense, by the type of the products."""
    bytes_per_s: float
    """Of its memory."""
    source: str
    """Where the figures are from."""


@dataclass(frozen=True, kw_only=True)
class GPU(Hardware):
    """One that stands among others."""

    memory_bytes: float
    """Of its memory."""
    link_bytes_per_s: float
    """To the others of its node, in one direction."""
    network_bytes_per_s: float
    """Of a node to other nodes, in one direction: eight adapters. What all GPUs of a node wait for comes in once."""


_HOPPER = {"float32": 67e12, "bfloat16": 989e12, "float8": 1979e12, "int8": 1979e12}
GPUS = {
    "a100": GPU(
        operations_per_s={"float32": 19.5e12, "bfloat16": 312e12, "int8": 624e12},
        bytes_per_s=2.0e12,
        memory_bytes=80e9,
        link_bytes_per_s=300e9,
        network_bytes_per_s=200e9,
        source="NVIDIA A100 80GB SXM data sheet, without sparsity; network as in DGX A100",
    ),
    "h100": GPU(
        operations_per_s=_HOPPER,
        bytes_per_s=3.35e12,
        memory_bytes=80e9,
        link_bytes_per_s=450e9,
        network_bytes_per_s=400e9,
        source="NVIDIA H100 SXM data sheet, without sparsity; network as in DGX H100",
    ),
    "h200": GPU(
        operations_per_s=_HOPPER,
        bytes_per_s=4.8e12,
        memory_bytes=141e9,
        link_bytes_per_s=450e9,
        network_bytes_per_s=400e9,
        source="NVIDIA H200 data sheet, without sparsity; network as in DGX H200",
    ),
    "b200": GPU(
        operations_per_s={"float32": 75e12, "bfloat16": 2250e12, "float8": 4500e12, "int8": 4500e12},
        bytes_per_s=8.0e12,
        memory_bytes=192e9,
        link_bytes_per_s=900e9,
        network_bytes_per_s=400e9,
        source="NVIDIA HGX B200 data sheet, without sparsity; network as in DGX B200",
    ),
}
HARDWARE: dict[str, Hardware] = {
    **GPUS,
    "laptop": Hardware(
        operations_per_s={"float32": 7.4e12, "bfloat16": 14.8e12, "int8": 14.8e12},
        bytes_per_s=150e9,
        source="Apple M3 Pro, 18-core GPU: memory bandwidth as published, arithmetic from cores and clock",
    ),
    "phone": Hardware(
        operations_per_s={"float32": 4.6e12, "bfloat16": 9.2e12, "int8": 45e12},
        bytes_per_s=77e9,
        source="Snapdragon 8 Gen 3 class: LPDDR5X-4800 as published; NPU and GPU as estimated by third parties",
    ),
}
