"""Confidence intervals and paired tests of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

DRAWS = 2000
"""Bootstrap samples: the ends of an interval are then off by about a fiftieth of its width."""


def bootstrap_interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float]:
    """95% bootstrap percentile interval of the mean of one or more values."""
    random, n = Random(f"bootstrap {seed}"), len(values)
    means = sorted(sum(random.choices(values, k=n)) / n for _ in range(DRAWS))
    return means[round(0.025 * (DRAWS - 1))], means[round(0.975 * (DRAWS - 1))]


def share_interval(right: int, n: int) -> tuple[float, float]:
    """95% interval of a share, which has a width even if all or none are right.

    Source: Wilson 1927.
    """
    z = 1.959964
    middle, scale = (right + z * z / 2) / (n + z * z), z / (n + z * z)
    half = scale * math.sqrt(right * (n - right) / n + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Rank correlation, with ties at their mean rank; 0 if either side is constant."""
    ranks = [_ranks(values) for values in (xs, ys)]
    (x_mean, y_mean) = (sum(each) / len(each) for each in ranks)
    pairs = [(x - x_mean, y - y_mean) for x, y in zip(*ranks, strict=True)]
    scale = math.sqrt(sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs))
    return sum(x * y for x, y in pairs) / scale if scale else 0.0


def spearman_interval(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """95% bootstrap interval of the rank correlation, resampling pairs."""
    random, pairs = Random("spearman 0"), list(zip(xs, ys, strict=True))
    found = sorted(spearman(*zip(*random.choices(pairs, k=len(pairs)), strict=True)) for _ in range(DRAWS))
    return found[round(0.025 * (DRAWS - 1))], found[round(0.975 * (DRAWS - 1))]


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    first = {value: rank for rank, value in reversed(list(enumerate(ordered)))}
    last = {value: rank for rank, value in enumerate(ordered)}
    return [(first[value] + last[value]) / 2 for value in values]


def mcnemar(only_one: int, only_other: int) -> float:
    """Two-sided exact p-value for equal accuracy of two systems, from the items that only one got right.

    Args:
        only_one, only_other: number of items that only one or only the other got right.
    """
    n, fewer = only_one + only_other, min(only_one, only_other)
    if n == 0:
        return 1.0
    ways = sum(math.comb(n, k) for k in range(fewer + 1))
    return min(1.0, float(2 * ways) / float(2**n))
