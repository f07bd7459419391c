"""Bootstrap intervals, of means and of rank correlations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

Each = TypeVar("Each")
DRAWS = 2000
"""Bootstrap samples: the ends of an interval are then off by about a fiftieth of its width."""


def bootstrap_interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float]:
    """95% bootstrap percentile interval of the mean of one or more values."""
    return bootstrap(lambda drawn: sum(drawn) / len(drawn), values, Random(f"bootstrap {seed}"))


def bootstrap(
    statistic: Callable[[Sequence[Each]], float], values: Sequence[Each], random: Random
) -> tuple[float, float]:
    """95% bootstrap percentile interval of a statistic of one or more values."""
    found = sorted(statistic(random.choices(values, k=len(values))) for _ in range(DRAWS))
    return found[round(0.025 * (DRAWS - 1))], found[round(0.975 * (DRAWS - 1))]


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Rank correlation, with ties at their mean rank; 0 if either side is constant."""
    ranks = [_ranks(values) for values in (xs, ys)]
    (x_mean, y_mean) = (sum(each) / len(each) for each in ranks)
    pairs = [(x - x_mean, y - y_mean) for x, y in zip(*ranks, strict=True)]
    scale = math.sqrt(sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs))
    return sum(x * y for x, y in pairs) / scale if scale else 0.0


def spearman_interval(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """95% bootstrap interval of the rank correlation, resampling pairs."""
    pairs = list(zip(xs, ys, strict=True))
    return bootstrap(lambda drawn: spearman(*zip(*drawn, strict=True)), pairs, Random("spearman 0"))


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    first = {value: rank for rank, value in reversed(list(enumerate(ordered)))}
    last = {value: rank for rank, value in enumerate(ordered)}
    return [(first[value] + last[value]) / 2 for value in values]
