"""Runs that must find nothing."""

from __future__ import annotations

import numpy as np
import pytest

from auditlib.core import AuditError
from auditlib.evidence import a_a_run, auc_interval, label_reversal
from tests.evidence.made_up import made_up


def test_reversed_labels_mirror_the_auc() -> None:
    labels, scores, group = made_up(np.random.default_rng(1), 20, 5, 0.3, 0.8)
    forward, reversed_ = auc_interval(labels, scores, group), label_reversal(labels, scores, group)
    assert reversed_.estimate == pytest.approx(1 - forward.estimate)
    assert reversed_.high < 0.5


def test_a_a_holds_a_half_in_about_95_percent_also_with_groups() -> None:
    rng = np.random.default_rng(2)
    held = 0
    for seed in range(200):
        _, scores, group = made_up(rng, 10, 10, 0.5)
        interval = a_a_run(scores, group, seed=seed, draws=300)
        held += interval.low <= 0.5 <= interval.high
    assert held / 200 >= 0.91


def test_a_a_never_splits_a_group() -> None:
    group = np.repeat(np.arange(4), 5)
    # Each group has its own level: split groups would tie, whole ones are above or below.
    assert (a_a_run(group.astype(float), group).estimate * 100) % 25 == 0


def test_a_a_of_three_groups_is_refused() -> None:
    with pytest.raises(AuditError, match="3 groups, too few"):
        a_a_run(np.arange(6.0), [0, 0, 1, 1, 2, 2])
