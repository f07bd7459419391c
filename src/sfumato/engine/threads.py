"""Chooses how many CPU threads compute a model, by measuring."""

from __future__ import annotations

import json
import math
import os
import statistics
import time

import torch

from sfumato.checkpoints.kept import keep, kept_path, read_kept
from sfumato.kernels.cpu.running import Waits
from sfumato.machine import cpu_name, usable_cores
from sfumato.models.model import AttentionSpec, Model

# Positions of the timed forward, maximum repetitions per number of threads, and seconds after which no repetition
# starts.
_POSITIONS, _REPEATS, _LIMIT_S = 32, 5, 1.0


def choose_threads(model: Model) -> int:
    """Set torch's number of threads to the fastest for a model, as measured now or at an earlier start.

    Starts from torch's number or the available cores, whichever is less, and halves it while that is faster: small
    models do not have enough work for many. The number never affects results. OMP_NUM_THREADS is respected. The choice
    is cached unless other programs disturbed the measurement.

    Args:
        model: on a CPU.

    Returns:
        The number of threads.
    """
    max_threads = torch.get_num_threads()
    if "OMP_NUM_THREADS" in os.environ:
        return max_threads
    max_threads = min(max_threads, usable_cores())
    torch.set_num_threads(max_threads)
    if max_threads == 1:
        return 1
    size = sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))
    path = kept_path(
        f"threads {max_threads} {cpu_name()} {torch.__version__} {model.config} {model.embedding_VD.dtype} {size}"
    )
    threads = (read_kept(path) or {}).get("threads")
    if not isinstance(threads, int) or not 1 <= threads <= max_threads:
        waits = Waits()
        threads = _fastest(model, max_threads, time.perf_counter() + _LIMIT_S)
        if not waits.is_crowded():
            keep(path, json.dumps({"threads": threads}).encode())
    torch.set_num_threads(threads)
    return threads


def _fastest(model: Model, max_threads: int, until: float) -> int:
    """The fastest number of threads; stops measuring at a time limit."""
    best, best_s = max_threads, math.inf
    torch.set_num_threads(max_threads // 2)
    _forward_s(model)
    while best > 1 and (best == max_threads or time.perf_counter() < until):
        fewer = best // 2
        seconds: dict[int, list[float]] = {fewer: [], best: []}
        for _ in range(_REPEATS):
            for number, taken in seconds.items():
                torch.set_num_threads(number)
                taken.append(_forward_s(model))
            if time.perf_counter() > until:
                break
        fewer_s, best_s = (statistics.median(taken) for taken in seconds.values())
        if fewer_s >= best_s:
            break
        best, best_s = fewer, fewer_s
    return best


@torch.inference_mode()
def _forward_s(model: Model) -> float:
    """Seconds of one forward."""
    count = min(_POSITIONS, model.config.max_position_embeddings)
    tokens_1Q = torch.arange(count)[None] % model.config.vocab_size
    started = time.perf_counter()
    model(tokens_1Q, torch.arange(count)[None], AttentionSpec(causal=True))
    return time.perf_counter() - started
