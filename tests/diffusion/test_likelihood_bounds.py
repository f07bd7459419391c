"""The bounds against exact likelihoods, with every sequence enumerated.

A denoiser is a random table here: logits for every x_t, position and t. Its likelihood is computed exactly,
by multiplying out the reverse chain over all states; so is the bound's expectation over x_t, and t is
integrated by quadrature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from enumeration import marginal, posterior
from sfumato.diffusion.loss import loo_from_denoiser, nelbo
from sfumato.diffusion.process import Process, UniformProcess, sample_t

# N noise levels, S states of the canvas (K^L), L canvas, K vocabulary
L = 2


@dataclass(frozen=True, kw_only=True)
class Table:
    """A denoiser that depends on the whole canvas and on t, with no structure to exploit."""

    states: Tensor
    """Every canvas, SL."""
    offset: Tensor
    """Logits at t = 0, SLK."""
    slope: Tensor
    """Change of the logits with t, SLK."""

    def logits(self, t_N: Tensor) -> Tensor:
        """logits_NSLK for every state."""
        return self.offset + t_N[:, None, None, None] * self.slope

    def logits_at(self, xt_RL: Tensor, t_R: Tensor, vocab_size: int) -> Tensor:
        """logits_RLK for the given canvases."""
        state_R = xt_RL[:, 0] * vocab_size + xt_RL[:, 1]
        return self.offset[state_R] + t_R[:, None, None] * self.slope[state_R]


@pytest.fixture
def table(process: Process, generator: torch.Generator) -> Table:
    tokens = torch.arange(process.vocab_size)
    shape = (process.vocab_size**L, L, process.vocab_size)
    offset, slope = (torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2))
    if process.mask_id is not None:
        offset[..., process.mask_id] = float("-inf")
    return Table(states=torch.cartesian_prod(tokens, tokens), offset=offset, slope=slope)


@pytest.fixture
def clean(ordinary: Tensor) -> Tensor:
    return torch.cartesian_prod(ordinary, ordinary)


def one_hot(tokens: Tensor, process: Process) -> Tensor:
    return torch.nn.functional.one_hot(tokens, process.vocab_size).double()


def warp(u: Tensor) -> tuple[Tensor, Tensor]:
    """Map [0, 1] onto itself like u^4 at both ends, and the derivative of the map.

    Hybrid noise flows like 1/sqrt(t (1-t)), times a logarithm; even steps in u resolve it.
    """
    inner = (1 - (math.pi * u).cos()) / 2
    slope = math.pi / 2 * (math.pi * inner).sin() * math.pi / 2 * (math.pi * u).sin()
    return (1 - (math.pi * inner).cos()) / 2, slope


def quadrature(num_nodes: int, t_min: float = 0.0) -> tuple[Tensor, Tensor]:
    """Nodes and weights on (t_min, 1): the midpoint rule before the warp."""
    t_N, slope_N = warp((torch.arange(num_nodes, dtype=torch.float64) + 0.5) / num_nodes)
    return t_min + (1 - t_min) * t_N, (1 - t_min) * slope_N / num_nodes


def expected_nelbo(process: Process, table: Table, x0_L: Tensor, t_N: Tensor) -> Tensor:
    """Sum over positions, expectation over every x_t: nats_N."""
    x0_NSL = x0_L.expand(len(t_N), *table.states.shape)
    xt_NSL = table.states.expand_as(x0_NSL)
    nats_NSL = nelbo(process, table.logits(t_N), x0_NSL, xt_NSL, t_N)
    q_NLK = marginal(process, one_hot(x0_L, process).expand(len(t_N), -1, -1), t_N)
    q_NSL = q_NLK[:, None].expand(-1, len(table.states), -1, -1).gather(-1, xt_NSL[..., None])[..., 0]
    return (q_NSL.prod(-1) * nats_NSL.sum(-1)).sum(-1)


def integrated_nelbo(process: Process, table: Table, x0_L: Tensor, num_nodes: int = 400, t_min: float = 0.0) -> Tensor:
    t_N, weight_N = quadrature(num_nodes, t_min)
    return (weight_N * expected_nelbo(process, table, x0_L, t_N)).sum()


def chain_levels(num_steps: int) -> Tensor:
    return warp(torch.linspace(0, 1, num_steps + 1, dtype=torch.float64))[0]


def reverse_posteriors(process: Process, table: Table, num_steps: int) -> Tensor:
    """p(x_s | x_t) per position, for steps from t = levels[n + 1] to s = levels[n]: probs_NSLK."""
    levels = chain_levels(num_steps)
    x0_probs_NSLK = table.logits(levels[1:]).softmax(-1)
    xt_NSL = table.states.expand(x0_probs_NSLK.shape[:-1])
    return posterior(process, xt_NSL, x0_probs_NSLK, levels[:-1], levels[1:])


def chain_likelihood(process: Process, table: Table, num_steps: int) -> Tensor:
    """p(x_0) of every state, from the prior through all transition matrices: probs_S."""
    prior_K = marginal(process, one_hot(torch.tensor(0), process), torch.tensor(1.0, dtype=torch.float64))
    probs_S = prior_K[table.states].prod(-1)
    for posterior_SLK in reverse_posteriors(process, table, num_steps).flip(0):
        step_SS = torch.einsum("sa,sb->sab", posterior_SLK[:, 0], posterior_SLK[:, 1]).flatten(1)
        probs_S = probs_S @ step_SS
    return probs_S


def chain_bound(process: Process, table: Table, x0_L: Tensor, num_steps: int) -> Tensor:
    """The discrete-time bound: sum over steps of E KL(q(x_s | x_t, x_0) ‖ p(x_s | x_t)).

    D3PM, arXiv 2107.03006, eq. 1; the last step, to s = 0, is the reconstruction term.
    """
    levels = chain_levels(num_steps)
    model_NSLK = reverse_posteriors(process, table, num_steps)
    x0_probs_NSLK = one_hot(x0_L, process).expand_as(model_NSLK)
    xt_NSL = table.states.expand(model_NSLK.shape[:-1])
    truth_NSLK = posterior(process, xt_NSL, x0_probs_NSLK, levels[:-1], levels[1:])
    q_NSL = marginal(process, x0_probs_NSLK, levels[1:]).gather(-1, xt_NSL[..., None])[..., 0]
    log_ratio_NSLK = torch.where(truth_NSLK > 0, (truth_NSLK / model_NSLK).log(), 0.0)
    kl_NS = (truth_NSLK * log_ratio_NSLK).sum((-1, -2))
    weight_NS = q_NSL.prod(-1)
    return torch.where(weight_NS > 0, weight_NS * kl_NS, 0.0).sum()


def test_nelbo_bounds_the_exact_likelihood(process: Process, table: Table, clean: Tensor) -> None:
    probs_S = chain_likelihood(process, table, num_steps=512)
    torch.testing.assert_close(probs_S.sum(), torch.tensor(1.0, dtype=torch.float64))
    for x0_L in clean:
        state = (table.states == x0_L).all(-1)
        nll = -probs_S[state].log().squeeze()
        nats = integrated_nelbo(process, table, x0_L)
        # An inconsistent table is far from its bound, but not absurdly far.
        assert nll < nats < nll + 5


def test_discrete_bound_converges_to_nelbo(process: Process, table: Table, clean: Tensor) -> None:
    for x0_L in clean[:3]:
        limit = integrated_nelbo(process, table, x0_L)
        for num_steps in (32, 128, 512):
            # Convergence is of first order, so at 512 steps the gap is below 0.4%.
            assert abs(chain_bound(process, table, x0_L, num_steps) - limit) < 2 * limit / num_steps


def test_discrete_bound_bounds_the_likelihood_of_its_chain(process: Process, table: Table, clean: Tensor) -> None:
    for num_steps in (1, 3, 16):
        probs_S = chain_likelihood(process, table, num_steps)
        for x0_L in clean:
            nll = -probs_S[(table.states == x0_L).all(-1)].log().squeeze()
            assert nll <= chain_bound(process, table, x0_L, num_steps) + 1e-12


def test_sampled_nelbo_is_an_unbiased_estimate(
    process: Process, table: Table, clean: Tensor, generator: torch.Generator
) -> None:
    num_draws, t_min = 100_000, 1e-3
    t_R = sample_t(num_draws, generator, t_min=t_min)
    x0_L = clean[5]
    x0_RL = x0_L.expand(num_draws, L)
    xt_RL = process.corrupt(x0_RL, t_R, generator)
    logits_RLK = table.logits_at(xt_RL, t_R, process.vocab_size).float()
    nats_R = (1 - t_min) * nelbo(process, logits_RLK, x0_RL, xt_RL, t_R).sum(-1)
    error = nats_R.std() / num_draws**0.5
    expected = integrated_nelbo(process, table, x0_L, t_min=t_min)
    assert error < 0.02 * expected
    assert abs(nats_R.mean() - expected) < 4 * error


UNIGRAM = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)


def mean_nelbo_of_one_token(process: Process, logits_NKK: Tensor, unigram: Tensor, num_nodes: int) -> Tensor:
    """E_x0 of the bound for a canvas of one token; logits_NKK for every quadrature level and every x_t."""
    t_N, weight_N = quadrature(num_nodes)
    tokens_K = torch.arange(process.vocab_size)
    total = torch.zeros((), dtype=torch.float64)
    for x0 in torch.nonzero(unigram).flatten():
        xt_NK = tokens_K.expand(num_nodes, -1)
        nats_NK = nelbo(process, logits_NKK, x0.expand_as(xt_NK), xt_NK, t_N)
        q_NK = marginal(process, one_hot(x0, process).expand(num_nodes, -1), t_N)
        total += unigram[x0] * (weight_N * (q_NK * nats_NK).sum(-1)).sum()
    return total


def entropy(probs_K: Tensor) -> Tensor:
    return -torch.xlogy(probs_K, probs_K).sum()


def test_optimal_prediction_of_one_token_attains_the_entropy(process: Process, ordinary: Tensor) -> None:
    """For one token the leave-one-out posterior has no context: it is the data distribution."""
    unigram = torch.zeros(process.vocab_size, dtype=torch.float64).index_copy(0, ordinary, UNIGRAM)
    logits_NKK = unigram.log().expand(1000, process.vocab_size, -1)
    nats = mean_nelbo_of_one_token(process, logits_NKK, unigram, 1000)
    torch.testing.assert_close(nats, entropy(unigram), rtol=1e-5, atol=0.0)


def test_denoising_posterior_does_not_minimise_the_uniform_bound() -> None:
    """LOO, arXiv 2605.22765: used directly, the true p(x_0 | x_t) counts its own observation twice."""
    process = UniformProcess(3)
    t_N, _ = quadrature(1000)
    q_NKK = torch.stack([marginal(process, torch.eye(3, dtype=torch.float64), t) for t in t_N])
    posterior_NKK = (UNIGRAM[:, None] * q_NKK).transpose(1, 2).log()
    nats = mean_nelbo_of_one_token(process, posterior_NKK, UNIGRAM, 1000)
    assert nats > entropy(UNIGRAM) + 0.05
    xt_NK = torch.arange(3).expand(1000, 3)
    converted = loo_from_denoiser(posterior_NKK, xt_NK, process.alpha(t_N))
    nats = mean_nelbo_of_one_token(process, converted, UNIGRAM, 1000)
    torch.testing.assert_close(nats, entropy(UNIGRAM), rtol=1e-5, atol=0.0)
