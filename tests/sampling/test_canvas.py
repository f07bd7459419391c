from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from denoising import noise_canvases
from enumeration import marginal
from settings import sampler_config
from sfumato.diffusion.process import Process
from sfumato.errors import RequestError
from sfumato.sampling.canvas import CanvasBatch

# R rows, L canvas, D model

CONFIG = sampler_config()


def assert_same(one: CanvasBatch, other: CanvasBatch) -> None:
    for field in dataclasses.fields(CanvasBatch):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, torch.Tensor):
            assert torch.equal(left, right), field.name
    assert one.settings.configs == other.settings.configs


def test_generation_starts_from_pure_noise(process: Process) -> None:
    batch = noise_canvases(process, [4000], seeds=[5], config=CONFIG)
    counts_K = torch.bincount(batch.tokens_RL[0], minlength=process.vocab_size)
    if process.mask_id is None:
        # 4000 draws over 6 tokens: mean 667, standard deviation 24; the bound is 5 of them.
        assert ((counts_K - 4000 / 6).abs() < 5 * 24).all()
    else:
        assert counts_K[process.mask_id] == 4000
    assert torch.equal(batch.draft_RL, batch.tokens_RL)
    assert not batch.done_R.any()
    assert batch.noise_level(batch.step_R).tolist() == [1.0]


def test_editing_keeps_alpha_of_the_free_and_all_frozen_tokens(process: Process) -> None:
    length, level = 4000, 0.4
    frozen = [position % 4 == 0 for position in range(length)]
    batch = CanvasBatch.from_tokens(
        process, [[5] * length], seeds=[1], config=CONFIG, frozen=[frozen], noise_level=level
    )
    frozen_L, kept_L = torch.tensor(frozen), batch.tokens_RL[0] == 5
    assert kept_L[frozen_L].all()
    share = marginal(process, torch.eye(process.vocab_size)[5], torch.tensor(level))[5].item()
    num_free = int((~frozen_L).sum())
    deviation = (share * (1 - share) / num_free) ** 0.5
    assert abs(kept_L[~frozen_L].float().mean().item() - share) < 4.5 * deviation
    assert batch.noise_level(torch.tensor([0, 24, 48, 60])).tolist() == pytest.approx([0.4, 0.2, 0.0, 0.0])


def test_infilling_masks_all_free_tokens(mask_process: Process) -> None:
    batch = CanvasBatch.from_tokens(
        mask_process, [[5, 4, 3, 1]], seeds=[0], config=CONFIG, frozen=[[True, False, False, True]]
    )
    assert batch.tokens_RL.tolist() == [[5, 2, 2, 1]]


def test_initial_canvas_does_not_depend_on_the_batch(process: Process) -> None:
    tokens = [[3] * length for length in (3, 9, 1, 6)]
    options: dict[str, Any] = {"config": CONFIG, "noise_level": 0.7}
    batch = CanvasBatch.from_tokens(process, tokens, seeds=[7, 8, 9, 2**63 - 1], canvas=[0, 1, 2, 3], **options)
    for row, length in enumerate((3, 9, 1, 6)):
        alone = CanvasBatch.from_tokens(
            process, [tokens[row]], seeds=[[7, 8, 9, 2**63 - 1][row]], canvas=row, **options
        )
        assert torch.equal(alone.tokens_RL[0], batch.tokens_RL[row, :length])
    assert torch.equal(batch.valid_RL.sum(-1), torch.tensor([3, 9, 1, 6]))


def test_rows_can_be_selected_and_concatenated(uniform_process: Process) -> None:
    lengths, seeds = [3, 5, 2], [1, 2, 3]
    configs = [sampler_config(steps=steps) for steps in (4, 5, 6)]
    batch = noise_canvases(uniform_process, lengths, seeds=seeds, config=configs)
    assert_same(CanvasBatch.concatenate([batch.select([i]) for i in range(3)]), batch)
    singles = [noise_canvases(uniform_process, [lengths[i]], seeds=[seeds[i]], config=configs[i]) for i in range(3)]
    joined = CanvasBatch.concatenate(singles)
    assert torch.equal(joined.tokens_RL * joined.valid_RL, batch.tokens_RL * batch.valid_RL)
    assert joined.settings.max_steps_R.tolist() == [4, 5, 6]
    assert batch.select([2, 0]).seed_R.tolist() == [3, 1]
    assert len(batch.select([])) == 0


def test_missing_soft_embeddings_are_concatenated_as_zeros(uniform_process: Process) -> None:
    first = noise_canvases(uniform_process, [2], seeds=[1], config=CONFIG)
    carried = dataclasses.replace(first, soft_RLD=torch.ones(1, 2, 3))
    fresh = noise_canvases(uniform_process, [4], seeds=[2], config=CONFIG)
    soft_RLD = CanvasBatch.concatenate([carried, fresh]).soft_RLD
    assert soft_RLD is not None
    assert soft_RLD.shape == (2, 4, 3)
    assert soft_RLD.sum((1, 2)).tolist() == [6.0, 0.0]
    assert CanvasBatch.concatenate([first, fresh]).soft_RLD is None


def test_canvas_without_free_positions_is_done(uniform_process: Process) -> None:
    batch = CanvasBatch.from_tokens(
        uniform_process, [[1, 2], [1]], seeds=[0, 0], config=CONFIG, frozen=[[True, True], [False]]
    )
    assert batch.done_R.tolist() == [True, False]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": [1]}, "seeds has 1 entries; allowed: one per canvas, here 2"),
        ({"frozen": [[True, False]]}, "frozen has 1 entries; allowed: one per canvas, here 2"),
        ({"config": [CONFIG] * 3}, "config has 3 entries; allowed: one per canvas, here 2"),
    ],
)
def test_arguments_need_one_entry_per_row(uniform_process: Process, changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"tokens": [[1, 2], [3]], "seeds": [0, 1], "config": CONFIG}
    with pytest.raises(RequestError, match=message):
        CanvasBatch.from_tokens(uniform_process, **(arguments | changes))


def test_trim_and_put(uniform_process: Process) -> None:
    """Columns that no row needs are cut; an advanced selection replaces its rows."""
    config = sampler_config(steps=4)
    batch = noise_canvases(uniform_process, [3, 9, 5], seeds=[0, 1, 2], config=config)
    short = batch.select([0, 2]).trim()
    assert short.tokens_RL.shape == (2, 5)
    assert torch.equal(short.tokens_RL, batch.tokens_RL[[0, 2], :5])
    assert short.host_free_RL.shape == (2, 5)
    assert short.trim() is short
    ahead = dataclasses.replace(batch.select([2, 0]), step_R=torch.tensor([3, 2]), soft_RLD=torch.ones(2, 9, 4))
    after = batch.put([2, 0], ahead)
    assert after.step_R.tolist() == [2, 0, 3]
    assert after.seed_R.tolist() == [0, 1, 2]
    assert after.soft_RLD is not None
    assert after.soft_RLD[:, 0, 0].tolist() == [1.0, 0.0, 1.0]
