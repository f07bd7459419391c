"""Training on the model's own drafts: canvases with what a first pass wrote, so it learns to revise plausible mistakes.

Source: SUNDAE, Savinov et al. 2022, arXiv 2112.06749.
"""

# B rows, T positions of a row, V vocabulary

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.data.packing import PackedBatch, shift_right
from sfumato.diffusion.process import Process


@dataclass(frozen=True)
class Unroll:
    """What a first pass writes on the canvases before the second."""

    canvas_BT: Tensor
    """int64, the canvases, not shifted."""
    uniforms_BT: Tensor
    """float32 in [0, 1), one for each draw."""
    taken_BT: Tensor
    """bool, where the drawn token is used."""
    before_BT: Tensor | None
    """int64, see `PackedBatch.before_BT`; None if canvases are not shifted."""

    def write(self, probs_BTV: Tensor) -> Tensor:
        """Canvas tokens for the second pass.

        Returns:
            tokens_BT: int64, shifted if the canvases are; undefined outside them.
        """
        running_BTV = probs_BTV.cumsum(-1)
        below_BT1 = (self.uniforms_BT * running_BTV[..., -1])[..., None]
        drawn_BT = torch.searchsorted(running_BTV, below_BT1, right=True)[..., 0].clamp_max(probs_BTV.shape[-1] - 1)
        canvas_BT = torch.where(self.taken_BT, drawn_BT, self.canvas_BT)
        return canvas_BT if self.before_BT is None else shift_right(canvas_BT, self.before_BT)


def draw_unroll(
    batch: PackedBatch,
    process: Process,
    unroll_share: float,
    noisy_BT: Tensor,
    t_BT: Tensor,
    generator: torch.Generator,
    device: torch.device,
) -> Unroll:
    """Choose which canvases are written, and where: like a sampler's step from t to a lower level, the rest is
    noise."""
    canvases_BT = batch.canvases_BT
    sizes = (noisy_BT.shape[0], int(canvases_BT.max()) + 1)
    chosen_BT = (torch.rand(sizes, generator=generator) < unroll_share).gather(1, canvases_BT) & (t_BT > 0)
    s_BT = t_BT * torch.rand(sizes, generator=generator).gather(1, canvases_BT)
    kept_BT = torch.rand(s_BT.shape, generator=generator) < process.alpha(s_BT)
    noise_BT = process.noise(torch.rand(s_BT.shape, generator=generator), s_BT)
    return Unroll(
        canvas_BT=torch.where(chosen_BT, noise_BT, noisy_BT).to(device),
        uniforms_BT=torch.rand(s_BT.shape, generator=generator).to(device),
        taken_BT=(chosen_BT & kept_BT).to(device),
        before_BT=batch.before_BT.to(device) if batch.moved else None,
    )
