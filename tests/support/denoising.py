"""The plain loop around `sampling.step`, without cache and engine: the oracle for the engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from torch import Tensor

from sfumato.diffusion.process import Process
from sfumato.kernels.base import Backend
from sfumato.sampling.canvas import CanvasBatch, StepRecord, StepResult
from sfumato.sampling.config import SamplerConfig
from sfumato.sampling.constraint import Constraint
from sfumato.sampling.logits import StopHead
from sfumato.sampling.step import Denoiser, step


@dataclass(frozen=True, kw_only=True)
class Denoised:
    """Finished canvases."""

    batch: CanvasBatch
    """All rows, done, in their original order; ``tokens_RL`` is what to commit, ``step_R`` the forwards of each."""
    trace: dict[int, list[StepRecord]]
    """The steps of the traced rows."""


def noise_canvases(
    process: Process, lengths: Sequence[int], *, seeds: Sequence[int], config: SamplerConfig | Sequence[SamplerConfig]
) -> CanvasBatch:
    """Canvases of pure noise, one per length."""
    return CanvasBatch.from_tokens(process, [[0] * length for length in lengths], seeds=seeds, config=config)


def denoise(
    batch: CanvasBatch,
    denoiser: Denoiser,
    process: Process,
    *,
    self_conditioning: bool = False,
    banned: Tensor | None = None,
    constraints: Sequence[Constraint | None] | None = None,
    stop_head: StopHead | None = None,
    backend: Backend | None = None,
    on_step: Callable[[StepResult, list[int]], None] | None = None,
    trace: Collection[int] | bool = False,
) -> Denoised:
    """Step until every row is done; a finished row leaves at once.

    Args:
        banned, constraints: see ``step``; rows as in ``batch``.
        on_step: called after each step, with the rows of `batch` that took it.
        trace: rows to record step by step; True for all.

    Returns:
        The finished batch, in its original order, and the trace.
    """
    traced = set(range(len(batch))) if trace is True else set(trace or ())
    records: dict[int, list[StepRecord]] = {row: [] for row in sorted(traced)}
    active, rows = batch, list(range(len(batch)))
    finished: list[CanvasBatch] = []
    order: list[int] = []
    while True:
        is_done = active.done_R.tolist()
        left, done = ([i for i, ended in enumerate(is_done) if ended == which] for which in (False, True))
        if done or not rows:
            finished.append(dataclasses.replace(active.select(done), soft_RLD=None))
            order.extend(rows[i] for i in done)
            active, rows = active.select(left), [rows[i] for i in left]
        if not rows:
            break
        result = step(
            active,
            denoiser,
            process,
            self_conditioning=self_conditioning,
            banned=banned[rows] if banned is not None and banned.ndim == 2 else banned,
            constraints=None if constraints is None else [constraints[row] for row in rows],
            stop_head=stop_head,
            backend=backend,
        )
        for i, row in enumerate(rows):
            if row in traced:
                records[row].append(result.record(i))
        if on_step is not None:
            on_step(result, rows)
        active = result.batch
    order_back = sorted(range(len(order)), key=order.__getitem__)
    return Denoised(batch=CanvasBatch.concatenate(finished).select(order_back), trace=records)
