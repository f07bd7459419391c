"""Matrix products shared by several linears, and packed float products on a CPU."""

# O outputs, I inputs, N positions

from __future__ import annotations

import abc
from collections.abc import Collection, Iterator, Sequence

import torch
from torch import Tensor, nn

from sfumato.kernels.base import TORCH, Backend

# Groups of linears with the same input, by the names that families use.
_GROUPS = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))


class SharedProduct(nn.Module, abc.ABC):
    """Linears with the same input, multiplied as one matrix.

    Args:
        linears: the linears.
        sizes: outputs of each.
    """

    def __init__(self, linears: Sequence[nn.Module], sizes: Sequence[int]) -> None:
        super().__init__()
        # Not submodules: each of them holds this product.
        self.linears = tuple(linears)
        self.sizes = list(sizes)
        self.backend: Backend = TORCH

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """The output of each linear."""
        return self.split(self.multiply(x.flatten(0, -2)).to(x.dtype), x.shape)

    def split(self, out_NO: Tensor, shape: torch.Size) -> tuple[Tensor, ...]:
        """Split an output by linear."""
        return torch.split(out_NO.view(*shape[:-1], out_NO.shape[-1]), self.sizes, dim=-1)

    @abc.abstractmethod
    def multiply(self, x_NI: Tensor, residual_NO: Tensor | None = None) -> Tensor:
        """Product with the whole matrix [N, O] plus bias; a residual is added."""


class FusedProduct(SharedProduct):
    """A product fused with the operation before it; float32 on a CPU."""

    @property
    @abc.abstractmethod
    def tensors(self) -> tuple[Tensor, ...]:
        """Everything it reads besides its arguments."""

    @abc.abstractmethod
    def multiply_normed(self, x_NI: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        """The product of rows after `Backend.rms_norm`."""

    @abc.abstractmethod
    def multiply_gated(self, both_NO: Tensor, activation: str, residual_NO: Tensor) -> Tensor:
        """The product of rows after `Backend.gate` on their halves."""


class FloatProduct(FusedProduct):
    """A float product with weights packed for multiplication.

    Args:
        linears: with float32 weights on a CPU.
    """

    def __init__(self, linears: Sequence[nn.Linear]) -> None:
        # Its compiler takes a quarter of a second to import.
        from sfumato.kernels.cpu.floats import Matrix

        super().__init__([PackedLinear(linear, self) for linear in linears], [one.out_features for one in linears])
        biases: list[Tensor] = [
            linear.weight.new_zeros(linear.out_features) if linear.bias is None else linear.bias for linear in linears
        ]
        biased = any(linear.bias is not None for linear in linears)
        self.matrix = Matrix(torch.cat([linear.weight for linear in linears]), torch.cat(biases) if biased else None)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.matrix.tensors

    def multiply(self, x_NI: Tensor, residual_NO: Tensor | None = None) -> Tensor:
        return self.matrix.multiply(x_NI, residual_NO=residual_NO)

    def multiply_normed(self, x_NI: Tensor, weight_I: Tensor, eps: float) -> Tensor:
        return self.multiply(self.backend.rms_norm(x_NI, weight_I, eps))

    def multiply_gated(self, both_NO: Tensor, activation: str, residual_NO: Tensor) -> Tensor:
        gate_NI, up_NI = both_NO.chunk(2, dim=-1)
        return self.multiply(self.backend.gate(gate_NI, up_NI, activation), residual_NO)


class PackedLinear(nn.Linear):
    """A frozen linear of a packed float product: `weight` has a shape, but no values.

    Args:
        linear: provides the shape and the bias.
        product: multiplies it.
    """

    def __init__(self, linear: nn.Linear, product: FloatProduct) -> None:
        super().__init__(linear.in_features, linear.out_features, bias=False, device="meta")
        self.weight.requires_grad_(False)
        self.bias = linear.bias
        self.product = product

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.product(x)[self.product.linears.index(self)]
        return out

    def unpacked(self) -> nn.Linear:
        """The equivalent ordinary linear."""
        linear = nn.Linear(self.in_features, self.out_features, bias=False, device="meta")
        product, index = self.product, self.product.linears.index(self)
        weight_OI = torch.split(product.matrix.weight_OI, product.sizes)[index].clone()
        linear.weight, linear.bias = nn.Parameter(weight_OI), self.bias
        return linear


def project(x: Tensor, *linears: nn.Module) -> Sequence[Tensor]:
    """Outputs of several linears for one input, in one product if they share one."""
    product = getattr(linears[0], "product", None)
    if isinstance(product, SharedProduct) and product.linears == linears:
        outs: Sequence[Tensor] = product(x)
        return outs
    return [linear(x) for linear in linears]


def shared_inputs(module: nn.Module, names: Collection[str]) -> list[tuple[str, ...]]:
    """Groups of a module's linears that have one input each.

    Args:
        module: holds the linears.
        names: of the linears to group; if one of a group is missing here, the others stay alone.
    """
    held = dict(module.named_children())
    groups = [tuple(name for name in group if name in held) for group in _GROUPS]
    groups = [group for group in groups if group and all(name in names for name in group)]
    return [*groups, *((name,) for name in names if not any(name in group for group in groups))]


def pack_linears(model: nn.Module) -> None:
    """Pack the linears of an inference-only model, in float32 on a CPU, with shared inputs together. Its own heads stay
    unpacked, because they are also read as matrices."""
    for module in list(model.modules())[1:]:
        fitting = dict(_fitting(module))
        for group in shared_inputs(module, fitting):
            product = FloatProduct([fitting[name] for name in group])
            for name, linear in zip(group, product.linears, strict=True):
                setattr(module, name, linear)


def _fitting(module: nn.Module) -> Iterator[tuple[str, nn.Linear]]:
    for name, linear in module.named_children():
        if type(linear) is nn.Linear:
            weight = linear.weight
            if weight.dtype is torch.float32 and weight.device.type == "cpu":
                yield name, linear


def unpack_linears(model: nn.Module) -> None:
    """Unpack linears, for training or saving."""
    for module in list(model.modules()):
        for name, linear in module.named_children():
            if isinstance(linear, PackedLinear):
                setattr(module, name, linear.unpacked())
