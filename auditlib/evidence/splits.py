"""Halves and folds of the texts. A group never has texts on both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from auditlib.evidence.arrays import BoolArray, Groups, IntArray, checked_labels, checked_sets, group_codes


def deal(is_member: BoolArray, codes: IntArray, hands: int, seed: int) -> IntArray:
    """A hand 0..hands-1 for each text (n,), whole groups at a time, each label dealt evenly.

    Groups are shuffled, then dealt largest first to the hand that has fewest texts of the label, so that hands
    are alike in size and in their share of members.
    """
    rng = np.random.default_rng(seed)
    n_groups = int(codes.max()) + 1
    sizes = np.bincount(codes)
    label_of_group = np.zeros(n_groups, dtype=np.bool_)
    label_of_group[codes] = is_member
    hand_of_group = np.zeros(n_groups, dtype=np.int64)
    for label in (True, False):
        own = rng.permutation(np.flatnonzero(label_of_group == label))
        own = own[np.argsort(-sizes[own], kind="stable")]
        order = rng.permutation(hands)  # which hand gets the first, and the odd one out
        filled = np.zeros(hands, dtype=np.int64)
        for group in own:
            hand = int(np.argmin(filled))
            filled[hand] += sizes[group]
            hand_of_group[group] = order[hand]
    return hand_of_group[codes]


def split_in_halves(is_member: ArrayLike, groups: Groups = None, seed: int = 0) -> BoolArray:
    """True (n,) for the calibration half, False for the test half; both labels are in both, groups in one."""
    labels = checked_labels(is_member, len(np.asarray(is_member)))
    codes = group_codes(groups, len(labels))
    checked_sets(labels, codes, groups)
    return np.asarray(deal(labels, codes, 2, seed) == 0)


def fold_of_each(is_member: BoolArray, codes: IntArray, folds: int, seed: int) -> IntArray:
    """A fold 0..k-1 for each text (n,), stratified by label, groups whole; k = `folds`, or fewer groups of a label."""
    if folds < 2:
        raise ValueError(f"{folds} folds leave nothing to fit on")
    n_groups = (len(np.unique(codes[is_member])), len(np.unique(codes[~is_member])))
    return deal(is_member, codes, min(folds, *n_groups), seed)
