"""Bootstrap intervals, and rank correlations against values computed by hand."""

from __future__ import annotations

from random import Random

import pytest
from benchmarks.intervals import bootstrap_interval, spearman, spearman_interval


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


def test_intervals_have_their_coverage() -> None:
    random, held = Random(0), 0
    for i in range(100):
        low, high = bootstrap_interval([float(random.random() < 0.4) for _ in range(80)], seed=i)
        held += low <= 0.4 <= high
    assert 88 <= held <= 100


def test_interval_is_deterministic() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 1.0]
    assert bootstrap_interval(values) == bootstrap_interval(values)
    assert bootstrap_interval([1.0] * 9) == (1.0, 1.0)
