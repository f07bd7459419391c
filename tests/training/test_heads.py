"""Stop and length heads: features, thresholds, files and recipes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from sfumato.errors import CheckpointError, ConfigError
from sfumato.sampling.logits import NUM_FEATURES, STOP_HEAD, LearnedStop, stop_features
from sfumato.training.heads import HeadDataset, HeadsRecipe, first_stops, fit_stop, split, stop_scores, stop_threshold

STEPS = 4
RECIPE = HeadsRecipe(model="tiny", tasks={"json": 1.0}, steps=STEPS, right=0.9)


def drawn(num_canvases: int, seed: int) -> HeadDataset:
    """Canvases that settle at some step, before which a position in eight is unlikely."""
    generator = torch.Generator().manual_seed(seed)
    settles = torch.randint(1, STEPS, (num_canvases,), generator=generator)
    settled = torch.arange(STEPS)[None] >= settles[:, None]
    confidence = 0.95 + 0.05 * torch.rand((num_canvases, STEPS, 8), generator=generator)
    confidence[..., 0] = torch.where(settled, confidence[..., 0], 0.3 * confidence[..., 0])
    features = stop_features(
        confidence.view(-1, 8),
        torch.ones(num_canvases * STEPS, 8, dtype=torch.bool),
        torch.zeros(num_canvases * STEPS, dtype=torch.int64),
    )
    return HeadDataset(features, settled.flatten(), torch.zeros(1, 2), torch.ones(1, dtype=torch.int64))


def test_features_count_only_free_positions():
    confidence = torch.tensor([[0.5, 0.95, 1.0, 0.001], [0.5, 0.95, 1.0, 0.999]])
    free = torch.tensor([[True, True, True, False]]).expand(2, -1)
    first, second = stop_features(confidence, free, torch.tensor([7, 7]))
    assert torch.equal(first, second)
    assert first.shape == (NUM_FEATURES,)
    surprise = -torch.tensor([0.5, 0.95]).log()
    torch.testing.assert_close(first[:6], torch.tensor([*surprise, 0.0, 0.0, 0.0, 0.0]))
    torch.testing.assert_close(first[6], surprise.sum() / 3)
    torch.testing.assert_close(first[7:11], torch.tensor([0.0, 1 / 3, 1 / 3, 2 / 3]))
    assert first[11] == 3.0


def test_stop_threshold_keeps_the_requested_share():
    learned, held_out = drawn(300, 0), drawn(200, 1)
    head = fit_stop(learned, RECIPE)
    scores = stop_scores(head, held_out, RECIPE, stop_threshold(learned, RECIPE))
    assert scores["right"] > 0.95
    assert scores["mean_steps"] == pytest.approx(scores["settled_steps"], abs=0.1)
    # Where nothing tells, it never stops before the end.
    blind = HeadDataset(torch.zeros_like(learned.features_NF), learned.settled_N, learned.states_ND, learned.lengths_N)
    head = fit_stop(blind, RECIPE)
    assert stop_scores(head, blind, RECIPE, stop_threshold(blind, RECIPE))["mean_steps"] == STEPS


def test_the_threshold_is_not_measured_on_what_the_head_has_learnt():
    """A head can learn a few canvases by heart, and then says nothing about others."""
    learned = drawn(10, 0)
    learned.features_NF.copy_(30 * torch.randn(learned.features_NF.shape, generator=torch.Generator().manual_seed(0)))
    by_heart = fit_stop(learned, RECIPE).logits(learned.features_NF).sigmoid()
    assert first_stops(by_heart, learned, STEPS, 0.6)[0] >= RECIPE.right
    assert stop_threshold(learned, RECIPE) > 0.99


def test_first_stops_equal_a_calculation_by_hand():
    settled = torch.tensor([False, True, True, True, False, False, False, True])
    found = HeadDataset(torch.zeros(8, 1), settled, torch.zeros(0, 1), torch.zeros(0, dtype=torch.int64))
    prob = torch.tensor([0.1, 0.9, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1])
    assert first_stops(prob, found, 4, 0.5) == (0.5, 2.0)
    assert first_stops(prob, found, 4, 0.85) == (1.0, 3.0)


def test_saved_heads_load_unchanged(tmp_path: Path):
    assert LearnedStop.read(tmp_path) is None
    head = LearnedStop()
    head.write(tmp_path)
    again = LearnedStop.read(tmp_path)
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in head.state_dict().items())
    save_file({"other": torch.zeros(1)}, tmp_path / STOP_HEAD)
    with pytest.raises(CheckpointError, match="is not a stop head"):
        LearnedStop.read(tmp_path)
    (tmp_path / STOP_HEAD).write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="is not a stop head"):
        LearnedStop.read(tmp_path)


def test_answers_are_held_out_whole(tmp_path: Path):
    paths = []
    for i in range(3):
        paths.append(tmp_path / f"{i}.safetensors")
        tensors = vars(drawn(2, i))
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, paths[-1])
    learned, held_out = split(paths, 0.2)
    assert (len(learned.settled_N), len(held_out.settled_N)) == (16, 8)
    assert torch.equal(held_out.features_NF, drawn(2, 2).features_NF)
    with pytest.raises(ConfigError, match="there are 1 files of answers; allowed: 2 or more"):
        split(paths[:1], 0.2)
    paths[0].write_bytes(b"")
    with pytest.raises(CheckpointError, match="delete it to gather it again"):
        split(paths, 0.2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": {}}, "tasks and files are empty"),
        ({"stop": False}, "choose at least one head to train"),
        ({"n": 0}, "n is 0"),
        ({"right": 1.0}, "right is 1.0; allowed: between 0 and 1"),
        ({"held_out": 0.0}, "held_out is 0.0"),
    ],
)
def test_invalid_recipes_are_refused(changes: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        HeadsRecipe(**{"model": "tiny", "tasks": {"json": 1.0}} | changes)  # type: ignore[arg-type]
