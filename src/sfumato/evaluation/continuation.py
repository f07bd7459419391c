"""Likelihood of a text's continuation, exact or as a bound, and the tokens a model would have preferred."""

# N tokens of a continuation, B rows, T positions of a row, D model, V vocabulary

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from sfumato.data.packing import Document, PackedBatch, PackingConfig, pack
from sfumato.engine.model import TextModel
from sfumato.evaluation.likelihood import canvas_nelbo, read_canvases, read_clean, response_nll
from sfumato.layout import PrefixLayout

# Positions whose logits are computed together, on canvases and elsewhere.
_POSITIONS, _AT_ONCE = 2048, 256


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
    max_length = model.decoder.config.max_position_embeddings
    text = [*context, *continuation]
    length = max_length // 2 if model.spec.autoregressive else model.spec.canvas_length
    nats, estimator, num_positions = 0.0, "", 0
    for start in range(len(context), len(text), length):
        piece = text[start : start + length]
        document = Document(text[max(0, start + len(piece) - max_length) : start], piece)
        if model.spec.autoregressive:
            packing = PackingConfig(rows=1, row_length=len(document.prompt) + len(piece), canvas_lengths=())
            num_batches, num_tokens = 1, len(piece)
            found = response_nll(
                model.decoder, _Same(document), packing=packing, end_id=model.tokenizer.eos_ids[0], num_batches=1
            )
        else:
            packing, num_tokens = _canvases(model, document, samples)
            num_batches = -(-samples // (packing.rows * packing.canvas_copies))
            found = canvas_nelbo(
                model.decoder,
                model.bundle.process,
                _Same(document),
                packing=packing,
                end_id=model.tokenizer.eos_ids[0],
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
    if model.spec.autoregressive:
        packing = PackingConfig(rows=1, row_length=len(context) + len(continuation), canvas_lengths=())
        hidden_ND, _ = read_clean(model.decoder, pack(_Same(document), packing, seed=0, step=0, end_id=end_id))
    else:
        packing, _ = _canvases(model, document, 1)
        batch = pack(_Same(document), packing, seed=0, step=0, end_id=end_id, spec=model.spec)
        hidden_ND = _first_read(model, batch)[: len(continuation)]
    chosen: list[float] = []
    top: list[list[tuple[int, float]]] = []
    for start in range(0, len(continuation), _AT_ONCE):
        logprobs_NV = model.decoder.logits(hidden_ND[start : start + _AT_ONCE]).float().log_softmax(-1).cpu()
        tokens_N = torch.tensor(continuation[start : start + _AT_ONCE])
        chosen += logprobs_NV.gather(1, tokens_N[:, None])[:, 0].tolist()
        best = logprobs_NV.topk(num_top)
        top += [list(zip(*each, strict=True)) for each in zip(best.indices.tolist(), best.values.tolist(), strict=True)]
    return TokenLogprobs(chosen=chosen, top=top, num_positions=packing.rows * packing.row_length)


def _first_read(model: TextModel, batch: PackedBatch) -> torch.Tensor:
    open_BT = (batch.canvases_BT > 0) & (batch.given_BT == 0)
    noise_BT = model.bundle.process.corrupt(
        batch.tokens_BT, torch.ones(batch.tokens_BT.shape), torch.Generator().manual_seed(0)
    )
    tokens_BT = torch.where(open_BT, noise_BT, batch.tokens_BT)
    return read_canvases(model.decoder, batch, tokens_BT)[open_BT.to(model.decoder.device)]


def _canvases(model: TextModel, document: Document, samples: int) -> tuple[PackingConfig, int]:
    """Rows with a response on canvases, several copies at a time, and the tokens that count."""
    spec, layout = model.spec, PrefixLayout(model.spec)
    num_before, num_response = len(document.prompt), len(document.response)
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
