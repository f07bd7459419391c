from __future__ import annotations

import pytest
import torch
from torch import Tensor

from enumeration import marginal, posterior
from sfumato.diffusion.process import HybridProcess, MaskProcess, Process, UniformProcess, make_process
from sfumato.errors import ConfigError

# K vocabulary, N draws
TIMES = [(0.0, 0.3), (0.1, 0.2), (0.25, 0.75), (0.5, 1.0), (0.0, 1.0), (0.7, 0.7001)]


def level(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def marginals(process: Process, t: Tensor) -> Tensor:
    """Marginals as a matrix: row x_0, column x_t."""
    return marginal(process, torch.eye(process.vocab_size, dtype=torch.float64), t)


def soft_probs(process: Process, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    probs = torch.rand(*shape, process.vocab_size, generator=generator, dtype=torch.float64)
    if process.mask_id is not None:
        probs[..., process.mask_id] = 0
    return probs / probs.sum(-1, keepdim=True)


def assert_frequencies(tokens: Tensor, expected_K: Tensor) -> None:
    """Frequencies are within 4.5 binomial standard deviations; impossible tokens are absent."""
    num_draws = tokens.numel()
    frequency_K = torch.bincount(tokens.flatten(), minlength=len(expected_K)) / num_draws
    deviation_K = (expected_K * (1 - expected_K) / num_draws).sqrt()
    assert (frequency_K[expected_K == 0] == 0).all()
    assert ((frequency_K - expected_K).abs() <= 4.5 * deviation_K).all(), (frequency_K, expected_K)


def test_mixture_is_a_distribution_that_ends_at_the_prior(process: Process) -> None:
    mixture = process.mixture(torch.linspace(0, 1, 51, dtype=torch.float64))
    torch.testing.assert_close(sum(mixture), torch.ones(51, dtype=torch.float64))
    assert all((weight >= 0).all() for weight in mixture)
    assert mixture.keep[0] == 1
    assert mixture.keep[-1] < 1e-15
    torch.testing.assert_close(mixture.keep, process.alpha(torch.linspace(0, 1, 51, dtype=torch.float64)))


def test_flow_is_the_derivative_of_noise_over_alpha(process: Process) -> None:
    t = torch.linspace(0.01, 0.99, 50, dtype=torch.float64, requires_grad=True)
    keep, *noises = process.mixture(t)
    for noise, flow in zip(noises, process.flow(t.detach()), strict=True):
        (slope,) = torch.autograd.grad((noise / keep).sum(), t, retain_graph=True)
        torch.testing.assert_close(flow, (keep.square() * slope).detach())
        assert (flow >= 0).all()


def test_uniform_share_of_hybrid_noise_peaks_halfway() -> None:
    process = HybridProcess(5, 4, p_uniform=0.2)
    shares = process.mixture(torch.linspace(0, 1, 101, dtype=torch.float64)).uniform
    assert shares.argmax() == 50
    torch.testing.assert_close(shares[50], level(0.2))


def test_corrupt_at_zero_changes_nothing(process: Process, ordinary: Tensor, generator: torch.Generator) -> None:
    x0 = ordinary[torch.randint(3, (300, 300), generator=generator)]
    assert torch.equal(process.corrupt(x0, torch.zeros(300), generator), x0)


def test_corrupt_at_one_is_the_prior(process: Process, generator: torch.Generator) -> None:
    prior_K = marginals(process, level(1.0))[0]
    x0 = torch.zeros(300, 200, dtype=torch.long)
    assert_frequencies(process.corrupt(x0, torch.ones(300), generator), prior_K.round(decimals=12))
    assert_frequencies(
        process.noise(torch.rand((300, 200), generator=generator), torch.ones(())), prior_K.round(decimals=12)
    )


@pytest.mark.parametrize("t", [0.1, 0.5, 0.9])
def test_corrupt_follows_the_marginal(process: Process, ordinary: Tensor, generator: torch.Generator, t: float) -> None:
    for token in ordinary.tolist():
        x0 = torch.full((50_000,), token)
        assert_frequencies(process.corrupt(x0, torch.tensor(t), generator), marginals(process, level(t))[token])


def test_corrupt_takes_a_level_per_row_or_per_position(process: Process) -> None:
    x0 = torch.zeros(3, 5, dtype=torch.long)
    t_R = torch.tensor([0.0, 0.5, 1.0])
    per_row, per_position = (
        process.corrupt(x0, t, torch.Generator().manual_seed(1)) for t in (t_R, t_R[:, None].expand(3, 5))
    )
    assert torch.equal(per_row, per_position)
    assert torch.equal(per_row[0], x0[0])


@pytest.mark.parametrize("t", [0.05, 0.5, 1.0])
def test_noise_follows_the_noise_distribution(process: Process, t: float) -> None:
    _, mask, uniform = process.mixture(level(t))
    expected_K = torch.full((process.vocab_size,), float(uniform / process.num_ordinary), dtype=torch.float64)
    if process.mask_id is not None:
        expected_K[process.mask_id] = mask
    expected_K /= expected_K.sum()
    u_N = (torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000
    counts_K = torch.bincount(process.noise(u_N, level(t)), minlength=process.vocab_size)
    assert ((counts_K - 10_000 * expected_K).abs() <= 1.0 + 1e-6).all()


@pytest.mark.parametrize("vocab_size", [3, 50_257, 262_144])
@pytest.mark.parametrize("t", [0.0, 1e-4, 0.5, 1.0])
def test_noise_stays_inside_the_vocabulary(vocab_size: int, t: float) -> None:
    u = torch.tensor([0.0, 0.3, 0.7, 1 - 2**-24])
    for process in (
        UniformProcess(vocab_size),
        HybridProcess(vocab_size, 1, p_uniform=0.4),
        MaskProcess(vocab_size, 1),
    ):
        tokens = process.noise(u, torch.tensor(t))
        assert tokens.dtype == torch.int64
        assert ((tokens >= 0) & (tokens < vocab_size)).all()


def test_uniform_noise_reaches_both_ends_of_the_vocabulary() -> None:
    u = torch.tensor([0.0, 1 - 2**-24, 1.0])
    assert UniformProcess(1000).noise(u, torch.tensor(0.5)).tolist() == [0, 999, 999]


@pytest.mark.parametrize(("s", "t"), TIMES)
def test_transition_leads_from_marginal_to_marginal(process: Process, s: float, t: float) -> None:
    step = process.transition(level(s), level(t))
    uniform_K = torch.full((process.vocab_size,), 1 / process.num_ordinary, dtype=torch.float64)
    mask_K = torch.zeros(process.vocab_size, dtype=torch.float64)
    if process.mask_id is not None:
        uniform_K[process.mask_id] = 0
        mask_K[process.mask_id] = 1
    step_KK = step.keep * torch.eye(process.vocab_size) + step.mask * mask_K + step.uniform * uniform_K
    torch.testing.assert_close(step_KK.sum(-1), torch.ones(process.vocab_size, dtype=torch.float64))
    torch.testing.assert_close(marginals(process, level(s)) @ step_KK, marginals(process, level(t)))


@pytest.mark.parametrize(("s", "t"), TIMES)
def test_posterior_of_a_known_token_follows_bayes_rule(process: Process, ordinary: Tensor, s: float, t: float) -> None:
    at_s, at_t = (marginals(process, level(time)) for time in (s, t))
    # The transition from one to the other, computed without the process.
    step = torch.linalg.solve(at_s, at_t)
    for token in ordinary.tolist():
        x0_probs = torch.eye(process.vocab_size, dtype=torch.float64)[token].expand(process.vocab_size, -1)
        xt = torch.arange(process.vocab_size)
        found = posterior(process, xt, x0_probs, level(s), level(t))
        torch.testing.assert_close(found.sum(-1), torch.ones(process.vocab_size, dtype=torch.float64))
        possible = at_t[token] > 1e-12
        bayes = (at_s[token] * step.T) / at_t[token, :, None]
        torch.testing.assert_close(found[possible], bayes[possible])


@pytest.mark.parametrize(("s", "t"), TIMES)
def test_soft_posterior_uses_the_prediction_in_both_marginals(
    process: Process, generator: torch.Generator, s: float, t: float
) -> None:
    x0_probs = soft_probs(process, (process.vocab_size,), generator)
    xt = torch.arange(process.vocab_size)
    step = torch.linalg.solve(marginals(process, level(s)), marginals(process, level(t)))
    joint = marginal(process, x0_probs, level(s)) * step.T
    found = posterior(process, xt, x0_probs, level(s), level(t))
    possible = joint.sum(-1) > 1e-12
    torch.testing.assert_close(found[possible], (joint / joint.sum(-1, keepdim=True))[possible])


@pytest.mark.parametrize(("s", "t"), TIMES)
def test_posterior_of_a_leave_one_out_prediction_mixes_exact_posteriors(
    process: Process, ordinary: Tensor, generator: torch.Generator, s: float, t: float
) -> None:
    loo = soft_probs(process, (), generator)
    one_hot = torch.eye(process.vocab_size, dtype=torch.float64)
    at_t = marginals(process, level(t))
    for xt in torch.nonzero(loo @ at_t > 1e-12).flatten():
        denoiser = loo * at_t[:, xt]
        denoiser /= denoiser.sum()
        mixed = sum(denoiser[k] * posterior(process, xt, one_hot[k], level(s), level(t)) for k in ordinary)
        torch.testing.assert_close(posterior(process, xt, loo, level(s), level(t)), mixed)


def test_soft_posterior_of_uniform_noise_is_the_published_formula(generator: torch.Generator) -> None:
    """UDLM, arXiv 2412.10193, with alpha_t = 1 - t."""
    process = UniformProcess(5)
    s, t = level(0.3), level(0.8)
    alpha_s, alpha_t = 1 - s, 1 - t
    alpha_ts = alpha_t / alpha_s
    x = soft_probs(process, (5,), generator)
    xt = torch.arange(5)
    z = torch.eye(5, dtype=torch.float64)
    numerator = (
        5 * alpha_t * x * z + (alpha_ts - alpha_t) * z + (alpha_s - alpha_t) * x + (1 - alpha_ts) * (1 - alpha_s) / 5
    )
    denominator = 5 * alpha_t * (x * z).sum(-1, keepdim=True) + 1 - alpha_t
    torch.testing.assert_close(posterior(process, xt, x, s, t), numerator / denominator)


def test_posterior_takes_levels_per_row(process: Process, generator: torch.Generator) -> None:
    x0_probs_RLK = soft_probs(process, (2, 3), generator)
    xt_RL = torch.full((2, 3), 1)
    s_R, t_R = torch.tensor([0.1, 0.4]), torch.tensor([0.6, 0.5])
    rows = [posterior(process, xt_RL[r], x0_probs_RLK[r], s_R[r], t_R[r]) for r in range(2)]
    torch.testing.assert_close(posterior(process, xt_RL, x0_probs_RLK, s_R, t_R), torch.stack(rows))


def test_mask_posterior_keeps_visible_tokens() -> None:
    process = MaskProcess(4, 2)
    wrong = torch.tensor([0.0, 0.0, 0.0, 1.0])
    found = posterior(process, torch.tensor(0), wrong, torch.tensor(0.2), torch.tensor(0.5))
    assert found.tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(("s", "t"), [(0.0, 1e-4), (0.5, 0.5001), (0.9999, 1.0), (0.0, 1.0)])
def test_posterior_is_a_distribution_in_single_precision(
    process: Process, generator: torch.Generator, s: float, t: float
) -> None:
    x0_probs = soft_probs(process, (process.vocab_size,), generator).float()
    found = posterior(process, torch.arange(process.vocab_size), x0_probs, torch.tensor(s), torch.tensor(t))
    assert found.dtype == torch.float32
    assert (found >= 0).all()
    torch.testing.assert_close(found.sum(-1), torch.ones(process.vocab_size))


def test_hybrid_noise_without_uniform_noise_equals_mask_noise(generator: torch.Generator) -> None:
    hybrid, mask = HybridProcess(4, 2, p_uniform=0.0), MaskProcess(4, 2)
    assert not hybrid.has_uniform
    t = torch.linspace(0, 1, 21, dtype=torch.float64)
    u = torch.rand(21, generator=generator)
    torch.testing.assert_close(hybrid.mixture(t), mask.mixture(t))
    torch.testing.assert_close(hybrid.flow(t[1:]), mask.flow(t[1:]))
    assert torch.equal(hybrid.noise(u, t), mask.noise(u, t))
    x0_probs = soft_probs(mask, (4,), generator)
    s, t = level(0.2), level(0.7)
    xt = torch.arange(4)
    torch.testing.assert_close(posterior(hybrid, xt, x0_probs, s, t), posterior(mask, xt, x0_probs, s, t))


def test_corrupt_is_reproducible(process: Process) -> None:
    x0 = torch.zeros(4, 9, dtype=torch.long)
    one, two = (process.corrupt(x0, torch.full((4,), 0.5), torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(one, two)


def test_make_process_builds_each_noise() -> None:
    assert isinstance(make_process("mask", 4, 3), MaskProcess)
    assert isinstance(make_process("uniform", 4), UniformProcess)
    hybrid = make_process("hybrid", 4, 3)
    assert isinstance(hybrid, HybridProcess)
    assert hybrid.p_uniform == 0.2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": "msak", "mask_id": 3}, "did you mean 'mask'"),
        ({"noise": "mask"}, "needs mask_id"),
        ({"noise": "hybrid"}, "needs mask_id"),
        ({"noise": "mask", "mask_id": 4}, "mask_id is 4; allowed: 0 to 3"),
    ],
)
def test_make_process_refuses_invalid_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_process(vocab_size=4, **arguments)  # type: ignore[arg-type]


def test_vocabulary_needs_an_ordinary_token() -> None:
    with pytest.raises(ConfigError, match="vocab_size is 1; allowed: 2 or more"):
        MaskProcess(1, 0)


def test_hybrid_noise_refuses_an_invalid_share() -> None:
    with pytest.raises(ConfigError, match="p_uniform is 1"):
        HybridProcess(4, 3, p_uniform=1.0)
