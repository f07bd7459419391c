"""A cache of expensive results in the user's cache directory, keyed by content: models whose weights were smoothed and
rounded, and small facts. Entries that cannot be read or do not match are ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from sfumato.checkpoints.registry import KEPT, cache_directory
from sfumato.checkpoints.tensors import opened_tensors
from sfumato.errors import CheckpointError
from sfumato.gguf_file import GGUFFile
from sfumato.kernels import base
from sfumato.models.model import Model
from sfumato.models.moe import Experts
from sfumato.models.quantization import apply, products, weights
from sfumato.models.quantization.apply import install, multiply_integers, quantizable, share_integers
from sfumato.models.quantization.products import IntegerProduct, QuantizedLinear
from sfumato.models.quantization.weights import Quantization, QuantizedWeight
from sfumato.storage import sha256_of, write_atomically

_LOG = logging.getLogger(__name__)
# Maximum size of all entries together; a model may take half of it.
_LIMIT_BYTES = 2 * 2**30
_CODE = (base, apply, products, weights)


def kept_path(about: str, files: Sequence[Path] = ()) -> Path:
    """The path of an entry, which may not exist; all entries may be deleted at any time.

    Args:
        about: everything else that the entry depends on.
        files: files whose content it depends on.

    Raises:
        CheckpointError: if one of the files cannot be read.
    """
    digest = hashlib.sha256(f"{about} {sha256_of(files)}".encode()).hexdigest()
    return cache_directory() / KEPT / digest


def read_kept(path: Path) -> dict[str, Any] | None:
    """The facts in an entry; None without a valid one."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None


def keep(path: Path, content: bytes) -> None:
    """Write an entry, and delete the least recently used ones while all are too large. Failures are ignored."""
    # A name of its own, because another process may write the same entry.
    own = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(CheckpointError, OSError):
        write_atomically(own, content)
        own.replace(path)
        total = 0
        for entry in sorted(path.parent.iterdir(), key=lambda entry: entry.stat().st_mtime, reverse=True):
            total += entry.stat().st_size
            if total > _LIMIT_BYTES:
                entry.unlink()


def kept_model(
    source: Path | GGUFFile, model: Model, dtype: torch.dtype, quantization: Quantization, device: str
) -> Path | None:
    """The path of a model's entry, which may not exist; None for models that are not cached: those that do not multiply
    integers on a CPU, have experts, or are large.

    Args:
        source: the checkpoint.
        model: without weights.
        dtype, quantization, device: how it is loaded.
    """
    if quantization.arithmetic != "int8" or device != "cpu":
        return None
    if not products.multiplies_integers(torch.device(device)) or 4 * model.num_parameters > _LIMIT_BYTES // 2:
        return None
    if any(isinstance(module, Experts) for module in model.modules()):
        return None
    files = (
        [source.path]
        if isinstance(source, GGUFFile)
        else sorted([*source.glob("*.json"), *source.glob("*.safetensors")])
    )
    return kept_path(f"{dtype} {quantization}", [*files, *(Path(str(module.__file__)) for module in _CODE)])


def save_kept(path: Path, model: Model) -> None:
    """Cache a model that multiplies integers."""
    linears = {name: module for name, module in model.named_modules() if isinstance(module, QuantizedLinear)}
    paths: dict[nn.Module, str] = {linear: name for name, linear in linears.items()}
    products = {linear.product: None for linear in linears.values() if isinstance(linear.product, IntegerProduct)}
    tensors: dict[str, Tensor] = {}
    shared: list[dict[str, Any]] = []
    for name, linear in linears.items():
        weight = linear.weight
        tensors |= {f"{name}.levels": weight.levels_held, f"{name}.scales": weight.scales}
        tensors |= {} if weight.groups_held is None else {f"{name}.groups": weight.groups_held}
    for product in products:
        shared.append({"linears": [paths[linear] for linear in product.linears], "digits": product.digits})
        tensors[f"{paths[product.linears[0]]}.unsmooth"] = product.unsmooth_I
    held = tuple(f"{name}.weight." for name in linears)
    tensors |= {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(held)}
    content = save({name: tensor.contiguous() for name, tensor in tensors.items()}, {"products": json.dumps(shared)})
    keep(path, content)


def restore(path: Path, model: Model, dtype: torch.dtype, quantization: Quantization) -> bool:
    """Fill a model without weights from an entry.

    Returns:
        Whether there is a valid entry for this model; if not, the model is unchanged.
    """
    try:
        with opened_tensors(path) as file:
            shared = json.loads(file.metadata()["products"])
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        expected = _expected(model, dtype, quantization, shared)
    except (CheckpointError, KeyError, TypeError, ValueError, AttributeError):
        return False
    if {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()} != expected:
        return False
    few = quantizable(model, quantization)
    model.load_state_dict({name: tensors[name] for name in model.state_dict().keys() - few}, strict=False, assign=True)
    for name in few:
        stem = name.removesuffix(".weight")
        weight = QuantizedWeight(model.get_parameter(name).shape, quantization, dtype, "meta")
        weight.levels, weight.scales = tensors[f"{stem}.levels"], tensors[f"{stem}.scales"]
        weight.groups = tensors.get(f"{stem}.groups")
        install(model, name, weight)
    for product in shared:
        share_integers(model, product["linears"], tensors[f"{product['linears'][0]}.unsmooth"], product["digits"])
    multiply_integers(model)
    with contextlib.suppress(OSError):
        os.utime(path)
    return True


def _expected(
    model: Model, dtype: torch.dtype, quantization: Quantization, shared: list[dict[str, Any]]
) -> dict[str, tuple[torch.dtype, tuple[int, ...]]]:
    """Expected types and shapes of the tensors of an entry."""
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    few = quantizable(model, quantization)
    linears = [name for product in shared for name in product["linears"]]
    if sorted(f"{name}.weight" for name in linears) != sorted(few):
        raise ValueError("products of other linears")
    found = {name: (dtype, shape) for name, shape in shapes.items() if name not in few}
    for name in linears:
        with torch.device("meta"):
            weight = QuantizedWeight(torch.Size(shapes[f"{name}.weight"]), quantization, dtype, "meta")
        held = {"levels": weight.levels, "scales": weight.scales, "groups": weight.groups}
        found |= {f"{name}.{part}": (one.dtype, tuple(one.shape)) for part, one in held.items() if one is not None}
    for product in shared:
        first = product["linears"][0]
        found[f"{first}.unsmooth"] = (torch.float32, shapes[f"{first}.weight"][1:])
    return found
