"""DiffusionGemmas of transformers, tiny and with weights drawn so that every part matters."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

VISION = {
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "patch_size": 4,
    "position_embedding_size": 16,
    "use_clipped_linears": True,
}


def redraw(model: Any, seed: int, certainty: float) -> None:
    """Redraw every text weight: those of new transformers models are too small, or too equal, for errors to show.

    Args:
        model: a DiffusionGemma, in place.
        seed: of the draws.
        certainty: scale of the final norm, which is that of the logits before their soft-cap.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(tensor: Tensor) -> Tensor:
        return torch.randn(tensor.shape, generator=generator)

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "vision" in name:
                continue
            if parameter.dim() == 1:
                parameter.copy_(1.0 + 0.3 * normal(parameter))
            elif name.endswith("router.proj.weight"):
                # What it reads has mean square 1/D.
                parameter.copy_(2.0 * normal(parameter))
            else:
                parameter.copy_(normal(parameter) * parameter.shape[-1] ** -0.5)
            # Of tied weights only one name is listed.
            if name.endswith(("decoder.norm.weight", "language_model.norm.weight")):
                parameter.mul_(certainty)
        for name, buffer in model.named_buffers():
            if name.endswith("layer_scalar"):
                buffer.copy_(torch.empty_like(buffer).uniform_(0.4, 1.6, generator=generator))


@pytest.fixture
def make_gemma() -> Callable[..., Any]:
    """make_gemma(directory, seed=0, **changes to the text config): a DiffusionGemma of transformers, saved there.

    Sizes that are not given are drawn with the seed.
    """
    transformers = pytest.importorskip("transformers", minversion="5.23")

    def made(directory: Path, *, seed: int = 0, canvas_length: int = 8, certainty: float = 6.0, **changes: Any) -> Any:
        drawn = random.Random(seed)
        num_experts = drawn.randint(2, 8)
        layer_types = changes.get("layer_types", ["sliding_attention", "full_attention"])
        text = {
            "vocab_size": drawn.choice([31, 47]),
            "hidden_size": drawn.choice([16, 24]),
            "intermediate_size": drawn.choice([20, 32]),
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": drawn.choice([6, 8]),
            "global_head_dim": drawn.choice([12, 16]),
            "num_global_key_value_heads": drawn.choice([None, 1, 4]),
            "layer_types": list(layer_types),
            "num_hidden_layers": len(layer_types),
            "sliding_window": drawn.choice([5, 24]),
            "num_experts": num_experts,
            "top_k_experts": drawn.randint(1, min(3, num_experts)),
            "moe_intermediate_size": drawn.choice([8, 12]),
            "max_position_embeddings": 512,
        }
        config = transformers.DiffusionGemmaConfig(
            text_config=text | changes, vision_config=VISION, canvas_length=canvas_length
        )
        model = transformers.DiffusionGemmaForBlockDiffusion(config).eval()
        redraw(model, seed, certainty)
        model.save_pretrained(directory)
        return model

    return made
