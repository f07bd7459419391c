"""Chooses how many CPU threads compute a model, by measuring."""

from __future__ import annotations

import json
import math
import os
import statistics
import time

import torch

from sfumato.checkpoints.kept import keep, kept_path, read_kept
from sfumato.machine import cpu_name, num_preemptions, usable_cores
from sfumato.models.model import AttentionSpec, Model

# Positions of the timed forward, maximum repetitions per number of threads, and seconds after which no repetition
# starts.
_POSITIONS, _REPEATS, _LIMIT_S = 32, 5, 1.0
# Preemptions per second that count as undisturbed, and slowdown of a forward from which the choice is measured again.
_PREEMPTIONS, _SLOWER = 20, 2.0


def choose_threads(model: Model) -> int:
    """Set torch's number of threads to the fastest for a model, as measured now or at an earlier start.

    Starts from torch's number or the available cores, whichever is less, and halves it while that is faster: some cores
    may be busy, and small models do not have enough work for many. The number never affects results. OMP_NUM_THREADS is
    respected.

    The choice is cached unless other processes disturbed the measurement. It is measured again, for this start only, if
    they do and a forward takes far longer than before.

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
    kept = read_kept(path) or {}
    threads, forward_s = kept.get("threads"), kept.get("forward_s")
    if isinstance(threads, int) and 1 <= threads <= max_threads and isinstance(forward_s, float):
        torch.set_num_threads(threads)
        # The first one may have weights to fetch.
        if min(_forward_s(model), _forward_s(model)) <= _SLOWER * forward_s:
            return threads
    started, preemptions = time.perf_counter(), num_preemptions()
    threads, forward_s = _fastest(model, max_threads, started + _LIMIT_S)
    torch.set_num_threads(threads)
    if num_preemptions() - preemptions <= _PREEMPTIONS * (time.perf_counter() - started):
        keep(path, json.dumps({"threads": threads, "forward_s": forward_s}).encode())
    return threads


def _fastest(model: Model, max_threads: int, until: float) -> tuple[int, float]:
    """The fastest number of threads and the seconds of a forward; stops measuring at a time limit."""
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
    return best, best_s


@torch.inference_mode()
def _forward_s(model: Model) -> float:
    """Seconds of one forward."""
    count = min(_POSITIONS, model.config.max_position_embeddings)
    tokens_1Q = torch.arange(count)[None] % model.config.vocab_size
    started = time.perf_counter()
    model(tokens_1Q, torch.arange(count)[None], AttentionSpec(causal=True))
    return time.perf_counter() - started
