"""LoRA: low-rank corrections of linear layers.

The matrix itself is frozen, so it needs no gradient, optimizer state or average, and the learned part is small enough
to ship separately. Merged, the model is an ordinary one again.

Source: LoRA, Hu et al. 2021, arXiv 2106.09685, section 4.1.
"""

# I inputs, O outputs, K rank

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.models.decoder import Decoder


class LoRALinear(nn.Linear):
    """A frozen linear with a trained low-rank correction.

    Args:
        linear: its weight and bias are reused and frozen.
        rank: K.
        alpha: the correction is multiplied by alpha / K.
        generator: initializes the first matrix; the second starts at zero, so nothing is corrected at first.
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float, generator: torch.Generator) -> None:
        super().__init__(linear.in_features, linear.out_features, bias=linear.bias is not None, device="meta")
        self.weight, self.bias = linear.weight.requires_grad_(False), linear.bias
        if self.bias is not None:
            self.bias.requires_grad_(False)
        self.scale = alpha / rank
        down_KI = torch.randn(rank, linear.in_features, generator=generator) * linear.in_features**-0.5
        self.lora_down = nn.Parameter(down_KI.to(linear.weight))
        self.lora_up = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        low = functional.linear(x, self.lora_down)
        return super().forward(x) + functional.linear(low, self.lora_up) * self.scale


def add_lora(model: Decoder, rank: int, alpha: float, *, seed: int) -> None:
    """Add a correction to every linear inside a model's layers; other parameters are unchanged, frozen or not.

    Args:
        model: modified in place.
    """
    generator = torch.Generator().manual_seed(seed)
    for layer in model.model.layers:
        for path, module in list(layer.named_modules()):
            if isinstance(module, nn.Linear):
                parent, _, child = path.rpartition(".")
                setattr(layer.get_submodule(parent), child, LoRALinear(module, rank, alpha, generator))


def merged(model: Decoder, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights by name with each correction added to its matrix, as for a model without corrections.

    Args:
        model: shows which linears are corrected; without any, the weights are returned unchanged.
        weights: all weights of the model, or none.
    """
    found = dict(weights)
    for path, module in model.named_modules():
        if isinstance(module, LoRALinear) and f"{path}.lora_up" in found:
            up_OK, down_KI = (found.pop(f"{path}.{name}") for name in ("lora_up", "lora_down"))
            weight_OI = found[f"{path}.weight"]
            correction_OI = module.scale * (up_OK.float() @ down_KI.float())
            found[f"{path}.weight"] = (weight_OI.float() + correction_OI).to(weight_OI.dtype)
    return found
