"""Saved state loads bit for bit; unreadable state is refused by name."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.errors import CheckpointError
from sfumato.training.trainer import Trainer

Make = Callable[..., Trainer]


@pytest.mark.parametrize("muon_lr", [0.0, 1e-2])
def test_state_round_trip(make_trainer: Make, tmp_path: Path, muon_lr: float):
    trainer = make_trainer(tmp_path, muon_lr=muon_lr, seed=1)
    for _ in range(3):
        trainer._step()
    trainer.save()
    other = make_trainer(tmp_path, muon_lr=muon_lr, seed=2)
    other.resume()
    assert other.progress == trainer.progress
    assert other.progress.step == 3
    assert other.progress.seconds > 0
    pairs = [(trainer.model.state_dict(), other.model.state_dict()), (trainer.average, other.average)]
    for name, optimizer in trainer.optimizers.items():
        first, second = (one.state_dict()["state"] for one in (optimizer, other.optimizers[name]))
        assert first.keys() == second.keys()
        assert len(first) > 0
        pairs += [(first[index], second[index]) for index in first]
    for expected, found in pairs:
        assert expected.keys() == found.keys()
        for name, value in expected.items():
            assert torch.equal(torch.as_tensor(value), torch.as_tensor(found[name])), name


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"muon_lr": 1e-2, "accumulation": 2, "seed": 3},
        {"model": {"self_conditioning": True}, "objective": {"self_conditioning_from": 0.4, "span_share": 0.5}},
        {"packing": {"canvas_lengths": ()}},
    ],
    ids=["plain", "muon", "self-conditioning", "twin"],
)
def test_resumed_run_has_the_same_losses(make_trainer: Make, tmp_path: Path, settings: dict[str, Any]):
    plain = make_trainer(tmp_path / "one", **settings)
    plain.run()
    stopped = make_trainer(tmp_path / "other", **settings)
    stopped._on_record = lambda record: stopped.save() if record["step"] == 2 else None
    stopped.save = lambda inner=stopped.save: inner() if stopped.progress.step <= 2 else None  # type: ignore[method-assign]
    stopped.run()
    # Its log reaches the end, its state step 2, as after a kill.
    with stopped.log.path.open("a", encoding="utf-8") as log:
        log.write('{"step": 7, "loss": 0.1')
    again = make_trainer(tmp_path / "other", **settings)
    again.resume()
    assert again.progress.step == 2
    kept = [json.loads(line)["step"] for line in again.log.path.read_text().splitlines()]
    assert kept == [1, 2]
    again.run()
    timeless = [
        [{**json.loads(line), "tokens_per_s": 0} for line in one.log.path.read_text().splitlines()]
        for one in (plain, again)
    ]
    assert timeless[0] == timeless[1]
    states = [one.model.state_dict() for one in (plain, again)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert all(torch.equal(plain.average[name], again.average[name]) for name in plain.average)


def test_missing_state_is_named(make_trainer: Make, tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"cannot resume from .*state\.safetensors"):
        make_trainer(tmp_path).resume()


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.999])
def test_damaged_state_is_refused(make_trainer: Make, tmp_path: Path, share: float):
    trainer = make_trainer(tmp_path)
    trainer.save()
    content = trainer.state_path.read_bytes()
    trainer.state_path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CheckpointError, match=r"cannot resume from .*state\.safetensors"):
        trainer.resume()


@pytest.mark.parametrize("model", [{"hidden_size": 8}, {"num_hidden_layers": 1}, {"qk_norm": True}])
def test_state_of_another_model_is_refused(make_trainer: Make, tmp_path: Path, model: dict[str, Any]):
    make_trainer(tmp_path).save()
    with pytest.raises(CheckpointError, match=r"state\.safetensors belongs to a model of another shape"):
        make_trainer(tmp_path, model=model).resume()


def test_state_of_other_optimizers_is_refused(make_trainer: Make, tmp_path: Path):
    """AdamW's moments are numbered by parameter; with Muon taking some they would land on the wrong ones."""
    trainer = make_trainer(tmp_path)
    trainer._step()
    trainer.save()
    with pytest.raises(CheckpointError, match="belongs to a run with other optimizers"):
        make_trainer(tmp_path, muon_lr=1e-2).resume()


def test_checkpoint_is_refused_as_state(make_trainer: Make, tmp_path: Path):
    from safetensors.torch import save_file

    save_file({"x": torch.zeros(1)}, tmp_path / "state.safetensors")
    with pytest.raises(CheckpointError, match="cannot resume from"):
        make_trainer(tmp_path).resume()


def test_full_disk_leaves_the_old_state(make_trainer: Make, tmp_path: Path):
    trainer = make_trainer(tmp_path)
    trainer._step()
    trainer.save()
    trainer._step()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (trainer.state_path.stat().st_size // 2, limits[1]))
    try:
        with pytest.raises(CheckpointError, match=r"cannot write .*state\.safetensors: File too large"):
            trainer.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(os.listdir(tmp_path)) == ["log.jsonl", "state.safetensors"]
    again = make_trainer(tmp_path)
    again.resume()
    assert again.progress.step == 1
    again.run()
    assert again.progress.step == 6
