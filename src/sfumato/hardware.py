"""Device selection, and published peak rates of other hardware."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

from sfumato.errors import ConfigError, unknown

DEVICES = ("auto", "cpu", "cuda")
"""Hardware by name."""


def find_device(wanted: str) -> str:
    """The device for a name; "auto" is an accelerator if there is one.

    Raises:
        ConfigError: if the device is unknown or not available.
    """
    import torch

    if wanted not in DEVICES:
        raise ConfigError(unknown("device", wanted, DEVICES))
    found = torch.cuda.is_available()
    if wanted == "cuda" and not found:
        raise ConfigError("device is 'cuda' but there is no accelerator; allowed here: auto, cpu")
    return "cuda" if found and wanted != "cpu" else "cpu"


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """Published peaks of one device."""

    operations_per_s: dict[str, float]
    """Dense operations per second, by product type."""
    bytes_per_s: float
    """Memory size."""
    source: str
    """Source of the figures."""


@dataclass(frozen=True, kw_only=True)
class GPU(Hardware):
    """A device in a node with others."""

    memory_bytes: float
    """Memory bandwidth."""
    link_bytes_per_s: float
    """Bandwidth to the other GPUs of the node, one direction."""
    network_bytes_per_s: float
    """Bandwidth from node to node, one direction, over eight adapters. Data that all GPUs of a node need arrives
    once."""


_TABLE = tomllib.loads(resources.files("sfumato").joinpath("hardware.toml").read_text("utf-8"))
GPUS = {name: GPU(**values) for name, values in _TABLE.items() if "link_bytes_per_s" in values}
HARDWARE: dict[str, Hardware] = {
    name: GPUS[name] if name in GPUS else Hardware(**values) for name, values in _TABLE.items()
}
