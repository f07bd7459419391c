"""Llama-, Qwen2- and Qwen3-shaped models in GGUF files, under the names of Hugging Face checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from sfumato.errors import CheckpointError
from sfumato.gguf_file import GGUFFile

_ARCHITECTURES = ("llama", "qwen2", "qwen3")
_NAMES = {
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
_OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


class GGUFSource:
    """The tensors of a GGUF file, dequantized one at a time.

    Args:
        file: the file.

    Raises:
        CheckpointError: if it holds an architecture that is not supported.
    """

    def __init__(self, file: GGUFFile) -> None:
        self.where = str(file.path)
        self._file = file
        self.architecture = str(self._file.get("general.architecture"))
        if self.architecture not in _ARCHITECTURES:
            raise CheckpointError(
                f"{file.path} holds a model of architecture {self.architecture!r}; allowed: {', '.join(_ARCHITECTURES)}"
            )

    def config(self) -> dict[str, Any]:
        """What config.json of the same model would hold.

        Raises:
            CheckpointError: if the file asks for a rotary scaling, which is not read from GGUF files.
        """
        own = f"{self.architecture}."
        values = {key.removeprefix(own): value for key, value in self._file.metadata.items() if key.startswith(own)}
        if values.get("rope.scaling.type", "none") != "none" or "rope_freqs.weight" in self._file.shapes():
            raise CheckpointError(f"{self.where} scales its rotary embedding; allowed: GGUF files without rope scaling")
        try:
            width, num_heads = values["embedding_length"], values["attention.head_count"]
            return {
                "model_type": self.architecture,
                "vocab_size": self._file.shapes()["token_embd.weight"][0],
                "hidden_size": width,
                "intermediate_size": values["feed_forward_length"],
                "num_hidden_layers": values["block_count"],
                "num_attention_heads": num_heads,
                "num_key_value_heads": values.get("attention.head_count_kv", num_heads),
                "head_dim": values.get("attention.key_length", width // num_heads),
                "max_position_embeddings": values["context_length"],
                "rms_norm_eps": values["attention.layer_norm_rms_epsilon"],
                "rope_theta": values.get("rope.freq_base", 10000.0),
                "tie_word_embeddings": "output.weight" not in self._file.shapes(),
            }
        except KeyError as error:
            raise CheckpointError(f"{self.where} has no {own}{error.args[0]}") from None

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {_renamed(name): shape for name, shape in self._file.shapes().items()}

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        for name, values in self._file.tensors():
            tensor = torch.tensor(values)
            if self.architecture == "llama" and (".attn_q." in name or ".attn_k." in name):
                count = "attention.head_count" if ".attn_q." in name else "attention.head_count_kv"
                tensor = _halves(tensor, int(self._file.get(f"llama.{count}")))
            yield _renamed(name), tensor


def _renamed(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    if stem in _OUTSIDE:
        return f"{_OUTSIDE[stem]}.{kind}"
    block, _, part = stem.removeprefix("blk.").partition(".")
    return f"model.layers.{block}.{_NAMES.get(part, part)}.{kind}"


def _halves(tensor: Tensor, num_heads: int) -> Tensor:
    """Rows of a head from llama.cpp's order, in which rotated pairs are neighbours, to halves."""
    pairs = torch.unflatten(tensor, 0, (num_heads, -1, 2))
    return pairs.transpose(1, 2).flatten(0, 2)
