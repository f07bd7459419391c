"""Random weights in the shapes of real models, for measuring what weights do not change."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from sfumato.checkpoints.load import Checkpoint, load_checkpoint
from sfumato.errors import ConfigError, unknown
from sfumato.layout import PrefixLayout
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.gemma import AttentionShape, Gemma, GemmaConfig
from sfumato.models.model import Model
from sfumato.models.moe import MoEConfig
from sfumato.models.quantization.apply import finish, hold, quantizable, quantize_model
from sfumato.models.quantization.weights import Quantization
from sfumato.spec import GenerationSpec

# Six layers of DiffusionGemma, narrow enough for a CPU.
_GEMMA_TEXT: dict[str, Any] = {
    "vocab_size": 262144,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "global_head_dim": 64,
    "num_global_key_value_heads": 2,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
    "num_hidden_layers": 6,
    "sliding_window": 128,
    "num_experts": 8,
    "top_k_experts": 2,
    "moe_intermediate_size": 128,
    "max_position_embeddings": 4096,
}
_NO_VISION: dict[str, Any] = {
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "patch_size": 4,
    "position_embedding_size": 16,
}
# SmolLM2-135M, from its config.
_SMOLLM2: dict[str, Any] = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "head_dim": 64,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 100000.0,
}
# DiffusionGemma's vocabulary and width, and a layer that says nothing.
_WIDE: dict[str, Any] = {
    "vocab_size": 262144,
    "hidden_size": 2816,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
}
Build = Callable[[dict[str, Any]], Model]
"""Makes a model, with changes to its config."""

_CANVAS = GenerationSpec(canvas_length=64, self_conditioning=True)
_AUTOREGRESSIVE = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
_FULL = GenerationSpec(noise="mask", mask_id=0, canvas_length=256, prefix_attention="full")
# Of those that are read in full, as LLaDA decides them: what is accepted does not depend on weights that say nothing.
_EVENLY: dict[str, Any] = {"name": "confidence", "block_length": 32}


# From its published config.
_DIFFUSION_GEMMA: dict[str, Any] = {
    "vocab_size": 262144,
    "hidden_size": 2816,
    "intermediate_size": 2112,
    "num_attention_heads": 16,
    "layer_types": (("sliding",) * 5 + ("full",)) * 5,
    "attention": {
        "sliding": AttentionShape(num_key_value_heads=8, head_dim=256, window=1024),
        "full": AttentionShape(
            num_key_value_heads=2, head_dim=512, shared_values=True, rope_theta=1e6, partial_rotary_factor=0.25
        ),
    },
    "num_experts": 128,
    "top_k_experts": 8,
    "moe_intermediate_size": 704,
}
_LLADA: dict[str, Any] = {
    "vocab_size": 126464,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "head_dim": 128,
    "max_position_embeddings": 4096,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
}
# LLaDA2.0-mini, from its published config.
_LLADA2_MINI: dict[str, Any] = {
    "vocab_size": 157184,
    "hidden_size": 2048,
    "intermediate_size": 5120,
    "num_hidden_layers": 20,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "max_position_embeddings": 32768,
    "rope_theta": 600000.0,
    "partial_rotary_factor": 0.5,
    "qk_norm": True,
    "tie_word_embeddings": False,
    "moe": MoEConfig(
        num_experts=256,
        num_experts_per_tok=8,
        moe_intermediate_size=512,
        num_shared_experts=1,
        first_k_dense_replace=1,
        score_function="sigmoid",
        n_group=8,
        topk_group=4,
        routed_scaling_factor=2.5,
    ),
}
_LLADA2_SPEC = GenerationSpec(noise="mask", mask_id=156895, canvas_length=32)
_LLADA_SPEC = GenerationSpec(noise="mask", mask_id=126336, canvas_length=256, prefix_attention="full")
_GEMMA_SPEC = GenerationSpec(canvas_length=256, self_conditioning=True)


def _drawn(
    build: Callable[[], Model],
    spec: GenerationSpec,
    dtype: torch.dtype,
    device: str,
    quantization: Quantization | None = None,
) -> Checkpoint:
    """A model whose weights are drawn where they are to be, in their own type, or few bits: no second copy is made of
    them, and none of all in many bits."""
    with torch.device("meta"):
        model = build()
    generator = torch.Generator(device).manual_seed(0)
    held = set() if quantization is None else quantizable(model, quantization)
    for path, module in list(model.named_modules()):
        for name, weight in list(module._parameters.items()):
            if weight is None:
                continue
            drawn = torch.ones(weight.shape, dtype=dtype, device=device)
            if weight.dim() > 1:
                drawn.normal_(0.0, min(0.02, weight.shape[-1] ** -0.5), generator=generator)
            if quantization is not None and f"{path}.{name}" in held:
                hold(model, f"{path}.{name}", drawn, quantization)
            else:
                module._parameters[name] = nn.Parameter(drawn, requires_grad=False)
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.is_meta:
                module._buffers[name] = torch.ones(buffer.shape, dtype=dtype, device=device)
    return Checkpoint(model.to(device).eval(), spec, {})


def _gemma(changes: dict[str, Any]) -> Checkpoint:
    with tempfile.TemporaryDirectory() as name:
        write_gemma(Path(name), **changes)
        return load_checkpoint(Path(name))


def _canvas_decoder(sizes: dict[str, Any], spec: GenerationSpec) -> tuple[Build, GenerationSpec]:
    marks = {"canvas_embedding": not spec.autoregressive, "self_conditioning": spec.self_conditioning}
    return lambda changes: Decoder(DecoderConfig(**sizes | marks | changes)), spec


_SMALL: dict[str, tuple[Build, GenerationSpec]] = {
    "smollm2-135m": _canvas_decoder(_SMOLLM2, _CANVAS),
    "smollm2-135m-ar": _canvas_decoder(_SMOLLM2, _AUTOREGRESSIVE),
    "smollm2-135m-full": _canvas_decoder(_SMOLLM2, _FULL),
}
_LARGE: dict[str, tuple[Build, GenerationSpec]] = {
    "wide": _canvas_decoder(_WIDE, _CANVAS),
    "diffusion-gemma-26b": (lambda changes: Gemma(GemmaConfig(**_DIFFUSION_GEMMA | changes)), _GEMMA_SPEC),
    "llada2-mini": (lambda changes: Decoder(DecoderConfig(**_LLADA2_MINI | changes)), _LLADA2_SPEC),
    "llada-8b": (lambda changes: Decoder(DecoderConfig(**_LLADA | changes)), _LLADA_SPEC),
}
_SIX_LAYERS = "gemma-6-layers"
SHAPES = (*_SMALL, _SIX_LAYERS, *_LARGE)


def build_shape(shape: str) -> tuple[Model, GenerationSpec]:
    """The model of a shape on the meta device, with its spec.

    Raises:
        ConfigError: if there is no such shape, or transformers writes its config.
    """
    if shape not in _SMALL | _LARGE:
        raise ConfigError(unknown("shape", shape, _SMALL | _LARGE))
    build, spec = (_SMALL | _LARGE)[shape]
    with torch.device("meta"):
        return build({}), spec


def random_checkpoint(
    shape: str,
    *,
    dtype: torch.dtype = torch.float32,
    quantization: Quantization | None = None,
    device: str = "cpu",
    **changes: Any,
) -> Checkpoint:
    """Make a model that answers nonsense at the speed of a real one.

    Args:
        shape: one of SHAPES.
        dtype: of the weights.
        quantization: holds the weights of linears and experts in few bits.
        device: "cpu" or "cuda".
        **changes: to its config.

    Raises:
        ConfigError: if the shape is not known, or transformers is not installed where it is needed.
    """
    if shape in _LARGE:
        build, spec = _LARGE[shape]
        checkpoint = _drawn(lambda: build(changes), spec, dtype, device, quantization)
    elif shape in _SMALL:
        build, spec = _SMALL[shape]
        decoder = cast(Decoder, build(changes))
        decoder.initialize(0)
        checkpoint = Checkpoint(decoder.to(device, dtype).eval(), spec, {})
    elif shape == _SIX_LAYERS:
        checkpoint = _gemma(changes)
        checkpoint.model.to(device, dtype)
    else:
        raise ConfigError(unknown("shape", shape, SHAPES))
    if PrefixLayout(checkpoint.spec).full:
        checkpoint.generation.update(_EVENLY)
    if quantization is None:
        finish(checkpoint.model, None)
    else:
        quantize_model(checkpoint.model, quantization.suited_to(checkpoint.spec))
    return checkpoint


def write_gemma(directory: Path, **changes: Any) -> None:
    """Write a DiffusionGemma of six layers that transformers and we load.

    Args:
        directory: made if need be.
        **changes: to its text config.

    Raises:
        ConfigError: if transformers, which writes it, is not installed.
    """
    transformers = require_transformers()
    torch.manual_seed(0)
    config = transformers.DiffusionGemmaConfig(
        text_config=_GEMMA_TEXT | changes, vision_config=_NO_VISION, canvas_length=64
    )
    transformers.DiffusionGemmaForBlockDiffusion(config).save_pretrained(directory)


def require_transformers() -> Any:
    """The module.

    Raises:
        ConfigError: if it is not installed.
    """
    try:
        import transformers
    except ImportError:
        raise ConfigError("transformers is not installed: pip install 'sfumato[bench]'") from None
    return transformers
