"""Confidence intervals and paired tests of scores."""

from __future__ import annotations

import math


def share_interval(right: int, n: int) -> tuple[float, float]:
    """95% interval of a share, which has a width even if all or none are right.

    Source: Wilson 1927.
    """
    z = 1.959964
    middle, scale = (right + z * z / 2) / (n + z * z), z / (n + z * z)
    half = scale * math.sqrt(right * (n - right) / n + z * z / 4)
    # Rounding must not leave the share itself outside.
    return min(right / n, max(0.0, middle - half)), max(right / n, min(1.0, middle + half))


def mcnemar(only_one: int, only_other: int) -> float:
    """Two-sided exact p-value for equal accuracy of two systems, from the items that only one got right.

    Args:
        only_one, only_other: number of items that only one or only the other got right.
    """
    n, fewer = only_one + only_other, min(only_one, only_other)
    if n == 0:
        return 1.0
    ways = sum(math.comb(n, k) for k in range(fewer + 1))
    # Whole numbers: floats overflow from 1,024 items on.
    return min(1.0, float(2 * ways / 2**n))
