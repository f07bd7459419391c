"""Where to compute here, and what other hardware reaches at most, as published."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

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


_TABLE = tomllib.loads(resources.files("sfumato").joinpath("hardware.toml").read_text("utf-8"))
GPUS = {name: GPU(**values) for name, values in _TABLE.items() if "link_bytes_per_s" in values}
HARDWARE: dict[str, Hardware] = {
    name: GPUS[name] if name in GPUS else Hardware(**values) for name, values in _TABLE.items()
}
