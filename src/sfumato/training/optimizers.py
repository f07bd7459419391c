"""AdamW and Muon over the parameters that are trained."""

from __future__ import annotations

import torch

from sfumato.models.decoder import Decoder
from sfumato.training.distributed import trained


def make_optimizers(
    model: Decoder, *, lr: float, muon_lr: float, weight_decay: float
) -> dict[str, torch.optim.Optimizer]:
    """AdamW, and Muon for the matrices inside the blocks if it has a learning rate; each group keeps its "peak_lr".

    Source: Muon: Jordan et al. 2024; learning rates matched to AdamW's as in Liu et al. 2025, arXiv 2502.16982.
    """
    inside = [one for name, one in trained(model).items() if ".layers." in name and one.dim() == 2]
    muon = inside if muon_lr > 0 else []
    taken = {id(parameter) for parameter in muon}
    rest = [parameter for parameter in trained(model).values() if id(parameter) not in taken]
    groups = [
        {"params": [p for p in rest if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizers: dict[str, torch.optim.Optimizer] = {
        "adamw": torch.optim.AdamW([group for group in groups if group["params"]], lr=lr, betas=(0.9, 0.95))
    }
    if muon:
        optimizers["muon"] = torch.optim.Muon(
            muon, lr=muon_lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"
        )
    for optimizer in optimizers.values():
        for group in optimizer.param_groups:
            group["peak_lr"] = group["lr"]
    return optimizers
