"""`sfumato doctor`: what this machine and this installation have."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Annotated, Any

import typer

PACKAGES = ("torch", "tokenizers", "safetensors", "numpy", "jinja2", "typer", "rich")
EXTRAS = ("tensorboard", "reasoning_gym")


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show versions, devices, and which models and extras are here."""
    report = _report()
    if as_json:
        typer.echo(json.dumps(report))
        return
    for name, value in _rows(report):
        typer.echo(f"{name:<14} {value}")


def _report() -> dict[str, Any]:
    return {
        "sfumato": _version("sfumato"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in PACKAGES},
        "extras": {name: find_spec(name) is not None for name in EXTRAS},
        "cpu": {"cores": os.cpu_count(), **_cpu()},
        "devices": _devices(),
        "models": _models(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> dict[str, Any]:
    import torch

    return {"threads": torch.get_num_threads(), "capability": torch.backends.cpu.get_cpu_capability()}


def _devices() -> list[dict[str, Any]]:
    import torch

    found: list[dict[str, Any]] = [{"device": "cpu"}]
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        found.append({"device": f"cuda:{index}", "name": properties.name, "memory_bytes": properties.total_memory})
    if torch.backends.mps.is_available():
        found.append({"device": "mps"})
    return found


def _models() -> list[dict[str, Any]]:
    from sfumato.engine.model import ASSETS

    directories = sorted({ASSETS / "tiny", *(path.parent for path in ASSETS.glob("*/config.json"))})
    return [
        {
            "name": directory.name,
            "present": (directory / "config.json").is_file(),
            "size_bytes": sum(path.stat().st_size for path in directory.glob("*") if path.is_file()),
        }
        for directory in directories
    ]


def _rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [(name, str(report[name])) for name in ("sfumato", "python", "platform")]
    rows += [(name, found or "not installed") for name, found in report["packages"].items()]
    cpu = report["cpu"]
    rows.append(("cpu", f"{cpu['cores']} cores, {cpu['threads']} threads used, {cpu['capability']}"))
    for device in report["devices"][1:]:
        memory = f", {device['memory_bytes'] / 2**30:.0f} GiB" if "memory_bytes" in device else ""
        rows.append(("device", f"{device['device']}: {device.get('name', '')}{memory}"))
    rows += [(name, "there" if there else "not installed (optional)") for name, there in report["extras"].items()]
    for model in report["models"]:
        there = f"there, {model['size_bytes'] / 1e6:.1f} MB" if model["present"] else "not there: make train-tiny"
        rows.append((f"model {model['name']}", there))
    return rows
