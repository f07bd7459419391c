from __future__ import annotations

import pytest
import torch

from sfumato.diffusion.process import HybridProcess, Process, sample_t
from sfumato.errors import ConfigError


def test_alpha_falls_from_one_to_zero(process: Process) -> None:
    alpha = process.alpha(torch.linspace(0, 1, 101, dtype=torch.float64))
    assert alpha[0] == 1
    assert alpha[-1] == pytest.approx(0.0, abs=1e-15)
    assert (alpha.diff() < 0).all()


@pytest.mark.parametrize("p_uniform", [-0.1, 1.0])
def test_invalid_shares_of_uniform_noise_are_refused(p_uniform: float) -> None:
    with pytest.raises(ConfigError, match=r"p_uniform is .*allowed"):
        HybridProcess(4, 2, p_uniform)


def test_sample_t_draws_one_level_per_stratum(generator: torch.Generator) -> None:
    t_R = sample_t(64, generator, t_min=0.2, t_max=0.6)
    assert t_R.dtype == torch.float32
    stratum_R = ((t_R - 0.2) / 0.4 * 64).long()
    assert sorted(stratum_R.tolist()) == list(range(64))


def test_sample_t_is_uniform_for_every_row(generator: torch.Generator) -> None:
    first = torch.stack([sample_t(8, generator, t_min=0.0)[0] for _ in range(2000)])
    # A uniform has mean 1/2, variance 1/12 and fourth central moment 1/80.
    assert abs(first.mean() - 1 / 2) < 4 * (1 / 12 / 2000) ** 0.5
    assert abs(first.var() - 1 / 12) < 4 * ((1 / 80 - 1 / 144) / 2000) ** 0.5


def test_stratification_lowers_the_variance_of_the_batch_mean(generator: torch.Generator) -> None:
    means = torch.stack([sample_t(16, generator, t_min=0.0).mean() for _ in range(500)])
    # Var of the mean: 1/12 / 16 independently, 1/12 / 16^3 stratified.
    assert means.var() < 1 / 12 / 16 / 50


def test_sample_t_is_reproducible() -> None:
    one, two = (sample_t(5, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("n", "t_min", "t_max"), [(0, 0.0, 1.0), (4, -0.1, 1.0), (4, 0.5, 0.5), (4, 0.0, 1.1), (4, float("nan"), 1.0)]
)
def test_sample_t_refuses_invalid_ranges(n: int, t_min: float, t_max: float) -> None:
    with pytest.raises(ValueError, match="allowed"):
        sample_t(n, t_min=t_min, t_max=t_max)
