"""The training loop learns, refuses non-finite steps, and divides gradients by the counts of the whole step."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.diffusion.process import MaskProcess
from sfumato.errors import CheckpointError, ConfigError, SfumatoError
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec
from sfumato.training.objective import TrainingBatch, losses
from sfumato.training.optimizers import make_optimizers
from sfumato.training.trainer import MAX_REFUSED_IN_A_ROW, TrainConfig, Trainer

Make = Callable[..., Trainer]


def records_of(trainer: Trainer) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trainer.log.path.read_text().splitlines()]


def weights_of(trainer: Trainer) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


SMALL: dict[str, Any] = {"lr": 2e-2, "warmup": 2, "save_every_s": 1e9, "model": {"num_hidden_layers": 1}}


@pytest.mark.parametrize(("process", "steps"), [(None, 120), (MaskProcess(23, 2), 60)], ids=["uniform", "mask"])
def test_diffusion_overfits_one_document(make_trainer: Make, tmp_path: Path, process: Any, steps: int):
    """A canvas of one document is certain at any noise, so its loss goes to zero."""
    trainer = make_trainer(tmp_path, process=process, steps=steps, num_documents=1, packing={"rows": 1}, **SMALL)
    trainer.run()
    records = records_of(trainer)
    assert min(records[0]["canvas_loss"], records[0]["ar_loss"]) > 2.5
    assert sum(record["canvas_loss"] for record in records[-10:]) / 10 < 0.15
    assert sum(record["ar_loss"] for record in records[-10:]) / 10 < 0.15


@pytest.mark.parametrize("muon_lr", [0.0, 2e-2])
def test_autoregressive_twin_overfits_with_the_same_trainer(make_trainer: Make, tmp_path: Path, muon_lr: float):
    packing = {"canvas_lengths": (), "row_length": 40, "rows": 1}
    trainer = make_trainer(tmp_path, steps=60, num_documents=3, muon_lr=muon_lr, packing=packing, **SMALL)
    trainer.run()
    records = records_of(trainer)
    assert {record["canvas_loss"] for record in records} == {0.0}
    assert records[0]["ar_loss"] > 2.5
    assert records[-1]["ar_loss"] < 0.15
    for seed in range(3):
        document = trainer._source.document(seed)
        text = torch.tensor([[*document.prompt, *document.response]])
        hidden = trainer.model(text, torch.arange(text.shape[1])[None], AttentionSpec(causal=True))
        predicted = trainer.model.logits(hidden)[0].argmax(-1).tolist()
        assert predicted[len(document.prompt) - 1 : -1] == list(document.response)


def test_step_equals_a_calculation_by_hand(make_trainer: Make, tmp_path: Path):
    """Losses are sums over all supervised positions divided by their number; the record has both and their norm."""
    objective = {"canvas_weight": 0.5, "ar_weight": 2.0, "self_conditioning_share": 0.0}
    trainer = make_trainer(tmp_path, objective=objective)
    [batch], num_tokens = trainer._batches(0)
    sums = losses(trainer.model, batch)
    canvas, clean = sums["canvas"] / batch.on_canvas_BT.sum(), sums["ar"] / batch.on_clean_BT.sum()
    parameters = list(trainer.model.parameters())
    gradients = torch.autograd.grad(0.5 * canvas + 2.0 * clean, parameters)
    norm = torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt()
    trainer._batches = lambda *args: ([batch], num_tokens)  # type: ignore[method-assign]
    record = trainer._step()
    assert record["canvas_loss"] == pytest.approx(canvas.item(), rel=1e-5)
    assert record["ar_loss"] == pytest.approx(clean.item(), rel=1e-5)
    assert record["loss"] == pytest.approx(0.5 * canvas.item() + 2.0 * clean.item(), rel=1e-5)
    assert record["gradient_norm"] == pytest.approx(norm.item(), rel=1e-4)
    assert (record["step"], record["num_tokens"], record["refused"]) == (1, num_tokens, False)


def joined(batches: list[TrainingBatch]) -> TrainingBatch:
    columns = {
        name: torch.cat([getattr(batch, name) for batch in batches])
        for name in (field.name for field in dataclasses.fields(TrainingBatch))
        if name.endswith("_BT") and getattr(batches[0], name) is not None
    }
    masks = [batch.attention.mask for batch in batches if batch.attention.mask is not None]
    attention = AttentionSpec(mask=torch.cat(masks))
    return TrainingBatch(**columns, attention=attention, shift=batches[0].shift, self_conditioned=False)


def test_two_half_batches_equal_one_batch(make_trainer: Make, tmp_path: Path):
    """Also when the halves supervise different numbers of positions: the division is by the count of both."""
    settings: dict[str, Any] = {"packing": {"ar_share": 0.5}, "objective": {"self_conditioning_share": 0.0}}
    halves = make_trainer(tmp_path / "halves", accumulation=2, **settings)
    whole = make_trainer(tmp_path / "whole", **settings)
    unequal = 0
    for step in range(3):
        parts, num_tokens = halves._batches(step)
        assert len(parts) == 2
        unequal += int(parts[0].on_clean_BT.sum() != parts[1].on_clean_BT.sum())
        halves._batches = lambda *args, found=(parts, num_tokens): found  # type: ignore[method-assign]
        both = [joined(parts)]
        whole._batches = lambda *args, found=(both, num_tokens): found  # type: ignore[method-assign]
        one, other = halves._step(), whole._step()
        del halves._batches
        for name in ("loss", "canvas_loss", "ar_loss", "gradient_norm"):
            assert one[name] == pytest.approx(other[name], rel=1e-4), name
        assert one["num_tokens"] == other["num_tokens"]
    assert unequal
    for name, tensor in halves.model.state_dict().items():
        torch.testing.assert_close(tensor, whole.model.state_dict()[name], atol=1e-4, rtol=1e-3)


def test_accumulated_batches_differ(make_trainer: Make, tmp_path: Path):
    trainer = make_trainer(tmp_path, accumulation=2)
    seen = []
    for step in range(2):
        for batch in trainer._batches(step)[0]:
            seen.append(batch.targets_BT)
    assert not any(torch.equal(seen[i], seen[j]) for i in range(4) for j in range(i))


def spoil(trainer: Trainer, steps: set[int], value: float = math.nan) -> None:
    """Make the loss of some steps not finite."""
    trainer.model.register_forward_hook(
        lambda _model, _args, hidden: hidden * value if trainer.progress.step in steps else hidden
    )


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("muon_lr", [0.0, 1e-2])
def test_non_finite_step_changes_nothing(make_trainer: Make, tmp_path: Path, value: float, muon_lr: float):
    trainer = make_trainer(tmp_path, muon_lr=muon_lr)
    spoil(trainer, {1}, value)
    trainer._step()
    weights, average = weights_of(trainer), {name: tensor.clone() for name, tensor in trainer.average.items()}
    moments = [
        {key: torch.as_tensor(value).clone() for key, value in state.items()}
        for optimizer in trainer.optimizers.values()
        for state in optimizer.state.values()
    ]
    record = trainer._step()
    assert record["refused"]
    assert not math.isfinite(record["gradient_norm"])
    assert same(weights, trainer.model.state_dict())
    assert same(average, trainer.average)
    after = [state for optimizer in trainer.optimizers.values() for state in optimizer.state.values()]
    for state, expected in zip(after, moments, strict=True):
        assert same(expected, {key: torch.as_tensor(value) for key, value in state.items()})
    record = trainer._step()
    assert not record["refused"]
    assert not same(weights, trainer.model.state_dict())
    assert (trainer.progress.step, trainer.progress.num_refused) == (3, 1)


def test_repeated_non_finite_steps_end_the_run(make_trainer: Make, tmp_path: Path):
    trainer = make_trainer(tmp_path, steps=100)
    good = 3
    spoil(trainer, set(range(good, 100)))
    match = f"not finite for {MAX_REFUSED_IN_A_ROW} steps up to step {good + MAX_REFUSED_IN_A_ROW}"
    with pytest.raises(SfumatoError, match=match):
        trainer.run()
    again = make_trainer(tmp_path, steps=100)
    again.resume()
    assert all(bool(tensor.isfinite().all()) for tensor in weights_of(again).values())
    assert (again.progress.step, again.progress.num_refused) == (good + MAX_REFUSED_IN_A_ROW, MAX_REFUSED_IN_A_ROW)
    assert [record["refused"] for record in records_of(again)] == [False] * good + [True] * MAX_REFUSED_IN_A_ROW


def test_refused_steps_with_good_ones_between_do_not_end_the_run(make_trainer: Make, tmp_path: Path):
    trainer = make_trainer(tmp_path, steps=45, save_every_s=1e9)
    spoil(trainer, set(range(45)) - {0, 15, 30})
    trainer.run()
    assert trainer.progress.num_refused == 42


def test_learning_rate_warms_up_and_decays():
    config = TrainConfig(steps=110, warmup=10, final_lr=0.1)
    assert config.lr_scale(0) == pytest.approx(0.1)
    assert config.lr_scale(4) == pytest.approx(0.5)
    assert config.lr_scale(10) == pytest.approx(1.0)
    assert config.lr_scale(60) == pytest.approx(0.55)
    assert config.lr_scale(110) == pytest.approx(0.1)
    assert TrainConfig(steps=4, warmup=0).lr_scale(0) == 1.0


def test_learning_rate_is_scaled_per_optimizer(make_trainer: Make, tmp_path: Path):
    trainer = make_trainer(tmp_path, steps=10, warmup=4, lr=1e-3, muon_lr=1e-2)
    trainer._step()
    assert [group["lr"] for group in trainer.optimizers["adamw"].param_groups] == [2.5e-4] * 2
    assert [group["lr"] for group in trainer.optimizers["muon"].param_groups] == [2.5e-3]


def test_weight_average_equals_a_calculation_by_hand(make_trainer: Make, tmp_path: Path):
    """Decay min(average, (1 + n) / (10 + n)) of step n."""
    trainer = make_trainer(tmp_path, average=0.15)
    expected = weights_of(trainer)
    for decay in (0.1, 0.15, 0.15):
        trainer._step()
        now = weights_of(trainer)
        expected = {name: decay * expected[name] + (1 - decay) * now[name] for name in expected}
        for name, tensor in trainer.average.items():
            torch.testing.assert_close(tensor, expected[name])


def test_weights_are_saved_without_an_average(make_trainer: Make, tmp_path: Path):
    trainer = make_trainer(tmp_path, average=0.0)
    trainer._step()
    assert same(weights_of(trainer), trainer.average)


@pytest.mark.parametrize("muon_lr", [0.0, 1e-2])
def test_every_parameter_has_one_optimizer(make_decoder: Callable[..., Decoder], muon_lr: float):
    model = make_decoder(qk_norm=True, attention_bias=True, tie_word_embeddings=False, canvas_embedding=True)
    optimizers = make_optimizers(model, lr=1e-3, muon_lr=muon_lr, weight_decay=0.3)
    groups = [(name, group) for name, optimizer in optimizers.items() for group in optimizer.param_groups]
    taken = [id(parameter) for _, group in groups for parameter in group["params"]]
    assert sorted(taken) == sorted(map(id, model.parameters()))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for kind, group in groups:
        for parameter in group["params"]:
            matrix = parameter.dim() == 2
            assert group["weight_decay"] == (0.3 if matrix else 0.0), names[id(parameter)]
            inside = matrix and ".layers." in names[id(parameter)]
            assert (kind == "muon") == (inside and muon_lr > 0), names[id(parameter)]


@pytest.mark.parametrize(("every", "due"), [(0, [6]), (2, [2, 4, 6]), (4, [4, 6])])
def test_average_is_evaluated_and_training_continues(make_trainer: Make, tmp_path: Path, every: int, due: list[int]):
    seen = []

    def evaluate(model: Decoder, step: int) -> dict[str, float]:
        assert not model.training
        seen.append((step, {name: tensor.clone() for name, tensor in model.state_dict().items()}))
        return {"score/copy": step / 10}

    told: list[dict[str, Any]] = []
    trainer = make_trainer(tmp_path / "one", evaluate=evaluate, eval_every=every, on_record=told.append)
    averages = {}
    trainer._evaluation, inner = (  # type: ignore[method-assign]
        lambda: averages.update({trainer.progress.step: dict(trainer.average)}) or inner(),
        trainer._evaluation,
    )
    trainer.run()
    assert [step for step, _ in seen] == due
    assert same(seen[-1][1], trainer.average)
    assert not same(seen[-1][1], trainer.model.state_dict())
    plain = make_trainer(tmp_path / "other")
    plain.run()
    assert same(weights_of(plain), trainer.model.state_dict())
    assert told == records_of(trainer)
    assert {r["step"]: r["score/copy"] for r in told if "score/copy" in r} == {step: step / 10 for step in due}


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_stopped_evaluation_keeps_trained_weights_and_record(
    make_trainer: Make, tmp_path: Path, error: type[BaseException]
):
    def evaluate(model: Decoder, step: int) -> dict[str, float]:
        raise error

    trainer = make_trainer(tmp_path / "one", evaluate=evaluate, eval_every=4)
    with pytest.raises(error):
        trainer.run()
    again = make_trainer(tmp_path / "one")
    again.resume()
    assert again.progress.step == 4
    again.run()
    plain = make_trainer(tmp_path / "other")
    plain.run()
    assert same(weights_of(plain), weights_of(again))
    assert [record["step"] for record in records_of(again)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("moment", ["update", "swap", "log"])
def test_interrupt_while_saving_waits_for_the_whole_state(
    make_trainer: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
):
    """Within an update, between weights and their average, or within a record."""
    trainer = make_trainer(tmp_path / "one", evaluate=lambda model, step: {}, eval_every=3)
    name, owner = {
        "update": ("step", trainer.optimizers["adamw"]),
        "swap": ("put", sys.modules[Trainer.__module__]),
        "log": ("append", trainer.log),
    }[moment]
    inner = getattr(owner, name)

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        result = inner(*args, **kwargs)
        if trainer.progress.step == 3 or (moment == "update" and trainer.progress.step == 2):
            signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(owner, name, interrupted)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert signal.getsignal(signal.SIGINT) is handler
    again = make_trainer(tmp_path / "one")
    again.resume()
    assert again.progress.step == 3
    again.run()
    plain = make_trainer(tmp_path / "other")
    plain.run()
    assert same(weights_of(plain), weights_of(again))
    losses_of = [[record["loss"] for record in records_of(one)] for one in (plain, again)]
    assert losses_of[0] == losses_of[1]


def test_training_works_in_another_thread(make_trainer: Make, tmp_path: Path):
    """Signals are the main thread's."""
    trainer = make_trainer(tmp_path)
    thread = threading.Thread(target=trainer.run)
    thread.start()
    thread.join()
    assert len(records_of(trainer)) == 6


def test_new_run_starts_a_new_log(make_trainer: Make, tmp_path: Path):
    (tmp_path / "log.jsonl").write_text('{"step": 1, "loss": 9.0}\n{"step": 2, "lo')
    trainer = make_trainer(tmp_path)
    trainer.run()
    assert [record["step"] for record in records_of(trainer)] == [1, 2, 3, 4, 5, 6]


def test_unwritable_log_is_named(make_trainer: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    trainer = make_trainer(tmp_path)
    opened = Path.open

    def full(path: Path, mode: str = "r", **kwargs: Any) -> Any:
        if mode == "a" and trainer.progress.step == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opened(path, mode, **kwargs)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(CheckpointError, match=r"cannot write .*log\.jsonl: No space left on device"):
        trainer.run()
    monkeypatch.undo()
    again = make_trainer(tmp_path)
    again.resume()
    assert again.progress.step == 3


def test_prefetched_batches_are_the_same(make_trainer: Make, tmp_path: Path):
    """As for an accelerator; also where a run goes on, whose first batch nobody has begun."""
    alone, beside = (make_trainer(tmp_path / name, steps=6, accumulation=2) for name in ("alone", "beside"))
    made: list[tuple[int, str]] = []
    batches = beside._batches

    def seen(step: int) -> Any:
        made.append((step, threading.current_thread().name.rpartition("_")[0]))
        return batches(step)

    beside._batches = seen  # type: ignore[method-assign]
    beside._prefetcher = ThreadPoolExecutor(1, thread_name_prefix="beside")
    alone.run()
    beside.run()
    assert same(weights_of(alone), weights_of(beside))
    assert [record["loss"] for record in records_of(alone)] == [record["loss"] for record in records_of(beside)]
    assert made == [(0, ""), *((step, "beside") for step in range(1, 6))]


def test_failed_batch_ends_the_run_at_its_step(make_trainer: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    trainer = make_trainer(tmp_path, steps=6)
    trainer._prefetcher = ThreadPoolExecutor(1)
    batches = trainer._batches

    def failing(step: int) -> Any:
        if step == 3:
            raise ConfigError("no such document")
        return batches(step)

    monkeypatch.setattr(trainer, "_batches", failing)
    with pytest.raises(ConfigError, match="no such document"):
        trainer.run()
    assert trainer.progress.step == 3


def test_finished_run_does_nothing(make_trainer: Make, tmp_path: Path):
    make_trainer(tmp_path).run()
    again = make_trainer(tmp_path)
    again.resume()
    before = weights_of(again)
    again.run()
    assert same(before, weights_of(again))
    assert len(records_of(again)) == 6


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"steps": 0}, "steps is 0; allowed: 1 or more"),
        ({"steps": 1, "accumulation": 0}, "accumulation is 0; allowed: 1 or more"),
        ({"steps": 1, "warmup": -1}, "warmup is -1; allowed: 0 or more"),
        ({"steps": 1, "threads": -1}, "threads is -1; allowed: 0 or more"),
        ({"steps": 1, "eval_every": -1}, "eval_every is -1; allowed: 0 or more"),
        ({"steps": 1, "lr": 0.0}, "lr is 0.0; allowed: more than 0"),
        ({"steps": 1, "lr": math.nan}, "lr is nan; allowed: more than 0"),
        ({"steps": 1, "clip": -1.0}, "clip is -1.0; allowed: more than 0"),
        ({"steps": 1, "muon_lr": -1.0}, "muon_lr is -1.0; allowed: 0 or more"),
        ({"steps": 1, "weight_decay": -1.0}, "weight_decay is -1.0; allowed: 0 or more"),
        ({"steps": 1, "save_every_s": -1.0}, "save_every_s is -1.0; allowed: 0 or more"),
        ({"steps": 1, "average": 1.0}, "average is 1.0; allowed: 0 or more, less than 1"),
        ({"steps": 1, "final_lr": 1.5}, "final_lr is 1.5; allowed: 0 to 1"),
    ],
)
def test_invalid_settings_are_refused(config: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**config)
