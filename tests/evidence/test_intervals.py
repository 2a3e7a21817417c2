"""Intervals of counts against scipy, and what a difference says of itself."""

from __future__ import annotations

import pytest
from scipy import stats

from auditlib.evidence import Difference, clopper_pearson
from auditlib.evidence.intervals import logit_interval


@pytest.mark.parametrize(("successes", "trials"), [(0, 20), (1, 20), (7, 50), (50, 50)])
def test_clopper_pearson_is_scipys_exact_interval(successes: int, trials: int) -> None:
    ours = clopper_pearson(successes, trials)
    theirs = stats.binomtest(successes, trials).proportion_ci(0.95, "exact")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_no_success_in_sixty_leaves_about_six_percent() -> None:
    assert clopper_pearson(0, 60).high == pytest.approx(1 - 0.025 ** (1 / 60))


@pytest.mark.parametrize(("successes", "trials"), [(3, 2), (-1, 5), (0, 0)])
def test_counts_that_make_no_share_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="make no share"):
        clopper_pearson(successes, trials)


def test_logit_interval_stays_between_0_and_1() -> None:
    interval = logit_interval(0.99, 0.02, 0.95, "")
    assert 0 < interval.low < 0.99 < interval.high < 1


def test_the_standard_error_is_read_back_from_the_interval() -> None:
    assert Difference(0.1, 0.1 - 0.0392, 0.1 + 0.0392, 0.0, 0.95, "").standard_error == pytest.approx(0.02, rel=1e-3)
