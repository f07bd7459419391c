"""Likelihoods, exact or as a bound, each with its estimator's name: of held-out documents, and of one text's
continuation, with the tokens a model would have preferred."""

# B rows, T positions of a row, N supervised positions or tokens of a continuation, D model, V vocabulary

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.data.packing import IGNORED, Document, PackedBatch, PackingConfig, Source, deciding, pack
from sfumato.diffusion.loss import nelbo_of_denoiser
from sfumato.diffusion.process import Process, sample_t
from sfumato.engine.model import TextModel
from sfumato.errors import ConfigError
from sfumato.layout import PrefixLayout
from sfumato.models.model import Model
from sfumato.models.sparse import select_masked_attention
from sfumato.spec import DEFAULT, GenerationSpec

T_MIN = 1e-12
"""Lowest noise level; the bound's integral below it is less than a hundred-thousandth of a nat per token."""
# Positions of canvases in a forward, and positions whose logits are computed together.
_POSITIONS, _AT_ONCE = 2048, 256


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """Nats per token, and how they were estimated."""

    nats_per_token: float
    """Mean over tokens."""
    standard_error: float = 0.0
    """Of the mean, from how the canvases that were drawn differ; 0 if it is exact."""
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
    found: list[Tensor] = []
    for step in range(num_batches):
        batch = pack(source, packing, seed=seed, step=step, end_id=end_id, spec=spec)
        noise = _noise_by_level if process.has_uniform else _noise_by_count
        t_BT, weights_BT, noisy_BT = noise(process, batch, generator)
        free_BT, hidden_ND = _read_noisy(model, batch, noisy_BT)
        nats_BT, num_canvases = torch.zeros(free_BT.shape, dtype=torch.float64), int(batch.canvases_BT.max())
        nats_BT[free_BT] = _nelbo(model, process, hidden_ND, batch.tokens_BT[free_BT], noisy_BT[free_BT], t_BT[free_BT])
        none_RC = torch.zeros(len(free_BT), 1 + num_canvases, dtype=torch.float64)
        nats_RC = none_RC.scatter_add(1, batch.canvases_BT, nats_BT * weights_BT)
        num_RC = none_RC.scatter_add(1, batch.canvases_BT, free_BT.double())
        found.append(torch.stack((nats_RC[num_RC > 0], num_RC[num_RC > 0])))
    nats_N, num_N = torch.cat(found, dim=1)
    mean = float(nats_N.sum() / num_N.sum())
    errors_N = nats_N - mean * num_N
    name = "MDLM" if not process.has_uniform else ("GIDD" if process.mask_id is not None else "UDLM, leave-one-out")
    drawn = "one stratified level per canvas" if process.has_uniform else "one stratified number of masks per canvas"
    return Likelihood(
        nats_per_token=mean,
        standard_error=float(errors_N.square().sum().sqrt() / num_N.sum()),
        num_tokens=int(num_N.sum()),
        estimator=f"{name} NELBO (upper bound), {drawn}",
    )


def _nelbo(model: Model, process: Process, hidden_ND: Tensor, x0_N: Tensor, xt_N: Tensor, t_N: Tensor) -> Tensor:
    """The bound's integrand at some positions, a few at a time, in float64."""
    parts = []
    for start in range(0, len(x0_N), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        logits_NV = model.logits(hidden_ND[part]).cpu()
        parts.append(nelbo_of_denoiser(process, logits_NV, x0_N[part], xt_N[part], t_N[part]).double())
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


def _noise_by_level(process: Process, batch: PackedBatch, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Draw a noise level for each canvas, and the noise.

    Levels are u² for uniform u, or u⁴ beside masks. There, a share of sqrt(t) of the tokens is uniform noise, and of t
    otherwise; the integrand at such a token grows like 1/t, so that few levels near 0 would hold most of the variance.

    Returns:
        t_BT: noise levels, float64.
        weights_BT: of the integrand, dt/du.
        tokens_BT: the batch's tokens with noise on the free positions.
    """
    power = 2.0 if process.mask_id is None else 4.0
    u_min = T_MIN ** (1.0 / power)
    u_BT = _draw_each(batch, generator, u_min).double()
    t_BT = u_BT**power
    noisy_BT = torch.where(_free(batch), process.corrupt(batch.tokens_BT, t_BT, generator), batch.tokens_BT)
    return t_BT, (1.0 - u_min) * power * u_BT ** (power - 1.0), noisy_BT


def _noise_by_count(process: Process, batch: PackedBatch, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Draw the number of masks of each canvas, and their positions; the mean is the same as over noise levels, and
    varies several times less.

    Returns:
        t_BT: shares of masks, float64.
        weights_BT: 1 each.
        tokens_BT: the batch's tokens with masks on some free positions.

    Source: LLaDA, arXiv 2502.09992, eq. 6.
    """
    assert process.mask_id is not None
    free_BT = _free(batch)
    # For each position, the free ones of its canvas.
    same_BTT = (batch.canvases_BT[:, :, None] == batch.canvases_BT[:, None]) & free_BT[:, None]
    num_BT = same_BTT.sum(-1).clamp_min(1)
    masks_BT = (num_BT * _draw_each(batch, generator, 0.0)).long() + 1
    u_BT = torch.rand(free_BT.shape, generator=generator)
    rank_BT = (same_BTT & (u_BT[:, None] < u_BT[:, :, None])).sum(-1)
    tokens_BT = torch.where(free_BT & (rank_BT < masks_BT), process.mask_id, batch.tokens_BT)
    t_BT = (masks_BT / num_BT).double()
    return t_BT, torch.ones_like(t_BT), tokens_BT


def _draw_each(batch: PackedBatch, generator: torch.Generator, low: float) -> Tensor:
    """Stratified uniforms from low to 1, one for each canvas, at all of its positions; 1 outside of canvases."""
    num_rows, num_canvases = batch.tokens_BT.shape[0], int(batch.canvases_BT.max())
    u_RC = sample_t(num_rows * num_canvases, generator, low).view(num_rows, num_canvases)
    return torch.cat((torch.ones(num_rows, 1), u_RC), dim=1).gather(1, batch.canvases_BT)


def _free(batch: PackedBatch) -> Tensor:
    """bool; the positions of canvases that are not given."""
    return (batch.canvases_BT > 0) & (batch.given_BT == 0)


def _read_noisy(model: Model, batch: PackedBatch, tokens_BT: Tensor) -> tuple[Tensor, Tensor]:
    """The free positions of a batch whose canvases hold some tokens, and the hidden states [N, D] that decide them."""
    free_BT = _free(batch)
    return free_BT, deciding(_read(model, batch, tokens_BT), batch.shift)[free_BT]


def _read(model: Model, batch: PackedBatch, tokens_BT: Tensor) -> Tensor:
    """The hidden states [B, T, D] of a batch, whose canvases hold some tokens."""
    device = model.device
    read_BT, positions_BT, reads = batch.inputs(tokens_BT)
    hidden_BTD: Tensor = model(
        read_BT.to(device),
        positions_BT.to(device),
        select_masked_attention(reads.mask(device)),
        canvas_RQ=(batch.canvases_BT > 0).to(device),
        given_RQ=(batch.read_given_BT > 0).to(device) if model.marks_given else None,
    )
    return hidden_BTD


@torch.inference_mode()
def response_nll(
    model: Model, source: Source, *, packing: PackingConfig, end_id: int, num_batches: int = 4
) -> Likelihood:
    """Exact -log p(response | prompt) of the model read autoregressively.

    Args:
        model, source, packing, end_id, num_batches: as for `canvas_nelbo`; canvases in the rows are ignored.
    """
    total, count = 0.0, 0
    for step in range(num_batches):
        batch = pack(source, packing, seed=0, step=step, end_id=end_id)
        hidden_ND, targets_N = _read_clean(model, batch)
        total += float(functional.cross_entropy(model.logits(hidden_ND).float(), targets_N, reduction="sum"))
        count += len(targets_N)
    return Likelihood(nats_per_token=total / max(1, count), num_tokens=count, estimator="exact autoregressive NLL")


def _read_clean(model: Model, batch: PackedBatch) -> tuple[Tensor, Tensor]:
    """Hidden states [N, D] of the clean halves that predict a token, and these tokens [N]."""
    clean_BT = (batch.targets_BT != IGNORED) & (batch.canvases_BT == 0)
    hidden_BTD = _read(model, batch, batch.tokens_BT)
    return hidden_BTD[clean_BT.to(model.device)], batch.targets_BT[clean_BT].to(model.device)


@dataclass(frozen=True, kw_only=True)
class ContinuationLikelihood:
    """-log p(continuation | context), or an upper bound on it."""

    nats: float
    """Sum over all tokens."""
    standard_error: float
    """Of `nats`; 0 if it is exact."""
    estimator: str
    """Estimator, see `Likelihood`; empty without tokens."""
    num_positions: int


@dataclass(frozen=True, kw_only=True)
class TokenLogprobs:
    """Log-probabilities of some tokens."""

    chosen: list[float]
    """For each token in the text."""
    top: list[list[tuple[int, float]]]
    """For the likeliest tokens, with their ids."""
    num_positions: int


def continuation_nats(
    model: TextModel, context: Sequence[int], continuation: Sequence[int], *, samples: int, seed: int
) -> ContinuationLikelihood:
    """Negative log-likelihood of a continuation: exact for an autoregressive model, a bound from noise draws for a
    canvas model.

    The continuation is one canvas of its own length, or several of the trained length, each after the text before it. A
    canvas has at least two positions, so a continuation of one token is read with the end token; in block models, so is
    one shorter than a block.

    Args:
        context: at least one token; truncated on the left to fit the model.
        samples: noise draws per canvas; four times as many halve the error.
    """
    max_length, end_id = model.decoder.config.max_position_embeddings, model.tokenizer.eos_ids[0]
    text = [*context, *continuation]
    length = max_length // 2 if model.spec.autoregressive else model.spec.canvas_length
    nats, variance, estimator, num_positions = 0.0, 0.0, "", 0
    for start in range(len(context), len(text), length):
        piece = text[start : start + length]
        document = Document(text[max(0, start + len(piece) - max_length) : start], piece)
        packing, num_tokens = _lay_out(model, document, samples)
        if model.spec.autoregressive:
            num_batches = 1
            found = response_nll(model.decoder, _Same(document), packing=packing, end_id=end_id, num_batches=1)
        else:
            num_batches = -(-samples // (packing.rows * packing.canvas_copies))
            found = canvas_nelbo(
                model.decoder,
                model.bundle.process,
                _Same(document),
                packing=packing,
                end_id=end_id,
                spec=model.spec,
                num_batches=num_batches,
                seed=seed,
            )
        nats += found.nats_per_token * num_tokens
        variance += (found.standard_error * num_tokens) ** 2
        estimator = found.estimator
        num_positions += num_batches * packing.rows * packing.row_length
    return ContinuationLikelihood(
        nats=nats, standard_error=math.sqrt(variance), estimator=estimator, num_positions=num_positions
    )


@torch.inference_mode()
def token_logprobs(
    model: TextModel, context: Sequence[int], continuation: Sequence[int], *, num_top: int
) -> TokenLogprobs:
    """Log-probability of each token of a continuation that fits the model: for an autoregressive model given everything
    before it; for a canvas model in the first step of the canvases of `continuation_nats`, which are pure noise.

    Args:
        context: at least one token.
        num_top: number of likeliest tokens to return.
    """
    document, end_id = Document(context, continuation), model.tokenizer.eos_ids[0]
    packing, _ = _lay_out(model, document, 1)
    if model.spec.autoregressive:
        hidden_ND, _ = _read_clean(model.decoder, pack(_Same(document), packing, seed=0, step=0, end_id=end_id))
    else:
        batch = pack(_Same(document), packing, seed=0, step=0, end_id=end_id, spec=model.spec)
        generator = torch.Generator().manual_seed(0)
        noise_BT = model.bundle.process.corrupt(batch.tokens_BT, _free(batch).float(), generator)
        hidden_ND = _read_noisy(model.decoder, batch, noise_BT)[1][: len(continuation)]
    chosen: list[float] = []
    top: list[list[tuple[int, float]]] = []
    for start in range(0, len(continuation), _AT_ONCE):
        logprobs_NV = model.decoder.logits(hidden_ND[start : start + _AT_ONCE]).float().log_softmax(-1).cpu()
        tokens_N = torch.tensor(continuation[start : start + _AT_ONCE])
        chosen += logprobs_NV.gather(1, tokens_N[:, None])[:, 0].tolist()
        best = logprobs_NV.topk(num_top)
        top += [list(zip(*each, strict=True)) for each in zip(best.indices.tolist(), best.values.tolist(), strict=True)]
    return TokenLogprobs(chosen=chosen, top=top, num_positions=packing.rows * packing.row_length)


def _lay_out(model: TextModel, document: Document, samples: int) -> tuple[PackingConfig, int]:
    """Rows with a response, for canvas models on canvases and several copies at a time, and the tokens that count."""
    spec, layout = model.spec, PrefixLayout(model.spec)
    num_before, num_response = len(document.prompt), len(document.response)
    if spec.autoregressive:
        return PackingConfig(rows=1, row_length=num_before + num_response, canvas_lengths=()), num_response
    whole = layout.num_whole(num_before)
    length = spec.canvas_length if layout.fixed_canvas else max(2, num_response)
    size = -(-(num_before - whole + num_response) // length) * length
    together = min(samples, -(-_POSITIONS // size))
    # With a full prefix, the text is copied before each canvas; otherwise it occurs once.
    rows, copies = (together, 1) if layout.full else (1, together)
    packing = PackingConfig(
        rows=rows,
        row_length=whole + size - length + copies * size,
        canvas_lengths=(length,),
        canvas_copies=copies,
        ar_share=0.0,
    )
    return packing, whole + size - num_before


class _Same:
    """A source of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def document(self, seed: int) -> Document:
        return self._document
