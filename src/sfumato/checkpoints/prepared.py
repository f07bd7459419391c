"""Models as they are multiplied: quantized weights in panels, with their scales, in safetensors files that are mapped.

Tensors have the names of the modules that hold them, and are used where the file is mapped, without a copy. Every file
says in its metadata how the weights were quantized. The panels are those of `kernels.cpu.products`, on every CPU.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from sfumato.checkpoints.tensors import DTYPES, INDEX, PREPARED, open_tensors
from sfumato.errors import CheckpointError, ConfigError
from sfumato.kernels.cpu.products import Matrix, is_available
from sfumato.models.model import Model, set_backend
from sfumato.models.quantization.apply import install, lay_out, make_tables
from sfumato.models.quantization.products import (
    IntegerExperts,
    IntegerMatrix,
    IntegerProduct,
    QuantizedLinear,
    multiplies_integers,
)
from sfumato.models.quantization.weights import QUANTIZATIONS, Quantization, QuantizedWeight
from sfumato.storage import write_atomically, write_json

VERSION = 1
"""Of the format; changes with the names of tensors and the layout of panels."""
_LINE = 64
"""Loops read panels by whole lines of a cache."""
# Of a file, unless one product is larger.
_SHARD_BYTES = 2**29
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """How a model's weights were quantized."""

    quantization: Quantization
    dtype: torch.dtype
    """Of the weights that are not quantized."""

    @classmethod
    def of(cls, quantization: Quantization, dtype: torch.dtype) -> Preparation:
        """Without the sample, whose effect is in the weights."""
        return cls(quantization=dataclasses.replace(quantization, sample=()), dtype=dtype)

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        return next(name for name, one in QUANTIZATIONS.items() if self.answers(one))

    def answers(self, asked: Quantization) -> bool:
        """Whether it is what is asked for."""
        stored = self.quantization
        alike = (stored.bits, stored.arithmetic) == (asked.bits, asked.arithmetic)
        return alike and asked.group in (0, stored.group)

    @property
    def metadata(self) -> dict[str, str]:
        """Its record in a file."""
        fields = dataclasses.asdict(self.quantization)
        del fields["sample"]
        dtype = str(self.dtype).removeprefix("torch.")
        return {"format": "pt", PREPARED: json.dumps({"version": VERSION, "dtype": dtype, **fields})}

    @classmethod
    def parse(cls, record: str, path: Path) -> Preparation:
        """Parse the record of a file.

        Raises:
            CheckpointError: if it is damaged, or of another version.
        """
        try:
            fields = json.loads(record)
            if fields.pop("version") == VERSION:
                dtype = getattr(torch, fields.pop("dtype"))
                return cls(quantization=Quantization(**fields), dtype=dtype)
        except (ValueError, TypeError, KeyError, AttributeError, ConfigError):
            pass
        raise CheckpointError(
            f"{path} was converted as {record[:200]}; allowed: version {VERSION}; convert the model again"
        )


class Layout:
    """The tensors of a prepared model, in files and in the model.

    Args:
        model: without weights; stays as it is.
    """

    def __init__(self, model: Model, preparation: Preparation) -> None:
        self.preparation = preparation
        self._model = copy.deepcopy(model)
        self._floats = model.state_dict().keys()
        lay_out(self._model, preparation.quantization, preparation.dtype)
        held = {**dict(self._model.named_parameters()), **dict(self._model.named_buffers())}
        # Others, such as frequencies, are made with the model.
        self.expected = {
            name: one.to(preparation.dtype) if name in self._floats else one
            for name, one in held.items()
            if one.is_meta
        }
        """On the meta device, by name."""

    def load(self, paths: Iterable[Path], dtype: torch.dtype) -> Model:
        """Map the tensors of files.

        Args:
            dtype: of the weights that are not quantized; if files have another one, these are copied.

        Raises:
            CheckpointError: if a file is damaged, files do not hold this model prepared like this, or this CPU does not
                multiply integers.
        """
        if not multiplies_integers(torch.device("cpu")):
            raise CheckpointError(
                f"this CPU has no exact products of integers, which weights in {self.preparation.name} are for; "
                "allowed: the checkpoint they were converted from, in int8 or int4"
            )
        tensors: dict[str, Tensor] = {}
        for path in paths:
            with open_tensors(path) as file:
                record = (file.metadata() or {}).get(PREPARED)
                if record is None or Preparation.parse(record, path) != self.preparation:
                    raise CheckpointError(f"{path} belongs to another conversion than the other files; convert again")
                tensors |= {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        absent = {name for name, one in self.expected.items() if name not in tensors or not _alike(tensors[name], one)}
        if wrong := sorted(absent | tensors.keys() - self.expected.keys()):
            raise CheckpointError(
                f"{path.parent} does not hold this model: {len(wrong)} tensors are missing, unexpected or misshapen: "
                + ", ".join(wrong[:8])
            )
        model = copy.deepcopy(self._model)
        for name, one in tensors.items():
            put(model, name, one.to(dtype) if name in self._floats else one)
        for module in list(model.modules()):
            if isinstance(module, QuantizedWeight):
                module.dtype = dtype
            # CPUs that do not multiply panels multiply in torch what is in them.
            for child, matrix in list(module.named_children()) if not is_available() else ():
                if isinstance(matrix, Matrix):
                    delattr(module, child)
                    setattr(module, child, IntegerMatrix(matrix.levels, matrix.groups))
        set_backend(model, model.choose_backend())
        return model

    def held(self, model: Model) -> dict[str, Tensor]:
        """The tensors of a model that multiplies integers, as files have them."""
        held = _held(model)
        return {name: held[name] for name in self.expected}


class Shards:
    """Files of a checkpoint's prepared weights, each written by rename, and their index. Leaving it with an error
    removes the files.

    Args:
        directory: created if missing.
        layout: what the files will hold together.

    Raises:
        CheckpointError: if the directory cannot be created, or the disk has no room.
    """

    def __init__(self, directory: Path, layout: Layout) -> None:
        self._directory, self._preparation = directory, layout.preparation
        self._files: list[Path] = []
        self._map: dict[str, str] = {}
        self._waiting: dict[str, Tensor] = {}
        try:
            directory.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(directory).free
        except OSError as error:
            raise CheckpointError(f"cannot write {directory}: {error.strerror}") from None
        num_bytes = sum(one.nbytes for one in layout.expected.values())
        if num_bytes > free:
            raise CheckpointError(
                f"{directory} has {free / 1e9:.1f} GB of free disk, but the weights take {num_bytes / 1e9:.1f} GB"
            )

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if kind is not None:
            for path in self._files:
                path.unlink()

    def add(self, tensors: Mapping[str, Tensor]) -> None:
        """Take in tensors, which are kept until their file is full."""
        self._waiting |= tensors
        if sum(one.nbytes for one in self._waiting.values()) >= _SHARD_BYTES:
            self._write()

    def finish(self) -> None:
        """Write the last file and the index, once all tensors were added."""
        self._write()
        num_bytes, index = sum(path.stat().st_size for path in self._files), self._directory / INDEX
        write_json(index, {"metadata": {"total_size": num_bytes}, "weight_map": self._map})
        self._files.append(index)

    def _write(self) -> None:
        if self._waiting:
            path = self._directory / f"model-{len(self._files) + 1:05}.safetensors"
            write_atomically(path, *encode(self._waiting, self._preparation))
            self._files.append(path)
            self._map |= dict.fromkeys(self._waiting, path.name)
            self._waiting = {}


def prepare(
    shards: Shards, layout: Layout, model: Model, weights: Iterable[tuple[str, Tensor | QuantizedWeight]]
) -> None:
    """Prepare weights and write them; only those of a product and of a file are in memory, and the embedding.

    Args:
        layout: of weights in groups, which need no sample.
        model: on the meta device; spent.
        weights: quantized where they should be, in any order.
    """

    def add(path: str, module: nn.Module) -> None:
        held = {f"{path}.{key}": one for key, one in _held(module).items()}
        shards.add({key: one for key, one in held.items() if key in layout.expected})

    needed = {name for name, one in model.named_parameters() if one is model.embedding_VD or one is model.head_VD}
    products = {name: product for product in _products(layout) for name in product.missing}
    for name, weight in weights:
        if isinstance(weight, QuantizedWeight):
            install(model, name, weight)
        else:
            put(model, name, weight)
        product = products.get(name)
        if product is None:
            shards.add({name: cast(Tensor, weight)})
            if name not in needed:
                put(model, name, None)
            continue
        product.missing.remove(name)
        if product.missing:
            continue
        modules = [model.get_submodule(path) for path in product.paths]
        if isinstance(modules[0], QuantizedWeight):
            IntegerExperts(modules[0])
        else:
            IntegerProduct(cast(list[QuantizedLinear], modules), digits=layout.preparation.quantization.digits)
        for path, module in zip(product.paths, modules, strict=True):
            add(path, module)
            parent, _, child = path.rpartition(".")
            model.get_submodule(parent)._modules[child] = None
    make_tables(model)
    for path in ("head_table", "embedding_table"):
        if (table := getattr(model, path)) is not None:
            add(path, table)


@dataclass
class _Product:
    """Weights that are packed together."""

    paths: list[str]
    """Linears, or the weight of experts."""
    missing: set[str]
    """Parameters still to come."""


def _products(layout: Layout) -> list[_Product]:
    modules = dict(layout._model.named_modules())
    path_of = {module: path for path, module in modules.items()}
    products = []
    for path, module in modules.items():
        if isinstance(module, IntegerProduct):
            paths = [path_of[linear] for linear in module.linears]
            missing = {f"{one}.weight" for one in paths}
            missing |= {f"{one}.bias" for one in paths if modules[one].bias is not None}
            products.append(_Product(paths, missing))
        elif isinstance(module, IntegerExperts):
            weight = path.rpartition(".")[0]
            products.append(_Product([weight], {weight}))
    return products


def encode(tensors: Mapping[str, Tensor], preparation: Preparation) -> Iterator[bytes | memoryview]:
    """A safetensors file, part by part; tensors of whole lines of a cache start at one, as loops read panels.

    Source: huggingface.co/docs/safetensors, on the format.
    """
    order = sorted(tensors, key=lambda name: (tensors[name].nbytes % _LINE != 0, -tensors[name].element_size(), name))
    table: dict[str, Any] = {"__metadata__": preparation.metadata}
    end = 0
    for name in order:
        start, end = end, end + tensors[name].nbytes
        kind = _NAMES[tensors[name].dtype]
        table[name] = {"dtype": kind, "shape": list(tensors[name].shape), "data_offsets": [start, end]}
    header = json.dumps(table).encode()
    header += b" " * (-(len(header) + 8) % _LINE)
    yield len(header).to_bytes(8, "little") + header
    for name in order:
        yield tensors[name].detach().contiguous().view(-1).view(torch.uint8).numpy().data


def put(model: nn.Module, name: str, value: Tensor | None) -> None:
    """Set a parameter or buffer, of any type and device; None takes it away."""
    parent, _, child = name.rpartition(".")
    module = model.get_submodule(parent)
    if child in module._parameters:
        module._parameters[child] = None if value is None else nn.Parameter(value, requires_grad=False)
    else:
        module._buffers[child] = value


def _held(module: nn.Module) -> dict[str, Tensor]:
    """The tensors of a module by name, with matrices in panels."""
    held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for path, holder in module.named_modules():
        for child, matrix in vars(holder).items():
            if isinstance(matrix, IntegerMatrix):
                packed = Matrix(matrix.levels, matrix.groups, sums=child == "to_mean")
                start = f"{path}.{child}".removeprefix(".")
                held |= {f"{start}.{name}": one for name, one in packed.named_buffers()}
    return held


def _alike(one: Tensor, other: Tensor) -> bool:
    return (one.dtype, one.shape) == (other.dtype, other.shape)
