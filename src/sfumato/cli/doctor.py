"""`sfumato doctor`: describe this installation and machine, and what a model needs."""

from __future__ import annotations

import json
import platform
import re
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import complete_model, format_size
from sfumato.cli.output import count
from sfumato.errors import RequestError
from sfumato.spec import GenerationSpec

if TYPE_CHECKING:
    from sfumato.models.model import Model

CANVAS, PREFIX = 64, 128
"""Canvas length of the step whose time is predicted."""
PACKAGES = ("torch", "tokenizers", "safetensors", "numpy", "numba", "jinja2", "typer", "rich")
# Extras of those who work on the project.
_INTERNAL = ("dev", "docs", "bench")


def doctor(
    model: Annotated[
        str | None,
        typer.Argument(
            help="Check this model instead: a name, directory or GGUF file. Reads only its config.",
            autocompletion=complete_model,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show versions, devices, models and extras; or what a model needs, before loading it."""
    if model is not None:
        from sfumato.checkpoints.load import build
        from sfumato.checkpoints.registry import find_model

        built, spec, family = build(find_model(model))
        if built.reads_lexemes:
            raise RequestError(f"{model} repairs Python, and needs little memory; `sfumato models show` describes it")
        print_model_report(model, built, spec, family, as_json=as_json)
        return
    report = _report()
    _print(report, _rows(report), as_json)


def print_model_report(name: str, model: Model, spec: GenerationSpec, family: str, *, as_json: bool) -> None:
    """Describe a model and its requirements, without reading its weights.

    Args:
        model: may be on the meta device.
    """
    import torch

    from sfumato.costs import in_integers, measure_machine, model_size, step_cost
    from sfumato.machine import free_memory
    from sfumato.models.quantization.apply import weight_bytes
    from sfumato.models.quantization.products import multiplies_integers
    from sfumato.models.quantization.weights import QUANTIZATIONS

    size, cost = model_size(model), step_cost(model, CANVAS, PREFIX, soft_embedding=spec.self_conditioning)
    machine = measure_machine()
    min_s = {"float32": machine.seconds(cost, 4)}
    if multiplies_integers(torch.device("cpu")):
        min_s["w8a8"] = in_integers(machine).seconds(cost, 1)
    width = model.embedding_VD.shape[1]
    report = {
        "model": name,
        "family": family,
        "generation": spec.to_dict(),
        "parameters": size.num_parameters,
        "active_parameters": size.num_active_parameters,
        "weights_bytes": {
            **{kind: weight_bytes(model, None, each) for kind, each in (("float32", 4), ("bfloat16", 2))},
            **{kind: weight_bytes(model, QUANTIZATIONS[kind], 4) for kind in ("int8", "int4", "w8a8", "w4a8")},
        },
        "cache_bytes_per_token": {"float32": 4 * size.num_cached, "bfloat16": 2 * size.num_cached},
        "cache_bytes_per_token_beyond_windows": {
            "float32": 4 * size.num_cached_beyond_windows,
            "bfloat16": 2 * size.num_cached_beyond_windows,
        },
        # Tokens, draft and flags of a position take a few dozen bytes, beside the soft embedding.
        "canvas_bytes": {"float32": spec.canvas_length * ((4 * width if spec.self_conditioning else 0) + 40)},
        "memory_bytes": free_memory(),
        "machine": {"operations_per_s": machine.operations_per_s, "bytes_per_s": machine.bytes_per_s},
        "step": {
            "canvas": CANVAS,
            "prefix": PREFIX,
            "operations": cost.operations,
            "bytes_float32": cost.bytes(4),
            **{f"least_seconds_{kind}": seconds for kind, seconds in min_s.items()},
        },
    }
    _print(report, _model_rows(report), as_json)


def _print(report: dict[str, Any], rows: list[tuple[str, str]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(report))
        return
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        typer.echo(f"{name:<{width}}  {value}")


def _model_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    spec, step, free = report["generation"], report["step"], report["memory_bytes"]
    active = report["active_parameters"]
    rows = [
        ("model", report["model"]),
        ("family", report["family"]),
        ("generation", GenerationSpec(**spec).describe()),
        ("parameters", f"{report['parameters']:,}" + (f", {active:,} active" if active < report["parameters"] else "")),
    ]
    for kind, size in report["weights_bytes"].items():
        fits = "fits" if size < free else "does not fit"
        rows.append((f"  {kind}", f"{format_size(size)}, {fits} in the {free / 1e9:.1f} GB of free memory"))
    cache, beyond = report["cache_bytes_per_token"], report["cache_bytes_per_token_beyond_windows"]
    later = f", {beyond['bfloat16']:,} beyond the sliding windows" if beyond != cache else ""
    rows.append(("cache", f"{cache['bfloat16']:,} bytes per token in bfloat16{later}"))
    if spec["canvas_length"] > 1:
        rows.append(("canvas", f"{report['canvas_bytes']['float32']:,} bytes of state"))
    products, reads = (report["machine"][name] / 1e9 for name in ("operations_per_s", "bytes_per_s"))
    rows.append(("machine", f"{products:.0f} GFLOP/s, {reads:.1f} GB/s (measured now)"))
    cost = f"{step['operations'] / 1e9:.2f} GFLOP, {step['bytes_float32'] / 1e6:.0f} MB"
    lower_bound = f"{1e3 * step['least_seconds_float32']:.1f} ms in float32"
    if "least_seconds_w8a8" in step:
        lower_bound += f", {1e3 * step['least_seconds_w8a8']:.1f} ms in w8a8"
    rows.append(("one step", f"canvas {step['canvas']} after {step['prefix']} tokens: {cost}: at least {lower_bound}"))
    return rows


def _report() -> dict[str, Any]:
    import torch

    from sfumato.checkpoints.registry import list_models
    from sfumato.machine import usable_cores

    capability = torch.backends.cpu.get_cpu_capability()
    return {
        "sfumato": _version("sfumato"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in PACKAGES},
        "extras": _extras(),
        "cpu": {"cores": usable_cores(), "threads": torch.get_num_threads(), "capability": capability},
        "devices": _devices(),
        "models": [model.to_dict() for model in list_models()],
    }


def _extras() -> dict[str, bool]:
    """Whether all packages of each extra are installed; none if only the source is there."""
    if _version("sfumato") is None:
        return {}
    found = dict.fromkeys(metadata("sfumato").get_all("Provides-Extra", []), True)
    for needed in requires("sfumato") or ():
        package, extra = re.match(r"[\w.-]+", needed), re.search(r"extra == ['\"](.+)['\"]", needed)
        if package and extra and _version(package[0]) is None:
            found[extra[1]] = False
    return {extra: is_installed for extra, is_installed in found.items() if extra not in _INTERNAL}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _devices() -> list[dict[str, Any]]:
    import torch

    found: list[dict[str, Any]] = [{"device": "cpu"}]
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        found.append({"device": f"cuda:{index}", "name": properties.name, "memory_bytes": properties.total_memory})
    if torch.backends.mps.is_available():
        found.append({"device": "mps"})
    return found


def _rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [(name, str(report[name])) for name in ("sfumato", "python", "platform")]
    rows += [(name, found or "not installed") for name, found in report["packages"].items()]
    cpu = report["cpu"]
    rows.append(("cpu", f"{count(cpu['cores'], 'core')}, {count(cpu['threads'], 'thread')} used, {cpu['capability']}"))
    for device in report["devices"][1:]:
        memory = f", {device['memory_bytes'] / 2**30:.0f} GiB" if "memory_bytes" in device else ""
        rows.append(("device", f"{device['device']}: {device.get('name', '')}{memory}"))
    rows += [
        (f"extra {name}", "installed" if installed else f"not installed: pip install 'sfumato[{name}]'")
        for name, installed in report["extras"].items()
    ]
    rows += [
        (f"model {model['name']}", model["problem"] or f"ready, {format_size(model['size_bytes'])}")
        for model in report["models"]
    ]
    return rows
