"""Likelihood of held-out documents: exact against one forward a token, bounds where the likelihood is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch

from sfumato.data.packing import Document, PackingConfig
from sfumato.diffusion.loss import nelbo
from sfumato.diffusion.process import make_process
from sfumato.errors import ConfigError
from sfumato.evaluation.likelihood import T_MIN, canvas_nelbo, response_nll
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec

END, MASK, VOCAB = 0, 22, 23
CANVASES = PackingConfig(rows=32, row_length=40, canvas_lengths=(8,), ar_share=0.0)


class Drawn:
    """Documents of random tokens; the end token and the mask are none of them."""

    def __init__(self, prompt: int, response: int, seed: int | None = None) -> None:
        self.lengths, self.seed = (prompt, response), seed

    def document(self, seed: int) -> Document:
        generator = torch.Generator().manual_seed(seed if self.seed is None else self.seed)
        prompt, response = (torch.randint(1, MASK, (size,), generator=generator).tolist() for size in self.lengths)
        return Document(prompt, response)


@pytest.fixture
def flat(make_decoder: Callable[..., Decoder]) -> Decoder:
    """A model that finds every token as likely as any other."""
    model = make_decoder()
    with torch.no_grad():
        model.get_parameter("model.embed_tokens.weight").zero_()
    return model


@torch.inference_mode()
def test_exact_likelihood_matches_one_forward_per_token(make_decoder: Callable[..., Decoder]) -> None:
    model, source = make_decoder(), Drawn(5, 7, seed=3)
    document = source.document(0)
    text, nats = list(document.prompt), 0.0
    for token in document.response:
        hidden_1QD = model(torch.tensor([text]), torch.arange(len(text))[None], AttentionSpec(causal=True))
        nats -= float(model.logits(hidden_1QD[0, -1]).log_softmax(-1)[token])
        text.append(token)
    packing = PackingConfig(rows=2, row_length=30, canvas_lengths=())
    estimate = response_nll(model, source, packing=packing, end_id=END, num_batches=2)
    assert estimate.nats_per_token == pytest.approx(nats / 7, rel=1e-5)
    assert estimate.num_tokens == 2 * 4 * 7
    assert estimate.estimator == "exact autoregressive NLL"


def test_the_bound_of_a_flat_model_under_mask_noise_is_its_likelihood(flat: Decoder) -> None:
    """It cannot say the mask, so each of the other tokens has probability 1/22 at every noise level."""
    process = make_process("mask", VOCAB, MASK)
    estimate = canvas_nelbo(flat, process, Drawn(4, 8), packing=CANVASES, end_id=END, num_batches=40)
    assert estimate.nats_per_token == pytest.approx(math.log(VOCAB - 1), rel=0.03)
    assert estimate.num_tokens == 40 * 32 * 3 * 8
    assert estimate.estimator.startswith("MDLM NELBO (upper bound)")


def test_the_bound_of_a_flat_model_under_both_noises_is_its_likelihood(flat: Decoder) -> None:
    """As under masks; a part of it stands at noise levels near 0."""
    process = make_process("hybrid", VOCAB, MASK)
    estimate = canvas_nelbo(flat, process, Drawn(4, 8), packing=CANVASES, end_id=END, num_batches=40)
    assert abs(estimate.nats_per_token - math.log(VOCAB - 1)) < 4 * estimate.standard_error < 0.1 * math.log(VOCAB)
    assert estimate.estimator.startswith("GIDD NELBO (upper bound)")


@pytest.mark.parametrize("noise", ["uniform", "hybrid"])
def test_levels_near_0_are_not_left_out(noise: str) -> None:
    """For a prediction that looks at nothing, the bound is -log p: as a sum over the levels and tokens of the noise."""
    process, p = make_process(noise, VOCAB, MASK if noise == "hybrid" else None), 0.99
    u_N = (torch.arange(20_000) + 0.5).double() / 20_000 * (1 - T_MIN**0.5) + T_MIN**0.5
    t_N = u_N.square()
    logits_V = torch.full((VOCAB,), math.log((1 - p) / (VOCAB - 1 - (noise == "hybrid"))))
    logits_V[7] = math.log(p)
    mixture = process.mixture(t_N)
    ordinary_N = mixture.uniform / process.num_ordinary
    shares = {7: mixture.keep + ordinary_N, 9: mixture.uniform - ordinary_N, MASK: mixture.mask}
    nats_N = sum(
        share_N * nelbo(process, logits_V.expand(len(t_N), -1), *(torch.full_like(t_N, x).long() for x in (7, z)), t_N)
        for z, share_N in shares.items()
    )
    assert float((2 * u_N * nats_N).mean()) == pytest.approx(-math.log(p), rel=2e-3)


@torch.inference_mode()
def test_numbers_of_masks_give_the_bound_over_all_masks(make_decoder: Callable[..., Decoder]) -> None:
    model, process = make_decoder(canvas_embedding=True), make_process("mask", VOCAB, MASK)
    document, length = Drawn(4, 5, seed=1).document(0), 5
    prompt, x0_L = list(document.prompt), torch.tensor(document.response)
    exact = 0.0
    for masks in itertools.product((False, True), repeat=length):
        masked_L = torch.tensor(masks)
        if not any(masks):
            continue
        read = torch.tensor([prompt + torch.where(masked_L, MASK, x0_L).tolist()])
        seen = torch.arange(4 + length)[None] <= torch.arange(4 + length)[:, None]
        seen[4:, 4:] = True
        hidden_1QD = model(
            read,
            torch.arange(4 + length)[None],
            AttentionSpec(mask=seen[None, None]),
            canvas_RQ=(torch.arange(9) >= 4)[None],
        )
        logits_LV = model.logits(hidden_1QD[0, 4:]).masked_fill(torch.arange(VOCAB) == MASK, float("-inf"))
        nats_L = -logits_LV.log_softmax(-1).gather(1, x0_L[:, None])[:, 0]
        exact += float(nats_L[masked_L].sum()) / sum(masks) / math.comb(length, sum(masks))
    packing = PackingConfig(
        rows=1, row_length=4 + 16 * length, canvas_lengths=(length,), canvas_copies=16, ar_share=0.0
    )
    found = [
        canvas_nelbo(model, process, Drawn(4, 5, seed=1), packing=packing, end_id=END, num_batches=2, seed=seed)
        for seed in range(40)
    ]
    means = torch.tensor([each.nats_per_token * length for each in found])
    assert abs(float(means.mean()) - exact) < 4 * float(means.std()) / math.sqrt(40)
    # Stratified draws differ a little less than independent ones.
    assert 0.5 * float(means.std()) < found[0].standard_error * length < 3 * float(means.std())


@pytest.mark.parametrize("noise", ["uniform", "hybrid"])
def test_random_text_is_not_below_its_entropy(noise: str, flat: Decoder) -> None:
    """Tokens are drawn evenly from 21, so the mean of -log p is at least log 21 for any model; 5% are for chance."""
    process = make_process(noise, VOCAB, None if noise == "uniform" else MASK)
    estimate = canvas_nelbo(flat, process, Drawn(4, 8), packing=CANVASES, end_id=END, num_batches=40)
    assert estimate.nats_per_token > 0.95 * math.log(MASK - 1)


def test_bound_depends_on_seed(make_decoder: Callable[..., Decoder]) -> None:
    process, model = make_process("uniform", VOCAB, None), make_decoder(canvas_embedding=True)
    one, same, other = (
        canvas_nelbo(model, process, Drawn(4, 8), packing=CANVASES, end_id=END, num_batches=1, seed=seed)
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one.nats_per_token != other.nats_per_token


def test_a_packing_without_canvases_has_no_canvas_bound(flat: Decoder) -> None:
    packing = PackingConfig(rows=2, row_length=30, canvas_lengths=())
    with pytest.raises(ConfigError, match="canvas_lengths is empty"):
        canvas_nelbo(flat, make_process("uniform", VOCAB, None), Drawn(4, 8), packing=packing, end_id=END)
