"""How sure a score is, and whether two systems differ on the same items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

DRAWS = 2000
"""Of a bootstrap: an interval's ends are then off by about a fiftieth of its width."""


def bootstrap_interval(values: Sequence[float], *, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Percentile interval of the mean.

    Args:
        values: one or more.
        level: how much of the means of samples with replacement lies within.
        seed: of the samples; the same values and seed give the same interval.
    """
    random, n = Random(f"bootstrap {seed}"), len(values)
    means = sorted(sum(random.choices(values, k=n)) / n for _ in range(DRAWS))
    outside = (1 - level) / 2
    return means[round(outside * (DRAWS - 1))], means[round((1 - outside) * (DRAWS - 1))]


def mcnemar(only_one: int, only_other: int) -> float:
    """Two-sided exact p-value that two systems are equally often right, by the items on which one alone is right.

    Args:
        only_one, only_other: how many each has right that the other has wrong.
    """
    n, fewer = only_one + only_other, min(only_one, only_other)
    if n == 0:
        return 1.0
    ways = sum(math.comb(n, k) for k in range(fewer + 1))
    return min(1.0, float(2 * ways) / float(2**n))


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies; between two of them, by proportion.

    Args:
        values: one or more.
        share: from 0 to 1.
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
