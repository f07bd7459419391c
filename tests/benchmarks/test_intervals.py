"""Rank correlations against values computed by hand."""

from __future__ import annotations

from random import Random

import pytest
from benchmarks.intervals import spearman, spearman_interval


@pytest.mark.parametrize(
    ("xs", "ys", "expected"),
    # By hand: 1 - 6 * sum(d^2) / (n^3 - n) without ties; with ties the correlation of ranks 1.5, 1.5, 3 and 1, 2, 3.
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8),
        ([5, 5, 7], [1, 2, 3], 0.8660254),
        ([1, 1, 1], [1, 2, 3], 0.0),
    ],
)
def test_rank_correlations(xs: list[float], ys: list[float], expected: float) -> None:
    assert spearman(xs, ys) == pytest.approx(expected)


def test_a_rank_correlation_lies_in_its_interval() -> None:
    random = Random(0)
    xs = [random.random() for _ in range(60)]
    ys = [x + random.random() for x in xs]
    low, high = spearman_interval(xs, ys)
    assert -1 < low < spearman(xs, ys) < high < 1
