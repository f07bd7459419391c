"""How many threads a CPU computes a model with: as many as turn out to be fastest."""

from __future__ import annotations

import os
import statistics
import time

import torch

from sfumato.machine import usable_cores
from sfumato.models.attention import AttentionSpec
from sfumato.models.model import Model

# Positions of the forward that is timed, how often each number of threads takes it, and seconds after which once is
# enough.
_POSITIONS, _REPEATS, _LONG_S = 64, 5, 0.2


def choose_threads(model: Model) -> int:
    """Have torch compute with the number of threads that is fastest for a model, as measured on some positions.

    It is torch's number, or that of the cores this process may use if they are fewer, or what is left when it is
    halved, as long as that is faster: some cores may be busy, and small models have not enough to do for many. What is
    computed does not depend on it. A number in the environment (OMP_NUM_THREADS) is taken as it is.

    Args:
        model: on a CPU.

    Returns:
        The number.
    """
    best = torch.get_num_threads()
    if "OMP_NUM_THREADS" in os.environ:
        return best
    best = min(best, usable_cores())
    torch.set_num_threads(best)
    _forward_s(model)
    while best > 1:
        fewer = best // 2
        seconds: dict[int, list[float]] = {best: [], fewer: []}
        for repeat in range(_REPEATS):
            for number, taken in seconds.items():
                torch.set_num_threads(number)
                taken.append(_forward_s(model))
            if repeat == 0 and min(seconds[best]) > _LONG_S:
                break
        if statistics.median(seconds[fewer]) >= statistics.median(seconds[best]):
            break
        best = fewer
    torch.set_num_threads(best)
    return best


@torch.inference_mode()
def _forward_s(model: Model) -> float:
    """Seconds of one forward."""
    count = min(_POSITIONS, model.config.max_position_embeddings)
    tokens_1Q = torch.arange(count)[None] % model.config.vocab_size
    started = time.perf_counter()
    model(tokens_1Q, torch.arange(count)[None], AttentionSpec(causal=True))
    return time.perf_counter() - started
