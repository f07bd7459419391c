"""Likelihoods, exact or as a bound, each with its estimator's name: of held-out documents, and of one text's
continuation, with the tokens a model would have preferred."""

# B rows, T positions of a row, N supervised positions or tokens of a continuation, D model, V vocabulary

from __future__ import annotations

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

T_MIN = 1e-5
# Positions of canvases in a forward, and positions whose logits are computed together.
_POSITIONS, _AT_ONCE = 2048, 256


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
        num_rows, num_canvases = batch.tokens_BT.shape[0], int(batch.canvases_BT.max())
        levels = sample_t(num_rows * num_canvases, generator, T_MIN).view(num_rows, num_canvases)
        t_BT = torch.cat((torch.ones(num_rows, 1), levels), dim=1).gather(1, batch.canvases_BT)
        hidden_ND, tokens_BT, free_BT = _read_noisy(model, process, batch, t_BT, generator)
        logits_NV = model.logits(hidden_ND).cpu()
        x0_N, xt_N, t_N = batch.tokens_BT[free_BT], tokens_BT[free_BT], t_BT[free_BT]
        total += float(nelbo_of_denoiser(process, logits_NV, x0_N, xt_N, t_N).sum())
        count += x0_N.numel()
    name = "MDLM" if not process.has_uniform else ("GIDD" if process.mask_id is not None else "UDLM, leave-one-out")
    return Likelihood(
        nats_per_token=(1.0 - T_MIN) * total / count,
        num_tokens=count,
        estimator=f"{name} NELBO (upper bound), one stratified t per canvas in [{T_MIN:g}, 1]",
    )


def _read_noisy(
    model: Model, process: Process, batch: PackedBatch, t_BT: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Put noise on the free positions of a batch's canvases, and read it.

    Returns:
        hidden_ND: the hidden states that decide the tokens of these positions.
        tokens_BT: the batch's tokens, with the noise.
        free_BT: bool; these positions.
    """
    free_BT = (batch.canvases_BT > 0) & (batch.given_BT == 0)
    tokens_BT = torch.where(free_BT, process.corrupt(batch.tokens_BT, t_BT, generator), batch.tokens_BT)
    return deciding(_read(model, batch, tokens_BT), batch.shift)[free_BT], tokens_BT, free_BT


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
    nats, estimator, num_positions = 0.0, "", 0
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
        estimator = found.estimator
        num_positions += num_batches * packing.rows * packing.row_length
    return ContinuationLikelihood(nats=nats, estimator=estimator, num_positions=num_positions)


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
        t_BT, generator = torch.ones(batch.tokens_BT.shape), torch.Generator().manual_seed(0)
        hidden_ND = _read_noisy(model.decoder, model.bundle.process, batch, t_BT, generator)[0][: len(continuation)]
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
