"""Masked diffusion models: LLaDA, Dream, SDAR and LLaDA2.

Each is a Llama-, Qwen- or Ling-shaped decoder with its own attention between prefix and canvas, and its own order of
filling masks.
"""

from __future__ import annotations

from typing import Any

from sfumato.checkpoints.families.family import ConfigTable, Family, Layout, Part, same_names
from sfumato.checkpoints.families.llama import (
    decoder_config,
    no_sliding_window,
    per_expert_names,
    qwen3_config,
    tied_head,
)
from sfumato.config import from_table
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.model import Model
from sfumato.spec import GenerationSpec, PrefixAttention

# The defaults of their generate functions, whatever generation_config.json says. None of the four stops a canvas early
# on confidence: they continue until no mask is left.
_GREEDY: dict[str, Any] = {"temperature_start": 0.0, "temperature_end": 0.0, "stop_entropy": 0.0}
_LLADA_SAMPLING = _GREEDY | {"name": "confidence", "steps": 128, "max_tokens": 128, "block_length": 32}
# Entropy order and Dream's budget; temperature and top_p are those of its README, because its config has none.
_DREAM_SAMPLING: dict[str, Any] = {
    "name": "certainty",
    "budget": "truncated",
    "steps": 256,
    "max_tokens": 256,
    "temperature_start": 0.2,
    "temperature_end": 0.2,
    "top_p": 0.95,
    "stop_entropy": 0.0,
}
# The dynamic rule with the threshold of SDAR's generate function.
_SDAR_SAMPLING = _GREEDY | {"name": "threshold", "threshold": 0.85, "steps": 4, "max_tokens": 256}
# LLaDA2.0's rule. LLaDA2.1 has the same config; its editing is the sampler "edit".
_LLADA2_SAMPLING = _GREEDY | {"name": "threshold", "threshold": 0.95, "steps": 32, "max_tokens": 512}


def _llada(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    for key, value in {
        "block_type": "llama", "activation_type": "silu", "layer_norm_type": "rms", "block_group_size": 1,
        "layer_norm_with_affine": True, "rope": True, "multi_query_attention": None, "bias_for_layer_norm": False,
        "include_bias": False, "include_qkv_bias": False, "attention_layer_norm": False, "alibi": False,
        "scale_logits": False, "input_emb_norm": False,
    }.items():  # fmt: skip
        table.expect(key, value)
    width, num_heads = table.number("d_model"), table.number("n_heads")
    values = {
        "vocab_size": table.number("embedding_size", None) or table.number("vocab_size"),
        "hidden_size": width,
        "intermediate_size": table.number("mlp_hidden_size", None) or table.number("mlp_ratio") * width,
        "num_hidden_layers": table.number("n_layers"),
        "num_attention_heads": num_heads,
        "num_key_value_heads": table.number("n_kv_heads", None) or num_heads,
        "head_dim": width // (num_heads or 1),
        "max_position_embeddings": table.number("max_sequence_length"),
        "rms_norm_eps": table.number("rms_norm_eps"),
        "rope_theta": table.number("rope_theta"),
        "tie_word_embeddings": table.take("weight_tying"),
    }
    spec = _mask_spec(table.number("mask_token_id"), 128, "full")
    table.finish(
        [
            *("vocab_size", "mlp_ratio", "init_device", "init_fn", "init_std", "init_cutoff_factor", "precision"),
            *("flash_attention", "alibi_bias_max", "rope_full_precision", "attention_layer_norm_with_affine"),
        ]
    )
    return Decoder(from_table(DecoderConfig, values)), spec


def _mask_spec(mask_id: int, canvas_length: int, prefix: PrefixAttention, *, shift: bool = False) -> GenerationSpec:
    values = {"mask_id": mask_id, "canvas_length": canvas_length, "prefix_attention": prefix, "logit_shift": shift}
    return from_table(GenerationSpec, {"noise": "mask", **values})


_LLADA_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "q_proj",
    "self_attn.k_proj": "k_proj",
    "self_attn.v_proj": "v_proj",
    "self_attn.o_proj": "attn_out",
    "post_attention_layernorm": "ff_norm",
    "mlp.gate_proj": "ff_proj",
    "mlp.up_proj": "up_proj",
    "mlp.down_proj": "ff_out",
}


def _llada_layout(model: Model) -> Layout:
    """OLMo's names. ff_proj is the gate; ff_out is the down projection in a block, and the head outside."""
    names = {
        "model.embed_tokens": "wte",
        "model.norm": "ln_f",
        "lm_head": "ff_out",
        **{
            f"model.layers.{i}.{ours}": f"blocks.{i}.{theirs}"
            for i in range(len(model.cache_heads))
            for ours, theirs in _LLADA_NAMES.items()
        },
    }
    stored = {name: names[name.removesuffix(".weight")] for name in model.state_dict()}
    return {f"model.transformer.{theirs}.weight": (Part(ours),) for ours, theirs in stored.items()}


def _dream(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    no_sliding_window(table)
    config = decoder_config(table, attention_bias=True)
    spec = _mask_spec(table.number("mask_token_id", 151666), 256, "full", shift=True)
    table.finish(["full_attn_implementation", "use_mrope", "eos_penalty", "eps"])
    return Decoder(config), spec


def _sdar(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    config = qwen3_config(table)
    spec = _mask_spec(table.number("mask_token_id", 151669), table.number("block_size", 4), "block")
    table.finish(
        [
            *("attn_implementation", "fuse_cross_entropy", "debug", "ep_size", "micro_forward", "skip_checkpoint"),
            "use_deepep",
        ]
    )
    return Decoder(config), spec


def _llada2(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    for key, value in {
        "score_function": "sigmoid", "norm_topk_prob": True, "moe_router_enable_expert_bias": True, "use_qk_norm": True,
        "use_qkv_bias": False, "use_bias": False, "norm_head": False, "use_sliding_window": False,
    }.items():  # fmt: skip
        table.expect(key, value)
    sizes = "num_experts num_experts_per_tok moe_intermediate_size n_group topk_group routed_scaling_factor"
    moe = {
        **{key: table.number(key) for key in sizes.split()},
        "num_shared_experts": table.number("num_shared_experts", 0) or 0,
        "first_k_dense_replace": table.number("first_k_dense_replace", 0),
        "score_function": "sigmoid",
    }
    config = decoder_config(table, qk_norm=True, moe=moe)
    # Block length and mask are not in the config: these are defaults of its generate function.
    spec = _mask_spec(table.number("mask_token_id", 156895), table.number("block_length", 32), "block")
    table.finish(
        [
            *("rotary_dim", "use_rmsnorm", "norm_softmax", "using_split_qkv_in_self_attention", "sliding_window"),
            "max_window_layers",
        ]
    )
    return Decoder(config), spec


_LLADA2_NAMES = {
    "model.embed_tokens.": "model.word_embeddings.",
    "self_attn.o_proj.": "attention.dense.",
    "self_attn.q_norm.": "attention.query_layernorm.",
    "self_attn.k_norm.": "attention.key_layernorm.",
}


def _llada2_layout(model: Model) -> Layout:
    """Ling's names: queries, keys and values are one tensor, with all heads of each together."""
    state = model.state_dict()
    layout: Layout = {}
    for name, parts in per_expert_names(model).items():
        if "self_attn.k_proj" in name or "self_attn.v_proj" in name:
            continue
        stored = name
        for ours, theirs in _LLADA2_NAMES.items():
            stored = stored.replace(ours, theirs)
        if "self_attn.q_proj" in name:
            stored = name.replace("self_attn.q_proj", "attention.query_key_value")
            three = [name.replace("q_proj", kind) for kind in ("q_proj", "k_proj", "v_proj")]
            parts = tuple(Part(one, rows=state[one].shape[0]) for one in three)
        layout[stored] = parts
    return layout


FAMILIES = {
    "llada": Family(_llada, _llada_layout, lambda _: _LLADA_SAMPLING),
    "Dream": Family(_dream, same_names, lambda _: _DREAM_SAMPLING, tied_head),
    "sdar": Family(_sdar, same_names, lambda _: _SDAR_SAMPLING, tied_head),
    "sdar_moe": Family(_sdar, per_expert_names, lambda _: _SDAR_SAMPLING, tied_head),
    "llada2_moe": Family(_llada2, _llada2_layout, lambda _: _LLADA2_SAMPLING),
}
