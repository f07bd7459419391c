"""Inference-only decoder layers that fuse everything between two products into one loop per row.

They compute what `DecoderLayer` does, with the same parts under the same names. A backend may record them, because the
steps of a canvas differ only in their inputs.
"""

# R rows, Q positions, N positions of all rows, D model

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from sfumato.kernels.base import TORCH, Backend, KVPool, set_backend
from sfumato.kernels.select import select_backend
from sfumato.models.attention import Attention, PackedAttention
from sfumato.models.decoder import Decoder, DecoderLayer, LayerStack
from sfumato.models.layers import MLP
from sfumato.models.model import Model
from sfumato.models.products import FusedProduct, pack_linears, unpack_linears

# Maximum positions of recorded passes: for larger ones the call overhead is negligible.
_MAX_REPLAYED = 1024


class FusedLayer(DecoderLayer):
    """A layer of four products.

    Args:
        layer: its parts are taken over.
    """

    def __init__(self, layer: DecoderLayer) -> None:
        nn.Module.__init__(self)
        for name, part in layer.named_children():
            self.add_module(name, part)
        self.backend: Backend = TORCH
        attention, mlp = self.self_attn, self.mlp
        assert isinstance(mlp, MLP)
        self.activation = mlp.activation
        found = [linear.product for linear in (attention.q_proj, attention.o_proj, mlp.gate_proj, mlp.down_proj)]
        # Not submodules: the linears hold them.
        self.products = tuple(one for one in found if isinstance(one, FusedProduct))

    def plain(self) -> DecoderLayer:
        """The equivalent ordinary layer."""
        layer = DecoderLayer.__new__(DecoderLayer)
        nn.Module.__init__(layer)
        for name, part in self.named_children():
            layer.add_module(name, part)
        return layer

    @staticmethod
    def fits(layer: DecoderLayer) -> bool:
        """Whether a layer can be fused."""
        attention, mlp = layer.self_attn, layer.mlp
        if not isinstance(mlp, MLP):
            return False
        groups: tuple[tuple[nn.Module, ...], ...] = (
            (attention.q_proj, attention.k_proj, attention.v_proj),
            (attention.o_proj,),
            (mlp.gate_proj, mlp.up_proj),
            (mlp.down_proj,),
        )
        products = [getattr(group[0], "product", None) for group in groups]
        pairs = zip(products, groups, strict=True)
        return all(isinstance(one, FusedProduct) and one.linears == group for one, group in pairs)

    def forward(self, x_RQD: Tensor, rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        qkv, out, gate_up, down = self.products
        x_ND, norm = x_RQD.flatten(0, 1), self.input_layernorm
        product_NO = qkv.multiply_normed(x_ND, norm.weight, norm.eps)
        attended_RQO = self.self_attn.attend(qkv.split(product_NO, x_RQD.shape), rotary, attention)
        x_ND, norm = out.multiply(attended_RQO.flatten(0, 1), x_ND), self.post_attention_layernorm
        product_NO = gate_up.multiply_normed(x_ND, norm.weight, norm.eps)
        return down.multiply_gated(product_NO, self.activation, x_ND).view(x_RQD.shape)


class FusedLayers(LayerStack):
    """Layers of which the leading ones are fused, on a CPU in float32."""

    def __init__(self, layers: LayerStack) -> None:
        given = [cast(DecoderLayer, layer) for layer in layers]
        super().__init__(FusedLayer(layer) if FusedLayer.fits(layer) else layer for layer in given)
        self.backend: Backend = TORCH
        self._num_fused = next((i for i, one in enumerate(self) if not isinstance(one, FusedLayer)), len(self))

    def plain(self) -> LayerStack:
        """The equivalent ordinary layers."""
        return LayerStack(layer.plain() if isinstance(layer, FusedLayer) else layer for layer in self)

    def forward(self, x_RQD: Tensor, rotary: tuple[Tensor, Tensor], attention: Attention) -> Tensor:
        if not isinstance(attention, PackedAttention) or attention.form is None or x_RQD.shape[1] > _MAX_REPLAYED:
            return super().forward(x_RQD, rotary, attention)
        packed, layers, count = attention, list(self), self._num_fused

        def compute(x_RQD: Tensor, cos: Tensor, sin: Tensor, *tensors: Tensor) -> Tensor:
            here = packed.over(tensors)
            for layer in layers[:count]:
                x_RQD = layer(x_RQD, (cos, sin), here)
            return x_RQD

        inputs = (x_RQD, *rotary, *packed.tensors)
        key = (id(self), packed.form)
        x_RQD = self.backend.replay(packed.pool, key, compute, inputs, lambda: self._constants(packed.pool))
        for layer in layers[count:]:
            x_RQD = layer(x_RQD, rotary, attention)
        return x_RQD

    def _constants(self, pool: KVPool) -> Iterator[Tensor]:
        yield from (*self.parameters(), *pool.keys, *pool.values)
        for layer in self:
            for product in layer.products if isinstance(layer, FusedLayer) else ():
                yield from product.tensors


def fuse(model: Model) -> None:
    """Fuse a float model on a CPU for inference."""
    dtype = model.embedding_VD.dtype
    if model.device.type != "cpu" or dtype is not torch.float32:
        return
    pack_linears(model)
    if isinstance(model, Decoder):
        model.model.layers = FusedLayers(model.model.layers)
    share_V = None if model.embedding_table is None else model.embedding_table.share_V
    set_backend(model, select_backend(model.device, dtype, share_V))


def unfuse(model: Model) -> None:
    """Undo `fuse`, for training or saving."""
    if isinstance(model, Decoder) and isinstance(model.model.layers, FusedLayers):
        model.model.layers = model.model.layers.plain()
    unpack_linears(model)
    set_backend(model, TORCH)
