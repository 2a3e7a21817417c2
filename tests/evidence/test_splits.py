"""Halves and folds keep groups whole and labels even."""

from __future__ import annotations

import numpy as np

from auditlib.evidence import split_in_halves
from auditlib.evidence.splits import fold_of_each

SIZES = np.array([30, 12, 9, 7, 5, 5, 3, 1, 1, 1] * 4)
GROUP = np.repeat(np.arange(40), SIZES)
LABELS = GROUP % 2 == 0


def test_no_group_straddles_the_halves_and_each_half_has_both_labels() -> None:
    for seed in range(20):
        calibration = split_in_halves(LABELS, GROUP, seed)
        assert not set(GROUP[calibration]) & set(GROUP[~calibration])
        for side in (LABELS, ~LABELS):
            share = np.count_nonzero(calibration & side) / np.count_nonzero(side)
            assert 0.45 <= share <= 0.55


def test_halves_follow_the_seed() -> None:
    assert np.array_equal(split_in_halves(LABELS, GROUP, 3), split_in_halves(LABELS, GROUP, 3))
    assert len({split_in_halves(LABELS, GROUP, seed).tobytes() for seed in range(20)}) > 15


def test_folds_keep_groups_whole_and_shares_of_members_alike() -> None:
    fold = fold_of_each(LABELS, GROUP, 5, 0)
    assert all(len(set(fold[g == GROUP])) == 1 for g in range(40))
    shares = [LABELS[fold == k].mean() for k in range(5)]
    assert np.ptp(shares) < 0.1


def test_fewer_groups_than_folds_give_fewer_folds() -> None:
    group = np.repeat(np.arange(6), 10)
    assert fold_of_each(group < 3, group, 5, 0).max() + 1 == 3
