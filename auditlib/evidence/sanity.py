"""Runs that must find nothing. If they find something, the audit is at fault and not the model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from auditlib.core import AuditError
from auditlib.evidence.arrays import Groups, checked, checked_scores, group_codes
from auditlib.evidence.grouped import DRAWS, auc_interval
from auditlib.evidence.intervals import Interval
from auditlib.evidence.splits import deal


def label_reversal(
    is_member: ArrayLike,
    scores: ArrayLike,
    groups: Groups = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """AUC with members called non-members and the other way round: must not lie above 0.5.

    If it does, the score is turned the wrong way, or the sets are mixed up.
    """
    labels, values, _ = checked(is_member, scores, groups)
    return auc_interval(~labels, values, groups, level, draws, seed)


def a_a_run(
    non_member_scores: ArrayLike, groups: Groups = None, seed: int = 0, level: float = 0.95, draws: int = DRAWS
) -> Interval:
    """AUC between two random halves of the non-members (n,), groups whole: its interval must hold 0.5.

    It fails to in one of twenty runs by chance.
    """
    values = checked_scores(non_member_scores)
    codes = group_codes(groups, len(values))
    n_groups = len(np.unique(codes))
    if n_groups < 4:
        raise AuditError(
            f"The non-members are of {n_groups} group{'' if n_groups == 1 else 's'}, too few for two halves.",
            "Add non-members until there are at least 4 groups.",
        )
    half = deal(np.zeros(len(values), dtype=np.bool_), codes, 2, seed) == 0
    return auc_interval(half, values, codes, level, draws, seed)
