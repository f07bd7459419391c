"""Random weights in the shapes of real models, for measurements that do not depend on the weights."""

from __future__ import annotations

import dataclasses
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from sfumato.checkpoints.load import Checkpoint, load_checkpoint
from sfumato.config import from_table
from sfumato.errors import ConfigError, unknown
from sfumato.layout import PrefixLayout
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.gemma import Gemma, GemmaConfig
from sfumato.models.model import Model
from sfumato.models.quantization.apply import hold, quantizable, quantize_model
from sfumato.models.quantization.weights import Quantization
from sfumato.spec import GenerationSpec

SIZES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text(encoding="utf-8"))
Build = Callable[[dict[str, Any]], Model]
"""Builds a model from changes to its config."""

_CANVAS = GenerationSpec(canvas_length=64, self_conditioning=True)
_AUTOREGRESSIVE = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
# An autoregressive model that verifies drafted tokens.
_VERIFIED = GenerationSpec(canvas_length=16, logit_shift=True, commit="in_place")
_FULL = GenerationSpec(noise="mask", mask_id=0, canvas_length=256, prefix_attention="full")
# For full prefixes, LLaDA's sampler: the number of accepted tokens does not depend on the random weights.
_EVENLY: dict[str, Any] = {"name": "confidence", "block_length": 32}
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
    """A model with weights drawn on their device, in their type or quantized, tensor by tensor, without a second
    copy."""
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


def _decoder(sizes: str, spec: GenerationSpec, **marks: bool) -> tuple[Build, GenerationSpec]:
    config = from_table(DecoderConfig, SIZES[sizes] | marks)
    return lambda changes: Decoder(dataclasses.replace(config, **changes)), spec


def _canvas_decoder(sizes: str, spec: GenerationSpec) -> tuple[Build, GenerationSpec]:
    return _decoder(sizes, spec, canvas_embedding=not spec.autoregressive, self_conditioning=spec.self_conditioning)


def _gemma(changes: dict[str, Any]) -> Model:
    return Gemma(dataclasses.replace(from_table(GemmaConfig, SIZES["diffusion_gemma"]), **changes))


_SMALL: dict[str, tuple[Build, GenerationSpec]] = {
    "smollm2-135m": _canvas_decoder("smollm2", _CANVAS),
    "smollm2-135m-ar": _canvas_decoder("smollm2", _AUTOREGRESSIVE),
    "smollm2-135m-verify": _decoder("smollm2", _VERIFIED),
    "smollm2-135m-full": _canvas_decoder("smollm2", _FULL),
}
_LARGE: dict[str, tuple[Build, GenerationSpec]] = {
    "wide": _canvas_decoder("wide", _CANVAS),
    "diffusion-gemma-26b": (_gemma, _GEMMA_SPEC),
    "llada2-mini": _decoder("llada2", _LLADA2_SPEC),
    "llada-8b": _decoder("llada", _LLADA_SPEC),
}
_SIX_LAYERS = "gemma-6-layers"
SHAPES = (*_SMALL, _SIX_LAYERS, *_LARGE)


def build_shape(shape: str) -> tuple[Model, GenerationSpec]:
    """The model of a shape on the meta device, with its spec.

    Raises:
        ConfigError: if there is no such shape, or transformers writes its config.
    """
    known = _SMALL | _LARGE
    if shape not in known:
        raise ConfigError(unknown("shape", shape, known))
    build, spec = known[shape]
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
    """Make a model with random weights at the speed of a real one.

    Args:
        shape: one of SHAPES.
        quantization: of the weights of linears and experts.
        device: "cpu" or "cuda".
        **changes: to its config.

    Raises:
        ConfigError: if the shape is unknown, or needs transformers, which is not installed.
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
        with tempfile.TemporaryDirectory() as name:
            write_gemma(Path(name), **changes)
            checkpoint = load_checkpoint(Path(name))
        checkpoint.model.to(device, dtype)
    else:
        raise ConfigError(unknown("shape", shape, SHAPES))
    if PrefixLayout(checkpoint.spec).full:
        checkpoint.generation.update(_EVENLY)
    if quantization is not None:
        reader = _AUTOREGRESSIVE if checkpoint.spec is _VERIFIED else checkpoint.spec
        quantize_model(checkpoint.model, quantization.suited_to(reader, device))
    return checkpoint


def write_gemma(directory: Path, **changes: Any) -> None:
    """Write a DiffusionGemma of six layers that both transformers and Sfumato load.

    Args:
        directory: created if missing.
        **changes: to its text config.

    Raises:
        ConfigError: if transformers, which writes it, is not installed.
    """
    transformers = require_transformers()
    torch.manual_seed(0)
    sizes = SIZES["six_layers"]
    config = transformers.DiffusionGemmaConfig(
        text_config=sizes["text_config"] | changes, vision_config=sizes["vision_config"], canvas_length=64
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
