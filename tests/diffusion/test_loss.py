from __future__ import annotations

import pytest
import torch
from torch import Tensor

from enumeration import marginal
from sfumato.diffusion.loss import nelbo
from sfumato.diffusion.process import HybridProcess, MaskProcess, Process, UniformProcess

# N cases, K vocabulary


def random_cases(process: Process, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits, and every x_0, x_t and a few t that can occur together, in float64."""
    tokens = torch.arange(process.vocab_size)
    times = torch.tensor([0.02, 0.3, 0.5, 0.9, 0.99], dtype=torch.float64)
    x0, xt, time = torch.cartesian_prod(tokens, tokens, torch.arange(5)).unbind(-1)
    t = times[time]
    x0_probs = torch.nn.functional.one_hot(x0, process.vocab_size).double()
    reachable = marginal(process, x0_probs, t).gather(-1, xt[:, None])[:, 0] > 0
    possible = reachable if process.mask_id is None else reachable & (x0 != process.mask_id)
    logits = torch.randn(len(x0), process.vocab_size, generator=generator, dtype=torch.float64)
    return logits[possible], x0[possible], xt[possible], t[possible]


def predicted_probs(process: Process, logits: Tensor) -> Tensor:
    if process.mask_id is not None:
        logits = logits.clone()
        logits[..., process.mask_id] = float("-inf")
    return logits.softmax(-1)


def chain_bound(process: Process, logits: Tensor, x0: Tensor, xt: Tensor, t: Tensor) -> Tensor:
    """The bound of Campbell et al. 2022 (arXiv 2205.14987) from rate matrices, case by case, with no algebra.

    The forward rate matrix is q_t^-1 dq_t/dt, with q_t the matrix of marginals, differentiated numerically.
    """
    nats = []
    for logits_K, x, z, time in zip(logits, x0, xt, t, strict=True):
        eye = torch.eye(process.vocab_size, dtype=torch.float64)
        step = 1e-5
        slope = (marginal(process, eye, time + step) - marginal(process, eye, time - step)) / (2 * step)
        rate = torch.linalg.solve(marginal(process, eye, time), slope)
        truth = marginal(process, eye[x], time)
        model = marginal(process, predicted_probs(process, logits_K), time)
        total = torch.zeros((), dtype=torch.float64)
        for k in range(process.vocab_size):
            if k == z or abs(rate[k, z]) < 1e-9:
                continue
            backward = rate[k, z] * truth[k] / truth[z]
            predicted = rate[k, z] * model[k] / model[z]
            total += predicted - backward
            if backward > 0:
                total += backward * (backward / predicted).log()
        nats.append(total)
    return torch.stack(nats)


def test_nelbo_equals_the_bound_from_rate_matrices(process: Process, generator: torch.Generator) -> None:
    case = random_cases(process, generator)
    torch.testing.assert_close(nelbo(process, *case), chain_bound(process, *case), rtol=1e-5, atol=1e-7)


def test_mask_bound_equals_weighted_cross_entropy(generator: torch.Generator) -> None:
    """MDLM, arXiv 2406.07524: 1/t times the cross-entropy of masked tokens, the mask's logit at -inf."""
    process = MaskProcess(6, 1)
    logits = torch.randn(50, 6, generator=generator, dtype=torch.float64)
    x0 = torch.tensor([0, 2, 3, 4, 5]).repeat(10)
    t = torch.rand(50, generator=generator, dtype=torch.float64)
    xt = process.corrupt(x0, t, generator)
    assert 0 < (xt == 1).sum() < 50
    expected = torch.nn.functional.cross_entropy(
        logits.index_fill(-1, torch.tensor([1]), float("-inf")), x0, reduction="none"
    )
    expected = torch.where(xt == 1, expected / t, 0.0)
    torch.testing.assert_close(nelbo(process, logits, x0, xt, t), expected)


def test_uniform_bound_equals_the_published_formula(generator: torch.Generator) -> None:
    """UDLM, arXiv 2412.10193, written out for alpha_t = 1 - t."""
    process = UniformProcess(5)
    logits, x0, xt, t = random_cases(process, generator)
    alpha = (1 - t)[:, None]
    x_bar = 5 * alpha * torch.eye(5, dtype=torch.float64)[x0] + 1 - alpha
    model_bar = 5 * alpha * logits.softmax(-1) + 1 - alpha
    x_z, model_z = x_bar.gather(-1, xt[:, None]), model_bar.gather(-1, xt[:, None])
    inner = (x_bar / x_z * ((model_z / model_bar).log() + (x_bar / x_z).log())).sum(-1, keepdim=True)
    expected = -1 / (5 * alpha) * (5 / x_z - 5 / model_z - inner)
    torch.testing.assert_close(nelbo(process, logits, x0, xt, t), expected[:, 0])


def test_hybrid_bound_equals_the_published_formula(generator: torch.Generator) -> None:
    """GIDD, arXiv 2503.04482: w [KL + r - log r - 1], with distributions over the vocabulary."""
    process = HybridProcess(5, 2, p_uniform=0.25)
    logits, x0, xt, t = random_cases(process, generator)
    noise = torch.zeros(len(t), 5, dtype=torch.float64)  # beta_t pi_t
    c = 2 * 0.25 / 0.75 * (t * (1 - t)).sqrt()  # B = 2^gamma p_u / (1 - p_u)
    noise[:] = (c / (1 + c) / 4)[:, None]
    noise[:, 2] = t / (1 + c)
    alpha = (1 - t) / (1 + c)
    c_prime = c * (1 - 2 * t) / (2 * t * (1 - t))
    alpha_prime = -1 / (1 + c) - alpha * c_prime / (1 + c)
    noise_prime = ((c_prime / (1 + c) - c * c_prime / (1 + c) ** 2) / 4)[:, None].repeat(1, 5)
    noise_prime[:, 2] = 1 / (1 + c) - t * c_prime / (1 + c) ** 2
    q = alpha[:, None] * torch.eye(5, dtype=torch.float64)[x0] + noise
    model = alpha[:, None] * predicted_probs(process, logits) + noise
    z = xt[:, None]
    weight = (noise_prime - (alpha_prime / alpha)[:, None] * noise).gather(-1, z) / q.gather(-1, z)
    r = (q / model).gather(-1, z)
    divergence = (q * (q / model).log()).sum(-1, keepdim=True) + r - r.log() - 1
    torch.testing.assert_close(nelbo(process, logits, x0, xt, t), (weight * divergence)[:, 0])


def test_hybrid_bound_without_uniform_noise_equals_the_mask_bound(generator: torch.Generator) -> None:
    mask = MaskProcess(5, 2)
    case = random_cases(mask, generator)
    expected = nelbo(mask, *case)
    torch.testing.assert_close(nelbo(HybridProcess(5, 2, p_uniform=0.0), *case), expected)
    torch.testing.assert_close(nelbo(HybridProcess(5, 2, p_uniform=1e-9), *case), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("process", [MaskProcess(4, 2), HybridProcess(4, 2, p_uniform=0.3)], ids=["mask", "hybrid"])
def test_nelbo_ignores_the_logit_of_the_mask(process: Process, generator: torch.Generator) -> None:
    logits, x0, xt, t = random_cases(process, generator)
    other = logits.clone()
    other[:, 2] += 30
    torch.testing.assert_close(nelbo(process, other, x0, xt, t), nelbo(process, logits, x0, xt, t))


def test_nelbo_vanishes_only_for_the_right_prediction(process: Process, generator: torch.Generator) -> None:
    logits, x0, xt, t = random_cases(process, generator)
    nats = nelbo(process, logits, x0, xt, t)
    certain = (process.flow(t).uniform == 0) & (xt == x0)
    assert (nats[~certain] > 0).all()
    right = 1000 * torch.nn.functional.one_hot(x0, process.vocab_size).double()
    torch.testing.assert_close(nelbo(process, right, x0, xt, t), torch.zeros_like(nats))


def test_nelbo_takes_levels_per_row(process: Process, ordinary: Tensor, generator: torch.Generator) -> None:
    x0_RL = ordinary[torch.randint(3, (4, 6), generator=generator)]
    t_R = torch.tensor([0.1, 0.4, 0.7, 1.0])
    xt_RL = process.corrupt(x0_RL, t_R, generator)
    logits_RLK = torch.randn(4, 6, process.vocab_size, generator=generator)
    nats_RL = nelbo(process, logits_RLK, x0_RL, xt_RL, t_R)
    assert nats_RL.shape == (4, 6)
    for r in range(4):
        torch.testing.assert_close(nats_RL[r], nelbo(process, logits_RLK[r], x0_RL[r], xt_RL[r], t_R[r]))


@pytest.mark.parametrize("scale", [0.0, 1.0, 60.0])
@pytest.mark.parametrize("kind", ["mask", "uniform", "hybrid"])
def test_nelbo_is_accurate_in_single_precision(kind: str, scale: float, generator: torch.Generator) -> None:
    K = 5000
    process = {"mask": MaskProcess(K, 7), "uniform": UniformProcess(K), "hybrid": HybridProcess(K, 7, p_uniform=0.2)}[
        kind
    ]
    t_R = torch.tensor([1e-4, 1e-3, 0.1, 0.5, 0.9, 0.999, 0.9999, 1.0])
    x0_RL = torch.randint(8, K, (8, 12), generator=generator)
    xt_RL = process.corrupt(x0_RL, t_R, generator)
    xt_RL[:, 0] = x0_RL[:, 0] if kind != "mask" else 7
    xt_RL[:, 1] = process.noise(torch.full((8,), 0.99), t_R)
    logits_RLK = scale * torch.randn(8, 12, K, generator=generator)
    logits_RLK[:, 2].scatter_(-1, x0_RL[:, 2, None], 6 * scale)
    logits_RLK.requires_grad_()
    nats_RL = nelbo(process, logits_RLK, x0_RL, xt_RL, t_R)
    assert nats_RL.dtype == torch.float32
    assert nats_RL.isfinite().all()
    (gradient,) = torch.autograd.grad(nats_RL.sum(), logits_RLK)
    assert gradient.isfinite().all()
    exact_RL = nelbo(process, logits_RLK.double(), x0_RL, xt_RL, t_R.double())
    # Relative to the value, even where it is tiny. 1 - alpha is rounded by up to 2^-25, which shows near t = 0.
    # At t = 1 each precision stops at its own share, so only finiteness is checked.
    tolerance_R1 = 5e-6 + 2**-24 / t_R[:-1, None]
    assert ((nats_RL - exact_RL)[:-1].abs() <= tolerance_R1 * exact_RL[:-1] + 1e-12).all()


def test_nelbo_is_finite_for_a_schedule_that_starts_flat(process: Process, ordinary: Tensor) -> None:
    """With a cosine, 1 - alpha rounds to zero in single precision well before t does."""
    t_R = torch.tensor([1e-6, 1e-4, 1.0])
    x0_RL = ordinary.expand(3, -1)
    for xt_RL in (x0_RL, x0_RL.roll(1, -1), process.noise(torch.rand(3, 3), torch.ones(()))):
        logits_RLK = torch.zeros(3, 3, process.vocab_size, requires_grad=True)
        nats_RL = nelbo(process, logits_RLK, x0_RL, xt_RL, t_R)
        assert nats_RL.isfinite().all()
        assert torch.autograd.grad(nats_RL.sum(), logits_RLK)[0].isfinite().all()


def test_nelbo_gradient_is_exact(process: Process, generator: torch.Generator) -> None:
    logits, x0, xt, t = random_cases(process, generator)
    logits, x0, xt, t = logits[::3], x0[::3], xt[::3], t[::3]
    assert torch.autograd.gradcheck(lambda x: nelbo(process, x, x0, xt, t), logits.requires_grad_())
