"""Scores with a known truth: normal, with a group's share of the variance."""

from __future__ import annotations

import numpy as np
from scipy import stats

from auditlib.evidence.arrays import BoolArray, FloatArray, IntArray


def made_up(
    rng: np.random.Generator, groups: int, size: int = 1, within: float = 0.0, auc: float = 0.5
) -> tuple[BoolArray, FloatArray, IntArray]:
    """Labels, scores and groups: `groups` of members and as many of non-members, `size` texts each, true AUC `auc`."""
    group = np.repeat(np.arange(2 * groups), size)
    is_member = group < groups
    noise = np.sqrt(within) * rng.normal(size=2 * groups)[group] + np.sqrt(1 - within) * rng.normal(size=len(group))
    return is_member, noise + np.sqrt(2) * stats.norm.ppf(auc) * is_member, group
