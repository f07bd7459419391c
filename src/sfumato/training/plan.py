"""Estimates a training step from its sizes: memory, arithmetic, traffic between GPUs, time.

Nothing is run and no weight is created. Memory and arithmetic follow `trainer` tensor by tensor: weights, gradients,
moments of the optimizers and the moving average are float32 and sharded; layers compute on gathered copies; every
layer's saved activations are counted. Times assume a share of the published peaks.
"""

# B rows, T positions of a row

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from sfumato.config import check_choice
from sfumato.costs import model_size
from sfumato.data.packing import PackingConfig
from sfumato.errors import ConfigError
from sfumato.hardware import GPUS
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.training.distributed import trained
from sfumato.training.objective import ObjectiveConfig
from sfumato.training.optimizers import inner_matrices
from sfumato.training.trainer import TrainConfig

BYTES = {"float32": 4, "bfloat16": 2}
GPUS_OF_A_NODE = 8
STATE_BYTES = {"weights": 4, "gradients": 4, "optimizer": 8, "average": 4}
"""Float32 numbers per parameter; AdamW keeps two moments, Muon only the first."""
STATE_TRAFFIC = 36
"""Bytes moved per parameter by a step of AdamW: weight, moments and average are read and written, the gradient is
read."""
MFU = 0.4
"""Share of peak arithmetic that dense training reaches. Llama 3 405B: 0.38 to 0.43 on 8,192 to 16,384 H100 (Llama team
2024, arXiv 2407.21783, table 4)."""
LINK_SHARE = 0.7
"""Share of link rates that collectives reach: our assumption."""
MEMORY_SHARE = 0.92
"""Share of a GPU's memory available to tensors; the rest is for the driver, NCCL and fragmentation: our assumption."""


_SIZES = "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim"


def _shape(*sizes: int, **more: Any) -> dict[str, Any]:
    return dict(zip(_SIZES.split(), sizes, strict=True)) | more | {"canvas_embedding": True, "self_conditioning": True}


SHAPES: dict[str, dict[str, Any]] = {
    # Llama 3.2 1B, Llama 3.1 8B: their configs.
    "1b": _shape(128256, 2048, 8192, 16, 32, 8, 64),
    "8b": _shape(128256, 4096, 14336, 32, 32, 8, 128, tie_word_embeddings=False),
    # The sizes of DiffusionGemma 26B-A4B with our layers: no sliding windows, its plain MLP as three shared experts.
    "26b-a4b": _shape(
        *(262144, 2816, 2112, 30, 16, 8, 256),
        qk_norm=True,
        moe={"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 704, "num_shared_experts": 3},
    ),
}
"""Tables of `DecoderConfig`, by name."""
SHAPE_PACKING: dict[str, Any] = {"rows": 1, "row_length": 4096, "canvas_lengths": [256]}
"""Default packing without a recipe."""


@dataclass(frozen=True, kw_only=True)
class ModelCount:
    total: int
    """All parameters, with a shared embedding counted once."""
    active: int
    """Parameters used per position; in a mixture, only the chosen experts."""
    trained: int
    matrices: int
    """Trained ones in matrices inside the layers, which Muon may update."""
    layers: tuple[int, ...]
    """Per layer; parameters outside (embedding, head, norms, self-conditioning) are gathered separately."""

    @property
    def around(self) -> int:
        return self.total - sum(self.layers)


@dataclass(frozen=True, kw_only=True)
class BatchCost:
    """Cost of one packed batch, forward and backward."""

    forward_operations: float
    """Multiplications and additions of the trained forward."""
    backward_operations: float
    """Of its backward; with recomputation, plus the layers' forward."""
    first_pass_operations: float
    """Of a first pass without gradient, including the soft embedding, if there is one."""
    layer_bytes: tuple[int, ...]
    """Activations kept by each layer for the backward."""
    head_bytes: int
    """Activations kept outside the layers: norms, self-conditioning, log-probabilities."""
    transient_bytes: int
    """Temporary peak of the head, of a layer being recomputed, or of a first pass."""

    @property
    def kept_bytes(self) -> int:
        return sum(self.layer_bytes) + self.head_bytes


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Estimate of a run's steps on some GPUs."""

    gpu: str
    num_gpus: int
    accumulation: int
    """Packed batches per step: the recipe's, or one per GPU if that is more."""
    positions: int
    """Positions per step: clean halves, canvases and padding."""
    state_bytes: dict[str, float]
    """Per GPU, sharded: weights, gradients, optimizer, average; plus a whole teacher, if there is one."""
    gathered_bytes: float
    """Per GPU: gathered copies of the current and the next layer."""
    activation_bytes: float
    """Per GPU: activations, and temporary memory."""
    fits: bool
    """Whether the total is at most MEMORY_SHARE of the GPU's memory."""
    first_pass_share: float
    """Share of batches with a first pass, their own or forced by another GPU; mean over the run."""
    operations: float
    """Operations per step, over all GPUs."""
    operations_per_position: float
    exchanged_bytes: float
    """Bytes received by each GPU per step."""
    compute_s: float
    """Arithmetic time per step."""
    exchange_s: float
    """Traffic time per step; overlaps with the arithmetic."""
    optimizer_s: float
    """Time to read and write the optimizer's state."""

    @property
    def memory_bytes(self) -> float:
        """Total memory per GPU."""
        return sum(self.state_bytes.values()) + self.gathered_bytes + self.activation_bytes

    @property
    def step_s(self) -> float:
        """Time per step: the longer of arithmetic and traffic, plus the optimizer."""
        return max(self.compute_s, self.exchange_s) + self.optimizer_s

    @property
    def positions_per_s(self) -> float:
        return self.positions / self.step_s


def count_model(config: DecoderConfig) -> ModelCount:
    """Count the parameters of a decoder config, without creating any."""
    with torch.device("meta"):
        return count_parameters(Decoder(config))


def count_parameters(model: Decoder) -> ModelCount:
    """Count the parameters of a decoder, which may be on the meta device."""
    size = model_size(model)
    return ModelCount(
        total=size.num_parameters,
        active=size.num_active_parameters,
        trained=sum(one.numel() for one in trained(model).values()),
        matrices=sum(one.numel() for one in inner_matrices(model).values()),
        layers=tuple(sum(one.numel() for one in layer.parameters()) for layer in model.model.layers),
    )


def batch_cost(
    config: DecoderConfig,
    *,
    rows: int,
    row_length: int,
    supervised: int,
    dtype: str = "float32",
    self_conditioned: bool = False,
    recompute: bool = False,
) -> BatchCost:
    """Estimate the cost of one packed batch.

    Attention counts all T x T scores, masked or not, with a kernel that keeps none of them; the two products such
    kernels repeat in the backward are not counted.

    Args:
        rows, row_length: B and T.
        supervised: positions with a loss; only these have logits.
        dtype: one of BYTES; norms and losses also keep their activations in it.
        self_conditioned: whether the trained forward reads a soft embedding.
        recompute: whether layers keep only their inputs.
    """
    size, num, width = BYTES[dtype], rows * row_length, config.hidden_size
    queries, keys = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    operations: list[float] = []
    kept: list[int] = []
    for layer in range(config.num_hidden_layers):
        weights = 2 * width * (queries + keys)
        # A norm keeps its input, the input over its root mean square, and its output; then queries, keys, values and
        # attention's output.
        numbers = 2 * (3 * width + 1) + 2 * (queries + keys)
        if config.qk_norm:
            numbers += 2 * (queries + keys) + config.num_attention_heads + config.num_key_value_heads
        moe = config.moe
        if moe is None or layer < moe.first_k_dense_replace:
            weights += 3 * width * config.intermediate_size
            # Gate, up, the activated gate, and the product of both.
            numbers += 4 * config.intermediate_size
            extra = 0
        else:
            chosen, inner = moe.num_experts_per_tok, moe.moe_intermediate_size
            weights += width * moe.num_experts + 3 * width * inner * (chosen + moe.num_shared_experts)
            numbers += chosen * (2 * width + 4 * inner) + 4 * inner * moe.num_shared_experts
            # Router scores are float32; expert indices and the order of positions are int64.
            extra = 4 * moe.num_experts + 24 * chosen + (4 * width if size < 4 else 0)
        operations.append(2.0 * num * weights + 4.0 * num * row_length * queries)
        # The mask is added to scores as a number, created by every layer; one log-sum per head is float32.
        mask = rows * row_length * row_length * size
        kept.append(num * (size * numbers + extra + 4 * config.num_attention_heads) + mask)
    head = 2.0 * supervised * config.vocab_size * width
    first = sum(operations) + 2.0 * num * config.vocab_size * width * (1 + config.self_conditioning)
    around = num * size * (2 * width + 1) + supervised * (size * width + 4 * config.vocab_size + 8)
    correction = 0.0
    if self_conditioned and config.self_conditioning:
        correction = 2.0 * num * 3 * width * config.intermediate_size
        around += num * size * (3 * width + 1 + 4 * config.intermediate_size)
    forward = sum(operations) + head + correction
    # Logits and their gradient beside the log-probabilities kept; in a first pass, logits and probabilities.
    transient = 2 * 4 * supervised * config.vocab_size
    if self_conditioned:
        transient = max(transient, 2 * 4 * num * config.vocab_size - sum(kept))
    if recompute:
        transient = max(transient, max(kept))
        kept = [num * width * size for _ in kept]
    return BatchCost(
        forward_operations=forward,
        backward_operations=2.0 * forward + (sum(operations) if recompute else 0.0),
        first_pass_operations=first,
        layer_bytes=tuple(kept),
        head_bytes=around,
        transient_bytes=transient,
    )


def plan(
    config: DecoderConfig,
    packing: PackingConfig,
    objective: ObjectiveConfig,
    train: TrainConfig,
    *,
    gpu: str,
    num_gpus: int,
    mfu: float = MFU,
    count: ModelCount | None = None,
) -> Plan:
    """Estimate a run's steps under FSDP.

    Args:
        gpu: one of `hardware.GPUS`.
        num_gpus: 1 or more; eight per node.
        mfu: share of peak arithmetic reached.

    Raises:
        ConfigError: if the GPU is unknown or a number is out of range.
    """
    check_choice("gpu", gpu, GPUS, ConfigError)
    if num_gpus < 1:
        raise ConfigError(f"num_gpus is {num_gpus}; allowed: 1 or more")
    if not 0.0 < mfu <= 1.0:
        raise ConfigError(f"mfu is {mfu}; allowed: above 0, up to 1")
    peaks, size, count = GPUS[gpu], BYTES[train.precision], count or count_model(config)
    share, in_company = _first_pass_shares(config, objective, num_gpus)
    per_gpu = max(1, train.accumulation // num_gpus)
    cost = batch_cost(
        config,
        rows=packing.rows,
        row_length=packing.row_length,
        # At most.
        supervised=packing.rows * packing.row_length,
        dtype=train.precision,
        # Memory is for the largest batches.
        self_conditioned=share > 0.0,
        recompute=train.recompute,
    )
    # Half of a backward computes weight gradients, which frozen weights do not need.
    spared = cost.forward_operations * (1.0 - count.trained / count.total)
    teacher = objective.teacher_until * cost.forward_operations if objective.asks_teacher else 0.0
    batch_operations = cost.forward_operations + cost.backward_operations - spared + teacher
    batch_operations += in_company * cost.first_pass_operations
    operations = per_gpu * num_gpus * batch_operations

    layers, around, largest = sum(count.layers), count.around, max(count.layers)
    gathered = 0.0
    if num_gpus > 1 or train.precision != "float32":
        # In float32: weights of two layers and of the parts around them, their gradients, and those being reduced.
        gathered = size * (around + 2 * largest) + size * (around + largest) + 4 * max(around, largest)
    state = {name: each * count.trained / num_gpus for name, each in STATE_BYTES.items()}
    state["weights"] = STATE_BYTES["weights"] * count.total / num_gpus
    spared_moment = 4.0 * count.matrices / num_gpus if train.muon_lr else 0.0
    state["optimizer"] -= spared_moment
    if teacher:
        # Every process has all of it.
        state["teacher"] = float(STATE_BYTES["weights"] * count.total)
    activations = float(cost.kept_bytes + cost.transient_bytes)
    memory = sum(state.values()) + gathered + activations

    others = (num_gpus - 1) / num_gpus
    exchanged = per_gpu * others * (size * (layers * (2.0 + in_company) + around) + 4.0 * count.trained)
    rate = peaks.link_bytes_per_s
    if num_gpus > GPUS_OF_A_NODE:
        rate = min(rate, peaks.network_bytes_per_s)
    positions = per_gpu * num_gpus * packing.rows * packing.row_length
    return Plan(
        gpu=gpu,
        num_gpus=num_gpus,
        accumulation=per_gpu * num_gpus,
        positions=positions,
        state_bytes=state,
        gathered_bytes=gathered,
        activation_bytes=activations,
        fits=memory <= MEMORY_SHARE * peaks.memory_bytes,
        first_pass_share=in_company,
        operations=operations,
        operations_per_position=operations / positions,
        exchanged_bytes=exchanged,
        compute_s=operations / num_gpus / (peaks.operations_per_s[train.precision] * mfu),
        exchange_s=exchanged / (rate * LINK_SHARE),
        optimizer_s=(STATE_TRAFFIC * count.trained / num_gpus - 2 * spared_moment) / peaks.bytes_per_s,
    )


def _first_pass_shares(config: DecoderConfig, objective: ObjectiveConfig, num_gpus: int) -> tuple[float, float]:
    """Share of batches with their own first pass, and of those with one on any GPU, over the run."""
    begins = objective.self_conditioning_from
    if not config.self_conditioning:
        begins = max(begins, objective.unroll_from)
    # GPUs draw independently and run a first pass if any of them does.
    together = 1.0 - (1.0 - objective.self_conditioning_share) ** num_gpus
    return (1.0 - begins) * objective.self_conditioning_share, (1.0 - begins) * together
