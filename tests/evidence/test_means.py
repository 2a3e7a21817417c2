"""Differences of means over groups: against scipy, by hand, and under a truth that is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from auditlib.core import AuditError
from auditlib.evidence import mean_difference, mean_of_groups, permutation_p, rank_agreement


def test_single_values_are_welchs_test() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.normal(1, 1, 12), rng.normal(0, 3, 20)
    found = mean_difference(np.concatenate([one, other]), np.arange(32) < 12)
    expected = stats.ttest_ind(one, other, equal_var=False)
    interval = expected.confidence_interval()
    assert (found.estimate, found.p) == pytest.approx((one.mean() - other.mean(), expected.pvalue))
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_a_group_counts_once_however_many_samples_it_has() -> None:
    rng = np.random.default_rng(2)
    values, first, groups = rng.normal(size=12), np.arange(12) < 6, np.arange(12)
    alone = mean_difference(values, first, groups)
    repeated = mean_difference(np.repeat(values, 20), np.repeat(first, 20), np.repeat(groups, 20))
    assert (repeated.low, repeated.high) == pytest.approx((alone.low, alone.high))
    # As if the 240 were independent the interval would be far narrower.
    assert repeated.high - repeated.low > 3 * (
        (wrong := mean_difference(np.repeat(values, 20), np.repeat(first, 20))).high - wrong.low
    )


def test_permutation_p_is_uniform_where_there_is_nothing_and_small_where_there_is() -> None:
    rng = np.random.default_rng(3)
    ps = [permutation_p(rng.normal(size=20), np.arange(20) < 7, draws=199, seed=n) for n in range(300)]
    assert np.mean(np.array(ps) <= 0.05) < 0.09
    assert 0.4 < np.mean(ps) < 0.6
    assert permutation_p(np.r_[np.ones(10) * 5, np.zeros(10)] + rng.normal(size=20), np.arange(20) < 10) < 0.001


def test_rank_agreement_is_spearmans_with_an_interval_by_hand() -> None:
    one, other = np.arange(10.0), np.array([0, 2, 1, 4, 3, 6, 5, 8, 7, 9.0])
    found = rank_agreement(one, other)
    # 8 pairs of neighbours change places: rho = 1 - 6 * 8 / 990.
    assert found.estimate == pytest.approx(1 - 48 / 990)
    reach = 1.959964 * np.sqrt((1 + found.estimate**2 / 2) / 7)
    assert found.low == pytest.approx(np.tanh(np.arctanh(found.estimate) - reach), abs=1e-6)
    grouped = rank_agreement(np.tile(one, 3), np.tile(other, 3), np.tile(np.arange(10), 3))
    assert grouped.low == pytest.approx(found.low)


def test_a_rise_that_is_the_same_everywhere() -> None:
    assert mean_of_groups([2.0, 2.0, 2.0]).low == 2.0
    found = mean_of_groups([1.0, 2.0, 3.0])
    interval = stats.ttest_1samp([1.0, 2.0, 3.0], 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_what_says_nothing_about_chance_is_refused() -> None:
    with pytest.raises(AuditError, match="no piece"):
        mean_difference([1.0, 2.0], np.array([True, True]))
    with pytest.raises(AuditError, match="same"):
        mean_difference([1.0, 1.0, 2.0, 2.0], np.array([True, True, False, False]))
    with pytest.raises(AuditError, match="at least 5"):
        rank_agreement([1, 2, 3], [1, 2, 3])
    with pytest.raises(AuditError, match="same for all"):
        rank_agreement([1] * 6, list(range(6)))
    with pytest.raises(ValueError, match="both sets"):
        permutation_p([1.0, 2.0, 3.0], np.array([True, False, False]), [0, 0, 1])
