"""DiffusionGemma: the text part of a multimodal checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.checkpoints.families.family import ConfigTable, Family, Layout, Part, given, same_names
from sfumato.config import from_table
from sfumato.errors import CheckpointError, ConfigError
from sfumato.models.gemma import ACTIVATION, DECODER, ENCODER, Gemma, GemmaConfig
from sfumato.models.model import Model
from sfumato.spec import GenerationSpec

# Image settings: their tokens, and how they are encoded.
IMAGE_KEYS = ("boi_token_id", "eoi_token_id", "image_token_id", "vision_config", "vision_soft_tokens_per_image")
IMAGE_TENSORS = ("model.encoder.vision_tower.", "model.encoder.embed_vision.")

_SLIDING, _FULL = "sliding_attention", "full_attention"
_SAMPLER = "EntropyBoundSamplerConfig"


def _build(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    table.expect("tie_word_embeddings", True)
    config = _text_config(table.table("text_config"))
    canvas_length = table.number("canvas_length", 256)
    table.finish(IMAGE_KEYS)
    return Gemma(config), GenerationSpec(
        noise="uniform",
        canvas_length=canvas_length,
        prefix_attention="causal",
        self_conditioning=True,
        commit="reencode",
    )


def _text_config(table: ConfigTable) -> GemmaConfig:
    table.expect("hidden_activation", ACTIVATION)
    # Encoder and decoder would each have biases of their own: the reference ties only weights.
    table.expect("attention_bias", False)
    # "vision" lets the positions of one image attend to each other; text stays causal.
    table.expect("use_bidirectional_attention", None, "vision")
    table.expect("tie_word_embeddings", True)
    layer_types = table.take("layer_types")
    num_layers = table.number("num_hidden_layers")
    if not isinstance(layer_types, list) or len(layer_types) != num_layers:
        raise CheckpointError(f"{table.where}: layer_types is {layer_types!r}; allowed: a list of {num_layers} names")
    if unknown := set(map(str, layer_types)) - {_SLIDING, _FULL}:
        raise CheckpointError(
            f"{table.where}: layer_types has {', '.join(sorted(unknown))}; allowed: {_FULL}, {_SLIDING}"
        )
    heads = _heads(table, layer_types)
    ropes = table.table("rope_parameters")
    ropes.finish([_SLIDING, _FULL])
    window = table.number("sliding_window", 512)
    attention = {
        kind: {
            **heads[kind],
            **_rope(ropes.table(kind)),
            "window": window if kind == _SLIDING else None,
            "shared_values": kind == _FULL,
        }
        for kind in heads
    }
    sizes = "vocab_size hidden_size intermediate_size num_attention_heads num_experts top_k_experts"
    values: dict[str, Any] = {
        **{key: table.number(key) for key in (*sizes.split(), "moe_intermediate_size")},
        "layer_types": layer_types,
        "attention": attention,
        "rms_norm_eps": table.number("rms_norm_eps", 1e-6),
        "max_position_embeddings": table.number("max_position_embeddings", 131072),
        "final_logit_softcapping": table.number("final_logit_softcapping", 30.0),
    }
    # Full layers share keys and values whatever this says; separate ones would be unexpected tensors.
    table.finish(["attention_k_eq_v"])
    try:
        return from_table(GemmaConfig, values)
    except ConfigError as error:
        raise CheckpointError(f"{table.where}: {error}") from None


def _heads(table: ConfigTable, layer_types: list[str]) -> dict[str, dict[str, int]]:
    """Number and width of key-value heads for each kind of layer, from either config format.

    Older configs name those of full layers; newer ones list the exceptions by layer.
    """
    sliding = {"head_dim": table.number("head_dim"), "num_key_value_heads": table.number("num_key_value_heads")}
    global_dim, global_heads = table.number("global_head_dim", 512), table.number("num_global_key_value_heads", None)
    full = {"head_dim": global_dim, "num_key_value_heads": global_heads or sliding["num_key_value_heads"]}
    listed = table.take("per_layer_config", None)
    if listed is None:
        return {kind: full if kind == _FULL else sliding for kind in dict.fromkeys(layer_types)}
    where = f"{table.where}: per_layer_config"
    if not isinstance(listed, dict) or not all(layer.isdecimal() for layer in listed):
        raise CheckpointError(f"{where} is {listed!r}; allowed: an object with layers' numbers as keys")
    # Zero-padded, so that they sort by layer.
    overrides = {int(layer): ConfigTable(listed, where).table(layer) for layer in listed}
    heads: dict[str, dict[str, int]] = {}
    for layer, kind in enumerate(layer_types):
        override = overrides.pop(layer, ConfigTable({}, where))
        shape = {key: override.number(key, value) for key, value in sliding.items()}
        override.finish()
        if heads.setdefault(kind, shape) != shape:
            raise CheckpointError(
                f"{where}: layer {layer} has {shape}, another {kind} {heads[kind]}; allowed: all of a kind alike"
            )
    if overrides:
        raise CheckpointError(f"{where} has layer {min(overrides)}; allowed: 0 to {len(layer_types) - 1}")
    return heads


def _rope(table: ConfigTable) -> dict[str, float]:
    """Base and rotated share for one kind of layer."""
    table.expect("rope_type", "default", "proportional")
    theta, fraction = table.number("rope_theta"), table.number("partial_rotary_factor", 1.0)
    table.finish()
    return {"rope_theta": theta, "partial_rotary_factor": fraction}


def _layout(model: Model) -> Layout:
    """The decoder's names hold the shared weights; the encoder's text part only adds scalars."""
    layout: Layout = {}
    for name, parts in same_names(model).items():
        stored = name.replace("model.", "model.decoder.", 1)
        if not name.endswith("layer_scalar"):
            layout[stored] = parts
            continue
        for role, where in ((ENCODER, "model.encoder.language_model."), (DECODER, "model.decoder.")):
            layout[name.replace("model.", where, 1)] = (Part(name, put=(slice(role, role + 1),)),)
    return layout


def _generation(values: Mapping[str, Any]) -> dict[str, Any]:
    """Sampling defaults from generation_config.json; missing or null values are the reference's."""
    sampler = values.get("sampler_config") or {}
    if not isinstance(sampler, dict) or sampler.get("_cls_name", _SAMPLER) != _SAMPLER:
        raise CheckpointError(f"generation_config.json: sampler_config is {sampler!r}; allowed: {_SAMPLER}")
    return {
        "name": "entropy",
        "entropy_bound": given(sampler, "entropy_bound", 0.1),
        "temperature_start": given(values, "t_max", 0.8),
        "temperature_end": given(values, "t_min", 0.4),
        "steps": given(values, "max_denoising_steps", 48),
        "stable_steps": given(values, "stability_threshold", 1),
        "stop_entropy": given(values, "confidence_threshold", 0.005),
        "max_tokens": given(values, "max_new_tokens", 256),
    }


FAMILIES = {
    "diffusion_gemma": Family(
        _build, _layout, _generation, optional=lambda model: ["lm_head.weight"], ignored=IMAGE_TENSORS
    )
}
