"""GGUF files written with the reference library load as the same model."""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor

from sfumato.api import load, quantize
from sfumato.checkpoints.load import load_checkpoint
from sfumato.errors import CheckpointError
from sfumato.gguf_file import GGUFFile
from sfumato.models.decoder import Decoder
from sfumato.models.quantization.products import multiplies_integers
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

gguf = pytest.importorskip("gguf")

NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "lm_head": "output",
}
TEMPLATE = "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}<|answer|>"
ALPHABET = [chr(i) for i in range(33, 127)] + ["Ġ", "Ċ"]
TOKENS = ["<|end|>", "<|user|>", "<|answer|>", *ALPHABET, "he", "ll", "Ġhe", "12"]
MERGES = ["h e", "l l", "Ġ he", "1 2"]


def interleave(weight: Tensor, num_heads: int) -> Tensor:
    """llama.cpp's order of a head's rows: element i of the first half next to element i of the second."""
    heads = weight.view(num_heads, 2, -1, *weight.shape[1:])
    return torch.stack((heads[:, 0], heads[:, 1]), dim=2).reshape(weight.shape)


def write(path: Path, model: Decoder, architecture: str, quantize: Any = None, **metadata: Any) -> Path:
    config = model.config
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    if config.num_key_value_heads != config.num_attention_heads:
        writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_theta)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(metadata.pop("pre", "smollm"))
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 3, 3] + [1] * (len(TOKENS) - 3))
    writer.add_token_merges(MERGES)
    writer.add_eos_token_id(0)
    writer.add_chat_template(TEMPLATE)
    for key, value in metadata.items():
        kind = {str: "string", bool: "bool", int: "uint32", float: "float32", list: "array"}[type(value)]
        # A key as it is, or one of the architecture.
        name = key if "." in key else f"{architecture}.{key}".replace("_", ".")
        if name in writer.kv_data[0]:
            del writer.kv_data[0][name]
        getattr(writer, f"add_{kind}")(name, value)
    for name, tensor in model.state_dict().items():
        stem, _, kind = name.removeprefix("model.").rpartition(".")
        values = tensor
        if architecture == "llama" and ("q_proj" in stem or "k_proj" in stem):
            values = interleave(tensor, config.num_attention_heads if "q_proj" in stem else config.num_key_value_heads)
        if stem.startswith("layers."):
            _, layer, part = stem.split(".", 2)
            stored = f"blk.{layer}.{NAMES[part]}.{kind}"
        else:
            stored = f"{NAMES[stem]}.{kind}"
        array = values.detach().numpy().astype(numpy.float32)
        if quantize is not None and array.ndim == 2:
            packed = gguf.quants.quantize(array, quantize)
            writer.add_tensor(stored, packed, raw_dtype=quantize)
        else:
            writer.add_tensor(stored, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


SHAPES = {
    "llama": {},
    "llama-untied": {"tie_word_embeddings": False},
    "llama-ungrouped": {"num_key_value_heads": 4},
    "qwen2": {"attention_bias": True},
    "qwen3": {"qk_norm": True, "tie_word_embeddings": False},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_loaded_model_equals_the_written_one(make_decoder: Callable[..., Decoder], tmp_path: Path, shape: str):
    model = make_decoder(vocab_size=len(TOKENS), **SHAPES[shape])
    loaded = load_checkpoint(write(tmp_path / "model.gguf", model, shape.split("-")[0]))
    assert loaded.spec == GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
    # The format stores this number in float32.
    eps = loaded.model.config.rms_norm_eps
    assert eps == pytest.approx(model.config.rms_norm_eps, rel=1e-6)
    assert dataclasses.replace(model.config, rms_norm_eps=eps) == loaded.model.config
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(loaded.model.state_dict()[name], tensor, atol=0, rtol=0)


@pytest.mark.parametrize(("kind", "levels"), [("Q8_0", 254), ("Q4_1", 15)])
def test_quantized_blocks_are_dequantized(make_decoder: Callable[..., Decoder], tmp_path: Path, kind: str, levels: int):
    """Every weight is within half a level; levels divide the range of a block of 32 weights."""
    model = make_decoder(vocab_size=len(TOKENS), hidden_size=64, head_dim=16, intermediate_size=96)
    quantize = getattr(gguf.GGMLQuantizationType, kind)
    loaded = load_checkpoint(write(tmp_path / "model.gguf", model, "llama", quantize=quantize)).model.state_dict()
    for name, weight in model.state_dict().items():
        if weight.dim() < 2:
            torch.testing.assert_close(loaded[name], weight, atol=0, rtol=0)
            continue
        blocks = weight.unflatten(-1, (-1, 32))
        spread = 2 * blocks.abs().amax(-1) if kind == "Q8_0" else blocks.amax(-1) - blocks.amin(-1)
        error = (loaded[name].unflatten(-1, (-1, 32)) - blocks).abs().amax(-1)
        # Scales are stored in 16 bits, which shifts a level by up to 2^-11 of its value.
        assert (error <= spread / levels / 2 + 2**-10 * blocks.abs().amax(-1)).all(), name
        assert error.max() > 0


def test_loaded_model_generates(make_decoder: Callable[..., Decoder], tmp_path: Path):
    path = write(tmp_path / "model.gguf", make_decoder(vocab_size=len(TOKENS)), "llama")
    result = load(str(path)).generate("hello", max_tokens=5, temperature=0)
    assert result.usage.prompt_tokens == 2 + len(["he", "ll", "o"])
    assert len(result.tokens) == 5 or result.finish_reason == "stop"


def test_pre_tokenizer_follows_the_file(make_decoder: Callable[..., Decoder], tmp_path: Path):
    """smollm and qwen2 split digits, gpt-2 merges them; no merge crosses a word."""
    model = make_decoder(vocab_size=len(TOKENS))
    for pre, expected in (("smollm", ["1", "2"]), ("qwen2", ["1", "2"]), ("gpt-2", ["12"])):
        tokenizer = Tokenizer.from_gguf(GGUFFile(write(tmp_path / f"{pre}.gguf", model, "llama", pre=pre)))
        ids = tokenizer.encode("hello he 12"[:8] + "12")
        assert [TOKENS[i] for i in ids] == ["he", "ll", "o", "Ġhe", *expected], pre
        assert tokenizer.decode(ids) == "hello he12"
        assert tokenizer.eos_ids == (0,)
        chat = tokenizer.encode_chat([{"role": "user", "content": "<|end|>"}])
        assert (chat[0], chat[-1]) == (1, 2)
        assert 0 not in chat


def test_llama3_files_have_whole_words_and_a_first_token(make_decoder: Callable[..., Decoder], tmp_path: Path):
    """llama.cpp puts the first token before a text if the file says so, and for these splits if it says nothing."""
    model, bos = make_decoder(vocab_size=len(TOKENS)), {"tokenizer.ggml.bos_token_id": 1}
    no_merges, whole = {"tokenizer.ggml.merges": ["l l"]}, TOKENS.index("he")
    for pre, says, expected in (
        ("llama-bpe", {}, [1, whole]),
        ("llama-bpe", {"tokenizer.ggml.add_bos_token": False}, [whole]),
        ("smollm", {}, [TOKENS.index("h"), TOKENS.index("e")]),
        ("smollm", {"tokenizer.ggml.add_bos_token": True}, [1, TOKENS.index("h"), TOKENS.index("e")]),
    ):
        path = write(tmp_path / "a.gguf", model, "llama", pre=pre, **bos, **no_merges, **says)
        assert Tokenizer.from_gguf(GGUFFile(path)).encode_raw("he") == expected, (pre, says)
    path = write(tmp_path / "a.gguf", model, "llama", pre="llama-bpe")
    assert Tokenizer.from_gguf(GGUFFile(path)).encode_raw("he") == [whole]


@pytest.mark.parametrize(
    "damage",
    [
        *({f"tokenizer.ggml.{key}_token_id": 999} for key in ("bos", "eos", "unknown", "padding", "eot")),
        {"tokenizer.ggml.merges": ["h unknown"]},
        {"tokenizer.ggml.merges": ["h"]},
        {"tokenizer.ggml.merges": 5},
        {"tokenizer.ggml.tokens": "a"},
        {"tokenizer.ggml.token_type": [3] * 999},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_damaged_tokenizers_are_refused(make_decoder: Callable[..., Decoder], tmp_path: Path, damage: dict[str, Any]):
    path = write(tmp_path / "a.gguf", make_decoder(vocab_size=len(TOKENS)), "llama", **damage)
    with pytest.raises(CheckpointError, match=r"a\.gguf holds a damaged tokenizer: "):
        Tokenizer.from_gguf(GGUFFile(path))


def test_unsupported_files_are_refused(make_decoder: Callable[..., Decoder], tmp_path: Path):
    model = make_decoder(vocab_size=len(TOKENS))
    with pytest.raises(CheckpointError, match="architecture 'mamba'; allowed: llama, qwen2, qwen3"):
        load_checkpoint(write(tmp_path / "a.gguf", model, "mamba"))
    with pytest.raises(CheckpointError, match="scales its rotary embedding"):
        load_checkpoint(write(tmp_path / "b.gguf", model, "llama", rope_scaling_type="yarn"))
    for key in ("llama.rope.scaling.factor", "llama.rope.scale_linear"):
        with pytest.raises(CheckpointError, match="scales its rotary embedding"):
            load_checkpoint(write(tmp_path / "b.gguf", model, "llama", **{key: 4.0}))
        for factor in (0.0, 1.0):
            load_checkpoint(write(tmp_path / "b.gguf", model, "llama", **{key: factor}))
    # llama.cpp takes no factor from a file of this type.
    unscaled = {"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 4.0}
    load_checkpoint(write(tmp_path / "b.gguf", model, "llama", **unscaled))
    with pytest.raises(CheckpointError, match="splits 'tekken'; allowed: model 'gpt2' with gpt-2, llama-bpe"):
        Tokenizer.from_gguf(GGUFFile(write(tmp_path / "c.gguf", model, "llama", pre="tekken")))
    (tmp_path / "d.gguf").write_bytes(b"GGUF" + bytes(3))
    with pytest.raises(CheckpointError, match=r"cannot read .*d\.gguf"):
        load_checkpoint(tmp_path / "d.gguf")
    with pytest.raises(CheckpointError, match=r"no such file or directory: .*none\.gguf; allowed"):
        load(str(tmp_path / "none.gguf"))


@pytest.mark.parametrize(
    "value", [struct.pack("<II", 4, 0), struct.pack("<IQ", 8, 1) + b"x", struct.pack("<IIQ", 9, 9, 1) * 3000]
)
def test_damaged_alignment_is_refused(tmp_path: Path, value: bytes):
    """Zero, a text, and arrays of arrays."""
    key = b"general.alignment"
    head = b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, len(key)) + key
    (tmp_path / "a.gguf").write_bytes(head + value + bytes(64))
    with pytest.raises(CheckpointError, match=r"cannot read .*a\.gguf"):
        GGUFFile(tmp_path / "a.gguf")


@pytest.mark.parametrize("value", [[4, 4], 0])
def test_head_counts_are_single_numbers(make_decoder: Callable[..., Decoder], tmp_path: Path, value: Any):
    path = write(
        tmp_path / "a.gguf", make_decoder(vocab_size=len(TOKENS)), "llama", **{"llama.attention.head_count": value}
    )
    with pytest.raises(
        CheckpointError, match=r"llama\.attention\.head_count of .*a\.gguf is .*; allowed: a whole number"
    ):
        load_checkpoint(path)


def test_offsets_beyond_any_file_are_refused(make_decoder: Callable[..., Decoder], tmp_path: Path):
    path = write(tmp_path / "a.gguf", make_decoder(vocab_size=len(TOKENS)), "llama")
    file = GGUFFile(path)
    file._tensors = {name: dataclasses.replace(one, offset=2**63) for name, one in file._tensors.items()}
    with pytest.raises(CheckpointError, match=r"cannot read .* of .*a\.gguf"):
        load_checkpoint(file)


@pytest.mark.skipif(not multiplies_integers(torch.device("cpu")), reason="this CPU has no exact integer products")
def test_converted_files_keep_their_defaults_and_ends(make_decoder: Callable[..., Decoder], tmp_path: Path):
    model = make_decoder(vocab_size=len(TOKENS), hidden_size=64, head_dim=16, intermediate_size=96)
    path = write(tmp_path / "model.gguf", model, "llama", **{"tokenizer.ggml.eot_token_id": 2})
    quantize(GGUFFile(path), tmp_path / "out", "w4a8")
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation == {"temperature_start": 0.0, "temperature_end": 0.0, "eos_token_id": [0, 2]}
    before, after = load(str(path)), load(tmp_path / "out")
    assert after.tokenizer.eos_ids == before.tokenizer.eos_ids == (0, 2)
    assert after.sampler_defaults == before.sampler_defaults
