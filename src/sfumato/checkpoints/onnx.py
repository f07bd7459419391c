"""Export to ONNX: one model step as a graph, next to the weights it reads.

The graph is the model's own code, traced. It computes some positions after others whose keys and values are given, and
reads some of them: the most probable token, a drawn one, confidence, entropy, and the soft embedding for the next step.
So the same graph writes a prompt and takes a canvas step, for any number of positions; the canvas logic is outside.

Weights stay in model.safetensors; the graph refers to offsets in that file.
"""

# Q positions, P positions before them, N positions to read, V vocabulary, D model, S layers, G key-value heads, E head
# dimension, B length buckets

from __future__ import annotations

import json
import logging
import struct
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
from safetensors.torch import save
from torch import Tensor, nn

from sfumato.checkpoints.load import Checkpoint
from sfumato.checkpoints.tensors import LEVELS, SCALES, WEIGHTS, round_tensor
from sfumato.errors import CheckpointError, ConfigError
from sfumato.kernels.base import TORCH
from sfumato.models.decoder import Decoder
from sfumato.models.model import Heads, set_backend
from sfumato.storage import sha256_of, write_atomically, write_json
from sfumato.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import onnx

FORMAT = "sfumato-onnx-1"
GRAPH, MANIFEST = "model.onnx", "export.json"
_STOP_HEAD = "stop_head.safetensors"
FILES = (GRAPH, WEIGHTS, "tokenizer.json", "tokenizer_config.json", "generation_config.json", _STOP_HEAD)
"""Files listed in export.json; the last one is optional."""
_OPSET = 18
_COLD, _NEVER = 1e-4, -1e30
ExportDType = Literal["float32", "int8"]


class _CachedAttention:
    """Attention over given keys and values, and those of the computed positions.

    Args:
        cache_S2GPE: of the earlier positions.
        causal: bool scalar; whether a position attends only to earlier ones.
    """

    def __init__(self, cache_S2GPE: Tensor, causal: Tensor) -> None:
        self._cache, self._causal = cache_S2GPE, causal
        self.written: list[Tensor] = []
        """Keys and values [2, G, Q, E] of each layer."""

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        # See `Attention`; one row.
        assert window is None
        queries_HQE, keys_GQE, values_GQE = (each[0].transpose(0, 1) for each in heads)
        self.written.append(torch.stack((keys_GQE, values_GQE)))
        keys_GSE = torch.cat((self._cache[layer, 0], keys_GQE), dim=1)
        values_GSE = torch.cat((self._cache[layer, 1], values_GQE), dim=1)
        num_groups, size = keys_GSE.shape[0], keys_GSE.shape[2]
        scale = size**-0.5 if scale is None else scale
        queries_GKE = (queries_HQE * scale).reshape(num_groups, -1, size)
        scores_GKS = queries_GKE @ keys_GSE.transpose(1, 2)
        num_queries = queries_HQE.shape[1]
        scores_GRQS = scores_GKS.reshape(num_groups, -1, num_queries, keys_GSE.shape[1])
        position_Q = torch.arange(num_queries) + self._cache.shape[3]
        hidden_QS = self._causal & (torch.arange(keys_GSE.shape[1])[None] > position_Q[:, None])
        shares_GRQS = scores_GRQS.masked_fill(hidden_QS, _NEVER).softmax(-1)
        out_GKE = shares_GRQS.reshape(num_groups, -1, keys_GSE.shape[1]) @ values_GSE
        return out_GKE.reshape(-1, num_queries, size).transpose(0, 1)[None]


class StepGraph(nn.Module):
    """What the graph computes, in torch.

    Args:
        model: of a shape that `check_exportable` allows.
    """

    def __init__(self, model: Decoder) -> None:
        super().__init__()
        self.model = model
        config = model.config
        self.inputs = ["tokens", "cache", "causal", "read", "temperature", "uniform", "banned"]
        self.inputs += ["canvas"] * config.canvas_embedding + ["given"] * config.given_embedding
        self.inputs += ["soft"] * config.self_conditioning
        self.outputs = ["best", "drawn", "confidence", "entropy", "written"]
        self.outputs += ["soft_after"] * config.self_conditioning + ["lengths"] * bool(config.length_buckets)

    def forward(
        self,
        tokens: Tensor,
        cache: Tensor,
        causal: Tensor,
        read: Tensor,
        temperature: Tensor,
        uniform: Tensor,
        banned: Tensor,
        canvas: Tensor | None = None,
        given: Tensor | None = None,
        soft: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """One pass over positions of one text.

        Args:
            tokens: int32 [Q].
            cache: float32 [S, 2, G, P, E]; keys and values of the earlier positions.
            causal: bool; whether positions attend only to earlier ones, as in a prompt.
            read: int32 [N]; positions to read.
            temperature: float32; below 1e-4 it takes the most probable tokens, with untempered statistics.
            uniform: float32 [N], in [0, 1); for drawing tokens.
            banned: bool [V]; tokens never best nor drawn.
            canvas, given: bool [Q]; canvas positions, and those of them with given tokens.
            soft: float32 [Q, D]; soft embedding of the last prediction, 0 without one.

        Returns:
            best, drawn: int32 [N].
            confidence, entropy: float32 [N]; probability of the drawn token, and nats.
            written: float32 [S, 2, G, Q, E]; keys and values of these positions.
            soft_after: float32 [N, D].
            lengths: float32 [N, B + 1]; probability of each answer length after them.
        """
        attention = _CachedAttention(cache, causal)
        positions_1Q = torch.arange(tokens.shape[0])[None] + cache.shape[3]
        canvas_1Q, given_1Q = (None if mark is None else mark[None].float() for mark in (canvas, given))
        hidden_1QD = self.model(
            tokens[None],
            positions_1Q,
            attention,
            canvas_RQ=canvas_1Q,
            soft_RQD=None if soft is None else soft[None],
            given_RQ=given_1Q,
        )
        hidden_ND = hidden_1QD[0].index_select(0, read)
        is_cold = temperature < _COLD
        scores_NV = self.model.logits(hidden_ND) / torch.where(is_cold, 1.0, temperature)
        scores_NV = scores_NV.masked_fill(banned, _NEVER)
        best_N = scores_NV.argmax(-1)
        below_NV = scores_NV - scores_NV.amax(-1, keepdim=True)
        weights_NV = below_NV.exp()
        total_N = weights_NV.sum(-1)
        entropy_N = (total_N.log() - (weights_NV * below_NV).sum(-1) / total_N).clamp_min(0.0)
        # In doubles, because the sum over a large vocabulary would drift.
        running_NV = weights_NV.double().cumsum(-1)
        passed_NV = running_NV <= uniform.double()[:, None] * running_NV[:, -1:]
        drawn_N = passed_NV.long().sum(-1)
        drawn_N = torch.where(is_cold | (drawn_N >= weights_NV.shape[1]), best_N, drawn_N)
        confidence_N = weights_NV.gather(-1, drawn_N[:, None])[:, 0] / total_N
        out = [best_N.int(), drawn_N.int(), confidence_N, entropy_N, torch.stack(attention.written)]
        if soft is not None:
            out.append(self.model.soft_embedding((weights_NV / total_N[:, None])[None])[0])
        if self.model.length_head is not None:
            out.append(self.model.length_logits(hidden_ND).softmax(-1))
        return tuple(out)

    def example(self, num_past: int, num_positions: int) -> dict[str, Tensor]:
        """Example inputs, by name, for some numbers of positions."""
        config = self.model.config
        shape = (config.num_hidden_layers, 2, config.num_key_value_heads, num_past, config.head_dim)
        given = {
            "tokens": torch.arange(num_positions, dtype=torch.int32) % config.vocab_size,
            "cache": torch.zeros(shape),
            "causal": torch.tensor(False),
            "read": torch.arange(num_positions - 1, dtype=torch.int32),
            "temperature": torch.tensor(1.0),
            "uniform": torch.zeros(num_positions - 1),
            "banned": torch.zeros(config.vocab_size, dtype=torch.bool),
            "canvas": torch.ones(num_positions, dtype=torch.bool),
            "given": torch.zeros(num_positions, dtype=torch.bool),
            "soft": torch.zeros(num_positions, config.hidden_size),
        }
        return {name: given[name] for name in self.inputs}


def check_exportable(name: str, checkpoint: Checkpoint) -> Decoder:
    """The checkpoint's model, if its shape can be exported.

    Raises:
        CheckpointError: naming the unsupported shape.
    """
    model = checkpoint.model
    if not isinstance(model, Decoder):
        reason = f"is a {type(model).__name__}"
    elif model.reads_lexemes:
        reason = "reads lexemes"
    elif model.config.moe is not None:
        reason = "has a mixture of experts"
    else:
        return model
    raise CheckpointError(
        f"{name} {reason}, which cannot be exported; allowed: Llama-shaped decoders with an embedding table and dense "
        "layers, such as tiny or LLaDA"
    )


def export_onnx(
    directory: Path,
    name: str,
    checkpoint: Checkpoint,
    tokenizer: Tokenizer,
    *,
    dtype: ExportDType | None = None,
    source: Path | None = None,
) -> None:
    """Write a model for ONNX runtimes: graph, weights, tokenizer and sampling defaults, each by rename.

    export.json comes last: its presence marks the directory as complete.

    Args:
        directory: created if missing.
        checkpoint: the model, in float32 on a CPU.
        dtype: stored type of the matrices, which are multiplied as float32. None keeps the source's file if the graph
            can read it, otherwise float32.
        source: the checkpoint's directory, if it is one.

    Raises:
        CheckpointError: if the model cannot be exported, or a file cannot be written.
        ConfigError: if onnx is not installed.
    """
    model = check_exportable(name, checkpoint)
    held = None if dtype is not None or source is None else _stored_as_read(source, model)
    if held is None:
        weights = {key: tensor.detach().float().contiguous() for key, tensor in model.state_dict().items()}
        if dtype == "int8":
            weights = {
                key: each for whole, tensor in weights.items() for key, each in round_tensor(whole, tensor, 8).items()
            }
        held = save(weights, metadata={"format": "pt"})
    graph = trace(model, held)
    (directory / MANIFEST).unlink(missing_ok=True)
    ends = {"eos_token_id": list(tokenizer.eos_ids)} if len(tokenizer.eos_ids) > 1 else {}
    write_atomically(directory / WEIGHTS, held)
    write_atomically(directory / GRAPH, graph)
    write_json(directory / "generation_config.json", checkpoint.generation | ends)
    tokenizer.save(directory)
    if source is not None and (source / _STOP_HEAD).is_file():
        write_atomically(directory / _STOP_HEAD, (source / _STOP_HEAD).read_bytes())
    write_json(directory / MANIFEST, manifest(name, checkpoint, tokenizer, directory))


def manifest(name: str, checkpoint: Checkpoint, tokenizer: Tokenizer, directory: Path) -> dict[str, Any]:
    """Contents of export.json: how the model generates, its sizes, and the files of the directory."""
    model = check_exportable(name, checkpoint)
    config, spec = model.config, checkpoint.spec
    return {
        "format": FORMAT,
        "name": name,
        "spec": spec.to_dict(),
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "cache_shape": [config.num_hidden_layers, 2, config.num_key_value_heads, config.head_dim],
        "max_positions": config.max_position_embeddings,
        "turn": tokenizer.turn_pieces(),
        "length_buckets": list(config.length_buckets),
        "inputs": StepGraph(model).inputs,
        "files": {
            file: {"bytes": (directory / file).stat().st_size, "sha256": sha256_of([directory / file])}
            for file in FILES
            if (directory / file).is_file()
        },
    }


def trace(model: Decoder, held: bytes) -> bytes:
    """The graph of a model, with weights as offsets in a safetensors file.

    Raises:
        ConfigError: if onnx is not installed.
    """
    try:
        from onnxscript import ir
        from onnxscript.optimizer import optimize_ir
    except ImportError:
        raise ConfigError("exporting needs onnx: pip install 'sfumato[export]'") from None
    backend, trainable = model.backend, [each.requires_grad for each in model.parameters()]
    set_backend(model, TORCH)
    graph = StepGraph(model.requires_grad_(False)).eval()
    example = graph.example(num_past=5, num_positions=7)
    free: Any = torch.export.Dim.DYNAMIC
    axes = {"cache": 3} | dict.fromkeys(("tokens", "read", "uniform", "canvas", "given", "soft"), 0)
    shapes = {key: {axes[key]: free} if key in axes else None for key in example}
    log = logging.getLogger("torch.onnx")
    level = log.level
    try:
        log.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                graph,
                kwargs=example,
                dynamo=True,
                dynamic_shapes=shapes,
                input_names=list(example),
                output_names=graph.outputs,
                opset_version=_OPSET,
                optimize=False,
                verbose=False,
            )
    finally:
        log.setLevel(level)
        set_backend(model, backend)
        for parameter, wanted in zip(model.parameters(), trainable, strict=True):
            parameter.requires_grad_(wanted)
    assert program is not None
    # Matrices stay as stored; runtimes transpose them once.
    optimize_ir(program.model, should_fold=lambda node: False if node.op_type == "Transpose" else None)
    proto: onnx.ModelProto = ir.serde.serialize_model(program.model)
    _refer(proto, find_tensors(held))
    graph_bytes: bytes = proto.SerializeToString(deterministic=True)
    return graph_bytes


class StoredTensor(NamedTuple):
    """Location of a tensor in a safetensors file."""

    dtype: str
    shape: list[int]
    start: int
    size_bytes: int


def find_tensors(held: bytes) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file."""
    (size,) = struct.unpack_from("<Q", held)
    header = json.loads(held[8 : 8 + size])
    header.pop("__metadata__", None)
    found = {}
    for name, tensor in header.items():
        start, end = tensor["data_offsets"]
        found[name] = StoredTensor(tensor["dtype"], tensor["shape"], 8 + size + start, end - start)
    return found


def _stored_as_read(source: Path, model: Decoder) -> bytes | None:
    """A checkpoint's own weight file, if the graph can read it: float32, or 8 bits with one scale per row."""
    if not (source / WEIGHTS).is_file():
        return None
    held = (source / WEIGHTS).read_bytes()
    found = find_tensors(held)
    for name, tensor in model.state_dict().items():
        whole, levels, scales = (found.get(each) for each in (name, *_rounded(name)))
        is_rounded = levels is not None and scales is not None and levels.dtype == "I8" and scales.shape[-1] == 1
        if not is_rounded and (whole is None or whole.dtype != "F32" or whole.shape != list(tensor.shape)):
            return None
    return held


def _rounded(name: str) -> tuple[str, str]:
    return f"{name}{LEVELS}", f"{name}{SCALES}"


def _refer(proto: onnx.ModelProto, stored: Mapping[str, StoredTensor]) -> None:
    """Make a graph read its weights from the file instead of containing them."""
    import onnx

    kept, added = [], []
    for tensor in proto.graph.initializer:
        name = tensor.name.removeprefix("model.")
        if name in stored:
            kept.append(_external(tensor.name, stored[name]))
        elif _rounded(name)[0] in stored:
            parts = [_external(each, stored[each]) for each in _rounded(name)]
            kept += parts
            as_float = f"{tensor.name}.float"
            added.append(onnx.helper.make_node("Cast", [parts[0].name], [as_float], to=onnx.TensorProto.FLOAT))
            added.append(onnx.helper.make_node("Mul", [as_float, parts[1].name], [tensor.name]))
        else:
            kept.append(tensor)
    nodes = [*added, *proto.graph.node]
    for node in nodes:
        node.ClearField("doc_string")
        node.ClearField("metadata_props")
    for field, values in (("initializer", kept), ("node", nodes)):
        proto.graph.ClearField(field)
        getattr(proto.graph, field).extend(values)
    # Shapes of intermediate values; runtimes infer them.
    proto.graph.ClearField("value_info")
    for part in (proto, proto.graph):
        part.ClearField("doc_string")
        part.ClearField("metadata_props")


def _external(name: str, stored: StoredTensor) -> onnx.TensorProto:
    import onnx

    kinds = {"F32": onnx.TensorProto.FLOAT, "I8": onnx.TensorProto.INT8}
    tensor = onnx.TensorProto(name=name, data_type=kinds[stored.dtype], dims=stored.shape)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    about = {"location": WEIGHTS, "offset": stored.start, "length": stored.size_bytes}
    tensor.external_data.extend(onnx.StringStringEntryProto(key=key, value=str(value)) for key, value in about.items())
    return tensor
