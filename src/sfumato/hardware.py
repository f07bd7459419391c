"""Published peak rates of hardware."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """Published peaks of one device."""

    operations_per_s: dict[str, float]
    """Dense operations per second, by product type."""
    bytes_per_s: float
    """Memory bandwidth."""
    source: str
    """Source of the figures."""


@dataclass(frozen=True, kw_only=True)
class GPU(Hardware):
    """A device in a node with others."""

    memory_bytes: float
    """Memory size."""
    link_bytes_per_s: float
    """Bandwidth to the other GPUs of the node, one direction."""
    network_bytes_per_s: float
    """Bandwidth from node to node, one direction, over eight adapters. Data that all GPUs of a node need arrives
    once."""


_TABLE = tomllib.loads(resources.files("sfumato").joinpath("hardware.toml").read_text("utf-8"))
GPUS = {name: GPU(**values) for name, values in _TABLE.items() if "link_bytes_per_s" in values}
HARDWARE: dict[str, Hardware] = {name: GPUS.get(name) or Hardware(**values) for name, values in _TABLE.items()}
