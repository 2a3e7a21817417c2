"""Contamination rate: the share of a book's snippets called members, and what the detector's errors leave of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from auditlib.core import AuditError
from auditlib.evidence.arrays import BoolArray, Groups, IntArray, each_its_own, group_codes
from auditlib.evidence.grouped import DRAWS, blocks_of_draws, group_draws, share_interval
from auditlib.evidence.intervals import Interval, t_quantile


@dataclass(frozen=True)
class CorrectedRate:
    """The raw rate, and the rate corrected for the detector's TPR and FPR.

    corrected  None where the detector does not tell members from non-members well enough
    reason     one sentence: what the correction did, or why there is none
    """

    raw: Interval
    corrected: Interval | None
    reason: str


@dataclass(frozen=True)
class DetectorErrors:
    """How often a detector calls known members and known non-members members, and how sure that is.

    tpr, fpr                    shares of the snippets of known members and non-members
    tpr_variance, fpr_variance  of these shares, from draws of whole groups
    tpr_spread, fpr_spread      standard deviation of a single work's own share around them; 0 where no work has
                                several snippets, as it cannot be seen then
    freedoms                    groups of members and of non-members, less 1
    """

    tpr: float
    fpr: float
    tpr_variance: float
    fpr_variance: float
    tpr_spread: float
    fpr_spread: float
    freedoms: tuple[int, int]


def detector_errors(
    members: ArrayLike,
    non_members: ArrayLike,
    member_groups: Groups = None,
    non_member_groups: Groups = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> DetectorErrors:
    """The errors seen on known members (m,) and known non-members (n,), called by a threshold chosen without them.

    Raises `AuditError` where a set has fewer than two snippets, or all of them belong to one group.
    """
    shares, variances, spreads, freedoms = [], [], [], []
    rng = np.random.default_rng(seed)
    for name, side, groups in (
        ("members", members, member_groups),
        ("non-members", non_members, non_member_groups),
    ):
        flags = np.asarray(side, dtype=np.bool_)
        _refuse_few(flags, f"known {name}")
        codes = group_codes(groups, len(flags))
        if codes.max() == 0:
            raise AuditError(
                f"All known {name} belong to one group, so nothing can be said about chance.",
                "Calibrate with at least two groups of each, better twenty.",
            )
        shares.append(float(flags.mean()))
        variances.append(_share_variance(flags, codes, draws, rng))
        spreads.append(_spread_between(flags, codes))
        freedoms.append(int(codes.max()))
    return DetectorErrors(
        tpr=shares[0],
        fpr=shares[1],
        tpr_variance=variances[0],
        fpr_variance=variances[1],
        tpr_spread=spreads[0],
        fpr_spread=spreads[1],
        freedoms=(freedoms[0], freedoms[1]),
    )


def corrected_rate(
    audited: ArrayLike,
    members: ArrayLike,
    non_members: ArrayLike,
    audited_groups: Groups = None,
    member_groups: Groups = None,
    non_member_groups: Groups = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> CorrectedRate:
    """The rate of `rate_given_errors`, with the errors of `detector_errors`: one book and its calibration at once."""
    _refuse_few(np.asarray(audited, dtype=np.bool_), "snippets of the audited text")
    errors = detector_errors(members, non_members, member_groups, non_member_groups, draws, seed)
    return rate_given_errors(audited, errors, audited_groups, level, draws, seed)


def rate_given_errors(
    audited: ArrayLike,
    errors: DetectorErrors,
    audited_groups: Groups = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> CorrectedRate:
    """Rogan and Gladen's (1978) estimate, (raw - FPR)/(TPR - FPR), clipped to [0, 1].

    `audited` (a,) says of the book's snippets whether they were called members. The snippets of one book are drawn
    one by one, since the question is about this book; those of several books are drawn by groups.

    The interval holds every rate pi that the three shares do not contradict (Fieller 1954): those where
    (raw - FPR - pi (TPR - FPR))^2 is at most t^2 times its variance,

        var(raw) + pi^2 var(TPR) + (1 - pi)^2 var(FPR) + (pi spread(TPR) + (1 - pi) spread(FPR))^2.

    The last term is there because the errors in this book are not those of the average work: prose that is easy for
    the model is called more often throughout, members and non-members alike. There is no corrected rate where the
    interval of TPR - FPR includes 0. Simulated, this covers better than percentiles where there are few groups.
    """
    flags = np.asarray(audited, dtype=np.bool_)
    _refuse_few(flags, "snippets of the audited text")
    codes = group_codes(audited_groups, len(flags))
    if codes.max() == 0:
        codes = np.arange(len(flags))
    raw = share_interval(flags, codes, level=level, draws=draws, seed=seed)
    tpr, fpr = errors.tpr, errors.fpr
    called = f"{tpr:.0%} of known members and {fpr:.0%} of known non-members"
    if tpr <= fpr:
        return CorrectedRate(raw, None, f"There is no corrected rate: the detector calls {called} members.")
    own_variance = _share_variance(flags, codes, draws, np.random.default_rng(seed))
    estimate = float(np.clip((raw.estimate - fpr) / (tpr - fpr), 0, 1))
    parts = [
        own_variance,
        estimate**2 * errors.tpr_variance,
        (1 - estimate) ** 2 * errors.fpr_variance,
        (estimate * errors.tpr_spread + (1 - estimate) * errors.fpr_spread) ** 2,
    ]
    freedoms = (int(codes.max()), *errors.freedoms, min(errors.freedoms))
    freedom = sum(parts) ** 2 / sum(part**2 / own for part, own in zip(parts, freedoms, strict=True))
    reach = t_quantile(level, freedom) ** 2
    gap, distance = tpr - fpr, raw.estimate - fpr
    if gap**2 <= reach * (errors.tpr_variance + errors.fpr_variance):
        reason = (
            f"There is no corrected rate: the detector calls {called} members, and so few were tried that the "
            "difference could be nothing."
        )
        return CorrectedRate(raw, None, reason)
    # The condition above as square * pi^2 - 2 * middle * pi + constant <= 0.
    slope = errors.tpr_spread - errors.fpr_spread
    square = gap**2 - reach * (errors.tpr_variance + errors.fpr_variance + slope**2)
    middle = distance * gap + reach * (slope * errors.fpr_spread - errors.fpr_variance)
    constant = distance**2 - reach * (own_variance + errors.fpr_variance + errors.fpr_spread**2)
    low, high = 0.0, 1.0
    if square > 0:  # else works differ so much among themselves that no rate is contradicted
        width = sqrt(max(0.0, middle**2 - square * constant))
        low, high = np.clip([(middle - width) / square, (middle + width) / square], 0, 1)
    method = "grouped bootstrap with Fieller's interval"
    corrected = Interval(estimate, min(float(low), estimate), max(float(high), estimate), level, method)
    return CorrectedRate(raw, corrected, f"Corrected for a detector that calls {called} members.")


def _refuse_few(flags: BoolArray, name: str) -> None:
    if len(flags) < 2:
        raise AuditError(f"There are {len(flags) or 'no'} {name}.", "Add at least two, better a hundred.")


def _spread_between(flags: BoolArray, codes: IntArray) -> float:
    """Standard deviation between groups of their own share: analysis of variance, unequal sizes (Searle 1971)."""
    sizes = np.bincount(codes)
    n, n_groups = len(codes), len(sizes)
    if n == n_groups:
        return 0.0
    shares = np.bincount(codes, weights=flags) / sizes
    between = float(sizes @ (shares - flags.mean()) ** 2) / (n_groups - 1)
    within = float(sizes @ (shares * (1 - shares))) / (n - n_groups)
    typical_size = (n - float(sizes @ sizes) / n) / (n_groups - 1)
    return sqrt(max(0.0, (between - within) / typical_size))


def _share_variance(flags: BoolArray, codes: IntArray, draws: int, rng: np.random.Generator) -> float:
    """Variance of a share over draws of whole groups; never 0, as the next group might be another."""
    n_groups = int(codes.max()) + 1
    share = float(flags.mean())
    hits, sizes = np.bincount(codes, weights=flags), np.bincount(codes)
    variance = 0.0
    if each_its_own(codes):
        variance = share * (1 - share) / (n_groups - 1)  # what infinitely many draws would give
    elif 0 < share < 1:
        blocks = [group_draws(n_groups, n_rows, rng) for n_rows in blocks_of_draws(draws, n_groups)]
        variance = float(np.concatenate([(block @ hits) / (block @ sizes) for block in blocks]).var())
    if variance < 1e-12:
        smoothed = (share * n_groups + 1) / (n_groups + 2)  # one hit and one miss more
        variance = smoothed * (1 - smoothed) / (n_groups + 2)
    return variance
