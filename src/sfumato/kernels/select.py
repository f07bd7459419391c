"""Chooses a model's backend when it is loaded; compilers are imported only then."""

from __future__ import annotations

import importlib.util

import torch
from torch import Tensor

from sfumato.kernels.base import TORCH, Backend


def select_backend(device: torch.device, dtype: torch.dtype, share_V: Tensor | None = None) -> Backend:
    """The fastest available backend.

    Args:
        device: of the model.
        dtype: of its embedding.
        share_V: for a model whose soft embeddings use digits, `IntegerTable.share_V`.
    """
    if device.type == "cpu":
        from sfumato.kernels.cpu.backend import CompiledBackend

        return CompiledBackend(share_V)
    if device.type == "cuda" and importlib.util.find_spec("triton") is not None:
        from sfumato.kernels.gpu.backend import TritonBackend

        return TritonBackend(dtype)
    return TORCH
