"""AdamW and Muon over the trained parameters."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from sfumato.models.decoder import Decoder
from sfumato.training.distributed import trained


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 is as fast as float32 on a device; a CPU without AVX-512 takes 50 times as long."""
    return device.type != "cpu" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


class _Float32(TorchFunctionMode):
    """Makes conversions to bfloat16 produce float32 instead."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.Tensor.bfloat16:
            return args[0].to(torch.float32, copy=True)
        return func(*args, **(kwargs or {}))


class Muon(torch.optim.Muon):
    """PyTorch's Muon, with its Newton-Schulz iteration in float32 where bfloat16 is slow."""

    def step(self, closure: Any = None) -> Any:
        """Update every matrix once."""
        is_fast = multiplies_bfloat16(self.param_groups[0]["params"][0].device)
        with nullcontext() if is_fast else _Float32():
            return super().step(closure)  # type: ignore[no-untyped-call]


def inner_matrices(model: Decoder) -> dict[str, nn.Parameter]:
    """The trained matrices inside the blocks, by name, which Muon updates if it has a learning rate. Not the factors of
    low-rank corrections."""
    return {
        name: one
        for name, one in trained(model).items()
        if ".layers." in name and one.dim() == 2 and ".lora_" not in name
    }


def make_optimizers(
    model: Decoder, *, lr: float, muon_lr: float, weight_decay: float
) -> dict[str, torch.optim.Optimizer]:
    """AdamW, plus Muon for matrices inside the blocks if it has a learning rate; each group keeps its "peak_lr".

    Source: Muon: Jordan et al. 2024; learning rates matched to AdamW's as in Liu et al. 2025, arXiv 2502.16982.
    """
    muon = inner_matrices(model) if muon_lr > 0 else {}
    rest = [one for name, one in trained(model).items() if name not in muon]
    groups = [
        {"params": [p for p in rest if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizers: dict[str, torch.optim.Optimizer] = {
        "adamw": torch.optim.AdamW([group for group in groups if group["params"]], lr=lr, betas=(0.9, 0.95))
    }
    if muon:
        optimizers["muon"] = Muon(muon.values(), lr=muon_lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")
    for optimizer in optimizers.values():
        for group in optimizer.param_groups:
            group["peak_lr"] = group["lr"]
    return optimizers
