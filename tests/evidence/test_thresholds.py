"""A threshold is judged on texts that had no part in choosing it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from auditlib.core import AuditError
from auditlib.evidence import choose_setting, clopper_pearson, out_of_fold_accuracy, split_in_halves, tpr_at_fpr
from tests.evidence.made_up import made_up


def test_tpr_at_fpr_is_of_the_test_half_by_clopper_pearson() -> None:
    labels, scores, _ = made_up(np.random.default_rng(1), 100, auc=0.85)
    found = tpr_at_fpr(labels, scores, 0.1, seed=4)
    test = ~split_in_halves(labels, None, 4)
    hits = int(np.count_nonzero(scores[test & labels] >= found.threshold))
    assert found.tpr == clopper_pearson(hits, 50)
    assert (found.n_members, found.n_non_members, found.n_calibration_non_members) == (50, 50, 50)
    # The calibration half's non-members alone fix the threshold.
    other = np.where(test | labels, scores + 5.0, scores)
    assert tpr_at_fpr(labels, other, 0.1, seed=4).threshold == found.threshold


def test_realised_fpr_is_near_the_one_asked_for_on_average() -> None:
    rng = np.random.default_rng(2)
    realised = [tpr_at_fpr(*made_up(rng, 100, auc=0.8)[:2], 0.1, seed=s).fpr.estimate for s in range(200)]
    assert np.mean(realised) == pytest.approx(0.11, abs=0.02)  # 5 of 50 allowed: expected 6/51


def test_tpr_interval_by_groups_covers_in_about_95_percent() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for seed in range(200):
        labels, scores, group = made_up(rng, 40, 10, 0.3, 0.85)
        found = tpr_at_fpr(labels, scores, 0.1, group, seed)
        truth = stats.norm.sf(found.threshold - np.sqrt(2) * stats.norm.ppf(0.85))
        covered += found.tpr.low <= truth <= found.tpr.high
    assert 0.91 <= covered / 200 <= 0.99


def test_an_fpr_below_what_half_the_non_members_resolve_is_refused() -> None:
    labels, scores, _ = made_up(np.random.default_rng(4), 100)
    with pytest.raises(AuditError, match="200 are needed in all"):
        tpr_at_fpr(labels, scores, 0.01)


def test_out_of_fold_accuracy_of_noise_is_about_a_half() -> None:
    """The best threshold on all texts would always be right more often than not."""
    rng = np.random.default_rng(5)
    found = [out_of_fold_accuracy(*made_up(rng, 20)[:2], seed=s).accuracy.estimate for s in range(150)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.03)


def test_out_of_fold_rates_agree_with_the_accuracy() -> None:
    labels, scores, _ = made_up(np.random.default_rng(6), 100, auc=0.9)
    found = out_of_fold_accuracy(labels, scores)
    both = (found.tpr.estimate + 1 - found.fpr.estimate) / 2
    assert found.accuracy.estimate == pytest.approx(both)
    assert found.folds == 5


def test_out_of_fold_threshold_may_follow_an_fpr() -> None:
    labels, scores, group = made_up(np.random.default_rng(7), 50, 4, 0.3, 0.9)
    found = out_of_fold_accuracy(labels, scores, group, rule=0.1)
    assert found.fpr.estimate == pytest.approx(0.1, abs=0.05)
    assert found.tpr.method == "grouped bootstrap"


def test_the_setting_is_chosen_without_the_test_half() -> None:
    rng = np.random.default_rng(8)
    labels, good, group = made_up(rng, 20, 5, 0.2, 0.9)
    noise = rng.normal(size=200)
    test = ~split_in_halves(labels, group, 0)
    tempting = np.where(test, 10.0 * labels, noise)  # without error on the test half, noise on the other
    choice = choose_setting(labels, np.stack([noise, good, tempting]), group)
    assert choice.index == 1
    assert len(choice.auc_by_setting) == 3
    assert choice.held_out.estimate == pytest.approx(0.9, abs=0.1)


def test_the_best_of_many_noises_is_noise_on_the_other_half() -> None:
    rng = np.random.default_rng(9)
    labels = np.arange(80) < 40
    choices = [choose_setting(labels, rng.normal(size=(12, 80)), seed=s) for s in range(60)]
    assert np.mean([c.auc_by_setting[c.index].estimate for c in choices]) > 0.6
    assert np.mean([c.held_out.estimate for c in choices]) == pytest.approx(0.5, abs=0.04)


def test_too_few_groups_for_halves_are_refused() -> None:
    labels, scores, group = made_up(np.random.default_rng(10), 3, 10)
    with pytest.raises(AuditError, match="3 groups, too few"):
        choose_setting(labels, scores[None, :], group)
