"""Likelihood of held-out documents: exact against one forward a token, bounds where the likelihood is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from sfumato.data.packing import Document, PackingConfig
from sfumato.diffusion.process import make_process
from sfumato.errors import ConfigError
from sfumato.evaluation.likelihood import canvas_nelbo, response_nll
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
def test_the_exact_likelihood_is_that_of_one_forward_a_token(make_decoder: Callable[..., Decoder]) -> None:
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


@pytest.mark.parametrize("noise", ["uniform", "hybrid"])
def test_no_model_of_random_text_is_below_its_entropy(noise: str, flat: Decoder) -> None:
    """Tokens are drawn evenly from 21, so the mean of -log p is at least log 21 for any model; 5% are for chance."""
    process = make_process(noise, VOCAB, None if noise == "uniform" else MASK)
    estimate = canvas_nelbo(flat, process, Drawn(4, 8), packing=CANVASES, end_id=END, num_batches=40)
    assert estimate.nats_per_token > 0.95 * math.log(MASK - 1)


def test_one_seed_is_one_number(make_decoder: Callable[..., Decoder]) -> None:
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
