"""Linears of floats whose weights oneDNN has put in its own order, once, not at every product."""

# N rows, I inputs, O outputs

from __future__ import annotations

import torch
from torch import Tensor, nn

# Smaller matrices are multiplied as fast as they are.
_MIN_WEIGHTS = 2**18


class PackedLinear(nn.Linear):
    """A linear of fixed weights, for computing alone: `weight` has a shape, but no values.

    Args:
        linear: float32 on a CPU.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, bias=False, device="meta")
        self.weight.requires_grad_(False)
        self._packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), None)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")
        return out

    def unpacked(self) -> nn.Linear:
        """An ordinary linear of the same weights."""
        linear = nn.Linear(self.in_features, self.out_features, bias=False, device="meta")
        linear.weight, linear.bias = nn.Parameter(self._packed.to_dense()), self.bias
        return linear


def pack_linears(model: nn.Module) -> None:
    """Pack the linears of a model that is only computed from now on, where a row's result stays the same in any whole
    eights of rows. Its own heads stay: they are read as matrices too."""
    invariant: dict[torch.Size, bool] = {}
    for module in list(model.modules())[1:]:
        for name, linear in module.named_children():
            if type(linear) is not nn.Linear or linear.weight.numel() < _MIN_WEIGHTS:
                continue
            weight = linear.weight
            if weight.dtype is not torch.float32 or weight.device.type != "cpu":
                continue
            if invariant.get(weight.shape) is False:
                continue
            packed = PackedLinear(linear)
            if weight.shape not in invariant:
                invariant[weight.shape] = _is_invariant(packed)
            if invariant[weight.shape]:
                setattr(module, name, packed)


def unpack_linears(model: nn.Module) -> None:
    """Make ordinary linears of packed ones, to be trained or saved."""
    for module in list(model.modules()):
        for name, linear in module.named_children():
            if isinstance(linear, PackedLinear):
                setattr(module, name, linear.unpacked())


@torch.inference_mode()
def _is_invariant(linear: PackedLinear) -> bool:
    x_NI = torch.randn(136, linear.weight.shape[1], generator=torch.Generator().manual_seed(0))
    whole_NO = linear(x_NI)
    return all(torch.equal(linear(x_NI[:count]), whole_NO[:count]) for count in (8, 16, 40, 64))
