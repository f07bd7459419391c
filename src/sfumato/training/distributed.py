"""Training in several processes: each holds a shard of the weights and takes its share of a step's batches.

torchrun starts the processes and identifies them in the environment. FSDP2 keeps every parameter as a `DTensor`,
sharded along its first dimension, and gathers it only while a layer computes. The loop is the same as in one process.
It asks the `World` for its share, for global sums, and for common decisions, because a process that continues alone
would block the others for ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.utils.checkpoint import checkpoint

from sfumato.errors import ConfigError
from sfumato.models.decoder import Decoder

Made = TypeVar("Made")
PATIENCE = timedelta(hours=1)
"""Collective timeout, long enough for an evaluation, which only the first process runs."""
_NAMED = ("WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class World:
    """The processes of a run, seen from one of them."""

    rank: int = 0
    """Rank of this process; only rank 0 logs, prints and evaluates."""
    size: int = 1
    """Number of processes."""
    mesh: DeviceMesh | None = None
    """Device mesh for sharding; None leaves weights whole in a single process."""

    def check(self, accumulation: int, *, compile: bool) -> None:
        """Refuse settings that do not work with several processes or sharded weights.

        Raises:
            ConfigError: with what is allowed.
        """
        if accumulation % self.size:
            raise ConfigError(
                f"accumulation is {accumulation}; allowed with {self.size} processes: a multiple of "
                f"{self.size}, because they share a step's batches equally"
            )
        if self.mesh is not None and compile:
            raise ConfigError("compile is true; allowed under torchrun: false")

    @property
    def leads(self) -> bool:
        """Whether this is the first process."""
        return self.rank == 0

    def share(self, count: int) -> range:
        """Which of the numbers below `count` belong to this process."""
        return range(self.rank, count, self.size)

    def sum(self, *numbers: float) -> list[float]:
        """Sum each number over all processes."""
        return self._reduced(numbers, dist.ReduceOp.SUM)

    def any(self, *flags: bool) -> list[bool]:
        """For each flag, whether any process has set it; the same in all processes."""
        return [found > 0 for found in self._reduced([float(flag) for flag in flags], dist.ReduceOp.MAX)]

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            dist.barrier()

    def first(self, make: Callable[[], Made]) -> Made:
        """Call a function in the first process and then in the others, which find what it wrote."""
        if not self.leads:
            self.wait()
        made = make()
        if self.leads:
            self.wait()
        return made

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors gathered on the CPU of the first process; the others get an empty dict.

        Unsharded weights are returned as they are.
        """
        if self.mesh is None:
            return dict(tensors)
        gathered: dict[str, Tensor] = {}
        for name, tensor in tensors.items():
            full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
            if self.leads:
                gathered[name] = full.cpu()
        return gathered

    def _reduced(self, numbers: tuple[float, ...] | list[float], how: dist.ReduceOp.RedOpType) -> list[float]:
        if self.size == 1:
            return list(numbers)
        totals = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(totals, how)
        found: list[float] = totals.tolist()
        return found


@contextmanager
def join_world() -> Iterator[World]:
    """Join the processes started by torchrun, with gloo on CPUs and NCCL on GPUs; without torchrun, a world of one.

    Raises:
        ConfigError: if only some of torchrun's variables are set.
    """
    if "WORLD_SIZE" not in os.environ and "RANK" not in os.environ:
        yield World()
        return
    missing = [name for name in _NAMED if name not in os.environ]
    if missing:
        raise ConfigError(
            f"the environment has no {', '.join(missing)}; allowed: all of {', '.join(_NAMED)}, as torchrun sets them, "
            "or neither WORLD_SIZE nor RANK"
        )
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "cuda":
        device = torch.device(kind, int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        # Counts and flags are on the host, so they use gloo even with GPUs.
        dist.init_process_group("cpu:gloo,cuda:nccl", timeout=PATIENCE, device_id=device)
    else:
        dist.init_process_group("gloo", timeout=PATIENCE)
    try:
        size = dist.get_world_size()
        yield World(dist.get_rank(), size, init_device_mesh(kind, (size,)))
    finally:
        dist.destroy_process_group()


def shard(model: Decoder, world: World, *, dtype: torch.dtype) -> None:
    """Shard a model's parameters over the processes, layer by layer, and move it to their devices.

    The embedding, head and other parts outside the layers stay whole from the forward to the end of the backward,
    because the losses read the head after the forward.

    Args:
        model: its parameters become DTensors; unchanged without a mesh.
        dtype: compute type of the layers. Weights, reduced gradients and optimizers stay float32.

    Source: FSDP: Zhao et al. 2023, arXiv 2304.11277; per-parameter shards as in torchtitan, arXiv 2410.06511.
    """
    if world.mesh is None:
        return
    policy = MixedPrecisionPolicy()
    if dtype != torch.float32:
        policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        fully_shard(layer, mesh=world.mesh, mp_policy=policy, reshard_after_forward=True)
    fully_shard(model, mesh=world.mesh, mp_policy=policy, reshard_after_forward=False)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            # Losses are divided by global counts, so gradients must be summed, not averaged.
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)


def recompute(model: Decoder) -> None:
    """Make layers keep only their inputs and recompute the rest in the backward."""
    for layer in model.model.layers:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


def local(tensor: Tensor) -> Tensor:
    """This process's shard of a tensor, sharing its memory."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def like(whole: Tensor, sharded: Tensor) -> Tensor:
    """Shard a tensor that every process has like another one."""
    if not isinstance(sharded, DTensor):
        return whole
    return distribute_tensor(whole.to(sharded.device), sharded.device_mesh, sharded.placements, src_data_rank=None)


def is_of_memory(error: BaseException) -> bool:
    """Whether an error means that a device or the host is out of memory."""
    # The CPU allocator's error has no type of its own.
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error)


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The trained parameters, by name; all others stay as they were at the start."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
