"""Likelihood bounds on held-out canvases, each with its estimator's name."""

# B rows, T positions of a row, N supervised positions, V vocabulary

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.data.packing import IGNORED, PackedBatch, PackingConfig, Source, deciding, pack
from sfumato.diffusion.loss import nelbo_of_denoiser
from sfumato.diffusion.process import Process, sample_t
from sfumato.errors import ConfigError
from sfumato.models.model import Model, select_masked_attention
from sfumato.spec import DEFAULT, GenerationSpec

T_MIN = 1e-5


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """Nats per token, and how they were estimated."""

    nats_per_token: float
    """Mean over tokens."""
    num_tokens: int
    estimator: str
    """The estimator: exact likelihood or bound, and its noise levels."""


@torch.inference_mode()
def canvas_nelbo(
    model: Model,
    process: Process,
    source: Source,
    *,
    packing: PackingConfig,
    end_id: int,
    spec: GenerationSpec = DEFAULT,
    num_batches: int = 4,
    seed: int = 0,
) -> Likelihood:
    """Monte-Carlo estimate of the bound on -log p(canvas | text before it), padding included.

    The model was trained with cross-entropy, so under uniform noise its prediction is first converted to the
    leave-one-out prediction that the bound is stated for. Self-conditioning is not used, because the bound does not
    cover it.

    Raises:
        ConfigError: if the packing has no canvases.
    """
    if not packing.canvas_lengths:
        raise ConfigError("canvas_lengths is empty; a canvas bound needs at least one length")
    generator = torch.Generator().manual_seed(seed)
    total, count = 0.0, 0
    for step in range(num_batches):
        batch = pack(source, packing, seed=seed, step=step, end_id=end_id, spec=spec)
        canvas_BT = batch.canvases_BT > 0
        open_BT = canvas_BT & (batch.given_BT == 0)
        num_rows, num_canvases = batch.tokens_BT.shape[0], int(batch.canvases_BT.max())
        levels = sample_t(num_rows * num_canvases, generator, T_MIN).view(num_rows, num_canvases)
        t_BT = torch.cat((torch.ones(num_rows, 1), levels), dim=1).gather(1, batch.canvases_BT)
        noisy_BT = process.corrupt(batch.tokens_BT, t_BT, generator)
        tokens_BT = torch.where(open_BT, noisy_BT, batch.tokens_BT)
        logits_NV = model.logits(read_canvases(model, batch, tokens_BT)[open_BT]).cpu()
        x0_N, xt_N, t_N = batch.tokens_BT[open_BT], tokens_BT[open_BT], t_BT[open_BT]
        total += float(nelbo_of_denoiser(process, logits_NV, x0_N, xt_N, t_N).sum())
        count += x0_N.numel()
    name = "MDLM" if not process.has_uniform else ("GIDD" if process.mask_id is not None else "UDLM, leave-one-out")
    return Likelihood(
        nats_per_token=(1.0 - T_MIN) * total / count,
        num_tokens=count,
        estimator=f"{name} NELBO (upper bound), one stratified t per canvas in [{T_MIN:g}, 1]",
    )


def read_canvases(model: Model, batch: PackedBatch, tokens_BT: Tensor) -> Tensor:
    """The hidden states [B, T, D] that decide the canvas tokens, given a draft of them."""
    device = model.device
    read_BT, positions_BT, reads = batch.inputs(tokens_BT)
    hidden_BTD = model(
        read_BT.to(device),
        positions_BT.to(device),
        select_masked_attention(reads.mask(device)),
        canvas_RQ=(batch.canvases_BT > 0).to(device),
        given_RQ=(batch.read_given_BT > 0).to(device) if model.marks_given else None,
    )
    return deciding(hidden_BTD, batch.shift)


@torch.inference_mode()
def response_nll(
    model: Model, source: Source, *, packing: PackingConfig, end_id: int, num_batches: int = 4
) -> Likelihood:
    """Exact -log p(response | prompt) of the model read autoregressively.

    Args:
        model, source, packing, end_id, num_batches: as for `canvas_nelbo`; canvases in the rows are ignored.
    """
    total, count = 0.0, 0.0
    for step in range(num_batches):
        batch = pack(source, packing, seed=0, step=step, end_id=end_id)
        hidden_ND, targets_N = read_clean(model, batch)
        total += float(functional.cross_entropy(model.logits(hidden_ND).float(), targets_N, reduction="sum"))
        count += len(targets_N)
    return Likelihood(
        nats_per_token=total / max(1.0, count), num_tokens=int(count), estimator="exact autoregressive NLL"
    )


def read_clean(model: Model, batch: PackedBatch) -> tuple[Tensor, Tensor]:
    """Hidden states [N, D] of the clean halves that predict a token, and these tokens [N]."""
    clean_BT = (batch.targets_BT != IGNORED) & (batch.canvases_BT == 0)
    device = model.device
    tokens_BT, positions_BT, reads = batch.inputs(batch.tokens_BT)
    hidden_BTD = model(
        tokens_BT.to(device),
        positions_BT.to(device),
        select_masked_attention(reads.mask(device)),
        canvas_RQ=(batch.canvases_BT > 0).to(device),
    )
    return hidden_BTD[clean_BT.to(device)], batch.targets_BT[clean_BT].to(device)
