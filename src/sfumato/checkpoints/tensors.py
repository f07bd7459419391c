"""Reads a checkpoint's tensors one at a time: from safetensors, GGUF files, or a delta from a base checkpoint.

Safetensors files are opened one after the other, and reopened after a number of bytes: what was read from an open file
stays in memory, so this limits it to that number, or to one tensor. A matrix NAME may be stored quantized, as
NAME.levels (int8, or uint8 with two 4-bit numbers each), NAME.scales (float32, one per row) and, for 4 bits,
NAME.groups (float16, scale and minimum of each group of a row). It is read as floats. Without groups, 4-bit levels are
signed, and scales are those of groups.

GGUF files hold Llama-, Qwen2- and Qwen3-shaped models, which are read under the names of Hugging Face checkpoints.

A delta is quantized differences from a base checkpoint, plus tensors that the base does not have. A model with a public
base ships at a quarter of its size or less, and unchanged tensors take no space. The base is read where it is, tensor
by tensor, and verified by its hash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from sfumato.checkpoints.registry import PACKAGED, find_model, open_checkpoint
from sfumato.config import check_number, read_json
from sfumato.errors import CheckpointError
from sfumato.gguf_file import GGUFFile
from sfumato.models.quantization.weights import Bits, Quantization, QuantizedWeight, dequantize
from sfumato.storage import sha256_of, write_atomically, write_json

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
PREPARED = "sfumato_prepared"
"""Key of a file's metadata for weights in the form of `checkpoints.prepared`."""
_DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
DTYPES = {**_DTYPES, "I32": torch.int32, "I8": torch.int8, "U8": torch.uint8}
"""Types of tensors, by their names in files."""
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# Bytes read from a file before it is reopened, which takes a millisecond for a thousand tensors.
_PORTION_BYTES = 2**26
LEVELS, SCALES, _GROUPS = ".levels", ".scales", ".groups"
DELTA = "delta.safetensors"
BASE = "base.json"
_GGUF_ARCHITECTURES = ("llama", "qwen2", "qwen3")
_GGUF_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_GGUF_OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


class TensorSource(Protocol):
    """A checkpoint's tensors."""

    where: str
    """The file or directory, for messages."""

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of every tensor, without reading any."""
        ...

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor, in the order that reads each file once."""
        ...


class SafetensorsSource:
    """The safetensors files of a directory.

    Args:
        directory: with model.safetensors, or an index and its shards.

    Raises:
        CheckpointError: if there are none, a shard is missing, or a file is damaged or disagrees with the index.
    """

    def __init__(self, directory: Path) -> None:
        self.files = weight_files(directory)
        self.where = str(next(iter(self.files)) if len(self.files) == 1 else directory)
        self._shapes: dict[str, tuple[int, ...]] = {}
        self.dtypes: dict[str, torch.dtype | None] = {}
        """Type of every tensor; None for quantized tensors, and for types that weights do not have."""
        for path, named in self.files.items():
            with open_tensors(path) as file:
                if PREPARED in (file.metadata() or {}):
                    raise CheckpointError(
                        f"{directory} holds quantized weights in the form in which they are multiplied; allowed: to "
                        "run it, or the checkpoint it was converted from"
                    )
                found = stored_shapes(file)
                plain = found.keys() & set(file.keys())
                self.dtypes |= {name: _DTYPES.get(file.get_slice(name).get_dtype()) for name in plain}
                self.dtypes |= dict.fromkeys(found.keys() - plain)
            if named is not None and (astray := named - found.keys()):
                raise CheckpointError(f"{path} lacks tensors that {INDEX} says it has: {', '.join(sorted(astray)[:8])}")
            if twice := found.keys() & self._shapes.keys():
                raise CheckpointError(f"{path} holds {min(twice)} a second time; allowed: each tensor in one shard")
            self._shapes |= found

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return self._shapes

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        for path in self.files:
            with open_tensors(path) as file:
                remaining = list(reversed(stored_shapes(file)))
            while remaining:
                with open_tensors(path) as file:
                    held_bytes = 0
                    while remaining and held_bytes < _PORTION_BYTES:
                        tensor = read_tensor(file, remaining[-1])
                        held_bytes += tensor.nbytes
                        yield remaining.pop(), tensor


def weight_files(directory: Path) -> Mapping[Path, set[str] | None]:
    """The files to read, each with its tensors according to the index."""
    if (directory / WEIGHTS).is_file():
        return {directory / WEIGHTS: None}
    if not (directory / INDEX).is_file():
        pickles = sorted(path.name for pattern in _PICKLES for path in directory.glob(pattern))
        if pickles:
            raise CheckpointError(
                f"{directory} holds {pickles[0]}, a pickle, which can run code when it is read; "
                "allowed: safetensors only; convert the file first"
            )
        raise CheckpointError(f"cannot read {directory / WEIGHTS}: no such file")
    named: dict[Path, set[str]] = {}
    index = read_json(directory / INDEX).get("weight_map")
    if not isinstance(index, dict) or not index:
        raise CheckpointError(f"{directory / INDEX} has no weight_map")
    for name, file in index.items():
        path = directory / str(file)
        if path.parent != directory:
            raise CheckpointError(f"{directory / INDEX} names {file!r}; allowed: files beside it")
        named.setdefault(path, set()).add(name)
    missing = [path.name for path in named if not path.is_file()]
    if missing:
        raise CheckpointError(f"{directory} lacks {len(missing)} of {len(named)} shards: {', '.join(missing[:8])}")
    return named


def hash_of_weights(path: Path) -> str:
    """SHA-256 of the files of a checkpoint's weights; of a delta also what it says of its base.

    Raises:
        CheckpointError: as for `weight_files`.
    """
    if path.is_file():
        return sha256_of([path])
    return sha256_of([path / DELTA, path / BASE] if (path / DELTA).exists() else weight_files(path))


def round_tensor(name: str, tensor: Tensor, bits: Bits) -> dict[str, Tensor]:
    """What to store for a tensor: a quantized matrix, or the tensor itself if it cannot be quantized."""
    if tensor.dim() < 2 or tensor.shape[-1] % 2:
        return {name: tensor.contiguous()}
    weight = QuantizedWeight(tensor.shape, Quantization(bits), torch.float32)
    weight.put((), tensor)
    held = {f"{name}{LEVELS}": weight.levels, f"{name}{SCALES}": weight.scales}
    return held if weight.groups is None else held | {f"{name}{_GROUPS}": weight.groups}


def stored_shapes(file: Any) -> dict[str, tuple[int, ...]]:
    """The tensors of an open file, with the shapes they are read in."""
    names, shapes = set(file.keys()), {}
    for name in file.keys():  # noqa: SIM118
        stem, kind = name.rpartition(".")[0], name[name.rfind(".") :]
        stored = file.get_slice(name)
        *leading, width = stored.get_shape() or [1]
        if kind == LEVELS and f"{stem}{SCALES}" in names:
            shapes[stem] = (*leading, 2 * width if stored.get_dtype() == "U8" else width)
        elif kind not in (SCALES, _GROUPS) or f"{stem}{LEVELS}" not in names:
            shapes[name] = tuple(stored.get_shape())
    return shapes


def read_tensor(file: Any, name: str) -> Tensor:
    """A tensor of an open file."""
    if is_rounded(file, name):
        levels, scales = (file.get_tensor(f"{name}{part}") for part in (LEVELS, SCALES))
        groups = file.get_tensor(f"{name}{_GROUPS}") if f"{name}{_GROUPS}" in file.keys() else None  # noqa: SIM118
        try:
            if scales.shape[:-1] == levels.shape[:-1] and (groups is None or groups.shape[:-2] == levels.shape[:-1]):
                return dequantize(levels, scales, torch.float32, groups)
        except (RuntimeError, ValueError, IndexError):
            pass
        raise SafetensorError(f"levels, scales and groups of {name} have shapes that do not fit")
    tensor: Tensor = file.get_tensor(name)
    return tensor


def is_rounded(file: Any, name: str) -> bool:
    """Whether a tensor of an open file is quantized."""
    return f"{name}{LEVELS}" in file.keys()  # noqa: SIM118


@contextmanager
def open_tensors(path: Path) -> Iterator[Any]:
    """safe_open with our errors, on opening and on reading."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"cannot read {path}: {error}; is the file complete?") from None


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Replace a safetensors file, see `write_atomically`."""
    write_atomically(path, save(dict(tensors), metadata={"format": "pt"}))


class GGUFSource:
    """The tensors of a GGUF file, dequantized one at a time.

    Raises:
        CheckpointError: if it holds an architecture that is not supported.
    """

    def __init__(self, file: GGUFFile) -> None:
        self.where = str(file.path)
        self._file = file
        self.architecture = str(self._file.get("general.architecture"))
        if self.architecture not in _GGUF_ARCHITECTURES:
            allowed = ", ".join(_GGUF_ARCHITECTURES)
            raise CheckpointError(
                f"{file.path} holds a model of architecture {self.architecture!r}; allowed: {allowed}"
            )

    def config(self) -> dict[str, Any]:
        """What config.json of the same model would hold.

        Raises:
            CheckpointError: if the file asks for a rotary scaling, which is not read from GGUF files.
        """
        prefix = f"{self.architecture}."
        values = {
            key.removeprefix(prefix): value for key, value in self._file.metadata.items() if key.startswith(prefix)
        }
        # Without a type, llama.cpp scales linearly by the factor, if there is one.
        factor = values.get("rope.scaling.factor", values.get("rope.scale_linear", 0))
        scaling = values.get("rope.scaling.type", "none" if factor in (0, 1) else "linear")
        if scaling != "none" or "rope_freqs.weight" in self._file.shapes():
            raise CheckpointError(f"{self.where} scales its rotary embedding; allowed: GGUF files without rope scaling")
        try:
            width = self._whole(f"{prefix}embedding_length", values["embedding_length"])
            num_heads = self._num_heads("q")
            return {
                "model_type": self.architecture,
                "vocab_size": self._file.shapes()["token_embd.weight"][0],
                "hidden_size": width,
                "intermediate_size": values["feed_forward_length"],
                "num_hidden_layers": values["block_count"],
                "num_attention_heads": num_heads,
                "num_key_value_heads": self._num_heads("k"),
                "head_dim": values.get("attention.key_length", width // num_heads),
                "max_position_embeddings": values["context_length"],
                "rms_norm_eps": values["attention.layer_norm_rms_epsilon"],
                "rope_theta": values.get("rope.freq_base", 10000.0),
                "tie_word_embeddings": "output.weight" not in self._file.shapes(),
            }
        except KeyError as error:
            raise CheckpointError(f"{self.where} has no {prefix}{error.args[0]}") from None

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {_renamed(name): shape for name, shape in self._file.shapes().items()}

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        for name, values in self._file.tensors():
            tensor, kind = torch.tensor(values), name.partition(".attn_")[2][:2]
            if self.architecture == "llama" and kind in ("q.", "k."):
                tensor = _halves(tensor, self._num_heads(kind[0]))
            yield _renamed(name), tensor

    def _num_heads(self, kind: str) -> int:
        """The number of heads of queries ("q") or keys ("k")."""
        key, keys = f"{self.architecture}.attention.head_count", f"{self.architecture}.attention.head_count_kv"
        key = keys if kind == "k" and keys in self._file.metadata else key
        return self._whole(key, self._file.get(key))

    def _whole(self, key: str, value: Any) -> int:
        check_number(f"{key} of {self.where}", value, 1, whole=True, error=CheckpointError)
        return int(value)


def _renamed(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    if stem in _GGUF_OUTSIDE:
        return f"{_GGUF_OUTSIDE[stem]}.{kind}"
    block, _, part = stem.removeprefix("blk.").partition(".")
    return f"model.layers.{block}.{_GGUF_NAMES.get(part, part)}.{kind}"


def _halves(tensor: Tensor, num_heads: int) -> Tensor:
    """Rows of a head from llama.cpp's order, in which rotated pairs are neighbours, to halves."""
    pairs = torch.unflatten(tensor, 0, (num_heads, -1, 2))
    return pairs.transpose(1, 2).flatten(0, 2)


def resolve_base(name: str) -> Path:
    """Find a base by any name that `find_model` takes.

    Raises:
        CheckpointError: see `find_model`; also if the base is itself a delta.
    """
    path = find_model(name)
    if (path / DELTA).exists():
        base = base_of(path)["base"]
        raise CheckpointError(f"{path} is itself a delta, of {base}; allowed: a checkpoint with all of its weights")
    return path


def save_delta(directory: Path, weights: Mapping[str, Tensor], base: str, *, bits: Bits = 8) -> None:
    """Write weights as differences from a base: base.json and delta.safetensors, each by rename.

    Args:
        directory: created if missing.
        weights: of the model, by name. Differences of matrices, and new matrices, are quantized; everything else is
            exact.
        base: see `resolve_base`.
        bits: per quantized number, 8 or 4.

    Raises:
        CheckpointError: if the base cannot be read, or a file cannot be written.
    """
    path = resolve_base(base)
    if path.resolve() == directory.resolve():
        raise CheckpointError(f"the base is {path}, the directory to write; allowed: another checkpoint")
    source, new = tensors_of(path), dict(weights)
    stored: dict[str, Tensor] = {}
    taken = []
    for name, tensor in source:
        if name not in new or new[name].shape != tensor.shape:
            continue
        weight = new.pop(name).detach().cpu().float()
        taken.append(name)
        if not torch.equal(weight, tensor.float()):
            # Tensors that cannot be quantized are stored whole, not as a difference.
            difference = round_tensor(name, weight - tensor.float(), bits)
            stored |= {name: weight.contiguous()} if name in difference else difference
    for name, tensor in new.items():
        stored |= round_tensor(name, tensor.detach().cpu().float(), bits)
    if Path(base).resolve() == path.resolve():
        # A directory: by its whole path, so that the delta can be read from elsewhere.
        base = str(path.resolve())
    info = {"base": base, "sha256": _sha256(path), "taken": sorted(taken)}
    write_tensors(directory / DELTA, stored)
    write_json(directory / BASE, info)


def base_of(directory: Path) -> dict[str, Any]:
    """Contents of a delta's base.json: the base, its SHA-256, and the tensors it provides.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    info = read_json(directory / BASE)
    for key, kind in (("base", str), ("sha256", str), ("taken", list)):
        if not isinstance(info.get(key), kind):
            raise CheckpointError(f"{directory / BASE}: {key} is {info.get(key)!r}; allowed: a {kind.__name__}")
    return info


class DeltaSource:
    """The tensors of a base with a delta added.

    Args:
        directory: with base.json and delta.safetensors.

    Raises:
        CheckpointError: if a file is missing or damaged, or the base is missing or a different one.
    """

    def __init__(self, directory: Path) -> None:
        info = base_of(directory)
        path = resolve_base(info["base"])
        self.where = str(directory)
        self._path = directory / DELTA
        self._base = tensors_of(path)
        self._taken = frozenset(map(str, info["taken"]))
        # Packaged checkpoints are verified when they are found.
        if info["base"] not in PACKAGED and (found := _sha256(path)) != info["sha256"]:
            raise CheckpointError(f"{path} has sha256 {found}; allowed: {info['sha256']}, the base of {directory}")
        missing = self._taken - self._base.shapes().keys()
        if missing:
            raise CheckpointError(f"{path} lacks tensors that {directory} changes: {', '.join(sorted(missing)[:8])}")
        with open_tensors(self._path) as file:
            stored = stored_shapes(file)
        self._changed, shapes = stored.keys() & self._taken, self._base.shapes()
        for name in sorted(self._changed):
            if stored[name] != shapes[name]:
                given, allowed = list(stored[name]), list(shapes[name])
                raise CheckpointError(f"{self._path}: {name} has shape {given}; allowed: {allowed}, as in {path}")
        self._new = {name: shape for name, shape in stored.items() if name not in self._taken}

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        taken = {name: shape for name, shape in self._base.shapes().items() if name in self._taken}
        return taken | self._new

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        with open_tensors(self._path) as file:
            for name, tensor in self._base:
                if name in self._changed:
                    difference = read_tensor(file, name)
                    tensor = tensor.float() + difference if is_rounded(file, name) else difference
                if name in self._taken:
                    yield name, tensor
            for name in self._new:
                yield name, read_tensor(file, name)


def tensors_of(path: Path | GGUFFile) -> TensorSource:
    """The tensors of a checkpoint in any format.

    Raises:
        CheckpointError: see the sources.
    """
    path = open_checkpoint(path)
    if isinstance(path, GGUFFile):
        return GGUFSource(path)
    return DeltaSource(path) if (path / DELTA).exists() else SafetensorsSource(path)


def _sha256(path: Path) -> str:
    return sha256_of(sorted(SafetensorsSource(path).files) if path.is_dir() else [path])
