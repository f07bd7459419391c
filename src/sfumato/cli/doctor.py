"""`sfumato doctor`: what this machine and this installation have, and what a model would need of it."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Annotated, Any

import typer

CANVAS, PREFIX = 64, 128
"""Positions of the step whose time is predicted."""
PACKAGES = ("torch", "tokenizers", "safetensors", "numpy", "numba", "jinja2", "typer", "rich")
EXTRAS = ("tensorboard", "reasoning_gym", "gguf", "outlines_core", "jsonschema")


def doctor(
    model: Annotated[
        str | None,
        typer.Argument(help="A checkpoint, to be judged by its config alone: a name, a directory, a GGUF file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show versions, devices, and which models and extras are here; or what a model needs, before it is loaded."""
    report = _report() if model is None else _model_report(model)
    if as_json:
        typer.echo(json.dumps(report))
        return
    for name, value in _rows(report) if model is None else _model_rows(report):
        typer.echo(f"{name:<14} {value}")


def _model_report(name: str) -> dict[str, Any]:
    """What a model is and needs; nothing but its config is read."""
    import torch

    from sfumato.bench.roofline import in_integers, measure_machine, model_size, step_cost
    from sfumato.machine import free_memory
    from sfumato.models.checkpoint import build
    from sfumato.models.integers import multiplies_integers
    from sfumato.models.places import find
    from sfumato.models.quantize import weight_bytes
    from sfumato.models.quantized import QUANTIZATIONS

    model, spec, family = build(find(name))
    size, cost = model_size(model), step_cost(model, CANVAS, PREFIX, soft_embedding=spec.self_conditioning)
    machine = measure_machine()
    least_s = {"float32": machine.seconds(cost, 4)}
    if multiplies_integers(torch.device("cpu")):
        least_s["w8a8"] = in_integers(machine).seconds(cost, 1)
    width = model.embedding_VD.shape[1]
    return {
        "model": name,
        "family": family,
        "generation": spec.to_dict(),
        "parameters": size.num_parameters,
        "active_parameters": size.num_active_parameters,
        "weights_bytes": {
            **{kind: weight_bytes(model, None, each) for kind, each in (("float32", 4), ("bfloat16", 2))},
            **{kind: weight_bytes(model, QUANTIZATIONS[kind], 4) for kind in ("int8", "int4", "w8a8")},
        },
        "cache_bytes_per_token": {"float32": 4 * size.num_cached, "bfloat16": 2 * size.num_cached},
        "cache_bytes_per_token_beyond_windows": {
            "float32": 4 * size.num_cached_beyond_windows,
            "bfloat16": 2 * size.num_cached_beyond_windows,
        },
        # Tokens, draft and flags of a position are a few dozen bytes beside the soft embedding.
        "canvas_bytes": {"float32": spec.canvas_length * ((4 * width if spec.self_conditioning else 0) + 40)},
        "memory_bytes": free_memory(),
        "machine": {"operations_per_s": machine.operations_per_s, "bytes_per_s": machine.bytes_per_s},
        "step": {
            "canvas": CANVAS,
            "prefix": PREFIX,
            "operations": cost.operations,
            "bytes_float32": cost.bytes(4),
            **{f"least_seconds_{kind}": seconds for kind, seconds in least_s.items()},
        },
    }


def _size(num_bytes: float) -> str:
    return f"{num_bytes / 1e9:.2f} GB" if num_bytes >= 1e9 else f"{num_bytes / 1e6:.1f} MB"


def _model_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    spec, step, free = report["generation"], report["step"], report["memory_bytes"]
    active = report["active_parameters"]
    rows = [
        ("model", report["model"]),
        ("family", report["family"]),
        (
            "generation",
            "autoregressive"
            if spec["canvas_length"] == 1
            else f"{spec['noise']} noise, canvas {spec['canvas_length']}, prefix attention {spec['prefix_attention']}",
        ),
        ("parameters", f"{report['parameters']:,}" + (f", {active:,} active" if active < report["parameters"] else "")),
    ]
    for kind, size in report["weights_bytes"].items():
        fits = "fits" if size < free else "does not fit"
        rows.append((f"  {kind}", f"{_size(size)}, {fits} in the {free / 1e9:.1f} GB of memory that are free"))
    cache, beyond = report["cache_bytes_per_token"], report["cache_bytes_per_token_beyond_windows"]
    later = f", {beyond['bfloat16']:,} beyond the sliding windows" if beyond != cache else ""
    rows.append(("cache", f"{cache['bfloat16']:,} bytes a token in bfloat16{later}"))
    rows.append(("canvas", f"{report['canvas_bytes']['float32']:,} bytes of state"))
    machine = report["machine"]
    rows.append(
        (
            "machine",
            f"{machine['operations_per_s'] / 1e9:.0f} GFLOP/s, {machine['bytes_per_s'] / 1e9:.1f} GB/s (measured now)",
        )
    )
    rows.append(
        (
            "one step",
            f"canvas {step['canvas']} after {step['prefix']} tokens: {step['operations'] / 1e9:.2f} GFLOP, "
            f"{step['bytes_float32'] / 1e6:.0f} MB: at least {1e3 * step['least_seconds_float32']:.1f} ms in float32"
            + (f", {1e3 * step['least_seconds_w8a8']:.1f} ms in w8a8" if "least_seconds_w8a8" in step else ""),
        )
    )
    return rows


def _report() -> dict[str, Any]:
    from sfumato.machine import usable_cores

    return {
        "sfumato": _version("sfumato"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in PACKAGES},
        "extras": {name: find_spec(name) is not None for name in EXTRAS},
        "cpu": {"cores": usable_cores(), **_cpu()},
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
    from sfumato.models.packaged import PACKAGED, present
    from sfumato.models.places import ASSETS

    directories = sorted({ASSETS / "tiny", *(path.parent for path in ASSETS.glob("*/config.json"))})
    packaged = [(name, present(name)) for name in PACKAGED]
    return [
        {
            "name": directory.name,
            "present": (directory / "config.json").is_file(),
            "size_bytes": sum(path.stat().st_size for path in directory.glob("*") if path.is_file()),
            "pulled": False,
        }
        for directory in directories
    ] + [
        {
            "name": name,
            "present": path is not None,
            "size_bytes": 0 if path is None else path.stat().st_size,
            "pulled": True,
        }
        for name, path in packaged
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
        there = f"there, {model['size_bytes'] / 1e6:.1f} MB"
        if not model["present"]:
            there = f"not there: {'sfumato pull ' + model['name'] if model['pulled'] else 'make train-tiny'}"
        rows.append((f"model {model['name']}", there))
    return rows
