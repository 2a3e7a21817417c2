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
    """Rogan and Gladen's (1978) estimate, (raw - FPR)/(TPR - FPR), clipped to [0, 1].

    Each array says of snippets whether they were called members: those of the audited book (a,), and those of known
    members (m,) and known non-members (n,), the latter two called by a threshold chosen without them. The snippets
    of one audited book are drawn one by one, since the question is about this book; those of several books, and
    calibration, are drawn by groups.

    The interval holds every rate that the three shares do not contradict (Fieller 1954), with the spread of each
    share from the bootstrap. It is bounded exactly where the interval of TPR - FPR excludes 0, and where it is not
    there is no corrected rate. Simulated, it covers better than percentiles where there are few groups.
    """
    flags = [np.asarray(side, dtype=np.bool_) for side in (audited, members, non_members)]
    for name, side in zip(("snippets of the audited text", "known members", "known non-members"), flags, strict=True):
        if len(side) < 2:
            raise AuditError(f"There are {len(side) or 'no'} {name}.", "Add at least two, better a hundred.")
    groups = (audited_groups, member_groups, non_member_groups)
    codes = [group_codes(own, len(side)) for own, side in zip(groups, flags, strict=True)]
    if codes[0].max() == 0:
        codes[0] = np.arange(len(flags[0]))
    for name, own in zip(("members", "non-members"), codes[1:], strict=True):
        if own.max() == 0:
            raise AuditError(
                f"All known {name} belong to one group, so nothing can be said about chance.",
                "Calibrate with at least two groups of each, better twenty.",
            )
    raw = share_interval(flags[0], codes[0], level=level, draws=draws, seed=seed)
    tpr, fpr = float(flags[1].mean()), float(flags[2].mean())
    rng = np.random.default_rng(seed)
    variances = [_share_variance(side, own, draws, rng) for side, own in zip(flags, codes, strict=True)]
    freedoms = [int(own.max()) for own in codes]  # groups - 1
    called = f"{tpr:.0%} of known members and {fpr:.0%} of known non-members"
    if tpr <= fpr:
        return CorrectedRate(raw, None, f"There is no corrected rate: the detector calls {called} members.")
    estimate = float(np.clip((raw.estimate - fpr) / (tpr - fpr), 0, 1))
    parts = [variances[0], estimate**2 * variances[1], (1 - estimate) ** 2 * variances[2]]
    freedom = sum(parts) ** 2 / sum(part**2 / own for part, own in zip(parts, freedoms, strict=True))
    reach = t_quantile(level, freedom) ** 2
    # All rates pi with (raw - fpr - pi (tpr - fpr))^2 <= reach * (its variance), a quadratic in pi.
    square = (tpr - fpr) ** 2 - reach * (variances[1] + variances[2])
    middle = (raw.estimate - fpr) * (tpr - fpr) - reach * variances[2]
    constant = (raw.estimate - fpr) ** 2 - reach * (variances[0] + variances[2])
    if square <= 0:
        reason = (
            f"There is no corrected rate: the detector calls {called} members, and so few were tried that the "
            "difference could be nothing."
        )
        return CorrectedRate(raw, None, reason)
    width = sqrt(max(0.0, middle**2 - square * constant))
    low, high = np.clip([(middle - width) / square, (middle + width) / square], 0, 1)
    method = "grouped bootstrap with Fieller's interval"
    corrected = Interval(estimate, min(float(low), estimate), max(float(high), estimate), level, method)
    return CorrectedRate(raw, corrected, f"Corrected for a detector that calls {called} members.")


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
