"""Llama, Mistral, Qwen2, Qwen3 and Qwen3-MoE: autoregressive models, as canvases of one position."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from sfumato.checkpoints.families.family import ConfigTable, Family, Layout, Part, given, same_names
from sfumato.config import from_table
from sfumato.errors import CheckpointError
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.layers import RopeScaling
from sfumato.models.model import Model
from sfumato.models.moe import MoEConfig
from sfumato.spec import GenerationSpec

AUTOREGRESSIVE = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")


def decoder_config(table: ConfigTable, **settings: Any) -> DecoderConfig:
    """Read the config keys shared by Llama-shaped families; `settings` holds their differences.

    Raises:
        CheckpointError: if a value is missing, not a number, or not supported.
        ConfigError: if a value is not allowed.
    """
    table.expect("hidden_act", "silu")
    hidden_size, num_heads = table.number("hidden_size"), table.number("num_attention_heads")
    theta, fraction, scaling = rope(table)
    values = {
        "vocab_size": table.number("vocab_size"),
        "hidden_size": hidden_size,
        "intermediate_size": table.number("intermediate_size"),
        "num_hidden_layers": table.number("num_hidden_layers"),
        "num_attention_heads": num_heads,
        "num_key_value_heads": table.number("num_key_value_heads", None) or num_heads,
        "head_dim": table.number("head_dim", None) or hidden_size // (num_heads or 1),
        "max_position_embeddings": table.number("max_position_embeddings", 2048),
        "rms_norm_eps": table.number("rms_norm_eps", 1e-6),
        "rope_theta": theta,
        "partial_rotary_factor": fraction,
        "tie_word_embeddings": table.take("tie_word_embeddings", False),
    }
    return from_table(DecoderConfig, {**values, **settings, "rope_scaling": scaling})


def rope(table: ConfigTable) -> tuple[float, float, dict[str, Any] | None]:
    """Base, rotated share and scaling of the rotary embedding, from either config format."""
    parameters, scaling = table.object("rope_parameters", {}), table.object("rope_scaling", {})
    theta = table.number("rope_theta", None) or parameters.get("rope_theta", 10000.0)
    fraction = table.number("partial_rotary_factor", None) or parameters.get("partial_rotary_factor", 1.0)
    merged = {**parameters, **scaling}
    kind = merged.pop("rope_type", merged.pop("type", "default"))
    if kind in (None, "default"):
        return theta, fraction, None
    known = RopeScaling.__dataclass_fields__
    extra = merged.keys() - known.keys() - {"rope_theta", "partial_rotary_factor", "type"}
    if kind not in ("linear", "llama3") or extra:
        raise CheckpointError(
            f"{table.where}: rope scaling is {merged | {'rope_type': kind}}; allowed: default, linear, llama3"
        )
    return theta, fraction, {"rope_type": kind} | {key: merged[key] for key in merged.keys() & known.keys()}


def no_sliding_window(table: ConfigTable) -> None:
    """Read Qwen's sliding window keys, and refuse a window that is on."""
    table.expect("use_sliding_window", False)
    table.take("sliding_window", None)
    table.take("max_window_layers", None)
    kinds = table.take("layer_types", None) or []
    if not isinstance(kinds, list) or any(kind != "full_attention" for kind in kinds):
        raise CheckpointError(f"{table.where}: layer_types is {kinds!r:.200}; allowed: a list of 'full_attention'")


def _mixture(table: ConfigTable) -> dict[str, Any]:
    """The mixture of experts of a Qwen3-MoE config."""
    table.expect("decoder_sparse_step", 1)
    table.expect("mlp_only_layers", [], None)
    # The name used by transformers 5.
    local = table.number("num_local_experts", None)
    return {
        "num_experts": table.number("num_experts") if local is None else table.number("num_experts", local),
        "num_experts_per_tok": table.number("num_experts_per_tok"),
        "moe_intermediate_size": table.number("moe_intermediate_size"),
        "norm_topk_prob": table.take("norm_topk_prob", False),
    }


def _llama(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    bias = table.take("attention_bias", False)
    config = decoder_config(table, attention_bias=bias, output_bias=bias, mlp_bias=table.take("mlp_bias", False))
    table.finish(["pretraining_tp", "is_llama_config", "rope_interleaved"])
    return Decoder(config), AUTOREGRESSIVE


def _mistral(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    table.expect("sliding_window", None)
    config = decoder_config(table)
    table.finish()
    return Decoder(config), AUTOREGRESSIVE


def _qwen2(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    no_sliding_window(table)
    config = decoder_config(table, attention_bias=True)
    table.finish(["use_mrope"])
    return Decoder(config), AUTOREGRESSIVE


def qwen3_config(table: ConfigTable) -> DecoderConfig:
    """The config of a Qwen3-shaped decoder: normalised queries and keys, with experts if the model type has them."""
    no_sliding_window(table)
    moe = _mixture(table) if str(table.take("model_type")).endswith("_moe") else None
    bias = table.take("attention_bias", False)
    return decoder_config(table, attention_bias=bias, output_bias=bias, qk_norm=True, moe=moe)


def _qwen3(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    config = qwen3_config(table)
    table.finish()
    return Decoder(config), AUTOREGRESSIVE


def per_expert_names(model: Model) -> Layout:
    """Our names, but with each expert's matrices separate, as in Qwen3-MoE."""
    layout = same_names(model)
    state = model.state_dict()
    for name in [name for name in layout if name.endswith("experts.gate_up_proj")]:
        del layout[name]
        prefix = name.removesuffix("gate_up_proj")
        num_experts, twice, _ = state[name].shape
        del layout[f"{prefix}down_proj"]
        for expert in range(num_experts):
            half = twice // 2
            layout[f"{prefix}{expert}.gate_proj.weight"] = (Part(name, put=(expert, slice(None, half))),)
            layout[f"{prefix}{expert}.up_proj.weight"] = (Part(name, put=(expert, slice(half, None))),)
            layout[f"{prefix}{expert}.down_proj.weight"] = (Part(f"{prefix}down_proj", put=(expert,)),)
    return layout


def tied_head(model: Model) -> Collection[str]:
    """A stored head that equals the embedding, and frequencies in old files."""
    assert isinstance(model.config, DecoderConfig)
    layers = range(model.config.num_hidden_layers)
    frequencies = [f"model.layers.{i}.self_attn.rotary_emb.inv_freq" for i in layers]
    return [*(["lm_head.weight"] if model.config.tie_word_embeddings else []), *frequencies]


def autoregressive_generation(values: Mapping[str, Any]) -> dict[str, Any]:
    """Sampling defaults from generation_config.json for autoregressive models: greedy unless do_sample is set."""
    if not values.get("do_sample", False):
        return {"temperature_start": 0.0, "temperature_end": 0.0}
    temperature = given(values, "temperature", 1.0)
    return {
        "temperature_start": temperature,
        "temperature_end": temperature,
        "top_p": given(values, "top_p", 1.0),
        "top_k": given(values, "top_k", 0),
    }


_SIZES = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps", "rope_theta"),
    "tie_word_embeddings",
)
_MOE_KEYS = ("num_experts", "num_experts_per_tok", "moe_intermediate_size", "norm_topk_prob")
# By biases of queries, outputs and MLP, norms of queries, and experts.
_TRANSFORMERS = {
    (False, False, False, False, False): ("llama", "LlamaForCausalLM"),
    (True, True, False, False, False): ("llama", "LlamaForCausalLM"),
    (False, False, True, False, False): ("llama", "LlamaForCausalLM"),
    (True, True, True, False, False): ("llama", "LlamaForCausalLM"),
    (True, False, False, False, False): ("qwen2", "Qwen2ForCausalLM"),
    (False, False, False, True, False): ("qwen3", "Qwen3ForCausalLM"),
    (True, True, False, True, False): ("qwen3", "Qwen3ForCausalLM"),
    (False, False, False, True, True): ("qwen3_moe", "Qwen3MoeForCausalLM"),
}


def hugging_face_config(config: DecoderConfig) -> dict[str, Any]:
    """The config.json of the equivalent transformers model of an autoregressive decoder.

    Raises:
        CheckpointError: if there is none, naming what it lacks.
    """
    moe = {} if config.moe is None else {key: getattr(config.moe, key) for key in _MOE_KEYS}
    parts = ("canvas_embedding", "given_embedding", "self_conditioning", "length_buckets")
    extra = [name for name in parts if getattr(config, name)]
    extra += ["partial_rotary_factor"] * (config.partial_rotary_factor != 1.0)
    extra += ["shared or grouped experts"] * (config.moe is not None and config.moe != MoEConfig(**moe))
    switches = (config.attention_bias, config.output_bias, config.mlp_bias, config.qk_norm, config.moe is not None)
    if extra or switches not in _TRANSFORMERS:
        lacking = ", ".join(extra) or "this combination of biases, query norms and experts"
        raise CheckpointError(f"no transformers model supports {lacking}; allowed: Llama, Qwen2 and Qwen3 shapes")
    kind, architecture = _TRANSFORMERS[switches]
    biases = {"attention_bias": config.attention_bias, "mlp_bias": config.mlp_bias}
    read = {"llama": biases, "qwen2": {}}.get(kind, {"attention_bias": config.attention_bias})
    return {
        "model_type": kind,
        "architectures": [architecture],
        "hidden_act": "silu",
        **{key: getattr(config, key) for key in _SIZES},
        "rope_scaling": None if config.rope_scaling is None else dataclasses.asdict(config.rope_scaling),
        **read,
        **moe,
    }


FAMILIES = {
    "llama": Family(_llama, same_names, autoregressive_generation, tied_head),
    "mistral": Family(_mistral, same_names, autoregressive_generation, tied_head),
    "qwen2": Family(_qwen2, same_names, autoregressive_generation, tied_head),
    "qwen3": Family(_qwen3, same_names, autoregressive_generation, tied_head),
    "qwen3_moe": Family(_qwen3, per_expert_names, autoregressive_generation, tied_head),
}
