"""Intervals and rank correlations against values computed by hand."""

from __future__ import annotations

from random import Random

import pytest
from benchmarks.intervals import share_interval, spearman, spearman_interval


@pytest.mark.parametrize(
    ("right", "n", "interval"),
    # By hand: of none right, the upper end is z^2 / (n + z^2) with z = 1.959964.
    [(0, 100, (0.0, 0.0369935)), (5, 20, (0.1118618, 0.4687046)), (20, 20, (0.8388753, 1.0))],
)
def test_shares_of_few_items_have_wide_intervals(right: int, n: int, interval: tuple[float, float]) -> None:
    assert share_interval(right, n) == pytest.approx(interval, abs=1e-5)


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
