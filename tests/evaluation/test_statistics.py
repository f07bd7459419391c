"""Intervals and comparisons against values from elsewhere."""

from __future__ import annotations

from random import Random

import pytest

from sfumato.evaluation.statistics import (
    bootstrap_interval,
    mcnemar,
    share_interval,
    spearman,
    spearman_interval,
)


@pytest.mark.parametrize(
    ("only_one", "only_other", "p"),
    # scipy.stats.binomtest(k, n, 0.5).pvalue
    [(0, 0, 1.0), (3, 3, 1.0), (1, 9, 0.021484375), (0, 6, 0.03125), (2, 12, 0.012939453125), (40, 60, 0.0568879)],
)
def test_mcnemar_is_the_exact_binomial_test(only_one: int, only_other: int, p: float) -> None:
    assert mcnemar(only_one, only_other) == pytest.approx(p, rel=1e-5)
    assert mcnemar(only_other, only_one) == mcnemar(only_one, only_other)


def test_intervals_hold_the_true_mean_about_as_often_as_they_say() -> None:
    random, held = Random(0), 0
    for i in range(100):
        low, high = bootstrap_interval([float(random.random() < 0.4) for _ in range(80)], seed=i)
        held += low <= 0.4 <= high
    assert 88 <= held <= 100


def test_an_interval_is_the_same_for_the_same_values() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 1.0]
    assert bootstrap_interval(values) == bootstrap_interval(values)
    assert bootstrap_interval([1.0] * 9) == (1.0, 1.0)


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
