"""What a threshold achieves on texts it was not chosen on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from auditlib.core import AuditError
from auditlib.evidence.arrays import BoolArray, FloatArray, Groups, checked, checked_scores
from auditlib.evidence.grouped import auc_interval, share_interval
from auditlib.evidence.intervals import Interval
from auditlib.evidence.roc import best_accuracy_threshold, threshold_at_fpr
from auditlib.evidence.splits import fold_of_each, split_in_halves

Rule = Literal["accuracy"] | float
"""How a threshold is chosen: best accuracy, or the FPR (0 to 1) that it may have."""


@dataclass(frozen=True)
class TprAtFpr:
    """A threshold fixed on one half of the texts, and what it does on the other.

    asked    the FPR that was asked for
    fpr      the FPR realised on the test half, which is never quite the one asked for
    n_calibration_non_members, n_members, n_non_members   texts the threshold came from, and those it was tried on
    """

    threshold: float
    tpr: Interval
    fpr: Interval
    asked: float
    n_calibration_non_members: int
    n_members: int
    n_non_members: int


@dataclass(frozen=True)
class OutOfFold:
    """What a way of choosing thresholds achieves on texts outside the choice, and the threshold it gives on all."""

    threshold: float
    accuracy: Interval
    tpr: Interval
    fpr: Interval
    folds: int


@dataclass(frozen=True)
class Calls:
    """Which texts (n,) were called members by a threshold chosen without them, and the threshold that all give."""

    threshold: float
    called: BoolArray
    folds: int


@dataclass(frozen=True)
class SettingChoice:
    """Which setting separates best on the calibration half, and how well that one does on the other half."""

    index: int
    auc_by_setting: tuple[Interval, ...]  # on the calibration half; do not quote the best of these
    held_out: Interval


def tpr_at_fpr(
    is_member: ArrayLike, scores: ArrayLike, fpr: float, groups: Groups = None, seed: int = 0, level: float = 0.95
) -> TprAtFpr:
    """TPR at a chosen FPR: threshold from the calibration half's non-members, both rates from the other half.

    Clopper-Pearson intervals, or grouped bootstraps where groups hold several texts; both for the threshold as it
    stands. Raises `AuditError` where the calibration half has fewer than 1/fpr non-members.
    """
    labels, values, codes = checked(is_member, scores, groups)
    calibration = split_in_halves(labels, groups, seed)
    try:
        threshold = threshold_at_fpr(values[calibration & ~labels], fpr)
    except AuditError as error:
        needed = 2 * int(np.ceil(1 / fpr - 1e-9))
        raise AuditError(
            error.wrong,
            f"Half of the non-members fix the threshold, so {needed} are needed in all; or ask for a larger rate.",
        ) from error
    test = ~calibration
    rates = [
        share_interval(values[own] >= threshold, codes[own], level=level, seed=seed)
        for own in (test & labels, test & ~labels)
    ]
    n_calibration = int(np.count_nonzero(calibration & ~labels))
    counts = (int(np.count_nonzero(test & labels)), int(np.count_nonzero(test & ~labels)))
    return TprAtFpr(threshold, rates[0], rates[1], fpr, n_calibration, *counts)


def out_of_fold_accuracy(
    is_member: ArrayLike,
    scores: ArrayLike,
    groups: Groups = None,
    rule: Rule = "accuracy",
    folds: int = 5,
    seed: int = 0,
    level: float = 0.95,
) -> OutOfFold:
    """Accuracy, TPR and FPR of texts called by a threshold that was chosen without their fold.

    The intervals take the calls as independent given their thresholds, groups aside.
    """
    labels, values, codes = checked(is_member, scores, groups)
    calls = called_out_of_fold(labels, values, groups, rule, folds, seed)
    accuracy = share_interval(calls.called == labels, codes, labels, level, seed=seed)
    tpr = share_interval(calls.called[labels], codes[labels], level=level, seed=seed)
    fpr = share_interval(calls.called[~labels], codes[~labels], level=level, seed=seed)
    return OutOfFold(calls.threshold, accuracy, tpr, fpr, calls.folds)


def called_out_of_fold(
    is_member: ArrayLike,
    scores: ArrayLike,
    groups: Groups = None,
    rule: Rule = "accuracy",
    folds: int = 5,
    seed: int = 0,
) -> Calls:
    """Each text (n,) called by the threshold of the other folds, and the threshold that all of them give.

    Raises `AuditError` where a fold's rest has too few non-members for the FPR that `rule` asks for.
    """
    labels, values, codes = checked(is_member, scores, groups)
    fold = fold_of_each(labels, codes, folds, seed)
    called = np.zeros(len(values), dtype=np.bool_)
    for k in range(int(fold.max()) + 1):
        own = fold == k
        called[own] = values[own] >= _threshold(labels[~own], values[~own], rule)
    return Calls(_threshold(labels, values, rule), called, int(fold.max()) + 1)


def choose_setting(
    is_member: ArrayLike,
    scores_by_setting: ArrayLike,
    groups: Groups = None,
    seed: int = 0,
    level: float = 0.95,
) -> SettingChoice:
    """The setting (row of scores (settings, n), such as a k of Min-K%) with the highest AUC on the calibration half,
    judged on the test half. Of equal ones the first."""
    if np.ndim(scores_by_setting) != 2:
        raise ValueError("scores_by_setting must be (settings, n)")
    rows = np.stack([checked_scores(row) for row in np.asarray(scores_by_setting)])
    labels, _, codes = checked(is_member, rows[0], groups)
    fewest = min(len(np.unique(codes[labels])), len(np.unique(codes[~labels])))
    if fewest < 4:
        raise AuditError(
            f"The smaller set has {fewest} groups, too few to choose a setting on one half and judge it on the other.",
            "Add texts until each set has at least 4 groups, or fix the setting beforehand.",
        )
    calibration = split_in_halves(labels, codes, seed)
    intervals = tuple(
        auc_interval(labels[calibration], row[calibration], codes[calibration], level, seed=seed) for row in rows
    )
    index = int(np.argmax([interval.estimate for interval in intervals]))
    test = ~calibration
    return SettingChoice(index, intervals, auc_interval(labels[test], rows[index][test], codes[test], level, seed=seed))


def _threshold(is_member: BoolArray, scores: FloatArray, rule: Rule) -> float:
    if rule == "accuracy":
        return best_accuracy_threshold(is_member, scores)
    return threshold_at_fpr(scores[~is_member], rule)
