"""Whether a score, or a set, is only a matter of length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auditlib.evidence.arrays import Groups, checked, checked_scores
from auditlib.evidence.grouped import auc_interval
from auditlib.evidence.intervals import Interval

MATERIAL_SHARE = 0.05  # quartiles closer than this, as a share of the longer, are alike whatever the ranks say
MATERIAL_AUC = 0.1  # length as a score: this far from 0.5 is material if chance cannot explain it,
PLAIN_AUC = 0.2  # and this far even if it could


@dataclass(frozen=True)
class Spearman:
    """Rank correlation rho, -1 to 1, and its two-sided p-value."""

    rho: float
    p: float


@dataclass(frozen=True)
class LengthCheck:
    """Lengths of both sets side by side; quartiles are (25%, 50%, 75%), in the unit that was given.

    auc     of length as a score: 0.5 where members are as long as non-members
    reason  one sentence that says what was found
    """

    comparable: bool
    member_quartiles: tuple[float, float, float]
    non_member_quartiles: tuple[float, float, float]
    auc: Interval
    reason: str


def length_dependence(scores: ArrayLike, lengths: ArrayLike) -> Spearman:
    """Spearman correlation of scores (n,) and lengths (n,), such as token counts; 0 where either never varies."""
    values, sizes = checked_scores(scores), checked_scores(lengths, "length")
    if len(values) < 3 or np.ptp(values) == 0 or np.ptp(sizes) == 0:
        return Spearman(0.0, 1.0)
    result = stats.spearmanr(values, sizes)
    return Spearman(float(result.statistic), float(result.pvalue))


def compare_lengths(lengths: ArrayLike, is_member: ArrayLike, groups: Groups = None, seed: int = 0) -> LengthCheck:
    """Whether members and non-members are of comparable length (n,).

    They are not where some quartile differs by more than 5%, and length as a score has an AUC further than 0.1 from
    0.5 with a 95% interval that excludes 0.5, or further than 0.2 whatever its interval. So a difference too small
    to matter passes however many texts show it, and a plain one fails however few.
    """
    labels, sizes, _ = checked(is_member, lengths, groups)
    own, others = (np.quantile(sizes[side], [0.25, 0.5, 0.75]) for side in (labels, ~labels))
    separation = auc_interval(labels, sizes, groups, seed=seed)
    distance = abs(separation.estimate - 0.5)
    beyond_chance = not separation.low <= 0.5 <= separation.high
    alike = bool(np.all(np.abs(own - others) <= MATERIAL_SHARE * np.maximum(own, others)))
    comparable = alike or not ((distance > MATERIAL_AUC and beyond_chance) or distance > PLAIN_AUC)
    found = f"members have a median length of {own[1]:,.0f} and non-members of {others[1]:,.0f}"
    if comparable:
        reason = f"The lengths are comparable: {found}, and length alone has an AUC of {separation.estimate:.2f}."
    else:
        reason = (
            f"The lengths are not comparable: {found}, and length alone separates the sets with an AUC of "
            f"{separation.estimate:.2f}."
        )
    return LengthCheck(comparable, _three(own), _three(others), separation, reason)


def _three(quartiles: np.ndarray) -> tuple[float, float, float]:
    return float(quartiles[0]), float(quartiles[1]), float(quartiles[2])
