"""AUC: the chance that a member scores higher than a non-member; and DeLong's interval for independent texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from auditlib.evidence.arrays import BoolArray, FloatArray, checked, checked_labels, checked_scores
from auditlib.evidence.intervals import Difference, Interval, clopper_pearson, logit_interval, normal_quantile


def auc(is_member: ArrayLike, scores: ArrayLike) -> float:
    """Chance that a random member (of is_member (n,)) scores above a random non-member; ties count half.

    The Mann-Whitney statistic over the number of pairs, 0 to 1; 0.5 is no separation.
    """
    values = checked_scores(scores)
    labels = checked_labels(is_member, len(values))
    n_members = int(np.count_nonzero(labels))
    if not 0 < n_members < len(labels):
        checked(is_member, scores)  # says which set is empty
    ranks = stats.rankdata(values)
    return float((ranks[labels].mean() - (n_members + 1) / 2) / (len(values) - n_members))


def placements(is_member: BoolArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """DeLong's structural components: for each member the share of non-members below it, and for each non-member
    the share of members above it; ties count half. The mean of either is the AUC.

    By midranks (Sun and Xu 2014), so n log n.
    """
    ranks = stats.rankdata(scores)
    members, non_members = scores[is_member], scores[~is_member]
    of_members = (ranks[is_member] - stats.rankdata(members)) / len(non_members)
    of_non_members = 1 - (ranks[~is_member] - stats.rankdata(non_members)) / len(members)
    return of_members, of_non_members


def delong(is_member: ArrayLike, scores: ArrayLike, level: float = 0.95) -> Interval:
    """AUC of independent texts with DeLong's interval on the logit scale (DeLong et al. 1988; Pepe 2003, 5.2.3).

    Where the sample shows no variance at all (AUC 0 or 1, or all scores equal) the interval is that of
    `pairs_interval`: wider than chance alone would make it, never a point.
    """
    labels, values, _ = checked(is_member, scores)
    of_members, of_non_members = placements(labels, values)
    estimate = auc(labels, values)
    variance = of_members.var(ddof=1) / len(of_members) + of_non_members.var(ddof=1) / len(of_non_members)
    if no_variance(estimate, float(variance)):
        return pairs_interval(estimate, min(len(of_members), len(of_non_members)), level)
    return logit_interval(estimate, float(np.sqrt(variance)), level, "DeLong on the logit scale")


def paired_delong(is_member: ArrayLike, first: ArrayLike, second: ArrayLike, level: float = 0.95) -> Difference:
    """AUC of `first` less AUC of `second`, two scores (n,) of the same independent texts (DeLong et al. 1988).

    Normal interval and two-sided z-test. Where no text's placement differs between the two, the interval is as
    wide as `unseen_difference` says, and p is 1.
    """
    labels, values, _ = checked(is_member, first)
    _, others, _ = checked(is_member, second)
    ours, theirs = placements(labels, values), placements(labels, others)
    estimate = auc(labels, values) - auc(labels, others)
    variance = sum(float((a - b).var(ddof=1)) / len(a) for a, b in zip(ours, theirs, strict=True))
    if variance < 1e-20:
        return unseen_difference(estimate, min(len(ours[0]), len(ours[1])), level)
    error = float(np.sqrt(variance))
    reach = normal_quantile(level) * error
    p = float(2 * special.ndtr(-abs(estimate) / error))
    return Difference(estimate, max(-1.0, estimate - reach), min(1.0, estimate + reach), p, level, "paired DeLong")


def no_variance(estimate: float, variance: float) -> bool:
    """Whether the sample shows no variance: the estimate is 0 or 1, or all that was compared came out the same."""
    return variance < 1e-20 or not 1e-12 < estimate < 1 - 1e-12


def pairs_interval(estimate: float, n_pairs: int, level: float) -> Interval:
    """Interval of an AUC whose sample has no variance, by the pairs that share no group.

    `n_pairs` is the number of groups in the smaller set. So many member/non-member pairs can be laid side by side
    with no group used twice; each is an independent trial that a member wins with a chance of at most (AUC 1) or
    at least (AUC 0) the true AUC, so the exact binomial interval covers.
    """
    exact = clopper_pearson(estimate * n_pairs, n_pairs, level)
    return Interval(estimate, exact.low, exact.high, level, "Clopper-Pearson over disjoint pairs")


def unseen_difference(estimate: float, n_pairs: int, level: float) -> Difference:
    """Difference of two scores that place all texts alike: as large as can go unseen in `n_pairs` disjoint pairs."""
    reach = clopper_pearson(0, n_pairs, level).high
    return Difference(
        estimate,
        max(-1.0, estimate - reach),
        min(1.0, estimate + reach),
        1.0,
        level,
        "Clopper-Pearson over disjoint pairs",
    )
