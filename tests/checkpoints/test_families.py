"""Configs of other programs: what they may hold, and sampling defaults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.checkpoints.families.llama import AUTOREGRESSIVE
from sfumato.checkpoints.load import Checkpoint, describe, export_checkpoint
from sfumato.errors import CheckpointError
from sfumato.models.decoder import Decoder

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 11,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
MOE = LLAMA | {"model_type": "qwen3_moe", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 4}
QWEN3 = LLAMA | {"model_type": "qwen3"}
SDAR = LLAMA | {"model_type": "sdar", "mask_token_id": 3}
LLADA: dict[str, Any] = {
    "model_type": "llada",
    "vocab_size": 11,
    "d_model": 8,
    "mlp_hidden_size": 12,
    "n_layers": 2,
    "n_heads": 2,
    "max_sequence_length": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 1e4,
    "weight_tying": False,
    "mask_token_id": 3,
}


def write(directory: Path, config: dict[str, Any], generation: dict[str, Any] | None = None) -> Path:
    (directory / "config.json").write_text(json.dumps(config))
    if generation is not None:
        (directory / "generation_config.json").write_text(json.dumps(generation))
    return directory


@pytest.mark.parametrize("config", [LLAMA, MOE, SDAR, LLADA], ids=lambda config: config["model_type"])
def test_smallest_configs(tmp_path: Path, config: dict[str, Any]):
    assert describe(write(tmp_path, config)).model.config.vocab_size == 11


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (LLAMA | {"num_attention_heads": 0}, "num_attention_heads is 0; allowed: a whole number, more than 0"),
        (LLAMA | {"rms_norm_eps": float("nan")}, "rms_norm_eps is nan; allowed: more than 0"),
        (LLAMA | {"rope_parameters": 5}, "rope_parameters is 5; allowed: an object"),
        (LLAMA | {"rope_scaling": [1]}, r"rope_scaling is \[1\]; allowed: an object"),
        (MOE | {"norm_topk_prob": "yes"}, "norm_topk_prob is 'yes'; allowed: true or false"),
        (MOE | {"num_experts": 4.0}, "num_experts is 4.0; allowed: a whole number"),
        (QWEN3 | {"layer_types": 5}, "layer_types is 5; allowed: a list of 'full_attention'"),
        (QWEN3 | {"layer_types": [["full_attention"]]}, "layer_types is .*; allowed: a list"),
        (QWEN3 | {"layer_types": ["full_attention", 1]}, "layer_types is .*; allowed: a list"),
        (MOE | {"layer_types": ["sliding_attention"]}, r"layer_types is \['sliding_attention'\]; allowed: a list"),
        (SDAR | {"block_size": 4.0}, "canvas_length is 4.0; allowed: a whole number"),
        (SDAR | {"mask_token_id": 3.5}, "mask_id is 3.5; allowed: a whole number"),
        (LLADA | {"n_heads": 0}, "num_attention_heads is 0; allowed: a whole number, more than 0"),
        (LLADA | {"d_model": 8.0}, "hidden_size is 8.0; allowed: a whole number"),
        (LLADA | {"weight_tying": "no"}, "tie_word_embeddings is 'no'; allowed: true or false"),
    ],
)
def test_values_of_another_type_are_refused(tmp_path: Path, config: dict[str, Any], message: str):
    with pytest.raises(CheckpointError, match=message):
        describe(write(tmp_path, config))


def test_autoregressive_models_are_greedy_unless_they_draw(tmp_path: Path):
    greedy = {"temperature_start": 0.0, "temperature_end": 0.0}
    assert describe(write(tmp_path, LLAMA, {"temperature": 0.6, "top_k": 20})).generation == greedy
    drawn = {"do_sample": True, "temperature": 0.6, "top_p": 0.9, "top_k": 20}
    expected = {"temperature_start": 0.6, "temperature_end": 0.6, "top_p": 0.9, "top_k": 20}
    assert describe(write(tmp_path, LLAMA, drawn)).generation == expected
    plain = {"temperature_start": 1.0, "temperature_end": 1.0, "top_p": 1.0, "top_k": 0}
    assert describe(write(tmp_path, LLAMA, {"do_sample": True, "top_p": None})).generation == plain
    # `TextModel` refuses what no sampler takes, by name.
    assert describe(write(tmp_path, LLAMA, {"do_sample": True, "top_p": "much"})).generation["top_p"] == "much"


@pytest.mark.parametrize(
    "part",
    [
        {"canvas_embedding": True},
        {"given_embedding": True},
        {"self_conditioning": True},
        {"length_buckets": (4, 8)},
        {"partial_rotary_factor": 2 / 3},
        {"mlp_bias": True, "qk_norm": True},
    ],
    ids=lambda part: next(iter(part)),
)
def test_parts_that_transformers_lacks_are_not_exported(
    make_decoder: Callable[..., Decoder], tmp_path: Path, part: dict[str, Any]
):
    lacking = "this combination" if len(part) > 1 else next(iter(part))
    with pytest.raises(CheckpointError, match=f"no transformers model supports {lacking}"):
        export_checkpoint(tmp_path, Checkpoint(make_decoder(**part), AUTOREGRESSIVE, {}), [0])
