"""The ROC curve against scikit-learn, thresholds against trying them all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from auditlib.core import AuditError
from auditlib.evidence import best_accuracy_threshold, roc, threshold_at_fpr
from tests.evidence.made_up import made_up


def test_roc_is_scikit_learns_also_with_ties() -> None:
    rng = np.random.default_rng(1)
    labels, scores = np.arange(200) < 80, rng.integers(0, 30, 200).astype(float)
    fpr, tpr, thresholds = roc_curve(labels, scores, drop_intermediate=False)
    curve = roc(labels, scores)
    np.testing.assert_allclose(curve.fpr, fpr)
    np.testing.assert_allclose(curve.tpr, tpr)
    np.testing.assert_array_equal(curve.thresholds, thresholds)


@given(st.lists(st.integers(0, 8), min_size=4, max_size=12), st.lists(st.integers(0, 8), min_size=4, max_size=12))
def test_no_threshold_is_more_accurate(members: list[int], non_members: list[int]) -> None:
    scores = np.array(members + non_members, dtype=float)
    labels = np.arange(len(scores)) < len(members)

    def right(threshold: float) -> int:
        return int(np.count_nonzero((scores >= threshold) == labels))

    assert right(best_accuracy_threshold(labels, scores)) == max(right(t) for t in [*scores, 99.0])


def test_best_threshold_lies_half_way_and_prefers_few_false_alarms() -> None:
    labels = np.array([True, True, False, False])
    assert best_accuracy_threshold(labels, np.array([4.0, 3.0, 1.0, 0.0])) == 2.0
    # 5 alone, or all three of 5, 3 and 2 above the line: three right either way, the first without a false alarm.
    assert best_accuracy_threshold(labels, np.array([5.0, 2.0, 3.0, 0.0])) == 4.0


def test_best_threshold_where_scores_are_all_equal_or_neighbours() -> None:
    labels = np.array([True, True, False, False])
    assert best_accuracy_threshold(labels, np.zeros(4)) > 0
    tight = np.array([1.0, 1.0, np.nextafter(1.0, 0.0), 0.5])
    assert best_accuracy_threshold(labels, tight) == 1.0


@given(st.lists(st.integers(0, 20), min_size=20, max_size=60), st.sampled_from([0.05, 0.1, 0.25]))
def test_threshold_keeps_the_fpr_and_wastes_none(non_members: list[int], fpr: float) -> None:
    scores = np.array(non_members, dtype=float)
    threshold = threshold_at_fpr(scores, fpr)
    allowed = int(fpr * len(scores) + 1e-9)
    assert np.count_nonzero(scores >= threshold) <= allowed
    # The next lower score would let in too many.
    assert np.count_nonzero(scores >= np.nextafter(threshold, -np.inf)) > allowed


def test_an_fpr_that_cannot_be_resolved_is_refused_with_the_number_needed() -> None:
    with pytest.raises(AuditError, match=r"0.01 cannot be resolved with 50 non-members. Use at least 100"):
        threshold_at_fpr(made_up(np.random.default_rng(2), 25)[1], 0.01)
    assert threshold_at_fpr(np.arange(100.0), 0.01) > 98
