"""AUC against scikit-learn; DeLong's variances against the definition, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from sklearn.metrics import roc_auc_score

from auditlib.evidence import auc, delong, paired_delong
from auditlib.evidence.arrays import BoolArray, FloatArray
from tests.evidence.made_up import made_up


def components(is_member: BoolArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """DeLong et al. 1988, their V10 and V01, straight from the kernel."""
    members, non_members = scores[is_member], scores[~is_member]
    kernel = (members[:, None] > non_members) + 0.5 * (members[:, None] == non_members)
    return kernel.mean(axis=1), kernel.mean(axis=0)


def test_auc_by_hand() -> None:
    # Pairs (member, non-member): 3>1, 3>2, 2>1, 2=2: 3.5 of 4.
    assert auc(np.array([True, True, False, False]), np.array([3.0, 2.0, 1.0, 2.0])) == pytest.approx(3.5 / 4)


def test_auc_is_scikit_learns_also_with_ties() -> None:
    rng = np.random.default_rng(1)
    labels, scores = rng.random(300) < 0.4, rng.integers(0, 12, 300).astype(float)
    assert auc(labels, scores) == pytest.approx(roc_auc_score(labels, scores))


def test_auc_with_labels_reversed_is_one_less_it() -> None:
    labels, scores, _ = made_up(np.random.default_rng(2), 30, auc=0.8)
    assert auc(~labels, scores) == pytest.approx(1 - auc(labels, scores))


def test_delong_interval_follows_the_definition() -> None:
    rng = np.random.default_rng(3)
    labels, scores = np.arange(50) < 20, np.round(rng.normal(size=50) + (np.arange(50) < 20), 1)
    v10, v01 = components(labels, scores)
    estimate = v10.mean()
    error = np.sqrt(v10.var(ddof=1) / 20 + v01.var(ddof=1) / 30)
    reach = 1.959964 * error / (estimate * (1 - estimate))
    interval = delong(labels, scores)
    expected = special.expit([special.logit(estimate) - reach, special.logit(estimate) + reach])
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=1e-6)


def test_paired_delong_follows_the_definition() -> None:
    rng = np.random.default_rng(4)
    labels, first, _ = made_up(rng, 40, auc=0.8)
    second = first + rng.normal(size=80)
    (a10, a01), (b10, b01) = components(labels, first), components(labels, second)
    variance = (np.var(a10, ddof=1) + np.var(b10, ddof=1) - 2 * np.cov(a10, b10)[0, 1]) / 40
    variance += (np.var(a01, ddof=1) + np.var(b01, ddof=1) - 2 * np.cov(a01, b01)[0, 1]) / 40
    found = paired_delong(labels, first, second)
    z = (a10.mean() - b10.mean()) / np.sqrt(variance)
    assert found.estimate == pytest.approx(a10.mean() - b10.mean())
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert found.high - found.low == pytest.approx(2 * 1.959964 * np.sqrt(variance), rel=1e-6)


def test_a_perfect_auc_has_an_interval_and_no_point() -> None:
    labels = np.arange(60) < 20
    interval = delong(labels, labels.astype(float))
    # 20 disjoint pairs, all won: exactly what 20 successes in 20 trials say.
    assert (interval.estimate, interval.high) == (1.0, 1.0)
    assert interval.low == pytest.approx(0.025 ** (1 / 20))
    assert delong(~labels, labels.astype(float)).high == pytest.approx(1 - 0.025 ** (1 / 20))


def test_equal_scores_say_nothing_widely() -> None:
    interval = delong(np.arange(40) < 20, np.zeros(40))
    assert interval.estimate == 0.5
    assert interval.low < 0.3
    assert interval.high > 0.7


def test_a_score_against_itself_is_no_difference_with_some_width() -> None:
    labels, scores, _ = made_up(np.random.default_rng(5), 50, auc=0.7)
    found = paired_delong(labels, scores, 2 * scores)
    assert (found.estimate, found.p) == (0.0, 1.0)
    assert 0 < found.high < 0.1


def test_delong_covers_in_about_95_percent() -> None:
    rng = np.random.default_rng(6)
    intervals = [delong(*made_up(rng, 50, auc=0.8)[:2]) for _ in range(600)]
    assert 0.925 <= np.mean([i.low <= 0.8 <= i.high for i in intervals]) <= 0.975
