"""AUC and shares where texts come in groups: bootstraps that draw whole groups, each label by itself.

Every draw takes one group fewer than there are, with replacement: drawing all G makes the spread too small by
(G - 1)/G, which matters with twenty books (Rao and Wu 1988). The interval is the estimate's logit, give or take the
spread of the draws' logits times Student's t, with Satterthwaite's degrees of freedom from the two sets. Simulation
chose it: with 20 + 20 groups of 10 snippets and an AUC of 0.97 it covers 95%, percentiles cover 86% to 91%.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from auditlib.evidence.arrays import BoolArray, FloatArray, Groups, IntArray, checked, each_its_own, group_codes
from auditlib.evidence.auc import (
    auc,
    delong,
    no_variance,
    paired_delong,
    pairs_interval,
    placements,
    unseen_difference,
)
from auditlib.evidence.intervals import Difference, Interval, clopper_pearson, logit_interval, t_quantile

DRAWS = 2000
_CELLS = 100_000  # draws are worked through in blocks of about so many numbers, which stay in the cache


def auc_interval(
    is_member: ArrayLike,
    scores: ArrayLike,
    groups: Groups = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """AUC of scores (n,) with its interval: DeLong's where each text is its own group, else the grouped bootstrap."""
    labels, values, codes = checked(is_member, scores, groups)
    if each_its_own(codes):
        return delong(labels, values, level)
    estimate = auc(labels, values)
    sample = _auc_draws(labels, values[None, :], codes, draws, seed)[0]
    if no_variance(estimate, float(sample.var())):
        return pairs_interval(estimate, min(_group_counts(labels, codes)), level)
    # A draw can separate without error, and its logit be infinite: it counts as one with a tenth of the errors found,
    # which simulation found to cover best with 5 to 40 groups a side.
    least = min(estimate, 1 - estimate) / 10
    spread = float(special.logit(np.clip(sample, least, 1 - least)).std())
    freedom = _freedom(placements(labels, values), labels, codes)
    return logit_interval(estimate, spread * estimate * (1 - estimate), level, "grouped bootstrap", freedom)


def auc_difference(
    is_member: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    groups: Groups = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Difference:
    """AUC of `first` less AUC of `second` on the same texts (n,): paired DeLong, or the grouped bootstrap with both
    scores in the same draws."""
    labels, values, codes = checked(is_member, first, groups)
    _, others, _ = checked(is_member, second, groups)
    if each_its_own(codes):
        return paired_delong(labels, values, others, level)
    estimate = auc(labels, values) - auc(labels, others)
    sample = _auc_draws(labels, np.stack([values, others]), codes, draws, seed)
    error = float((sample[0] - sample[1]).std())
    if error < 1e-10:
        return unseen_difference(estimate, min(_group_counts(labels, codes)), level)
    ours, theirs = placements(labels, values), placements(labels, others)
    freedom = _freedom((ours[0] - theirs[0], ours[1] - theirs[1]), labels, codes)
    reach = t_quantile(level, freedom) * error
    p = float(2 * stats.t.sf(abs(estimate) / error, freedom))
    return Difference(estimate, max(-1.0, estimate - reach), min(1.0, estimate + reach), p, level, "grouped bootstrap")


def auc_p(is_member: ArrayLike, scores: ArrayLike, groups: Groups = None, draws: int = DRAWS, seed: int = 0) -> float:
    """One-sided p-value for "members score no higher than non-members" against AUC > 0.5.

    Where each text is its own group: the Mann-Whitney test (exact for small sets without ties). Else labels are
    dealt anew to whole groups `draws` times, and the statistic is Welch's t of the pooled ranks with errors by
    group, so that p holds also where groups are of unequal size (Janssen 1997; Chung and Romano 2013). Then the
    smallest p possible is 1/(draws + 1), or one over the number of ways to deal.
    """
    labels, values, codes = checked(is_member, scores, groups)
    if each_its_own(codes):
        if np.ptp(values) == 0:
            return 1.0
        return float(stats.mannwhitneyu(values[labels], values[~labels], alternative="greater").pvalue)
    n_groups = int(codes.max()) + 1
    sizes: FloatArray = np.bincount(codes).astype(np.float64)
    rank_sums: FloatArray = np.asarray(np.bincount(codes, weights=stats.rankdata(values)), dtype=np.float64)
    group_is_member = np.zeros(n_groups, dtype=np.bool_)
    group_is_member[codes] = labels
    observed = _rank_t(rank_sums, sizes, group_is_member[None, :])[0]
    rng = np.random.default_rng(seed)
    at_least = 0
    for n_rows in blocks_of_draws(draws, n_groups):
        dealt = rng.permuted(np.tile(group_is_member, (n_rows, 1)), axis=1)
        at_least += int(np.count_nonzero(_rank_t(rank_sums, sizes, dealt) >= observed - 1e-9))
    return (1 + at_least) / (draws + 1)


def share_interval(
    hits: ArrayLike,
    groups: Groups = None,
    strata: ArrayLike | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """Share of `hits` (n,) that are true: Clopper-Pearson, or the grouped bootstrap where groups hold several texts.

    `strata` (n,), such as labels, are drawn from one by one. If all texts or none are hits, the interval is
    Clopper-Pearson's with each group as one trial: wide, and still covering, as a group's share is at most 1.
    """
    flags = np.asarray(hits, dtype=np.bool_)
    codes = group_codes(groups, len(flags))
    if len(flags) == 0:
        raise ValueError("no texts to take a share of")
    if each_its_own(codes):
        return clopper_pearson(int(flags.sum()), len(flags), level)
    n_groups = int(codes.max()) + 1
    sizes = np.bincount(codes).astype(np.float64)
    group_hits = np.bincount(codes, weights=flags)
    stratum_of_group = np.zeros(n_groups, dtype=np.int64)
    if strata is not None:
        stratum_of_group[codes] = np.unique(np.asarray(strata), return_inverse=True)[1]
    places = [np.flatnonzero(stratum_of_group == s) for s in range(int(stratum_of_group.max()) + 1)]
    freedom = sum(len(own) - 1 for own in places)
    estimate = float(flags.mean())
    rng = np.random.default_rng(seed)
    sample = np.empty(draws)
    done = 0
    for n_rows in blocks_of_draws(draws, n_groups):
        hit_sum, size_sum = np.zeros(n_rows), np.zeros(n_rows)
        for own in places:
            counts = group_draws(len(own), n_rows, rng) * (len(own) / max(1, len(own) - 1))
            hit_sum += counts @ group_hits[own]
            size_sum += counts @ sizes[own]
        sample[done : done + n_rows] = hit_sum / size_sum
        done += n_rows
    if no_variance(estimate, float(sample.var())) or freedom == 0:
        exact = clopper_pearson(estimate * n_groups, n_groups, level)
        return Interval(estimate, exact.low, exact.high, level, "Clopper-Pearson over groups")
    return logit_interval(estimate, float(sample.std()), level, "grouped bootstrap", freedom)


def group_draws(n_groups: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """How often each group is drawn (draws, n_groups): n_groups - 1 with replacement, at least one."""
    n_drawn = max(1, n_groups - 1)
    picked = rng.integers(n_groups, size=(draws, n_drawn)) + n_groups * np.arange(draws)[:, None]
    return np.bincount(picked.ravel(), minlength=draws * n_groups).reshape(draws, n_groups).astype(np.float64)


def _auc_draws(
    is_member: BoolArray, scores: FloatArray, codes: IntArray, draws: int, seed: int
) -> FloatArray:  # scores (scores, n) -> (scores, draws)
    """AUC of each score in each draw, the same draws for all.

    A drawn AUC needs no text again: it is made of the wins between each member group and each non-member group.
    """
    rng = np.random.default_rng(seed)
    member_of = np.unique(codes[is_member], return_inverse=True)[1]
    other_of = np.unique(codes[~is_member], return_inverse=True)[1]
    member_sizes, other_sizes = np.bincount(member_of), np.bincount(other_of)
    wins = [_wins_of_groups(row[is_member], member_of, row[~is_member], other_of) for row in scores]
    result = np.empty((len(scores), draws))
    done = 0
    for n_rows in blocks_of_draws(draws, len(member_sizes) + len(other_sizes)):
        members = group_draws(len(member_sizes), n_rows, rng)
        others = group_draws(len(other_sizes), n_rows, rng)
        pairs = (members @ member_sizes) * (others @ other_sizes)
        for place, table in enumerate(wins):
            result[place, done : done + n_rows] = np.einsum("ij,ij->i", members @ table, others) / pairs
        done += n_rows
    return result


def _wins_of_groups(members: FloatArray, member_of: IntArray, others: FloatArray, other_of: IntArray) -> FloatArray:
    """Pairs that a member of group g wins against a non-member of group h (g, h); ties count half."""
    wins = np.empty((int(member_of.max()) + 1, int(other_of.max()) + 1))
    order = np.lexsort((others, other_of))
    for h, own in enumerate(np.split(others[order], np.cumsum(np.bincount(other_of))[:-1])):
        won = np.searchsorted(own, members, "left") + np.searchsorted(own, members, "right")
        wins[:, h] = np.bincount(member_of, weights=won) / 2
    return wins


def _freedom(placed: tuple[FloatArray, FloatArray], is_member: BoolArray, codes: IntArray) -> float:
    """Satterthwaite's degrees of freedom (1946) of an AUC, from the placements of members and non-members.

    Each set's part of the variance is that of its groups' sums (Obuchowski 1997) and has groups - 1; a set that
    gives most of the variance then decides.
    """
    variances, freedoms = [], []
    for own, side in zip(placed, (is_member, ~is_member), strict=True):
        groups = np.unique(codes[side], return_inverse=True)[1]
        sums = np.bincount(groups, weights=own - own.mean())
        variances.append(float(sums @ sums) / (1 - 1 / len(sums)) / len(own) ** 2)
        freedoms.append(len(sums) - 1)
    total = sum(variances)
    if total == 0:
        return float(min(freedoms))
    return total**2 / sum(v**2 / f for v, f in zip(variances, freedoms, strict=True))


def _rank_t(rank_sums: FloatArray, sizes: FloatArray, group_is_member: BoolArray) -> FloatArray:
    """Welch's t of mean rank, members less non-members, errors by group; one for each row of labels (draws, G)."""
    means, variances = [], []
    for own in (group_is_member.astype(np.float64), (~group_is_member).astype(np.float64)):
        n_groups = own.sum(axis=1)
        n_texts = own @ sizes
        mean = (own @ rank_sums) / n_texts
        spread = own @ rank_sums**2 - 2 * mean * (own @ (rank_sums * sizes)) + mean**2 * (own @ sizes**2)
        means.append(mean)
        variances.append(np.maximum(spread, 0) * n_groups / (n_groups - 1) / n_texts**2)
    gap = means[0] - means[1]
    error = np.sqrt(np.maximum(variances[0] + variances[1], 1e-9))
    return np.asarray(gap / error)


def _group_counts(is_member: BoolArray, codes: IntArray) -> tuple[int, int]:
    return len(np.unique(codes[is_member])), len(np.unique(codes[~is_member]))


def blocks_of_draws(draws: int, width: int) -> Iterator[int]:
    """Draws in blocks that fit the memory: sizes that add up to `draws`."""
    size = max(1, _CELLS // max(1, width))
    for start in range(0, draws, size):
        yield min(size, draws - start)
