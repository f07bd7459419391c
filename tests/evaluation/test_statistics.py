"""Intervals and comparisons against values from elsewhere."""

from __future__ import annotations

import pytest

from sfumato.evaluation.statistics import mcnemar, share_interval


@pytest.mark.parametrize(
    ("only_one", "only_other", "p"),
    # scipy.stats.binomtest(k, n, 0.5).pvalue
    [(0, 0, 1.0), (3, 3, 1.0), (1, 9, 0.021484375), (0, 6, 0.03125), (2, 12, 0.012939453125), (40, 60, 0.0568879)],
)
def test_mcnemar_is_the_exact_binomial_test(only_one: int, only_other: int, p: float) -> None:
    assert mcnemar(only_one, only_other) == pytest.approx(p, rel=1e-5)
    assert mcnemar(only_other, only_one) == mcnemar(only_one, only_other)


def test_many_items_can_be_compared() -> None:
    assert mcnemar(500, 524) == pytest.approx(0.4724, abs=1e-3)


@pytest.mark.parametrize(
    ("right", "n", "interval"),
    # By hand: of none right, the upper end is z^2 / (n + z^2) with z = 1.959964.
    [(0, 100, (0.0, 0.0369935)), (5, 20, (0.1118618, 0.4687046)), (20, 20, (0.8388753, 1.0))],
)
def test_shares_of_few_items_have_wide_intervals(right: int, n: int, interval: tuple[float, float]) -> None:
    assert share_interval(right, n) == pytest.approx(interval, abs=1e-5)


def test_a_share_lies_in_its_interval() -> None:
    for n in range(1, 1001):
        for right in (0, n // 2, n):
            low, high = share_interval(right, n)
            assert 0.0 <= low <= right / n <= high <= 1.0
