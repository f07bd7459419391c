"""Checkpoints with random weights in the shapes of real models, for measuring what weights do not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from sfumato.bench.work import require_transformers
from sfumato.errors import ConfigError, unknown

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
SHAPES = ("gemma-6-layers",)


def write_random(directory: Path, shape: str, **changes: Any) -> None:
    """Write a checkpoint that transformers and we load.

    Args:
        directory: made if need be.
        shape: one of SHAPES.
        **changes: to its config.

    Raises:
        ConfigError: if the shape is not known, or transformers, which writes it, is not installed.
    """
    if shape not in SHAPES:
        raise ConfigError(unknown("shape", shape, SHAPES))
    transformers = require_transformers()
    torch.manual_seed(0)
    config = transformers.DiffusionGemmaConfig(
        text_config=_GEMMA_TEXT | changes, vision_config=_NO_VISION, canvas_length=64
    )
    transformers.DiffusionGemmaForBlockDiffusion(config).save_pretrained(directory)
