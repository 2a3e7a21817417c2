"""The ROC curve and the two ways to choose a threshold. A text is called a member when its score >= threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from auditlib.core import AuditError
from auditlib.evidence.arrays import FloatArray, checked, checked_scores


@dataclass(frozen=True)
class Roc:
    """Every threshold there is, highest first; the first (infinite) calls nothing a member."""

    fpr: FloatArray  # (points,), share of non-members called members
    tpr: FloatArray  # (points,), share of members called members
    thresholds: FloatArray  # (points,)


def roc(is_member: ArrayLike, scores: ArrayLike) -> Roc:
    """The ROC curve of scores (n,): one point for each distinct score, after (0, 0)."""
    labels, values, _ = checked(is_member, scores)
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    last = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1)  # of each run of equal scores
    n_true = np.cumsum(labels[order])[last]
    n_false = last + 1 - n_true
    return Roc(
        np.concatenate([[0.0], n_false / n_false[-1]]),
        np.concatenate([[0.0], n_true / n_true[-1]]),
        np.concatenate([[np.inf], ordered[last]]),
    )


def best_accuracy_threshold(is_member: ArrayLike, scores: ArrayLike) -> float:
    """The threshold that calls most texts right (Shi et al. 2024, section 5.1).

    It lies half-way to the next lower score. Of equally good ones the highest is taken, which calls fewest
    non-members members. With sets of unequal size accuracy favours the larger: calibrate with equal ones.
    """
    labels, values, _ = checked(is_member, scores)
    curve = roc(labels, values)
    n_members = int(labels.sum())
    right = curve.tpr * n_members + (1 - curve.fpr) * (len(labels) - n_members)
    best = int(np.argmax(np.round(right)))  # counts of texts: rounding takes away what division left
    if best == 0:
        return float(np.nextafter(values.max(), np.inf))
    if best == len(curve.thresholds) - 1:
        return float(curve.thresholds[best])
    upper, lower = curve.thresholds[best], curve.thresholds[best + 1]
    middle = lower + (upper - lower) / 2
    return float(middle if middle > lower else upper)


def threshold_at_fpr(non_member_scores: ArrayLike, fpr: float) -> float:
    """The lowest threshold that at most a share `fpr` of these non-members (n,) reaches.

    Raises `AuditError` for an FPR below 1/n, where even one false alarm would be too many to tell.
    """
    if not 0 < fpr < 1:
        raise ValueError(f"fpr must lie between 0 and 1, not {fpr}")
    values = checked_scores(non_member_scores)
    allowed = math.floor(fpr * len(values) + 1e-9)
    if allowed < 1:
        needed = math.ceil(1 / fpr - 1e-9)
        raise AuditError(
            f"A false-positive rate of {fpr:.3g} cannot be resolved with {len(values)} non-members.",
            f"Use at least {needed} non-members here, or ask for a rate of at least {1 / max(1, len(values)):.3g}.",
        )
    return float(np.nextafter(np.sort(values)[-1 - allowed], np.inf))
