"""Means of two sets of numbers that come in groups, and how two measures of the same things agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auditlib.core import AuditError
from auditlib.evidence.arrays import BoolArray, FloatArray, Groups, checked_labels, checked_scores, group_codes
from auditlib.evidence.intervals import Difference, Interval, normal_quantile, t_quantile

DRAWS = 10_000
FEWEST_FOR_AGREEMENT = 5


def mean_difference(values: ArrayLike, is_first: ArrayLike, groups: Groups = None, level: float = 0.95) -> Difference:
    """Mean of the groups of one set less that of the other's; values (n,), is_first bool (n,).

    Each group counts once, by its mean (of the samples of one chunk, say): Welch's t on these (Welch 1947). p is
    two-sided. Raises `AuditError` where a set has fewer than 2 groups, or where no value differs from another of its
    set, so that nothing can be said about chance.
    """
    means, first = _group_means(values, is_first, groups)
    ours, theirs = means[first], means[~first]
    variances = [float(side.var(ddof=1)) / len(side) for side in (ours, theirs)]
    estimate = float(ours.mean() - theirs.mean())
    total = sum(variances)
    if total < 1e-20:
        raise AuditError(
            "Within each of the two sets all numbers are the same, so nothing can be said about chance.",
            "Compare more of them, or by another measure.",
        )
    freedom = total**2 / sum(v**2 / (len(side) - 1) for v, side in zip(variances, (ours, theirs), strict=True))
    error = float(np.sqrt(total))
    reach = t_quantile(level, freedom) * error
    p = float(2 * stats.t.sf(abs(estimate) / error, freedom))
    return Difference(estimate, estimate - reach, estimate + reach, p, level, "Welch's t over groups")


def permutation_p(
    values: ArrayLike, is_first: ArrayLike, groups: Groups = None, draws: int = DRAWS, seed: int = 0
) -> float:
    """Two-sided p for "both sets have one distribution": how often sets dealt at random differ as much.

    Whole groups are dealt; the statistic is Welch's t, which keeps p right where the sets vary differently (Janssen
    1997). Never below 1/(draws + 1). Raises `AuditError` where a set has fewer than 2 groups.
    """
    means, first = _group_means(values, is_first, groups)
    observed = _welch(means, first[None, :])[0]
    rng = np.random.default_rng(seed)
    block = max(1, 1_000_000 // len(means))
    at_least = 0
    for start in range(0, draws, block):
        dealt = rng.permuted(np.tile(first, (min(block, draws - start), 1)), axis=1)
        at_least += int(np.count_nonzero(_welch(means, dealt) >= observed - 1e-12))
    return (1 + at_least) / (draws + 1)


def mean_of_groups(values: ArrayLike, groups: Groups = None, level: float = 0.95) -> Difference:
    """Mean of the groups' means, against 0: Student's t over groups. Raises `AuditError` for fewer than 2 groups."""
    numbers = checked_scores(values)
    codes = group_codes(groups, len(numbers))
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    if n_groups < 2:
        raise AuditError("A mean of one piece has no interval.", "Take more texts.")
    means = np.bincount(codes, weights=numbers) / np.bincount(codes)
    estimate, error = float(means.mean()), float(means.std(ddof=1) / np.sqrt(n_groups))
    if error == 0:
        return Difference(estimate, estimate, estimate, 1.0 if estimate == 0 else 0.0, level, "all the same")
    reach = t_quantile(level, n_groups - 1) * error
    p = float(2 * stats.t.sf(abs(estimate) / error, n_groups - 1))
    return Difference(estimate, estimate - reach, estimate + reach, p, level, "Student's t over groups")


def rank_agreement(ours: ArrayLike, theirs: ArrayLike, groups: Groups = None, level: float = 0.95) -> Interval:
    """Spearman's correlation of two measures of the same things (n,), with its interval on Fisher's scale.

    The error is Bonett and Wright's (2000) with the number of groups for the number of things, which is never too
    small where things of a group are alike. Raises `AuditError` for fewer than 5 groups or a measure that never varies.
    """
    one, other = checked_scores(ours), checked_scores(theirs)
    codes = group_codes(groups, len(one))
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    if n_groups < FEWEST_FOR_AGREEMENT:
        raise AuditError(
            f"An agreement needs at least {FEWEST_FOR_AGREEMENT} texts, and there are {n_groups}.", "Have more rated."
        )
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        raise AuditError("One of the two measures is the same for all, so it agrees with nothing.", "Have more rated.")
    rho = float(stats.spearmanr(one, other).statistic)
    middle = np.arctanh(np.clip(rho, -1 + 1e-12, 1 - 1e-12))
    reach = normal_quantile(level) * np.sqrt((1 + rho**2 / 2) / (n_groups - 3))
    low, high = (float(np.tanh(middle + side * reach)) for side in (-1, 1))
    return Interval(rho, min(low, rho), max(high, rho), level, "Spearman with Fisher's interval over groups")


def _group_means(values: ArrayLike, is_first: ArrayLike, groups: Groups) -> tuple[FloatArray, BoolArray]:
    """Each group's mean (g,) and whether it is of the first set (g,)."""
    numbers = checked_scores(values)
    labels = checked_labels(is_first, len(numbers))
    codes = group_codes(groups, len(numbers))
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    sizes = np.bincount(codes, minlength=n_groups)
    shares = np.bincount(codes, weights=labels, minlength=n_groups) / np.maximum(sizes, 1)
    if np.any((shares > 0) & (shares < 1)):
        raise ValueError("a group stands in both sets")
    first = shares == 1
    for side in (first, ~first):
        n = int(np.count_nonzero(side))
        if n < 2:
            raise AuditError(
                f"One of the two sets that are compared has {n or 'no'} piece{'' if n == 1 else 's'}.",
                "A difference needs at least 2 of each.",
            )
    return np.bincount(codes, weights=numbers) / sizes, first


def _welch(means: FloatArray, first: BoolArray) -> FloatArray:
    """|t| of the groups' means (g,) for each row of labels (draws, g)."""
    sides = []
    for own in (first.astype(np.float64), (~first).astype(np.float64)):
        n = own.sum(axis=1)
        mean = own @ means / n
        spread = np.maximum(own @ means**2 - n * mean**2, 0) / np.maximum(n - 1, 1)
        sides.append((mean, spread / n))
    error = np.sqrt(np.maximum(sides[0][1] + sides[1][1], 1e-24))
    return np.asarray(np.abs(sides[0][0] - sides[1][0]) / error)
