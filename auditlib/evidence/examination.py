"""From arrays to `Findings`: the one place where what a verdict rests on is put together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from auditlib.evidence.arrays import BoolArray, FloatArray, Groups, checked, each_its_own
from auditlib.evidence.auc import delong
from auditlib.evidence.blind import cross_validated_auc
from auditlib.evidence.grouped import auc_difference, auc_interval, auc_p
from auditlib.evidence.intervals import Interval
from auditlib.evidence.lengths import compare_lengths
from auditlib.evidence.over_blind import adds_to_blind, auc_over_blind
from auditlib.evidence.planner import power_to_see
from auditlib.evidence.verdict import SMALLEST_AUC, Findings


def examine(
    is_member: ArrayLike,
    scores: ArrayLike,
    groups: Groups = None,
    *,
    blind_scores: ArrayLike | None,
    lengths: ArrayLike | None,
    same_model: bool,
    shared_texts: int = 0,
    n_tried: int = 1,
    placebo_scores: ArrayLike | None = None,
    smallest_auc: float = SMALLEST_AUC,
    seed: int = 0,
) -> Findings:
    """What `calibration_verdict` rests on, for one score (n,) of texts with `blind_scores` (n,) and `lengths` (n,).

    `n_tried` scores or settings were looked at, of which this is one; p is corrected for that (Bonferroni).
    `placebo_scores` (n,) are the same score under a model that cannot have seen the texts.
    """
    labels, values, codes = checked(is_member, scores, groups)
    auc = auc_interval(labels, values, groups, seed=seed)
    p = auc_p(labels, values, groups, seed=seed)
    blind_auc = over_blind = adds_p = None
    if blind_scores is not None:
        blind = np.asarray(blind_scores, dtype=np.float64)
        blind_auc = cross_validated_auc(labels, blind, groups, seed=seed)
        over_blind = auc_over_blind(labels, values, blind, groups, seed=seed)
        adds = adds_to_blind(labels, values, blind, groups)
        adds_p = adds.p if adds.direction > 0 else 1.0
    share_worth = 1.0 if each_its_own(codes) else _worth_of_a_text(labels, values, auc)
    n_members = float(np.count_nonzero(labels))
    return Findings(
        auc=auc,
        p=p,
        p_corrected=min(1.0, p * n_tried),
        blind_auc=blind_auc,
        over_blind=over_blind,
        adds_to_blind_p=adds_p,
        lengths=None if lengths is None else compare_lengths(lengths, labels, groups, seed),
        power=power_to_see(
            smallest_auc, max(1.0, n_members * share_worth), max(1.0, (len(values) - n_members) * share_worth)
        ),
        same_model=same_model,
        shared_texts=shared_texts,
        scores_vary=bool(np.ptp(values) > 0),
        placebo_auc=None if placebo_scores is None else auc_interval(labels, placebo_scores, groups, seed=seed),
        over_placebo=None
        if placebo_scores is None
        else auc_difference(labels, values, placebo_scores, groups, seed=seed),
    )


def _worth_of_a_text(is_member: BoolArray, scores: FloatArray, grouped: Interval) -> float:
    """How much of an independent text a text of a group is worth: the squared ratio of the intervals' widths."""
    independent = delong(is_member, scores, grouped.level)
    width = grouped.high - grouped.low
    return min(1.0, ((independent.high - independent.low) / width) ** 2) if width > 0 else 1.0
