"""With an exact denoiser, samplers must reproduce the distribution of the data; no other test notices a wrong
transition kernel."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from denoising import denoise
from enumeration import marginal
from settings import sampler_config
from sfumato.diffusion.process import HybridProcess, MaskProcess, Process, UniformProcess
from sfumato.sampling.canvas import CanvasBatch
from sfumato.sampling.step import step

# R rows, L canvas, K vocabulary, S states (all canvases of ordinary tokens)

ORDINARY = {
    "mask": (MaskProcess(4, 1), [0, 2, 3]),
    "uniform": (UniformProcess(3), [0, 1, 2]),
    "hybrid": (HybridProcess(4, 1, p_uniform=0.3), [0, 2, 3]),
}
# Joint distribution of two tokens of three kinds, far from independent and without symmetry.
JOINT = torch.tensor([[0.30, 0.02, 0.05], [0.03, 0.20, 0.02], [0.01, 0.07, 0.30]], dtype=torch.float64)
# Distribution of a single token, and the quantiles at 1 - 1e-6 of chi-square with 2 and with 8 degrees of
# freedom.
SINGLE = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)
LIMIT_2, LIMIT_8 = 27.63, 42.70

CASES = [
    ("mask", "ancestral", {}),
    ("uniform", "ancestral", {}),
    ("hybrid", "ancestral", {}),
    ("mask", "remdm", {"remask": 0.1}),
    ("mask", "remdm", {"remask": 0.5, "remask_schedule": "rescale"}),
    ("uniform", "predictor-corrector", {"corrector_k": 1}),
]


class ExactDenoiser:
    """log p(x_0 at each position | x_t) by enumeration. It counts calls to know t, as all rows take the same
    steps."""

    def __init__(self, process: Process, states_SL: Tensor, probs_S: Tensor, num_free: int, steps: int) -> None:
        self.process, self.states_SL, self.probs_S = process, states_SL, probs_S
        self.num_free, self.steps = num_free, steps
        self.calls = 0

    def __call__(
        self, tokens_RL: Tensor, soft_RLD: Tensor | None, valid_RL: Tensor, index_N: Tensor, *rest: Any
    ) -> Tensor:
        t = torch.tensor(1.0 - self.calls / self.steps, dtype=torch.float64)
        self.calls += 1
        size = self.process.vocab_size
        noised_KK = marginal(self.process, torch.eye(size, dtype=torch.float64), t)
        joint_RS = self.probs_S.expand(len(tokens_RL), -1)
        for position in range(self.num_free):
            joint_RS = joint_RS * noised_KK[self.states_SL[:, position]][:, tokens_RL[:, position]].T
        one_hot_SLK = torch.nn.functional.one_hot(self.states_SL, size).double()
        logits_RLK = torch.einsum("rs,slk->rlk", joint_RS, one_hot_SLK).log()
        return logits_RLK.clamp_min(-1e4).float().flatten(0, 1)[index_N]

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        raise AssertionError("no self-conditioning here")

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        raise AssertionError("no self-conditioning here")


def sample(noise: str, probs: Tensor, steps: int, num_rows: int, frozen: bool = False, **settings: Any) -> Tensor:
    """Frequencies of the finished canvases, of the shape of probs."""
    process, ordinary = ORDINARY[noise]
    kinds = torch.tensor(ordinary)
    states_SL = torch.cartesian_prod(*[kinds] * probs.ndim).reshape(-1, probs.ndim)
    if frozen:
        # A frozen neighbour keeps the canvas at two positions, so that it takes more than one step.
        states_SL = torch.cat([states_SL, torch.full_like(states_SL[:, :1], ordinary[0])], dim=1)
    length = states_SL.shape[1]
    batch = CanvasBatch.from_tokens(
        process,
        [[ordinary[0]] * length] * num_rows,
        frozen=[[position >= probs.ndim for position in range(length)]] * num_rows,
        seeds=range(num_rows),
        config=sampler_config(steps=steps, adaptive=False, **settings),
    )
    denoiser = ExactDenoiser(process, states_SL, probs.flatten(), probs.ndim, steps)
    tokens_RL = denoise(batch, denoiser, process).batch.tokens_RL[:, : probs.ndim]
    index_RL = (tokens_RL.unsqueeze(-1) == kinds).long().argmax(-1)
    assert torch.equal(kinds[index_RL], tokens_RL)
    flat_R = (index_RL * torch.tensor([3**i for i in reversed(range(probs.ndim))])).sum(-1)
    return torch.bincount(flat_R, minlength=probs.numel()).reshape(probs.shape) / num_rows


def chi_square(frequencies: Tensor, probs: Tensor, num_rows: int) -> float:
    return float(num_rows * ((frequencies - probs) ** 2 / probs).sum())


def total_variation(frequencies: Tensor, probs: Tensor) -> float:
    return float((frequencies - probs).abs().sum() / 2)


@pytest.mark.parametrize(("noise", "name", "settings"), CASES)
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_single_token_follows_the_data_after_any_number_of_steps(
    noise: str, name: Any, settings: dict[str, Any], steps: int
) -> None:
    num_rows = 10_000
    frequencies = sample(noise, SINGLE, steps, num_rows, frozen=True, name=name, **settings)
    assert chi_square(frequencies, SINGLE, num_rows) < LIMIT_2


@pytest.mark.parametrize("name", ["entropy", "threshold", "margin", "ancestral"])
@pytest.mark.parametrize("noise", ORDINARY)
def test_canvas_of_one_position_is_sampled_in_one_step(noise: str, name: Any) -> None:
    num_rows = 10_000
    frequencies = sample(noise, SINGLE, 1, num_rows, name=name)
    assert chi_square(frequencies, SINGLE, num_rows) < LIMIT_2


@pytest.mark.parametrize("steps", [2, 5, 20])
def test_masked_tokens_are_independent_only_within_a_step(steps: int) -> None:
    num_rows = 10_000
    frequencies = sample("mask", JOINT, steps, num_rows, name="ancestral")
    # Log-linear noise reveals each token at a uniformly drawn step; tokens of the same step are
    # independent.
    independent = JOINT.sum(1, keepdim=True) * JOINT.sum(0, keepdim=True)
    expected = JOINT * (1 - 1 / steps) + independent / steps
    assert chi_square(frequencies, expected, num_rows) < LIMIT_8


@pytest.mark.parametrize(("noise", "name", "settings"), [case for case in CASES if case[1] != "predictor-corrector"])
def test_joint_distribution_is_approached_with_more_steps(noise: str, name: Any, settings: dict[str, Any]) -> None:
    far, near = (total_variation(sample(noise, JOINT, steps, 2_500, name=name, **settings), JOINT) for steps in (2, 32))
    assert near < 0.07
    assert near < far / 5


def test_corrected_token_does_not_depend_on_the_previous_one() -> None:
    process, num_rows, steps = UniformProcess(3), 30_000, 4
    config = sampler_config(name="predictor-corrector", corrector_k=1, steps=steps, adaptive=False)
    batch = CanvasBatch.from_tokens(
        process, [[0, 0]] * num_rows, frozen=[[False, True]] * num_rows, seeds=range(num_rows), config=config
    )
    states_SL = torch.tensor([[0, 0], [1, 0], [2, 0]])
    denoiser = ExactDenoiser(process, states_SL, SINGLE, 1, steps)
    before = step(batch, denoiser, process).batch
    after = step(before, denoiser, process).batch
    expected_K = marginal(process, SINGLE, torch.tensor(0.5))
    for token in range(3):
        drawn = after.tokens_RL[before.tokens_RL[:, 0] == token, 0]
        assert chi_square(torch.bincount(drawn, minlength=3) / len(drawn), expected_K, len(drawn)) < LIMIT_2


def test_corrector_improves_samples_of_few_steps() -> None:
    # The mean probability of the canvases under the data measures how well they fit it.
    plain, corrected = (
        float((sample("uniform", JOINT, 4, 20_000, name="predictor-corrector", corrector_k=k) * JOINT).sum())
        for k in (0, 1)
    )
    ancestral = float((sample("uniform", JOINT, 4, 20_000, name="ancestral") * JOINT).sum())
    assert plain == ancestral
    # The probabilities lie within [0.01, 0.3], so each mean of 20,000 has a standard deviation below 0.145 / 141.
    assert corrected > plain + 4 * 0.145 / 141 * 2**0.5
