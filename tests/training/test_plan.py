"""Plans equal what torch counts in real steps of small models, and sums done by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from sfumato.config import from_table
from sfumato.data.packing import PackingConfig
from sfumato.errors import ConfigError
from sfumato.hardware import GPUS
from sfumato.models.decoder import DecoderConfig
from sfumato.models.model import AttentionSpec
from sfumato.models.moe import MoEConfig
from sfumato.training.objective import ObjectiveConfig, TrainingBatch, losses
from sfumato.training.plan import LINK_SHARE, MEMORY_SHARE, SHAPES, BatchCost, batch_cost, count_model, plan
from sfumato.training.trainer import TrainConfig, Trainer

Make = Callable[..., Trainer]
SIZES: dict[str, Any] = {
    "vocab_size": 300,
    "hidden_size": 48,
    "intermediate_size": 112,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 16,
}
MOE = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 40, "num_shared_experts": 1}
MODELS: dict[str, dict[str, Any]] = {
    "dense": {},
    "grouped": {"num_key_value_heads": 2, "qk_norm": True},
    "wide": {"vocab_size": 2000, "hidden_size": 16, "num_hidden_layers": 1, "tie_word_embeddings": False},
    "mixture": {"moe": MOE | {"first_k_dense_replace": 1}},
    "self-conditioning": {"self_conditioning": True},
}
ROWS, LENGTH = 2, 192


def step(make_trainer: Make, directory: Path, model: dict[str, Any], **config: Any) -> tuple[Trainer, TrainingBatch]:
    """A trainer, and a batch whose canvases read a soft embedding if the model can. Its mask is dense, as plans count
    it."""
    sizes = SIZES | model
    if "moe" in sizes:
        sizes["moe"] = MoEConfig(**sizes["moe"])
    packing = {"rows": ROWS, "row_length": LENGTH, "canvas_lengths": (16, 32)}
    objective = {"self_conditioning_share": float("self_conditioning" in model)}
    trainer = make_trainer(directory, model=sizes, packing=packing, objective=objective, **config)
    [batch], _ = trainer._batches(0)
    assert batch.first_pass(trainer.model) == ("self_conditioning" in model)
    return trainer, replace(batch, attention=AttentionSpec(mask=batch.attention.bias_R1QQ == 0))


def cost_of(trainer: Trainer, batch: TrainingBatch) -> BatchCost:
    return batch_cost(
        trainer.model.config,
        rows=ROWS,
        row_length=LENGTH,
        supervised=int(batch.on_canvas_BT.sum() + batch.on_clean_BT.sum()),
        self_conditioned=batch.first_pass(trainer.model),
        recompute=trainer.config.recompute,
    )


def grouped_operations(a: Sequence[int], b: Sequence[int], *rest: Any, **more: Any) -> int:
    """Of rows with a matrix each, or of columns with rows, for the matrices' gradients: all of them go in once."""
    return 2 * a[0] * a[1] * b[-1]


GROUPED = {torch.ops.aten._grouped_mm: grouped_operations}


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_planned_operations_match_torch(make_trainer: Make, tmp_path: Path, model: dict[str, Any], recompute: bool):
    """Attention is computed as plain products here, which the counter sees."""
    trainer, batch = step(make_trainer, tmp_path, model, recompute=recompute)
    cost = cost_of(trainer, batch)
    with sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False, custom_mapping=GROUPED) as forward:
            total = sum(losses(trainer.model, batch, weights={}).values())
        with FlopCounterMode(display=False, custom_mapping=GROUPED) as backward:
            total.backward()
    first = cost.first_pass_operations if batch.self_conditioned else 0.0
    assert forward.get_total_flops() == pytest.approx(cost.forward_operations + first, rel=0.05)
    assert backward.get_total_flops() == pytest.approx(cost.backward_operations, rel=0.05)


def saved_bytes(trainer: Trainer, batch: TrainingBatch) -> int:
    """Bytes of all storages that autograd keeps for the backward, weights left out."""
    weights = {one.untyped_storage().data_ptr() for one in trainer.model.parameters()}
    kept: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        # Held, so that no other storage takes its address.
        kept.setdefault(tensor.untyped_storage().data_ptr(), tensor.detach())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        total = sum(losses(trainer.model, batch, weights={}).values())
    assert total.requires_grad
    return sum(tensor.untyped_storage().nbytes() for place, tensor in kept.items() if place not in weights)


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_planned_activation_bytes_match_autograd(
    make_trainer: Make, tmp_path: Path, model: dict[str, Any], recompute: bool
):
    trainer, batch = step(make_trainer, tmp_path, model, recompute=recompute)
    assert saved_bytes(trainer, batch) == pytest.approx(cost_of(trainer, batch).kept_bytes, rel=0.15)


@pytest.mark.parametrize(
    ("model", "total", "active"), [("1b", 1.236e9, 1.236e9), ("8b", 8.030e9, 8.030e9), ("26b-a4b", 25.2e9, 3.8e9)]
)
def test_named_shapes_have_their_published_sizes(model: str, total: float, active: float):
    """Llama 3.2 1B and 3.1 8B as published, without self-conditioning; 26B-A4B by its name."""
    sizes = SHAPES[model] | ({"self_conditioning": False, "canvas_embedding": False} if model != "26b-a4b" else {})
    count = count_model(from_table(DecoderConfig, sizes))
    assert count.total == pytest.approx(total, rel=0.005)
    assert count.active == pytest.approx(active, rel=0.02)
    assert count.around > 0


def test_plan_equals_a_calculation_by_hand():
    """Eight GPUs of one node, a model without mixture, halves for layers."""
    config = DecoderConfig(**SIZES)
    packing = PackingConfig(rows=4, row_length=128)
    train = TrainConfig(steps=1, accumulation=16, precision="bfloat16")
    found = plan(config, packing, ObjectiveConfig(), train, gpu="h100", num_gpus=8, mfu=0.5)
    count = count_model(config)
    assert found.positions == 16 * 4 * 128
    assert sum(found.state_bytes.values()) == pytest.approx((4 + 4 + 8 + 4) * count.total / 8)
    cost = batch_cost(config, rows=4, row_length=128, supervised=512, dtype="bfloat16")
    assert found.operations == 16 * (cost.forward_operations + cost.backward_operations)
    assert found.first_pass_share == 0.0
    assert found.compute_s == pytest.approx(found.operations / 8 / (0.5 * 989e12))
    # Layers are gathered for the forward and the backward, the rest once; gradients are reduced in float32.
    gathered = 2 * (2 * sum(count.layers) + count.around)
    assert found.exchanged_bytes == pytest.approx(2 * 7 / 8 * (gathered + 4 * count.total))
    assert found.exchange_s == pytest.approx(found.exchanged_bytes / (450e9 * LINK_SHARE))
    assert found.step_s == max(found.compute_s, found.exchange_s) + found.optimizer_s


@pytest.mark.parametrize("muon_lr", [0.0, 1e-2])
@pytest.mark.parametrize("model", ["dense", "mixture"])
def test_planned_optimizer_state_matches_torch(make_trainer: Make, tmp_path: Path, model: str, muon_lr: float):
    """Muon keeps one moment, and only for matrices: experts are tensors of three dimensions."""
    trainer, _ = step(make_trainer, tmp_path, MODELS[model], muon_lr=muon_lr, steps=1)
    trainer.run()
    moments = [
        moment
        for optimizer in trainer.optimizers.values()
        for state in optimizer.state.values()
        for name, moment in state.items()
        if name != "step"
    ]
    config, packing, objective = trainer.model.config, PackingConfig(), ObjectiveConfig()
    found = plan(config, packing, objective, trainer.config, gpu="h100", num_gpus=1)
    assert found.state_bytes["optimizer"] == sum(moment.nbytes for moment in moments)
    plain = plan(config, packing, objective, replace(trainer.config, muon_lr=0.0), gpu="h100", num_gpus=1)
    assert (found.optimizer_s < plain.optimizer_s) == (muon_lr > 0)


def test_plan_counts_first_passes_over_all_gpus():
    """Half of the batches have one; of eight at a time, hardly ever none has."""
    config = DecoderConfig(**SIZES | {"self_conditioning": True})
    objective = ObjectiveConfig(self_conditioning_from=0.2)
    shares = [
        plan(config, PackingConfig(), objective, TrainConfig(steps=1), gpu="h100", num_gpus=num).first_pass_share
        for num in (1, 8)
    ]
    assert shares == pytest.approx([0.8 * 0.5, 0.8 * (1 - 0.5**8)])


@pytest.mark.parametrize("gpu", GPUS)
def test_memory_falls_with_gpus_and_recomputation(gpu: str):
    model = from_table(DecoderConfig, SHAPES["8b"])
    packing = PackingConfig(rows=1, row_length=4096, canvas_lengths=(256,))
    found = []
    for recompute in (False, True):
        train = TrainConfig(steps=1, precision="bfloat16", recompute=recompute)
        plans = [plan(model, packing, ObjectiveConfig(), train, gpu=gpu, num_gpus=2**i) for i in range(7)]
        sizes = [one.memory_bytes for one in plans]
        assert sizes == sorted(sizes, reverse=True)
        assert [one.fits for one in plans] == [size <= MEMORY_SHARE * GPUS[gpu].memory_bytes for size in sizes]
        assert plans[-1].fits
        found.append(sizes)
    assert all(again < kept for kept, again in zip(*found, strict=True))


def test_eight_billion_parameters_do_not_fit_one_gpu_of_80_gb():
    """Their state alone is 20 bytes a parameter."""
    model = from_table(DecoderConfig, SHAPES["8b"])
    found = plan(model, PackingConfig(), ObjectiveConfig(), TrainConfig(steps=1), gpu="h100", num_gpus=1)
    assert sum(found.state_bytes.values()) == 20 * count_model(model).total > 160e9
    assert not found.fits


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gpu": "h1000"}, "unknown gpu 'h1000'; did you mean 'h100'"),
        ({"num_gpus": 0}, "num_gpus is 0; allowed: 1 or more"),
        ({"mfu": 1.5}, "mfu is 1.5; allowed: above 0, up to 1"),
    ],
)
def test_invalid_plans_are_refused(change: dict[str, Any], message: str):
    settings = {"gpu": "h100", "num_gpus": 1} | change
    with pytest.raises(ConfigError, match=message):
        plan(DecoderConfig(**SIZES), PackingConfig(), ObjectiveConfig(), TrainConfig(steps=1), **settings)
