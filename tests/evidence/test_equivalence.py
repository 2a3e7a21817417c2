"""Equivalence is shown, not assumed."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.weightstats import DescrStatsW

from auditlib.evidence import Difference, equivalence, paired_delong
from tests.evidence.made_up import made_up


def difference(estimate: float, error: float) -> Difference:
    return Difference(estimate, estimate - 1.959964 * error, estimate + 1.959964 * error, 0.5, 0.95, "")


def test_two_one_sided_tests_are_those_of_statsmodels() -> None:
    sample = np.random.default_rng(1).normal(0.01, 0.1, 400)
    expected = DescrStatsW(sample).ztost_mean(-0.03, 0.03)[0]
    error = sample.std(ddof=1) / 20
    found = equivalence(difference(float(sample.mean()), float(error)), 0.03)
    assert found.p == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("estimate", "error", "equal"), [(0.0, 0.01, True), (0.0, 0.05, False), (0.08, 0.01, False)])
def test_equivalent_exactly_where_the_90_percent_interval_lies_within_the_margin(
    estimate: float, error: float, equal: bool
) -> None:
    found = equivalence(difference(estimate, error), 0.05)
    assert found.equivalent is equal
    assert (found.interval.low >= -0.05 and found.interval.high <= 0.05) is equal
    assert found.interval.level == pytest.approx(0.9)


def test_two_noises_of_few_texts_are_not_called_equivalent() -> None:
    rng = np.random.default_rng(2)
    labels, first, _ = made_up(rng, 15)
    assert not equivalence(paired_delong(labels, first, rng.normal(size=30)), 0.05).equivalent


def test_a_margin_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="margin"):
        equivalence(difference(0, 0.1), 0.0)
